"""What HAMi's device plugin does when kubelet asks it for devices, step by step.

Source: HAMi v2.10, ``Allocate`` of the NVIDIA plugin, and ``pkg/util/nodelock``. It is
told how many devices, never for which pod; it finds out by the node's lock, and serves
whatever pod that names. Each step is a method, so that a test can break one of them
and see that the suite notices.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Final, Protocol

import aiohttp

from tests.builders import Json
from tests.control_plane.client import (
    PLUGIN,
    Api,
    ApiError,
    node_path,
    path_of,
    pod_path,
)

LOCK: Final = "hami.io/mutex.lock"
TO_ALLOCATE: Final = "hami.io/vgpu-devices-to-allocate"
ALLOCATED: Final = "hami.io/vgpu-devices-allocated"
BIND_PHASE: Final = "hami.io/bind-phase"
BIND_TIME: Final = "hami.io/bind-time"
VGPU_NODE: Final = "hami.io/vgpu-node"

WORDS: Final = (
    "NVIDIA",
    "MLU",
    "DCU",
    "GCU",
    "Enflame",
    "Mthreads",
    "Metax-GPU",
    "Metax-SGPU",
    "kunlun",
    "XPU",
    "AWSNeuron",
    "AMD",
    "Vastai",
    "Biren",
)
"""What tells HAMi, found anywhere in a value, that a row is still to be served."""

Lock = tuple[str, str]
"""Namespace and name of the pod that holds a node."""

Release = Callable[[Json], None]
"""Told of a pod just before its lock is released, and another may be bound."""


class AllocateError(Exception):
    """Allocate failed: kubelet fails the pod that it was admitting."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a row."""

    uuid: str
    memory_mib: int
    cores_percent: int


@dataclass(frozen=True, slots=True)
class Served:
    """Whom an Allocate was for, as far as the plugin can tell."""

    pod: Json
    container: int
    """Its place among all containers, init containers first."""

    row: str
    devices: tuple[Device, ...]
    by_lock: bool
    """Whether the lock named the pod; else it was the first that waits."""


