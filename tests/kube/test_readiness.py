"""Ready once nodes and pods are listed and applied; what lists and events change."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName
from extender.kube.cluster import KubeCluster
from extender.observe.metrics import Metrics
from extender.service import Extender
from extender.settings import HttpSettings, KubeSettings
from extender.state.audit import audit
from extender.web.app import build_app
from extender.wire.pods import PodReader
from tests.builders import PodBuilder, node, pod
from tests.kube.running import ONE_CARD, running
from tests.kube.server import ApiServer, Json, answers, says, until
from tests.values import inventory_of, totals_of

pytestmark = pytest.mark.timeout(20)

QUICK = KubeSettings(first_backoff_seconds=0.01, longest_backoff_seconds=0.02)
CARD = node("n1").gpu("GPU-a")
HELD = pod("p").app("a", gpu=1, gpumem=16_000).holding("GPU-a,NVIDIA,16000,0:;")
BOUND = HELD.on("n1").phase("Running")


@asynccontextmanager
async def following(server: ApiServer) -> AsyncIterator[Extender]:
    """Run an extender's feeds; it may not be synced yet."""
    reader = PodReader(Kinds([NVIDIA]))
    async with server.client() as client:
        metrics = Metrics()
        cluster = KubeCluster(client, reader, QUICK, metrics)
        extender = Extender(cluster, reader, lambda: 0.0, metrics=metrics)
        feeds = asyncio.create_task(cluster.follow(extender, lambda: None))
        try:
            yield extender
            assert audit(extender.ledger) == []
        finally:
            feeds.cancel()
            await asyncio.gather(feeds, return_exceptions=True)


def used(extender: Extender) -> int | None:
    """Tell how much of GPU-a is held; None while the node is unknown."""
    totals = totals_of(extender.ledger.fleet, NodeName("n1"))
    return None if totals is None else next(iter(totals.used.values())).memory_mib


async def until_used(extender: Extender, memory_mib: int | None) -> None:
    """Let the feeds come to where so much is held, and everything is listed."""
    await until(lambda: extender.is_synced and used(extender) == memory_mib)


@pytest.mark.parametrize("slow", ["/nodes?", "/pods?", "/resourcequotas?"])
async def test_slow_list(slow: str) -> None:
    """/readyz is 503, and filter says so in a 200, until the last page is applied."""
    server = ApiServer().with_all(CARD, BOUND)
    let_go, is_reached = asyncio.Event(), asyncio.Event()

    async def wait(request: web.Request) -> web.StreamResponse:
        is_reached.set()
        await let_go.wait()
        return await server.carry_out(request)

    server.fail("GET", slow, wait)
    async with following(server) as extender:
        app = build_app(extender, HttpSettings())
        async with TestClient(TestServer(app)) as client:
            await is_reached.wait()
            assert (await client.get("/readyz")).status == 503
            asked = {"Pod": pod("x").app("a", gpu=1).build(), "NodeNames": ["n1"]}
            answer = await client.post("/filter", json=asked)
            assert answer.status == 200
            assert "not been listed" in (await answer.json())["Error"]
            let_go.set()
            await until_used(extender, 16_000)
            assert (await client.get("/readyz")).status == 200


async def test_list_again_removes_what_is_gone() -> None:
    """Pods, nodes, and a pod that was made again under its name."""
    other = pod("q").app("a", gpu=1).holding("GPU-a,NVIDIA,1000,0:;").on("n1")
    server = ApiServer().with_all(CARD, node("n2").gpu("GPU-b"), BOUND, other)
    for kind in ("nodes", "pods"):
        server.fail("GET", f"/{kind}?watch=true", answers(410), times=1)
    async with following(server) as extender:
        await until_used(extender, 17_000)
        server.delete(node("n2"), silently=True)
        server.delete(other, silently=True)
        server.delete(BOUND, silently=True)
        server.put(HELD.uid("made-again"))
        server.tell("pods", "ERROR", {"code": 410})
        server.tell("nodes", "ERROR", {"code": 410})
        await until_used(extender, 0)
        await until(lambda: len(extender.ledger.nodes) == 1)


