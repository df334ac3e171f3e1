"""Slow and obvious references: plain loops, one pod, one node.

They use the model's values and nothing else of `extender.core`, so that a mistake
there is not repeated here. Floating-point scores are computed in the order in which
the text of the rule names the terms; the code under test does the same, or ties
may fall differently.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from extender.core.device_policy import (
    EQUAL_WEIGHTS,
    SPREAD_CARDS,
    CardKey,
    DevicePolicy,
    Weights,
)
from extender.core.model import (
    ContainerRequest,
    ContainerUsage,
    Device,
    DeviceUUID,
    Lifetime,
    PodPhase,
    PodRequest,
    PodStatus,
    Policy,
    Release,
    RunState,
    SandboxReadiness,
    Selection,
    Sharing,
    Usage,
)

Loaded = tuple[Device, Usage]
"""A device and what is held on it before the pod comes."""

Totals = dict[DeviceUUID, Usage]


def timeline_effective(containers: Sequence[ContainerUsage]) -> Totals:
    """Start the pod step by step and keep the most that was ever held.

    Returns:
        One entry per device that any container names; each dimension on its own.
    """
    return _most_held(_instants(containers, skipped=frozenset()))


def timeline_charge(
    containers: Sequence[ContainerUsage],
    status: PodStatus,
    release: Release = Release.AFTER_INIT,
) -> Totals:
    """Start what can still start, as far as the status shows, and keep the most held.

    Written from the text of the accounting rule: an init has no phase any more only
    if it and every init before it are terminated with exit 0 in the present sandbox.
    By release "never", everything can still start, however far the pod has come.
    """
    if status.phase in {PodPhase.SUCCEEDED, PodPhase.FAILED}:
        return {}
    over: set[int] = set()
    for index, container in enumerate(containers):
        if container.lifetime is Lifetime.INIT and release is Release.AFTER_INIT:
            if not _is_over(index, containers, status):
                break
            over.add(index)
    return _most_held(_instants(containers, skipped=frozenset(over)))


def _is_over(
    index: int, containers: Sequence[ContainerUsage], status: PodStatus
) -> bool:
    shown = status.of(index)
    if shown.run_state is not RunState.TERMINATED or shown.exit_code != 0:
        return False
    if status.is_restarting_all and not status.is_terminating:
        return False
    restarted = status.restarted_all_at
    if (
        restarted is not None
        and not _an_app_runs(containers, status)
        and not _an_app_ended(containers, status)
        and _is_older(shown.finished_at, restarted)
    ):
        return False
    if status.sandbox is SandboxReadiness.NOT_SHOWN:
        return True  # nothing to compare the exit with
    if status.sandbox is SandboxReadiness.NOT_READY:
        # Another sandbox follows, unless the pod is leaving.
        return status.is_terminating
    return (
        _an_app_runs(containers, status)
        or _an_app_ended(containers, status)
        or not _is_older(shown.finished_at, status.sandbox_changed_at)
    )


def _an_app_runs(containers: Sequence[ContainerUsage], status: PodStatus) -> bool:
    return any(
        container.lifetime is Lifetime.APP
        and status.of(index).run_state is RunState.RUNNING
        for index, container in enumerate(containers)
    )


def _an_app_ended(containers: Sequence[ContainerUsage], status: PodStatus) -> bool:
    """Whether an app ended after all that could make the inits run again."""
    changes = []
    if status.sandbox is SandboxReadiness.READY:
        changes.append(status.sandbox_changed_at)
    if status.restarted_all_at is not None:
        changes.append(status.restarted_all_at)
    for index, container in enumerate(containers):
        shown = status.of(index)
        if (
            container.lifetime is Lifetime.APP
            and shown.run_state is RunState.TERMINATED
            and shown.finished_at is not None
            and changes
            and all(each is not None and each < shown.finished_at for each in changes)
        ):
            return True
    return False


def _is_older(exit_at: float | None, change_at: float | None) -> bool:
    """Whether an exit may have been before the change; unreadable means it may."""
    return exit_at is None or change_at is None or exit_at < change_at


def _instants(
    containers: Sequence[ContainerUsage], *, skipped: frozenset[int]
) -> Iterator[list[ContainerUsage]]:
    """List who runs after each start and each exit of the pod's life."""
    running: list[ContainerUsage] = []
    for index, container in enumerate(containers):
        if container.lifetime is Lifetime.APP or index in skipped:
            continue
        running.append(container)
        yield list(running)
        if container.lifetime is Lifetime.INIT:
            running.pop()
            yield list(running)
    for container in containers:
        if container.lifetime is Lifetime.APP:
            running.append(container)
            yield list(running)


