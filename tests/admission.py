"""Pods put to the admission webhook as the API server does, and what comes back."""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA, Kind
from extender.observe.metrics import Metrics
from extender.service.admitter import Admitter
from extender.settings import AdmissionSettings
from extender.wire.pods import PodReader
from tests.builders import Json, PodBuilder
from tests.json_patch import patched

OURS: Final = "gpu-scheduler"
V1: Final = "admission.k8s.io/v1"
V1BETA1: Final = "admission.k8s.io/v1beta1"


def review(shown: Json, namespace: str = "research", version: str = V1) -> Json:
    """Ask about the creation of a pod."""
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": {"username": "somebody"},
        "object": shown,
        "oldObject": None,
        "dryRun": False,
        "options": None,
    }
    return {"kind": "AdmissionReview", "apiVersion": version, "request": request}


@dataclass(frozen=True)
class Answered:
    """What the API server makes of an answer.

    Attributes:
        allowed: Whether the pod may be created.
        pod: As it would be; as it was where it may not.
        patch: The operations.
        text: Why not, or what else was said.
        code: The status of a refusal, else 0.
        warnings: For whoever creates it.
    """

    allowed: bool
    pod: Json
    patch: list[Json]
    text: str
    code: int
    warnings: list[str]

    @property
    def limits(self) -> dict[str, dict[str, str]]:
        """The limits of each container that has some."""
        spec = self.pod["spec"]
        declared = [*spec.get("initContainers", ()), *spec["containers"]]
        return {
            one["name"]: one["resources"]["limits"]
            for one in declared
            if (one.get("resources") or {}).get("limits")
        }

    @property
    def env(self) -> dict[str, list[tuple[str, str]]]:
        """The variables of each container that has some."""
        spec = self.pod["spec"]
        declared = [*spec.get("initContainers", ()), *spec["containers"]]
        return {
            one["name"]: [(each["name"], each.get("value", "")) for each in one["env"]]
            for one in declared
            if one.get("env")
        }


def read_answer(asked: Json, body: bytes) -> Answered:
    """Read an answer as strictly as the API server does."""
    answer = json.loads(body)
    response = answer["response"]
    assert answer["kind"] == asked["kind"]
    assert answer["apiVersion"] == asked["apiVersion"]
    assert response["uid"] == asked["request"]["uid"]
    shown = asked["request"]["object"]
    patch: list[Json] = []
    if "patch" in response:
        assert response["allowed"]
        assert response["patchType"] == "JSONPatch"
        patch = json.loads(base64.b64decode(response["patch"], validate=True))
    status = response.get("status", {})
    return Answered(
        response["allowed"],
        patched(shown, patch),
        patch,
        status.get("message", ""),
        status.get("code", 0),
        response.get("warnings", []),
    )


def admitted(
    shown: PodBuilder | Json,
    kinds: Iterable[Kind] = (NVIDIA,),
    settings: AdmissionSettings | None = None,
    **spec: object,
) -> Answered:
    """Put a pod to the webhook, with more fields in its spec."""
    pod = new_pod(shown) if isinstance(shown, PodBuilder) else shown
    pod = {**pod, "spec": {**pod["spec"], **spec}}
    known = Kinds(kinds)
    admitter = Admitter(
        lambda: PodReader(known), settings or AdmissionSettings(), Metrics()
    )
    asked = review(pod)
    return read_answer(asked, admitter.answer(json.dumps(asked).encode()))


def new_pod(shown: PodBuilder) -> Json:
    """Print a pod as the API server sends it for admission: defaults are filled in."""
    pod = shown.build()
    metadata = pod["metadata"]
    for key in ("uid", "creationTimestamp", "namespace"):
        del metadata[key]
    pod["spec"].setdefault("schedulerName", "default-scheduler")
    pod["status"] = {}
    return pod
