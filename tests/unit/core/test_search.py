"""What the search finds where choosing card by card does not, and what it may take."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pytest

from extender.core.budget import SearchCounts, StepBudget
from extender.core.device_policy import BINPACK_CARDS, SPREAD_CARDS, DevicePolicy
from extender.core.fitting import Fit, fit
from extender.core.fleet import Fleet
from extender.core.model import Device, NodeName, PodRequest, Usage
from extender.core.placement import place
from extender.core.reasons import Reason
from extender.verbs.bind import choose_devices
from extender.verbs.filter import filter_nodes
from extender.verbs.verdicts import judge_node
from extender.wire.device_policies import device_policy_of, on_one_numa_node
from tests.values import (
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
    "spread puts the small app on the only card for the large one": Case(
        cards(10_000, 20_000),
        request(app(8_000), app(15_000)),
        [["GPU-0"], ["GPU-1"]],
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
    alone = fleet.node(N1)
    assert alone is not None
    assert place(alone, case.wanted).fits[0] == case.is_chosen
    assert uuids(choose_devices(fleet, asking, N1, None)) == case.expected
    fits = case.expected is not None
    assert filter_nodes(fleet, asking, [N1], None).fitting == [N1] * fits
    assert (judge_node(fleet, asking, N1, None) is None) == fits


FEWEST: Final = {
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

_SIZES: Final = (11_000, 9_700, 8_500, 7_300, 6_200, 5_900, 5_300, 4_700)


def hard_pod(containers: int = 8) -> PodRequest:
    """Ask for much in odd sizes, so that few assignments fit, or none."""
    return request(*(app(size) for size in _SIZES[::-1][:containers]))


def hard_node(name: NodeName, seed: int) -> tuple[Device, ...]:
    """Make four cards of about what the hard pod needs in all."""
    random = np.random.default_rng(seed)
    return cards(*(random.integers(14_400, 15_000, 4)).tolist())


def of_steps(per_node: int, left: int) -> StepBudget:
    """Allow so many steps."""
    return StepBudget(per_node, left, SearchCounts())


def fitted(fleet: Fleet, wanted: PodRequest, budget: StepBudget) -> Fit:
    """Fit on all nodes, which have equally many cards."""
    (bucket,) = fleet._buckets
    return fit(bucket.cards(), wanted, budget)


def hard_fleet(count: int) -> tuple[Fleet, list[NodeName]]:
    """Put nodes that differ, and on which the search has much to do."""
    names = [NodeName(f"n{number}") for number in range(count)]
    nodes = [
        node(name, *hard_node(name, seed), allocatable=1_000)
        for seed, name in enumerate(names)
    ]
    return fleet_of(nodes), names
