"""What the search finds where choosing card by card does not, and what it may take."""

from dataclasses import dataclass, field
from itertools import permutations
from typing import Final

import numpy as np
import pytest

from extender.core import budget as budgets
from extender.core.budget import SearchCounts, StepBudget
from extender.core.card_states import Wants
from extender.core.device_policy import BINPACK_CARDS, SPREAD_CARDS, DevicePolicy
from extender.core.fitting import Fit, fit, fit_with_fewest_cards
from extender.core.fleet import Fleet
from extender.core.mig import MigPlacement, MigProfile
from extender.core.names import NodeName
from extender.core.node import Device
from extender.core.placement import place
from extender.core.pod_request import PodRequest
from extender.core.reasons import Reason
from extender.core.usage import Usage
from extender.verbs.bind import choose_devices
from extender.verbs.filter import filter_nodes
from extender.verbs.prioritize import score_nodes
from extender.verbs.verdicts import judge_node
from extender.wire.device_policies import device_policy_of, on_one_numa_node
from tests.values import (
    GPU,
    N1,
    a100,
    app,
    card,
    fleet_of,
    held,
    init,
    node,
    pod,
    request,
    sidecar,
    uuids,
)


def policy(text: str) -> DevicePolicy:
    """Read a policy as users write it."""
    found = device_policy_of(text)
    assert found is not None
    return found


def cards(*sizes: int, numa: tuple[int, ...] = ()) -> tuple[Device, ...]:
    """Make cards ``GPU-0``, ``GPU-1`` and so on, of so many MiB."""
    ranks = numa or (0,) * len(sizes)
    return tuple(
        card(f"GPU-{index}", index=index, memory=size, numa=rank)
        for index, (size, rank) in enumerate(zip(sizes, ranks, strict=True))
    )


def seventh(uuid: str, *, index: int = 0, numa: int = 0) -> Device:
    """Register a card in MIG mode that gives sevenths of 5 GB and nothing else."""
    seven = tuple(MigPlacement(start, 1) for start in range(7))
    small = MigProfile("1g.5gb", 4_864, 15, 1, seven)
    return card(
        uuid,
        index=index,
        memory=40_960,
        slots=7,
        mode="mig",
        numa=numa,
        profiles=(small,),
    )


@dataclass(frozen=True)
class Case:
    """A node, a pod, and the cards that bind gives it; None where it is refused."""

    cards: tuple[Device, ...]
    wanted: PodRequest
    expected: list[list[str]] | None
    used: dict[str, Usage] = field(default_factory=dict)
    is_chosen: bool = False
    """Whether choosing card by card fits, too."""


