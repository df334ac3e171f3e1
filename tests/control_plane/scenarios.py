"""What the stand-in must do as kubelet and the device plugin do, one by one.

Each runs on a stand-in that is given to it, and raises AssertionError if that is less
strict than a real node. The helpers bind by hand, as an extender does.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from tests.builders import Json, PodBuilder, node, pod
from tests.control_plane.client import PLUGIN, Api, node_path, path_of
from tests.control_plane.device_ids import DeviceIds
from tests.control_plane.kubelet import Kubelet, attached
from tests.control_plane.plugin import (
    ALLOCATED,
    BIND_PHASE,
    BIND_TIME,
    LOCK,
    TO_ALLOCATE,
    VGPU_NODE,
    DevicePlugin,
    PluginMaker,
)

NODE: Final = "n1"
ROW: Final = "GPU-a,NVIDIA,2000,0:;"
TIME: Final = "2026-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class StandIn:
    """How to make the stand-in: as it is, or with a fault."""

    kubelet: type[Kubelet] = Kubelet
    ids: Callable[[], DeviceIds] = DeviceIds
    plugin: PluginMaker = DevicePlugin

    def make(self, api: Api, *, needs_lock: bool = True, seconds: float = 0) -> Kubelet:
        """Make it for the node of these tests."""
        return self.kubelet(
            api,
            NODE,
            needs_lock=needs_lock,
            allocate_seconds=seconds,
            ids=self.ids,
            plugin=self.plugin,
        )


Scenario = Callable[[Api, StandIn], Awaitable[None]]


async def create_node(api: Api, *, slots: int = 20) -> None:
    """Create the node, with two cards."""
    cards = node(NODE).gpu("GPU-a").gpu("GPU-b").allocatable(slots)
    await api.create_node(cards.build())


async def lock_node(api: Api, value: str | None) -> None:
    """Write the lock."""
    change = {"metadata": {"annotations": {LOCK: value}}}
    await api.acting_as(PLUGIN).patch(node_path(NODE), change)


async def bind(api: Api, builder: PodBuilder, rows: str, *, lock: bool = True) -> Json:
    """Create a pod and bind it as an extender does."""
    created = await api.create_pod(builder.build())
    if lock:
        await lock_node(api, f"{TIME},default,{builder.name}")
    texts = {
        VGPU_NODE: NODE,
        TO_ALLOCATE: rows,
        ALLOCATED: rows,
        BIND_PHASE: "allocating",
        BIND_TIME: "1767225600",
    }
    await api.bind(created, NODE, texts)
    return created


async def settled(api: Api, created: Json) -> Json:
    """Wait until a pod was admitted or failed."""
    return await api.when(
        path_of(created), lambda shown: shown["status"]["phase"] != "Pending"
    )


async def lock_of(api: Api) -> str | None:
    """Read the lock."""
    shown = await api.get(node_path(NODE))
    lock: str | None = shown["metadata"]["annotations"].get(LOCK)
    return lock


def texts_of(shown: Json) -> dict[str, str]:
    """Give a pod's annotations."""
    texts: dict[str, str] = shown["metadata"]["annotations"]
    return texts


def one_gpu(name: str) -> PodBuilder:
    """Ask for one device in one container."""
    return pod(name).app("a", gpu=1)


async def serves_every_container(api: Api, stand_in: StandIn) -> None:
    """Sidecar, init without a GPU, init and app are served in order."""
    await create_node(api)
    async with attached(stand_in.make(api)) as kubelet:
        asking = (
            pod("p").sidecar("s", gpu=1).init("none").init("i", gpu=1).app("a", gpu=2)
        )
        rows = (
            "GPU-a,NVIDIA,2000,0:;;GPU-b,NVIDIA,9000,0:;"
            "GPU-a,NVIDIA,1,0:GPU-b,NVIDIA,1,50:;"
        )
        shown = await settled(api, await bind(api, asking, rows))
        texts = texts_of(shown)
        assert shown["status"]["phase"] == "Running"
        assert texts[BIND_PHASE] == "success"
        assert texts[TO_ALLOCATE] == ";;;;"
        assert texts[ALLOCATED] == rows
        assert await lock_of(api) is None
        assert [served.container for served in kubelet.served] == [0, 2, 3]


async def fails_a_short_row(api: Api, stand_in: StandIn) -> None:
    """A row with fewer devices than the container asks for fails the pod."""
    await create_node(api)
    async with attached(stand_in.make(api)):
        created = await bind(api, pod("p").app("a", gpu=2), ROW)
        shown = await settled(api, created)
        assert shown["status"]["phase"] == "Failed"
        assert shown["status"]["reason"] == "UnexpectedAdmissionError"
        assert texts_of(shown)[BIND_PHASE] == "failed"
        assert await lock_of(api) is None


async def keeps_to_allocatable(api: Api, stand_in: StandIn) -> None:
    """A pod beyond allocatable fails before the plugin is asked; its lock stays."""
    await create_node(api, slots=1)
    async with attached(stand_in.make(api)):
        await settled(api, await bind(api, one_gpu("first"), ROW))
        shown = await settled(api, await bind(api, one_gpu("second"), ROW))
        assert shown["status"]["phase"] == "Failed"
        assert "devices unavailable" in shown["status"]["message"]
        assert texts_of(shown)[BIND_PHASE] == "allocating"
        assert await lock_of(api) == f"{TIME},default,second"


