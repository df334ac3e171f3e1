"""Clients that are slow, silent, many, or speak no HTTP: others are served on."""

import asyncio
import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extender.runtime import embed
from extender.settings import HttpSettings, Settings
from extender.web.app import build_app
from tests.builders import node, pod
from tests.cli.command import EXAMPLE
from tests.web.doors import PATIENCE_SECONDS, Caller, Served, opened, request
from tests.web.scheduler import arguments, binding

ASKING: Final = pod("p").app("a", gpu=1, gpumem=1000)
NODES: Final = (node("n1").gpu("GPU-a"), ASKING)
QUESTION: Final = json.dumps(arguments(ASKING, ["n1"], None)).encode()
LARGE: Final = QUESTION + b" " * 100_000
"""A body that has to wait for its turn."""

DOOR: Final = HttpSettings(port=0)
HASTY: Final = replace(
    DOOR, header_seconds=0.2, body_seconds=0.2, unread_seconds=0.2, answer_seconds=0.2
)
"""Limits that are reached within a test."""


async def _asked(caller: Caller, body: bytes = QUESTION) -> int:
    caller.send(request("POST", "/filter", body))
    return (await caller.answer())[0]


async def _is_served(door: Served) -> bool:
    caller = await door.connect()
    is_served = await _asked(caller) == 200
    await caller.close()
    return is_served


@pytest.mark.parametrize(
    ("begun", "more"),
    [
        (b"G", b""),
        (b"GET /", b"a"),
        (b"GET / HTTP/1.1\r\nHost: a", b"a"),
        (b"GET / HTTP/1.1\r\n", b"a: b\r\n"),
        (b"\r\n", b"\r\n"),
    ],
)
async def test_header_that_never_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, begun: bytes, more: bytes
) -> None:
    """408 and the end, however often another byte comes; silence is not that."""
    async with opened(tmp_path, HASTY, *NODES) as door:
        silent = await door.connect()
        late = await door.connect()
        late.send(begun)
        assert (await late.trickle(more)).startswith(b"HTTP/1.1 408 ")
        assert caplog.messages[-1].endswith("header took longer than 0.2 s")
        assert await _asked(silent) == 200


async def test_second_header_on_a_connection_that_never_ends(tmp_path: Path) -> None:
    """The limit counts for each request, not only for the first."""
    async with opened(tmp_path, HASTY, *NODES) as door:
        caller = await door.connect()
        assert await _asked(caller) == 200
        caller.send(b"POST /filter HTTP/1.1\r\n")
        assert (await caller.trickle(b"a: b\r\n")).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("path", ["/filter", "/prioritize", "/bind", "/pods"])
async def test_body_that_never_ends(tmp_path: Path, path: str) -> None:
    """408 that says so, and the end."""
    async with opened(tmp_path, HASTY, *NODES) as door:
        caller = await door.connect()
        caller.send(request("POST", path, QUESTION)[: -len(QUESTION)])
        head, _, body = (await caller.trickle(b"")).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ")
        assert json.loads(body) == {"error": "body: did not come within 0.2 s"}
        assert await _is_served(door)


async def test_body_that_nobody_reads_and_never_ends(tmp_path: Path) -> None:
    """The answer comes at once, and then the end."""
    async with opened(tmp_path, HASTY, *NODES) as door:
        caller = await door.connect()
        caller.send(request("POST", "/nowhere", b"x" * 60_000)[:-60_000])
        assert (await caller.trickle(b"x")).startswith(b"HTTP/1.1 404 ")