CASES: Final = {
    "the small app goes to an instance, since the large one needs the plain card": Case(
        (*cards(24_000), seventh("GPU-1", index=1)),
        request(app(4_000), app(23_000)),
        [["GPU-1"], ["GPU-0"]],
    ),
    "an app leaves the card whole that an init needs whole": Case(
        (a100("GPU-0"), seventh("GPU-1", index=1)),
        request(init(39_000), app(4_000, count=2)),
        [["GPU-0"], ["GPU-1", "GPU-1"]],
    ),
    "all instances of an app at the NUMA node that leaves the other whole": Case(
        (a100("GPU-0", numa=1), seventh("GPU-1", index=1)),
        request(app(4_000, count=2), app(39_000), cards=on_one_numa_node(SPREAD_CARDS)),
        [["GPU-1", "GPU-1"], ["GPU-0"]],
    ),
    "instances fit in no way": Case(
        (a100("GPU-0"), seventh("GPU-1", index=1)),
        request(app(20_000), app(20_000), app(9_000)),
        None,
    ),
    "spread puts the small app on the only card for the large one": Case(
        cards(10_000, 20_000),
        request(app(8_000), app(15_000)),
        [["GPU-0"], ["GPU-1"]],
        {"GPU-0": Usage(1, 2_000)},
    ),
    "the example of the documentation": Case(
        cards(10_000, 20_000, 20_000),
        request(app(8_000), app(15_000), app(18_000)),
        [["GPU-0"], ["GPU-1"], ["GPU-2"]],
        {"GPU-0": Usage(1, 2_000)},
    ),
    "binpack fills the fuller card with what leaves a gap there": Case(
        cards(14_000, 20_000),
        request(app(6_000), app(14_000), app(14_000), cards=BINPACK_CARDS),
        [["GPU-1"], ["GPU-1"], ["GPU-0"]],
        {"GPU-0": Usage(1, 0, 10)},
    ),
    "a sidecar takes what an init beside it needs": Case(
        cards(10_000, 20_000),
        request(sidecar(4_000), init(18_000), app(1_000)),
        [["GPU-0"], ["GPU-1"], ["GPU-1"]],
        {"GPU-0": Usage(1, 1_000)},
    ),
    "an init before a sidecar does not meet it": Case(
        cards(20_000),
        request(init(18_000), sidecar(4_000), app(1_000)),
        [["GPU-0"], ["GPU-0"], ["GPU-0"]],
        is_chosen=True,
    ),
    "two apps take the compute that a third shares without naming cores": Case(
        cards(20_000, 20_000),
        request(
            app(cores=60), app(cores=60), app(cores=40), app(), cards=BINPACK_CARDS
        ),
        None,
        {"GPU-0": Usage(1, 0, 60)},
    ),
    "an app that wants all cores keeps a card for itself": Case(
        cards(20_000, 24_000),
        request(app(1_000), app(22_000, cores=100)),
        [["GPU-0"], ["GPU-1"]],
        {"GPU-0": Usage(1, 1_000)},
    ),
    "mutex: each container its own card, the large one on the large card": Case(
        cards(24_000, 10_000),
        request(app(8_000), app(20_000), cards=policy("mutex")),
        [["GPU-1"], ["GPU-0"]],
    ),
    "numa-bind: one card is taken where it leaves two together": Case(
        cards(20_000, 20_000, 20_000, numa=(0, 1, 1)),
        request(
            app(15_000),
            app(15_000, count=2),
            cards=on_one_numa_node(SPREAD_CARDS),
        ),
        [["GPU-0"], ["GPU-1", "GPU-2"]],
    ),
    "several cards a container: the sets that leave room": Case(
        cards(20_000, 20_000, 30_000),
        request(app(10_000, count=2), app(25_000), app(15_000)),
        None,
    ),
    "a percentage is of each card at hand": Case(
        cards(10_000, 40_000),
        request(app(None, percent=50), app(30_000)),
        [["GPU-0"], ["GPU-1"]],
        {"GPU-0": Usage(1, 1_000)},
    ),
    "an init takes a card of its own where none of the others' would do": Case(
        cards(10_000, 20_000, 30_000),
        request(init(25_000), app(8_000, cores=60), app(15_000, cores=60)),
        [["GPU-2"], ["GPU-0"], ["GPU-1"]],
        {"GPU-0": Usage(1, 2_000), "GPU-2": Usage(1, 0, 50)},
    ),
    "three large apps on two cards fit in no way": Case(
        cards(24_000, 24_000),
        request(app(10_000), app(13_000), app(13_000), app(1_000)),
        [["GPU-0"], ["GPU-1"], ["GPU-0"], ["GPU-1"]],
        is_chosen=True,
    ),
}


def fleet_with(case: Case) -> Fleet:
    """Put the case's node, with what is held there."""
    used = [held(N1, case.used)] if case.used else []
    return fleet_of([node(N1, *case.cards, allocatable=1_000)], used)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_verb_finds_what_fits(case: Case) -> None:
    """Filter, bind and the verdict agree, whether choosing card by card does or not."""
    fleet, asking = fleet_with(case), pod("p", case.wanted)
    alone = fleet.of(GPU).node(N1)
    assert alone is not None
    assert place(alone, case.wanted).fits[0] == case.is_chosen
    assert uuids(choose_devices(fleet, asking, N1, None)) == case.expected
    fits = case.expected is not None
    assert filter_nodes(fleet, asking, [N1], None).fitting == [N1] * fits
    assert (judge_node(fleet, asking, N1, None) is None) == fits