async def reuses_ids_of_inits(api: Api, stand_in: StandIn) -> None:
    """An app takes over what an init had."""
    await create_node(api, slots=1)
    async with attached(stand_in.make(api)):
        asking = pod("p").init("i", gpu=1).app("a", gpu=1)
        shown = await settled(api, await bind(api, asking, ROW + ROW))
        assert shown["status"]["phase"] == "Running"


async def keeps_ids_of_inits(api: Api, stand_in: StandIn) -> None:
    """An init's ids stay with the pod after it exits, and return when the pod ends."""
    await create_node(api, slots=2)
    two = "GPU-a,NVIDIA,2000,0:GPU-b,NVIDIA,2000,0:;"
    async with attached(stand_in.make(api)) as kubelet:
        asking = pod("p").init("i", gpu=2).app("a")
        shown = await settled(api, await bind(api, asking, f"{two};"))
        assert shown["status"]["phase"] == "Running"
        shown = await settled(api, await bind(api, one_gpu("early"), ROW))
        assert shown["status"]["phase"] == "Failed"
        await kubelet.stage.finish("p")
        shown = await settled(api, await bind(api, one_gpu("late"), ROW))
        assert shown["status"]["phase"] == "Running"


async def keeps_ids_of_sidecars(api: Api, stand_in: StandIn) -> None:
    """A sidecar's id is not given to an app."""
    await create_node(api, slots=1)
    async with attached(stand_in.make(api)):
        asking = pod("p").sidecar("s", gpu=1).app("a", gpu=1)
        shown = await settled(api, await bind(api, asking, ROW + ROW))
        assert shown["status"]["phase"] == "Failed"


async def serves_whom_the_lock_names(api: Api, stand_in: StandIn) -> None:
    """The pod of the lock is served, whoever is admitted, and the judge tells."""
    await create_node(api)
    async with attached(stand_in.make(api)) as kubelet:
        other = await api.create_pod(one_gpu("other").build())
        texts = {TO_ALLOCATE: ROW, ALLOCATED: ROW, VGPU_NODE: NODE}
        plugin = api.acting_as(PLUGIN)
        await plugin.patch(path_of(other), {"metadata": {"annotations": texts}})
        await lock_node(api, f"{TIME},default,other")
        created = await bind(api, one_gpu("p"), ROW, lock=False)
        assert texts_of(await settled(api, created))[TO_ALLOCATE] == ROW
        assert texts_of(await api.get(path_of(other)))[TO_ALLOCATE] == ";"
        assert kubelet.wrongs == ["default/p: default/other was served in its place"]
        kubelet.wrongs.clear()


async def needs_no_lock(api: Api, stand_in: StandIn) -> None:
    """Without a lock the first pod that waits is served."""
    await create_node(api)
    async with attached(stand_in.make(api, needs_lock=False)):
        created = await bind(api, one_gpu("p"), ROW, lock=False)
        assert texts_of(await settled(api, created))[BIND_PHASE] == "success"


async def cannot_read_a_lock(api: Api, stand_in: StandIn) -> None:
    """A lock of two parts fails whoever is admitted, and stays."""
    await create_node(api)
    await lock_node(api, f"{TIME},default")
    async with attached(stand_in.make(api)):
        shown = await settled(api, await bind(api, one_gpu("p"), ROW, lock=False))
        assert shown["status"]["phase"] == "Failed"
        assert texts_of(shown)[BIND_PHASE] == "allocating"
        assert await lock_of(api) == f"{TIME},default"


async def releases_only_what_is_owned(api: Api, stand_in: StandIn) -> None:
    """A pod that ends leaves the lock of another alone."""
    await create_node(api)
    created = await api.create_pod(one_gpu("p").build())
    other = f"{TIME},default,other-p"
    await lock_node(api, other)
    plugin = stand_in.plugin(api, NODE, allocate_seconds=0, release=lambda _: None)
    await plugin.end(created, "success")
    assert await lock_of(api) == other


async def keeps_the_lock_while_rows_are_left(api: Api, stand_in: StandIn) -> None:
    """A row that nobody asks for keeps phase and lock as they are."""
    await create_node(api)
    async with attached(stand_in.make(api)):
        asking = pod("p").app("a", gpu=1).app("none")
        shown = await settled(api, await bind(api, asking, ROW + ROW))
        assert texts_of(shown)[BIND_PHASE] == "allocating"
        assert await lock_of(api) == f"{TIME},default,p"


async def admits_one_at_a_time(api: Api, stand_in: StandIn) -> None:
    """Two pods at once are served one after the other, and the judge tells."""
    await create_node(api)
    made = stand_in.make(api, seconds=0.3, needs_lock=False)
    async with attached(made) as kubelet:
        asking = [pod(name).init("i", gpu=1).app("a", gpu=1) for name in ("p1", "p2")]
        both = [await bind(api, one, ROW + ROW, lock=False) for one in asking]
        phases = [(await settled(api, one))["status"]["phase"] for one in both]
        assert phases == ["Running", "Running"]
        served = [one.pod["metadata"]["name"] for one in kubelet.served]
        assert served == ["p1", "p1", "p2", "p2"]
        assert kubelet.wrongs == [
            "default/p2 was bound while default/p1 was still to be served"
        ]
        kubelet.wrongs.clear()
