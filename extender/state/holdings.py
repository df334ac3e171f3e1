"""What one pod counts for, by what the API shows of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from itertools import chain, zip_longest
from typing import Final

from extender.core.allocation import Allocation, Row, UnreadableAllocation
from extender.core.container import Lifetime
from extender.core.core_bits import held_cores
from extender.core.holding import Holding
from extender.core.names import DeviceUUID, KindWord, NodeName
from extender.core.phases import (
    container_usages,
    current_charge,
    held_slices,
    released_init_count,
    row_usage,
)
from extender.core.pod import Pod, Release
from extender.core.pod_status import PodPhase
from extender.core.quota import (
    UNKNOWN,
    QuotaCharges,
    allocation_charges,
    largest_charges,
    untold_charge,
)
from extender.core.usage import NOTHING, Usage


class Footing(Enum):
    """Why a pod counts as it does."""

    NOTHING = "holds nothing"
    """Unbound without a reservation, finished, or without GPU requests."""

    RESERVED = "reserved"
    ALLOCATED = "allocated"
    UNMANAGED = "unmanaged"
    """Bound with GPU requests but without an allocation: placed by somebody else."""

    LAST_READABLE = "last readable allocation"
    """Its allocation became unreadable; the former one still counts."""

    QUARANTINED = "unreadable allocation"


@dataclass(frozen=True, slots=True)
class Reservation:
    """A chosen place that the API does not show yet."""

    node_name: NodeName
    allocation: Allocation


@dataclass(frozen=True, slots=True)
class Standing:
    """A pod's place in the ledger.

    Attributes:
        holding: What it counts for; None when it counts nowhere.
        footing: Why.
        charged_by: The allocations that it is charged by: the present one, and those
            that it was edited from. The largest of them counts, per device.
        release: What it is charged by besides: the present one, or `Release.NEVER`
            where it was edited from that.
        quota: What it counts for against its namespace's quotas.
        released_phases: How many of its inits with devices have no phase any more.
    """

    holding: Holding | None
    footing: Footing
    charged_by: tuple[Allocation, ...] = ()
    release: Release = Release.AFTER_INIT
    quota: QuotaCharges = field(default_factory=dict)
    released_phases: int = 0


class Effect(IntEnum):
    """What a change does to the room on nodes; what makes room comes first."""

    MAKES_ROOM = 0
    TAKES_A_PLACE = 1
    """Of a pod that held nothing before."""

    MAKES_NONE = 2
    """Of a pod that goes on to hold as much, or more."""


def effect_of(old: Holding | None, new: Holding | None) -> Effect:
    """Compare what a pod holds with what it held.

    Example:
        >>> one = Holding(NodeName("n1"), {DeviceUUID("GPU-a"): Usage(1, 8000)})
        >>> effect_of(one, None).name, effect_of(None, one).name
        ('MAKES_ROOM', 'TAKES_A_PLACE')
    """
    if new is None or (old is not None and old.node_name != new.node_name):
        return Effect.MAKES_ROOM
    if old is None:
        return Effect.TAKES_A_PLACE
    if old.is_exclusive and not new.is_exclusive:
        return Effect.MAKES_ROOM
    if old.traits != new.traits:
        return Effect.MAKES_ROOM
    makes_room = any(
        usage.exceeds(new.charge.get(device_uuid, NOTHING))
        for device_uuid, usage in old.charge.items()
    )
    if makes_room or (old.slices and _gives_slices(old, new)):
        return Effect.MAKES_ROOM
    return Effect.MAKES_NONE


def _gives_slices(old: Holding, new: Holding) -> bool:
    return any(
        before > after
        for device_uuid, counts in old.slices.items()
        for before, after in zip_longest(
            counts, new.slices.get(device_uuid, ()), fillvalue=0
        )
    )


_NOWHERE = Standing(None, Footing.NOTHING)

_ALLOCATIONS_KEPT: Final = 8
"""Nobody edits a bound pod's rows even once; each kept one costs every event time."""


