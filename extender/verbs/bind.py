"""bind: which cards a pod gets on the node that kube-scheduler chose."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from extender.core.allocation import Allocation, Row, Share
from extender.core.arrays import CORES, Int64s
from extender.core.budget import SearchCounts, StepBudget
from extender.core.cards import Cards
from extender.core.core_bits import with_cores
from extender.core.fitting import fit_with_fewest_cards
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.mig import NO_INSTANCE, MigInstance
from extender.core.mig_placement import Taken
from extender.core.names import NodeName
from extender.core.needs import share_needed
from extender.core.placement import Placement, place
from extender.core.pod import Pod
from extender.core.pod_request import ContainerRequest, PodRequest
from extender.core.quota_room import NO_ROOMS, QuotaRooms
from extender.verbs.quota import placed_within, stays_within


def choose_devices(
    fleet: Fleet,
    pod: Pod,
    node_name: NodeName,
    own: Holding | None,
    nominated: Sequence[Holding] = (),
    *,
    rooms: QuotaRooms = NO_ROOMS,
) -> Allocation | None:
    """Fit a pod on one node, on the totals as they are now.

    Args:
        fleet: Cards and totals.
        pod: Asks for at least one device, in a form that can be honoured.
        node_name: The chosen node.
        own: What the pod itself already counts for; it is left out of the totals.
        nominated: What pods that others were evicted for will hold.
        rooms: What the quotas of its namespace leave it.

    Returns:
        One row per container; None where the pod does not fit.
    """
    return _joined(
        pod,
        [
            _chosen(fleet, request, node_name, own, nominated, rooms=rooms)
            for request in pod.asking
        ],
    )


def expected_devices(
    fleet: Fleet, pod: Pod, node_name: NodeName, nominated: Sequence[Holding]
) -> Allocation | None:
    """Tell which devices a pod will get on a node that is being made free for it.

    Of a kind that it does not fit by yet, those that it would get if no pod held any.

    Args:
        fleet: Cards and totals.
        pod: Asks for at least one device.
        node_name: The node.
        nominated: What other pods will hold there.

    Returns:
        One row per container; None where it would not fit either way.
    """
    found: list[Allocation | None] = []
    for request in pod.asking:
        allocation = _chosen(fleet, request, node_name, None, nominated, rooms=NO_ROOMS)
        cards = fleet.of(request.kind).node(node_name)
        if allocation is None and cards is not None:
            allocation = _fitted(cards.at_zero_usage(), request, fleet.searches)
        found.append(allocation)
    return _joined(pod, found)


def _joined(pod: Pod, of_kinds: Sequence[Allocation | None]) -> Allocation | None:
    """Put each container's rows of all kinds together; None where one is missing."""
    found = [each for each in of_kinds if each is not None]
    if len(found) < len(of_kinds):
        return None
    return tuple(
        tuple(chain.from_iterable(each[index] for each in found))
        for index in range(len(pod.containers))
    )


def _chosen(
    fleet: Fleet,
    request: PodRequest,
    node_name: NodeName,
    own: Holding | None,
    nominated: Sequence[Holding],
    *,
    rooms: QuotaRooms,
) -> Allocation | None:
    """Choose by the policy; where that comes to too much, what stays within quotas."""
    of_kind = fleet.of(request.kind)
    cards = of_kind.node(node_name, own, nominated)
    if cards is None:
        return None
    is_topology_aware = request.device_policy.is_topology_aware
    links = of_kind.links(node_name) if is_topology_aware else None
    chosen = _by_policy(cards, request, links, fleet.searches)
    room = rooms.get(request.kind)
    if chosen and room is not None and not stays_within(room, request, chosen):
        placement = placed_within(cards, request, room, fleet.searches)
        chosen = allocation_of(cards, request, placement) if placement else None
    if chosen is None or not request.tells_cores_apart:
        return chosen
    held = of_kind.held_cores(node_name, own)
    cores_per_device = int(cards.capacity[CORES, :, 0].max())
    return with_cores(chosen, request.lifetimes, held, cores_per_device)


def _by_policy(
    cards: Cards, request: PodRequest, links: Int64s | None, searches: SearchCounts
) -> Allocation | None:
    """Choose on the one node that `cards` is; cores are counted, and not told apart.

    Args:
        cards: The node.
        request: Of the pod.
        links: How closely its cards are linked; None where that does not matter.
        searches: Counts what searches take.
    """
    if links is not None:
        linked = place(cards, request, links=links)
        if linked.fits[0]:
            return allocation_of(cards, request, linked)
        # The best links for one container may leave too little for another.
    return _fitted(cards, request, searches)


def _fitted(
    cards: Cards, request: PodRequest, searches: SearchCounts
) -> Allocation | None:
    budget = StepBudget.of_one(searches)
    placement = fit_with_fewest_cards(cards, request, budget)
    return allocation_of(cards, request, placement)


def allocation_of(
    cards: Cards, request: PodRequest, placement: Placement
) -> Allocation | None:
    """Write down what a placement gives on the one node that `cards` is."""
    if not placement.fits[0]:
        return None
    return tuple(
        _row(cards, placement, request, index)
        for index in range(len(request.containers))
    )


def _row(cards: Cards, placement: Placement, request: PodRequest, index: int) -> Row:
    chosen = placement.chosen[index]
    if chosen is None:
        return ()
    asked = request.containers[index]
    if index in placement.taken:
        return _row_of_instances(cards, placement.taken[index], asked, request)
    return tuple(
        _share(cards, position, asked, request)
        for position in chosen[:, 0].nonzero()[0].tolist()
    )


def _row_of_instances(
    cards: Cards,
    taken: Sequence[Taken],
    asked: ContainerRequest,
    request: PodRequest,
) -> Row:
    """Write what a container takes in card order; of instances, what they have."""
    found: list[tuple[int, Share]] = []
    for each in taken:
        position = int(each.chosen[:, 0].argmax())
        number = int(each.numbers[position, 0])
        share = _share(cards, position, asked, request)
        if number != NO_INSTANCE:
            profile, place = cards.mig_table(position, 0).instances[number]
            instance = MigInstance(profile.name, place)
            share = replace(
                share,
                memory_mib=profile.memory_mib,
                core_percent=profile.core_percent,
                instance=instance,
            )
        found.append((position, share))
    return tuple(share for _, share in sorted(found, key=lambda pair: pair[0]))


def _share(
    cards: Cards, position: int, asked: ContainerRequest, request: PodRequest
) -> Share:
    needed = share_needed(cards, asked).at(position, 0)
    slots, memory_mib, core_percent = needed.tolist()
    return Share(
        cards.device_uuid(position, 0),
        memory_mib,
        core_percent,
        request.kind,
        is_kept=not request.inits_return,
        slots=slots,
    )
