"""What must hold between the values of a snapshot, whoever wrote the file.

Each value by itself is read by `extender.wire.values`. What is refused here is what no
extender writes, and what would make nonsense of a decision: rows that are no
container's, a place beyond a card's slices, amounts that no array holds.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from extender.core.allocation import Allocation, UnreadableAllocation
from extender.core.device_policy import Weights
from extender.core.holding import Holding
from extender.core.mig import MIG_SLICES, MigPlacement
from extender.core.names import MAX_INT32
from extender.core.node import Device, Inventory
from extender.core.pod import Pod
from extender.core.pod_request import ContainerRequest, PodRequest
from extender.core.usage import Usage
from extender.errors import Described, MalformedBody
from extender.verbs.snapshot.saved import Head, SavedPod, Snapshot

_MOST_PERCENT: Final = 100
_MOST_CORES: Final = 2**62
"""As bits; a device has few."""


def check_snapshot(snapshot: Snapshot) -> None:
    """Refuse what cannot be decided on.

    Raises:
        MalformedBody: Names the field, the value and what is expected.
    """
    for index, node in enumerate(snapshot.nodes):
        for word, inventory in node.inventories.items():
            _check_inventory(f"nodes[{index}].inventories.{word}", inventory)
    for index, saved in enumerate(snapshot.pods):
        _check_saved(f"pods[{index}]", saved)
    _check_unique("nodes", (node.name for node in snapshot.nodes))
    _check_unique("pods", (saved.pod.uid for saved in snapshot.pods))
    quotas = [f"{each.namespace}/{each.name}" for each in snapshot.quotas]
    _check_unique("quotas", quotas)
    for index, quota in enumerate(snapshot.quotas):
        for limit in quota.limits:
            if limit.most is not None and limit.most < 0:
                field = f"quotas[{index}].limits.{limit.key}"
                raise MalformedBody(field, limit.most, "0 or more")
    _check_head(snapshot.head)


def _check_head(head: Head) -> None:
    _check_pod("snapshot.pod", head.pod)
    _check_unique("snapshot.kinds", (kind.type_word for kind in head.kinds))
    _check_unique("snapshot.node_names", head.node_names)
    decision, asked = head.decision, set(head.node_names)
    for name, listed in (
        ("scores", decision.scores),
        ("failed", decision.failed),
        ("unresolvable", decision.unresolvable),
    ):
        for node_name in listed:
            if node_name not in asked:
                field = f"snapshot.decision.{name}.{node_name}"
                raise MalformedBody(field, None, "one of snapshot.node_names")
    if decision.chosen is not None and decision.chosen not in asked:
        raise MalformedBody(
            "snapshot.decision.chosen", decision.chosen, "one of snapshot.node_names"
        )
    _check_allocation("snapshot.decision.allocation", decision.allocation, head.pod)
    for index, holding in enumerate(head.given.expected):
        _check_holding(f"snapshot.given.expected[{index}]", holding)
    for node_name, binds in head.given.binds_at.items():
        _check_amount(f"snapshot.given.binds_at.{node_name}", binds)


def _check_unique(field: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise MalformedBody(field, Described(f"{name} twice"), "each of them once")
        seen.add(name)


def _check_amount(field: str, amount: int, least: int = 0) -> None:
    if not least <= amount <= MAX_INT32:
        raise MalformedBody(field, amount, f"{least} to {MAX_INT32}")


def _check_usage(field: str, usage: Usage) -> None:
    _check_amount(f"{field}.slots", usage.slots)
    _check_amount(f"{field}.memory_mib", usage.memory_mib)
    _check_amount(f"{field}.core_percent", usage.core_percent)


def _check_inventory(field: str, inventory: Inventory) -> None:
    _check_amount(f"{field}.allocatable_slots", inventory.allocatable_slots)
    devices = inventory.devices or ()
    _check_unique(f"{field}.devices", (device.device_uuid for device in devices))
    for index, device in enumerate(devices):
        _check_device(f"{field}.devices[{index}]", device)
    for scores in inventory.links.values():
        for uuid, score in scores.items():
            if abs(score) > MAX_INT32:
                wanted = f"at most {MAX_INT32}"
                raise MalformedBody(f"{field}.links.{uuid}", score, wanted)


def _check_device(field: str, device: Device) -> None:
    _check_usage(f"{field}.capacity", device.capacity)
    _check_amount(f"{field}.core_step", device.core_step, 1)
    for profile in device.mig_profiles:
        amount = Usage(1, profile.memory_mib, profile.core_percent)
        _check_usage(f"{field}.mig_profiles.{profile.name}", amount)
        for place in profile.placements:
            _check_placement(f"{field}.mig_profiles.{profile.name}", place)
    for cut in device.profiles:
        amount = Usage(cut.slots, cut.memory_mib, cut.core_percent)
        _check_usage(f"{field}.profiles.{cut.name}", amount)


def _check_placement(field: str, place: MigPlacement) -> None:
    if place.start < 0 or place.size < 1 or place.start + place.size > MIG_SLICES:
        found = Described(f"{place.size} slices from {place.start} on")
        raise MalformedBody(field, found, f"within {MIG_SLICES} slices")


def _check_saved(field: str, saved: SavedPod) -> None:
    pod = saved.pod
    _check_pod(f"{field}.pod", pod)
    if saved.reservation is not None:
        rows = saved.reservation.allocation
        _check_allocation(f"{field}.reservation.allocation", rows, pod)
    if saved.standing is not None:
        for rows in saved.standing.charged_by:
            _check_allocation(f"{field}.standing.charged_by", rows, pod)
        if saved.standing.holding is not None:
            _check_holding(f"{field}.standing.holding", saved.standing.holding)


def _check_holding(field: str, holding: Holding) -> None:
    for uuid, usage in holding.charge.items():
        _check_usage(f"{field}.charge.{uuid}", usage)
    for word, slots in holding.kubelet_slots.items():
        _check_amount(f"{field}.kubelet_slots.{word}", slots)
    for uuid, counts in holding.slices.items():
        if len(counts) > MIG_SLICES or any(
            not 0 <= count <= MAX_INT32 for count in counts
        ):
            found = Described(f"{len(counts)} counts")
            wanted = f"up to {MIG_SLICES} counts of 0 or more"
            raise MalformedBody(f"{field}.slices.{uuid}", found, wanted)
    for uuid, bits in holding.cores.items():
        _check_cores(f"{field}.cores.{uuid}", bits)


def _check_cores(field: str, bits: int) -> None:
    if not 0 <= bits < _MOST_CORES:
        raise MalformedBody(field, bits, "few cores, as bits")


def _check_pod(field: str, pod: Pod) -> None:
    _check_unique(f"{field}.requests", (each.kind for each in pod.requests))
    for index, request in enumerate(pod.requests):
        _check_request(f"{field}.requests[{index}]", request, len(pod.containers))
    if not isinstance(pod.allocation, UnreadableAllocation):
        _check_shares(f"{field}.allocation", pod.allocation or ())


def _check_request(field: str, request: PodRequest, containers: int) -> None:
    _check_length(f"{field}.lifetimes", request.lifetimes, containers)
    _check_length(f"{field}.containers", request.containers, containers)
    _check_amount(f"{field}.kubelet_slots", request.kubelet_slots)
    if not request.device_policy.keys:
        raise MalformedBody(f"{field}.device_policy.keys", None, "at least one")
    _check_weights(f"{field}.device_policy.weights", request.device_policy.weights)
    for index, asked in enumerate(request.containers):
        _check_asked(f"{field}.containers[{index}]", asked)


def _check_length(field: str, listed: Sequence[object], containers: int) -> None:
    if len(listed) != containers:
        found = Described(f"{len(listed)} entries")
        raise MalformedBody(field, found, f"one for each of {containers} containers")


def _check_weights(field: str, weights: Weights) -> None:
    parts = (weights.slots, weights.memory, weights.cores)
    if not all(0 <= part <= MAX_INT32 for part in parts) or not any(parts):
        found = Described(" and ".join(map(str, parts)))
        raise MalformedBody(field, found, f"0 to {MAX_INT32}, and not all 0")


def _check_asked(field: str, asked: ContainerRequest) -> None:
    _check_amount(f"{field}.count", asked.count)
    _check_amount(f"{field}.memory_mib", asked.memory_mib or 0)
    _check_amount(f"{field}.core_percent", asked.core_percent)
    if not 0 <= asked.memory_percent <= _MOST_PERCENT:
        percent = asked.memory_percent
        raise MalformedBody(f"{field}.memory_percent", percent, f"0 to {_MOST_PERCENT}")
    if asked.profile is not None:
        amount = asked.profile.slots or 0, asked.profile.memory
        _check_usage(f"{field}.profile", Usage(*amount, asked.profile.core_percent))


def _check_allocation(field: str, rows: Allocation | None, pod: Pod) -> None:
    if rows is not None:
        _check_length(field, rows, len(pod.containers))
        _check_shares(field, rows)


def _check_shares(field: str, rows: Allocation) -> None:
    for share in chain.from_iterable(rows):
        path = f"{field}.{share.device_uuid}"
        _check_usage(path, Usage(share.slots, share.memory_mib, share.core_percent))
        _check_cores(f"{path}.cores", share.cores)
        if share.instance is not None:
            _check_placement(f"{path}.instance", share.instance.placement)
