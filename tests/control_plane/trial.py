"""An extender behind a proxy, whose kube-scheduler is the test itself."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp.test_utils import TestServer

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA, Kind
from extender.kube.access import kubeconfig_access
from extender.kube.client import ApiClient
from extender.kube.cluster import KubeCluster
from extender.observe.metrics import Metrics
from extender.service import Extender
from extender.settings import BindSettings, HttpSettings, KubeSettings, Settings
from extender.web.app import build_app
from extender.wire.pods import PodReader
from tests.builders import Json
from tests.control_plane.caller import Caller, calling
from tests.control_plane.client import Api, node_path, path_of
from tests.control_plane.cluster import Cluster, clustered
from tests.control_plane.extender import GpuExtender
from tests.control_plane.plane import ControlPlane
from tests.control_plane.proxy import NODES, PODS, ApiProxy, proxied
from tests.control_plane.tuned import tuned_extender
from tests.kube.running import Clock

IN_TRIAL: Final = BindSettings(settle_seconds=0.5, admission_seconds=0)
"""Otherwise a Binding without an answer is let be for a minute, and the lock of a pod
that is gone for 5 s."""


@dataclass(frozen=True, slots=True)
class Trial:
    """An extender, the proxy before it, and who calls it."""

    api: Api
    proxy: ApiProxy
    caller: Caller

    @asynccontextmanager
    async def cluster(self) -> AsyncIterator[Cluster]:
        """Give an empty cluster, which is held against what must always be so."""
        async with self.emptied(), clustered(self.api) as empty:
            yield empty

    @asynccontextmanager
    async def emptied(self) -> AsyncIterator[None]:
        """Empty the cluster afterwards, and wait until the extender knows that."""
        try:
            yield
        finally:
            nodes = await self.api.items(NODES)
            for path in [
                *map(path_of, await self.api.items(PODS)),
                *(node_path(each["metadata"]["name"]) for each in nodes),
            ]:
                await self.api.delete(path)
            await self.caller.knows(nodes=0, pods=0)

    async def is_bound_once(self, created: Json, cluster: Cluster) -> str:
        """Hold that a pod is bound, and served once; give the name of its node.

        Raises:
            AssertionError: It is not, or something stays reserved or differs.
        """
        await cluster.placed(created)
        shown = await self.api.when(path_of(created), is_running, wanted="running")
        node_name = str(shown["spec"]["nodeName"])
        kinds = ("initContainers", "containers")
        containers = [each for kind in kinds for each in shown["spec"].get(kind, [])]
        asking = [
            index
            for index, container in enumerate(containers)
            if container.get("resources")
        ]
        uid = created["metadata"]["uid"]
        served = cluster.kubelets[node_name].served
        of_it = [one.container for one in served if one.pod["metadata"]["uid"] == uid]
        assert of_it == asking
        await self.caller.is_clean()
        return node_name


@dataclass(frozen=True, slots=True)
class ProcessTrial(Trial):
    """With an extender that can be killed."""

    extender: GpuExtender


@dataclass(frozen=True, slots=True)
class TimedTrial(Trial):
    """With an extender whose clock for waiting can be put on."""

    clock: Clock


@asynccontextmanager
async def on_trial(
    plane: ControlPlane, settings: BindSettings = IN_TRIAL
) -> AsyncIterator[ProcessTrial]:
    """Run an extender behind a proxy, and call it."""
    async with (
        Api.connected(plane) as api,
        proxied(plane) as proxy,
        tuned_extender(plane, proxy.kubeconfig, settings) as extender,
        calling(extender.url) as caller,
    ):
        yield ProcessTrial(api, proxy, caller, extender)


@asynccontextmanager
async def on_timed_trial(
    plane: ControlPlane, kinds: Sequence[Kind] = (NVIDIA,)
) -> AsyncIterator[TimedTrial]:
    """Run an extender in this process, with the waits that it has by default."""
    async with AsyncExitStack() as running:
        api = await running.enter_async_context(Api.connected(plane))
        proxy = await running.enter_async_context(proxied(plane))
        access = await kubeconfig_access(proxy.kubeconfig)
        client = await running.enter_async_context(ApiClient(access))
        reader, metrics, clock = PodReader(Kinds(kinds)), Metrics(), Clock()
        cluster = KubeCluster(client, reader, KubeSettings(), metrics)
        extender = Extender(
            cluster,
            reader,
            time.time,
            Settings(),
            metrics=metrics,
            monotonic=lambda: time.monotonic() + clock.skipped,
        )
        synced = asyncio.Event()
        works = [
            asyncio.create_task(cluster.follow(extender, synced.set)),
            asyncio.create_task(extender.tend_forever()),
        ]
        try:
            await synced.wait()
            app = build_app(extender, HttpSettings())
            server = await running.enter_async_context(TestServer(app))
            url = str(server.make_url("/"))
            caller = await running.enter_async_context(calling(url))
            yield TimedTrial(api, proxy, caller, clock)
            await extender.finish()
        finally:
            for work in works:
                work.cancel()
            await asyncio.gather(*works, return_exceptions=True)


def is_running(shown: Json) -> bool:
    """Whether a pod's containers run."""
    return bool(shown["status"]["phase"] == "Running")
