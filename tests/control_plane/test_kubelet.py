"""The stand-in for kubelet and device plugin is as strict as they are.

Each scenario runs on the stand-in as it is, and again with each fault planted in it
that the scenario is there to notice.
"""

from typing import Final

import pytest

from tests.builders import Json, pod
from tests.control_plane.client import Api, path_of
from tests.control_plane.device_ids import DeviceIds
from tests.control_plane.faults import (
    AdmitsAnyway,
    AdmitsAtOnce,
    AnyLength,
    EndsAtOnce,
    InitsForgotten,
    LastRow,
    LockKept,
    LockTaken,
    NeverReused,
    NoLockRead,
    NothingWritten,
    RowKept,
    SidecarsReused,
    Unlimited,
)
from tests.control_plane.kubelet import Kubelet, attached
from tests.control_plane.playing import Play
from tests.control_plane.plugin import (
    ALLOCATED,
    BIND_PHASE,
    TO_ALLOCATE,
    VGPU_NODE,
    DevicePlugin,
)
from tests.control_plane.scenarios import (
    NODE,
    ROW,
    TIME,
    Scenario,
    StandIn,
    admits_one_at_a_time,
    bind,
    cannot_read_a_lock,
    create_node,
    fails_a_short_row,
    keeps_ids_of_inits,
    keeps_ids_of_sidecars,
    keeps_the_lock_while_rows_are_left,
    keeps_to_allocatable,
    lock_node,
    lock_of,
    needs_no_lock,
    one_gpu,
    releases_only_what_is_owned,
    reuses_ids_of_inits,
    serves_every_container,
    serves_whom_the_lock_names,
    settled,
    texts_of,
)

SCENARIOS: Final = (
    serves_every_container,
    fails_a_short_row,
    keeps_to_allocatable,
    reuses_ids_of_inits,
    keeps_ids_of_inits,
    keeps_ids_of_sidecars,
    serves_whom_the_lock_names,
    needs_no_lock,
    cannot_read_a_lock,
    releases_only_what_is_owned,
    keeps_the_lock_while_rows_are_left,
    admits_one_at_a_time,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
async def test_stand_in_is_strict(api: Api, scenario: Scenario) -> None:
    """The stand-in does what kubelet and the device plugin do."""
    await scenario(api, StandIn())


FAULTS: Final[tuple[tuple[StandIn, Scenario], ...]] = (
    (StandIn(ids=Unlimited), keeps_to_allocatable),
    (StandIn(ids=NeverReused), reuses_ids_of_inits),
    (StandIn(ids=SidecarsReused), keeps_ids_of_sidecars),
    (StandIn(ids=InitsForgotten), keeps_ids_of_inits),
    (StandIn(plugin=NoLockRead), serves_whom_the_lock_names),
    (StandIn(plugin=NoLockRead), cannot_read_a_lock),
    (StandIn(plugin=LastRow), serves_every_container),
    (StandIn(plugin=AnyLength), fails_a_short_row),
    (StandIn(plugin=RowKept), serves_every_container),
    (StandIn(plugin=NothingWritten), serves_every_container),
    (StandIn(plugin=NothingWritten), fails_a_short_row),
    (StandIn(plugin=LockKept), serves_every_container),
    (StandIn(plugin=LockKept), fails_a_short_row),
    (StandIn(plugin=LockTaken), releases_only_what_is_owned),
    (StandIn(plugin=EndsAtOnce), keeps_the_lock_while_rows_are_left),
    (StandIn(kubelet=AdmitsAnyway), fails_a_short_row),
    (StandIn(kubelet=AdmitsAnyway), keeps_to_allocatable),
    (StandIn(kubelet=AdmitsAtOnce), admits_one_at_a_time),
)


def _name_of_fault(planted: object) -> str:
    if isinstance(planted, StandIn):
        parts = (planted.kubelet, planted.ids, planted.plugin)
        defaults = (Kubelet, DeviceIds, DevicePlugin)
        return next(
            getattr(part, "__name__", "")
            for part, default in zip(parts, defaults, strict=True)
            if part is not default
        )
    return str(getattr(planted, "__name__", planted))


@pytest.mark.parametrize(("planted", "scenario"), FAULTS, ids=_name_of_fault)
async def test_planted_fault_is_noticed(
    api: Api, planted: StandIn, scenario: Scenario
) -> None:
    """A stand-in that is less strict than a real node fails the scenario."""
    with pytest.raises(AssertionError):
        await scenario(api, planted)


@pytest.mark.parametrize(
    ("rows", "change", "wrong"),
    [
        pytest.param("GPU-x,NVIDIA,2000,0:;", {}, "no such cards", id="unknown card"),
        pytest.param("GPU-a,NVIDIA,0,0:;", {}, "memory 0", id="no memory limit"),
        pytest.param(ROW, {VGPU_NODE: "n2"}, "vgpu-node is n2", id="another node"),
        pytest.param(
            ROW,
            {ALLOCATED: "GPU-b,NVIDIA,2000,0:;"},
            "has not the row",
            id="another allocation",
        ),
    ],
)
async def test_wrong_that_a_node_would_not_notice(
    api: Api, rows: str, change: dict[str, str], wrong: str
) -> None:
    """What the plugin hands out in silence fails the test in which it happens."""
    await create_node(api)
    created = await api.create_pod(one_gpu("p").build())
    await lock_node(api, f"{TIME},default,p")
    texts = {VGPU_NODE: NODE, TO_ALLOCATE: rows, ALLOCATED: rows, **change}

    async def is_served() -> None:
        async with attached(StandIn().make(api)):
            await api.bind(created, NODE, texts)
            await settled(api, created)

    with pytest.raises(AssertionError, match=wrong):
        await is_served()


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param("GPU-a,NVIDIA,2000,0:", id="no semicolon"),
        pytest.param("GPU-a,NVIDIA,2000,0;", id="no colon"),
        pytest.param("GPU-a,NVIDIA,2000:;", id="three fields"),
        pytest.param("GPU-a,NVIDIA A10,2000,0:;", id="the model for a word"),
        pytest.param("GPU-a,NVIDIA,-1,0:;", id="negative"),
        pytest.param(",NVIDIA,2000,0:;", id="no card"),
        pytest.param(";", id="no row"),
    ],
)
async def test_row_that_cannot_be_read(api: Api, rows: str) -> None:
    """The pod fails, and the lock is released."""
    await create_node(api)
    async with attached(StandIn().make(api)):
        shown = await settled(api, await bind(api, one_gpu("p"), rows))
        assert shown["status"]["phase"] == "Failed"
        assert texts_of(shown)[BIND_PHASE] == "failed"
        assert await lock_of(api) is None


