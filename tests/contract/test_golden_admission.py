"""AdmissionReviews as Kubernetes' own Go types write them.

`tests.contract.test_golden` holds the files to what Go writes today.
"""

import json
from pathlib import Path
from typing import Final

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.observe.metrics import Metrics
from extender.service.admitter import Admitter
from extender.settings import AdmissionSettings
from extender.verbs.admission import SetScheduler
from extender.wire.admission_review import (
    decode_admission_review,
    encode_allowed,
    encode_denied,
)
from extender.wire.json_patch import apply_mutations
from extender.wire.pods import PodReader
from tests.admission import OURS, read_answer

GOLDEN: Final = Path(__file__).parents[1] / "golden"
WARNINGS: Final = ["container 'train': fast & <quiet>"]
DENIED: Final = "pod research/trainer-*: container 'train' is privileged"

versions: Final = pytest.mark.parametrize("version", ["v1", "v1beta1"])


def golden(version: str, what: str = "") -> bytes:
    """Read a file."""
    return (GOLDEN / f"admission_{version}{what}.json").read_bytes()


@versions
def test_review_is_read(version: str) -> None:
    """The namespace is the request's; the object has neither that nor a name."""
    request = decode_admission_review(golden(version))
    assert request.api_version == f"admission.k8s.io/{version}"
    assert request.uid == "705ab4f5-6393-11e8-b7cc-42010a800002"
    assert request.namespace == "research"
    assert request.pod is not None
    assert request.pod["metadata"] == {
        "generateName": "trainer-7d4b9-",
        "annotations": {"nvidia.com/use-gputype": "A10"},
    }


@versions
def test_allowed_is_as_go_writes_it(version: str) -> None:
    """With patch and warnings."""
    request = decode_admission_review(golden(version))
    assert request.pod is not None
    patch = apply_mutations(request.pod, [SetScheduler(OURS)])
    written = encode_allowed(request, patch, warnings=WARNINGS)
    assert json.loads(written) == json.loads(golden(version, "_allowed"))


@versions
def test_denied_is_as_go_writes_it(version: str) -> None:
    """With status and warnings."""
    request = decode_admission_review(golden(version))
    written = encode_denied(request, 403, DENIED, warnings=WARNINGS)
    assert json.loads(written) == json.loads(golden(version, "_denied"))


@versions
def test_whole_answer(version: str) -> None:
    """The pod of the file names memory and no count: it gets one, and our scheduler."""
    known = Kinds([NVIDIA])
    admitter = Admitter(lambda: PodReader(known), AdmissionSettings(), Metrics())
    body = golden(version)
    answer = read_answer(json.loads(body), admitter.answer(body))
    assert answer.limits["train"] == {
        "cpu": "500m",
        "nvidia.com/gpumem": "3k",
        "nvidia.com/gpu": "1",
    }
    assert answer.pod["spec"]["schedulerName"] == OURS
