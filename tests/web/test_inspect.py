"""``/inspect``: cards with who holds them, to loopback, and nothing changes."""

import asyncio
from collections.abc import Callable, Coroutine
from http import HTTPStatus

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from extender.core.reasons import Reason
from extender.core.usage import Usage
from extender.verbs.inspection import ClusterInspection, InspectedNode, InspectedPod
from extender.web.inspect import _inspect_cluster, _inspect_node, _inspect_pod
from extender.wire.views import decode_view
from tests.builders import node, pod
from tests.web.conftest import Serve

HELD = (
    pod("held")
    .init("tokenize", gpu=1, gpumem=20_480)
    .app("a", gpu=1, gpumem=10_240)
    .holding("GPU-a,NVIDIA,20480,0:;GPU-a,NVIDIA,10240,0:;")
    .on("n1")
    .phase("Running")
)
WAITS = pod("waits").app("a", gpu=1, gpumem=12_000)
NODE = node("n1").gpu("GPU-a", memory=24_000).gpu("GPU-b", memory=24_000, health=False)


async def test_cluster(serve: Serve) -> None:
    """Models, nodes and pods add up; memory of a sick card is stranded."""
    scheduler = await serve(NODE, node("n2"), HELD, WAITS)
    generation = scheduler.extender.ledger.generation
    answer = await scheduler.send("GET", "/inspect")
    told = decode_view(ClusterInspection, orjson.loads(answer.body))
    [model] = told.models
    assert (model.cards, model.free_mib, model.largest_free_mib) == (2, 3_520, 3_520)
    assert model.charged.memory_mib == 20_480
    [lost] = model.stranded
    assert (lost.reason, lost.cards) == (Reason.CARD_NOT_HEALTHY, 1)
    assert lost.memory_mib == 24_000
    assert [each.count for each in model.shapes] == [0, 0, 0, 1]
    assert (told.pods.bound, told.pods.waiting) == (1, 1)
    assert [each.node for each in told.nodes] == ["n1"]
    assert told.bare_nodes == 1
    assert told.is_of_one_moment
    assert scheduler.extender.ledger.generation == generation


async def test_node(serve: Serve) -> None:
    """Each card with its holders, their phase, and what returns when."""
    scheduler = await serve(NODE, HELD)
    answer = await scheduler.send("GET", "/inspect/nodes/n1")
    told = decode_view(InspectedNode, orjson.loads(answer.body))
    first, second = told.cards
    [holder] = first.holders
    assert (holder.pod, holder.runs) == ("default/held", "init tokenize")
    assert [(each.when, each.amount.memory_mib) for each in holder.returns] == [
        ("init tokenize exits", 10_240),
        ("the pod ends", 10_240),
    ]
    assert first.closed_by is None
    assert second.closed_by is Reason.CARD_NOT_HEALTHY


async def test_pod(serve: Serve) -> None:
    """What it holds, phase by phase; what waits holds nothing."""
    scheduler = await serve(NODE, HELD, WAITS)
    answer = await scheduler.send("GET", "/inspect/pods/default/held")
    told = decode_view(InspectedPod, orjson.loads(answer.body))
    assert (told.node, told.standing, told.runs) == ("n1", "allocated", "init tokenize")
    [card] = told.holds
    assert card.now == Usage(1, 20_480, 0)
    answer = await scheduler.send("GET", "/inspect/pods/default/waits")
    waits = decode_view(InspectedPod, orjson.loads(answer.body))
    assert (waits.node, waits.holds, waits.standing) == (None, (), "holds nothing")


@pytest.mark.parametrize(
    ("path", "status", "complaint"),
    [
        ("/inspect/nodes/n9", 404, "node n9 is not known"),
        ("/inspect/pods/default/other", 404, "pod default/other is not known"),
        (f"/inspect?{'&'.join(['node=n'] * 65)}", 400, "65 nodes"),
    ],
)
async def test_what_cannot_be_answered(
    serve: Serve, path: str, status: int, complaint: str
) -> None:
    """It says what is wrong."""
    scheduler = await serve(NODE)
    answer = await scheduler.send("GET", path)
    assert answer.status == status
    assert complaint in answer.json["error"]


async def test_not_synced(serve: Serve) -> None:
    """What is not known yet is no answer."""
    scheduler = await serve(NODE, synced=False)
    for path in ("/inspect", "/inspect/nodes/n1", "/inspect/pods/default/waits"):
        answer = await scheduler.send("GET", path)
        assert answer.status == HTTPStatus.SERVICE_UNAVAILABLE


@pytest.mark.parametrize("remote", ["10.0.0.7", "2001:db8::1", "", "name"])
@pytest.mark.parametrize("handler", [_inspect_cluster, _inspect_node, _inspect_pod])
def test_inspect_is_for_loopback_only(
    remote: str, handler: Callable[[web.Request], Coroutine[None, None, web.Response]]
) -> None:
    """It names pods, their nodes and cards."""
    headers = {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"}
    request = make_mocked_request("GET", "/inspect", headers).clone(remote=remote)
    with pytest.raises(web.HTTPForbidden, match="loopback only"):
        asyncio.run(handler(request))
