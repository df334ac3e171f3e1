"""The accounting rule against the timeline, and laws that hold for every pod."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from extender.core.container import ContainerUsage, Lifetime
from extender.core.names import DeviceUUID
from extender.core.phases import current_charge, effective_usage, steady_usage
from extender.core.pod import Release
from extender.core.pod_status import (
    ContainerStatus,
    PodPhase,
    PodStatus,
    RunState,
    SandboxReadiness,
)
from extender.core.usage import NOTHING, Charge, Usage
from tests.oracles import timeline_charge, timeline_effective
from tests.strategies import (
    app_usages,
    container_usage,
    container_usages,
    declared_usages,
    held_usages,
    living_pods,
    pod_statuses,
    releases,
    unfinished_statuses,
)


@given(container_usages())
def test_effective_usage_is_the_most_that_the_timeline_holds(
    containers: list[ContainerUsage],
) -> None:
    """The formula and a step-by-step start of the pod agree."""
    assert effective_usage(containers) == timeline_effective(containers)


@given(container_usages(), pod_statuses(), releases())
def test_current_charge_is_the_most_that_can_still_be_held(
    containers: list[ContainerUsage], status: PodStatus, release: Release
) -> None:
    """For any status, the charge is the peak of what the status leaves to come."""
    expected = timeline_charge(containers, status, release)
    assert current_charge(containers, status, release) == expected


@given(living_pods(), releases())
def test_current_charge_releases_exactly_what_cannot_run_again(
    case: tuple[list[ContainerUsage], PodStatus], release: Release
) -> None:
    """The same where inits dominate and most of them have exited."""
    containers, status = case
    expected = timeline_charge(containers, status, release)
    assert current_charge(containers, status, release) == expected


@given(living_pods(), unfinished_statuses())
def test_by_release_never_an_unfinished_pod_is_charged_alike_by_any_status(
    case: tuple[list[ContainerUsage], PodStatus], other: PodStatus
) -> None:
    """Its effective usage; so it is never charged more than before, nor less."""
    containers, status = case
    for shown in (other, replace(status, phase=other.phase)):
        charge = current_charge(containers, shown, Release.NEVER)
        assert charge == effective_usage(containers)
        assert at_most(current_charge(containers, shown, Release.AFTER_INIT), charge)


@given(container_usages(), container_usage(Lifetime.APP))
def test_one_more_app_never_lowers_the_charge(
    containers: list[ContainerUsage], added: ContainerUsage
) -> None:
    """Appending an app raises the charge or leaves it."""
    assert at_most(effective_usage(containers), effective_usage([*containers, added]))


@given(
    declared_usages(),
    app_usages(),
    container_usage(Lifetime.INIT, Lifetime.SIDECAR),
)
def test_one_more_declared_container_never_lowers_the_charge(
    declared: list[ContainerUsage], apps: list[ContainerUsage], added: ContainerUsage
) -> None:
    """Appending to ``initContainers`` raises the charge or leaves it."""
    before = effective_usage(declared + apps)
    assert at_most(before, effective_usage([*declared, added, *apps]))


@given(container_usages(), st.sampled_from(Lifetime), st.data())
def test_a_container_that_holds_nothing_changes_nothing(
    containers: list[ContainerUsage], lifetime: Lifetime, data: st.DataObject
) -> None:
    """Wherever it is inserted, of whatever kind."""
    place = data.draw(st.integers(0, len(containers)), label="place")
    more = [*containers[:place], ContainerUsage(lifetime, {}), *containers[place:]]
    assert effective_usage(more) == effective_usage(containers)


@given(declared_usages(), declared_usages(), app_usages(), held_usages(), held_usages())
def test_moving_an_init_behind_a_sidecar_never_lowers_the_charge(
    before: list[ContainerUsage],
    behind: list[ContainerUsage],
    apps: list[ContainerUsage],
    held_by_init: dict[DeviceUUID, Usage],
    held_by_sidecar: dict[DeviceUUID, Usage],
) -> None:
    """An init that a sidecar precedes runs beside it."""
    init = ContainerUsage(Lifetime.INIT, held_by_init)
    sidecar = ContainerUsage(Lifetime.SIDECAR, held_by_sidecar)
    init_first = effective_usage([*before, init, sidecar, *behind, *apps])
    sidecar_first = effective_usage([*before, sidecar, init, *behind, *apps])
    assert at_most(init_first, sidecar_first)


@given(container_usages())
def test_steady_usage_is_within_effective_usage(
    containers: list[ContainerUsage],
) -> None:
    """The steady phase is one of those of which the charge is the largest."""
    assert at_most(steady_usage(containers), effective_usage(containers))


@given(container_usages(), unfinished_statuses(), releases())
def test_an_unfinished_pod_is_charged_between_steady_and_effective_usage(
    containers: list[ContainerUsage], status: PodStatus, release: Release
) -> None:
    """No status takes away sidecars and apps, and none adds to the peak."""
    charge = current_charge(containers, status, release)
    assert at_most(steady_usage(containers), charge)
    assert at_most(charge, effective_usage(containers))


@given(
    container_usages(),
    pod_statuses(phases=(PodPhase.SUCCEEDED, PodPhase.FAILED)),
    releases(),
)
def test_a_finished_pod_is_charged_nothing(
    containers: list[ContainerUsage], status: PodStatus, release: Release
) -> None:
    """Whatever else its status shows."""
    assert current_charge(containers, status, release) == {}


@given(container_usages())
def test_inits_that_exit_well_in_order_release_step_by_step(
    containers: list[ContainerUsage],
) -> None:
    """From effective usage down to steady usage, never up, one init at a time."""
    inits = sum(container.lifetime is Lifetime.INIT for container in containers)
    charges = [
        released(containers, after_inits(containers, exited))
        for exited in range(inits + 1)
    ]
    assert charges[0] == effective_usage(containers)
    assert charges[-1] == steady_usage(containers)
    for earlier, later in pairwise(charges):
        assert at_most(later, earlier)


@given(container_usages(), st.data())
def test_an_exit_behind_an_unfinished_init_releases_nothing(
    containers: list[ContainerUsage], data: st.DataObject
) -> None:
    """Release goes in declared order only."""
    inits = [
        index
        for index, container in enumerate(containers)
        if container.lifetime is Lifetime.INIT
    ]
    if not inits:
        return
    done = list(after_inits(containers, len(inits)).containers)
    stuck = data.draw(st.sampled_from(range(len(inits))), label="stuck init")
    done[inits[stuck]] = ContainerStatus(RunState.RUNNING, has_started=True)
    status = replace(after_inits(containers, 0), containers=tuple(done))
    expected = released(containers, after_inits(containers, stuck))
    assert released(containers, status) == expected


@given(living_pods(), releases())
def test_a_terminating_pod_is_never_charged_more(
    case: tuple[list[ContainerUsage], PodStatus], release: Release
) -> None:
    """A deletion alone never raises the charge."""
    containers, status = case
    staying, leaving = (
        current_charge(containers, replace(status, is_terminating=is_leaving), release)
        for is_leaving in (False, True)
    )
    assert at_most(leaving, staying)


@given(living_pods())
def test_a_pod_in_another_sandbox_is_charged_in_full_until_an_init_runs_again(
    case: tuple[list[ContainerUsage], PodStatus],
) -> None:
    """Exits older than the sandbox release nothing while no app runs."""
    containers, status = case
    recreated = replace(
        status,
        phase=PodPhase.RUNNING,
        containers=tuple(
            ContainerStatus(RunState.TERMINATED, 0, shown.finished_at, has_started=True)
            for shown in status.containers
        ),
        sandbox=SandboxReadiness.READY,
        sandbox_changed_at=61.0,
    )
    assert released(containers, recreated) == effective_usage(containers)


@given(container_usages(), pod_statuses(), st.data())
def test_what_a_sidecar_shows_never_matters(
    containers: list[ContainerUsage], status: PodStatus, data: st.DataObject
) -> None:
    """Running, waiting or exited with 0: a sidecar's restarts change no charge."""
    sidecars = [
        index
        for index, container in enumerate(containers)
        if container.lifetime is Lifetime.SIDECAR and index < len(status.containers)
    ]
    if not sidecars:
        return
    shown = list(status.containers)
    shown[data.draw(st.sampled_from(sidecars), label="sidecar")] = ContainerStatus(
        RunState.TERMINATED, exit_code=0, finished_at=60.0, has_started=True
    )
    restarted = replace(status, containers=tuple(shown))
    assert released(containers, restarted) == released(containers, status)


def released(containers: Sequence[ContainerUsage], status: PodStatus) -> Charge:
    """Charge a pod whose inits are released as they exit."""
    return current_charge(containers, status, Release.AFTER_INIT)


def at_most(charge: Charge, limit: Charge) -> bool:
    """Whether no device and no dimension of `charge` is above `limit`."""
    return all(
        limit.get(device_uuid, NOTHING).largest(usage)
        == limit.get(device_uuid, NOTHING)
        for device_uuid, usage in charge.items()
    )


def after_inits(containers: Sequence[ContainerUsage], exited: int) -> PodStatus:
    """Show the first inits as exited with 0 in a sandbox that is up, no app started."""
    order: Mapping[int, int] = {
        index: number
        for number, index in enumerate(
            index
            for index, container in enumerate(containers)
            if container.lifetime is Lifetime.INIT
        )
    }
    return PodStatus(
        containers=tuple(
            ContainerStatus(RunState.TERMINATED, 0, 60.0, has_started=True)
            if index in order and order[index] < exited
            else ContainerStatus(RunState.WAITING)
            for index in range(len(containers))
        ),
        sandbox=SandboxReadiness.READY,
        sandbox_changed_at=50.0,
    )
