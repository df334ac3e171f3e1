"""bind: which cards a pod gets on the node that kube-scheduler chose."""

from collections.abc import Sequence

from extender.core.arrays import Int64s
from extender.core.cards import Cards
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.mig import NO_INSTANCE, MigInstance
from extender.core.mig_placement import Taken
from extender.core.model import (
    Allocation,
    ContainerRequest,
    NodeName,
    Pod,
    PodRequest,
    Row,
    Share,
)
from extender.core.placement import Placement, place
from extender.core.rules import memory_needed


def choose_devices(
    fleet: Fleet,
    pod: Pod,
    node_name: NodeName,
    own: Holding | None,
    nominated: Sequence[Holding] = (),
) -> Allocation | None:
    """Fit a pod on one node, on the totals as they are now.

    Args:
        fleet: Cards and totals.
        pod: Asks for at least one device, in a form that can be honoured.
        node_name: The chosen node.
        own: What the pod itself already counts for; it is left out of the totals.
        nominated: What pods that others were evicted for will hold.

    Returns:
        One row per container; None where the pod does not fit.
    """
    cards = fleet.node(node_name, own, nominated)
    if cards is None:
        return None
    if pod.request.device_policy.is_topology_aware:
        links = fleet.links(node_name)
        if links is not None:
            linked = _allocation(cards, pod.request, links)
            if linked is not None:
                return linked
            # The best links for one container may leave too little for another.
    return _allocation(cards, pod.request)


def choose_devices_when_empty(
    fleet: Fleet, pod: Pod, node_name: NodeName
) -> Allocation | None:
    """Fit a pod on one node as if no pod held anything there; as `choose_devices`."""
    cards = fleet.node(node_name)
    return _allocation(cards.at_zero_usage(), pod.request) if cards else None


def _allocation(
    cards: Cards, request: PodRequest, links: Int64s | None = None
) -> Allocation | None:
    placement = place(cards, request, links=links)
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
    memory_mib = memory_needed(cards, asked)[:, 0].tolist()
    if index in placement.taken:
        return _row_of_instances(cards, placement.taken[index], asked, memory_mib)
    return tuple(
        Share(cards.device_uuid(position, 0), memory_mib[position], asked.core_percent)
        for position in chosen[:, 0].nonzero()[0].tolist()
    )


def _row_of_instances(
    cards: Cards,
    taken: Sequence[Taken],
    asked: ContainerRequest,
    memory_mib: Sequence[int],
) -> Row:
    """Write what a container takes in card order; of instances, what they have."""
    found: list[tuple[int, Share]] = []
    for each in taken:
        position = int(each.chosen[:, 0].argmax())
        number = int(each.numbers[position, 0])
        device_uuid = cards.device_uuid(position, 0)
        share = Share(device_uuid, memory_mib[position], asked.core_percent)
        if number != NO_INSTANCE:
            profile, place = cards.mig_table(position, 0).instances[number]
            instance = MigInstance(profile.name, place)
            share = Share(
                device_uuid, profile.memory_mib, profile.core_percent, instance
            )
        found.append((position, share))
    return tuple(share for _, share in sorted(found, key=lambda pair: pair[0]))
