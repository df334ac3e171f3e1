"""What runs in a playground: started in order, watched, and ended in reverse."""

import asyncio
import shutil
import socket
import ssl
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, NoReturn

import yaml

from extender.device_config import kinds_in
from playground.device_plugins import NodePlugins
from playground.folder import link_programs
from playground.kubectl import Kubectl
from playground.stage_files import stages
from tests.builders import Json
from tests.certificates import Authority
from tests.control_plane.binaries import Binaries
from tests.control_plane.client import Api, node_path, path_of
from tests.control_plane.component import HOST, Component, free_port, tail
from tests.control_plane.extender import GpuExtender
from tests.control_plane.installing import install
from tests.control_plane.plane import ControlPlane, User
from tests.control_plane.scheduler import ClientTls, kube_scheduler
from tests.control_plane.secured import NAME, register

_TOP: Final = Path(__file__).parents[1]
_HERE: Final = Path(__file__).parent
DEVICE_CONFIG: Final = _TOP / "config" / "device-config.yaml"
_NODE_FILES: Final = (_TOP / "config" / "example-cluster.yaml", _HERE / "nodes.yaml")
_METRICS_PORT: Final = 9464
"""Where it is free; else any that is."""

_WATCH_SECONDS: Final = 0.3
_READY_SECONDS: Final = 60.0
_STARTED_SECONDS: Final = 20.0

Say = Callable[[str], None]


class Died(Exception):
    """A part of the playground ended by itself; the message names it and its log."""


