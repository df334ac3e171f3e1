"""The manifest of the webhook names what the code serves and reads."""

import json
import re
from pathlib import Path
from typing import Any, Final

import yaml

from extender.core.kinds import NVIDIA
from extender.settings import AdmissionSettings
from extender.wire.admission_pods import OPT_OUT_LABEL, OPT_OUT_VALUE
from extender.wire.admission_review import decode_admission_review
from tests.admission import review

ROOT: Final = Path(__file__).parents[2]
MANIFEST: Final = ROOT / "manifests" / "webhook.yaml"


def webhook() -> dict[str, Any]:
    """Read the only webhook."""
    (one,) = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))["webhooks"]
    found: dict[str, Any] = one
    return found


def kube_scheduler() -> dict[str, Any]:
    """Read the scheduler's configuration."""
    text = (ROOT / "config" / "kube-scheduler.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def test_resources_are_those_of_the_scheduler() -> None:
    """A pod that comes to the webhook comes to the extender, and the other way."""
    (condition,) = webhook()["matchConditions"]
    named = re.findall(r"'(\S+?)'", condition["expression"])
    (extender,) = kube_scheduler()["extenders"]
    assert named == [one["name"] for one in extender["managedResources"]]
    assert named == [*NVIDIA.resources, NVIDIA.admission.priority_resource]


def test_scheduler_is_the_default() -> None:
    """What is written into pods is a profile of the shipped configuration."""
    profiles = [one["schedulerName"] for one in kube_scheduler()["profiles"]]
    assert profiles == [*AdmissionSettings().scheduler_names]


def test_opting_out_is_by_one_label() -> None:
    """Of pods and of namespaces."""
    one = webhook()
    wanted = {"key": OPT_OUT_LABEL, "operator": "NotIn", "values": [OPT_OUT_VALUE]}
    assert one["objectSelector"]["matchExpressions"] == [wanted]
    assert wanted in one["namespaceSelector"]["matchExpressions"]


def test_versions_are_those_that_are_read() -> None:
    """The API server takes the first that it knows."""
    for version in webhook()["admissionReviewVersions"]:
        asked = review({"spec": {}}, version=f"admission.k8s.io/{version}")
        body = json.dumps(asked).encode()
        assert decode_admission_review(body).api_version == asked["apiVersion"]
