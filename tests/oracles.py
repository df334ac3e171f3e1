"""Slow and obvious references: plain loops, one pod, one node.

They use the model's values and nothing else of `extender.core`, so that a mistake
there is not repeated here. Floating-point scores are computed in the order in which
the text of the rule names the terms; the code under test does the same, or ties
may fall differently.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from extender.core.container import ContainerUsage, Lifetime
from extender.core.device_policy import (
    EQUAL_WEIGHTS,
    SPREAD_CARDS,
    CardKey,
    DevicePolicy,
    Weights,
)
from extender.core.mig import MigPlacement, MigProfile
from extender.core.names import DeviceUUID
from extender.core.node import Device
from extender.core.pod import Release
from extender.core.pod_request import (
    ContainerRequest,
    PodRequest,
    Policy,
    Selection,
    Sharing,
)
from extender.core.pod_status import PodPhase, PodStatus, RunState, SandboxReadiness
from extender.core.usage import Usage

Loaded = tuple[Device, Usage]
"""A device and what is held on it before the pod comes."""

Totals = dict[DeviceUUID, Usage]


def timeline_effective(containers: Sequence[ContainerUsage]) -> Totals:
    """Start the pod step by step and keep the most that was ever held.

    Returns:
        One entry per device that any container names; each dimension on its own.
    """
    most = _most_held(_instants(containers, skipped=frozenset()))
    return _with_kept(containers, most)


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
    most = _most_held(_instants(containers, skipped=frozenset(over)))
    return _with_kept(containers, most)


def timeline_quota(
    containers: Sequence[ContainerUsage],
    status: PodStatus,
    release: Release = Release.AFTER_INIT,
) -> Usage:
    """Charge a quota for the most that the pod ever holds at one instant, on any card.

    All cards count as one, since a quota does not tell them apart.
    """
    one = DeviceUUID("all cards")
    merged = [
        ContainerUsage(
            container.lifetime,
            {one: _sum_of_values(container.held)},
            {one: _sum_of_values(container.kept)},
        )
        for container in containers
    ]
    return timeline_charge(merged, status, release).get(one, Usage())


def _sum_of_values(held: Mapping[DeviceUUID, Usage]) -> Usage:
    return Usage(
        slots=sum(each.slots for each in held.values()),
        memory_mib=sum(each.memory_mib for each in held.values()),
        core_percent=sum(each.core_percent for each in held.values()),
    )


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


def _with_kept(containers: Sequence[ContainerUsage], totals: Totals) -> Totals:
    """Add what is there from the pod's start to its end, whoever runs."""
    added = dict(totals)
    for container in containers:
        for device_uuid, kept in container.kept.items():
            added[device_uuid] = added.get(device_uuid, Usage()) + kept
    return added


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
class Piece:
    """One device, or one instance of it, that a container gets.

    Attributes:
        device_uuid: The device.
        usage: What it holds there.
        slices: Those of the instance; none of a device that is not in MIG mode.
    """

    device_uuid: DeviceUUID
    usage: Usage
    slices: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a pod went.

    Attributes:
        pieces: Per container, in start order; inside a row in the order in which they
            were taken.
        peak: Everything held on each device of the node, by others and by the pod,
            at the most in any phase.
    """

    pieces: tuple[tuple[Piece, ...], ...]
    peak: Mapping[DeviceUUID, Usage]

    @property
    def rows(self) -> tuple[tuple[DeviceUUID, ...], ...]:
        """Devices per container, in the same order."""
        return tuple(tuple(each.device_uuid for each in row) for row in self.pieces)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a pod does not fit.

    Attributes:
        container_index: The first container that could not be placed, in the order
            of placing; None when the node refuses the pod as a whole.
        codes: The first rule that refused, per device that refused.
        node_code: Why no device was asked, if none was; or why too few of those that
            passed are at one NUMA node.
        has_some: Whether some devices or instances could be had.
    """

    container_index: int | None
    codes: Mapping[DeviceUUID, str]
    node_code: str | None = None
    has_some: bool = False