FEWEST: Final = {
    "an app moves to the card of which the init needs an instance": Case(
        (seventh("GPU-0"), a100("GPU-1", index=1)),
        request(init(12_000), app(4_000)),
        [["GPU-1"], ["GPU-1"]],
    ),
    "nothing is gained where the init's instance leaves no place": Case(
        (seventh("GPU-0"), a100("GPU-1", index=1)),
        request(init(39_000), app(4_000)),
        [["GPU-1"], ["GPU-0"]],
    ),
    "an app moves to the card that the init needs": Case(
        cards(24_000, 24_000),
        request(init(20_000), app(10_000), cards=BINPACK_CARDS),
        [["GPU-1"], ["GPU-1"]],
        {"GPU-0": Usage(1, 10_000)},
    ),
    "of two apps that may, the later one moves": Case(
        cards(24_000, 24_000),
        request(init(20_000), app(4_000), app(4_000), cards=BINPACK_CARDS),
        [["GPU-1"], ["GPU-0"], ["GPU-1"]],
        {"GPU-0": Usage(1, 10_000)},
    ),
    "two inits share one more card where each could have its own": Case(
        cards(10_000, 30_000, 40_000),
        request(init(18_000), init(35_000), app(1_000, count=1), cards=BINPACK_CARDS),
        [["GPU-2"], ["GPU-2"], ["GPU-2"]],
    ),
    "nothing is gained where no card serves both": Case(
        cards(10_000, 30_000),
        request(init(30_000), app(1_000, cores=100), cards=BINPACK_CARDS),
        [["GPU-1"], ["GPU-1"]],
    ),
    "the init has its own card where the app cannot be there": Case(
        cards(24_000, 24_000),
        request(sidecar(8_000), init(20_000), app(1_000), cards=BINPACK_CARDS),
        [["GPU-0"], ["GPU-1"], ["GPU-1"]],
    ),
}


@pytest.mark.parametrize("case", FEWEST.values(), ids=FEWEST)
def test_bind_takes_few_cards_for_inits_alone(case: Case) -> None:
    """A pod is charged on them although they are idle once its inits are over."""
    fleet = fleet_with(case)
    assert uuids(choose_devices(fleet, pod("p", case.wanted), N1, None)) == (
        case.expected
    )


def test_what_fits_in_no_way_is_refused_for_the_reasons_that_were_met() -> None:
    """The container that did not fit, and what each card said to it."""
    wanted = request(app(15_000), app(15_000), app(12_000))
    used = [held(N1, {"GPU-0": Usage(1, 1_000)})]
    fleet = fleet_of([node(N1, *cards(24_000, 24_000, 12_500))], used)
    fleet.add(held(N1, {"GPU-2": Usage(1, 1_000)}))
    verdict = judge_node(fleet, pod("p", wanted), N1, None)
    assert verdict is not None
    assert verdict.container == "c2"
    assert verdict.reasons == (Reason.CARD_INSUFFICIENT_MEMORY,)
    decision = filter_nodes(fleet, pod("p", wanted), [N1], None)
    assert decision.failed == {N1: "CardInsufficientMemory"}


def test_a_node_is_not_unresolvable_where_only_the_search_fits_it_empty() -> None:
    """Neither spread nor packed; but the apps could change places."""
    wanted = request(app(6_000), app(14_000), app(14_000))
    fleet = fleet_of(
        [node(N1, *cards(14_000, 20_000))], [held(N1, {"GPU-1": Usage(1, 9_000)})]
    )
    decision = filter_nodes(fleet, pod("p", wanted), [N1], None)
    assert decision.failed == {N1: "CardInsufficientMemory"}
    assert not decision.unresolvable


# Steps.


_SIZES: Final = (11_500, 11_700, 11_900, 12_100)


def hard_pod() -> PodRequest:
    """Ask for four apps that need most of a card each."""
    return request(*map(app, _SIZES))


def tight_fleet(count: int) -> tuple[Fleet, list[NodeName]]:
    """Put nodes on which the only way to fit the hard pod is found late."""
    random = np.random.default_rng(753)
    names = [NodeName(f"n{number}") for number in range(count)]
    nodes = [node(name, *cards(*[24_000] * 8), allocatable=1_000) for name in names]
    holdings = []
    for name in names:
        fitting = np.array(_SIZES) + random.integers(0, 100, 4)
        free = random.permutation([*fitting, *random.integers(8_000, 11_500, 4)])
        used = {
            f"GPU-{index}": Usage(1, 24_000 - mib)
            for index, mib in enumerate(free.tolist())
        }
        holdings.append(held(name, used))
    return fleet_of(nodes, holdings), names


def of_steps(per_node: int, left: int) -> StepBudget:
    """Allow so many steps."""
    return StepBudget(per_node, left, SearchCounts())


def fitted(fleet: Fleet, wanted: PodRequest, budget: StepBudget) -> Fit:
    """Fit on all nodes at once."""
    (bucket,) = fleet.of(GPU)._buckets
    return fit(bucket.cards(), wanted, budget)