class Playground:
    """A control plane with nodes and pods; `start` it, `watch` it, `stop` it."""

    def __init__(self, folder: Path, binaries: Binaries, kwok: Path, say: Say) -> None:
        self.folder = folder
        self.programs = link_programs(folder, binaries)
        self.kubeconfig = folder / "kubeconfig"
        self.authority = folder / "authority.crt"
        """Vouches for the extender, which serves over TLS."""

        self.metrics = f"https://{HOST}:{_preferred(_METRICS_PORT)}/metrics"
        self.webhook = f"https://{HOST}:{free_port()}"
        self.nodes = [node for file in _NODE_FILES for node in _nodes_in(file)]
        self.plane = ControlPlane(binaries, folder)
        self.components: list[Component] = [*self.plane.components]
        self.extender: GpuExtender
        self._kwok = kwok
        self._say = say
        self._ending = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start everything; `stop` ends what was started, also after an error."""
        self._say("starting etcd, kube-apiserver, kube-controller-manager")
        await self._start_plane()
        shutil.copy(self.plane.kubeconfig(), self.kubeconfig)
        api = await self._ending.enter_async_context(Api.connected(self.plane))
        kubectl = Kubectl(
            self.plane.binaries.kubectl, self.kubeconfig, self.folder / "kubectl-cache"
        )
        self._say("applying manifests/ and playground/cluster/")
        await install(self.plane)
        await kubectl.apply(_HERE / "cluster")
        self._say("starting kwok, and registering nodes")
        await self._start_kwok()
        await self._start_nodes(api)
        self._say("starting the extender and kube-scheduler")
        await self._start_extender(api)
        self._say("applying playground/pods/start/")
        await kubectl.apply(_HERE / "pods" / "start")
        await self._until_placed(api)

    async def watch(self) -> NoReturn:
        """Wait until a part ends by itself.

        Raises:
            Died: One did.
        """
        while True:
            for component in self.components:
                if component.died:
                    raise Died(
                        f"{component.name} ended by itself; its log, "
                        f"{component.log}, ends:\n{tail(component.log, lines=5)}"
                    )
            for task in self._tasks:
                # That of a node whose plugin is gone is done at once.
                if task.done() and (error := task.exception()):
                    raise Died(f"{task.get_name()} ended by itself: {error!r}")
            await asyncio.sleep(_WATCH_SECONDS)

    async def stop(self) -> None:
        """End everything that was started, the last first."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._ending.aclose()

    async def _start_plane(self) -> None:
        self._ending.push_async_callback(asyncio.to_thread, self.plane.stop)
        starting = asyncio.create_task(asyncio.to_thread(self.plane.start))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The thread goes on, until what it waits for is ended under its hands.
            while not starting.done():
                await asyncio.to_thread(self.plane.stop)
                await asyncio.wait({starting}, timeout=_WATCH_SECONDS)
            starting.exception()
            raise

    async def _start_kwok(self) -> None:
        written = self.folder / "kwok.yaml"
        written.write_text(stages())
        command: list[str | Path] = [
            # It reads a file of the user's, else.
            *("env", f"KWOK_WORKDIR={self.folder / 'kwok'}"),
            self._kwok,
            f"--kubeconfig={self.kubeconfig}",
            f"--config={written}",
            "--manage-all-nodes=true",
            "--node-lease-duration-seconds=0",
            # It serves kubelet's API on all addresses, else.
            "--node-port=0",
        ]
        kwok = Component("kwok", command, self.folder)
        self._start(kwok)

    def _start(self, component: Component) -> None:
        self._ending.push_async_callback(asyncio.to_thread, component.stop)
        component.start()
        self.components.append(component)

    async def _start_nodes(self, api: Api) -> None:
        kinds = kinds_in(DEVICE_CONFIG)
        for node in self.nodes:
            plugins = NodePlugins(api, node, kinds)
            await plugins.register()
            name = f"device plugin of {node['metadata']['name']}"
            self._tasks.append(asyncio.create_task(plugins.run(), name=name))
        for node in self.nodes:
            path = node_path(node["metadata"]["name"])
            await api.when(path, _is_ready, seconds=_READY_SECONDS, wanted="Ready")

    async def _start_extender(self, api: Api) -> None:
        authority = Authority(self.folder, self.authority.stem)
        own, known = authority.server(), authority.client(NAME)
        trust = ssl.create_default_context(cafile=authority.cert_file)
        metrics = self.metrics.removeprefix("https://").removesuffix("/metrics")
        options = [
            *("--tls-cert", str(own.cert_file), "--tls-key", str(own.key_file)),
            *("--client-ca", str(authority.cert_file), "--client-name", NAME),
            *("--webhook-listen", self.webhook.removeprefix("https://")),
            *("--metrics-listen", metrics),
            *("--device-config", str(DEVICE_CONFIG)),
        ]
        self.extender = GpuExtender(
            self.folder,
            self.plane.kubeconfig(User.EXTENDER),
            options,
            trust,
            health_port=int(metrics.rpartition(":")[2]),
        )
        self.components.append(self.extender.component)
        self._ending.push_async_callback(self.extender.stop)
        await self.extender.start()
        scheduler = kube_scheduler(
            self.plane,
            self.extender.url,
            more_names=["default-scheduler"],
            kinds=kinds_in(DEVICE_CONFIG)[1:],
            tls=ClientTls(authority.cert_file, known.cert_file, known.key_file),
            folder=self.folder,
        )
        self.components.append(await self._ending.enter_async_context(scheduler))
        await register(api, self.webhook, authority.cert_file.read_bytes())

    async def _until_placed(self, api: Api) -> None:
        """Wait a while for the pods of the start; what is late is no failure."""
        try:
            async with asyncio.timeout(_STARTED_SECONDS):
                for pod in await api.items("/api/v1/pods"):
                    await api.when(path_of(pod), _is_placed)
        except TimeoutError:
            self._say("some pods of the start are not placed yet")


def _nodes_in(file: Path) -> list[Json]:
    listed = yaml.safe_load(file.read_text(encoding="utf-8"))
    return [each for each in listed["items"] if each["kind"] == "Node"]


def _is_placed(pod: Json) -> bool:
    return "nodeName" in pod["spec"]


def _is_ready(node: Json) -> bool:
    return any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in node["status"].get("conditions", [])
    )


def _preferred(port: int) -> int:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return free_port()
    return port
