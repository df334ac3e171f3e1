"""A stand-in for the kubelet of a node and the device plugin on it.

It admits the pods of its node one after another, as kubelet does, asks the device
plugin for each container that wants devices, and then plays the containers. It is as
strict as the real ones, and tells besides what they would not notice: `Kubelet.wrongs`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import aiohttp

from tests.builders import Json
from tests.control_plane.client import (
    Api,
    ApiError,
    node_path,
    path_of,
)
from tests.control_plane.device_ids import (
    DeviceIds,
    DevicesUnavailable,
    devices_wanted,
)
from tests.control_plane.following import follow_pods
from tests.control_plane.judging import containers_of, name_of, wrongs_of
from tests.control_plane.playing import Containers, Play
from tests.control_plane.plugin import (
    BIND_PHASE,
    AllocateError,
    DevicePlugin,
    PluginMaker,
    Served,
)
from tests.control_plane.stage import Stage

_RETRY_SECONDS: Final = 0.2


class Kubelet:
    """The kubelet of one node; `attached` runs it.

    `play` is what its pods do by themselves, `plays` the same for pods by name; both
    may be changed at any time, and count for pods that are admitted afterwards.

    Args:
        api: As an administrator.
        node_name: Whose pods it admits.
        play: What its pods do by themselves.
        allocate_seconds: How long the plugin takes for one container.
        needs_lock: Whether a pod that no lock names is a wrong.
        ids: Another way to give ids, to plant a fault.
        plugin: Another plugin, to plant a fault.
    """

    def __init__(
        self,
        api: Api,
        node_name: str,
        *,
        play: Play = Play.RUN,
        allocate_seconds: float = 0.0,
        needs_lock: bool = True,
        ids: Callable[[], DeviceIds] = DeviceIds,
        plugin: PluginMaker = DevicePlugin,
    ) -> None:
        self.node_name = node_name
        self.stage = Stage(api)
        """Where a test plays the containers of admitted pods."""

        self.play = play
        self.plays: dict[str, Play] = {}
        self.lingers = False
        """Whether deleted pods stay, terminating, until this is unset."""

        self.served: list[Served] = []
        """Every Allocate that went well, in order."""

        self.wrongs: list[str] = []
        """What was done to this node that a real one would have suffered in silence."""

        self._api = api
        self._needs_lock = needs_lock
        self._ids = ids()
        self._plugin = plugin(
            api,
            node_name,
            allocate_seconds=allocate_seconds,
            release=lambda pod: self._unserved.discard(pod["metadata"]["uid"]),
        )
        self._pods: dict[str, Json] = {}
        self._unserved: set[str] = set()
        self._queue: asyncio.Queue[Json] = asyncio.Queue()
        self._has_listed = asyncio.Event()
        self._has_deleted = asyncio.Event()

    async def listed(self) -> None:
        """Wait until the pods of the node are known."""
        await self._has_listed.wait()

    async def run(self) -> None:
        """Follow the pods of the node and admit them, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(
                follow_pods(
                    self._api,
                    self.node_name,
                    listed=self._listed,
                    seen=self._see,
                    gone=lambda pod: self._forget(pod["metadata"]["uid"]),
                )
            )
            tasks.create_task(self.admit_all())
            tasks.create_task(self._confirm_deletions())

    def _listed(self, pods: list[Json]) -> None:
        for pod_uid in self._pods.keys() - {pod["metadata"]["uid"] for pod in pods}:
            self._forget(pod_uid)
        for pod in pods:
            if not self._has_listed.is_set() and _was_admitted(pod):
                self._restore(pod)
            self._see(pod)
        self._has_listed.set()

    def _see(self, pod: Json) -> None:
        pod_uid = pod["metadata"]["uid"]
        is_new = pod_uid not in self._pods
        self._pods[pod_uid] = pod
        if "deletionTimestamp" in pod["metadata"]:
            self._has_deleted.set()
        if pod["status"]["phase"] in {"Succeeded", "Failed"}:
            self._ids.free(pod_uid)
            self._unserved.discard(pod_uid)
        elif is_new:
            self._enqueue(pod)

    def _enqueue(self, pod: Json) -> None:
        if any(map(devices_wanted, containers_of(pod))):
            for other in self._unserved:
                self.wrongs.append(
                    f"{name_of(pod)} was bound while {name_of(self._pods[other])} was "
                    f"still to be served"
                )
            self._unserved.add(pod["metadata"]["uid"])
        self._queue.put_nowait(pod)

    def _forget(self, pod_uid: str) -> None:
        self._ids.free(pod_uid)
        self._unserved.discard(pod_uid)
        self._pods.pop(pod_uid, None)
        self.stage.leave(pod_uid)

    def _restore(self, pod: Json) -> None:
        """Know a pod as kubelet does after a restart: from its checkpoint."""
        pod_uid = pod["metadata"]["uid"]
        self._pods[pod_uid] = pod
        self.stage.restore(pod)
        # An id has the same name whenever the node is read, so many are enough.
        offered = [f"id-{number}" for number in range(1_000)]
        for container in containers_of(pod):
            if devices_wanted(container):
                self._ids.take(pod, container, offered)

    async def admit_all(self) -> None:
        """Admit pods, one at a time."""
        while True:
            await self.admit(await self._queue.get())

    async def admit(self, pod: Json) -> None:
        """Admit a pod, or fail it."""
        if pod["metadata"]["uid"] in self._pods:
            await self._admit(pod)

    async def _admit(self, pod: Json) -> None:
        pod_uid = pod["metadata"]["uid"]
        try:
            for container in containers_of(pod):
                if devices_wanted(container):
                    await self.allocate(pod, container)
        except (AllocateError, DevicesUnavailable) as error:
            self._unserved.discard(pod_uid)
            self._ids.free(pod_uid)
            await self.stage.report(pod, _refused(str(error)))
            return
        if pod_uid not in self._pods:
            # It was deleted meanwhile.
            self._ids.free(pod_uid)
            return
        shown = Containers(pod)
        shown.play(self.plays.get(pod["metadata"]["name"], self.play))
        await self.stage.report(pod, shown.status())
        await self.stage.enter(pod, shown)

    async def allocate(self, pod: Json, container: Json) -> None:
        """Give a container its ids, and ask the plugin for its devices."""
        node = await self._api.get(node_path(self.node_name))
        allocatable = int(node["status"]["allocatable"].get("nvidia.com/gpu", 0))
        offered = [f"id-{number}" for number in range(allocatable)]
        given = self._ids.take(pod, container, offered)
        served = await self._plugin.allocate(given)
        self.served.append(served)
        self.wrongs += wrongs_of(
            served, pod, container, node, needs_lock=self._needs_lock
        )

    async def _confirm_deletions(self) -> None:
        """Remove pods that were deleted with grace, once kubelet would have."""
        while True:
            await self._has_deleted.wait()
            await asyncio.sleep(_RETRY_SECONDS)
            if self.lingers:
                continue
            deleted = [
                pod
                for pod in self._pods.values()
                if "deletionTimestamp" in pod["metadata"]
            ]
            if not deleted:
                self._has_deleted.clear()
            for pod in deleted:
                try:
                    await self._api.delete(path_of(pod))
                except (ApiError, aiohttp.ClientError):
                    continue


