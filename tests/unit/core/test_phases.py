"""The accounting rule, case by case; memory in MiB on the card GPU-a."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import pytest

from extender.core.allocation import Share
from extender.core.container import ContainerUsage, Lifetime
from extender.core.names import DeviceUUID
from extender.core.phases import (
    container_usages,
    current_charge,
    effective_usage,
    phases,
    released_init_count,
    steady_usage,
)
from extender.core.pod import Release
from extender.core.pod_status import (
    ContainerStatus,
    PodPhase,
    PodStatus,
    RunState,
    SandboxReadiness,
)
from extender.core.usage import Usage

GPU_A = DeviceUUID("GPU-a")
GPU_B = DeviceUUID("GPU-b")
SANDBOX_UP_AT = 100.0


def holds(
    lifetime: Lifetime, memory_mib: int, core_percent: int, on: DeviceUUID
) -> ContainerUsage:
    """Hold one slot of one card."""
    return ContainerUsage(lifetime, {on: Usage(1, memory_mib, core_percent)})


def init(
    memory_mib: int, core_percent: int = 0, on: DeviceUUID = GPU_A
) -> ContainerUsage:
    """Make an init."""
    return holds(Lifetime.INIT, memory_mib, core_percent, on)


def sidecar(
    memory_mib: int, core_percent: int = 0, on: DeviceUUID = GPU_A
) -> ContainerUsage:
    """Make a sidecar."""
    return holds(Lifetime.SIDECAR, memory_mib, core_percent, on)


def app(
    memory_mib: int, core_percent: int = 0, on: DeviceUUID = GPU_A
) -> ContainerUsage:
    """Make an app."""
    return holds(Lifetime.APP, memory_mib, core_percent, on)


RUNNING = ContainerStatus(RunState.RUNNING, has_started=True)
WAITING = ContainerStatus(RunState.WAITING)
UNKNOWN = ContainerStatus()


def exited(code: int = 0, at: float | None = SANDBOX_UP_AT + 50) -> ContainerStatus:
    """Show an exit in the present sandbox, unless told otherwise."""
    return ContainerStatus(RunState.TERMINATED, code, at, has_started=True)


def shows(*containers: ContainerStatus) -> PodStatus:
    """Show containers in a sandbox that is up since `SANDBOX_UP_AT`."""
    return PodStatus(
        phase=PodPhase.PENDING,
        containers=containers,
        sandbox=SandboxReadiness.READY,
        sandbox_changed_at=SANDBOX_UP_AT,
    )


def charge_now(
    containers: Sequence[ContainerUsage],
    status: PodStatus,
    release: Release = Release.AFTER_INIT,
) -> dict[DeviceUUID, Usage]:
    """Charge a bound pod, by the default release unless told otherwise."""
    return current_charge(containers, status, release)


def memory(charge: dict[DeviceUUID, Usage], device_uuid: DeviceUUID = GPU_A) -> int:
    """Read the MiB charged on one card; a card that is not charged has none."""
    return charge[device_uuid].memory_mib if device_uuid in charge else 0


def cut(lifetime: Lifetime, memory_mib: int) -> ContainerUsage:
    """Hold an instance of a card in MIG mode."""
    return ContainerUsage(lifetime, {}, {GPU_A: Usage(1, memory_mib, 15)})


# What a pod is charged before anything is known of its life.


@dataclass(frozen=True)
class Peak:
    """A pod of one table, and what it is charged."""

    containers: tuple[ContainerUsage, ...]
    charge: dict[DeviceUUID, Usage]
    steady: dict[DeviceUUID, Usage]


PEAKS = {
    "instances are there side by side, whoever runs": Peak(
        (
            cut(Lifetime.INIT, 5_000),
            cut(Lifetime.INIT, 20_000),
            cut(Lifetime.SIDECAR, 5_000),
            cut(Lifetime.APP, 10_000),
        ),
        {GPU_A: Usage(4, 40_000, 60)},
        {GPU_A: Usage(4, 40_000, 60)},
    ),
    "an instance beside shares of another card": Peak(
        (init(20_000, on=GPU_B), cut(Lifetime.INIT, 5_000), app(10_000, on=GPU_B)),
        {GPU_A: Usage(1, 5_000, 15), GPU_B: Usage(1, 20_000, 0)},
        {GPU_A: Usage(1, 5_000, 15), GPU_B: Usage(1, 10_000, 0)},
    ),
    "a sidecar and an app add up": Peak(
        (sidecar(4_000, 40), app(4_000, 40)),
        {GPU_A: Usage(2, 8_000, 80)},
        {GPU_A: Usage(2, 8_000, 80)},
    ),
    "an init before the sidecar runs without it": Peak(
        (init(20_000, 60), sidecar(2_000, 10), app(10_000, 30)),
        {GPU_A: Usage(2, 20_000, 60)},
        {GPU_A: Usage(2, 12_000, 40)},
    ),
    "an init behind the sidecar runs beside it": Peak(
        (sidecar(2_000, 10), init(20_000, 60), app(10_000, 30)),
        {GPU_A: Usage(2, 22_000, 70)},
        {GPU_A: Usage(2, 12_000, 40)},
    ),
    "an init and an app take turns": Peak(
        (init(4_000, 40), app(4_000, 40)),
        {GPU_A: Usage(1, 4_000, 40)},
        {GPU_A: Usage(1, 4_000, 40)},
    ),
    "all sidecars add up": Peak(
        (sidecar(3_000, 10), sidecar(5_000, 20), app(1_000, 5)),
        {GPU_A: Usage(3, 9_000, 35)},
        {GPU_A: Usage(3, 9_000, 35)},
    ),
    "an init on another card is charged there": Peak(
        (sidecar(2_000, 10), init(7_000, 70, on=GPU_B), app(3_000, 30)),
        {GPU_A: Usage(2, 5_000, 40), GPU_B: Usage(1, 7_000, 70)},
        {GPU_A: Usage(2, 5_000, 40)},
    ),
    "three apps on one card add up": Peak(
        (app(100, 10), app(100, 10), app(100, 10)),
        {GPU_A: Usage(3, 300, 30)},
        {GPU_A: Usage(3, 300, 30)},
    ),
    "inits take turns, so the largest counts": Peak(
        (init(6_000), init(9_000), init(1_000), app(2_000)),
        {GPU_A: Usage(1, 9_000)},
        {GPU_A: Usage(1, 2_000)},
    ),
    "every dimension peaks in a phase of its own": Peak(
        (sidecar(1_000, 10), init(20_000, 0), init(0, 80), app(500, 5), app(500, 5)),
        {GPU_A: Usage(3, 21_000, 90)},
        {GPU_A: Usage(3, 2_000, 20)},
    ),
    "a container without devices is charged nothing": Peak(
        (ContainerUsage(Lifetime.INIT, {}), ContainerUsage(Lifetime.APP, {})), {}, {}
    ),
    "no containers, no charge": Peak((), {}, {}),
}


@pytest.mark.parametrize("case", PEAKS.values(), ids=PEAKS)
def test_a_pod_is_charged_its_largest_phase(case: Peak) -> None:
    """Each claim of the table holds, for the peak and for the steady phase."""
    assert effective_usage(case.containers) == case.charge
    assert steady_usage(case.containers) == case.steady


def test_ten_of_a_sidecar_and_ten_of_an_app_leave_four_of_twenty_four() -> None:
    """A later 12 GiB does not fit beside them on a 24 GiB card."""
    gib = 1_024
    charge = effective_usage([sidecar(10 * gib), app(10 * gib)])
    assert memory(charge) == 20 * gib
    assert 24 * gib - memory(charge) < 12 * gib


def test_the_phases_come_in_start_order_with_the_steady_one_last() -> None:
    """Each init beside the sidecars before it, then sidecars and apps."""
    listed = list(phases([sidecar(1), init(10), sidecar(2), init(20), app(4)]))
    assert [(phase.init_index, phase.held[GPU_A].memory_mib) for phase in listed] == [
        (1, 11),
        (3, 23),
        (None, 7),
    ]


def test_a_row_that_names_a_card_twice_holds_two_slots_there() -> None:
    """Each share takes a slot, as the plugin hands out one id for each."""
    row = (
        Share(GPU_A, 3_000, 30, "NVIDIA"),
        Share(GPU_A, 3_000, 30, "NVIDIA"),
        Share(GPU_B, 1_000, 0, "NVIDIA"),
    )
    (usage,) = container_usages([Lifetime.APP], (row,))
    assert usage.held == {GPU_A: Usage(2, 6_000, 60), GPU_B: Usage(1, 1_000, 0)}


def test_an_empty_row_holds_nothing_and_keeps_its_place() -> None:
    """Rows belong to containers by position."""
    lifetimes = [Lifetime.INIT, Lifetime.SIDECAR, Lifetime.APP]
    usages = container_usages(lifetimes, ((), (Share(GPU_A, 1, 0, "NVIDIA"),), ()))
    assert [usage.lifetime for usage in usages] == lifetimes
    assert [dict(usage.held) for usage in usages] == [{}, {GPU_A: Usage(1, 1)}, {}]


def test_rows_that_do_not_match_the_containers_are_refused() -> None:
    """A missing row is never read as nothing."""
    with pytest.raises(ValueError, match="shorter"):
        container_usages([Lifetime.INIT, Lifetime.APP], ((),))


# What its status takes off while it lives.

SIDECAR_FIRST = (sidecar(2_000), init(20_000), app(10_000))
INIT_FIRST = (init(20_000), sidecar(2_000), app(10_000))
TWO_INITS = (init(20_000), sidecar(2_000), init(15_000), app(10_000))


@dataclass(frozen=True)
class Life:
    """A status of one pod, and the MiB that it is charged."""

    containers: tuple[ContainerUsage, ...]
    status: PodStatus
    memory_mib: int


LIVES = {
    "nothing started, sidecar first": Life(SIDECAR_FIRST, PodStatus(), 22_000),
    "nothing started, init first": Life(INIT_FIRST, PodStatus(), 20_000),
    "the init runs, sidecar first": Life(
        SIDECAR_FIRST, shows(RUNNING, RUNNING, WAITING), 22_000
    ),
    "the init runs, init first": Life(
        INIT_FIRST, shows(RUNNING, WAITING, WAITING), 20_000
    ),
    "the init exited 0, sidecar first": Life(
        SIDECAR_FIRST, shows(RUNNING, exited(), WAITING), 12_000
    ),
    "the init exited 0, init first": Life(
        INIT_FIRST, shows(exited(), WAITING, WAITING), 12_000
    ),
    "the app runs": Life(SIDECAR_FIRST, shows(RUNNING, exited(), RUNNING), 12_000),
    "the app crashed after the init": Life(
        SIDECAR_FIRST, shows(RUNNING, exited(), exited(1)), 12_000
    ),
    "the init failed and holds": Life(
        SIDECAR_FIRST, shows(RUNNING, exited(1), WAITING), 22_000
    ),
    "the init was killed and holds": Life(
        SIDECAR_FIRST, shows(RUNNING, exited(137), WAITING), 22_000
    ),
    "the init waits for another try and holds": Life(
        SIDECAR_FIRST, shows(RUNNING, WAITING, WAITING), 22_000
    ),
    "the init's state is unknown and holds": Life(
        SIDECAR_FIRST, shows(RUNNING, UNKNOWN, WAITING), 22_000
    ),
    "the init's exit has no code and holds": Life(
        SIDECAR_FIRST,
        shows(RUNNING, replace(exited(), exit_code=None), WAITING),
        22_000,
    ),
    "the init's former exit 0 is shown while it waits, and it holds": Life(
        SIDECAR_FIRST,
        shows(RUNNING, replace(exited(), run_state=RunState.WAITING), WAITING),
        22_000,
    ),
    "a sidecar that crashes frees nothing": Life(
        SIDECAR_FIRST, shows(exited(1), exited(), RUNNING), 12_000
    ),
    "a sidecar that exits 0 frees nothing": Life(
        SIDECAR_FIRST, shows(exited(), exited(), RUNNING), 12_000
    ),
    "a sidecar that exits 0 beside the init frees nothing": Life(
        SIDECAR_FIRST, shows(exited(), RUNNING, WAITING), 22_000
    ),
    "a sidecar that waits holds back no release": Life(
        SIDECAR_FIRST, shows(WAITING, exited(), WAITING), 12_000
    ),
    "all inits are sidecars: steady before anything starts": Life(
        (sidecar(2_000), sidecar(3_000), app(10_000)), PodStatus(), 15_000
    ),
    "the second init still runs: its own phase only": Life(
        TWO_INITS, shows(exited(), RUNNING, RUNNING, WAITING), 17_000
    ),
    "the second init exited too": Life(
        TWO_INITS, shows(exited(), RUNNING, exited(), WAITING), 12_000
    ),
    "the second init failed: the first stays released": Life(
        TWO_INITS, shows(exited(), RUNNING, exited(1), WAITING), 17_000
    ),
    "an init after a failed one stays": Life(
        TWO_INITS, shows(exited(1), RUNNING, exited(), WAITING), 20_000
    ),
    "an init that holds nothing holds back release too": Life(
        (ContainerUsage(Lifetime.INIT, {}), init(20_000), app(10_000)),
        shows(RUNNING, exited(), WAITING),
        20_000,
    ),
    "statuses end before the init: it holds": Life(
        SIDECAR_FIRST, shows(RUNNING), 22_000
    ),
    "statuses end behind the init: it is released": Life(
        SIDECAR_FIRST, shows(RUNNING, exited()), 12_000
    ),
    "no statuses": Life(SIDECAR_FIRST, shows(), 22_000),
}


@pytest.mark.parametrize("case", LIVES.values(), ids=LIVES)
def test_a_living_pod_is_charged_what_it_can_still_hold(case: Life) -> None:
    """Each claim of the table holds, in a sandbox that is up."""
    assert memory(charge_now(case.containers, case.status)) == case.memory_mib


def test_a_released_init_frees_a_card_that_nothing_else_of_the_pod_names() -> None:
    """The card leaves the charge; it is not there with zero."""
    containers = [init(7_000, on=GPU_B), app(3_000)]
    assert charge_now(containers, shows(exited(), WAITING)) == {GPU_A: Usage(1, 3_000)}


def test_release_lowers_each_dimension_to_the_largest_phase_that_is_left() -> None:
    """The memory peak leaves with the first init, the cores stay with the second."""
    containers = [init(20_000, 0), init(1_000, 90), app(500, 5), app(500, 5)]
    before = charge_now(containers, shows(RUNNING, WAITING, WAITING, WAITING))
    after = charge_now(containers, shows(exited(), RUNNING, WAITING, WAITING))
    assert before == {GPU_A: Usage(2, 20_000, 90)}
    assert after == {GPU_A: Usage(2, 1_000, 90)}


# The sandbox: an exit counts only where it happened.

AFTER_INIT = shows(RUNNING, exited(), WAITING)
FROM_FORMER_SANDBOX = shows(RUNNING, exited(at=SANDBOX_UP_AT - 1), WAITING)
NOT_READY = SandboxReadiness.NOT_READY
NOT_SHOWN = SandboxReadiness.NOT_SHOWN

SANDBOXES = {
    "condition True, exit younger": (AFTER_INIT, 12_000),
    "condition True, exit in the same second": (
        shows(RUNNING, exited(at=SANDBOX_UP_AT), WAITING),
        12_000,
    ),
    "condition True already, exit of the former sandbox": (FROM_FORMER_SANDBOX, 22_000),
    "condition False, exit of the former sandbox": (
        replace(FROM_FORMER_SANDBOX, sandbox=NOT_READY),
        22_000,
    ),
    "condition False, exit younger than the change": (
        replace(AFTER_INIT, sandbox=NOT_READY),
        22_000,
    ),
    "condition False though an app is still shown running": (
        replace(shows(RUNNING, exited(), RUNNING), sandbox=NOT_READY),
        22_000,
    ),
    "condition missing": (
        replace(AFTER_INIT, sandbox=NOT_SHOWN, sandbox_changed_at=None),
        12_000,
    ),
    "condition missing, exit without a time": (
        replace(
            shows(RUNNING, exited(at=None), WAITING),
            sandbox=NOT_SHOWN,
            sandbox_changed_at=None,
        ),
        12_000,
    ),
    "condition True, its time unreadable": (
        replace(AFTER_INIT, sandbox_changed_at=None),
        22_000,
    ),
    "condition True, the exit's time unreadable": (
        shows(RUNNING, exited(at=None), WAITING),
        22_000,
    ),
    "an app that runs proves the present sandbox": (
        shows(RUNNING, exited(at=SANDBOX_UP_AT - 1), RUNNING),
        12_000,
    ),
    "an app that runs, both times unreadable": (
        replace(shows(RUNNING, exited(at=None), RUNNING), sandbox_changed_at=None),
        12_000,
    ),
    "an app that ran before proves nothing": (
        shows(RUNNING, exited(at=SANDBOX_UP_AT - 2), exited(1, at=SANDBOX_UP_AT - 1)),
        22_000,
    ),
    "a sidecar that runs proves nothing": (FROM_FORMER_SANDBOX, 22_000),
    "all containers are being restarted": (
        replace(AFTER_INIT, is_restarting_all=True),
        22_000,
    ),
    "all containers were restarted after the exit, in the same sandbox": (
        replace(AFTER_INIT, restarted_all_at=SANDBOX_UP_AT + 51),
        22_000,
    ),
    "the same, and it cannot be read when": (
        replace(AFTER_INIT, restarted_all_at=inf),
        22_000,
    ),
    "all containers were restarted before the exit": (
        replace(AFTER_INIT, restarted_all_at=SANDBOX_UP_AT + 50),
        12_000,
    ),
    "all containers are being restarted, an app still runs": (
        replace(shows(RUNNING, exited(), RUNNING), is_restarting_all=True),
        22_000,
    ),
}


@pytest.mark.parametrize(("status", "memory_mib"), SANDBOXES.values(), ids=SANDBOXES)
def test_an_init_is_released_only_in_the_present_sandbox(
    status: PodStatus, memory_mib: int
) -> None:
    """A sandbox that is made again runs the inits again, from the first."""
    assert memory(charge_now(SIDECAR_FIRST, status)) == memory_mib


def test_inits_are_released_again_one_by_one_in_a_new_sandbox() -> None:
    """The first has run again; the second still shows its exit of the old sandbox."""
    status = shows(exited(), RUNNING, exited(at=SANDBOX_UP_AT - 1), WAITING)
    assert memory(charge_now(TWO_INITS, status)) == 17_000


def test_the_first_init_of_a_new_sandbox_counts_before_it_starts() -> None:
    """Both exits are shown, both are old: both inits will run."""
    old = exited(at=SANDBOX_UP_AT - 1)
    status = shows(old, RUNNING, old, WAITING)
    assert memory(charge_now(TWO_INITS, status)) == 20_000


# The end.

ENDINGS = {
    "its sandbox goes down": (replace(AFTER_INIT, sandbox=NOT_READY), 12_000),
    "its sandbox goes down after the exit": (
        replace(AFTER_INIT, sandbox=NOT_READY, sandbox_changed_at=900.0),
        12_000,
    ),
    "its restart of all containers is cut short": (
        replace(AFTER_INIT, is_restarting_all=True),
        12_000,
    ),
    "its app has exited": (shows(RUNNING, exited(), exited(143)), 12_000),
    "it still runs": (shows(RUNNING, exited(), RUNNING), 12_000),
    "its init still runs": (shows(RUNNING, RUNNING, WAITING), 22_000),
    "its init still runs, says the sandbox that went down": (
        replace(shows(RUNNING, RUNNING, WAITING), sandbox=NOT_READY),
        22_000,
    ),
    "its init was killed": (shows(RUNNING, exited(143), WAITING), 22_000),
    "its new sandbox is up and may be running the init again": (
        FROM_FORMER_SANDBOX,
        22_000,
    ),
    "its app ran in the new sandbox, and has exited": (
        replace(
            FROM_FORMER_SANDBOX,
            containers=(*FROM_FORMER_SANDBOX.containers[:2], exited(at=101.0)),
        ),
        12_000,
    ),
    "its app exited in the former sandbox": (
        replace(
            FROM_FORMER_SANDBOX,
            containers=(*FROM_FORMER_SANDBOX.containers[:2], exited(at=100.0)),
        ),
        22_000,
    ),
}


@pytest.mark.parametrize(("status", "memory_mib"), ENDINGS.values(), ids=ENDINGS)
def test_a_terminating_pod_is_charged_but_not_inflated_again(
    status: PodStatus, memory_mib: int
) -> None:
    """It starts nothing any more, and holds what it holds until it is gone."""
    leaving = replace(status, is_terminating=True)
    assert memory(charge_now(SIDECAR_FIRST, leaving)) == memory_mib


@pytest.mark.parametrize("phase", [PodPhase.SUCCEEDED, PodPhase.FAILED])
@pytest.mark.parametrize("is_terminating", [False, True])
def test_a_finished_pod_is_charged_nothing(
    phase: PodPhase, *, is_terminating: bool
) -> None:
    """Whatever its containers and conditions still show."""
    for status in (AFTER_INIT, FROM_FORMER_SANDBOX, PodStatus()):
        finished = replace(status, phase=phase, is_terminating=is_terminating)
        assert charge_now(SIDECAR_FIRST, finished) == {}


@pytest.mark.parametrize(
    "phase", [PodPhase.PENDING, PodPhase.RUNNING, PodPhase.UNKNOWN]
)
def test_an_unfinished_pod_is_charged_by_its_containers_not_its_phase(
    phase: PodPhase,
) -> None:
    """A lost node reports Unknown; its pods still hold their cards."""
    status = replace(AFTER_INIT, phase=phase)
    assert memory(charge_now(SIDECAR_FIRST, status)) == 12_000


def test_a_status_counts_without_memory_of_earlier_ones() -> None:
    """The same status gives the same charge, whatever came between."""
    first = charge_now(SIDECAR_FIRST, AFTER_INIT)
    charge_now(SIDECAR_FIRST, FROM_FORMER_SANDBOX)
    assert charge_now(SIDECAR_FIRST, AFTER_INIT) == first


def test_released_inits_are_counted_without_the_sidecars_between_them() -> None:
    """The count is of inits, not of positions."""
    lifetimes = [
        Lifetime.SIDECAR,
        Lifetime.INIT,
        Lifetime.SIDECAR,
        Lifetime.INIT,
        Lifetime.APP,
    ]
    status = shows(RUNNING, exited(), RUNNING, exited(), WAITING)
    assert released_init_count(lifetimes, status, Release.AFTER_INIT) == 2
    assert released_init_count(lifetimes, status, Release.NEVER) == 0


# By release never, its status takes nothing off while it lives.

KEEPERS = {
    "sidecar first": (SIDECAR_FIRST, 22_000),
    "init first": (INIT_FIRST, 20_000),
    "the first of two inits is the largest": (TWO_INITS, 20_000),
    "the second of two inits is the largest": (
        (init(2_000), init(20_000), sidecar(1_000), app(10_000)),
        20_000,
    ),
    "sidecars and apps are the largest": (
        (init(11_000), sidecar(2_000), app(10_000)),
        12_000,
    ),
}

INITS_OVER = shows(exited(), exited(), exited(), RUNNING)

KEPT_BY = {
    "nothing started": PodStatus(),
    "its inits are over": INITS_OVER,
    "its inits failed": shows(exited(1), exited(1), exited(1), WAITING),
    "it runs": replace(INITS_OVER, phase=PodPhase.RUNNING),
    "its node is lost": replace(INITS_OVER, phase=PodPhase.UNKNOWN),
    "its sandbox is down": replace(INITS_OVER, sandbox=NOT_READY),
    "its sandbox is new": replace(INITS_OVER, sandbox_changed_at=900.0),
    "all is being restarted": replace(INITS_OVER, is_restarting_all=True),
    "it is terminating": replace(INITS_OVER, is_terminating=True),
    "it is terminating, and its sandbox is down": replace(
        INITS_OVER, is_terminating=True, sandbox=NOT_READY
    ),
}


@pytest.mark.parametrize(("containers", "memory_mib"), KEEPERS.values(), ids=KEEPERS)
@pytest.mark.parametrize("status", KEPT_BY.values(), ids=KEPT_BY)
def test_by_release_never_a_living_pod_keeps_its_peak(
    containers: tuple[ContainerUsage, ...], memory_mib: int, status: PodStatus
) -> None:
    """Its inits may run again, so what they needed is given to nobody."""
    charge = charge_now(containers, status, Release.NEVER)
    assert memory(charge) == memory_mib
    assert charge == effective_usage(containers)


@pytest.mark.parametrize("phase", [PodPhase.SUCCEEDED, PodPhase.FAILED])
def test_by_release_never_a_finished_pod_is_charged_nothing(phase: PodPhase) -> None:
    """Its inits do not run again, terminating or not."""
    for status in (AFTER_INIT, replace(AFTER_INIT, is_terminating=True)):
        finished = replace(status, phase=phase)
        assert charge_now(SIDECAR_FIRST, finished, Release.NEVER) == {}


def test_release_changes_nothing_for_a_pod_whose_inits_are_sidecars() -> None:
    """It is at steady usage from the start."""
    containers = (sidecar(2_000), sidecar(3_000), app(10_000))
    for status in (PodStatus(), shows(RUNNING, RUNNING, RUNNING)):
        for release in Release:
            assert memory(charge_now(containers, status, release)) == 15_000


def test_an_exit_gives_no_instance_back() -> None:
    """The plugin takes it apart when the pod ends; the end gives back all."""
    pod = (cut(Lifetime.INIT, 20_000), init(5_000), cut(Lifetime.APP, 10_000))
    status = shows(exited(), exited(), RUNNING)
    assert charge_now(pod, status) == {GPU_A: Usage(2, 30_000, 30)}
    assert charge_now(pod, replace(status, phase=PodPhase.SUCCEEDED)) == {}
