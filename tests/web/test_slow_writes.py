"""bind while its write is still on the way: the room is taken from the first moment."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

import pytest
import pytest_asyncio
from aiohttp.test_utils import TestClient, TestServer

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import DeviceUUID, NodeName, PodUID
from extender.core.pod import Pod
from extender.core.usage import Usage
from extender.embedded.cluster import EmbeddedCluster
from extender.errors import Conflict
from extender.service import Binding, Extender
from extender.settings import HttpSettings
from extender.state.events import NodeSeen, PodSeen
from extender.web.app import build_app
from extender.wire.extender_v1 import BindingArgs
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from tests.builders import node, pod
from tests.values import totals_of
from tests.web.scheduler import Scheduler

WANTED: Final = pod("p").app("a", gpu=1, gpumem=16_000)
OTHER: Final = pod("other").app("a", gpu=1, gpumem=16_000)
pytestmark = pytest.mark.timeout(20)  # a bind that waits for another never ends
NODE_FILE: Final = """
kind: Node
metadata:
  name: n1
  annotations:
    hami.io/node-nvidia-register: >-
      [{"id":"GPU-a","count":10,"devmem":24000,"devcore":100,"type":"A10","health":true}]
status: {allocatable: {nvidia.com/gpu: 10}}
"""


class SlowCluster(EmbeddedCluster):
    """An embedded cluster whose writes wait for `let_go`, and may then fail."""

    def __init__(self, reader: PodReader) -> None:
        super().__init__(reader)
        self.is_reached = asyncio.Event()
        self.let_go = asyncio.Event()
        self.failure: Exception | None = None

    async def bind(
        self, binding: Binding, may_send: Callable[[], bool] = lambda: True
    ) -> None:
        """Write when told to."""
        self.is_reached.set()
        await self.let_go.wait()
        if self.failure is not None:
            raise self.failure
        await super().bind(binding, may_send)


@pytest_asyncio.fixture(loop_scope="function")
async def slow(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[Scheduler, SlowCluster]]:
    """Serve one card of 24000 MiB on a slow cluster."""
    file = tmp_path_factory.mktemp("slow") / "node.yaml"
    file.write_text(NODE_FILE)
    reader = PodReader(Kinds([NVIDIA]))
    cluster = SlowCluster(reader)
    cluster.load([file])
    extender = Extender(cluster, reader, lambda: 0.0)
    cluster.listen(extender.take_in)
    extender.mark_synced()
    server = TestServer(build_app(extender, HttpSettings(), cluster))
    async with TestClient(server) as client:
        scheduler = Scheduler(client, server, cluster, extender)
        await scheduler.add(WANTED)
        await scheduler.add(OTHER)
        yield scheduler, cluster


async def test_room_is_taken_before_the_write_is_done(
    slow: tuple[Scheduler, SlowCluster],
) -> None:
    """Filter and bind of another pod count what is about to be written."""
    scheduler, cluster = slow
    first = asyncio.create_task(scheduler.bind(WANTED, "n1"))
    await cluster.is_reached.wait()
    refused = await scheduler.filter(OTHER)
    assert refused.failed == {"n1": "CardInsufficientMemory"}
    assert "no longer fits" in await scheduler.bind(OTHER, "n1")
    cluster.let_go.set()
    assert await first == ""
    assert await scheduler.free_memory("GPU-a") == 8000


async def test_one_bind_of_a_pod_at_a_time(
    slow: tuple[Scheduler, SlowCluster],
) -> None:
    """A second one is told so, and does not disturb the first."""
    scheduler, cluster = slow
    first = asyncio.create_task(scheduler.bind(WANTED, "n1"))
    await cluster.is_reached.wait()
    assert "under way" in await scheduler.bind(WANTED, "n1")
    assert "under way" in await scheduler.bind(WANTED, "n1")
    cluster.let_go.set()
    assert await first == ""
    assert await scheduler.bind(WANTED, "n1") == ""


async def test_refused_write_gives_the_room_back(
    slow: tuple[Scheduler, SlowCluster],
) -> None:
    """Case 15: the answer is the cluster's word, and nothing stays booked."""
    scheduler, cluster = slow
    cluster.let_go.set()
    cluster.failure = Conflict("the pod changed")
    assert await scheduler.bind(WANTED, "n1") == "the pod changed"
    assert await scheduler.free_memory("GPU-a") == 24_000
    cluster.failure = None
    assert await scheduler.bind(WANTED, "n1") == ""


async def test_lost_client_loses_no_bind(slow: tuple[Scheduler, SlowCluster]) -> None:
    """Case 67: the caller hangs up, the pod is bound, and a repeat is success."""
    scheduler, cluster = slow
    call = asyncio.create_task(scheduler.bind(WANTED, "n1"))
    await cluster.is_reached.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    cluster.let_go.set()
    while "nodeName" not in (await scheduler.shown(WANTED))["spec"]:
        pass  # each look is a request, so the server gets its turns
    assert await scheduler.bind(WANTED, "n1") == ""
    assert "already bound to n1" in await scheduler.bind(WANTED, "n2")
    assert await scheduler.free_memory("GPU-a") == 8000


async def test_cancelled_request_ends_no_bind(
    slow: tuple[Scheduler, SlowCluster],
) -> None:
    """The server drops a handler at its shutdown; the bind goes on, and only once."""
    scheduler, cluster = slow
    extender = scheduler.extender
    uid = PodUID(str((await scheduler.shown(WANTED))["metadata"]["uid"]))
    args = BindingArgs("p", "default", uid, NodeName("n1"))
    handler = asyncio.create_task(extender.bind(args))
    await cluster.is_reached.wait()
    handler.cancel()
    with pytest.raises(asyncio.CancelledError):
        await handler
    assert "under way" in await extender.bind(args)
    cluster.let_go.set()
    await extender.finish()
    assert await scheduler.bind(WANTED, "n1") == ""
    assert await scheduler.free_memory("GPU-a") == 8000


async def test_pod_bound_by_others_while_it_is_read_keeps_its_charge() -> None:
    """The read's answer is older than what was shown meanwhile."""
    reader = PodReader(Kinds([NVIDIA]))
    unbound = reader.read(WANTED.build())
    bound = reader.read(WANTED.on("n1").holding("GPU-a,NVIDIA,16000,0:;").build())
    extender: Extender

    class LateRead(EmbeddedCluster):
        """A cluster whose read answers with what was, after showing what is."""

        async def read_pod(self, namespace: str, name: str) -> Pod:
            """Answer late."""
            extender.take_in(PodSeen(bound))
            return unbound

    extender = Extender(LateRead(reader), reader, lambda: 0.0)
    extender.mark_synced()
    register = node("n1").gpu("GPU-a", memory=24_000).build()
    extender.take_in(NodeSeen(decode_node(register, [NVIDIA])))
    args = BindingArgs("p", "default", unbound.uid, NodeName("n1"))
    assert await extender.bind(args) == ""
    totals = totals_of(extender.ledger.fleet, NodeName("n1"))
    assert totals is not None
    assert totals.used == {DeviceUUID("GPU-a"): Usage(1, 16_000, 0)}
