"""A pod's status: what decides, and that nothing in it is an error."""

from math import inf
from typing import Any

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.pod_status import (
    NO_STATUS,
    ContainerStatus,
    PodPhase,
    PodStatus,
    RunState,
    SandboxReadiness,
)
from extender.wire.pod_status import unix_seconds
from extender.wire.pods import PodReader
from tests.builders import pod

READER = PodReader(Kinds([NVIDIA]))
AT = "2026-01-01T00:00:00Z"
AT_SECONDS = 1_767_225_600.0

RUNNING = ContainerStatus(RunState.RUNNING, has_started=True)
WAITING = ContainerStatus(RunState.WAITING)
WAITING_AGAIN = ContainerStatus(RunState.WAITING, has_started=True)
UNKNOWN_AGAIN = ContainerStatus(has_started=True)


def exited(code: int | None = 0, at: float | None = AT_SECONDS) -> ContainerStatus:
    """Expect a terminated container."""
    return ContainerStatus(RunState.TERMINATED, code, at, has_started=True)


def status_of(status: object) -> PodStatus:
    """Read a status of a pod with one init, one sidecar and one app."""
    shown = pod("p").init("i").sidecar("s").app("a").build()
    shown["status"] = status
    return READER.read(shown).status


def app_status(entry: object) -> ContainerStatus:
    """Read the status of the app from one entry."""
    return status_of({"containerStatuses": [entry]}).of(2)


def test_running_pod_reads_as() -> None:
    """Everything that the charge depends on."""
    shown = (
        pod("p")
        .init("i")
        .sidecar("s")
        .app("a")
        .phase("Running")
        .exited("i")
        .running("s")
        .running("a")
        .sandbox()
        .restarting_all(status=False)
        .build()
    )
    assert READER.read(shown).status == PodStatus(
        phase=PodPhase.RUNNING,
        containers=(exited(), RUNNING, RUNNING),
        sandbox=SandboxReadiness.READY,
        sandbox_changed_at=AT_SECONDS,
        restarted_all_at=AT_SECONDS,
    )


def test_terminating_pod() -> None:
    """A deletionTimestamp is all it takes."""
    shown = pod("p").app("a").terminating().build()
    assert READER.read(shown).status == PodStatus(is_terminating=True)


def test_statuses_are_matched_by_name() -> None:
    """They may come out of order, in part, and with names that are not in the spec."""
    status = status_of(
        {
            "initContainerStatuses": [
                {"name": "s", "state": {"running": {"startedAt": AT}}},
                {"name": "gone", "state": {"running": {}}},
                {"name": "a", "state": {"running": {}}},
            ],
            "containerStatuses": [
                {"name": "i", "state": {"running": {}}},
                {"name": "a", "state": {"waiting": {}}},
            ],
        }
    )
    assert status.containers == (NO_STATUS, RUNNING, WAITING)


def test_missing_statuses_are_unknown() -> None:
    """They share one value."""
    status = status_of({"containerStatuses": [{"name": "a", "state": {"running": {}}}]})
    assert status.containers == (NO_STATUS, NO_STATUS, RUNNING)
    assert status.containers[0] is NO_STATUS


def test_two_statuses_of_one_name_are_unknown() -> None:
    """It cannot be told which one holds."""
    done = {"name": "a", "state": {"terminated": {"exitCode": 0, "finishedAt": AT}}}
    running = {"name": "a", "state": {"running": {}}}
    assert status_of({"containerStatuses": [running, done]}).of(2) == NO_STATUS


ENTRIES: dict[str, tuple[dict[str, Any], ContainerStatus]] = {
    "running": ({"state": {"running": {"startedAt": AT}}}, RUNNING),
    "running, the others null": (
        {"state": {"running": {}, "waiting": None, "terminated": None}},
        RUNNING,
    ),
    "waiting for the first time": (
        {
            "state": {"waiting": {"reason": "PodInitializing"}},
            "lastState": {},
            "restartCount": 0,
            "started": False,
        },
        WAITING,
    ),
    "waiting after a restart": (
        {"state": {"waiting": {}}, "restartCount": 1},
        WAITING_AGAIN,
    ),
    "waiting after an earlier run": (
        {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 1}}},
        WAITING_AGAIN,
    ),
    "waiting though it started": (
        {"state": {"waiting": {}}, "started": True},
        WAITING_AGAIN,
    ),
    "exit 0": ({"state": {"terminated": {"exitCode": 0, "finishedAt": AT}}}, exited()),
    "exit 137": (
        {"state": {"terminated": {"exitCode": 137, "finishedAt": AT}}},
        exited(137),
    ),
    "an exit without a time": (
        {"state": {"terminated": {"exitCode": 0}}},
        exited(at=None),
    ),
    "an exit without a code is no good exit": (
        {"state": {"terminated": {"finishedAt": AT}}},
        exited(None),
    ),
    "false is no exit code": (
        {"state": {"terminated": {"exitCode": False, "finishedAt": AT}}},
        exited(None),
    ),
    "no state": ({}, NO_STATUS),
    "an empty state": ({"state": {}}, NO_STATUS),
    "an unknown state": ({"state": {"paused": {}}}, NO_STATUS),
    "two states": ({"state": {"running": {}, "terminated": {}}}, NO_STATUS),
    "a state that is no object": ({"state": "running"}, NO_STATUS),
    "a running that is no object": ({"state": {"running": True}}, NO_STATUS),
    "unknown, but it ran": ({"restartCount": 2}, UNKNOWN_AGAIN),
    "odd evidence is none": (
        {"restartCount": True, "started": "true", "lastState": [1]},
        NO_STATUS,
    ),
}