@pytest.mark.parametrize("left", [0, 1, 50, 200, 1_000])
def test_all_nodes_together_take_no_more_steps_than_they_may(left: int) -> None:
    """However many there are; those that were not reached are cut short."""
    fleet, names = tight_fleet(300)
    budget = of_steps(300, left)
    found = fitted(fleet, hard_pod(), budget)
    columns = np.arange(len(names))
    assert budget.counts.steps <= left
    assert budget.left == left - budget.counts.steps
    assert found.is_undecided[columns].any()
    assert found.is_cut_short[columns].any()
    assert budget.counts.exhausted == np.count_nonzero(found.is_undecided[columns])


def test_a_node_that_takes_too_many_steps_itself_is_not_cut_short() -> None:
    """To ask again would end in the same way."""
    fleet, _ = tight_fleet(1)
    found = fitted(fleet, hard_pod(), of_steps(3, 1_000))
    assert found.is_undecided[0]
    assert not found.is_cut_short[0]


def test_more_steps_decide_more_and_never_otherwise() -> None:
    """What fits with few steps fits with many; what is undecided may."""
    fleet, _ = tight_fleet(60)
    fits, undecided = np.zeros(1, np.bool_), np.ones(1, np.bool_)
    for left in (100, 200, 400, 800, 1_600, 3_200):
        found = fitted(fleet, hard_pod(), of_steps(300, left))
        assert not (fits & ~found.placement.fits).any()
        assert not (found.is_undecided & ~undecided).any()
        fits, undecided = found.placement.fits, found.is_undecided
    assert fits[:60].all()


def test_without_steps_bind_keeps_the_choice_that_fits() -> None:
    """To have fewer cards for inits is worth a search, and no refusal."""
    wanted = request(init(20_000), app(10_000), cards=BINPACK_CARDS)
    used = [held(N1, {"GPU-0": Usage(1, 10_000)})]
    alone = fleet_of([node(N1, *cards(24_000, 24_000))], used).of(GPU).node(N1)
    assert alone is not None
    placement = fit_with_fewest_cards(alone, wanted, of_steps(1, 1))
    assert placement.fits[0]
    taken = [None if row is None else row[:, 0].tolist() for row in placement.chosen]
    assert taken == [[False, True], [True, False]]


def mixed_fleet(count: int) -> tuple[Fleet, list[NodeName]]:
    """Put nodes that `small_then_large` fits on, but not card by card."""
    names = [NodeName(f"n{number}") for number in range(count)]
    nodes = [
        node(
            name,
            card("GPU-0", memory=24_000 + number),
            seventh("GPU-1", index=1),
            allocatable=99,
        )
        for number, name in enumerate(names)
    ]
    return fleet_of(nodes), names


def small_then_large() -> PodRequest:
    """Ask for a part that an instance has room for, and for most of a card."""
    return request(app(4_000), app(23_000))


@pytest.mark.parametrize(
    ("left", "decided"), [(0, 0), (20, 0), (22, 1), (43, 1), (53, 4), (300, 20)]
)
def test_instances_are_searched_in_as_many_steps_as_there_are(
    left: int, decided: int
) -> None:
    """Nodes that were not reached are cut short, and refused for now."""
    fleet, names = mixed_fleet(20)
    budget = of_steps(300, left)
    found = fitted(fleet, small_then_large(), budget)
    columns = np.arange(len(names))
    fits, undecided = found.placement.fits[columns], found.is_undecided[columns]
    assert (fits ^ undecided).all()
    assert budget.counts.steps <= left
    assert np.count_nonzero(fits) == decided
    assert (found.is_cut_short[columns] == undecided).all()


def test_a_node_whose_instances_take_too_many_steps_is_not_cut_short() -> None:
    """As elsewhere."""
    fleet, _ = mixed_fleet(1)
    found = fitted(fleet, small_then_large(), of_steps(1, 1_000))
    assert found.is_undecided[0]
    assert not found.is_cut_short[0]


def test_nodes_with_equal_instances_are_searched_once() -> None:
    """For all of them."""
    names = [NodeName(f"n{number}") for number in range(50)]
    nodes = [
        node(name, card("GPU-0"), seventh("GPU-1", index=1), allocatable=99)
        for name in names
    ]
    budget = of_steps(300, 1_000)
    found = fitted(fleet_of(nodes), small_then_large(), budget)
    assert found.placement.fits[:50].all()
    assert budget.counts.nodes == 1