class DevicePlugin:
    """The device plugin of one node; a subclass may serve another vendor's cards."""

    to_allocate = TO_ALLOCATE
    """Which annotation of a pod has the rows that are still to be served."""

    word = "NVIDIA"
    """The second field of each device."""

    def __init__(
        self, api: Api, node_name: str, *, allocate_seconds: float, release: Release
    ) -> None:
        self.api = api.acting_as(PLUGIN)
        self.node_name = node_name
        self.allocate_seconds = allocate_seconds
        self._tell_of_release = release

    async def allocate(self, device_ids: list[str]) -> Served:
        """Serve one container.

        Raises:
            AllocateError: No pod was found, or it was and its row does not match; then
                the pod that was found is marked as failed and loses the lock.
        """
        await asyncio.sleep(self.allocate_seconds)
        try:
            pod, by_lock = await self.find_pod()
        except (ApiError, aiohttp.ClientError) as error:
            raise AllocateError(f"no pod found: {error}") from error
        try:
            index, row = self.next_row(pod)
            devices = parse_row(row, self.word)
            self.check_length(len(devices), len(device_ids))
            left = await self.empty_row(pod, index)
        except (AllocateError, ApiError, aiohttp.ClientError) as error:
            await self.end(pod, "failed")
            raise AllocateError(str(error)) from error
        if not any(word in left for word in (*WORDS, self.word)):
            await self.end(pod, "success")
        return Served(pod, index, row, devices, by_lock)

    async def find_pod(self) -> tuple[Json, bool]:
        """Find the pod to serve, and tell whether the lock named it."""
        node = await self.api.get(node_path(self.node_name))
        owner = parse_lock(node["metadata"].get("annotations", {}).get(LOCK))
        if owner is None:
            return await self._first_waiting(), False
        namespace, name = owner
        return await self.api.get(pod_path(name, namespace)), True

    async def _first_waiting(self) -> Json:
        selector = f"spec.nodeName={self.node_name}"
        for pod in await self.api.items("/api/v1/pods", fieldSelector=selector):
            texts = pod["metadata"].get("annotations", {})
            if (
                pod["status"]["phase"] == "Pending"
                and BIND_TIME in texts
                and texts.get(BIND_PHASE) == "allocating"
                and texts.get(VGPU_NODE) == self.node_name
            ):
                return pod
        raise AllocateError(f"no pod on {self.node_name} waits for devices")

    def next_row(self, pod: Json) -> tuple[int, str]:
        """Find the first row that is not empty, and its place."""
        rows = rows_of(pod["metadata"].get("annotations", {}).get(self.to_allocate))
        for index, row in enumerate(rows):
            if row:
                return index, row
        raise AllocateError("no row is left to serve")

    def check_length(self, wanted: int, given: int) -> None:
        """Hold the row against what kubelet asks for this container."""
        if wanted != given:
            raise AllocateError(f"the row has {wanted} devices, kubelet sent {given}")

    async def empty_row(self, pod: Json, index: int) -> str:
        """Take a row out of the value, and give what is left of it."""
        rows = rows_of(pod["metadata"]["annotations"][self.to_allocate])
        left = "".join(
            f"{'' if place == index else row};" for place, row in enumerate(rows)
        )
        await self._annotate(pod, {self.to_allocate: left})
        return left

    async def end(self, pod: Json, bind_phase: str) -> None:
        """Write how the allocation went, and release the lock if the pod owns it."""
        self._tell_of_release(pod)
        try:
            await self._annotate(pod, {BIND_PHASE: bind_phase})
            await self.release(pod)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    async def release(self, pod: Json) -> None:
        """Remove the node's lock if this pod, by name, owns it."""
        metadata = pod["metadata"]
        suffix = f",{metadata['namespace']},{metadata['name']}"
        while True:
            node = await self.api.get(node_path(self.node_name))
            lock = node["metadata"].get("annotations", {}).get(LOCK)
            if lock is None or not lock.endswith(suffix):
                return
            version = node["metadata"]["resourceVersion"]
            change = {"resourceVersion": version, "annotations": {LOCK: None}}
            try:
                await self.api.patch(node_path(self.node_name), {"metadata": change})
            except ApiError as error:
                if error.status != HTTPStatus.CONFLICT:
                    raise
            else:
                return

    async def _annotate(self, pod: Json, texts: dict[str, str]) -> None:
        await self.api.patch(path_of(pod), {"metadata": {"annotations": texts}})


class PluginMaker(Protocol):
    """What makes the plugin of a node: `DevicePlugin`, or one with a planted fault."""

    def __call__(
        self, api: Api, node_name: str, *, allocate_seconds: float, release: Release
    ) -> DevicePlugin:
        """Make it."""


def parse_lock(value: str | None) -> Lock | None:
    """Read the lock; None where it names no pod.

    Raises:
        AllocateError: It has another number of parts, or no time.
    """
    if value is None:
        return None
    time, *owner = value.split(",")
    try:
        datetime.fromisoformat(time)
    except ValueError:
        raise AllocateError(f"the lock cannot be read: {value!r}") from None
    match owner:
        case []:
            return None
        case [namespace, name] if namespace and name:
            return namespace, name
    raise AllocateError(f"the lock cannot be read: {value!r}")


def rows_of(value: str | None) -> list[str]:
    """Split a value into its rows, each of which ends with a semicolon."""
    if value is None or not value.endswith(";"):
        raise AllocateError(f"{TO_ALLOCATE} cannot be read: {value!r}")
    return value.split(";")[:-1]


def parse_row(row: str, word: str = "NVIDIA") -> tuple[Device, ...]:
    """Read the devices of a row, each of which ends with a colon."""
    if not row.endswith(":"):
        raise AllocateError(f"a row cannot be read: {row!r}")
    return tuple(_parse_device(text, word) for text in row.split(":")[:-1])


def _parse_device(text: str, word: str) -> Device:
    match text.split(","):
        case [uuid, kind, memory, cores] if (
            uuid and kind == word and memory.isdecimal() and cores.isdecimal()
        ):
            return Device(uuid, int(memory), int(cores))
    raise AllocateError(f"a device cannot be read: {text!r}")
