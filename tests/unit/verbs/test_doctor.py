"""The doctor's checks: each trouble by its code, and none in what is right."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from extender.core.names import NodeName
from extender.core.pod import Pod
from extender.runtime import embed_to_look
from extender.service import Extender
from extender.settings import Settings
from extender.state.events import PodSeen
from extender.verbs.diagnosis import Diagnosis, LockRelease, Severity
from extender.verbs.doctor.catalogue import CATALOGUE
from extender.verbs.doctor.examination import examine_steps, in_order
from extender.verbs.doctor.signs import Patience, Signs, StandingLock
from extender.verbs.locks import SeenLock
from tests.builders import Json, NodeBuilder, PodBuilder, node, pod, resource_quota
from tests.web.conftest import listed

NOW: Final = 1_800_000_000.0
JUST_NOW: Final = "2027-01-15T07:59:30Z"
"""Half a minute before `NOW`."""

LONG_AGO: Final = "2027-01-15T07:00:00Z"
PATIENCE: Final = Patience(longest_bind_seconds=60.0, admission_seconds=5.0)

NODE: Final = node("n1").gpu("GPU-a").gpu("GPU-b")
SERVED: Final = (
    pod("served")
    .init("i", gpu=1, gpumem=8_000)
    .app("a", gpu=1, gpumem=4_000, cores=30)
    .holding("GPU-a,NVIDIA,8000,0:;GPU-a,NVIDIA,4000,30:;")
    .on("n1")
    .phase("Running")
)
WAITS: Final = pod("waits").app("a", gpu=1, gpumem=90_000)
LOCKED: Final = "2027-01-15T07:00:00Z,default,owner"


def bound(at: str = LONG_AGO) -> PodBuilder:
    """Describe a pod whose devices are not handed out yet."""
    return (
        pod("owner")
        .app("a", gpu=1, gpumem=4_000)
        .holding("GPU-a,NVIDIA,4000,0:;")
        .annotations(
            {
                "hami.io/bind-phase": "allocating",
                "hami.io/vgpu-devices-to-allocate": "GPU-a,NVIDIA,4000,0:;",
            }
        )
        .on("n1")
        .condition("PodScheduled", status=True, since=at)
    )


def world(folder: Path, *shown: NodeBuilder | PodBuilder | Json) -> Extender:
    """Give an extender that has listed these objects."""
    file = folder / "cluster.json"
    file.write_text(json.dumps(listed(*shown)))
    return embed_to_look([file], Settings())


def signs(extender: Extender, *locks: StandingLock) -> Signs:
    """Look at it at `NOW`."""
    kinds = extender.reader.kinds
    return Signs(extender.ledger, kinds, locks, NOW, PATIENCE)


def examined(looked_at: Signs) -> list[Diagnosis]:
    """Take all steps."""
    steps = examine_steps(looked_at)
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return [*in_order(ended.value)]


def lock(
    owner: Pod | None, stood: float = 3_600.0, gone: float | None = None
) -> StandingLock:
    """Give the lock of n1."""
    return StandingLock(NodeName("n1"), LOCKED, SeenLock(owner, stood, gone))


def test_nothing_is_wrong_with_what_is_right(tmp_path: Path) -> None:
    """Pods that are served, that wait, or were bound a moment ago."""
    extender = world(tmp_path, NODE, node("plain"), SERVED, WAITS, bound(JUST_NOW))
    assert examined(signs(extender)) == []


@pytest.mark.parametrize(
    ("code", "about", "shown"),
    [
        ("PodNotServed", "pod default/owner", [NODE, bound()]),
        (
            "AllocationUnreadable",
            "pod default/odd",
            [NODE, pod("odd").app("a", gpu=1).holding("GPU-a,oops").on("n1")],
        ),
        (
            "AllocationMissing",
            "pod default/foreign",
            [NODE, pod("foreign").app("a", gpu=1).on("n1").phase("Running")],
        ),
        (
            "AllocationNamesUnknownCard",
            "pod default/served",
            [node("n1").gpu("GPU-b"), SERVED],
        ),
        (
            "AllocationDiffersFromSpec",
            "pod default/served",
            [NODE, SERVED.holding("GPU-a,NVIDIA,8000,0:;GPU-a,NVIDIA,3000,30:;")],
        ),
        (
            "AllocationDiffersFromSpec",
            "pod default/served",
            [NODE, SERVED.holding("GPU-a,NVIDIA,8000,0:;GPU-a,NVIDIA,4000,10:;")],
        ),
        (
            "AllocationUnreadable",
            "pod default/served",
            [
                NODE,
                SERVED.holding(
                    "GPU-a,NVIDIA,8000,0:GPU-b,NVIDIA,8000,0:;GPU-a,NVIDIA,4000,30:;"
                ),
            ],
        ),
        (
            "AllocationUnreadable",
            "pod default/served",
            [NODE, SERVED.holding(";")],
        ),
        (
            "AllocationLeftover",
            "pod default/waits",
            [NODE, WAITS.holding("GPU-a,NVIDIA,4000,0:;")],
        ),
        (
            "RequestUnreadable",
            "pod default/bad",
            [NODE, pod("bad").app("a", gpu=1, gpumem="many")],
        ),
        (
            "SettingIgnored",
            "pod default/waits",
            [NODE, WAITS.annotations({"hami.io/node-scheduler-policy": "best"})],
        ),
        (
            "CardOverfullInherited",
            "node n1",
            [node("n1").gpu("GPU-a", memory=5_000).gpu("GPU-b"), SERVED],
        ),
        (
            "RegisterUnreadable",
            "node n1",
            [NODE.annotations({"hami.io/node-nvidia-register": "["})],
        ),
        ("PluginSilent", "node n1", [NODE.allocatable(0)]),
        ("NodeUnknown", "node n1", [SERVED]),
        ("CardsUnhealthy", "node n1", [NODE.gpu("GPU-c", health=False)]),
        ("CardsCordoned", "node n1", [NODE.cordon("GPU-b")]),
        (
            "QuotaUnreadable",
            "resourcequota default/q",
            [NODE, resource_quota("q", hard={"limits.nvidia.com/gpumem": "x"})],
        ),
        (
            "QuotaExceeded",
            "resourcequota default/q",
            [NODE, SERVED, resource_quota("q", hard={"limits.nvidia.com/gpumem": 1})],
        ),
        (
            "QuotaNotAsWritten",
            "resourcequota default/q",
            [
                NODE,
                resource_quota("q", hard={"limits.nvidia.com/gpumem": 1}, scopes=["?"]),
            ],
        ),
    ],
)
def test_trouble_is_told(
    tmp_path: Path, code: str, about: str, shown: list[NodeBuilder | PodBuilder | Json]
) -> None:
    """By its code, what it is about, and what to do; it has no fix."""
    found = examined(signs(world(tmp_path, *shown)))
    [told] = [each for each in found if each.code == code]
    assert told.about == about
    assert told.summary
    assert told.remedy
    assert told.fix is None


def test_lock_of_a_pod_that_waits_is_no_leak(tmp_path: Path) -> None:
    """However old it is: the plugin may still serve it. The pod is told instead."""
    extender = world(tmp_path, NODE, bound())
    [owner] = extender.ledger.pods.values()
    [told] = examined(signs(extender, lock(owner)))
    assert told.code == "PodNotServed"
    assert "the node's lock names it: nobody else is bound there" in told.evidence
    assert "bound for 1 h" in told.evidence


@pytest.mark.parametrize(
    ("stood", "gone", "is_leaked"),
    [(59.0, None, False), (61.0, None, True), (61.0, 4.0, False), (61.0, 6.0, True)],
)
def test_lock_is_leaked_once_nobody_can_need_it(
    tmp_path: Path, stood: float, gone: float | None, *, is_leaked: bool
) -> None:
    """Once no bind lasts longer, and kubelet must know that its pod is gone."""
    found = examined(signs(world(tmp_path, NODE), lock(None, stood, gone)))
    assert [each.code for each in found] == ["LeakedLock"] * is_leaked
    assert [each.fix for each in found] == [
        LockRelease(NodeName("n1"), LOCKED)
    ] * is_leaked


def test_lock_of_a_served_pod_gets_a_moment(tmp_path: Path) -> None:
    """Its plugin removes it as the last thing that it does."""
    extender = world(tmp_path, NODE, SERVED)
    [owner] = extender.ledger.pods.values()
    assert examined(signs(extender, lock(owner, 10.0))) == []
    [told] = examined(signs(extender, lock(owner, 61.0)))
    assert told.summary == (
        "its lock is held and not needed: pod default/served is served"
    )


def test_own_lock_is_leaked_where_nobody_waits(tmp_path: Path) -> None:
    """It is told, and left to its plugin."""
    own = (("hami.io/dsmlu.lock", 61.0),)
    standing = StandingLock(NodeName("n1"), None, None, own)
    [told] = examined(signs(world(tmp_path, NODE), standing))
    assert (told.code, told.fix) == ("LeakedOwnLock", None)
    waits = examined(signs(world(tmp_path, NODE, bound()), standing))
    assert [each.code for each in waits] == ["PodNotServed"]


def test_edited_and_lost_allocations_are_told(tmp_path: Path) -> None:
    """With what it had and what it has."""
    extender = world(tmp_path, NODE, SERVED)
    edited = SERVED.holding("GPU-a,NVIDIA,8000,0:;GPU-a,NVIDIA,5000,30:;").build()
    extender.take_in(PodSeen(extender.reader.read(edited)))
    found = examined(signs(extender))
    assert [each.code for each in found] == [
        "AllocationDiffersFromSpec",
        "AllocationEdited",
    ]
    assert "a has 5000 MiB, 30 % of cores on GPU-a" in found[1].evidence
    lost = extender.reader.read(replace(SERVED, annotation_texts={}).build())
    extender.take_in(PodSeen(lost))
    codes = [each.code for each in examined(signs(extender))]
    assert codes == ["AllocationEdited", "AllocationLost"]


def test_pod_that_is_being_bound_or_deleted_is_left_alone(tmp_path: Path) -> None:
    """Whatever its plugin has to do still."""
    extender = world(tmp_path, NODE, bound().terminating())
    assert examined(signs(extender)) == []


def test_codes_are_in_the_catalogue() -> None:
    """Once each, and none of them is a word that a page cannot link to."""
    codes = [trouble.code for trouble in CATALOGUE]
    assert len({*codes}) == len(codes)
    assert all(code.isalnum() and code[0].isupper() for code in codes)


def test_worst_comes_first(tmp_path: Path) -> None:
    """Errors, warnings, notes."""
    extender = world(
        tmp_path, NODE.allocatable(0).cordon("GPU-b").gpu("GPU-c", health=False)
    )
    severities = [each.severity for each in examined(signs(extender))]
    assert severities == [Severity.ERROR, Severity.WARNING, Severity.NOTE]