@dataclass(slots=True)
class _Held:
    """What is held on a node at some moment."""

    usage: Totals
    slices: dict[DeviceUUID, frozenset[int]]

    def copy(self) -> "_Held":
        return _Held(dict(self.usage), dict(self.slices))

    def add(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            self.usage[piece.device_uuid] += piece.usage
            self.slices[piece.device_uuid] |= piece.slices


@dataclass(frozen=True, slots=True)
class _Node:
    """What does not change while a pod is placed."""

    loaded: Sequence[Loaded]
    request: PodRequest
    quarantined: frozenset[DeviceUUID]


def place_greedily(
    loaded: Sequence[Loaded],
    allocatable_slots: int,
    kubelet_slots_used: int,
    request: PodRequest,
    *,
    slices: Mapping[DeviceUUID, frozenset[int]] | None = None,
    quarantined: frozenset[DeviceUUID] = frozenset(),
) -> Placed | Refused:
    """Place sidecars and apps cumulatively, then each init on a throw-away copy.

    Instances of cards in MIG mode are cumulative for all containers.

    Args:
        loaded: The node's devices with what is held there, in any order.
        allocatable_slots: What the node offers to kubelet.
        kubelet_slots_used: What the node's pods take of that.
        request: What the pod asks.
        slices: Which slices are held of devices in MIG mode.
        quarantined: Devices that count as full.
    """
    if refused := _refused_by_node(
        loaded, allocatable_slots, kubelet_slots_used, request
    ):
        return refused
    node = _Node(loaded, request, quarantined)
    cut = {device.device_uuid: frozenset[int]() for device, _ in loaded}
    before_pod = _Held(
        {device.device_uuid: used for device, used in loaded}, {**cut, **(slices or {})}
    )
    rows: dict[int, tuple[Piece, ...]] = {}
    working = before_pod.copy()
    for index, lifetime in enumerate(request.lifetimes):
        if lifetime is Lifetime.INIT:
            continue
        taken = _take(node, working, index, preferred=set())
        if isinstance(taken, Refused):
            return taken
        rows[index] = taken
        working.add(taken)
    peak = dict(working.usage)
    for index, lifetime in enumerate(request.lifetimes):
        if lifetime is not Lifetime.INIT:
            continue
        snapshot = before_pod.copy()
        for earlier, row in rows.items():
            is_beside = earlier in _sidecars_before(index, request.lifetimes)
            snapshot.add([each for each in row if is_beside or each.slices])
        held_by_others = {each.device_uuid for row in rows.values() for each in row}
        taken = _take(node, snapshot, index, preferred=held_by_others)
        if isinstance(taken, Refused):
            return taken
        rows[index] = taken
        snapshot.add(taken)
        for device_uuid, held in snapshot.usage.items():
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
    modes = request.selection.modes
    may_be_cut = modes is None or "mig" in modes
    has_mig = any(device.mode == "mig" for device, _ in loaded)
    for index, asked in enumerate(request.containers):
        if asked.count > len(loaded) and not (has_mig and may_be_cut):
            return Refused(index, {}, "NodeInsufficientDevice")
    if kubelet_slots_used + request.kubelet_slots > allocatable_slots:
        return Refused(None, {}, "KubeletSlotsExhausted")
    return None


def _take(
    node: _Node, held: _Held, index: int, preferred: set[DeviceUUID]
) -> tuple[Piece, ...] | Refused:
    """Take one after another; with numa-bind, all at the first node with enough."""
    anywhere = _take_among(node, node.loaded, held, index, preferred)
    policy = node.request.device_policy
    is_alone = node.request.containers[index].count <= 1
    if isinstance(anywhere, Refused) or is_alone or not policy.on_one_numa_node:
        return anywhere
    passing, codes = _asked(node, node.loaded, held, index, set())
    for first in sorted(passing, key=_order(node, held, preferred)):
        there = [each for each in node.loaded if each[0].numa_node == first.numa_node]
        taken = _take_among(node, there, held, index, preferred)
        if not isinstance(taken, Refused):
            return taken
    return Refused(index, codes, "NumaNotFit")


def _take_among(
    node: _Node,
    some: Sequence[Loaded],
    before: _Held,
    index: int,
    preferred: set[DeviceUUID],
) -> tuple[Piece, ...] | Refused:
    asked = node.request.containers[index]
    held = before.copy()
    taken: list[Piece] = []
    while len(taken) < asked.count:
        whole = {each.device_uuid for each in taken if not each.slices}
        passing, codes = _asked(node, some, held, index, whole)
        if not passing:
            return Refused(index, codes, has_some=bool(taken))
        best = min(passing, key=_order(node, held, preferred))
        piece = _piece(best, held, asked)
        taken.append(piece)
        held.add([piece])
    return tuple(taken)


def _asked(
    node: _Node,
    some: Sequence[Loaded],
    held: _Held,
    index: int,
    whole: set[DeviceUUID],
) -> tuple[list[Device], dict[DeviceUUID, str]]:
    """Ask the devices that the container has not yet taken as a whole."""
    passing: list[Device] = []
    codes: dict[DeviceUUID, str] = {}
    for device, _ in some:
        if device.device_uuid in whole:
            continue
        code = refusal_code(
            device,
            held.usage[device.device_uuid],
            node.request.containers[index],
            node.request.selection,
            node.request.device_policy,
            slices=held.slices[device.device_uuid],
            is_quarantined=device.device_uuid in node.quarantined,
        )
        if code is None:
            passing.append(device)
        else:
            codes[device.device_uuid] = code
    return passing, codes


def _order(
    node: _Node, held: _Held, preferred: set[DeviceUUID]
) -> Callable[[Device], tuple[object, ...]]:
    policy = node.request.device_policy

    def order(device: Device) -> tuple[object, ...]:
        used = held.usage[device.device_uuid]
        keys = [card_key(device, used, key, policy.weights) for key in policy.keys]
        is_other = device.device_uuid not in preferred
        return (is_other, *keys, device.index, device.device_uuid)

    return order


def _piece(device: Device, held: _Held, asked: ContainerRequest) -> Piece:
    uuid = device.device_uuid
    if device.mode != "mig":
        return Piece(uuid, share_of(device, asked))
    found = next_instance(device, held.usage[uuid], held.slices[uuid], asked)
    assert found is not None
    profile, place = found
    slices = frozenset(range(place.start, place.start + place.size))
    return Piece(uuid, Usage(1, profile.memory_mib, profile.core_percent), slices)


def next_instance(
    device: Device, used: Usage, held: frozenset[int], asked: ContainerRequest
) -> tuple[MigProfile, MigPlacement] | None:
    """Find the smallest profile that is enough and has a place free."""
    free_mib = device.capacity.memory_mib - used.memory_mib
    for profile in sorted(
        device.mig_profiles, key=lambda each: (each.memory_mib, each.slice_count)
    ):
        if not memory_needed(device, asked) <= profile.memory_mib <= free_mib:
            continue
        if profile.core_percent < asked.core_percent:
            continue
        is_from_the_end = profile.name[:3] in {"1g.", "3g."}
        for place in sorted(
            profile.placements,
            key=lambda each: -each.start if is_from_the_end else each.start,
        ):
            if held.isdisjoint(range(place.start, place.start + place.size)):
                return profile, place
    return None


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
            share = share_of(device, asked)
            working[device.device_uuid] = working[device.device_uuid] + share


def share_of(device: Device, asked: ContainerRequest) -> Usage:
    """Tell what a container takes of a device; 0 slots where it has no such profile."""
    wish = asked.profile
    if wish is None:
        cores = cores_needed(device, asked)
        return Usage(1, memory_needed(device, asked), cores)
    largest_gb = max((each.memory_mib for each in device.profiles), default=0) / 1024
    in_mib = wish.memory > 2 * largest_gb
    fitting = [
        each
        for each in device.profiles
        if (
            each.slots == wish.slots
            if wish.slots is not None
            else each.memory_mib >= wish.memory * (1 if in_mib else 1024)
            and each.core_percent >= wish.core_percent
        )
    ]
    if not fitting:
        return Usage(0, 0, 0)
    best = min(fitting, key=lambda each: (each.slots, each.memory_mib))
    return Usage(best.slots, best.memory_mib, best.core_percent)


def memory_needed(device: Device, asked: ContainerRequest) -> int:
    """Resolve percents: of the device, or of the largest instance that it offers."""
    if asked.memory_mib is not None:
        return asked.memory_mib
    whole = device.capacity.memory_mib
    if device.mode == "mig":
        of_instances = [
            each.memory_mib for each in device.mig_profiles if each.placements
        ]
        whole = min([whole, max(of_instances, default=whole)])
    return whole * asked.memory_percent // 100


def cores_needed(device: Device, asked: ContainerRequest) -> int:
    """Resolve percents of a device that counts its cores in units: one at least."""
    if not asked.cores_of_card:
        return asked.core_percent
    whole = device.capacity.core_percent
    units = max(1, whole * asked.core_percent // 100)
    while units % device.core_step and units < whole:
        units += 1
    return max(1, min(units, whole))


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
    *,
    slices: frozenset[int] = frozenset(),
    is_quarantined: bool = False,
) -> str | None:
    """Name the first rule by which a device refuses one container; None if none does.

    Args:
        device: As registered.
        used: What is held there.
        asked: By the container, of each device.
        selection: Of the pod.
        policy: Of the pod.
        slices: Which slices of the device are held.
        is_quarantined: Whether it counts as full.
    """
    is_mig = device.mode == "mig"
    capacity = device.capacity
    share = share_of(device, asked)
    needed_mib = share.memory_mib
    takes_cores = asked.sharing is not Sharing.BY_MEMORY
    rules = [
        ("CardNotHealth", not device.is_healthy),
        ("CardCordoned", device.is_cordoned),
        ("CardTypeMismatch", not _type_is_accepted(device, selection)),
        ("ModeNotFit", device.mode not in (selection.modes or device.mode)),
        ("CardUuidMismatch", not _uuid_is_accepted(device, selection)),
        ("CardHeldByUnreadableAllocation", is_quarantined),
        ("CardProfileMismatch", share.slots == 0),
        (
            "CardTimeSlicingExhausted",
            capacity.slots - used.slots < max(share.slots, 1),
        ),
        ("ExclusiveDeviceAllocateConflict", policy.is_exclusive and used.slots > 0),
        (
            "CardInsufficientMemory",
            asked.sharing is not Sharing.BY_SLOT
            and (needed_mib <= 0 or capacity.memory_mib - used.memory_mib < needed_mib),
        ),
        (
            "CardSharedUnequally",
            asked.sharing is Sharing.EQUALLY
            and used.memory_mib != used.slots * needed_mib,
        ),
        (
            "CardInsufficientCore",
            not is_mig
            and takes_cores
            and capacity.core_percent - used.core_percent < share.core_percent,
        ),
        (
            "ExclusiveDeviceAllocateConflict",
            capacity.core_percent == 100
            and asked.core_percent == 100
            and used.slots > 0,
        ),
        (
            "CardComputeUnitsExhausted",
            not is_mig
            and capacity.core_percent != 0
            and used.core_percent >= capacity.core_percent
            and takes_cores
            and asked.core_percent == 0,
        ),
        (
            "CardMigTopologyInfeasible",
            is_mig and next_instance(device, used, slices, asked) is None,
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

    Devices in MIG mode are not for it: see `exhaustive_instances`.

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


def exhaustive_instances(
    loaded: Sequence[Loaded],
    allocatable_slots: int,
    request: PodRequest,
    *,
    slices: Mapping[DeviceUUID, frozenset[int]],
) -> Possible:
    """Try every order of devices, where some may be in MIG mode.

    Which instance a device gives next is its own rule, see `next_instance`.
    """
    if _refused_by_node(loaded, allocatable_slots, 0, request):
        return Possible(fits=False, fewest_for_inits=None)
    node = _Node(loaded, request, frozenset())
    cut = {device.device_uuid: frozenset[int]() for device, _ in loaded}
    held = _Held(
        {device.device_uuid: used for device, used in loaded}, {**cut, **slices}
    )
    in_order = sorted(
        (index for index, asked in enumerate(request.containers) if asked.count),
        key=lambda index: request.lifetimes[index] is Lifetime.INIT,
    )
    found: dict[tuple[_Row, ...], None] = {(): None}
    for turn, index in enumerate(in_order):
        longer: dict[tuple[_Row, ...], None] = {}
        for rows in found:
            before = held.copy()
            for earlier, row in zip(in_order[:turn], rows, strict=True):
                _add_beside(node, before, earlier, row, index)
            for row in _rows(node, before, index, ()):
                longer[*rows, row] = None
        found = longer
    sizes = [
        for_inits_only(
            [[each.device_uuid for each in row] for row in rows],
            [request.lifetimes[index] for index in in_order],
        )
        for rows in found
    ]
    return Possible(fits=bool(sizes), fewest_for_inits=min(sizes, default=None))


_Row = tuple[Piece, ...]


def _add_beside(
    node: _Node, held: _Held, earlier: int, row: Sequence[Piece], index: int
) -> None:
    """Add what another container holds beside this one: instances in any case."""
    lifetimes = node.request.lifetimes
    is_beside = (
        earlier in _sidecars_before(index, lifetimes)
        if lifetimes[index] is Lifetime.INIT
        else lifetimes[earlier] is not Lifetime.INIT
    )
    held.add([each for each in row if is_beside or each.slices])


def _rows(node: _Node, held: _Held, index: int, taken: _Row) -> Iterator[_Row]:
    """List what one container may take, in any order of taking."""
    if len(taken) == node.request.containers[index].count:
        yield taken
        return
    whole = {each.device_uuid for each in taken if not each.slices}
    passing, _ = _asked(node, node.loaded, held, index, whole)
    for device in passing:
        numa_nodes = {
            one.numa_node
            for one, _ in node.loaded
            for each in taken
            if one.device_uuid == each.device_uuid
        }
        is_bound = node.request.device_policy.on_one_numa_node
        if is_bound and numa_nodes - {device.numa_node}:
            continue
        piece = _piece(device, held, node.request.containers[index])
        after = held.copy()
        after.add([piece])
        yield from _rows(node, after, index, (*taken, piece))


def exhaustive_quota_charges(
    loaded: Sequence[Loaded], request: PodRequest
) -> set[Usage]:
    """List what every assignment that breaks no rule charges a quota.

    Devices in MIG mode are not for it, nor are nodes that refuse as a whole.
    """
    by_uuid = {device.device_uuid: device for device, _ in loaded}
    found = set()
    for rows in _assignments(loaded, request, ()):
        containers = [
            ContainerUsage(
                lifetime,
                {
                    uuid: Usage(
                        1, memory_needed(by_uuid[uuid], asked), asked.core_percent
                    )
                    for uuid in row
                },
            )
            for lifetime, asked, row in zip(
                request.lifetimes, request.containers, rows, strict=True
            )
        ]
        found.add(timeline_quota(containers, PodStatus()))
    return found


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
