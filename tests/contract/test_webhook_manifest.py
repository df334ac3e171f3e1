"""The manifest of the webhook names what the code serves and reads."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from extender.core.kinds import NVIDIA
from extender.settings import AdmissionSettings
from extender.wire.admission_pods import OPT_OUT_LABEL, OPT_OUT_VALUE
from extender.wire.admission_review import decode_admission_review
from tests.admission import review
from tests.shipped import SHIPPED

ROOT: Final = Path(__file__).parents[2]
MANIFEST: Final = ROOT / "manifests" / "base" / "webhook.yaml"


def webhooks() -> dict[str, dict[str, Any]]:
    """Read the only webhook of each configuration, by the configuration's kind."""
    found: dict[str, dict[str, Any]] = {}
    for each in yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8")):
        (found[each["kind"]],) = each["webhooks"]
    return found


CHANGING: Final = "MutatingWebhookConfiguration"
ASKING: Final = "ValidatingWebhookConfiguration"
BOTH: Final = pytest.mark.parametrize("kind", [CHANGING, ASKING])


def named_by(kind: str) -> list[str]:
    """List the resources by which pods come to a webhook."""
    (condition,) = webhooks()[kind]["matchConditions"]
    return re.findall(r"'([^'\s]+/[^'\s]+)'", condition["expression"])


def kube_scheduler() -> dict[str, Any]:
    """Read the scheduler's configuration."""
    text = (ROOT / "config" / "kube-scheduler.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def test_resources_of_the_scheduler_are_those_of_nvidia() -> None:
    """A pod that comes to the extender came to the webhook."""
    (extender,) = kube_scheduler()["extenders"]
    managed = [one["name"] for one in extender["managedResources"]]
    assert managed == [*NVIDIA.resources, NVIDIA.admission.priority_resource]
    assert {*managed} <= {*named_by(CHANGING)}


@BOTH
def test_every_kind_that_is_shipped_is_named(kind: str) -> None:
    """Each resource of config/device-config.yaml and no other, once."""
    named = named_by(kind)
    wanted = [
        resource
        for each in SHIPPED.values()
        for resource in (*each.resources, each.admission.priority_resource)
        if resource
    ]
    assert sorted(named) == sorted({*wanted})


def test_both_look_at_the_same_pods() -> None:
    """Which of them are asked differs in nothing but the path."""
    same = (
        "admissionReviewVersions",
        "rules",
        "matchPolicy",
        "matchConditions",
        "objectSelector",
        "namespaceSelector",
    )
    changing, asking = webhooks()[CHANGING], webhooks()[ASKING]
    assert [changing[key] for key in same] == [asking[key] for key in same]
    paths = [one["clientConfig"]["service"]["path"] for one in (changing, asking)]
    assert paths == ["/webhook", "/validate"]


def test_what_is_kept_is_told() -> None:
    """An admitted pod is counted, one of a dry run is not; and nobody waits for us."""
    assert webhooks()[CHANGING]["sideEffects"] == "None"
    assert webhooks()[ASKING]["sideEffects"] == "NoneOnDryRun"
    assert webhooks()[ASKING]["failurePolicy"] == "Ignore"


def test_scheduler_is_the_default() -> None:
    """What is written into pods is a profile of the shipped configuration."""
    profiles = [one["schedulerName"] for one in kube_scheduler()["profiles"]]
    assert profiles == [*AdmissionSettings().scheduler_names]


@BOTH
def test_opting_out_is_by_one_label(kind: str) -> None:
    """Of pods and of namespaces."""
    one = webhooks()[kind]
    wanted = {"key": OPT_OUT_LABEL, "operator": "NotIn", "values": [OPT_OUT_VALUE]}
    assert one["objectSelector"]["matchExpressions"] == [wanted]
    assert wanted in one["namespaceSelector"]["matchExpressions"]


@BOTH
def test_versions_are_those_that_are_read(kind: str) -> None:
    """The API server takes the first that it knows."""
    for version in webhooks()[kind]["admissionReviewVersions"]:
        asked = review({"spec": {}}, version=f"admission.k8s.io/{version}")
        body = json.dumps(asked).encode()
        assert decode_admission_review(body).api_version == asked["apiVersion"]
