"""``/snapshot``: one moment, in pieces, to loopback, with nothing but what decides."""

import asyncio
from http import HTTPStatus

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from extender.service.snapshots import replay
from extender.state.events import PodGone, PodSeen
from extender.web.snapshot import MOST_AT_ONCE, UNDER_WAY, _of_pod
from extender.wire.snapshots import decode_snapshot
from tests.builders import Json, PodBuilder, node, pod, resource_quota
from tests.web.conftest import Serve

NODE = node("n1").gpu("GPU-a", memory=24_000)
HELD = (
    pod("held")
    .app("a", gpu=1, gpumem=20_000)
    .holding("GPU-a,NVIDIA,20000,0:;")
    .on("n1")
    .phase("Running")
)
NEW = pod("new").app("a", gpu=1, gpumem=4_000)


async def test_file_is_replayed(serve: Serve) -> None:
    """By name and by manifest; nothing changes."""
    scheduler = await serve(NODE, HELD, NEW)
    generation = scheduler.extender.ledger.generation
    named = await scheduler.send("GET", "/snapshot/default/new")
    posted = await scheduler.send("POST", "/snapshot", orjson.dumps(NEW.build()))
    for answer in (named, posted):
        assert answer.status == HTTPStatus.OK
        snapshot = decode_snapshot(answer.body)
        assert snapshot.head.decision.chosen == "n1"
        assert replay(snapshot).differences == ()
    assert scheduler.extender.ledger.generation == generation


async def test_head_has_no_body(serve: Serve) -> None:
    """As every route that is read."""
    scheduler = await serve(NODE, HELD, NEW)
    answer = await scheduler.send("HEAD", "/snapshot/default/new")
    assert (answer.status, answer.body) == (HTTPStatus.OK, b"")


async def test_pod_that_is_not_known(serve: Serve) -> None:
    """It is named."""
    scheduler = await serve(NODE)
    answer = await scheduler.send("GET", "/snapshot/default/new")
    assert answer.status == HTTPStatus.NOT_FOUND
    assert "pod default/new is not known" in answer.json["error"]


async def test_manifest_that_is_none(serve: Serve) -> None:
    """The field is named."""
    scheduler = await serve(NODE)
    answer = await scheduler.send("POST", "/snapshot", b'{"metadata": {}}')
    assert answer.status == HTTPStatus.BAD_REQUEST
    assert "metadata.name" in answer.json["error"]


SECRETS = ("s3cret", "registry.example", "steal-me", "owner", "words of")


def _with_secrets(builder: PodBuilder) -> Json:
    """Write into a pod, wherever it decides nothing, what is nobody's business."""
    shown = builder.annotations({"example.com/steal-me": "s3cret"}).build()
    shown["metadata"]["labels"] = {"owner": "s3cret"}
    shown["spec"]["schedulerName"] = "words of s3cret"
    for container in shown["spec"]["containers"]:
        container["image"] = "registry.example/s3cret"
        container["command"] = ["s3cret"]
        container["env"] = [{"name": "PASSWORD", "value": "s3cret"}]
    shown["status"]["message"] = "words of s3cret"
    shown["status"]["conditions"] = [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "words of s3cret",
        }
    ]
    return shown


async def test_file_has_nothing_but_what_decides(serve: Serve) -> None:
    """No variable, image, command, label, message or other annotation."""
    odd = NEW.annotations({"hami.io/gpu-scheduler-policy": "s3cret"})
    shown = NODE.annotations({"example.com/steal-me": "s3cret"}).labels(owner="s3cret")
    quota = resource_quota("q", hard={"limits.nvidia.com/gpumem": 90_000})
    quota["metadata"]["annotations"] = {"steal-me": "s3cret"}
    quota["spec"]["hard"]["s3cret"] = "1"
    scheduler = await serve(shown, quota, _with_secrets(HELD), _with_secrets(odd))
    known = {each.name: each for each in scheduler.extender.ledger.pods.values()}
    assert "s3cret" in known["new"].warnings[0]
    assert "s3cret" in str(known["new"].placing)
    answer = await scheduler.send("GET", "/snapshot/default/new")
    assert answer.status == HTTPStatus.OK
    assert [each for each in SECRETS if each.encode() in answer.body] == []


async def test_pods_that_hold_nothing_are_left_out(serve: Serve) -> None:
    """But for the one in question, and those that room is held for."""
    ended = pod("ended").app("a", gpu=1).on("n1").phase("Succeeded")
    waits = pod("waits").app("a", gpu=1)
    first = pod("first").app("a", gpu=1, gpumem=1_000).priority(9).nominated("n1")
    plain = pod("plain").app("a").on("n1").phase("Running")
    scheduler = await serve(NODE, HELD, ended, waits, first, plain, NEW)
    answer = await scheduler.send("GET", "/snapshot/default/new")
    names = [each.pod.name for each in decode_snapshot(answer.body).pods]
    assert names == ["held", "first", "new"]


async def test_file_is_of_one_moment(serve: Serve) -> None:
    """What changes while it is written is not in it."""
    pods = [
        pod(f"p{at:03}")
        .app("a", gpu=1, gpumem=10)
        .holding("GPU-a,NVIDIA,10,0:;")
        .on("n1")
        .phase("Running")
        for at in range(300)
    ]
    scheduler = await serve(NODE, *pods, NEW)
    extender = scheduler.extender
    begun = await extender.snapshots.begin_named("default", "new")
    pieces = []
    async for piece in extender.snapshots.written(begun):
        pieces.append(piece)
        for known in list(extender.ledger.pods.values())[:20]:
            extender.take_in(PodGone(known.uid))
        extender.take_in(PodSeen(extender.reader.read(HELD.build())))
    snapshot = decode_snapshot(b"".join(pieces))
    assert len(pieces) > len(pods) / 100
    assert [each.pod.name for each in snapshot.pods] == [
        *(each.name for each in pods),
        "new",
    ]
    assert replay(snapshot).differences == ()


async def test_few_are_written_at_one_time(serve: Serve) -> None:
    """Each keeps what changes meanwhile; one whose reader went away counts no more."""
    scheduler = await serve(NODE, HELD, NEW)
    under_way = scheduler.server.app[UNDER_WAY]
    under_way.count = MOST_AT_ONCE - 1
    for _ in range(3):
        answer = await scheduler.send("GET", "/snapshot/default/new")
        assert answer.status == HTTPStatus.OK
    under_way.count += 1
    refused = await scheduler.send("GET", "/snapshot/default/new")
    assert refused.status == HTTPStatus.SERVICE_UNAVAILABLE
    assert "try again" in refused.json["error"]
    assert under_way.count == MOST_AT_ONCE


@pytest.mark.parametrize("remote", ["10.0.0.7", "2001:db8::1", "", "name"])
def test_snapshot_is_for_loopback_only(remote: str) -> None:
    """It names everything."""
    request = make_mocked_request("GET", "/snapshot/a/b").clone(remote=remote)
    with pytest.raises(web.HTTPForbidden, match="loopback only"):
        asyncio.run(_of_pod(request))
