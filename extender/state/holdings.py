"""What one pod counts for, by what the API shows of it."""

from dataclasses import dataclass
from enum import Enum, IntEnum

from extender.core.holding import Holding
from extender.core.model import (
    NOTHING,
    Allocation,
    DeviceUUID,
    NodeName,
    Pod,
    PodPhase,
    UnreadableAllocation,
    Usage,
)
from extender.core.phases import container_usages, current_charge


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
    """

    holding: Holding | None
    footing: Footing
    charged_by: tuple[Allocation, ...] = ()

    @property
    def seen_allocations(self) -> tuple[Allocation, ...]:
        """What the API showed of a bound pod, as far as it could be read."""
        return () if self.footing is Footing.RESERVED else self.charged_by


class Effect(IntEnum):
    """What a change does to the room on nodes; what makes room comes first."""

    MAKES_ROOM = 0
    TAKES_A_PLACE = 1
    """Of a pod that held nothing before."""

    GROWS = 2
    """Or changes nothing."""


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
    makes_room = any(
        usage.exceeds(new.charge.get(device_uuid, NOTHING))
        for device_uuid, usage in old.charge.items()
    )
    return Effect.MAKES_ROOM if makes_room else Effect.GROWS


_NOWHERE = Standing(None, Footing.NOTHING)


def standing_of(
    pod: Pod, reservation: Reservation | None, earlier: tuple[Allocation, ...] = ()
) -> Standing:
    """Decide what a pod counts for.

    A bound pod counts on its ``spec.nodeName``, whatever its annotations say of a
    node. An unbound pod's annotations are no charge: only our own reservation is.

    Args:
        pod: As the API shows it.
        reservation: Ours, until the API has shown the pod bound.
        earlier: The allocations that this UID was charged by before. Who edits the
            annotation of a bound pod takes nothing from its containers, so the larger
            of old and new counts; without a readable one, the old.
    """
    if pod.status.is_finished:
        return _NOWHERE
    if pod.node_name is not None:
        own = tuple(each for each in earlier if _is_of(pod, each))
        return _bound(pod, pod.node_name, reservation, own)
    return _reserved(pod, reservation) if reservation else _NOWHERE


def _bound(
    pod: Pod,
    node_name: NodeName,
    reservation: Reservation | None,
    earlier: tuple[Allocation, ...],
) -> Standing:
    match pod.allocation:
        case None | UnreadableAllocation() if earlier:
            return _charged(pod, node_name, earlier, Footing.LAST_READABLE)
        case None:
            return _unmanaged(pod, node_name)
        case UnreadableAllocation() as unreadable:
            if reservation is not None and reservation.node_name == node_name:
                reserved = (reservation.allocation,)
                return _charged(pod, node_name, reserved, Footing.LAST_READABLE)
            return _quarantined(pod, node_name, unreadable)
        case allocation if allocation in earlier:
            return _charged(pod, node_name, earlier, Footing.ALLOCATED)
        case allocation:
            charged_by = (*earlier, allocation)
            return _charged(pod, node_name, charged_by, Footing.ALLOCATED)


def _is_of(pod: Pod, allocation: Allocation) -> bool:
    """Whether rows and containers match; a pod of which little is read has none."""
    return len(allocation) == len(pod.request.lifetimes)


def _reserved(pod: Pod, reservation: Reservation) -> Standing:
    charged_by = (reservation.allocation,)
    return _charged(pod, reservation.node_name, charged_by, Footing.RESERVED)


def _charged(
    pod: Pod,
    node_name: NodeName,
    charged_by: tuple[Allocation, ...],
    footing: Footing,
) -> Standing:
    charge: dict[DeviceUUID, Usage] = {}
    for allocation in charged_by:
        containers = container_usages(pod.request.lifetimes, allocation)
        for device_uuid, usage in current_charge(containers, pod.status).items():
            charge[device_uuid] = charge.get(device_uuid, NOTHING).largest(usage)
    holding = Holding(node_name, charge, pod.request.kubelet_slots)
    return Standing(holding, footing, charged_by)


def _unmanaged(pod: Pod, node_name: NodeName) -> Standing:
    if not pod.request.kubelet_slots:
        return _NOWHERE
    return Standing(
        Holding(node_name, {}, pod.request.kubelet_slots), Footing.UNMANAGED
    )


def _quarantined(
    pod: Pod, node_name: NodeName, unreadable: UnreadableAllocation
) -> Standing:
    return Standing(
        Holding(
            node_name,
            {},
            pod.request.kubelet_slots,
            quarantined=unreadable.named,
            hides_devices=_may_hold_devices(pod),
        ),
        Footing.QUARANTINED,
    )


def _may_hold_devices(pod: Pod) -> bool:
    """Whether any container that asks for devices can have started.

    Where the request cannot be read, any container may be one that asks.
    """
    asking = [
        index
        for index, asked in enumerate(pod.request.containers)
        if asked.count or pod.request_problem
    ]
    if pod.status.phase is not PodPhase.PENDING:
        return bool(asking) or pod.request_problem is not None
    return any(pod.status.of(index).has_started for index in asking)