def standing_of(
    pod: Pod, reservation: Reservation | None, former: Standing | None
) -> Standing:
    """Decide what a pod counts for.

    A bound pod counts on its ``spec.nodeName``, whatever its annotations say of a
    node. An unbound pod's annotations are no charge: only our own reservation is.

    Args:
        pod: As the API shows it.
        reservation: Ours, until the API has shown the pod bound.
        former: What this UID counted for before. Who edits the annotations of a bound
            pod takes nothing from its containers, so the larger of old and new counts;
            without a readable allocation, the old.
    """
    if pod.status.is_finished:
        return _NOWHERE
    if pod.node_name is not None:
        return _bound(pod, pod.node_name, reservation, former)
    if reservation is None or not _is_of(pod, reservation.allocation):
        return _NOWHERE
    return _reserved(pod, reservation)


def _bound(
    pod: Pod,
    node_name: NodeName,
    reservation: Reservation | None,
    former: Standing | None,
) -> Standing:
    shown = former if former and former.footing is not Footing.RESERVED else _NOWHERE
    earlier = tuple(each for each in shown.charged_by if _is_of(pod, each))
    reserved: tuple[Allocation, ...] = ()
    if (
        reservation is not None
        and reservation.node_name == node_name
        and _is_of(pod, reservation.allocation)
    ):
        reserved = (reservation.allocation,)
    footing = Footing.ALLOCATED
    match pod.allocation:
        case None | UnreadableAllocation() if earlier:
            charged_by, footing = earlier, Footing.LAST_READABLE
        case None | UnreadableAllocation() if reserved:
            charged_by, footing = reserved, Footing.LAST_READABLE
        case None:
            return _unmanaged(pod, node_name)
        case UnreadableAllocation() as unreadable:
            return _quarantined(pod, node_name, unreadable)
        case allocation if allocation in earlier:
            charged_by = earlier
        case allocation:
            charged_by = _bounded((*earlier, allocation))
    release = shown.release if shown.release is Release.NEVER else pod.release
    standing = _charged(pod, node_name, charged_by, release, footing)
    holding, before = standing.holding, shown.holding
    if holding is None or before is None or before.traits <= holding.traits:
        return standing
    # Who edits what a bound pod says of itself changes nothing for those beside it.
    kept = replace(holding, traits=holding.traits | before.traits)
    return replace(standing, holding=kept)


def _bounded(charged_by: tuple[Allocation, ...]) -> tuple[Allocation, ...]:
    """Keep few allocations of a pod that is edited again and again.

    The oldest two become one that holds as much as either, container by container; so
    the charge never falls, and may come to more than that of any single one.
    """
    if len(charged_by) <= _ALLOCATIONS_KEPT:
        return charged_by
    one, other, *rest = charged_by
    merged = tuple(_larger_row(*rows) for rows in zip(one, other, strict=True))
    return (merged, *rest)


def _larger_row(one: Row, other: Row) -> Row:
    """Hold, per device, as many slots, MiB and percent as the larger of two rows.

    And every instance and every core of either.
    """
    share_of = {share.device_uuid: share for share in (*one, *other)}
    cores: dict[DeviceUUID, int] = {}
    for share in (*one, *other):
        cores[share.device_uuid] = cores.get(share.device_uuid, 0) | share.cores
    row = [share for share in dict.fromkeys((*one, *other)) if share.instance]
    usages = [
        row_usage(share for share in each if not share.instance)
        for each in (one, other)
    ]
    for device_uuid in {**usages[0], **usages[1]}:
        held = usages[0].get(device_uuid, NOTHING)
        held = held.largest(usages[1].get(device_uuid, NOTHING))
        row.append(
            replace(
                share_of[device_uuid],
                memory_mib=held.memory_mib,
                core_percent=held.core_percent,
                instance=None,
                slots=held.slots,
                cores=cores[device_uuid],
            )
        )
    return tuple(row)


def _is_of(pod: Pod, allocation: Allocation) -> bool:
    """Whether rows and containers match; a pod of which little is read has none."""
    return len(allocation) == len(pod.containers)


def _reserved(pod: Pod, reservation: Reservation) -> Standing:
    charged_by = (reservation.allocation,)
    node_name = reservation.node_name
    return _charged(pod, node_name, charged_by, pod.release, Footing.RESERVED)


