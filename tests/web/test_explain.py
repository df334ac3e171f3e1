"""``/explain``: the same view as the command's, to loopback, and nothing changes."""

import asyncio
from collections.abc import Callable, Coroutine
from http import HTTPStatus

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from extender.core.names import NodeName
from extender.core.usage import Usage
from extender.verbs.explanation import Explanation, Outcome
from extender.web.explain import _explain_manifest, _explain_named
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
NODE = node("n1").gpu("GPU-a", memory=24_000)


def told(body: bytes) -> Explanation:
    """Read the answer as the command does."""
    return decode_view(Explanation, orjson.loads(body))


async def test_pod_that_waits(serve: Serve) -> None:
    """Who holds the card, when that comes back, and what is missing."""
    scheduler = await serve(NODE, HELD, WAITS)
    answer = await scheduler.send("GET", "/explain/default/waits")
    assert answer.status == HTTPStatus.OK
    view = told(answer.body)
    assert (view.outcome, view.fitting) == (Outcome.REFUSED, ())
    [only] = view.nodes
    [card] = only.cards
    assert (card.free.memory_mib, card.needed) == (3_520, Usage(1, 12_000, 0))
    [holder] = card.holders
    assert (holder.pod, holder.runs) == ("default/held", "init tokenize")
    assert [(each.when, each.amount.memory_mib) for each in holder.returns] == [
        ("init tokenize exits", 10_240),
        ("the pod ends", 10_240),
    ]
    assert view.nearest is not None
    [relief] = view.nearest.reliefs
    assert (relief.cards, relief.amount) == (("GPU-a",), Usage(0, 8_480, 0))


async def test_pod_that_is_bound(serve: Serve) -> None:
    """What it holds in each phase."""
    scheduler = await serve(NODE, HELD)
    view = told((await scheduler.send("GET", "/explain/default/held")).body)
    assert (view.outcome, view.node, view.nodes) == (Outcome.BOUND, "n1", ())
    [card] = view.holds
    assert [(each.name, each.held.memory_mib) for each in card.phases] == [
        ("init tokenize", 20_480),
        ("steady: sidecars + apps", 10_240),
    ]
    assert card.now.memory_mib == 20_480


async def test_manifest(serve: Serve) -> None:
    """As if it were created now; the same in the process."""
    scheduler = await serve(NODE, node("n2"))
    body = orjson.dumps(pod("new").app("a", gpu=1, gpumem=12_000).build())
    answer = await scheduler.send("POST", "/explain?node=n2&node=n9", body)
    view = told(answer.body)
    assert view.outcome is Outcome.FITS
    assert view.place is not None
    assert view.place.node == "n1"
    read = scheduler.extender.reader.read(orjson.loads(body))
    explainer = scheduler.extender.explainer
    assert await explainer.explain_manifest(read, [NodeName("n2")]) == view


@pytest.mark.parametrize(
    ("asked", "body", "status", "complaint"),
    [
        ("GET /explain/default/other", b"", 404, "pod default/other is not known"),
        ("POST /explain", b"{}", 400, "metadata"),
        ("POST /explain", b"kind: Pod", 400, "body: what begins with b'kind: Pod'"),
        ("POST /explain", b"", 400, "body: empty is not JSON"),
        ("GET /explain/default/p?node=n", b"", 404, "is not known"),
        (f"GET /explain/a/p?{'&'.join(['node=n'] * 65)}", b"", 400, "65 nodes"),
    ],
)
async def test_what_cannot_be_answered(
    serve: Serve, asked: str, body: bytes, status: int, complaint: str
) -> None:
    """It says what is wrong."""
    scheduler = await serve(NODE)
    method, path = asked.split()
    answer = await scheduler.send(method, path, body)
    assert answer.status == status
    assert complaint in answer.json["error"]


async def test_not_synced(serve: Serve) -> None:
    """What is not known yet is no answer."""
    scheduler = await serve(NODE, WAITS, synced=False)
    for method, path in (("GET", "/explain/default/waits"), ("POST", "/explain")):
        answer = await scheduler.send(method, path, orjson.dumps(WAITS.build()))
        assert answer.status == HTTPStatus.SERVICE_UNAVAILABLE


@pytest.mark.parametrize("remote", ["10.0.0.7", "2001:db8::1", "", "name"])
@pytest.mark.parametrize("handler", [_explain_named, _explain_manifest])
def test_explain_is_for_loopback_only(
    remote: str, handler: Callable[[web.Request], Coroutine[None, None, web.Response]]
) -> None:
    """It names pods, their nodes and cards."""
    headers = {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"}
    request = make_mocked_request("GET", "/explain/a/b", headers).clone(remote=remote)
    with pytest.raises(web.HTTPForbidden, match="loopback only"):
        asyncio.run(handler(request))
