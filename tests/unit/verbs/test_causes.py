"""The cause of each pod that waits: what stands in its way where it came closest."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.reasons import Reason
from extender.embedded.cluster import EmbeddedCluster
from extender.service import Extender
from extender.service.in_turns import in_turns
from extender.state.events import NodeSeen, PodSeen, QuotaSeen
from extender.state.ledger import Ledger
from extender.verbs import causes
from extender.verbs.cause_texts import cause
from extender.verbs.explanation import CauseKind
from extender.verbs.filter import Refusals
from extender.wire.pods import PodReader
from tests.builders import (
    Json,
    NodeBuilder,
    PodBuilder,
    mig_profile,
    node,
    pod,
    resource_quota,
)

READER: Final = PodReader(Kinds([NVIDIA]))
GIB: Final = 1024
A10: Final = node("a10").gpu("GPU-a", memory=24 * GIB)
TWO: Final = node("two").gpu("GPU-a", memory=24 * GIB).gpu("GPU-b", memory=24 * GIB)
L4: Final = node("l4").gpu("GPU-l", memory=24 * GIB, model="NVIDIA L4")
SICK: Final = node("sick").gpu("GPU-s", memory=80 * GIB, health=False)
CLOSED: Final = node("closed").gpu("GPU-c", memory=80 * GIB).cordon("GPU-c")
SILENT: Final = node("silent").gpu("GPU-t", memory=80 * GIB).allocatable(0)
PLAIN: Final = node("plain")
TORN: Final = node("torn").annotations({"hami.io/node-nvidia-register": "torn"})
TINY: Final = node("tiny").gpu("GPU-a", memory=24 * GIB, count=1).allocatable(5)
FEW_IDS: Final = node("a10").gpu("GPU-a", memory=24 * GIB).allocatable(1)
MIG: Final = node("mig").mig(
    "GPU-m", profiles=[mig_profile("1g.10gb", 9_728, 14, range(7), 1)]
)


def holds(rows: str, on: str = "a10", name: str = "held", **asks: int) -> PodBuilder:
    """Hold cards, row by row."""
    held = pod(name).app("a", **{"gpu": 1, **asks})
    return held.holding(rows).on(on).phase("Running")


def wants(memory: int = 8 * GIB, name: str = "p", **asks: int) -> PodBuilder:
    """Ask for a share of a card."""
    return pod(name).app("a", **{"gpu": 1, "gpumem": memory, **asks})


def quota(limit: object) -> Json:
    """Limit memory."""
    return resource_quota("q", hard={"limits.nvidia.com/gpumem": str(limit)})


SELECTED: Final = {"nvidia.com/use-gputype": "B200"}
UUID: Final = {"nvidia.com/use-gpuuuid": "GPU-x"}
MUTEX: Final = {"hami.io/gpu-scheduler-policy": "mutex"}
MIG_ONLY: Final = {"nvidia.com/vgpu-mode": "mig"}

ROOT: Final = Path(__file__).parents[3]

Shown = NodeBuilder | PodBuilder | Json

CASES: Final[list[tuple[CauseKind, PodBuilder, list[Shown]]]] = [
    (CauseKind.BAD_REQUEST, pod("p").app("a", gpumem=1), [A10]),
    (CauseKind.TOO_LARGE, wants(25 * GIB), [A10, L4, PLAIN]),
    (CauseKind.TOO_LARGE, wants(25 * GIB), [A10, MIG]),
    (CauseKind.NO_PROFILE, wants(9_729).annotations(MIG_ONLY), [A10, MIG]),
    (CauseKind.TOO_MANY_CARDS, wants(gpu=3), [TWO, A10]),
    (CauseKind.WRONG_MODEL, wants().annotations(SELECTED), [A10, L4, CLOSED]),
    (CauseKind.WRONG_MODE, wants().annotations(MIG_ONLY), [A10, SICK]),
    (CauseKind.NO_SUCH_CARD, wants().annotations(UUID), [A10, SICK]),
    (CauseKind.NO_CARDS, wants(), [PLAIN]),
    (CauseKind.OUT_OF_SERVICE, wants(), [SICK, CLOSED]),
    (CauseKind.OUT_OF_SERVICE, wants(25 * GIB), [A10, CLOSED]),
    (CauseKind.SILENT_PLUGIN, wants(25 * GIB), [A10, SILENT]),
    (CauseKind.SILENT_PLUGIN, wants(), [PLAIN, SILENT]),
    (CauseKind.UNREADABLE, wants(), [PLAIN, TORN]),
    (CauseKind.UNREADABLE, wants(), [A10, holds("torn")]),
    (CauseKind.HELD, wants(), [A10, holds("GPU-a,NVIDIA,20480,0:;"), PLAIN]),
    (
        CauseKind.HELD,
        wants(1, cores=60),
        [A10, holds("GPU-a,NVIDIA,2048,50:;"), CLOSED],
    ),
    (
        CauseKind.SCATTERED,
        wants(12 * GIB),
        [
            TWO,
            holds("GPU-a,NVIDIA,16384,0:;", on="two"),
            holds("GPU-b,NVIDIA,16384,0:;", on="two", name="other"),
        ],
    ),
    (CauseKind.SLOTS, wants(), [TINY, holds("GPU-a,NVIDIA,2048,0:;", on="tiny")]),
    (CauseKind.DEVICE_IDS, wants(), [FEW_IDS, holds("GPU-a,NVIDIA,2048,0:;")]),
    (
        CauseKind.ALONE,
        wants().annotations(MUTEX),
        [A10, holds("GPU-a,NVIDIA,2048,0:;")],
    ),
    (CauseKind.ALONE, wants(cores=100), [A10, holds("GPU-a,NVIDIA,2048,0:;")]),
    (
        CauseKind.KEPT_OUT,
        wants(),
        [A10, holds("GPU-a,NVIDIA,2048,0:;").annotations(MUTEX)],
    ),
    (CauseKind.QUOTA, wants(), [A10, quota(4 * GIB)]),
    (CauseKind.QUOTA_UNREADABLE, wants(), [A10, quota("many")]),
]


def extender(*shown: Shown) -> Extender:
    """Show a cluster to an extender."""
    made = Extender(EmbeddedCluster(READER), READER, lambda: 0.0)
    for each in shown:
        if isinstance(each, NodeBuilder):
            made.take_in(NodeSeen(made.read_node(each.build())))
        elif isinstance(each, PodBuilder):
            made.take_in(PodSeen(READER.read(each.build())))
        else:
            made.take_in(QuotaSeen(made.read_quota(each)))
    made.mark_synced()
    return made


@pytest.mark.parametrize(("kind", "waits", "shown"), CASES)
def test_cause(kind: CauseKind, waits: PodBuilder, shown: list[Shown]) -> None:
    """What stands in the way, by name."""
    explainer = extender(*shown).explainer
    told = asyncio.run(explainer.explain_manifest(READER.read(waits.build())))
    assert told.fitting == ()
    assert told.cause is not None
    assert told.cause.kind is kind


@pytest.mark.parametrize(
    ("failed", "hopeless", "kind"),
    [
        ("NodeLocked", "CardTypeMismatch", CauseKind.LOCKED),
        ("CardQosPolicyMismatch", "node unregistered", CauseKind.COMPANY),
        ("CardMigTopologyInfeasible", "", CauseKind.NO_INSTANCE),
        (
            "AllocatedCardsInsufficientRequest, CardInsufficientMemory",
            "",
            CauseKind.HELD,
        ),
        ("NumaNotFit", "CardInsufficientMemory", CauseKind.TOGETHER),
        ("PlacementSearchExhausted", "", CauseKind.UNDECIDED),
        ("", "NodeNotSelected", CauseKind.NOT_SELECTED),
        ("", "", None),
    ],
)
def test_cause_of_codes(failed: str, hopeless: str, kind: CauseKind | None) -> None:
    """Where the pod came closest counts."""
    refusals = Refusals(
        Counter({failed: 1} if failed else {}),
        Counter({hopeless: 9} if hopeless else {}),
    )
    steps = causes.cause_steps(Ledger(), READER.read(wants().build()), refusals)
    told = asyncio.run(in_turns(steps))
    assert (told and told.kind) is kind


def test_every_cause_has_words_of_its_own() -> None:
    """Of one line each."""
    told = [cause(kind) for kind in CauseKind]
    assert len({each.text for each in told}) == len(CauseKind)
    assert all((each.text + each.note).isprintable() for each in told)
    assert all(each.note for each in told)


def test_page_has_every_sentence() -> None:
    """As it is shown."""
    page = (ROOT / "docs" / "explain.md").read_text()
    for each in map(cause, CauseKind):
        assert f"| {each.text} | {each.note} |" in page


def test_every_reason_has_a_cause() -> None:
    """Whichever code filter may give."""
    groups = (
        causes._FIRST_OF_ALL,
        causes._BY_USE,
        causes._BY_SIZE,
        causes._BY_NUMBER,
        causes._BY_CARD,
    )
    assert {reason for group in groups for reason in group} == set(Reason)


SAYS: Final = "0/2 nodes are available: 1 {}, 1 node(s) had untolerated taint(s)."


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (SAYS.format("NodeLocked"), CauseKind.LOCKED),
        (SAYS.format("Insufficient cpu"), CauseKind.ELSEWHERE),
        (SAYS.format("CardInsufficientMemory"), CauseKind.HELD),
        (None, None),
    ],
)
def test_kube_scheduler_looks_at_more_than_devices(
    said: str | None, kind: CauseKind | None
) -> None:
    """A pod that fits somewhere waits for what kube-scheduler wrote of it."""
    waits = wants()
    if said is not None:
        waits = waits.condition(
            "PodScheduled", status=False, reason="Unschedulable", message=said
        )
    explainer = extender(A10, waits).explainer
    told = asyncio.run(explainer.explain_named("default", "p"))
    assert told.fitting == ("a10",)
    assert (told.cause and told.cause.kind) is kind
    if said is not None:
        assert told.cause is not None
        assert told.cause.note.endswith(f"; kube-scheduler says: {said}")
