"""Who holds what, in which phase of its life, and when it comes back."""

from collections.abc import Iterable, Sequence

from extender.core.container import Lifetime
from extender.core.holding import Holding
from extender.core.names import DeviceUUID, NodeName
from extender.core.node import Node
from extender.core.phases import (
    container_usages,
    effective_usage,
    phases,
    released_init_count,
)
from extender.core.pod import Pod, Release
from extender.core.usage import NOTHING, Charge, Usage
from extender.state.holdings import Standing
from extender.state.ledger_view import LedgerView
from extender.verbs.explanation import HeldCard, Holder, PhaseHeld, Return
from extender.verbs.nominations import Nomination
from extender.verbs.pod_phases import STEADY, phase_name

THE_POD_ENDS = "the pod ends"
_UNREADABLE = "allocation that cannot be read"


def holders_on(
    ledger: LedgerView, node_name: NodeName, nominated: Iterable[Nomination] = ()
) -> dict[DeviceUUID, tuple[Holder, ...]]:
    """List who counts on each card of a node; those that hold most come first.

    Args:
        ledger: Who holds what.
        node_name: The node.
        nominated: Pods that others were evicted for, where they count.

    Cost: O(phases x shares) of the pods there.
    """
    found: dict[DeviceUUID, list[Holder]] = {}
    for pod_uid, holding in ledger.holders_on(node_name).items():
        pod, standing = ledger.pods[pod_uid], ledger.standing(pod_uid)
        if standing is not None:
            for device_uuid, holder in _holders(pod, standing, holding):
                found.setdefault(device_uuid, []).append(holder)
    for each in nominated:
        if each.holding.node_name == node_name:
            for device_uuid, usage in each.holding.charge.items():
                holder = _nominated(each.pod, usage)
                found.setdefault(device_uuid, []).append(holder)
    return {
        device_uuid: tuple(sorted(holders, key=_largest_first))
        for device_uuid, holders in found.items()
    }


def _largest_first(holder: Holder) -> tuple[int, int, int, str]:
    held = holder.held
    return -held.memory_mib, -held.core_percent, -held.slots, holder.pod


def _nominated(pod: Pod, usage: Usage) -> Holder:
    status = pod.status.phase.value
    returns = (Return(THE_POD_ENDS, usage),)
    return Holder(pod.full_name, pod.uid, "nominated", status, "", usage, returns)


def _holders(
    pod: Pod, standing: Standing, holding: Holding
) -> Iterable[tuple[DeviceUUID, Holder]]:
    status = pod.status.phase.value
    if pod.status.is_terminating:
        status = f"{status}, terminating"
    runs, later = phase_that_runs(pod, standing), _later(pod, standing)
    for device_uuid, usage in holding.charge.items():
        yield (
            device_uuid,
            Holder(
                pod.full_name,
                pod.uid,
                standing.footing.value,
                status,
                runs,
                usage,
                _returns(device_uuid, usage, later),
            ),
        )
    for device_uuid in holding.quarantined:
        yield (
            device_uuid,
            Holder(pod.full_name, pod.uid, _UNREADABLE, status, "", NOTHING),
        )


def phase_that_runs(pod: Pod, standing: Standing) -> str:
    """Name the phase that counts now; empty where no init asks for a device."""
    inits = _inits(pod)
    if not inits or not any(request.inits_ask_for_devices for request in pod.asking):
        return ""
    if standing.release is Release.NEVER:
        return "all phases count until it ends"
    released = released_init_count(pod.lifetimes, pod.status, standing.release)
    if released == len(inits):
        return STEADY
    return phase_name(inits[released], pod.containers)


def _inits(pod: Pod) -> list[int]:
    lifetimes = enumerate(pod.lifetimes)
    return [index for index, lifetime in lifetimes if lifetime is Lifetime.INIT]


_Later = Sequence[tuple[str, Charge]]
"""What happens next, and what the pod is charged from then on."""


def _later(pod: Pod, standing: Standing) -> _Later:
    """List what gives something back, in order; the pod's end is left out."""
    if standing.release is Release.NEVER or pod.status.is_finished:
        return []
    inits = _inits(pod)
    released = released_init_count(pod.lifetimes, pod.status, standing.release)
    return [
        (
            f"init {pod.containers[index].name} exits",
            _charge(pod, standing, released + number),
        )
        for number, index in enumerate(inits[released:], start=1)
    ]


def _charge(pod: Pod, standing: Standing, released_inits: int) -> Charge:
    """Charge the pod as the ledger does, once so many inits are over."""
    charge: dict[DeviceUUID, Usage] = {}
    for allocation in standing.charged_by:
        usages = container_usages(pod.lifetimes, allocation)
        later = effective_usage(usages, released_inits=released_inits)
        for device_uuid, usage in later.items():
            charge[device_uuid] = charge.get(device_uuid, NOTHING).largest(usage)
    return charge


def _returns(device_uuid: DeviceUUID, held: Usage, later: _Later) -> tuple[Return, ...]:
    """Split what is held of a card by when it comes back."""
    found: list[Return] = []
    left = held
    for when, charge in later:
        still = charge.get(device_uuid, NOTHING).smallest(left)
        if still != left:
            found.append(Return(when, left - still))
            left = still
    if left != NOTHING:
        found.append(Return(THE_POD_ENDS, left))
    return tuple(found)


def held_cards(pod: Pod, standing: Standing, node: Node | None) -> list[HeldCard]:
    """Tell what a pod holds, phase by phase, and what of it comes back when."""
    if standing.holding is None:
        return []
    shown = {
        device.device_uuid: device
        for inventory in (node.inventories.values() if node else ())
        for device in inventory.devices or ()
    }
    later = _later(pod, standing)
    found = []
    for device_uuid, usage in standing.holding.charge.items():
        device = shown.get(device_uuid)
        found.append(
            HeldCard(
                device_uuid,
                device.index if device else None,
                device.model if device else "",
                tuple(_phases_held(pod, standing, device_uuid)),
                usage,
                _returns(device_uuid, usage, later),
            )
        )
    return found


def _phases_held(
    pod: Pod, standing: Standing, device_uuid: DeviceUUID
) -> Iterable[PhaseHeld]:
    if not standing.charged_by:
        return
    usages = container_usages(pod.lifetimes, standing.charged_by[-1])
    released = released_init_count(pod.lifetimes, pod.status, standing.release)
    for number, phase in enumerate(phases(usages)):
        yield PhaseHeld(
            phase_name(phase.init_index, pod.containers),
            phase.held.get(device_uuid, NOTHING),
            is_over=phase.init_index is not None and number < released,
        )