async def test_containers_are_played_on_demand(api: Api) -> None:
    """A test runs and ends each container, and the pod's status follows."""
    await create_node(api)
    async with attached(Kubelet(api, NODE, play=Play.WAIT)) as kubelet:
        asking = pod("p").sidecar("s").init("i", gpu=1).app("a", gpu=1)
        created = await bind(api, asking, f";{ROW}{ROW}")
        await kubelet.stage.run("p", "s")
        await kubelet.stage.run("p", "i")
        shown = await api.get(path_of(created))
        assert shown["status"]["phase"] == "Pending"
        assert state_of(shown, "i") == "running"
        assert condition_of(shown, "PodReadyToStartContainers") == "True"
        await kubelet.stage.exit("p", "i", 3)
        await kubelet.stage.back_off("p", "i")
        await kubelet.stage.run("p", "i")
        await kubelet.stage.exit("p", "i", 0)
        await kubelet.stage.start_apps("p")
        await kubelet.stage.sandbox("p", is_ready=False)
        shown = await api.get(path_of(created))
        assert shown["status"]["phase"] == "Running"
        assert status_of(shown, "i")["restartCount"] == 1
        assert status_of(shown, "i")["state"]["terminated"]["exitCode"] == 0
        assert condition_of(shown, "PodReadyToStartContainers") == "False"
        assert condition_of(shown, "PodScheduled") == "True"
        await kubelet.stage.finish("p", 1)
        shown = await api.get(path_of(created))
        assert shown["status"]["phase"] == "Failed"


async def test_restarted_kubelet_knows_its_pods(api: Api) -> None:
    """Ids that were given before a restart stay given, and nothing is served twice."""
    await create_node(api, slots=1)
    async with attached(Kubelet(api, NODE)):
        first = await settled(api, await bind(api, one_gpu("first"), ROW))
    async with attached(Kubelet(api, NODE)) as kubelet:
        shown = await settled(api, await bind(api, one_gpu("second"), ROW))
        assert shown["status"]["phase"] == "Failed"
        assert kubelet.served == []
    assert (await api.get(path_of(first)))["status"]["phase"] == "Running"


async def test_deleted_pod_lingers_while_told_to(api: Api) -> None:
    """A pod that is deleted with grace stays until its kubelet lets it go."""
    await create_node(api)
    async with attached(Kubelet(api, NODE)) as kubelet:
        kubelet.lingers = True
        created = await bind(api, pod("p").app("a", gpu=1), ROW)
        await settled(api, created)
        await api.delete(path_of(created), grace_seconds=30)
        shown = await api.get(path_of(created))
        assert "deletionTimestamp" in shown["metadata"]
        kubelet.lingers = False
        await api.when_gone(path_of(created))


def status_of(shown: Json, container: str) -> Json:
    """Give a container's status."""
    status = shown["status"]
    both = [*status.get("initContainerStatuses", []), *status["containerStatuses"]]
    (found,) = [one for one in both if one["name"] == container]
    one: Json = found
    return one


def state_of(shown: Json, container: str) -> str:
    """Name the state that a container is in."""
    (state,) = status_of(shown, container)["state"]
    return str(state)


def condition_of(shown: Json, kind: str) -> str:
    """Give the status of a condition."""
    conditions = shown["status"]["conditions"]
    (found,) = [one["status"] for one in conditions if one["type"] == kind]
    return str(found)
