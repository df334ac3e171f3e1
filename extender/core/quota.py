"""What a pod is charged to its namespace's quota, kind by kind of device.

A quota is about what a namespace holds at one time, on whichever cards. So within each
phase of a pod's life all of its devices are summed, and the largest phase counts::

    charge = max over phases of (sum over devices of what is held in that phase)

Per card amounts times the cards, each dimension by its own maximum. It is not the sum
over devices of their largest phase, which `extender.core.phases.effective_usage` keeps
for each card: an init on one card and an app on another never hold both at once.

Source: ResourceQuota's own charge of an extended resource (``PodRequests`` in
k8s.io/component-helpers/resource), which this equals where a container names a count
alone. HAMi sums each card's peak, and counts a percentage as nothing at admission.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from extender.core.allocation import Allocation
from extender.core.container import ContainerUsage, Lifetime
from extender.core.names import DeviceUUID, KindWord
from extender.core.phases import container_usages, phases
from extender.core.pod_request import ContainerRequest, PodRequest
from extender.core.quota_room import UNLIMITED
from extender.core.usage import NOTHING, Usage

_ALL_CARDS: Final = DeviceUUID("")
"""Stands for all cards of a container: a quota does not tell them apart."""

QuotaCharges = Mapping[KindWord, Usage]
"""What a pod is charged, by kind; a kind that it holds nothing of is absent."""

UNKNOWN: Final = UNLIMITED + 1
"""Counts for an amount that cannot be told: more than the largest limit, whatever is
known beside it."""


def quota_charge(
    containers: Iterable[ContainerUsage], *, released_inits: int = 0
) -> Usage:
    """Sum what a pod holds in its largest phase; each dimension its own.

    Args:
        containers: In start order, as for `extender.core.phases.phases`; of one kind
            of device.
        released_inits: How many inits, counted from the first, have no phase any more.

    Example:
        >>> def held(device: str, memory_mib: int) -> dict[DeviceUUID, Usage]:
        ...     return {DeviceUUID(device): Usage(1, memory_mib)}
        >>> pod = [
        ...     ContainerUsage(Lifetime.INIT, held("GPU-a", 10_000)),
        ...     ContainerUsage(Lifetime.APP, held("GPU-b", 9_000)),
        ... ]
        >>> quota_charge(pod)
        Usage(slots=1, memory_mib=10000, core_percent=0)
        >>> quota_charge(pod, released_inits=1)
        Usage(slots=1, memory_mib=9000, core_percent=0)

        Never 19000: the init has exited before the app starts.

    Cost: O(containers x devices per container).
    """
    most = NOTHING
    for init_number, phase in enumerate(phases(containers)):
        if phase.init_index is None or init_number >= released_inits:
            most = most.largest(sum(phase.held.values(), NOTHING))
    return most


def allocation_charges(
    lifetimes: Sequence[Lifetime],
    allocation: Allocation,
    requests: Sequence[PodRequest] = (),
    *,
    released_inits: int = 0,
) -> dict[KindWord, Usage]:
    """Charge a pod for the cards that it was given.

    Args:
        lifetimes: One per container, in start order.
        allocation: One row per container; as many as `lifetimes`.
        requests: Of the pod. Where cores are asked as a part of each card, and rows
            tell them in the card's units, they are charged as asked: a quota is in
            percent, and knows no card.
        released_inits: As for `quota_charge`.

    Returns:
        An entry for each kind that is held in a phase that still counts.
    """
    kinds = dict.fromkeys([share.kind for row in allocation for share in row])
    in_units = {
        request.kind: request.containers
        for request in requests
        if any(asked.cores_of_card for asked in request.containers)
    }
    charges = {}
    for kind in kinds:
        rows = allocation
        if len(kinds) > 1:
            rows = tuple(
                tuple(share for share in row if share.kind == kind)
                for row in allocation
            )
        if kind in in_units:
            rows = tuple(
                tuple(replace(share, core_percent=asked.core_percent) for share in row)
                for row, asked in zip(rows, in_units[kind], strict=True)
            )
        usages = container_usages(lifetimes, rows)
        charge = quota_charge(usages, released_inits=released_inits)
        if charge != NOTHING:
            charges[kind] = charge
    return charges


def request_charge(
    request: PodRequest, share_of: Callable[[ContainerRequest], Usage]
) -> Usage:
    """Charge a pod for what it asks of one kind, before cards are chosen.

    Args:
        request: Of the kind.
        share_of: Gives what one card's share of a container comes to. Whoever knows
            the card resolves a percentage on it; at admission, on the smallest card
            that matches.

    Example:
        >>> asked = ContainerRequest(count=2, memory_mib=None, memory_percent=50)
        >>> pod = PodRequest("NVIDIA", (Lifetime.APP,), (asked,))
        >>> request_charge(pod, lambda asked: Usage(1, 240 * asked.memory_percent))
        Usage(slots=2, memory_mib=24000, core_percent=0)
    """
    return quota_charge(
        [
            ContainerUsage(lifetime, {_ALL_CARDS: _of_all_cards(asked, share_of)})
            for lifetime, asked in zip(
                request.lifetimes, request.containers, strict=True
            )
        ]
    )


def _of_all_cards(
    asked: ContainerRequest, share_of: Callable[[ContainerRequest], Usage]
) -> Usage:
    if not asked.count:
        return NOTHING
    share = share_of(asked)
    return Usage(
        asked.count * share.slots,
        asked.count * share.memory_mib,
        asked.count * share.core_percent,
    )


def named_share(asked: ContainerRequest, untold: int = 0) -> Usage:
    """Give one card's share as far as the container names it.

    Args:
        asked: Of one container.
        untold: Stands for each amount that only the card tells.
    """
    if asked.profile is not None:
        return Usage(asked.profile.slots or untold, untold, untold)
    memory_mib = untold if asked.memory_mib is None else asked.memory_mib
    return Usage(1, memory_mib, asked.core_percent)


def names_its_memory(request: PodRequest) -> bool:
    """Tell whether no container's memory depends on the card that it gets.

    A card in MIG mode may give more than is asked; see there.
    """
    return all(
        not asked.count or asked.memory_mib is not None for asked in request.containers
    )


def names_a_profile(request: PodRequest) -> bool:
    """Tell whether a container's slots and cores depend on the card as well."""
    return any(asked.profile is not None for asked in request.containers)


def untold_charge(request: PodRequest) -> Usage:
    """Charge a bound pod whose allocation cannot be read for what its request names.

    A percentage is of a card that nobody knows: it counts as more than there is, so
    that no further pod takes what this one may hold.
    """
    return request_charge(request, lambda asked: named_share(asked, UNKNOWN))


def largest_charges(some: QuotaCharges, others: QuotaCharges) -> dict[KindWord, Usage]:
    """Take the larger of two charges, kind by kind and dimension by dimension."""
    return {
        kind: some.get(kind, NOTHING).largest(others.get(kind, NOTHING))
        for kind in {**some, **others}
    }
