"""Who keeps a node's lock, and who loses it."""

from dataclasses import dataclass
from typing import Final

import pytest

from extender.core.kinds import NVIDIA
from extender.core.model import NodeName, Pod, PodUID
from extender.verbs.locks import SeenLock, judge_lock
from extender.wire.pods import PodReader
from tests.builders import PodBuilder, pod

LONGEST: Final = 60.0
YOUNG: Final = 1.0
OLD: Final = 61.0

_ASKING = pod("p").app("a", gpu=1)
_OWNER = pod("q").app("a", gpu=1)
_TO_ALLOCATE = "hami.io/vgpu-devices-to-allocate"
_ROWS = {_TO_ALLOCATE: "GPU-a,NVIDIA,1000,0:;"}
_SERVED = {_TO_ALLOCATE: ";", "hami.io/bind-phase": "success"}
_ALLOCATING = {"hami.io/bind-phase": "allocating"}
_OTHER_KIND = {"hami.io/dcu-devices-to-allocate": ";D-1,DCU,1,1:;"}


@dataclass(frozen=True, slots=True)
class Case:
    """A lock, and whether it may be taken while young and once old."""

    owner: PodBuilder | None
    young: bool
    old: bool
    names_pod: bool = True
    first_uid: str | None = None


CASES: Final = {
    "no such pod": Case(None, young=True, old=True),
    "names no pod": Case(None, young=False, old=True, names_pod=False),
    "ours, from an earlier try": Case(_ASKING, young=True, old=True),
    "ours, bound and unserved": Case(
        _ASKING.on("n1").annotations(_ROWS), young=True, old=True
    ),
    "unbound": Case(_OWNER, young=False, old=True),
    "unbound, with rows that HAMi writes in filter": Case(
        _OWNER.annotations(_ROWS), young=False, old=True
    ),
    "unbound, and another than at first": Case(
        _OWNER, young=True, old=True, first_uid="before"
    ),
    "bound here, rows to allocate": Case(
        _OWNER.on("n1").annotations(_ROWS), young=False, old=False
    ),
    "bound here, phase allocating": Case(
        _OWNER.on("n1").annotations(_ALLOCATING), young=False, old=False
    ),
    "bound here, rows of another kind": Case(
        _OWNER.on("n1").annotations(_OTHER_KIND), young=False, old=False
    ),
    "bound here and unserved, another than at first": Case(
        _OWNER.on("n1").annotations(_ROWS), young=False, old=False, first_uid="before"
    ),
    "bound here, served": Case(
        _OWNER.on("n1").annotations(_SERVED), young=True, old=True
    ),
    "bound here, running": Case(
        _OWNER.on("n1").annotations(_ROWS).phase("Running"), young=True, old=True
    ),
    "bound here, failed unserved": Case(
        _OWNER.on("n1").annotations(_ROWS).phase("Failed"), young=True, old=True
    ),
    "bound elsewhere, unserved": Case(
        _OWNER.on("n2").annotations(_ROWS), young=True, old=True
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("age", [YOUNG, OLD])
def test_verdict(case: Case, age: float) -> None:
    """Only a pod that waits for its devices here keeps a lock for good."""
    lock = SeenLock(
        names_pod=case.names_pod,
        owner=None if case.owner is None else read(case.owner),
        first_uid=_first_uid(case),
        stood_seconds=age,
    )
    verdict = judge_lock(lock, NodeName("n1"), read(_ASKING), LONGEST)
    assert verdict.may_take is (case.young if age == YOUNG else case.old)
    assert verdict.why


def read(builder: PodBuilder) -> Pod:
    """Read a pod from the wire."""
    return PodReader(NVIDIA).read(builder.build())


def _first_uid(case: Case) -> PodUID | None:
    if case.first_uid is not None:
        return PodUID(case.first_uid)
    return None if case.owner is None else PodUID(case.owner.pod_uid)
