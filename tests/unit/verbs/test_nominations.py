"""Nominated pods hold room against others while their victims go."""

import pytest

from extender.core.allocation import Share
from extender.core.holding import Holding
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import DeviceUUID, NodeName
from extender.core.pod import Pod
from extender.service.nominated import NominatedRoom
from extender.state.events import NodeSeen, PodGone, PodSeen
from extender.state.ledger import Ledger
from extender.verbs.bind import choose_devices
from extender.verbs.filter import FilterDecision, filter_nodes
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from tests.builders import node, pod

READER = PodReader(Kinds([NVIDIA]))
N1 = NodeName("n1")
FULL = "CardInsufficientMemory"


def asking(
    name: str, memory_mib: int, *, priority: int = 0, nominated: str = ""
) -> Pod:
    """Describe a pending pod with one app."""
    obj = pod(name).app("a", gpu=1, gpumem=memory_mib).build()
    obj["spec"]["priority"] = priority
    obj["status"] = {"nominatedNodeName": nominated}
    return READER.read(obj)


def victim(name: str, memory_mib: int) -> Pod:
    """Describe a running pod on the only card."""
    holding = f"GPU-a,NVIDIA,{memory_mib},0:;"
    return READER.read(
        pod(name).app("a", gpu=1, gpumem=memory_mib).holding(holding).on("n1").build()
    )


@pytest.fixture
def ledger() -> Ledger:
    """One node with one card of 24000 MiB."""
    ledger = Ledger()
    shown = node("n1").gpu("GPU-a", memory=24_000).build()
    ledger.apply(NodeSeen(decode_node(shown, [NVIDIA])))
    return ledger


def held_before(ledger: Ledger, asked: Pod) -> list[Holding]:
    """List what is held against a pod, as the service does."""
    return NominatedRoom(ledger).held_against(asked)


def judged(ledger: Ledger, asked: Pod) -> FilterDecision:
    """Ask filter about the only node, as the service does."""
    nominated = held_before(ledger, asked)
    own = ledger.holding(asked.uid)
    return filter_nodes(ledger.fleet, asked, [N1], own, nominated)


@pytest.mark.parametrize(
    ("priority", "fits"), [(9, False), (10, False), (11, True)], ids=str
)
def test_room_is_held_against_equal_and_lower_priority(
    ledger: Ledger, priority: int, *, fits: bool
) -> None:
    """20000 of 24000 MiB are spoken for by a pod of priority 10."""
    ledger.apply(PodSeen(asking("rival", 20_000, priority=10, nominated="n1")))
    decision = judged(ledger, asking("late", 8_000, priority=priority))
    assert decision.fitting == ([N1] if fits else [])
    assert decision.failed == ({} if fits else {N1: FULL})


def test_small_pod_fits_beside_a_nominated_one(ledger: Ledger) -> None:
    """Only what the nominated pod needs is held."""
    ledger.apply(PodSeen(asking("rival", 20_000, priority=10, nominated="n1")))
    assert judged(ledger, asking("small", 4_000)).fitting == [N1]


def test_nominated_pod_is_not_in_its_own_way(ledger: Ledger) -> None:
    """It is asked about itself first, with that single node."""
    rival = asking("rival", 20_000, priority=10, nominated="n1")
    ledger.apply(PodSeen(rival))
    assert judged(ledger, rival).fitting == [N1]


def test_room_is_held_before_the_victims_are_gone(ledger: Ledger) -> None:
    """Half the victims are gone; who is small enough for that gap may not take it."""
    ledger.apply(PodSeen(victim("first", 12_000)))
    ledger.apply(PodSeen(asking("rival", 20_000, priority=10, nominated="n1")))
    assert judged(ledger, asking("small", 8_000)).failed == {N1: FULL}


def test_bind_leaves_the_room_that_filter_held(ledger: Ledger) -> None:
    """By spread, the small pod would take the idle card that the rival needs whole."""
    shown = node("n1").gpu("GPU-a", memory=24_000).gpu("GPU-b", memory=24_000).build()
    ledger.apply(NodeSeen(decode_node(shown, [NVIDIA])))
    ledger.apply(PodSeen(victim("half", 12_000)))
    ledger.apply(PodSeen(asking("rival", 24_000, priority=10, nominated="n1")))
    small = asking("small", 4_000)
    nominated = held_before(ledger, small)
    allocation = choose_devices(ledger.fleet, small, N1, None, nominated)
    assert allocation == ((Share(DeviceUUID("GPU-a"), 4_000, 0, "NVIDIA"),),)


def test_two_nominated_pods_are_counted_side_by_side(ledger: Ledger) -> None:
    """10000 and 10000 leave 4000."""
    for name in ("one", "other"):
        ledger.apply(PodSeen(asking(name, 10_000, priority=10, nominated="n1")))
    assert judged(ledger, asking("small", 4_000)).fitting == [N1]
    assert judged(ledger, asking("larger", 5_000)).failed == {N1: FULL}


@pytest.mark.parametrize("ending", ["gone", "bound", "nomination cleared"])
def test_nomination_ends(ledger: Ledger, ending: str) -> None:
    """After that only charges count."""
    rival = asking("rival", 20_000, priority=10, nominated="n1")
    ledger.apply(PodSeen(rival))
    match ending:
        case "gone":
            ledger.apply(PodGone(rival.uid))
        case "bound":
            ledger.apply(PodSeen(victim("rival", 4_000)))
        case _:
            ledger.apply(PodSeen(asking("rival", 20_000, priority=10)))
    assert judged(ledger, asking("late", 8_000)).fitting == [N1]


def test_nomination_to_a_node_that_is_gone_holds_nothing(ledger: Ledger) -> None:
    """The name may outlive the node."""
    ledger.apply(PodSeen(asking("rival", 20_000, priority=10, nominated="n2")))
    assert judged(ledger, asking("late", 24_000)).fitting == [N1]


def test_nominated_pods_see_each_other(ledger: Ledger) -> None:
    """20000 twice take both cards, not one of them twice."""
    shown = node("n1").gpu("GPU-a", memory=24_000).gpu("GPU-b", memory=24_000).build()
    ledger.apply(NodeSeen(decode_node(shown, [NVIDIA])))
    for name in ("one", "other"):
        ledger.apply(PodSeen(asking(name, 20_000, priority=10, nominated="n1")))
    assert judged(ledger, asking("late", 8_000)).failed == {N1: FULL}


def test_the_most_important_nominated_pod_chooses_first(ledger: Ledger) -> None:
    """Whatever the names say."""
    shown = node("n1").gpu("GPU-a", memory=24_000).gpu("GPU-b", memory=12_000).build()
    ledger.apply(NodeSeen(decode_node(shown, [NVIDIA])))
    ledger.apply(PodSeen(asking("a-low", 10_000, priority=5, nominated="n1")))
    ledger.apply(PodSeen(asking("z-high", 10_000, priority=10, nominated="n1")))
    assert judged(ledger, asking("late", 20_000, priority=7)).failed == {N1: FULL}
