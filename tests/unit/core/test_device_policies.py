"""Which cards a pod gets, and is refused, by policy, NUMA node and mode."""

from dataclasses import dataclass, field, replace
from typing import Final

import pytest

from extender.core.device_policy import DevicePolicy
from extender.core.names import DeviceUUID, NodeName
from extender.core.node import Device, Node
from extender.core.pod_request import PodRequest, Selection
from extender.core.usage import Usage
from extender.state.events import NodeSeen, PodGone, Reserved
from extender.state.ledger import Ledger
from extender.verbs.bind import choose_devices
from extender.verbs.nominations import nominations
from extender.verbs.verdicts import judge_node
from extender.wire.device_policies import device_policy_of, on_one_numa_node, weights_of
from tests.values import (
    GPU,
    N1,
    app,
    card,
    fleet_of,
    held,
    init,
    node,
    pod,
    request,
    sidecar,
    totals_of,
    uuids,
    with_inventory,
)


def by(text: str, *, weights: str = "slot=1,core=1,memory=1") -> DevicePolicy:
    """Read a policy as users write it."""
    policy = device_policy_of(text)
    assert policy is not None
    weighed = weights_of(weights, "weights")
    return replace(policy, weights=weighed)


def bound(text: str) -> DevicePolicy:
    """Read a policy of a pod with numa-bind."""
    return on_one_numa_node(by(text))


def at(numa_node: int, *letters: str, mode: str = "hami-core") -> list[Device]:
    """Make cards at one NUMA node."""
    return [
        card(f"GPU-{letter}", index=ord(letter), numa=numa_node, mode=mode)
        for letter in letters
    ]


ALONE: Final = Usage(1, 1_000)
TWO_AND_TWO: Final = (*at(0, "a", "b"), *at(1, "c", "d"))


@dataclass(frozen=True)
class Case:
    """A node, a pod, and its cards; or why it is refused."""

    cards: tuple[Device, ...]
    wanted: PodRequest
    expected: list[list[str]] | set[str]
    use: dict[str, Usage] = field(default_factory=dict)