def test_without_steps_bind_keeps_the_instances_that_fit() -> None:
    """Though there would be a choice with fewer cards."""
    case = FEWEST["an app moves to the card of which the init needs an instance"]
    cards_there = fleet_with(case).of(GPU).node(N1)
    assert cards_there is not None
    found = fit_with_fewest_cards(cards_there, case.wanted, of_steps(1, 1))
    assert [row.argmax() for row in found.chosen if row is not None] == [1, 0]


def test_nodes_with_the_same_cards_in_another_order_share_dead_ends() -> None:
    """What cards there are decides, and not where they stand."""
    sizes = list(dict.fromkeys(permutations([10_000, 10_000, 14_000, 14_000])))
    names = [NodeName(f"n{number}") for number in range(len(sizes))]
    nodes = [node(name, *cards(*size)) for name, size in zip(names, sizes, strict=True)]
    wanted = request(*map(app, (3_000, 5_000, 6_000, 9_000, 11_000, 11_000)))
    steps = []
    for count in (1, len(names)):
        budget = of_steps(10_000, 10_000)
        found = fitted(fleet_of(nodes[:count]), wanted, budget)
        assert not found.placement.fits.any()
        assert not found.is_undecided.any()
        steps.append(budget.counts.steps)
    assert steps[0] > 50
    assert steps[1] < 2 * steps[0]


def test_rules_are_not_asked_again_about_kinds_of_card_that_are_known() -> None:
    """Ten nodes have the same two kinds in other orders, and all of them fit."""
    sizes = list(dict.fromkeys(permutations([10_000] * 2 + [20_000] * 3)))
    names = [NodeName(f"n{number}") for number in range(len(sizes))]
    nodes = [node(name, *cards(*size)) for name, size in zip(names, sizes, strict=True)]
    used = [
        held(name, {f"GPU-{size.index(10_000)}": Usage(1, 1_000)})
        for name, size in zip(names, sizes, strict=True)
    ]
    wanted = request(app(8_000), app(15_000), app(15_000), app(15_000), app(8_000))
    fleet = fleet_of(nodes, used)
    decision = filter_nodes(fleet, pod("p", wanted), names, None)
    assert decision.fitting == names
    assert fleet.searches.nodes >= len(names)


def test_equal_nodes_are_searched_once() -> None:
    """A fleet of one state of cards takes the steps of one node."""
    wanted = request(app(8_000), app(15_000))
    taken = []
    for count in (1, 500):
        names = [NodeName(f"n{number}") for number in range(count)]
        nodes = [node(name, *cards(10_000, 20_000)) for name in names]
        used = {"GPU-0": Usage(1, 2_000)}
        fleet = fleet_of(nodes, [held(name, used) for name in names])
        decision = filter_nodes(fleet, pod("p", wanted), names, None)
        assert decision.fitting == names
        taken.append((fleet.searches.steps, fleet.searches.nodes))
    assert taken[0] == taken[1]


def test_steps_grow_with_the_kinds_of_node_at_most() -> None:
    """Twice as many nodes that all differ take at most twice the steps."""
    steps = []
    for count in (50, 100, 200):
        budget = of_steps(10_000, 1_000_000)
        fitted(tight_fleet(count)[0], hard_pod(), budget)
        steps.append(budget.counts.steps)
    assert steps[1] <= 2.2 * steps[0]
    assert steps[2] <= 2.2 * steps[1]


@pytest.mark.parametrize("count", [2, 4, 8, 16])
def test_equal_cards_do_not_multiply_the_steps(count: int) -> None:
    """All that matters is how many of a kind are left: apps are not tried in turn."""
    wanted = request(*[app(9_000)] * count, *[app(13_000)] * count, app(3_000))
    fleet = fleet_of([node(N1, *cards(*[24_000] * count), allocatable=1_000)])
    alone = fleet.of(GPU).node(N1)
    assert alone is not None
    budget = of_steps(1_000_000, 1_000_000)
    fit(alone, wanted, budget)
    assert budget.counts.steps <= 40 * count