def _most_held(instants: Iterator[list[ContainerUsage]]) -> Totals:
    most: Totals = {}
    for running in instants:
        for device_uuid, held in _sum_of(running).items():
            before = most.get(device_uuid, Usage())
            most[device_uuid] = Usage(
                slots=max(before.slots, held.slots),
                memory_mib=max(before.memory_mib, held.memory_mib),
                core_percent=max(before.core_percent, held.core_percent),
            )
    return most


def _sum_of(running: list[ContainerUsage]) -> Totals:
    named = {device_uuid for container in running for device_uuid in container.held}
    totals: Totals = {}
    for device_uuid in named:
        parts = [
            container.held[device_uuid]
            for container in running
            if device_uuid in container.held
        ]
        totals[device_uuid] = Usage(
            slots=sum(part.slots for part in parts),
            memory_mib=sum(part.memory_mib for part in parts),
            core_percent=sum(part.core_percent for part in parts),
        )
    return totals


def kubelet_slots(
    lifetimes: Sequence[Lifetime], containers: Sequence[ContainerRequest]
) -> int:
    """Count device ids as Kubernetes does: the largest step of the start, in counts."""
    sidecars = most = 0
    for lifetime, request in zip(lifetimes, containers, strict=True):
        if lifetime is Lifetime.SIDECAR:
            sidecars += request.count
        if lifetime is Lifetime.INIT:
            most = max(most, sidecars + request.count)
    apps = sum(
        request.count
        for lifetime, request in zip(lifetimes, containers, strict=True)
        if lifetime is Lifetime.APP
    )
    return max(most, sidecars + apps)


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a pod went.

    Attributes:
        rows: Devices per container, in start order; inside a row in the order in
            which they were taken.
        peak: Everything held on each device of the node, by others and by the pod,
            at the most in any phase.
    """

    rows: tuple[tuple[DeviceUUID, ...], ...]
    peak: Mapping[DeviceUUID, Usage]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a pod does not fit.

    Attributes:
        container_index: The first container that could not be placed, in the order
            of placing; None when the node refuses the pod as a whole.
        codes: The first rule that refused, per device that refused.
        node_code: Why no device was asked, if none was; or why too few of those that
            passed are at one NUMA node.
    """

    container_index: int | None
    codes: Mapping[DeviceUUID, str]
    node_code: str | None = None


def place_greedily(
    loaded: Sequence[Loaded],
    allocatable_slots: int,
    kubelet_slots_used: int,
    request: PodRequest,
) -> Placed | Refused:
    """Place sidecars and apps cumulatively, then each init on a throw-away copy.

    Args:
        loaded: The node's devices with what is held there, in any order.
        allocatable_slots: What the node offers to kubelet.
        kubelet_slots_used: What the node's pods take of that.
        request: What the pod asks.
    """
    if refused := _refused_by_node(
        loaded, allocatable_slots, kubelet_slots_used, request
    ):
        return refused
    rows: dict[int, tuple[DeviceUUID, ...]] = {}
    working = {device.device_uuid: used for device, used in loaded}
    before_pod = dict(working)
    for index, lifetime in enumerate(request.lifetimes):
        if lifetime is Lifetime.INIT:
            continue
        taken = _take(loaded, working, request, index, preferred=set())
        if isinstance(taken, Refused):
            return taken
        rows[index] = taken
        _hold(loaded, working, request.containers[index], taken)
    peak = dict(working)
    for index, lifetime in enumerate(request.lifetimes):
        if lifetime is not Lifetime.INIT:
            continue
        snapshot = dict(before_pod)
        for earlier in _sidecars_before(index, request.lifetimes):
            _hold(loaded, snapshot, request.containers[earlier], rows[earlier])
        held_by_others = {device_uuid for row in rows.values() for device_uuid in row}
        taken = _take(loaded, snapshot, request, index, preferred=held_by_others)
        if isinstance(taken, Refused):
            return taken
        rows[index] = taken
        _hold(loaded, snapshot, request.containers[index], taken)
        for device_uuid, held in snapshot.items():
            peak[device_uuid] = peak[device_uuid].largest(held)
    return Placed(tuple(rows[index] for index in range(len(request.lifetimes))), peak)


def _sidecars_before(index: int, lifetimes: Sequence[Lifetime]) -> list[int]:
    return [
        earlier for earlier in range(index) if lifetimes[earlier] is Lifetime.SIDECAR
    ]


def _refused_by_node(
    loaded: Sequence[Loaded],
    allocatable_slots: int,
    kubelet_slots_used: int,
    request: PodRequest,
) -> Refused | None:
    for index, asked in enumerate(request.containers):
        if asked.count > len(loaded):
            return Refused(index, {}, "NodeInsufficientDevice")
    if kubelet_slots_used + request.kubelet_slots > allocatable_slots:
        return Refused(None, {}, "KubeletSlotsExhausted")
    return None


