"""A stand-in for the device plugins of all nodes, and for kubelet where it asks them.

It registers the cards of a node, reports when it is asked to (HAMi's handshake), and
serves the pods that are bound there one after another: the pod that the node's lock
names, row by row, and then gives the lock back. kwok runs the pod from then on.

A node with label ``playground/device-plugin: hangs`` registers its cards, and serves no
pod: the first pod that is bound there keeps the node's lock.
"""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from extender.core.kinds import Kind
from tests.builders import Json
from tests.control_plane.client import PLUGIN, STRATEGIC, Api, node_path
from tests.control_plane.following import follow_pods
from tests.control_plane.judging import containers_of, name_of
from tests.control_plane.plugin import BIND_PHASE, AllocateError, DevicePlugin

MODE_LABEL: Final = "playground/device-plugin"
_ALLOCATE_SECONDS: Final = 0.3
_REPORT_SECONDS: Final = 15.0
_REQUESTING: Final = "Requesting"


@dataclass(frozen=True, slots=True)
class Registration:
    """What the plugins of a node write to it.

    Attributes:
        annotations: Cards and handshakes.
        amounts: Of each resource of theirs, as capacity and as allocatable.
    """

    annotations: dict[str, str]
    amounts: dict[str, dict[str, str]]


class NodePlugins:
    """The device plugins of one node, one for each kind of card."""

    def __init__(self, api: Api, node: Json, kinds: Iterable[Kind]) -> None:
        self._api = api
        self._name = node["metadata"]["name"]
        self._serves = node["metadata"].get("labels", {}).get(MODE_LABEL) != "hangs"
        self._bare, self._registration = _split(node, kinds)
        amounts = self._registration.amounts["allocatable"]
        self._plugins = {
            kind.count_resource: _plugin_of(kind)(
                api,
                self._name,
                allocate_seconds=_ALLOCATE_SECONDS,
                release=lambda _: None,
            )
            for kind in kinds
            if amounts.get(kind.count_resource, "0") != "0"
        }
        self._queue: asyncio.Queue[Json] = asyncio.Queue()
        self._queued = set[str]()

    async def register(self) -> None:
        """Create the node as kubelet does, and give it its cards as plugins do."""
        await self._api.request("POST", "/api/v1/nodes", body=self._bare)
        as_plugin = self._api.acting_as(PLUGIN)
        path = node_path(self._name)
        annotations = {"metadata": {"annotations": self._registration.annotations}}
        await as_plugin.patch(path, annotations)
        status = {"status": self._registration.amounts}
        await as_plugin.patch(f"{path}/status", status, STRATEGIC)

    async def run(self) -> None:
        """Serve pods until cancelled."""
        if not self._plugins:
            return
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._report_forever())
            if self._serves:
                tasks.create_task(self._serve_forever())
                tasks.create_task(
                    follow_pods(
                        self._api,
                        self._name,
                        listed=self._see_all,
                        seen=self._see,
                        gone=lambda pod: self._queued.discard(pod["metadata"]["uid"]),
                    )
                )

    def _see_all(self, pods: list[Json]) -> None:
        for pod in pods:
            self._see(pod)

    def _see(self, pod: Json) -> None:
        phase = pod["metadata"].get("annotations", {}).get(BIND_PHASE)
        uid = pod["metadata"]["uid"]
        if phase == "allocating" and uid not in self._queued:
            self._queued.add(uid)
            self._queue.put_nowait(pod)

    async def _serve_forever(self) -> None:
        while True:
            pod = await self._queue.get()
            try:
                await self._serve(pod)
            except AllocateError as error:
                # kwok shows the pod as failed: the plugin marked it so.
                print(f"{self._name}: {name_of(pod)} is not served: {error}")

    async def _serve(self, pod: Json) -> None:
        for container in containers_of(pod):
            limits = container.get("resources", {}).get("limits", {})
            for resource, plugin in self._plugins.items():
                if count := int(limits.get(resource, 0)):
                    await plugin.allocate([f"id-{number}" for number in range(count)])

    async def _report_forever(self) -> None:
        """Answer each request of the handshake, as plugins of some vendors do."""
        as_plugin = self._api.acting_as(PLUGIN)
        while True:
            node = await self._api.get(node_path(self._name))
            reported = f"Reported_{time.strftime('%Y-%m-%d %H:%M:%S')}"
            due = {
                name: reported
                for name, text in node["metadata"]["annotations"].items()
                if name.startswith("hami.io/node-handshake-") and _REQUESTING in text
            }
            if due:
                change = {"metadata": {"annotations": due}}
                await as_plugin.patch(node_path(self._name), change)
            await asyncio.sleep(_REPORT_SECONDS)


def _plugin_of(kind: Kind) -> type[DevicePlugin]:
    rows = kind.to_allocate_annotation
    if rows is None:
        raise ValueError(f"{kind.type_word}: its plugin reads no rows to be emptied")
    return type("_", (DevicePlugin,), {"to_allocate": rows, "word": kind.type_word})


def _split(node: Json, kinds: Iterable[Kind]) -> tuple[Json, Registration]:
    """Part a node, as kubectl prints it, into kubelet's share and that of plugins."""
    metadata, status = node["metadata"], node["status"]
    texts: dict[str, str] = metadata.get("annotations", {})
    of_plugins = {
        name: text for name, text in texts.items() if name.startswith("hami.io/node-")
    }
    resources = {name for kind in kinds for name in kind.resources}
    amounts: dict[str, dict[str, str]] = {}
    of_kubelet: Json = {"nodeInfo": status.get("nodeInfo", {})}
    for key in ("allocatable", "capacity"):
        amounts[key] = {n: a for n, a in status[key].items() if n in resources}
        of_kubelet[key] = {n: a for n, a in status[key].items() if n not in resources}
    others = {name: text for name, text in texts.items() if name not in of_plugins}
    bare = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": metadata["name"],
            "labels": metadata.get("labels", {}),
            "annotations": others,
        },
        "spec": {},
        "status": of_kubelet,
    }
    return bare, Registration(of_plugins, amounts)
