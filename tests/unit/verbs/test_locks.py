"""Who keeps a node's lock, and who loses it."""

from dataclasses import dataclass
from typing import Final

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.verbs.locks import SeenLock, is_gone, judge_lock, judge_own_lock
from extender.wire.pods import PodReader
from tests.builders import PodBuilder, pod

LONGEST: Final = 60.0
ADMISSION: Final = 5.0
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
    gone_seconds: float | None = None


CASES: Final = {
    "gone, and kubelet may not know": Case(
        None, young=False, old=False, gone_seconds=5
    ),
    "gone for long": Case(None, young=True, old=True, gone_seconds=6),
    "names no pod": Case(None, young=False, old=True),
    "ours, from an earlier try": Case(_ASKING, young=True, old=True),
    "set for an earlier pod of our name": Case(
        _ASKING, young=False, old=False, gone_seconds=5
    ),
    "ours, bound and unserved": Case(
        _ASKING.on("n1").annotations(_ROWS), young=True, old=True
    ),
    "unbound": Case(_OWNER, young=False, old=True),
    "unbound, with rows that HAMi writes in filter": Case(
        _OWNER.annotations(_ROWS), young=False, old=True
    ),
    "unbound, and another than at first": Case(
        _OWNER, young=True, old=True, gone_seconds=6
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
        _OWNER.on("n1").annotations(_ROWS), young=False, old=False, gone_seconds=6
    ),
    "bound here, served": Case(
        _OWNER.on("n1").annotations(_SERVED), young=True, old=True
    ),
    "bound here, running": Case(
        _OWNER.on("n1").annotations(_ROWS).phase("Running"), young=True, old=True
    ),
    "bound here, its plugin serves static MIG and writes nothing: an init runs": Case(
        _OWNER.on("n1").annotations(_ROWS | _ALLOCATING).init("i").running("i"),
        young=True,
        old=True,
    ),
    "bound here, the like, before its image is pulled": Case(
        _OWNER.on("n1").annotations(_ROWS | _ALLOCATING).sandbox(),
        young=True,
        old=True,
    ),
    "bound here, the like, before its sandbox is up": Case(
        _OWNER.on("n1").annotations(_ROWS | _ALLOCATING).sandbox(ready=False),
        young=False,
        old=False,
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
    owner = None if case.owner is None else read(case.owner)
    lock = SeenLock(owner, stood_seconds=age, gone_seconds=case.gone_seconds)
    verdict = judge_lock(lock, NodeName("n1"), read(_ASKING), LONGEST, ADMISSION)
    assert verdict.may_take is (case.young if age == YOUNG else case.old)
    assert verdict.why


def test_gone() -> None:
    """No pod has its name, or one of another UID."""
    owner = read(_OWNER)
    assert is_gone(None, None)
    assert is_gone(None, owner.uid)
    assert is_gone(owner, PodUID("before"))
    assert not is_gone(owner, owner.uid)
    assert not is_gone(owner, None)


def read(builder: PodBuilder) -> Pod:
    """Read a pod from the wire."""
    return PodReader(Kinds([NVIDIA])).read(builder.build())


OWN_LOCKS: Final = {
    "young": (None, YOUNG, False, 59.0),
    "old": (None, OLD, True, 0.0),
    "a pod waits, however old": (_OWNER, OLD, False, None),
}


@pytest.mark.parametrize(
    ("waiting", "stood", "may_take", "ripe_in"), OWN_LOCKS.values(), ids=OWN_LOCKS
)
def test_lock_of_a_kinds_own(
    waiting: PodBuilder | None, stood: float, *, may_take: bool, ripe_in: float | None
) -> None:
    """It names no pod: who waits on the node, and else its age, decides."""
    pod_there = None if waiting is None else read(waiting)
    verdict = judge_own_lock(pod_there, stood, LONGEST, "x/lock")
    assert (verdict.may_take, verdict.ripe_in_seconds) == (may_take, ripe_in)
