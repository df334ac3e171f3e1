"""The accounting rule: what a pod is charged, per device and per dimension.

A pod lives through one phase per init container, in which that init runs beside the
sidecars declared before it, and then the steady phase, in which all sidecars and all
apps run::

    steady    = sum(apps) + sum(sidecars)
    phase(i)  = init_i + sum(sidecars declared before init_i)
    effective = max(steady, max over i of phase(i))

Side by side: a share that is a part of a card cut out for it (an instance, MIG) is
made when its pod is admitted, and taken apart when the pod ends, whenever its container
runs. So it counts in every phase, that of an init too, and no exit releases it::

    steady    = sum(apps) + sum(sidecars) + sum(all instances)
    phase(i)  = init_i + sum(sidecars before it) + sum(all instances)

Source: KEP-753, "Resources calculation for scheduling and pod admission";
``AggregateContainerRequests`` in k8s.io/component-helpers/resource. Kubernetes sums
per pod; here the sum is per device, since that is where containers meet.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from math import inf

from extender.core.allocation import Allocation, Row, Share
from extender.core.container import ContainerUsage, Lifetime
from extender.core.names import DeviceUUID
from extender.core.pod import Release
from extender.core.pod_status import (
    ContainerStatus,
    PodStatus,
    RunState,
    SandboxReadiness,
)
from extender.core.usage import NOTHING, Charge, Usage

_Totals = dict[DeviceUUID, Usage]


@dataclass(frozen=True, slots=True)
class Phase:
    """One stretch of a pod's life.

    Attributes:
        init_index: Position of the init among the containers in start order; None
            for the steady phase.
        held: What the containers that run then hold, per device.
    """

    init_index: int | None
    held: Charge


def container_usages(
    lifetimes: Sequence[Lifetime], allocation: Allocation
) -> tuple[ContainerUsage, ...]:
    """Fold each row of an allocation into one usage per device.

    Each share takes slots of its own, so a row that names a device twice takes them
    twice.
    Shares that are instances, or of a kind that gives back nothing earlier, are kept
    from the pod's start to its end.

    Args:
        lifetimes: One per container, in start order.
        allocation: One row per container; as many as `lifetimes`.

    Raises:
        ValueError: The two lengths differ.
    """
    return tuple(
        _container_usage(lifetime, row)
        for lifetime, row in zip(lifetimes, allocation, strict=True)
    )


def _container_usage(lifetime: Lifetime, row: Row) -> ContainerUsage:
    kept = [share for share in row if share.is_kept or share.instance is not None]
    if not kept:
        return ContainerUsage(lifetime, row_usage(row))
    held = [share for share in row if share not in kept]
    return ContainerUsage(lifetime, row_usage(held), row_usage(kept))


def row_usage(row: Iterable[Share]) -> dict[DeviceUUID, Usage]:
    """Add up what a row holds, per device."""
    held: _Totals = {}
    for share in row:
        usage = Usage(share.slots, share.memory_mib, share.core_percent)
        _add(held, share.device_uuid, usage)
    return held


def phases(containers: Iterable[ContainerUsage]) -> Iterator[Phase]:
    """List the pod's phases in order, the steady one last.

    Args:
        containers: In start order: ``initContainers`` as declared, then
            ``containers``; also those that hold nothing. Consumed once.
    """
    containers = tuple(containers)
    running = _kept(containers)
    for index, container in enumerate(containers):
        if container.lifetime is Lifetime.INIT:
            yield Phase(index, _summed(running, container.held))
        else:
            running = _summed(running, container.held)
    yield Phase(None, running)


def effective_usage(
    containers: Iterable[ContainerUsage], *, released_inits: int = 0
) -> dict[DeviceUUID, Usage]:
    """Charge a pod, per device, for the most it can still hold at any instant.

    Each dimension takes its own maximum, so memory and slots may come from different
    phases.

    Args:
        containers: In start order, as for `phases`.
        released_inits: How many inits, counted from the first, have no phase any
            more; see `released_init_count`.

    Returns:
        One entry per device named in a phase that still counts; any other device is
        absent, not zero.

    Example:
        >>> gpu = DeviceUUID("GPU-0")
        >>> def held(lifetime: Lifetime, memory_mib: int) -> ContainerUsage:
        ...     return ContainerUsage(lifetime, {gpu: Usage(1, memory_mib)})
        >>> pod = [
        ...     held(Lifetime.SIDECAR, 1_000),
        ...     held(Lifetime.INIT, 6_000),
        ...     held(Lifetime.SIDECAR, 2_000),
        ...     held(Lifetime.APP, 3_000),
        ... ]
        >>> effective_usage(pod)
        {'GPU-0': Usage(slots=3, memory_mib=7000, core_percent=0)}
        >>> effective_usage(pod, released_inits=1)
        {'GPU-0': Usage(slots=3, memory_mib=6000, core_percent=0)}

        The memory peak is the init's phase (1000 + 6000); the slot peak is the
        steady phase (two sidecars and one app).

    Cost: O(containers x devices per container).
    """
    peaks: _Totals = {}
    for init_number, phase in enumerate(phases(containers)):
        if phase.init_index is not None and init_number < released_inits:
            continue
        for device_uuid, held in phase.held.items():
            peaks[device_uuid] = peaks.get(device_uuid, NOTHING).largest(held)
    return peaks


def steady_usage(containers: Iterable[ContainerUsage]) -> dict[DeviceUUID, Usage]:
    """Sum all sidecars and all apps, per device, and what is kept of inits.

    Example:
        >>> gpu = DeviceUUID("GPU-0")
        >>> steady_usage([
        ...     ContainerUsage(Lifetime.INIT, {gpu: Usage(1, 20_000)}),
        ...     ContainerUsage(Lifetime.APP, {gpu: Usage(1, 10_000)}),
        ... ])
        {'GPU-0': Usage(slots=1, memory_mib=10000, core_percent=0)}
    """
    containers = tuple(containers)
    held = _kept(containers)
    for container in containers:
        if container.lifetime is not Lifetime.INIT:
            held = _summed(held, container.held)
    return held


def _kept(containers: Iterable[ContainerUsage]) -> _Totals:
    """Sum what stays held while the pod lives, whichever containers run."""
    kept: _Totals = {}
    for container in containers:
        if container.kept:
            kept = _summed(kept, container.kept)
    return kept


def held_slices(allocations: Iterable[Allocation]) -> dict[DeviceUUID, tuple[int, ...]]:
    """Count, per device in MIG mode, the instances that hold each of its slices.

    Of several allocations, each slice counts as often as in the one that has it most.

    Returns:
        One number per slice from the first, up to the last that is held; nothing for
        devices of which no instance is held.

    Example:
        >>> from extender.core.mig import MigInstance, MigPlacement
        >>> instance = MigInstance("2g.10gb", MigPlacement(start=1, size=2))
        >>> share = Share(DeviceUUID("GPU-0"), 9_984, 29, "NVIDIA", instance=instance)
        >>> held_slices([((share,),)])
        {'GPU-0': (0, 1, 1)}
    """
    most: dict[DeviceUUID, list[int]] = {}
    for allocation in allocations:
        for device_uuid, counts in _slice_counts(allocation).items():
            before = most.get(device_uuid, [])
            pairs = zip_longest(before, counts, fillvalue=0)
            most[device_uuid] = [max(pair) for pair in pairs]
    return {device_uuid: tuple(counts) for device_uuid, counts in most.items()}


def _slice_counts(allocation: Allocation) -> dict[DeviceUUID, list[int]]:
    found: dict[DeviceUUID, list[int]] = {}
    for share in chain.from_iterable(allocation):
        if share.instance is not None:
            place = share.instance.placement
            counts = found.setdefault(share.device_uuid, [])
            counts += [0] * (place.start + place.size - len(counts))
            for number in range(place.start, place.start + place.size):
                counts[number] += 1
    return found


def current_charge(
    containers: Sequence[ContainerUsage], status: PodStatus, release: Release
) -> dict[DeviceUUID, Usage]:
    """Charge a bound pod for what it can still hold, or is to be able to hold again.

    Args:
        containers: In start order.
        status: As the API shows it now. A pure function of it: repeated, late and
            re-listed statuses need no memory of earlier ones.
        release: By `Release.NEVER`, an unfinished pod is charged its effective usage,
            whatever else its status shows.

    Returns:
        As `effective_usage`; empty once the pod is finished.
    """
    if status.is_finished:
        return {}
    lifetimes = [container.lifetime for container in containers]
    released_inits = released_init_count(lifetimes, status, release)
    return effective_usage(containers, released_inits=released_inits)


def released_init_count(
    lifetimes: Sequence[Lifetime], status: PodStatus, release: Release
) -> int:
    """Count the inits, from the first, that have no phase any more.

    By `Release.NEVER` there are none; else those that will not run again in this
    sandbox. Such an init, and every init before it, are terminated with exit 0 in the
    present sandbox. The API keeps showing the exits of a former sandbox until
    each init starts again, also after the new sandbox is up; a running app, or exits
    not older than the sandbox, prove that they are of the present one. While the
    sandbox is down or all containers are being restarted, nothing is released,
    except that a terminating pod starts nothing again. Restarting all containers keeps
    the sandbox, and is over (KEP-5532) before the inits run again; so exits older than
    the end of that do not count either.

    Example:
        >>> done = ContainerStatus(RunState.TERMINATED, exit_code=0, finished_at=50.0)
        >>> status = PodStatus(
        ...     containers=(done,),
        ...     sandbox=SandboxReadiness.READY,
        ...     sandbox_changed_at=40.0,
        ... )
        >>> lifetimes = [Lifetime.INIT, Lifetime.APP]
        >>> released_init_count(lifetimes, status, Release.AFTER_INIT)
        1
        >>> from dataclasses import replace
        >>> recreated = replace(status, sandbox_changed_at=60.0)
        >>> released_init_count(lifetimes, recreated, Release.AFTER_INIT)
        0
        >>> released_init_count(lifetimes, status, Release.NEVER)
        0
    """
    if release is Release.NEVER or _starts_over(status):
        return 0
    oldest_exit = _oldest_exit_that_counts(lifetimes, status)
    released = 0
    for index, lifetime in enumerate(lifetimes):
        if lifetime is not Lifetime.INIT:
            continue
        if not _exited_well(status.of(index), oldest_exit):
            break
        released += 1
    return released


def _starts_over(status: PodStatus) -> bool:
    return not status.is_terminating and (
        status.sandbox is SandboxReadiness.NOT_READY or status.is_restarting_all
    )


def _oldest_exit_that_counts(
    lifetimes: Sequence[Lifetime], status: PodStatus
) -> float | None:
    """Unix seconds before which an exit was of a former start; None for any."""
    starts = []
    if status.restarted_all_at is not None:
        starts.append(status.restarted_all_at)
    if status.sandbox is SandboxReadiness.READY:
        changed_at = status.sandbox_changed_at
        starts.append(inf if changed_at is None else changed_at)
    start = max(starts, default=None)
    for index, lifetime in enumerate(lifetimes):
        if lifetime is Lifetime.APP and _has_run_since(status.of(index), start):
            return None
    return start


def _has_run_since(app: ContainerStatus, start: float | None) -> bool:
    """Whether an app proves that all inits are over; one that ended then, as well."""
    if app.run_state is RunState.TERMINATED:
        return (
            start is not None
            and app.finished_at is not None
            and app.finished_at > start
        )
    return app.run_state is RunState.RUNNING


def _exited_well(status: ContainerStatus, oldest_exit: float | None) -> bool:
    if status.run_state is not RunState.TERMINATED or status.exit_code != 0:
        return False
    if oldest_exit is None:
        return True
    return status.finished_at is not None and status.finished_at >= oldest_exit


def _summed(
    one: Mapping[DeviceUUID, Usage], other: Mapping[DeviceUUID, Usage]
) -> _Totals:
    total = dict(one)
    for device_uuid, usage in other.items():
        _add(total, device_uuid, usage)
    return total


def _add(total: _Totals, device_uuid: DeviceUUID, usage: Usage) -> None:
    total[device_uuid] = total.get(device_uuid, NOTHING) + usage
