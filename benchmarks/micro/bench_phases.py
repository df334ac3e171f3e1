"""The accounting rule, on pods of several sizes."""

from benchmarks.micro.measuring import Against, Measured
from extender.core.container import ContainerUsage, Lifetime
from extender.core.names import DeviceUUID
from extender.core.phases import current_charge, effective_usage
from extender.core.pod import Release
from extender.core.pod_status import (
    ContainerStatus,
    PodPhase,
    PodStatus,
    RunState,
    SandboxReadiness,
)
from extender.core.usage import Usage

_TURNS = (Lifetime.SIDECAR, Lifetime.INIT, Lifetime.APP, Lifetime.INIT, Lifetime.APP)


def _containers(count: int) -> list[ContainerUsage]:
    """Make sidecars, inits and apps, on two cards in turn."""
    lifetimes = [_TURNS[number % len(_TURNS)] for number in range(count)]
    lifetimes.sort(key=lambda lifetime: lifetime is Lifetime.APP)
    return [
        ContainerUsage(
            lifetime, {DeviceUUID(f"GPU-{number % 2}"): Usage(1, 1_000 + number, 10)}
        )
        for number, lifetime in enumerate(lifetimes)
    ]


def _running(containers: list[ContainerUsage]) -> PodStatus:
    over = ContainerStatus(
        RunState.TERMINATED, exit_code=0, finished_at=2.0, has_started=True
    )
    running = ContainerStatus(RunState.RUNNING, has_started=True)
    return PodStatus(
        PodPhase.RUNNING,
        tuple(
            over if each.lifetime is Lifetime.INIT else running for each in containers
        ),
        SandboxReadiness.READY,
        1.0,
    )


def bench_effective_usage(
    measured: Measured, container_count: int, fewest_containers: int
) -> None:
    """Charge a pod for all its phases."""
    containers = _containers(container_count)
    measured(
        {"step": "effective usage", "containers": container_count},
        lambda: effective_usage(containers),
        _against("effective usage", container_count, fewest_containers),
    )


def bench_current_charge(
    measured: Measured, container_count: int, fewest_containers: int
) -> None:
    """Charge a running pod whose inits are over."""
    containers = _containers(container_count)
    status = _running(containers)
    measured(
        {"step": "current charge", "containers": container_count},
        lambda: current_charge(containers, status, Release.AFTER_INIT),
        _against("current charge", container_count, fewest_containers),
    )


def _against(step: str, count: int, fewest: int) -> Against:
    return Against(
        "per_container_to_fewest",
        {"step": step, "containers": fewest},
        count / fewest,
    )