CASES: Final = {
    # The order of cards.
    "numa alone: the highest NUMA node first": Case(
        TWO_AND_TWO, request(app(count=3), cards=by("numa")), [["a", "c", "d"]]
    ),
    "spread, then numa: of equal cards the one at the highest NUMA node": Case(
        TWO_AND_TWO,
        request(app(), cards=by("spread,numa")),
        [["c"]],
        {"GPU-d": ALONE},
    ),
    "numa, then binpack: the fuller one of the highest NUMA node": Case(
        TWO_AND_TWO,
        request(app(), cards=by("numa,binpack")),
        [["d"]],
        {"GPU-a": Usage(5, 5_000), "GPU-d": ALONE},
    ),
    "binpack, then spread: the second says nothing more": Case(
        TWO_AND_TWO,
        request(app(), cards=by("binpack,spread")),
        [["b"]],
        {"GPU-b": ALONE},
    ),
    "weights: memory alone counts": Case(
        (*at(0, "a", "b"),),
        request(app(), cards=by("spread", weights="slot=0,core=0,memory=1")),
        [["a"]],
        {"GPU-a": Usage(5, 1_000, 50), "GPU-b": Usage(1, 2_000, 0)},
    ),
    "weights: equal ones change nothing, whatever their size": Case(
        (*at(0, "a", "b"),),
        request(app(), cards=by("spread", weights="slot=7,core=7,memory=7")),
        [["b"]],
        {"GPU-a": Usage(5, 1_000, 50), "GPU-b": Usage(1, 2_000, 0)},
    ),
    # Mutex.
    "mutex: an idle card, though a used one has room": Case(
        (*at(0, "a", "b"),),
        request(app(), cards=by("mutex")),
        [["b"]],
        {"GPU-a": ALONE},
    ),
    "mutex: no card is idle": Case(
        (*at(0, "a", "b"),),
        request(app(), cards=by("mutex")),
        {"ExclusiveDeviceAllocateConflict"},
        {"GPU-a": ALONE, "GPU-b": ALONE},
    ),
    "mutex in a list bars others, too": Case(
        (*at(0, "a"),),
        request(app(), cards=by("binpack,mutex")),
        {"ExclusiveDeviceAllocateConflict"},
        {"GPU-a": ALONE},
    ),
    "mutex: a sidecar and an app get a card each": Case(
        (*at(0, "a", "b"),),
        request(sidecar(), app(), cards=by("mutex")),
        [["a"], ["b"]],
    ),
    "mutex: an init and an app take turns on one card": Case(
        (*at(0, "a", "b"),), request(init(), app(), cards=by("mutex")), [["a"], ["a"]]
    ),
    # NUMA.
    "numa-bind: two cards of one NUMA node, the highest": Case(
        TWO_AND_TWO, request(app(count=2), cards=bound("spread")), [["c", "d"]]
    ),
    "numa-bind and binpack: the lowest": Case(
        TWO_AND_TWO, request(app(count=2), cards=bound("binpack")), [["a", "b"]]
    ),
    "numa-bind: another NUMA node where the first has one card left": Case(
        TWO_AND_TWO,
        request(app(20_000, count=2), cards=bound("spread")),
        [["a", "b"]],
        {"GPU-c": Usage(1, 20_000)},
    ),
    "numa-bind: idle cards of one NUMA node under mutex": Case(
        TWO_AND_TWO,
        request(app(count=2), cards=bound("mutex")),
        [["a", "b"]],
        {"GPU-c": ALONE},
    ),
    "numa-bind: each container has its own": Case(
        TWO_AND_TWO,
        request(app(20_000, count=2), app(20_000, count=2), cards=bound("spread")),
        [["c", "d"], ["a", "b"]],
    ),
    "numa-bind: enough cards, but not together": Case(
        TWO_AND_TWO,
        request(app(20_000, count=2), cards=bound("spread")),
        {"CardInsufficientMemory", "NumaNotFit"},
        {"GPU-a": Usage(1, 20_000), "GPU-c": Usage(1, 20_000)},
    ),
    "numa-bind: one card is always together": Case(
        TWO_AND_TWO, request(app(), cards=bound("binpack")), [["a"]]
    ),
    "without numa-bind two cards may be apart": Case(
        TWO_AND_TWO,
        request(app(20_000, count=2)),
        [["b", "d"]],
        {"GPU-a": Usage(1, 20_000), "GPU-c": Usage(1, 20_000)},
    ),
    # Modes.
    "vgpu-mode: a card in another mode": Case(
        (*at(0, "a", mode="mps"), *at(0, "b")),
        request(app(), selection=Selection(modes="hami-core")),
        [["b"]],
    ),
    "vgpu-mode: no card in that mode": Case(
        (*at(0, "a"),),
        request(app(), selection=Selection(modes="mig")),
        {"ModeNotFit"},
    ),
    "vgpu-mode: a card that names no mode": Case(
        (*at(0, "a", mode=""),),
        request(app(), selection=Selection(modes="mig")),
        [["a"]],
    ),
    "vgpu-mode: one of several": Case(
        (*at(0, "a", mode="mps"),),
        request(app(), selection=Selection(modes="hami-core,mps")),
        [["a"]],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_cards(case: Case) -> None:
    """What bind gives; where nothing, what the verdict names."""
    fleet = fleet_of([node(N1, *case.cards)], [held(N1, case.use)])
    asking = pod("p", case.wanted)
    allocation = choose_devices(fleet, asking, N1, None)
    if isinstance(case.expected, set):
        assert allocation is None
        verdict = judge_node(fleet, asking, N1, None)
        assert verdict is not None
        assert {reason.value for reason in verdict.reasons} == case.expected
    else:
        rows = [[f"GPU-{letter}" for letter in row] for row in case.expected]
        assert uuids(allocation) == rows


LINKS: Final = {
    (uuid, other): 60 if {uuid, other} in ({"a", "c"}, {"b", "d"}) else 10
    for uuid in "abcd"
    for other in "abcd"
    if uuid != other
}
TOPOLOGY: Final = {
    "two cards of one board": (
        request(app(count=2), cards=by("topology-aware")),
        ["ac"],
    ),
    "one card, and the pairs that are linked well stay": (
        request(app(), cards=by("topology-aware")),
        ["b"],
    ),
    "an init takes the cards of its app": (
        request(init(count=2), app(count=2), cards=by("topology-aware")),
        ["ac", "ac"],
    ),
    "each app has a board": (
        request(app(20_000, count=2), app(20_000, count=2), cards=by("topology-aware")),
        ["ac", "bd"],
    ),
    "mutex besides": (
        request(app(count=2), app(count=2), cards=by("topology-aware,mutex")),
        ["ac", "bd"],
    ),
}


def linked_node(*cards: Device, links: dict[tuple[str, str], int]) -> Node:
    """Show a node that tells how its cards are linked."""
    scores: dict[DeviceUUID, dict[DeviceUUID, int]] = {}
    for (one, other), score in links.items():
        of_one = scores.setdefault(DeviceUUID(f"GPU-{one}"), {})
        of_one[DeviceUUID(f"GPU-{other}")] = score
    return with_inventory(node(N1, *cards), links=scores)


@pytest.mark.parametrize(("wanted", "rows"), TOPOLOGY.values(), ids=TOPOLOGY)
def test_topology(wanted: PodRequest, rows: list[str]) -> None:
    """Cards that are linked best, of those that serve."""
    links = {**LINKS, ("d", "b"): 50, ("b", "d"): 50}
    shown = linked_node(*at(0, "a", "b", "c", "d"), links=links)
    allocation = choose_devices(fleet_of([shown]), pod("p", wanted), N1, None)
    assert uuids(allocation) == [[f"GPU-{letter}" for letter in row] for row in rows]


def test_links_give_way_where_a_later_container_needs_the_cards() -> None:
    """The large cards are linked best, and the second container needs both of them."""
    large, small = at(0, "a", "c"), at(0, "b", "d")
    small = [replace(each, capacity=Usage(10, 10_000, 100)) for each in small]
    use = {"GPU-b": ALONE, "GPU-d": ALONE}
    links = {("a", "c"): 60, ("c", "a"): 60}
    fleet = fleet_of([linked_node(*large, *small, links=links)], [held(N1, use)])
    policy = by("topology-aware,binpack")
    first, both = app(8_000, count=2), app(20_000, count=2)
    alone = choose_devices(fleet, pod("p", request(first, cards=policy)), N1, None)
    assert uuids(alone) == [["GPU-a", "GPU-c"]]
    wanted = pod("q", request(first, both, cards=policy))
    expected = [["GPU-b", "GPU-d"], ["GPU-a", "GPU-c"]]
    assert uuids(choose_devices(fleet, wanted, N1, None)) == expected


@pytest.mark.parametrize("links", [{}, {("a", "z"): 60}, {("z", "a"): 60}])
def test_topology_without_scores(links: dict[tuple[str, str], int]) -> None:
    """Cards in the order of spread, as if the word were not there."""
    shown = linked_node(*at(0, "a", "b", "c"), links=links)
    fleet = fleet_of([shown], [held(N1, {"GPU-a": ALONE})])
    wanted = pod("p", request(app(count=2), cards=by("topology-aware")))
    assert uuids(choose_devices(fleet, wanted, N1, None)) == [["GPU-b", "GPU-c"]]


def test_topology_forgets_a_node_that_is_gone() -> None:
    """One that comes back without scores has none."""
    fleet = fleet_of([linked_node(*at(0, "a", "b"), links={("a", "b"): 60})])
    assert fleet.of(GPU).links(N1) is not None
    fleet.put(node(N1, *at(0, "a", "b")), ())
    assert fleet.of(GPU).links(N1) is None


MUTEX: Final = by("mutex")


def test_room_of_a_nominated_mutex_pod_is_its_own() -> None:
    """It will bar others once it is bound, so they must not come before."""
    fleet = fleet_of([node(N1, *at(0, "a", "b"))])
    nominated = pod("p", request(app(1_000), cards=MUTEX))
    (room,) = nominations(fleet, N1, [nominated])
    other = pod("other", request(app(1_000, count=2)))
    assert choose_devices(fleet, other, N1, None, [room.holding]) is None


def fits(ledger: Ledger, wanted: PodRequest) -> list[list[str]] | None:
    """Ask bind."""
    return uuids(choose_devices(ledger.fleet, pod("other", wanted), N1, None))


def test_nobody_joins_a_mutex_pod() -> None:
    """Not even beside its init, while that holds the card; and all may once it left."""
    ledger = Ledger()
    ledger.apply(NodeSeen(node(N1, *at(0, "a", "b"))))
    alone = pod("p", request(app(1_000), cards=MUTEX))
    allocation = choose_devices(ledger.fleet, alone, N1, None)
    assert allocation is not None
    ledger.apply(Reserved(alone, N1, allocation))
    assert fits(ledger, request(app(1_000))) == [["GPU-b"]]
    assert fits(ledger, request(app(1_000, count=2))) is None
    assert fits(ledger, request(app(1_000), cards=MUTEX)) == [["GPU-b"]]
    verdict = judge_node(
        ledger.fleet, pod("other", request(app(1_000, count=2))), N1, None
    )
    assert verdict is not None
    assert "ExclusiveDeviceAllocateConflict" in {each.value for each in verdict.reasons}
    totals = totals_of(ledger.fleet, NodeName("n1"))
    assert totals is not None
    assert totals.held_exclusively == {"GPU-a"}
    # It is judged without its own holding.
    again = choose_devices(ledger.fleet, alone, N1, ledger.holding(alone.uid))
    assert again == allocation
    ledger.apply(PodGone(alone.uid))
    assert fits(ledger, request(app(1_000, count=2))) == [["GPU-a", "GPU-b"]]