async def test_answer_that_is_not_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The connection is cut, and what it held is free again."""
    names = [f"unknown-{number}-{'x' * 200}" for number in range(60_000)]
    body = json.dumps(arguments(ASKING, names, None)).encode()
    async with opened(tmp_path, replace(HASTY, body_seconds=30.0), *NODES) as door:
        caller = await door.connect()
        # Go on sending and never read: what is answered has nowhere to go.
        caller.writer.transport.pause_reading()  # type: ignore[attr-defined]
        caller.send(request("POST", "/filter", body))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not any(  # noqa: ASYNC110 - a log sets no event
                "did not take its answer" in each for each in caplog.messages
            ):
                await asyncio.sleep(0.01)
        assert await _is_served(door)


async def test_large_bodies_take_turns(tmp_path: Path) -> None:
    """One that waits is served once it is its turn; small ones wait for nothing."""
    async with opened(tmp_path, replace(DOOR, large_bodies=1), *NODES) as door:
        slow, waiting, small = [await door.connect() for _ in range(3)]
        sent = request("POST", "/filter", LARGE)
        slow.send(sent[:-1])
        await _until_read(door)
        waiting.send(sent)
        assert await _asked(small) == 200
        small.send(request("POST", "/bind", json.dumps(binding(ASKING, "n1")).encode()))
        assert json.loads((await small.answer())[1]) == {"Error": ""}
        slow.send(sent[-1:])
        assert (await slow.answer())[0] == 200
        assert (await waiting.answer())[0] == 200


async def test_turn_that_never_comes(tmp_path: Path) -> None:
    """503 says why; kube-scheduler tries the pod again."""
    hasty = replace(DOOR, large_bodies=0, body_seconds=0.2)
    async with opened(tmp_path, hasty, *NODES) as door:
        caller = await door.connect()
        caller.send(request("POST", "/filter", LARGE))
        status, body = await caller.answer()
        assert status == 503
        assert "other large ones were read for 0.2 s" in json.loads(body)["error"]


async def _until_read(door: Served) -> None:
    """Wait until what was sent before has arrived, by a connection of its own."""
    for _ in range(5):
        assert await _is_served(door)


async def test_one_connection_too_many(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The one that has asked nothing for longest makes room."""
    async with opened(tmp_path, replace(DOOR, connection_limit=2), *NODES) as door:
        first, second = await door.connect(), await door.connect()
        assert await _asked(second) == 200
        assert await _asked(first) == 200
        third = await door.connect()
        assert await _asked(third) == 200
        assert await second.rest() == b""
        assert await _asked(first) == 200
        assert len([each for each in caplog.messages if "2 connections" in each]) == 1


async def test_requests_under_way_are_never_cut_for_others(tmp_path: Path) -> None:
    """Where each connection has one, a new connection is refused, and they go on."""
    async with opened(tmp_path, replace(DOOR, connection_limit=2), *NODES) as door:
        busy = [await door.connect() for _ in range(2)]
        sent = request("POST", "/filter", QUESTION)
        for each in busy:
            assert await _asked(each) == 200
            each.send(sent[:-1])
        await asyncio.sleep(0.1)
        refused = await door.connect()
        refused.send(sent)
        assert await refused.rest() == b""
        for each in busy:
            each.send(sent[-1:])
            assert (await each.answer())[0] == 200


TOO_MUCH: Final = {
    "a line": b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    "a header": b"GET / HTTP/1.1\r\nHost: a\r\nA: " + b"b" * 9_000 + b"\r\n\r\n",
    "headers": b"GET / HTTP/1.1\r\nHost: a\r\n" + b"A: b\r\n" * 70 + b"\r\n",
}


@pytest.mark.parametrize("sent", TOO_MUCH.values(), ids=TOO_MUCH)
async def test_too_long_a_header(tmp_path: Path, sent: bytes) -> None:
    """400 as JSON, and the end."""
    async with opened(tmp_path, DOOR, *NODES) as door:
        caller = await door.connect()
        caller.send(sent)
        head, _, body = (await caller.rest()).partition(b"\r\n\r\n")
        assert head.split()[1] == b"400"
        assert list(json.loads(body)) == ["error"]
        assert await _is_served(door)