def _take(
    loaded: Sequence[Loaded],
    working: Totals,
    request: PodRequest,
    index: int,
    preferred: set[DeviceUUID],
) -> tuple[DeviceUUID, ...] | Refused:
    asked = request.containers[index]
    policy = request.device_policy
    passing: list[Device] = []
    codes: dict[DeviceUUID, str] = {}
    for device, _ in loaded:
        used = working[device.device_uuid]
        code = refusal_code(device, used, asked, request.selection, policy)
        if code is None:
            passing.append(device)
        else:
            codes[device.device_uuid] = code
    if len(passing) < asked.count:
        return Refused(index, codes)

    def order(device: Device) -> tuple[object, ...]:
        used = working[device.device_uuid]
        keys = [card_key(device, used, key, policy.weights) for key in policy.keys]
        is_other = device.device_uuid not in preferred
        return (is_other, *keys, device.index, device.device_uuid)

    passing.sort(key=order)
    if policy.on_one_numa_node and asked.count:
        together = [
            [each for each in passing if each.numa_node == first.numa_node]
            for first in passing
        ]
        passing = next((some for some in together if len(some) >= asked.count), [])
        if not passing:
            return Refused(index, codes, "NumaNotFit")
    return tuple(device.device_uuid for device in passing[: asked.count])


def card_key(device: Device, used: Usage, key: CardKey, weights: Weights) -> Fraction:
    """Give what one sort key says of a device; the lowest is tried first."""
    match key:
        case CardKey.LEAST_USED:
            return device_score(device, used, weights)
        case CardKey.MOST_USED:
            return -device_score(device, used, weights)
        case CardKey.HIGHEST_NUMA:
            return Fraction(-device.numa_node)
        case CardKey.LOWEST_NUMA:
            return Fraction(device.numa_node)


def _hold(
    loaded: Sequence[Loaded],
    working: Totals,
    asked: ContainerRequest,
    taken: Sequence[DeviceUUID],
) -> None:
    for device, _ in loaded:
        if device.device_uuid in taken:
            share = Usage(1, _memory_needed(device, asked), asked.core_percent)
            working[device.device_uuid] = working[device.device_uuid] + share


def _memory_needed(device: Device, asked: ContainerRequest) -> int:
    if asked.memory_mib is not None:
        return asked.memory_mib
    return device.capacity.memory_mib * asked.memory_percent // 100


def device_score(
    device: Device, used: Usage, weights: Weights = EQUAL_WEIGHTS
) -> Fraction:
    """Score how full a device is, and 0 when it lacks any capacity."""
    capacity = device.capacity
    if 0 in (capacity.slots, capacity.core_percent, capacity.memory_mib):
        return Fraction(0)
    return 10 * (
        weights.slots * Fraction(used.slots, capacity.slots)
        + weights.cores * Fraction(used.core_percent, capacity.core_percent)
        + weights.memory * Fraction(used.memory_mib, capacity.memory_mib)
    )


def refusal_code(
    device: Device,
    used: Usage,
    asked: ContainerRequest,
    selection: Selection,
    policy: DevicePolicy = SPREAD_CARDS,
) -> str | None:
    """Name the first rule by which a device refuses one container; None if none does.

    Quarantine is left out: it is state, not a property of device and request.
    """
    capacity = device.capacity
    memory_needed = _memory_needed(device, asked)
    cores_needed = asked.core_percent
    rules = [
        ("CardNotHealth", not device.is_healthy),
        ("CardCordoned", device.is_cordoned),
        ("CardTypeMismatch", not _type_is_accepted(device, selection)),
        ("ModeNotFit", device.mode not in (selection.modes or device.mode)),
        ("CardUuidMismatch", not _uuid_is_accepted(device, selection)),
        ("CardMigModeUnsupported", device.mode == "mig"),
        ("CardTimeSlicingExhausted", capacity.slots <= used.slots),
        ("ExclusiveDeviceAllocateConflict", policy.is_exclusive and used.slots > 0),
        (
            "CardInsufficientMemory",
            asked.sharing is not Sharing.BY_SLOT
            and (
                memory_needed <= 0
                or capacity.memory_mib - used.memory_mib < memory_needed
            ),
        ),
        (
            "CardSharedUnequally",
            asked.sharing is Sharing.EQUALLY
            and used.memory_mib != used.slots * memory_needed,
        ),
        (
            "CardInsufficientCore",
            capacity.core_percent - used.core_percent < cores_needed,
        ),
        (
            "ExclusiveDeviceAllocateConflict",
            capacity.core_percent == 100 and cores_needed == 100 and used.slots > 0,
        ),
        (
            "CardComputeUnitsExhausted",
            capacity.core_percent != 0
            and used.core_percent >= capacity.core_percent
            and cores_needed == 0,
        ),
    ]
    return next((code for code, refuses in rules if refuses), None)