def test_where_no_container_fits_alone_nothing_is_searched() -> None:
    """Nor where it is the first to be placed, nor where all memory is too little."""
    fleet, names = tight_fleet(20)
    for wanted in (
        request(app(8_000), app(20_000)),
        request(app(20_000), app(8_000)),
        request(sidecar(8_000), init(20_000), app(1_000)),
        request(*[app(11_500)] * 9),
    ):
        assert not filter_nodes(fleet, pod("p", wanted), names, None).fitting
        assert fleet.searches.nodes <= 1  # the empty node, where it may fit


def test_a_pod_of_one_container_is_never_searched() -> None:
    """There is nothing before it that could give way."""
    fleet, names = tight_fleet(20)
    for asked in (app(20_000), app(11_000, count=8), init(23_000, count=2)):
        filter_nodes(fleet, pod("p", request(asked)), names, None)
    assert fleet.searches == SearchCounts()


def test_what_filter_cannot_decide_is_failed_and_never_unresolvable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither does it say why the containers would not fit: they may."""
    monkeypatch.setattr(budgets, "STEPS_PER_QUESTION", 4)
    fleet, names = tight_fleet(3)
    decision = filter_nodes(fleet, pod("p", hard_pod()), names, None)
    assert decision.failed == dict.fromkeys(names, "PlacementSearchExhausted")
    assert not decision.unresolvable
    assert fleet.searches.exhausted >= 3
    for name in names:
        assert judge_node(fleet, pod("p", hard_pod()), name, None) is None
        assert choose_devices(fleet, pod("p", hard_pod()), name, None) is not None


def test_a_verdict_says_that_it_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no card and no container: none of them is to blame."""
    monkeypatch.setattr(budgets, "ONE_NODE_TIMES", 0)
    fleet, _ = tight_fleet(1)
    verdict = judge_node(fleet, pod("p", hard_pod()), NodeName("n0"), None)
    assert verdict is not None
    assert verdict.reasons == (Reason.SEARCH_EXHAUSTED,)
    assert not verdict.is_unresolvable
    assert not verdict.cards
    assert choose_devices(fleet, pod("p", hard_pod()), NodeName("n0"), None) is None


def test_each_question_decides_some_more_until_all_are() -> None:
    """Answers that were cut short are not remembered as such: they have new steps."""
    fleet, names = tight_fleet(200)
    asking = pod("p", hard_pod())
    left = []
    for _ in range(40):
        decision = filter_nodes(fleet, asking, names, None)
        left.append(len(decision.failed))
    assert left[0] > 0
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0
    steps = fleet.searches.steps
    assert filter_nodes(fleet, asking, names, None).fitting == names
    assert fleet.searches.steps == steps


def test_prioritize_does_not_search_what_is_not_in_question() -> None:
    """It asks about nodes that fit; those that were cut short wait for filter."""
    fleet, names = tight_fleet(200)
    asking = pod("p", hard_pod())
    fitting = filter_nodes(fleet, asking, names, None).fitting
    assert 0 < len(fitting) < len(names)
    steps = fleet.searches.steps
    assert score_nodes(fleet, asking, fitting, None).all()
    assert fleet.searches.steps == steps


def test_more_containers_than_can_be_searched_are_not_decided() -> None:
    """Neither by their number, nor by the number of states that a card can have."""
    many = request(*[app(1_000)] * 40, *[app(2_000)] * 40, app(9_000))
    odd = request(*[app(1_000 + number) for number in range(14)], app(9_000))
    for wanted in (many, odd):
        total = sum(asked.memory_mib or 0 for asked in wanted.containers)
        sizes = (total - 8_000, 4_000, 4_500)
        fleet = fleet_of(
            [
                node(
                    N1,
                    *(
                        card(f"GPU-{i}", index=i, memory=size, slots=100)
                        for i, size in enumerate(sizes)
                    ),
                )
            ]
        )
        fleet.add(held(N1, {"GPU-0": Usage(1, 1)}))
        decision = filter_nodes(fleet, pod("p", wanted), [N1], None)
        assert decision.fitting or decision.failed == {N1: "PlacementSearchExhausted"}


def test_a_cards_state_tells_what_it_holds_of_the_pod() -> None:
    """Equal requests share a digit, whatever number of cards they ask for."""
    wants = Wants(request(sidecar(2_000), init(5_000), app(8_000), app(8_000, count=2)))
    assert wants.state_count == 6
    assert [one.stride for one in wants.containers] == [1, 0, 2, 2]
    assert wants.held[:, 5].tolist() == [1, 0, 2]
