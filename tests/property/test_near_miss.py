"""A near miss: that much is enough, a bit less is not, and nothing smaller is."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from hypothesis import event, given
from hypothesis import strategies as st

from extender.core.budget import SearchCounts, StepBudget
from extender.core.cards import Cards
from extender.core.device_policy import SPREAD_CARDS
from extender.core.fleet import Fleet
from extender.core.names import DeviceUUID
from extender.core.near_miss import Relief, least_cost, relief_steps
from extender.core.node import Device
from extender.core.pod_request import PodRequest, Sharing
from extender.core.usage import NOTHING, Usage
from extender.verbs.filter import filter_nodes
from tests.oracles import Loaded, exhaustive_fits
from tests.property.test_search import put
from tests.strategies import PlacementCase, placement_cases, profile_cases
from tests.values import GPU, N1, app, pod, request

PLENTY = 1_000


def cards_of(loaded: Sequence[Loaded], slots: int) -> Cards:
    """Show the cards as the rules see them."""
    fleet = Fleet()
    put(fleet, N1, loaded, slots)
    cards = fleet.of(GPU).node(N1)
    assert cards is not None
    return cards


def relief_on(
    cards: Cards, request: PodRequest, *, below: float = inf
) -> Relief | None:
    """Ask about the only node, in one go."""
    budget = StepBudget.of_one(SearchCounts())
    steps = relief_steps(cards, request, 0, budget, below=below)
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            found: Relief | None = ended.value
            return found


def relieved(
    loaded: Sequence[Loaded], uuids: Sequence[DeviceUUID], amount: Usage
) -> list[Loaded]:
    """Give back room on some cards."""
    return [
        (card, used - amount if card.device_uuid in uuids else used)
        for card, used in loaded
    ]


def fits(loaded: Sequence[Loaded], request: PodRequest) -> bool:
    """Try every assignment."""
    return exhaustive_fits(loaded, PLENTY, 0, request).fits


def one_less(amount: Usage) -> list[Usage]:
    """Take one off each dimension of which there is some."""
    ones = (Usage(1), Usage(0, 1), Usage(0, 0, 1))
    return [
        amount - one
        for one, there in zip(ones, _numbers(amount), strict=True)
        if there > 0
    ]


def _numbers(usage: Usage) -> tuple[int, int, int]:
    return usage.slots, usage.memory_mib, usage.core_percent


Missing = tuple[list[Loaded], PodRequest, Relief | None]


def missing(drawn: PlacementCase) -> Missing | None:
    """Ask what is missing; None of pods that ask for nothing, or fit."""
    loaded, _, _, request = drawn
    is_equal = any(each.sharing is Sharing.EQUALLY for each in request.containers)
    if not request.asks_for_devices or is_equal or fits(loaded, request):
        return None
    cards = cards_of(loaded, PLENTY)
    found = relief_on(cards, request)
    bound = float(least_cost(cards, request)[0])
    assert bound <= (inf if found is None else found.cost)
    if found is not None:
        # Who has something better already is told nothing, and else the same.
        assert relief_on(cards, request, below=found.cost) is None
        assert relief_on(cards, request, below=found.cost * 1.5 + 0.01) == found
    event("none" if found is None else f"{len(found.positions)} cards")
    return loaded, request, found


@given(placement_cases(max_devices=3, max_containers=3) | profile_cases())
def test_that_much_is_enough_and_less_is_not(drawn: PlacementCase) -> None:
    """By every assignment there is, with what is held there lowered by so much."""
    told = missing(drawn)
    if told is None:
        return
    loaded, request, found = told
    uuids = [card.device_uuid for card, _ in loaded]
    if found is None:
        # Nor would any other room: not even far more than there is on all of them.
        if all(min(_numbers(card.capacity)) for card, _ in loaded):
            much = relieved(loaded, uuids, Usage(100, 200_000, 2_000))
            assert not fits(much, request)
        return
    cards = cards_of(loaded, PLENTY)
    at = [cards.device_uuid(position, 0) for position in found.positions]
    assert fits(relieved(loaded, at, found.amount), request)
    for less in one_less(found.amount):
        assert not fits(relieved(loaded, at, less), request)
    for fewer in range(len(at) if len(at) > 1 else 0):
        some = [uuid for place, uuid in enumerate(at) if place != fewer]
        assert not fits(relieved(loaded, some, found.amount), request)


@given(placement_cases(max_devices=3, max_containers=3))
def test_no_smaller_amount_of_one_dimension_on_one_card_is(
    drawn: PlacementCase,
) -> None:
    """So the near miss is the nearest."""
    told = missing(drawn)
    if told is None:
        return
    loaded, request, found = told
    if found is None:
        return
    for card, _ in loaded:
        for dimension, capacity in enumerate(_numbers(card.capacity)):
            smaller = _below(found.cost, capacity)
            if smaller > 0:
                amounts = [0, 0, 0]
                amounts[dimension] = smaller
                some = relieved(loaded, [card.device_uuid], Usage(*amounts))
                assert not fits(some, request)


def _below(cost: float, capacity: int) -> int:
    """Give the largest amount that costs less."""
    amount = min(int(cost * capacity), 300_000)
    while amount and amount / capacity >= cost - 1e-9:
        amount -= 1
    return amount


def larger(card: Device, by: Usage) -> Device:
    """Register more of a card."""
    return replace(card, capacity=card.capacity + by)


@given(placement_cases(max_devices=3, max_containers=3), st.booleans())
def test_a_larger_card_would_do_as_well(drawn: PlacementCase, take_less: bool) -> None:  # noqa: FBT001
    """Where what is asked does not depend on how large the card is."""
    loaded, _, _, request = drawn
    plain = replace(
        request,
        device_policy=SPREAD_CARDS,
        containers=tuple(
            replace(
                each,
                memory_mib=each.memory_mib if each.memory_mib is not None else 9_000,
                core_percent=each.core_percent % 100,
                cores_of_card=False,
            )
            for each in request.containers
        ),
    )
    told = missing((loaded, PLENTY, 0, plain))
    if told is None:
        return
    loaded, plain, found = told
    if found is None:
        return
    cards = cards_of(loaded, PLENTY)
    at = [cards.device_uuid(position, 0) for position in found.positions]
    by = found.amount
    if take_less:
        by = one_less(by)[0]
    grown = [
        (larger(card, by) if card.device_uuid in at else card, used)
        for card, used in loaded
    ]
    fleet = Fleet()
    put(fleet, N1, grown, PLENTY)
    fitting = filter_nodes(fleet, pod("p", plain), [N1], None).fitting
    assert (fitting == [N1]) is not take_less


def test_ids_alone_are_missing() -> None:
    """Then no card needs more."""
    card = Device(DeviceUUID("GPU-a"), 0, Usage(10, 24_000, 100), "NVIDIA A10")
    wanted = request(app(1_000), app(1_000), app(1_000), app(1_000))
    cards = cards_of([(card, NOTHING)], 3)
    found = relief_on(cards, wanted)
    assert found == Relief((), NOTHING, 1, 1 / 3)
