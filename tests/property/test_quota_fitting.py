"""Which cards stay within a quota, against every assignment of small pods and nodes."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import assume, event, given
from hypothesis import strategies as st

from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import NodeName
from extender.core.placed_charge import placed_charge
from extender.core.placement import place
from extender.core.pod_request import PodRequest
from extender.core.quota import allocation_charges
from extender.core.quota_room import (
    LimitUse,
    QuotaDimension,
    QuotaLimit,
    QuotaRoom,
)
from extender.core.reasons import Reason
from extender.core.usage import NOTHING, Usage
from extender.verbs.bind import allocation_of, choose_devices
from extender.verbs.filter import filter_nodes
from extender.verbs.quota import charge_at_admission
from extender.verbs.verdicts import judge_node
from tests.oracles import Loaded, exhaustive_fits, exhaustive_quota_charges
from tests.strategies import (
    DEVICE_UUIDS,
    PlacementCase,
    loaded_nodes,
    modest_requests,
    placement_cases,
    pod_requests,
    roomy_mig_cards,
)
from tests.values import GPU, N1, card, node, pod


def put(fleet: Fleet, name: NodeName, loaded: Sequence[Loaded], slots: int) -> None:
    """Add a node with what is held on its cards."""
    shown = node(name, *[card for card, _ in loaded], allocatable=slots)
    used = {card.device_uuid: amount for card, amount in loaded}
    fleet.put(shown, [Holding(name, used)])


@st.composite
def roomy_cases(draw: st.DrawFn) -> PlacementCase:
    """Draw cards of several sizes, little used, and a pod that asks for little."""
    sizes = draw(
        st.lists(st.sampled_from([8_000, 24_000, 40_000]), min_size=2, max_size=4)
    )
    used = st.sampled_from([NOTHING, Usage(1, 1_000, 0), Usage(2, 5_000, 30)])
    loaded = [
        (card(uuid, memory=size, index=number % 2, numa=number % 2), draw(used))
        for number, (uuid, size) in enumerate(zip(DEVICE_UUIDS, sizes, strict=False))
    ]
    request = draw(modest_requests())
    containers = tuple(
        replace(
            asked,
            count=min(asked.count, 2),
            memory_mib=draw(st.sampled_from([None, None, asked.memory_mib])),
            memory_percent=draw(st.sampled_from([5, 10, 40])),
            core_percent=min(asked.core_percent, 30),
        )
        for asked in request.containers
    )
    return loaded, 1_000, 0, replace(request, containers=containers)


def room(**most: int) -> QuotaRoom:
    """Leave a pod so much, by the names of dimensions."""
    return QuotaRoom(
        tuple(
            LimitUse(
                "q",
                QuotaLimit(f"limits.{name}", GPU, QuotaDimension(name), "", amount),
                0,
            )
            for name, amount in most.items()
        )
    )


@given(
    placement_cases(max_devices=4, max_containers=4) | roomy_cases() | roomy_cases(),
    st.data(),
)
def test_a_pod_fits_exactly_where_some_assignment_stays_within_the_quota(
    drawn: PlacementCase, data: st.DataObject
) -> None:
    """On up to 4 cards, of any sizes; in filter, bind and explanation alike.

    Never above the quota, and never refused where other cards would do.
    """
    loaded, allocatable, kubelet_used, request = drawn
    assume(request.asks_for_devices)
    free = max(allocatable - kubelet_used, 0)
    possible = exhaustive_fits(loaded, free, 0, request) if free else None
    charges = exhaustive_quota_charges(loaded, request)
    amounts = {charge.memory_mib for charge in charges}
    near = sorted({0, *amounts, *(amount - 1 for amount in amounts if amount)})
    limits = {"memory": data.draw(st.sampled_from(near), label="MiB")}
    if data.draw(st.booleans(), label="count as well"):
        limits["count"] = data.draw(st.integers(0, 5), label="devices")
    left = room(**limits)
    fits_without = possible is not None and possible.fits
    fits = fits_without and any(map(left.admits, charges))
    event(f"without quota: {fits_without}; within: {fits}; sizes: {len(amounts) > 1}")
    fleet, asking = Fleet(), pod("p", request)
    put(fleet, N1, loaded, free)
    rooms = {GPU: left}
    decision = filter_nodes(fleet, asking, [N1], None, rooms=rooms)
    assert (decision.fitting == [N1]) == fits
    assert (judge_node(fleet, asking, N1, None, rooms=rooms) is None) == fits
    allocation = choose_devices(fleet, asking, N1, None, rooms=rooms)
    assert (allocation is not None) == fits
    if allocation is not None:
        charge = allocation_charges(request.lifetimes, allocation)[GPU]
        assert charge in charges
        assert left.admits(charge)
    if fits_without and not fits:
        assert decision.failed == {N1: Reason.QUOTA_NOT_FIT.value}
        verdict = judge_node(fleet, asking, N1, None, rooms=rooms)
        assert verdict is not None
        assert verdict.shortages


@given(placement_cases(max_devices=4, max_containers=4))
def test_what_admission_charges_is_at_most_what_any_node_does(
    drawn: PlacementCase,
) -> None:
    """A percentage is resolved on the smallest card that matches."""
    loaded, _, _, request = drawn
    assume(request.asks_for_devices)
    fleet = Fleet()
    put(fleet, N1, loaded, 1_000)
    least = charge_at_admission(fleet, pod("p", request))[GPU]
    empty = [(card, NOTHING) for card, _ in loaded]
    for charge in exhaustive_quota_charges(empty, request):
        assert not least.exceeds(charge)


@given(
    st.lists(loaded_nodes(max_devices=4), min_size=1, max_size=4),
    pod_requests(max_containers=4),
    st.integers(0, 200_000),
)
def test_many_nodes_answer_as_each_alone(
    nodes: Sequence[Sequence[Loaded]], request: PodRequest, most: int
) -> None:
    """Also where they are searched together; unless the steps ran out."""
    assume(request.asks_for_devices)
    fleet, asking = Fleet(), pod("p", request)
    names = [NodeName(f"n{number}") for number in range(len(nodes))]
    for name, loaded in zip(names, nodes, strict=True):
        put(fleet, name, loaded, 1_000)
    rooms = {GPU: room(memory=most)}
    together = filter_nodes(fleet, asking, names, None, rooms=rooms)
    for name in names:
        alone = filter_nodes(fleet, asking, [name], None, rooms=rooms)
        if Reason.SEARCH_EXHAUSTED.value in together.failed.get(name, ""):
            continue
        assert (name in together.fitting) == (alone.fitting == [name])


@given(st.lists(st.booleans(), min_size=1, max_size=4), modest_requests(), st.data())
def test_a_placement_charges_what_its_allocation_does(
    modes: list[bool], request: PodRequest, data: st.DataObject
) -> None:
    """The formula over arrays is the one over rows; with cards in MIG mode, too."""
    assume(request.asks_for_devices)
    cards_of = [
        data.draw(roomy_mig_cards(uuid)) if is_mig else card(uuid, memory=40_000)
        for uuid, is_mig in zip(DEVICE_UUIDS, modes, strict=False)
    ]
    fleet = Fleet()
    fleet.put(node(N1, *cards_of, allocatable=1_000), [])
    cards = fleet.of(GPU).node(N1)
    assume(cards is not None)
    assert cards is not None
    placement = place(cards, request)
    allocation = allocation_of(cards, request, placement)
    assume(allocation is not None)
    assert allocation is not None
    has_instances = any(share.instance for row in allocation for share in row)
    event(f"instances: {has_instances}")
    slots, memory_mib, cores = placed_charge(cards, request, placement)[:, 0].tolist()
    charge = allocation_charges(request.lifetimes, allocation)[GPU]
    assert charge == Usage(slots, memory_mib, cores)