@asynccontextmanager
async def attached(stand_in: Kubelet) -> AsyncIterator[Kubelet]:
    """Run the kubelet of a node that exists, and hold the test to `Kubelet.wrongs`.

    Raises:
        AssertionError: There are wrongs; a test that expects some clears the list.
    """
    running = asyncio.create_task(stand_in.run())
    listed = asyncio.create_task(stand_in.listed())
    try:
        await asyncio.wait({running, listed}, return_when=asyncio.FIRST_COMPLETED)
        yield stand_in
    finally:
        listed.cancel()
        if running.done():
            # It only ends by failing.
            running.result()
        running.cancel()
        await asyncio.wait({running, listed})
    if stand_in.wrongs:
        raise AssertionError(f"{stand_in.node_name}: {'; '.join(stand_in.wrongs)}")


def _refused(error: str) -> Json:
    return {
        "phase": "Failed",
        "reason": "UnexpectedAdmissionError",
        "message": f"Pod was rejected: Allocate failed due to {error}, which is "
        "unexpected",
    }


def _was_admitted(pod: Json) -> bool:
    phase: str = pod["status"]["phase"]
    texts: dict[str, str] = pod["metadata"].get("annotations", {})
    return phase == "Running" or (
        phase == "Pending" and texts.get(BIND_PHASE) == "success"
    )