GARBAGE: Final = {
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03secret",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "NUL bytes": b"\0" * 1_000,
    "a header without name": b"GET / HTTP/1.1\r\n: secret\r\n\r\n",
    "a header with NUL": b"GET / HTTP/1.1\r\nAuthorization: secret\0\r\n\r\n",
    "two lengths": b"POST /filter HTTP/1.1\r\nContent-Length: 1\r\n"
    b"Content-Length: 2\r\nA: secret\r\n\r\nab",
    "length and chunks": b"POST /filter HTTP/1.1\r\nContent-Length: 6\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nsecret",
    "a negative length": b"POST /filter HTTP/1.1\r\nContent-Length: -1\r\n\r\nsecret",
    "a chunk of nonsense": b"POST /filter HTTP/1.1\r\nHost: a\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nsecret\r\n",
    "another version": b"GET /secret HTTP/9.9\r\n\r\n",
    "an expectation": b"POST /filter HTTP/1.1\r\nHost: a\r\nExpect: secret\r\n"
    b"Content-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("sent", GARBAGE.values(), ids=GARBAGE)
async def test_garbage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    """A 4xx or the end; the log has no traceback, and nothing of what came."""
    async with opened(tmp_path, HASTY, *NODES) as door:
        caller = await door.connect()
        caller.send(sent)
        caller.writer.write_eof()
        said = await caller.rest()
        assert said == b"" or said.split()[1].startswith(b"4")
        assert b"Traceback" not in said
        _check_log(caplog)
        assert await _is_served(door)


@pytest.mark.filterwarnings("error")
def test_random_bytes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing that comes stops the others, or fills the log with our code."""
    with asyncio.Runner() as runner:
        opening = opened(tmp_path, HASTY, *NODES)
        door = runner.run(opening.__aenter__())
        words = st.sampled_from(
            [*GARBAGE.values(), *TOO_MUCH.values(), request("POST", "/filter", b"{}")]
        )
        cut = st.builds(lambda text, at: text[:at], words, st.integers(0, 200))
        pieces = st.lists(words | cut | st.binary(max_size=64), max_size=4)

        @settings(suppress_health_check=[HealthCheck.too_slow])
        @given(pieces=pieces)
        def check(pieces: list[bytes]) -> None:
            runner.run(_send(door, pieces))
            _check_log(caplog, secret="no word")

        try:
            check()
            assert runner.run(_is_served(door))
        finally:
            runner.run(opening.__aexit__(None, None, None))


async def _send(door: Served, pieces: list[bytes]) -> None:
    caller = await door.connect()
    for piece in pieces:
        caller.send(piece)
    caller.writer.write_eof()
    await caller.close()
    assert b"Traceback" not in await caller.rest()


async def test_client_that_goes_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In its header, in its body, and while it is answered: no traceback."""
    async with opened(tmp_path, DOOR, *NODES) as door:
        sent = request("POST", "/filter", QUESTION)
        for size in (10, len(sent) - 1, len(sent)):
            caller = await door.connect()
            caller.send(sent[:size])
            await asyncio.sleep(0.05)
            await caller.close()
            await _until_read(door)
    _check_log(caplog)


async def test_fault_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    """The client hears that there is one, the log all of it."""
    embedded = embed([EXAMPLE], Settings())
    app = build_app(embedded.extender, HttpSettings(), embedded.cluster)

    async def fail(_: web.Request) -> web.Response:
        raise RuntimeError("of which the client must not hear")

    app.router.add_get("/fault", fail)
    async with TestClient(TestServer(app)) as client, client.get("/fault") as answer:
        status, body = answer.status, await answer.json()
    assert status == 500
    assert body == {"error": "a fault of the extender; its log says more"}
    (record,) = [each for each in caplog.records if each.exc_info]
    assert "a fault while answering GET /fault" in record.getMessage()


async def test_no_secrets_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither headers, nor queries, nor what a pod's environment holds."""
    caplog.set_level(logging.DEBUG)
    held = pod("holder").app("a", gpu=1, gpumem="secret").build()
    held["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "secret-1"}]
    held["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpumem"] = "?"
    bodies = [
        json.dumps(held).encode(),
        json.dumps(arguments(held, ["n1"], None)).encode(),
        b'{"secret": ',
        b"secret: [",
    ]
    async with opened(tmp_path, DOOR, *NODES) as door:
        for path in ("/filter", "/prioritize", "/bind", "/pods", "/nowhere"):
            for body in bodies:
                caller = await door.connect()
                headers = (b"Authorization: Bearer secret-2", b"Cookie: secret-3")
                caller.send(request("POST", f"{path}?secret=4", body, *headers))
                await caller.answer()
                await caller.close()
    assert len(caplog.messages) > 10
    _check_log(caplog)


def _check_log(caplog: pytest.LogCaptureFixture, secret: str = "secret") -> None:
    assert [each for each in caplog.records if each.exc_info] == []
    assert [each for each in caplog.messages if secret in each] == []
    assert [each for each in caplog.messages if "\n" in each] == []


async def test_request_writes_no_lines_of_its_own(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither by a path, nor by a key that an error names."""
    asked = arguments(ASKING, ["n1"], None)
    asked["Pod"]["metadata"]["annotations"] = {"a\nFORGED \x1b[2J": 1}
    async with opened(tmp_path, DOOR, *NODES) as door:
        for path in ("/filter", "/nowhere%0AFORGED", "/nowhere\x1b", "/\xff"):
            caller = await door.connect()
            caller.send(request("POST", path, json.dumps(asked).encode()))
            assert (await caller.answer())[0] in {400, 404}
    assert len(caplog.messages) == 4
    assert [each for each in caplog.messages if not each.isprintable()] == []


@pytest.mark.parametrize("path", ["/bind", "/nowhere"])
async def test_body_that_is_not_what_its_headers_say_writes_no_pages(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    """Nor does it where nobody wants it: aiohttp unpacks it after the answer, too."""
    async with opened(tmp_path, DOOR, *NODES) as door:
        sent = await door.connect()
        sent.send(
            f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\n"
            "Content-Length: 2\r\n\r\n{}".encode()
        )
        assert b" 40" in await sent.rest()
        assert await _is_served(door)
    assert "Traceback" not in caplog.text
    assert caplog.messages