@pytest.mark.parametrize(("entry", "expected"), ENTRIES.values(), ids=ENTRIES)
def test_entry_reads_as(entry: dict[str, Any], expected: ContainerStatus) -> None:
    """One container's status."""
    assert app_status({"name": "a", **entry}) == expected


READY, NOT_READY = SandboxReadiness.READY, SandboxReadiness.NOT_READY

SANDBOXES: dict[str, tuple[object, SandboxReadiness, float | None]] = {
    "no conditions": (None, SandboxReadiness.NOT_SHOWN, None),
    "other conditions": (
        [{"type": "Ready", "status": "True"}],
        SandboxReadiness.NOT_SHOWN,
        None,
    ),
    "True": (
        [{"type": "PodReadyToStartContainers", "status": "True"}],
        READY,
        None,
    ),
    "False": (
        [
            {
                "type": "PodReadyToStartContainers",
                "status": "False",
                "lastTransitionTime": AT,
            }
        ],
        NOT_READY,
        AT_SECONDS,
    ),
    "Unknown": (
        [{"type": "PodReadyToStartContainers", "status": "Unknown"}],
        NOT_READY,
        None,
    ),
    "a boolean": (
        [{"type": "PodReadyToStartContainers", "status": True}],
        NOT_READY,
        None,
    ),
    "no status": ([{"type": "PodReadyToStartContainers"}], NOT_READY, None),
    "entries that are no objects": ([7, None, "x"], SandboxReadiness.NOT_SHOWN, None),
    "conditions that are no list": ({"a": 1}, NOT_READY, None),
}


@pytest.mark.parametrize(
    ("conditions", "sandbox", "changed_at"), SANDBOXES.values(), ids=SANDBOXES
)
def test_sandbox_reads_as(
    conditions: object, sandbox: SandboxReadiness, changed_at: float | None
) -> None:
    """Only True is ready; what cannot be read is not."""
    status = status_of({"conditions": conditions})
    assert (status.sandbox, status.sandbox_changed_at) == (sandbox, changed_at)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("True", True), ("False", False), (True, False), (None, False)],
)
def test_restarting_all_is_true_only_in_words(value: object, *, expected: bool) -> None:
    """Condition AllContainersRestarting."""
    conditions = [{"type": "AllContainersRestarting", "status": value}]
    status = status_of({"conditions": conditions})
    assert status.is_restarting_all is expected
    assert status.restarted_all_at == (None if expected else inf)


PHASES: dict[str, tuple[object, PodPhase]] = {
    **{phase.value: (phase.value, phase) for phase in PodPhase},
    "no phase is a new pod": (None, PodPhase.PENDING),
    "a phase of later releases": ("Paused", PodPhase.UNKNOWN),
    "an empty phase": ("", PodPhase.UNKNOWN),
    "a number": (7, PodPhase.UNKNOWN),
    "a list": ([], PodPhase.UNKNOWN),
}


@pytest.mark.parametrize(("value", "expected"), PHASES.values(), ids=PHASES)
def test_phase_reads_as(value: object, expected: PodPhase) -> None:
    """Anything else is unknown, and so the pod is charged."""
    assert status_of({"phase": value}).phase is expected


GARBAGE: dict[str, tuple[object, PodStatus]] = {
    "null": (None, PodStatus()),
    "an empty object": ({}, PodStatus()),
    "a text": ("Running", PodStatus(PodPhase.UNKNOWN)),
    "a list": ([], PodStatus(PodPhase.UNKNOWN)),
    "lists that are none": (
        {"initContainerStatuses": 7, "containerStatuses": {"a": 1}},
        PodStatus(),
    ),
    "entries that are none": (
        {"containerStatuses": [None, 7, [], {}, {"name": 7}, {"name": ["a"]}]},
        PodStatus(),
    ),
}


@pytest.mark.parametrize(("status", "expected"), GARBAGE.values(), ids=GARBAGE)
def test_unreadable_status_is_unknown(status: object, expected: PodStatus) -> None:
    """It never fails the pod."""
    assert status_of(status) == expected


TIMES: dict[str, tuple[object, float | None]] = {
    "UTC": (AT, AT_SECONDS),
    "a fraction": ("2026-01-01T00:00:00.5Z", AT_SECONDS + 0.5),
    "nanoseconds": ("2026-01-01T00:00:00.123456789Z", AT_SECONDS + 0.123456),
    "an offset": ("2026-01-01T01:00:00+01:00", AT_SECONDS),
    "a negative offset": ("2025-12-31T16:30:00.25-07:30", AT_SECONDS + 0.25),
    "Go's zero time": ("0001-01-01T00:00:00Z", -62_135_596_800.0),
    "the first time with an offset": ("0001-01-01T00:00:00+14:00", -62_135_647_200.0),
    "the last time with an offset": ("9999-12-31T23:59:59-14:00", 253_402_351_199.0),
    "no offset": ("2026-01-01T00:00:00", None),
    "a date": ("2026-01-01", None),
    "a leap second": ("2016-12-31T23:59:60Z", None),
    "garbage": ("soon", None),
    "a surrogate": ("\ud800", None),
    "an empty text": ("", None),
    "a number": (1_767_225_600, None),
    "null": (None, None),
}


@pytest.mark.parametrize(("value", "expected"), TIMES.values(), ids=TIMES)
def test_time_reads_as(value: object, expected: float | None) -> None:
    """RFC 3339 in every form that Go writes; anything else is no time."""
    assert unix_seconds(value) == expected
