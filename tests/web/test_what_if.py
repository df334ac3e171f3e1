"""``POST /what-if``: how many fit, to loopback, and bad questions are named."""

import asyncio
from dataclasses import replace
from http import HTTPStatus

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from extender.core.reasons import Reason
from extender.verbs.supposition import Ended, WhatIf
from extender.web.what_if import _what_if
from extender.wire.views import decode_view
from tests.builders import Json, node, pod, resource_quota
from tests.web.conftest import Serve

NODE = node("n1").gpu("GPU-a", memory=24_000).gpu("GPU-b", memory=24_000)
POD = pod("new").app("a", gpu=1, gpumem=10_000).build()
HELD = (
    pod("held")
    .app("a", gpu=1, gpumem=20_000)
    .holding("GPU-a,NVIDIA,20000,0:;")
    .on("n1")
    .phase("Running")
)


def question(**supposed: object) -> bytes:
    """Write a body."""
    return orjson.dumps({"pod": POD, **supposed})


async def test_count_limit_and_nodes_needed(serve: Serve) -> None:
    """How many, why no more, and how many nodes would do."""
    scheduler = await serve(NODE, HELD)
    generation = scheduler.extender.ledger.generation
    answer = await scheduler.send("POST", "/what-if", question(replicas=9))
    assert answer.status == HTTPStatus.OK
    told = decode_view(WhatIf, orjson.loads(answer.body))
    assert (told.fits, told.ended) == (2, Ended.LIMIT)
    [group] = told.limits
    assert group.reasons == (Reason.CARD_INSUFFICIENT_MEMORY,)
    assert group.findings[0].text == "needs 10000 MiB, 4000 free"
    [needed] = told.needed
    assert (needed.type, needed.per_node, needed.nodes) == ("n1", 4, 2)
    assert scheduler.extender.ledger.generation == generation


async def test_supposed_nodes_and_pods(serve: Serve) -> None:
    """Nodes that are not there take pods; pods that are supposed gone hold nothing."""
    scheduler = await serve(NODE, HELD)
    body = question(
        add_nodes=[{"type": "NVIDIA A10x3", "count": 2}], without=["default/held"]
    )
    told = decode_view(
        WhatIf, orjson.loads((await scheduler.send("POST", "/what-if", body)).body)
    )
    assert told.fits == 4 + 2 * 6
    assert [(each.node, each.pods, each.is_added) for each in told.nodes] == [
        ("~NVIDIA A10x3-1", 6, True),
        ("~NVIDIA A10x3-2", 6, True),
        ("n1", 4, False),
    ]


async def test_quota_is_the_limit(serve: Serve) -> None:
    """No number of nodes would do."""
    hard = {"limits.nvidia.com/gpumem": 25_000}
    scheduler = await serve(NODE, resource_quota("q", hard=hard))
    answer = await scheduler.send("POST", "/what-if", question(replicas=3))
    told = decode_view(WhatIf, orjson.loads(answer.body))
    assert (told.fits, told.ended) == (2, Ended.QUOTA)
    [short] = told.quota
    assert (short.needed, short.used, short.limit) == (10_000, 20_000, 25_000)
    assert [each.nodes for each in told.needed] == [None]


async def test_nodes_are_chosen_by_score(serve: Serve) -> None:
    """As by the command schedule: by binpack the fuller node, by spread the other."""
    held = replace(HELD, node_name="n2").holding("GPU-c,NVIDIA,40000,60:;")
    nodes = node("n1").gpu("GPU-a"), node("n2").gpu("GPU-c", memory=48_000)
    scheduler = await serve(*nodes, held)
    for policy, name in (("binpack", "n2"), ("spread", "n1")):
        asking = pod("new").annotations({"hami.io/node-scheduler-policy": policy})
        asking = asking.app("a", gpu=1, gpumem=2_000)
        body = question(pod=asking.build(), replicas=1)
        answer = await scheduler.send("POST", "/what-if", body)
        assert [each["node"] for each in answer.json["nodes"]] == [name]


