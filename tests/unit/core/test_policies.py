"""Which of several fitting cards, or nodes, a pod gets; worked by hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Final

import numpy as np
import pytest

from extender.core.device_policy import BINPACK_CARDS, SPREAD_CARDS, DevicePolicy
from extender.core.names import DeviceUUID, NodeName
from extender.core.node import Device
from extender.core.pod_request import PodRequest, Policy, Selection
from extender.core.policies import Burst, without_busy
from extender.core.usage import Usage
from extender.state.events import NodeSeen, Reserved
from extender.state.ledger import Ledger
from extender.verbs.bind import choose_devices
from extender.verbs.prioritize import best_node
from tests.values import (
    IDLE_APP,
    N1,
    N2,
    N3,
    app,
    card,
    fleet_of,
    held,
    init,
    node,
    pod,
    request,
    row,
    scored,
    sidecar,
    uuids,
)

BINPACK, SPREAD = Policy.BINPACK, Policy.SPREAD
A, B, C = (card(f"GPU-{letter}", index=index) for index, letter in enumerate("abc"))


@dataclass(frozen=True)
class Choice:
    """A node, a pod, and the cards that its containers get."""

    cards: tuple[Device, ...]
    wanted: PodRequest
    rows: list[list[str]]
    use: Mapping[str, Usage] = field(default_factory=dict)


def cards_for(case: Choice) -> list[list[str]] | None:
    """Ask bind."""
    fleet = fleet_of([node(N1, *case.cards)], [held(N1, case.use)])
    return uuids(choose_devices(fleet, pod("p", case.wanted), N1, None))


CHOICES = {
    "spread takes the least used card": Choice(
        (A, B), request(app()), [["GPU-b"]], {"GPU-a": Usage(1, 1_000)}
    ),
    "binpack takes the most used card": Choice(
        (A, B),
        request(app(), cards=BINPACK_CARDS),
        [["GPU-b"]],
        {"GPU-b": Usage(1, 1_000)},
    ),
    "binpack leaves a full card": Choice(
        (A, B),
        request(app(), cards=BINPACK_CARDS),
        [["GPU-a"]],
        {"GPU-b": Usage(1, 24_000)},
    ),
    "a slot in use counts": Choice(
        (A, B), request(app()), [["GPU-b"]], {"GPU-a": Usage(1)}
    ),
    "memory in use counts": Choice(
        (A, B), request(app()), [["GPU-b"]], {"GPU-a": Usage(0, 1)}
    ),
    "compute in use counts": Choice(
        (A, B), request(app()), [["GPU-b"]], {"GPU-a": Usage(0, 0, 1)}
    ),
    "use is measured by the card's own size": Choice(
        (A, card("GPU-b", index=1, memory=80_000)),
        request(app()),
        [["GPU-b"]],
        {"GPU-a": Usage(1, 12_000), "GPU-b": Usage(1, 30_000)},
    ),
    "the three parts of use weigh the same": Choice(
        (A, B),
        request(app()),
        [["GPU-a"]],
        {"GPU-a": Usage(3, 0, 0), "GPU-b": Usage(0, 2_400, 30)},
    ),
    "equal cards are taken by index, not by their place in the list": Choice(
        (card("GPU-a", index=2), card("GPU-b", index=1)), request(app()), [["GPU-b"]]
    ),
    "equal indices are taken by UUID": Choice(
        (card("GPU-b"), card("GPU-a")), request(app()), [["GPU-a"]]
    ),
    "binpack takes equal cards by index too": Choice(
        (card("GPU-a", index=2), card("GPU-b", index=1)),
        request(app(), cards=BINPACK_CARDS),
        [["GPU-b"]],
    ),
    "a card without compute counts as unused": Choice(
        (A, card("GPU-b", index=1, cores=0)),
        request(app()),
        [["GPU-b"]],
        {"GPU-a": Usage(1), "GPU-b": Usage(9, 20_000)},
    ),
    "a row lists its cards in card order": Choice(
        (A, B, C),
        request(app(count=2)),
        [["GPU-a", "GPU-c"]],
        {"GPU-a": Usage(1), "GPU-b": Usage(2)},
    ),
    "two apps are spread": Choice(
        (A, B), request(app(), app()), [["GPU-a"], ["GPU-b"]]
    ),
    "two apps are packed": Choice(
        (A, B), request(app(), app(), cards=BINPACK_CARDS), [["GPU-a"], ["GPU-a"]]
    ),
    "an init takes the card of the app, against spread": Choice(
        (A, B), request(init(5_000), app(cores=30)), [["GPU-a"], ["GPU-a"]]
    ),
    "an app moves to the card that the init needs, against binpack": Choice(
        (A, B),
        request(init(20_000), app(5_000), cards=BINPACK_CARDS),
        [["GPU-a"], ["GPU-a"]],
        {"GPU-b": Usage(1, 10_000)},
    ),
    "an init goes elsewhere where the only card for the app is too small": Choice(
        (card("GPU-a", memory=8_000), B),
        request(init(20_000), app(8_000, cores=60)),
        [["GPU-b"], ["GPU-a"]],
        {"GPU-b": Usage(1, 0, 50)},
    ),
    "an init of two cards takes those of the pod, then the policy's": Choice(
        (A, B, C),
        request(init(count=2), app()),
        [["GPU-a", "GPU-c"], ["GPU-c"]],
        {"GPU-a": Usage(1), "GPU-b": Usage(2)},
    ),
    "an init prefers the pod's cards, the least used of them first": Choice(
        (A, B, C),
        request(sidecar(5_000), app(1_000), init(500)),
        [["GPU-a"], ["GPU-b"], ["GPU-b"]],
        {"GPU-c": Usage(1)},
    ),
    "the second init prefers the card of the first to an idle one": Choice(
        (card("GPU-a", memory=8_000), B, card("GPU-c", index=2, memory=12_000)),
        request(init(20_000), init(10_000), app(8_000, cores=60)),
        [["GPU-b"], ["GPU-b"], ["GPU-a"]],
        {"GPU-b": Usage(2, 0, 50), "GPU-c": Usage(1, 0, 50)},
    ),
    "a container that asks for nothing gets nothing": Choice(
        (A,), request(IDLE_APP, app(), IDLE_APP), [[], ["GPU-a"], []]
    ),
    "a selection comes before the policy": Choice(
        (A, B),
        request(
            app(), selection=Selection(avoid_uuids=frozenset({DeviceUUID("GPU-a")}))
        ),
        [["GPU-b"]],
        {"GPU-b": Usage(5, 5_000, 50)},
    ),
}


@pytest.mark.parametrize("case", CHOICES.values(), ids=CHOICES)
def test_bind_takes_the_card_that_the_policy_says(case: Choice) -> None:
    """Each claim of the table holds."""
    assert cards_for(case) == case.rows


EQUAL_USE = {
    "three tenths in another order": (Usage(1, 4_800, 30), Usage(3, 2_400, 20)),
    "half and less": (Usage(5, 3_600, 40), Usage(7, 8_400, 0)),
    "nearly full": (Usage(8, 3_600, 60), Usage(7, 6_000, 60)),
}


@pytest.mark.parametrize("policy", [SPREAD_CARDS, BINPACK_CARDS])
@pytest.mark.parametrize("uses", EQUAL_USE.values(), ids=EQUAL_USE)
def test_cards_of_equal_use_are_taken_by_index(
    uses: tuple[Usage, Usage], policy: DevicePolicy
) -> None:
    """Equal in fractions is equal; which sum of floats is larger does not matter."""
    for first, second in permutations(uses):
        use = {"GPU-a": first, "GPU-b": second}
        choice = Choice((A, B), request(app(), cards=policy), [["GPU-a"]], use)
        assert cards_for(choice) == choice.rows


@pytest.mark.parametrize(
    ("policy", "used_cards", "most_on_one"),
    [(SPREAD_CARDS, 8, 1), (BINPACK_CARDS, 1, 8)],
)
def test_eight_pods_one_after_another(
    policy: DevicePolicy, used_cards: int, most_on_one: int
) -> None:
    """Spread takes eight cards, binpack one."""
    ledger = Ledger()
    cards = [card(f"GPU-{index}", index=index) for index in range(8)]
    ledger.apply(NodeSeen(node(N1, *cards)))
    taken = []
    for number in range(8):
        asking = pod(f"p{number}", request(app(), cards=policy))
        allocation = choose_devices(ledger.fleet, asking, N1, None)
        assert allocation is not None
        ledger.apply(Reserved(asking, N1, allocation))
        taken.append(allocation[0][0].device_uuid)
    counts = [taken.count(uuid) for uuid in set(taken)]
    assert (len(counts), max(counts)) == (used_cards, most_on_one)


def test_as_many_small_pods_fit_as_the_memory_holds() -> None:
    """23 times 2,000 MiB of 46,068; MiB are not rounded to percent."""
    ledger = Ledger()
    ledger.apply(NodeSeen(node(N1, card("GPU-a", memory=46_068, slots=30))))
    placed = 0
    for number in range(24):
        asking = pod(f"p{number}", request(app(2_000)))
        allocation = choose_devices(ledger.fleet, asking, N1, None)
        if allocation is not None:
            ledger.apply(Reserved(asking, N1, allocation))
            placed += 1
    assert placed == 23


@pytest.mark.parametrize("policy", [SPREAD_CARDS, BINPACK_CARDS])
def test_a_node_of_64_cards_serves_a_pod_of_64(policy: DevicePolicy) -> None:
    """Every card, in card order; and one more card is more than there are."""
    cards = [card(f"GPU-{index:02}", index=index) for index in range(64)]
    fleet = fleet_of([node(N1, *reversed(cards))])
    all_cards = pod("p", request(app(count=64), cards=policy))
    too_many = pod("q", request(app(count=65), cards=policy))
    assert uuids(choose_devices(fleet, all_cards, N1, None)) == [
        [str(each.device_uuid) for each in cards]
    ]
    assert choose_devices(fleet, too_many, N1, None) is None


def test_a_pod_of_twenty_containers_is_placed_as_a_whole() -> None:
    """Ten sidecars and inits in turn and ten apps share two cards."""
    declared = [sidecar(500), init(2_000)] * 5
    wanted = request(*declared, *([app(500)] * 10))
    allocation = choose_devices(fleet_of([node(N1, A, B)]), pod("p", wanted), N1, None)
    assert allocation is not None
    assert [len(each) for each in allocation] == [1] * 20
    lasting = [
        shares[0].device_uuid
        for shares, asked in zip(allocation, [*declared, *([app()] * 10)], strict=True)
        if asked.lifetime is not init().lifetime
    ]
    assert (lasting.count(A.device_uuid), lasting.count(B.device_uuid)) == (8, 7)


def test_bind_writes_what_each_card_gives() -> None:
    """A percentage becomes MiB of the card at hand; cores are as asked."""
    small, large = card("GPU-a", memory=999), card("GPU-b", index=1, memory=80_000)
    wanted = request(app(None, percent=50, count=2, cores=30), app(100))
    fleet = fleet_of([node(N1, small, large)])
    assert choose_devices(fleet, pod("p", wanted), N1, None) == (
        row(("GPU-a", 499, 30), ("GPU-b", 40_000, 30)),
        row(("GPU-a", 100, 0)),
    )


# Scores of nodes.


@dataclass(frozen=True)
class Scored:
    """A node, what is held there, a pod, and its scores under both policies."""

    cards: tuple[Device, ...]
    asked: tuple[int, int]
    use: Mapping[str, Usage]
    binpack: int
    spread: int


SCORES = {
    "half of everything: both round 5.5 up": Scored(
        (card("GPU-a", memory=1_000),), (100, 10), {"GPU-a": Usage(4, 400, 40)}, 6, 6
    ),
    "all of everything": Scored((card("GPU-a", slots=1),), (24_000, 100), {}, 10, 1),
    "next to nothing": Scored((card("GPU-a", slots=1_000),), (1, 0), {}, 1, 10),
    "two idle cards halve the weight of one pod": Scored(
        (A, B), (24_000, 100), {}, 4, 7
    ),
    "use is summed over cards, not averaged by card": Scored(
        (card("GPU-a", memory=10_000, slots=1), card("GPU-b", index=1, memory=90_000)),
        (1_000, 0),
        {"GPU-b": Usage(1, 90_000)},
        4,
        7,
    ),
    "over capacity counts as full": Scored(
        (A, B), (1_000, 10), {"GPU-a": Usage(50, 200_000, 900)}, 10, 1
    ),
    "a dimension of which the node has none counts as unused": Scored(
        (card("GPU-a", cores=0, slots=1),), (24_000, 0), {}, 7, 4
    ),
    "eight tenths, two thirds and seven tenths: 7.5 and 3.5 round up": Scored(
        (card("GPU-a", memory=24_000),),
        (1_000, 10),
        {"GPU-a": Usage(7, 15_000, 60)},
        8,
        4,
    ),
    "a sixth: 1.5 rounds up": Scored(
        (card("GPU-a", memory=24_000, slots=12),),
        (2_000, 0),
        {},
        2,
        10,
    ),
}


@pytest.mark.parametrize("case", SCORES.values(), ids=SCORES)
def test_a_node_is_scored_by_its_use_with_the_pod_placed(case: Scored) -> None:
    """Each claim of the table holds."""
    memory, cores = case.asked
    fleet = fleet_of([node(N1, *case.cards)], [held(N1, case.use)])
    scores = [
        scored(
            fleet, pod("p", request(app(memory, cores=cores), nodes=policy)), [N1], None
        )
        for policy in (BINPACK, SPREAD)
    ]
    assert scores == [[(N1, case.binpack)], [(N1, case.spread)]]


def test_the_score_counts_the_peak_of_the_phases() -> None:
    """An init of the whole card counts though the app is small."""
    fleet = fleet_of([node(N1, card("GPU-a", slots=1))])
    small = request(app(1))
    with_init = request(init(24_000, cores=100), app(1))
    assert scored(fleet, pod("p", small), [N1], None) == [(N1, 4)]
    assert scored(fleet, pod("q", with_init), [N1], None) == [(N1, 10)]


def preferred(
    cards: Mapping[NodeName, Device], use: Mapping[str, Usage], memory: int
) -> dict[Policy, NodeName]:
    """Choose a node under each policy."""
    names = list(cards)
    fleet = fleet_of([node(name, each) for name, each in cards.items()])
    for name, each in cards.items():
        if each.device_uuid in use:
            fleet.add(held(name, {each.device_uuid: use[each.device_uuid]}))
    return {
        policy: best_node(
            dict(
                scored(fleet, pod("p", request(app(memory), nodes=policy)), names, None)
            )
        )
        for policy in Policy
    }


def test_binpack_takes_the_fuller_node_and_spread_the_emptier() -> None:
    """Idle beside half used, and a tenth beside half used."""
    nodes = {N1: card("GPU-a"), N2: card("GPU-b")}
    half = Usage(5, 12_000, 50)
    expected = {BINPACK: N2, SPREAD: N1}
    assert preferred(nodes, {"GPU-b": half}, 2_000) == expected
    tenth = {"GPU-a": Usage(1, 2_400, 10), "GPU-b": half}
    assert preferred(nodes, tenth, 2_000) == expected


def test_a_node_score_has_ten_steps_and_no_more() -> None:
    """A quarter and a half of the memory alone are one step, so they may score equal.

    kube-scheduler then takes either node.
    """
    use = {N1: Usage(1, 6_000), N2: Usage(1, 12_000)}
    fleet = fleet_of(
        [node(name, card("GPU-a")) for name in use],
        [held(name, {"GPU-a": usage}) for name, usage in use.items()],
    )
    scores = scored(fleet, pod("p", request(app(2_000))), [N1, N2], None)
    assert scores == [(N1, 3), (N2, 3)]


def test_nodes_of_other_sizes_are_compared_with_the_pod_placed() -> None:
    """Half of a small idle node beside 37 percent of a large one in use."""
    nodes = {
        N1: card("GPU-a", memory=10_000, slots=1_000),
        N2: card("GPU-b", memory=30_000, slots=1_000),
    }
    use = {"GPU-b": Usage(1, 6_000)}
    assert preferred(nodes, use, 5_000) == {BINPACK: N1, SPREAD: N2}


def test_a_node_that_cannot_hold_the_pod_scores_nothing() -> None:
    """Full, unknown and without cards; every name is answered, in the order asked."""
    fleet = fleet_of(
        [node(N1, card("GPU-a")), node(N2, card("GPU-b")), node(N3)],
        [held(N1, {"GPU-a": Usage(10)})],
    )
    names = [NodeName("n9"), N1, N2, N3]
    scores = scored(fleet, pod("p", request(app())), names, None)
    assert [(name, score > 0) for name, score in scores] == [
        (NodeName("n9"), False),
        (N1, False),
        (N2, True),
        (N3, False),
    ]


def test_scores_come_in_the_order_asked() -> None:
    """Whatever the order in which the nodes were seen."""
    fleet = fleet_of(
        [node(N1, card("GPU-a")), node(N2, card("GPU-b")), node(N3, A, B)],
        [held(N1, {"GPU-a": Usage(9, 20_000, 90)})],
    )
    asking = pod("p", request(app()))
    assert scored(fleet, asking, [N3, N2, N1], None) == [(N3, 1), (N2, 1), (N1, 9)]


def test_a_node_that_offers_nothing_scores_a_finite_nothing() -> None:
    """Beside a good node, of which the score is as ever."""
    broken = node(N1, card("GPU-a", memory=0, slots=0, cores=0), allocatable=1)
    fleet = fleet_of([broken, node(N2, card("GPU-b"))])
    names = [N1, N2]
    assert scored(fleet, pod("p", request(app())), names, None) == [
        (N1, 0),
        (N2, 1),
    ]


def test_a_pod_that_cannot_be_honoured_or_asks_for_nothing_scores_nothing() -> None:
    """On every node that was sent."""
    fleet = fleet_of([node(N1, A)])
    for asking in (
        pod("p", request(app()), problem="wrong"),
        pod("q", request(IDLE_APP)),
    ):
        assert scored(fleet, asking, [N1, N2], None) == [(N1, 0), (N2, 0)]


def test_the_best_node_is_the_highest_then_the_first_by_name() -> None:
    """Whatever the order of the scores."""
    for order in permutations([(N3, 7), (N1, 3), (N2, 7)]):
        assert best_node(dict(order)) == N2


BUSY: Final = {
    "equal to one that is free": ([7, 7, 4], [1, 0, 0], [6, 7, 4]),
    "better than any": ([9, 7, 4], [1, 0, 0], [9, 7, 4]),
    "equal to one that is busy too": ([7, 7, 4], [1, 1, 0], [7, 7, 4]),
    "lowest score that fits": ([1, 1, 0], [1, 0, 0], [0, 1, 0]),
    "does not fit, as others": ([5, 0, 0], [0, 1, 0], [5, 0, 0]),
    "all": ([3, 3, 3], [1, 1, 1], [3, 3, 3]),
    "none": ([3, 3, 3], [0, 0, 0], [3, 3, 3]),
    "one waits, better than any": ([9, 7, 4], [2, 0, 0], [8, 7, 4]),
    "three wait, better than any": ([9, 7, 4], [4, 0, 0], [6, 7, 4]),
    "one waits, equal": ([7, 7, 4], [2, 0, 0], [5, 7, 4]),
    "many wait": ([2, 1, 1], [9, 0, 0], [0, 1, 1]),
}


@pytest.mark.parametrize(("scores", "ahead", "expected"), BUSY.values(), ids=BUSY)
def test_a_busy_node_scores_lower(
    scores: list[int], ahead: list[int], expected: list[int]
) -> None:
    """Under binpack by who waits and among equals; by spread, or throughput, to 0."""
    given, binds_ahead = np.array(scores), np.array(ahead)
    packed = without_busy(given, binds_ahead, Policy.BINPACK, Burst.PACKING)
    assert packed.tolist() == expected
    at_zero = [0 if busy else score for score, busy in zip(scores, ahead, strict=True)]
    for policy, burst in (
        (Policy.SPREAD, Burst.PACKING),
        (Policy.SPREAD, Burst.THROUGHPUT),
        (Policy.BINPACK, Burst.THROUGHPUT),
    ):
        assert without_busy(given, binds_ahead, policy, burst).tolist() == at_zero
    assert given.tolist() == scores
