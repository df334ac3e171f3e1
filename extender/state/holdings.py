"""What one pod counts for, by what the API shows of it."""

from dataclasses import dataclass
from enum import Enum

from extender.core.holding import Holding
from extender.core.model import (
    Allocation,
    NodeName,
    Pod,
    PodPhase,
    UnreadableAllocation,
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
        allocation: The rows that it is charged by; None without any.
    """

    holding: Holding | None
    footing: Footing
    allocation: Allocation | None = None


_NOWHERE = Standing(None, Footing.NOTHING)


def standing_of(
    pod: Pod, reservation: Reservation | None, last_readable: Allocation | None
) -> Standing:
    """Decide what a pod counts for.

    A bound pod counts on its ``spec.nodeName``, whatever its annotations say of a
    node. An unbound pod's annotations are no charge: only our own reservation is.

    Args:
        pod: As the API shows it.
        reservation: Ours, while the API does not show the pod bound.
        last_readable: The allocation that this UID was last charged by.
    """
    if pod.status.is_finished:
        return _NOWHERE
    if pod.node_name is None:
        return _reserved(pod, reservation) if reservation else _NOWHERE
    match pod.allocation:
        case None:
            return _unmanaged(pod, pod.node_name)
        case UnreadableAllocation() as unreadable:
            if last_readable is not None and _is_of(pod, last_readable):
                return _charged(
                    pod, pod.node_name, last_readable, Footing.LAST_READABLE
                )
            return _quarantined(pod, pod.node_name, unreadable)
        case allocation:
            return _charged(pod, pod.node_name, allocation, Footing.ALLOCATED)


def _is_of(pod: Pod, allocation: Allocation) -> bool:
    """Whether rows and containers match; a pod of which little is read has none."""
    return len(allocation) == len(pod.request.lifetimes)


def _reserved(pod: Pod, reservation: Reservation) -> Standing:
    return _charged(
        pod, reservation.node_name, reservation.allocation, Footing.RESERVED
    )


def _charged(
    pod: Pod, node_name: NodeName, allocation: Allocation, footing: Footing
) -> Standing:
    containers = container_usages(pod.request.lifetimes, allocation)
    charge = current_charge(containers, pod.status)
    holding = Holding(node_name, charge, pod.request.kubelet_slots)
    return Standing(holding, footing, allocation)


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
    if pod.status.phase is not PodPhase.PENDING:
        return True
    return any(
        (asked.count or pod.request_problem) and pod.status.of(index).has_started
        for index, asked in enumerate(pod.request.containers)
    )
