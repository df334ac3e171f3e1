"""GPU nodes with their kubelets, and pods that kube-scheduler places there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from itertools import count
from typing import Final

from tests.builders import Json, NodeBuilder, PodBuilder, pod
from tests.control_plane.client import Api, node_path, path_of
from tests.control_plane.judging import name_of
from tests.control_plane.kubelet import Kubelet, attached
from tests.control_plane.observer import Observer, observed
from tests.control_plane.playing import Play
from tests.control_plane.plugin import BIND_PHASE, LOCK
from tests.control_plane.recomputed import checked_rows
from tests.control_plane.scheduler import scheduler_name

_EVENTS: Final = "/api/v1/namespaces/default/events"
_SECONDS: Final = 60.0
"""A bound, never a pace: machines are shared."""


class Cluster:
    """Nodes and pods of one test; `clustered` begins and ends it."""

    def __init__(self, api: Api, observer: Observer, running: AsyncExitStack) -> None:
        self.api = api
        self.observer = observer
        self.kubelets: dict[str, Kubelet] = {}
        self._running = running
        self._probes = count(1)

    async def add(self, builder: NodeBuilder, *, play: Play = Play.RUN) -> Kubelet:
        """Create a node, and run its kubelet; `play` is what its pods do."""
        self.observer.know(await self.api.create_node(builder.build()))
        kubelet = Kubelet(self.api, builder.name, play=play)
        self.kubelets[builder.name] = kubelet
        return await self._running.enter_async_context(attached(kubelet))

    async def submit(self, builder: PodBuilder, *, to: str | None = None) -> Json:
        """Create a pod for kube-scheduler to place, by another name than usual."""
        return await self.api.create_pod(
            builder.build(), scheduler_name=to or scheduler_name()
        )

    async def place(self, builder: PodBuilder) -> Json:
        """Create a pod, and wait until it is `placed`."""
        return await self.placed(await self.submit(builder))

    async def placed(self, created: Json, *, seconds: float = _SECONDS) -> Json:
        """Wait until a pod is bound and served, and hold what it got against its spec.

        Raises:
            AssertionError: It is not in time, or got something else.
        """
        shown = await self.api.when(
            path_of(created), _is_served, seconds=seconds, wanted="bound and served"
        )
        node = await self.api.get(node_path(shown["spec"]["nodeName"]))
        checked_rows(shown, node)
        return shown

    async def refused(self, created: Json, *, times: int = 1) -> str:
        """Wait until filter refused a pod on every node; give what its Event says.

        Args:
            created: The pod.
            times: For how many different versions of it: kube-scheduler writes the
                first refusal into the pod, and then tries it once more.

        Raises:
            AssertionError: It was not, in time.
        """
        uid = created["metadata"]["uid"]
        watched = self.api.watch(
            _EVENTS, fieldSelector=f"involvedObject.uid={uid},reason=FailedScheduling"
        )
        try:
            async with asyncio.timeout(_SECONDS), aclosing(watched) as events:
                async for event in events:
                    # A refused bind has such an Event, too, with the bind's own words.
                    said = str(event.object.get("message"))
                    if event.kind == "ADDED" and said.startswith("0/"):
                        times -= 1
                        if not times:
                            return said
        except TimeoutError:
            pass
        shown = await self.api.get(path_of(created))
        raise AssertionError(f"{name_of(created)} is not refused: {shown}")

    async def exactly_left(self, mib: int, *, on: str | None = None) -> None:
        """Prove that this much memory is left, and not one MiB more, by taking it.

        Args:
            mib: On one card; it is taken for the rest of the test.
            on: Which card; without it there is only one.
        """
        number = next(self._probes)
        asks = {} if on is None else {"nvidia.com/use-gpuuuid": on}
        if mib:
            taking = pod(f"takes-{number}").app("a", gpu=1, gpumem=mib)
            await self.place(taking.annotations(asks))
        beyond = pod(f"beyond-{number}").app("a", gpu=1, gpumem=1)
        created = await self.submit(beyond.annotations(asks))
        others = "" if on is None else ", CardUuidMismatch"
        wanted = f"0/1 nodes are available: 1 CardInsufficientMemory{others}. "
        said = await self.refused(created)
        assert said.startswith(wanted), said
        await self.api.delete(path_of(created))


def _is_served(shown: Json) -> bool:
    assert shown["status"]["phase"] != "Failed", shown["status"]
    texts = shown["metadata"].get("annotations", {})
    # kubelet writes a status once it has admitted the pod, after all that is served.
    return texts.get(BIND_PHASE) == "success" and "containerStatuses" in shown["status"]


@asynccontextmanager
async def clustered(api: Api) -> AsyncIterator[Cluster]:
    """Give an empty cluster to a test, and hold it against what must always be so.

    Raises:
        AssertionError: A card was ever over capacity, a kubelet suffered a wrong, what
            a pod got is not what it asked for, or a node is still locked at the end.
    """
    async with observed(api) as observer, AsyncExitStack() as running:
        cluster = Cluster(api, observer, running)
        yield cluster
        for created in await api.items("/api/v1/pods"):
            if "nodeName" in created["spec"]:
                await cluster.placed(created)
        for name in cluster.kubelets:
            await api.when(node_path(name), _is_unlocked, wanted="unlocked")


def _is_unlocked(node: Json) -> bool:
    return LOCK not in node["metadata"].get("annotations", {})