async def test_each_type_has_all_of_the_quota(serve: Serve) -> None:
    """What is tried on nodes of one type takes nothing from another's."""
    hard = {"limits.nvidia.com/gpumem": 80_000}
    scheduler = await serve(NODE, resource_quota("q", hard=hard))
    types = [{"type": "n1"}, {"type": "NVIDIA A10x1"}]
    body = question(replicas=8, add_nodes=types)
    answer = await scheduler.send("POST", "/what-if", body)
    told = decode_view(WhatIf, orjson.loads(answer.body))
    assert (told.fits, told.ended) == (4, Ended.LIMIT)
    assert [each.nodes for each in told.needed] == [1, 2]
    body = question(replicas=9, add_nodes=types)
    answer = await scheduler.send("POST", "/what-if", body)
    beyond = decode_view(WhatIf, orjson.loads(answer.body))
    assert [(each.nodes, each.why_not) for each in beyond.needed] == [
        (None, Ended.QUOTA),
        (None, Ended.QUOTA),
    ]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"pod": None}, "body.pod"),
        ({"replicas": 0}, "replicas: 0 is not 1 to 10000"),
        ({"replicas": 10_001}, "replicas: 10001 is not 1 to 10000"),
        ({"replicas": "3"}, "body.replicas"),
        ({"replica": 3}, "body.replica"),
        ({"add_nodes": [{"count": 3}]}, "body.add_nodes[0].type"),
        ({"add_nodes": [{"type": "n1", "count": 1_001}]}, "add_nodes.count"),
        ({"add_nodes": [{"type": "n1", "count": -1}]}, "add_nodes.count"),
        ({"add_nodes": [{"type": "n1"}, {"type": "n1"}]}, "each type once"),
        (
            {
                "add_nodes": [
                    {"type": "n1", "count": 600},
                    {"type": "NVIDIA A10x1", "count": 600},
                ]
            },
            "1200 nodes",
        ),
        ({"without": ["p"] * 1_001}, "1001 pods"),
    ],
)
async def test_questions_that_cannot_be_answered(
    serve: Serve, changed: Json, complaint: str
) -> None:
    """The field is named."""
    scheduler = await serve(NODE)
    body = orjson.dumps({"pod": POD, **changed})
    answer = await scheduler.send("POST", "/what-if", body)
    assert answer.status == HTTPStatus.BAD_REQUEST
    assert complaint in answer.json["error"]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"add_nodes": [{"type": "n7"}]}, "no type of node is 'n7'"),
        ({"add_nodes": [{"type": "A10x4"}]}, "models are NVIDIA A10"),
        ({"without": ["default/other"]}, "pod default/other is not known"),
    ],
)
async def test_what_is_not_there(serve: Serve, changed: Json, complaint: str) -> None:
    """A slip of the pen is no answer to another question."""
    scheduler = await serve(NODE)
    answer = await scheduler.send("POST", "/what-if", question(**changed))
    assert answer.status == HTTPStatus.NOT_FOUND
    assert complaint in answer.json["error"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"{"])
async def test_bodies_that_are_no_question(serve: Serve, body: bytes) -> None:
    """They are refused, and nothing breaks."""
    scheduler = await serve(NODE)
    answer = await scheduler.send("POST", "/what-if", body)
    assert answer.status == HTTPStatus.BAD_REQUEST


async def test_others_are_answered_meanwhile(serve: Serve) -> None:
    """Between replicas; one question at a time."""
    nodes = [
        node(f"n{at:03}").gpu("GPU-a", memory=240_000, count=60) for at in range(20)
    ]
    scheduler = await serve(*nodes)
    asked = question(replicas=400)
    questions = [
        asyncio.ensure_future(scheduler.send("POST", "/what-if", asked))
        for _ in range(2)
    ]
    answered = 0
    while not any(each.done() for each in questions):
        assert (await scheduler.send("GET", "/healthz")).status == HTTPStatus.OK
        answered += 1
    assert answered > 10
    for each in questions:
        assert orjson.loads((await each).body)["fits"] == 400


async def test_not_synced(serve: Serve) -> None:
    """What is not known yet is no answer."""
    scheduler = await serve(NODE, synced=False)
    answer = await scheduler.send("POST", "/what-if", question())
    assert answer.status == HTTPStatus.SERVICE_UNAVAILABLE


@pytest.mark.parametrize("remote", ["10.0.0.7", "2001:db8::1", "", "name"])
def test_what_if_is_for_loopback_only(remote: str) -> None:
    """It names nodes, and takes time."""
    request = make_mocked_request("POST", "/what-if").clone(remote=remote)
    with pytest.raises(web.HTTPForbidden, match="loopback only"):
        asyncio.run(_what_if(request))
