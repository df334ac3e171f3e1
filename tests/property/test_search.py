"""The search, against every assignment of small pods to small nodes."""

import math
from collections.abc import Sequence

from hypothesis import assume, event, given
from hypothesis import strategies as st

from extender.core.allocation import Allocation
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import DeviceUUID, NodeName
from extender.core.pod_request import PodRequest
from extender.core.reasons import Reason
from extender.core.usage import NOTHING
from extender.verbs.bind import choose_devices
from extender.verbs.filter import FilterDecision, filter_nodes
from extender.verbs.verdicts import judge_node
from tests.oracles import (
    Loaded,
    Placed,
    exhaustive_fits,
    exhaustive_instances,
    for_inits_only,
    is_possible,
    place_greedily,
)
from tests.strategies import (
    DEVICE_UUIDS,
    PlacementCase,
    devices,
    loaded_nodes,
    modest_requests,
    placement_cases,
    pod_requests,
    profile_cases,
    profile_nodes,
    profile_requests,
    roomy_mig_cards,
    used_amounts,
)
from tests.values import N1, node, pod

_PLENTY = 1_000


def rows_of(allocation: Allocation) -> list[list[DeviceUUID]]:
    """Name the cards of each container."""
    return [[share.device_uuid for share in row] for row in allocation]


def put(fleet: Fleet, name: NodeName, loaded: Sequence[Loaded], slots: int) -> None:
    """Add a node with what is held on its cards."""
    shown = node(name, *[card for card, _ in loaded], allocatable=slots)
    used = {card.device_uuid: amount for card, amount in loaded}
    fleet.put(shown, [Holding(name, used)])


@given(placement_cases(max_devices=4, max_containers=4) | profile_cases())
def test_a_pod_fits_exactly_where_some_assignment_does(drawn: PlacementCase) -> None:
    """On up to 4 cards and for up to 4 containers, in filter and in bind alike."""
    loaded, allocatable, kubelet_used, request = drawn
    assume(request.asks_for_devices)
    free = max(allocatable - kubelet_used, 0)
    fleet, asking = Fleet(), pod("p", request)
    put(fleet, N1, loaded, free)
    possible = exhaustive_fits(loaded, free, 0, request) if free else None
    fits = possible is not None and possible.fits
    greedy = isinstance(place_greedily(loaded, free, 0, request), Placed)
    event(f"possible: {fits}; card by card: {greedy and free > 0}")
    decision = filter_nodes(fleet, asking, [N1], None)
    assert (decision.fitting == [N1]) == fits
    assert (judge_node(fleet, asking, N1, None) is None) == fits
    allocation = choose_devices(fleet, asking, N1, None)
    assert (allocation is not None) == fits
    if possible is not None and allocation is not None:
        rows = rows_of(allocation)
        assert is_possible(loaded, request, rows)
        extra = for_inits_only(rows, request.lifetimes)
        assert extra == possible.fewest_for_inits


@given(placement_cases(max_devices=4, max_containers=4) | profile_cases())
def test_a_node_is_unresolvable_exactly_where_nothing_fits_on_it_empty(
    drawn: PlacementCase,
) -> None:
    """Then no eviction helps; else one may."""
    loaded, _, _, request = drawn
    assume(request.asks_for_devices)
    fleet, asking = Fleet(), pod("p", request)
    put(fleet, N1, loaded, _PLENTY)
    empty = [(card, NOTHING) for card, _ in loaded]
    is_possible_empty = exhaustive_fits(empty, _PLENTY, 0, request).fits
    decision = filter_nodes(fleet, asking, [N1], None)
    assert (N1 in decision.unresolvable) == (not is_possible_empty)
    verdict = judge_node(fleet, asking, N1, None)
    is_told = verdict is not None and verdict.is_unresolvable
    assert is_told == (not is_possible_empty)


@st.composite
def nodes_with_instances(draw: st.DrawFn) -> list[Loaded]:
    """Draw a node of up to 4 cards, at least one of them in MIG mode."""
    uuids = draw(st.permutations(DEVICE_UUIDS))[: draw(st.integers(1, 4))]
    of_mig = draw(st.integers(1, len(uuids)))
    cards = [draw(roomy_mig_cards(uuid)) for uuid in uuids[:of_mig]]
    cards += [draw(devices(uuid)) for uuid in uuids[of_mig:]]
    return [
        (card, NOTHING if card.is_mig else draw(used_amounts(card.capacity)))
        for card in cards
    ]


@given(nodes_with_instances(), modest_requests(), st.data())
def test_instances_are_found_exactly_where_some_choice_of_cards_gives_them(
    loaded: list[Loaded], request: PodRequest, data: st.DataObject
) -> None:
    """On up to 4 cards, some in MIG mode, and for up to 4 containers."""
    counts = {
        card.device_uuid: data.draw(st.sampled_from([(), (), (1,), (0, 0, 1)]))
        for card, _ in loaded
        if card.is_mig
    }
    held = {
        uuid: frozenset(at for at, times in enumerate(each) if times)
        for uuid, each in counts.items()
    }
    assume(math.prod(4**each.count for each in request.containers) <= 4**6)
    fleet, asking = Fleet(), pod("p", request)
    shown = node(N1, *[card for card, _ in loaded], allocatable=_PLENTY)
    used = {card.device_uuid: amount for card, amount in loaded}
    fleet.put(shown, [Holding(N1, used, slices=counts)])
    possible = exhaustive_instances(loaded, _PLENTY, request, slices=held)
    nothing = exhaustive_instances(
        [(card, NOTHING) for card, _ in loaded], _PLENTY, request, slices={}
    )
    greedy = place_greedily(loaded, _PLENTY, 0, request, slices=held)
    event(f"possible: {possible.fits}; card by card: {isinstance(greedy, Placed)}")
    decision = filter_nodes(fleet, asking, [N1], None)
    assert (decision.fitting == [N1]) == possible.fits
    assert (N1 in decision.unresolvable) == (not nothing.fits)
    verdict = judge_node(fleet, asking, N1, None)
    assert (verdict is None) == possible.fits
    allocation = choose_devices(fleet, asking, N1, None)
    assert (allocation is not None) == possible.fits
    if allocation is not None:
        extra = for_inits_only(rows_of(allocation), request.lifetimes)
        assert extra == possible.fewest_for_inits


@given(
    pod_requests() | profile_requests(),
    st.lists(
        loaded_nodes(min_devices=1) | profile_nodes(DEVICE_UUIDS[:2]),
        min_size=1,
        max_size=6,
    ),
)
def test_many_nodes_are_searched_as_each_alone(
    request: PodRequest, nodes: list[list[Loaded]]
) -> None:
    """Equal nodes share a search, and different ones what was found of their cards."""
    assume(request.asks_for_devices)
    asking = pod("p", request)
    together = Fleet()
    names = []
    for number, loaded in enumerate([*nodes, *nodes]):
        name = NodeName(f"n{number}")
        names.append(name)
        put(together, name, loaded, _PLENTY)
    decision = filter_nodes(together, asking, names, None)
    alone = FilterDecision()
    for number, loaded in enumerate([*nodes, *nodes]):
        fleet = Fleet()
        put(fleet, names[number], loaded, _PLENTY)
        one = filter_nodes(fleet, asking, [names[number]], None)
        alone.fitting += one.fitting
        alone.failed |= one.failed
        alone.unresolvable |= one.unresolvable
    is_exhausted = Reason.SEARCH_EXHAUSTED.value in decision.failed.values()
    event(f"exhausted: {is_exhausted}")
    if not is_exhausted:
        assert decision == alone