def _charged(
    pod: Pod,
    node_name: NodeName,
    charged_by: tuple[Allocation, ...],
    release: Release,
    footing: Footing,
) -> Standing:
    charge: dict[DeviceUUID, Usage] = {}
    quota: QuotaCharges = {}
    lifetimes = pod.lifetimes
    released_inits = released_init_count(lifetimes, pod.status, release)
    for allocation in charged_by:
        of_kinds = allocation_charges(
            lifetimes, allocation, pod.requests, released_inits=released_inits
        )
        quota = largest_charges(quota, of_kinds) if quota else of_kinds
        containers = container_usages(lifetimes, allocation)
        own = current_charge(containers, pod.status, release)
        for device_uuid, usage in own.items():
            charge[device_uuid] = charge.get(device_uuid, NOTHING).largest(usage)
    named = [*chain.from_iterable(chain.from_iterable(charged_by))]
    released = {share.device_uuid: None for share in named}.keys() - charge.keys()
    cores: dict[DeviceUUID, int] = {}
    if any(share.cores for share in named):
        cores = _held_cores(lifetimes, charged_by, released_inits)
        for device_uuid, bits in cores.items():
            least = Usage(core_percent=bits.bit_count())
            charge[device_uuid] = charge.get(device_uuid, NOTHING).largest(least)
    holding = Holding(
        node_name,
        charge,
        pod.kubelet_slots,
        is_exclusive=pod.is_exclusive,
        slices=held_slices(charged_by),
        released=tuple(sorted(released)),
        traits=pod.traits,
        cores=cores,
    )
    released_phases = _released_phases(lifetimes, charged_by, released_inits)
    return Standing(holding, footing, charged_by, release, quota, released_phases)


def _released_phases(
    lifetimes: Sequence[Lifetime],
    charged_by: tuple[Allocation, ...],
    released_inits: int,
) -> int:
    """Count the released inits that have devices by any of its allocations."""
    if not released_inits:
        return 0
    inits = [n for n, each in enumerate(lifetimes) if each is Lifetime.INIT]
    return sum(
        any(allocation[index] for allocation in charged_by)
        for index in inits[:released_inits]
    )


def _held_cores(
    lifetimes: Sequence[Lifetime],
    charged_by: tuple[Allocation, ...],
    released_inits: int,
) -> dict[DeviceUUID, int]:
    """Tell which cores a pod can still hold by any of its allocations, as bits.

    They may be more than its largest phase counts where others chose them.
    """
    found: dict[DeviceUUID, int] = {}
    for allocation in charged_by:
        for device_uuid, bits in held_cores(
            lifetimes, allocation, released_inits
        ).items():
            found[device_uuid] = found.get(device_uuid, 0) | bits
    return found


def _unmanaged(pod: Pod, node_name: NodeName) -> Standing:
    if not pod.kubelet_slots:
        return _NOWHERE
    return Standing(Holding(node_name, {}, pod.kubelet_slots), Footing.UNMANAGED)


def _quarantined(
    pod: Pod, node_name: NodeName, unreadable: UnreadableAllocation
) -> Standing:
    return Standing(
        Holding(
            node_name,
            {},
            pod.kubelet_slots,
            quarantined=unreadable.named,
            hides=_hidden_kinds(pod, unreadable),
        ),
        Footing.QUARANTINED,
        quota=_untold_quota(pod, unreadable),
    )


def _untold_quota(pod: Pod, unreadable: UnreadableAllocation) -> QuotaCharges:
    """Charge what it asks for; of a request that cannot be read, more than there is."""
    if pod.request_problem is not None:
        everything = Usage(UNKNOWN, UNKNOWN, UNKNOWN)
        kinds = _hidden_kinds(pod, unreadable) or unreadable.kinds
        return dict.fromkeys(sorted(kinds), everything)
    return {request.kind: untold_charge(request) for request in pod.asking}


def _hidden_kinds(pod: Pod, unreadable: UnreadableAllocation) -> frozenset[KindWord]:
    """Give the kinds of which a container that asks for some can have started.

    Where the request cannot be read, any container may be one that asks.
    """
    asking = {
        request.kind: [
            index
            for index, asked in enumerate(request.containers)
            if asked.count or pod.request_problem
        ]
        for request in pod.requests
    }
    if pod.status.phase is not PodPhase.PENDING:
        if pod.request_problem is not None:
            return unreadable.kinds | asking.keys()
        return frozenset(kind for kind, indices in asking.items() if indices)
    return frozenset(
        kind
        for kind, indices in asking.items()
        if any(pod.status.of(index).has_started for index in indices)
    )
