"""A pod's status. Nothing in it is an error: what cannot be read is unknown."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import inf
from typing import Final, NamedTuple

from extender.core.pod_status import (
    NO_STATUS,
    ContainerStatus,
    PodPhase,
    PodStatus,
    RunState,
    SandboxReadiness,
)
from extender.wire.objects import NO_FIELDS

# Most containers show one of these, so they are made once.
_RUNNING: Final = ContainerStatus(RunState.RUNNING, has_started=True)
_WAITING: Final = ContainerStatus(RunState.WAITING)
_WAITING_AGAIN: Final = replace(_WAITING, has_started=True)
_UNKNOWN_AGAIN: Final = replace(NO_STATUS, has_started=True)

_STATES: Final = {
    "waiting": RunState.WAITING,
    "running": RunState.RUNNING,
    "terminated": RunState.TERMINATED,
}

_PHASES: Final[dict[object, PodPhase]] = {
    **{phase.value: phase for phase in PodPhase},
    None: PodPhase.PENDING,
}
"""A pod that shows no phase was just created."""


def read_status(
    status: object,
    *,
    is_terminating: bool,
    init_names: Sequence[str],
    app_names: Sequence[str],
) -> PodStatus:
    """Read ``status``.

    Args:
        status: The JSON value, whatever it is.
        is_terminating: Whether the pod is being deleted.
        init_names: Names of ``spec.initContainers``, as declared.
        app_names: Names of ``spec.containers``.

    Returns:
        Statuses are matched by name, since the API may show few, or in another order.
    """
    if not isinstance(status, dict):
        phase = PodPhase.PENDING if status is None else PodPhase.UNKNOWN
        return PodStatus(phase, is_terminating=is_terminating)
    conditions = _read_conditions(status.get("conditions"))
    inits = _statuses_by_name(status.get("initContainerStatuses"))
    apps = _statuses_by_name(status.get("containerStatuses"))
    containers: tuple[ContainerStatus, ...] = ()
    if inits or apps:
        shown = [inits.get(name) for name in init_names]
        shown += [apps.get(name) for name in app_names]
        containers = tuple([_container_status(one) for one in shown])
    return PodStatus(
        phase=_phase(status.get("phase")),
        containers=containers,
        sandbox=conditions.sandbox,
        sandbox_changed_at=conditions.sandbox_changed_at,
        is_restarting_all=conditions.is_restarting_all,
        restarted_all_at=conditions.restarted_all_at,
        is_terminating=is_terminating,
        bound_at=conditions.bound_at,
    )


def _phase(value: object) -> PodPhase:
    if value is None or isinstance(value, str):
        return _PHASES.get(value, PodPhase.UNKNOWN)
    return PodPhase.UNKNOWN


class _Conditions(NamedTuple):
    """Those parts of a status that come from its conditions."""

    sandbox: SandboxReadiness = SandboxReadiness.NOT_SHOWN
    sandbox_changed_at: float | None = None
    is_restarting_all: bool = False
    restarted_all_at: float | None = None
    bound_at: float | None = None


_NO_CONDITIONS: Final = _Conditions()


def _read_conditions(conditions: object) -> _Conditions:
    if conditions is None:
        return _NO_CONDITIONS
    if not isinstance(conditions, list):
        # As long as it cannot be told that the sandbox is up, inits may run again.
        return _Conditions(SandboxReadiness.NOT_READY)
    read = _NO_CONDITIONS
    for condition in conditions:
        if not isinstance(condition, dict):
            continue
        kind = condition.get("type")
        is_true = condition.get("status") == "True"
        if kind == "PodReadyToStartContainers":
            read = read._replace(
                sandbox=SandboxReadiness.READY
                if is_true
                else SandboxReadiness.NOT_READY,
                sandbox_changed_at=unix_seconds(condition.get("lastTransitionTime")),
            )
        elif kind == "PodScheduled" and is_true:
            read = read._replace(
                bound_at=unix_seconds(condition.get("lastTransitionTime"))
            )
        elif kind == "AllContainersRestarting":
            ended_at = unix_seconds(condition.get("lastTransitionTime"))
            read = read._replace(
                is_restarting_all=is_true,
                restarted_all_at=None
                if is_true
                else (inf if ended_at is None else ended_at),
            )
    return read


def _statuses_by_name(statuses: object) -> dict[str, Mapping[str, object]]:
    """Index a list of statuses; a name that stands there twice shows nothing."""
    if not isinstance(statuses, list):
        return {}
    by_name: dict[str, Mapping[str, object]] = {}
    for shown in statuses:
        if isinstance(shown, dict) and isinstance(name := shown.get("name"), str):
            by_name[name] = NO_FIELDS if name in by_name else shown
    return by_name


def _container_status(shown: Mapping[str, object] | None) -> ContainerStatus:
    if shown is None:
        return NO_STATUS
    run_state, details = _only_state(shown.get("state"))
    if run_state is RunState.RUNNING:
        return _RUNNING
    if run_state is RunState.TERMINATED:
        exit_code = details.get("exitCode")
        return ContainerStatus(
            run_state,
            exit_code=exit_code if type(exit_code) is int else None,
            finished_at=unix_seconds(details.get("finishedAt")),
            has_started=True,
        )
    ran_before = _ran_before(shown)
    if run_state is RunState.WAITING:
        return _WAITING_AGAIN if ran_before else _WAITING
    return _UNKNOWN_AGAIN if ran_before else NO_STATUS


def _only_state(state: object) -> tuple[RunState, Mapping[str, object]]:
    """Give the one state that is shown; none or several are unknown."""
    if not isinstance(state, dict):
        return RunState.UNKNOWN, NO_FIELDS
    found = [key for key in _STATES if state.get(key) is not None]
    if len(found) != 1 or not isinstance(details := state[found[0]], dict):
        return RunState.UNKNOWN, NO_FIELDS
    return _STATES[found[0]], details


def _ran_before(shown: Mapping[str, object]) -> bool:
    restarts = shown.get("restartCount")
    if shown.get("started") is True or (type(restarts) is int and restarts > 0):
        return True
    last = shown.get("lastState")
    return isinstance(last, dict) and any(
        last.get(key) is not None for key in ("running", "terminated")
    )


def unix_seconds(value: object) -> float | None:
    """Read an RFC 3339 time; None for anything else, also without an offset."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment.timestamp()
