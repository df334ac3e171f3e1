"""The phases of a pod that waits: what each needs, and which it is charged for."""

from collections.abc import Iterator, Sequence

from extender.core.container import Container, Lifetime
from extender.core.pod import Pod
from extender.core.pod_request import ContainerRequest, PodRequest
from extender.verbs.explanation import ContainerAsk, PhaseNeed

STEADY = "steady: sidecars + apps"


def phase_name(
    init_index: int | None,
    containers: Sequence[Container],
    lifetimes: Sequence[Lifetime] | None = None,
) -> str:
    """Name a phase after its init, and the sidecars that run beside it.

    Args:
        init_index: Of the init, in start order; None for the steady phase.
        containers: All of the pod's.
        lifetimes: By which they count, where that is not their own.

    Example:
        >>> phase_name(1, [
        ...     Container("metrics", Lifetime.SIDECAR),
        ...     Container("compile", Lifetime.INIT),
        ...     Container("train", Lifetime.APP),
        ... ])
        'init compile + metrics'
    """
    if init_index is None:
        return STEADY
    kept = lifetimes or [container.lifetime for container in containers]
    beside = [
        containers[index].name
        for index in range(init_index)
        if kept[index] is Lifetime.SIDECAR
    ]
    return " + ".join([f"init {containers[init_index].name}", *beside])


def phase_of(pod: Pod, request: PodRequest, index: int) -> str:
    """Name the phase in which a container, by its place in start order, is placed."""
    is_init = request.lifetimes[index] is Lifetime.INIT
    return phase_name(index if is_init else None, pod.containers, request.lifetimes)


def asks_of(pod: Pod) -> Iterator[ContainerAsk]:
    """List what each container asks for, kind by kind."""
    for request in pod.asking:
        for container, asked in zip(pod.containers, request.containers, strict=True):
            if asked.count:
                yield ContainerAsk(
                    container.name,
                    container.lifetime,
                    request.kind,
                    asked.count,
                    asked.memory_mib,
                    0 if asked.memory_mib is not None else asked.memory_percent,
                    asked.core_percent,
                )


def phase_needs(pod: Pod) -> tuple[PhaseNeed, ...]:
    """Add up what each phase needs, kind by kind, and find those that bind.

    A phase without any container that asks is left out, unless there is no other.
    """
    return tuple(need for request in pod.asking for need in _needs(pod, request))


_Sums = tuple[int, int, int, int]


def _needs(pod: Pod, request: PodRequest) -> list[PhaseNeed]:
    found: list[tuple[str, _Sums]] = []
    running: list[ContainerRequest] = []
    for index, asked in enumerate(request.containers):
        if request.lifetimes[index] is not Lifetime.INIT:
            running.append(asked)
        elif asked.count:
            name = phase_name(index, pod.containers, request.lifetimes)
            found.append((name, _sums([*running, asked])))
    found.append((STEADY, _sums(running)))
    most = tuple(max(sums[at] for _, sums in found) for at in range(4))
    whole = [sums == most for _, sums in found]
    return [
        PhaseNeed(
            name,
            request.kind,
            *sums,
            binds=sums == most
            if any(whole)
            else any(one == top > 0 for one, top in zip(sums, most, strict=True)),
        )
        for name, sums in found
    ]


def _sums(running: Sequence[ContainerRequest]) -> _Sums:
    return (
        sum(each.count for each in running),
        sum(each.count * (each.memory_mib or 0) for each in running),
        sum(
            each.count * each.memory_percent
            for each in running
            if each.memory_mib is None
        ),
        sum(each.count * each.core_percent for each in running),
    )