def _type_is_accepted(device: Device, selection: Selection) -> bool:
    model = device.model.lower()
    if any(word.lower() in model for word in selection.avoid_types):
        return False
    if selection.use_types is None:
        return True
    return any(word.lower() in model for word in selection.use_types)


def _uuid_is_accepted(device: Device, selection: Selection) -> bool:
    if device.device_uuid in selection.avoid_uuids:
        return False
    return selection.use_uuids is None or device.device_uuid in selection.use_uuids


@dataclass(frozen=True, slots=True)
class Possible:
    """What any assignment of devices to containers can reach.

    Attributes:
        fits: Whether there is one that breaks no rule at any start of a container.
        fewest_for_inits: The least number of different devices that only inits hold
            in such an assignment; None when there is none.
    """

    fits: bool
    fewest_for_inits: int | None


def exhaustive_fits(
    loaded: Sequence[Loaded],
    allocatable_slots: int,
    kubelet_slots_used: int,
    request: PodRequest,
) -> Possible:
    """Try every assignment, starting the containers one by one in start order.

    Cost: all combinations per container multiplied; for nodes of up to 4 devices
    and pods of up to 4 containers that ask.
    """
    if _refused_by_node(loaded, allocatable_slots, kubelet_slots_used, request):
        return Possible(fits=False, fewest_for_inits=None)
    sizes = [
        for_inits_only(rows, request.lifetimes)
        for rows in _assignments(loaded, request, ())
    ]
    return Possible(fits=bool(sizes), fewest_for_inits=min(sizes, default=None))


def for_inits_only(
    rows: Sequence[Collection[DeviceUUID]], lifetimes: Sequence[Lifetime]
) -> int:
    """Count the devices of a pod that nothing but its inits hold."""
    of_inits: set[DeviceUUID] = set()
    of_others: set[DeviceUUID] = set()
    for row, lifetime in zip(rows, lifetimes, strict=True):
        (of_inits if lifetime is Lifetime.INIT else of_others).update(row)
    return len(of_inits - of_others)


def is_possible(
    loaded: Sequence[Loaded],
    request: PodRequest,
    rows: Sequence[Collection[DeviceUUID]],
) -> bool:
    """Tell whether devices that were chosen are among the assignments that fit."""
    wanted = tuple(frozenset(row) for row in rows)
    return any(wanted == each for each in _assignments(loaded, request, ()))


def _assignments(
    loaded: Sequence[Loaded],
    request: PodRequest,
    rows: tuple[frozenset[DeviceUUID], ...],
) -> Iterator[tuple[frozenset[DeviceUUID], ...]]:
    """List what the containers after those of `rows` may take besides."""
    index = len(rows)
    if index == len(request.containers):
        yield rows
        return
    asked = request.containers[index]
    open_now = [
        device
        for device, used in loaded
        if refusal_code(device, used, asked, request.selection, request.device_policy)
        is None
    ]
    for chosen in combinations(open_now, asked.count):
        numa_nodes = {device.numa_node for device in chosen}
        if request.device_policy.on_one_numa_node and len(numa_nodes) > 1:
            continue
        taken = frozenset(device.device_uuid for device in chosen)
        after = list(loaded)
        if request.lifetimes[index] is not Lifetime.INIT:
            working = {device.device_uuid: used for device, used in loaded}
            _hold(loaded, working, asked, list(taken))
            after = [(device, working[device.device_uuid]) for device, _ in loaded]
        yield from _assignments(after, request, (*rows, taken))


def node_score(devices: Sequence[Loaded], policy: Policy) -> int:
    """Score a node 1 to 10 by how full all its devices are after the placement.

    Args:
        devices: All devices of the node, each with what is held after the placement.
        policy: Binpack scores the fuller node higher, spread the emptier one.
    """
    ratio_sum = (
        _ratio([(used.slots, device.capacity.slots) for device, used in devices])
        + _ratio(
            [
                (used.core_percent, device.capacity.core_percent)
                for device, used in devices
            ]
        )
        + _ratio(
            [(used.memory_mib, device.capacity.memory_mib) for device, used in devices]
        )
    )
    x = min(max(ratio_sum, Fraction(0)), Fraction(3))
    if policy is Policy.SPREAD:
        x = 3 - x
    return math.floor(1 + 9 * x / 3 + Fraction(1, 2))


def _ratio(used_of_capacity: Sequence[tuple[int, int]]) -> Fraction:
    capacity = sum(offered for _, offered in used_of_capacity)
    used = sum(held for held, _ in used_of_capacity)
    return Fraction(used, capacity) if capacity else Fraction(0)