async def test_events() -> None:
    """Seen, finished, deleted; deleted and made again."""
    server = ApiServer().with_all(CARD)
    async with following(server) as extender:
        await until_used(extender, 0)
        server.put(BOUND)
        await until_used(extender, 16_000)
        server.put(BOUND.phase("Succeeded"))
        await until_used(extender, 0)
        server.delete(BOUND)
        server.put(BOUND.uid("second"))
        await until_used(extender, 16_000)
        server.delete(BOUND.uid("second"))
        await until_used(extender, 0)
        server.delete(CARD)
        await until_used(extender, None)
        assert not extender.ledger.pods


async def test_pods_of_no_interest_are_not_kept() -> None:
    """They neither ask for devices nor hold any, and they are many."""
    server = ApiServer().with_all(CARD, BOUND, pod("plain").app("a").on("n1"))
    async with following(server) as extender:
        await until_used(extender, 16_000)
        assert [known.name for known in extender.ledger.pods.values()] == ["p"]


def broken(builder: PodBuilder) -> Json:
    """Give a pod that cannot be read: a container without a name."""
    obj = builder.build()
    obj["spec"]["containers"][0].pop("name")
    return obj


async def test_unreadable_pod_keeps_its_node() -> None:
    """A bound pod that cannot be read holds the cards that its annotation names."""
    server = ApiServer().with_all(CARD.gpu("GPU-b"))
    server.put(broken(BOUND))
    async with following(server) as extender:
        await until_used(extender, 0)
        totals = totals_of(extender.ledger.fleet, NodeName("n1"))
        assert totals is not None
        assert totals.quarantined == {"GPU-a"}
        server.put(BOUND)
        await until_used(extender, 16_000)
        server.put(broken(BOUND))
        server.put(node("n3").gpu("GPU-c"))
        await until_used(extender, 16_000)
        server.put(broken(BOUND.phase("Failed")))
        await until_used(extender, 0)
        server.put(broken(pod("unbound").app("a", gpu=1)))
        server.put(BOUND.uid("later"))
        await until_used(extender, 16_000)


async def test_unreadable_pod_without_named_cards_closes_its_node() -> None:
    """Whatever it holds cannot be told."""
    server = ApiServer().with_all(CARD)
    server.put(broken(pod("p").app("a", gpu=1).on("n1").phase("Running")))
    async with following(server) as extender:
        await until_used(extender, 0)
        totals = totals_of(extender.ledger.fleet, NodeName("n1"))
        assert totals is not None
        assert totals.closures == 1


async def test_unreadable_node_is_passed_over() -> None:
    """It refuses itself only."""
    server = ApiServer().with_all(CARD, BOUND)
    shown = node("n2").gpu("GPU-b").build()
    server.put(shown)
    shown["metadata"] = {**shown["metadata"], "annotations": ["no", "object"]}
    async with following(server) as extender:
        await until_used(extender, 16_000)
        assert inventory_of(extender.ledger.nodes[NodeName("n2")]).problem is not None


NO_LISTS: Final[dict[str, Json]] = {
    "an empty object": {},
    "a status": {"kind": "Status", "status": "Success"},
    "no items": {"kind": "PodList", "metadata": {"resourceVersion": "9"}},
    "null": {"kind": "PodList", "metadata": {"resourceVersion": "9"}, "items": None},
}


@pytest.mark.parametrize("answer", NO_LISTS.values(), ids=NO_LISTS)
async def test_answer_that_is_no_list_forgets_nothing(answer: Json) -> None:
    """It is asked again; what was known counts on."""
    held = pod("q").app("a", gpu=1, gpumem=16_000).phase("Running").on("n1")
    server = ApiServer().with_all(ONE_CARD, held.holding("GPU-a,NVIDIA,16000,0:;"))
    async with running(server) as run:
        server.fail("GET", "/pods?limit", says(answer))
        before = len(server.asked("GET", "/pods?limit"))
        run.cluster.list_again()
        await until(lambda: len(server.asked("GET", "/pods?limit")) == before + 2)
        assert run.used() == 16_000


async def test_pod_that_is_back_counts_again() -> None:
    """The API was restored from a backup, of before the pod was deleted."""
    held = pod("q").app("a", gpu=1, gpumem=16_000).phase("Running").on("n1")
    held = held.holding("GPU-a,NVIDIA,16000,0:;")
    server = ApiServer().with_all(ONE_CARD, held)
    async with running(server) as run:
        server.delete(held)
        await until(lambda: run.used() == 0)
        server.put(held)
        run.cluster.list_again()
        await until(lambda: run.used() == 16_000)
