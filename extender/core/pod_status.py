"""What the API shows of a pod's containers, as far as the charge depends on it."""

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final


class RunState(Enum):
    """Where a container stands, by its status."""

    UNKNOWN = "unknown"
    WAITING = "waiting"
    RUNNING = "running"
    TERMINATED = "terminated"


@dataclass(frozen=True, slots=True)
class ContainerStatus:
    """What the API shows of one container.

    Attributes:
        run_state: Its present state.
        exit_code: Of the present state, when terminated.
        finished_at: Unix seconds of the present state, when terminated and readable.
        has_started: Whether it ran at any time, as far as the API shows.
    """

    run_state: RunState = RunState.UNKNOWN
    exit_code: int | None = None
    finished_at: float | None = None
    has_started: bool = False


NO_STATUS: Final = ContainerStatus()


class SandboxReadiness(Enum):
    """Condition PodReadyToStartContainers."""

    NOT_SHOWN = "not shown"
    READY = "ready"
    NOT_READY = "not ready"
    """False, Unknown, or a value that cannot be read."""


class PodPhase(StrEnum):
    """``status.phase``; anything else is read as UNKNOWN."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class PodStatus:
    """What the charge depends on besides allocation and release.

    Attributes:
        phase: The pod's phase.
        containers: One status per container, in start order; may be shorter than
            the spec, and a missing one is unknown.
        sandbox: Whether the sandbox is up.
        sandbox_changed_at: Unix seconds at which `sandbox` last changed; None when
            not shown or not readable.
        is_restarting_all: Condition AllContainersRestarting is True.
        restarted_all_at: Unix seconds at which that condition became False, infinity
            when that cannot be read; None when it is not shown False.
        is_terminating: The pod has a deletionTimestamp.
        bound_at: Unix seconds of condition PodScheduled, when True and readable. No
            charge depends on it; it tells people how long something lasts.
    """

    phase: PodPhase = PodPhase.PENDING
    containers: tuple[ContainerStatus, ...] = ()
    sandbox: SandboxReadiness = SandboxReadiness.NOT_SHOWN
    sandbox_changed_at: float | None = None
    is_restarting_all: bool = False
    restarted_all_at: float | None = None
    is_terminating: bool = False
    bound_at: float | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the pod's containers have ended for good."""
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)

    def of(self, index: int) -> ContainerStatus:
        """Give the status of the container at `index` in start order."""
        return self.containers[index] if index < len(self.containers) else NO_STATUS
