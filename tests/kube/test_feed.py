"""The feed: all that there is, and then every change, whatever the server does."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial

import pytest

from extender.kube.cluster import PODS
from extender.kube.feed import LIST, Feed, News, Removed, Shown
from extender.settings import KubeSettings
from tests.builders import pod
from tests.kube.server import ApiServer, Json, answers, cut, streams, until

QUICK = KubeSettings(
    page_size=2,
    request_seconds=5,
    page_seconds=5,
    idle_seconds=5,
    first_backoff_seconds=0.01,
    longest_backoff_seconds=0.02,
)
FIVE = [pod(f"p{number}").app("a") for number in range(5)]
pytestmark = pytest.mark.timeout(20)


@asynccontextmanager
async def following(
    server: ApiServer, settings: KubeSettings = QUICK
) -> AsyncIterator[AsyncGenerator[News, None]]:
    """Follow the pods of a server."""
    async with (
        server.client() as client,
        aclosing(Feed(client, PODS, settings).follow()) as stream,
    ):
        yield stream


async def told(stream: AsyncGenerator[News, None], count: int) -> list[str]:
    """Take so many news, in short: ``+p0``, ``-p0``, ``LIST``, ``LISTED``."""
    return [_short(await anext(stream)) for _ in range(count)]


def _short(news: News) -> str:
    match news:
        case Shown(obj):
            return f"+{_name(obj)}"
        case Removed(obj):
            return f"-{_name(obj)}"
        case _:
            return "LIST" if news == LIST else "LISTED"


def _name(obj: object) -> str:
    assert isinstance(obj, dict)
    name: str = obj["metadata"]["name"]
    return name


def line(kind: str, obj: Json) -> bytes:
    """Write a watch event."""
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


async def test_pages_are_followed_by_changes() -> None:
    """Every page, the mark, and then what changes; pages carry no resourceVersion."""
    server = ApiServer().with_all(*FIVE)
    async with following(server) as stream:
        expected = ["LIST", "+p0", "+p1", "+p2", "+p3", "+p4", "LISTED"]
        assert await told(stream, 7) == expected
        server.put(FIVE[0].running("a"))
        server.delete(FIVE[1])
        assert await told(stream, 2) == ["+p0", "-p1"]
    assert len(server.asked("limit=2")) == 3
    assert server.asked("watch=true", "resourceVersion=105")


async def test_page_that_grew_old_is_listed_in_one_piece() -> None:
    """410 within a list begins the list anew, so nothing of the first part stays."""
    server = ApiServer().with_all(*FIVE)
    server.fail("GET", "continue=2", answers(410))
    async with following(server) as stream:
        expected = ["LIST", "+p0", "+p1", "LIST", *[f"+p{one}" for one in range(5)]]
        assert await told(stream, 9) == expected
        assert await told(stream, 1) == ["LISTED"]


async def test_cut_stream_is_taken_up_where_it_stopped() -> None:
    """No second list; a bookmark moves the place on."""
    server = ApiServer().with_all(FIVE[0])
    bookmark = {"kind": "Pod", "metadata": {"resourceVersion": "150"}}
    server.fail("GET", "watch=true", streams(line("BOOKMARK", bookmark)))
    async with following(server) as stream:
        assert await told(stream, 3) == ["LIST", "+p0", "LISTED"]
        server.version = 150
        server.put(FIVE[1])
        assert await told(stream, 1) == ["+p1"]
    assert server.asked("watch=true", "resourceVersion=150")
    assert len(server.asked("limit=2")) == 1


async def test_connection_that_breaks_is_no_reason_to_list() -> None:
    """The watch goes on from the version of the list."""
    server = ApiServer().with_all(FIVE[0])
    server.fail("GET", "watch=true", cut())
    async with following(server) as stream:
        assert await told(stream, 3) == ["LIST", "+p0", "LISTED"]
        server.put(FIVE[1])
        assert await told(stream, 1) == ["+p1"]
    assert len(server.asked("limit=2")) == 1


GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
ENDS = {
    "410 to the request": answers(410),
    "an ERROR event that says Gone": streams(line("ERROR", GONE)),
    "an ERROR event of another kind": streams(line("ERROR", {"code": 500})),
    "403 to the request": answers(403),
    "what is no JSON, several times": streams(b"{]\n"),
}


@pytest.mark.parametrize("answer", ENDS.values(), ids=ENDS)
async def test_list_again(answer: object) -> None:
    """What went meanwhile is not in the second list."""
    server = ApiServer().with_all(*FIVE[:2])
    server.fail("GET", "watch=true", answer, times=4)  # type: ignore[arg-type]
    async with following(server) as stream:
        assert await told(stream, 4) == ["LIST", "+p0", "+p1", "LISTED"]
        server.delete(FIVE[1], silently=True)
        assert await told(stream, 3) == ["LIST", "+p0", "LISTED"]


async def test_failing_list_is_tried_again() -> None:
    """Refused, broken, overloaded: it never ends."""
    server = ApiServer().with_all(FIVE[0])
    for answer in (answers(403), answers(500), answers(429)):
        server.fail("GET", "limit=2", answer)
    async with following(server) as stream:
        expected = ["LIST"] * 4 + ["+p0", "LISTED"]
        assert await told(stream, 6) == expected


async def test_long_line() -> None:
    """A pod of 300 KiB, more than aiohttp's own reader takes."""
    server = ApiServer()
    async with following(server) as stream:
        assert await told(stream, 2) == ["LIST", "LISTED"]
        server.put(FIVE[0].annotations({"note": "x" * 300 * 1024}))
        (news,) = [await anext(stream)]
        assert isinstance(news, Shown)
        assert isinstance(news.obj, dict)
        assert len(news.obj["metadata"]["annotations"]["note"]) == 300 * 1024


async def test_idle_stream_is_cut() -> None:
    """A connection that died without a word would hide every change."""
    server = ApiServer().with_all(FIVE[0])
    server.fail("GET", "watch=true", streams(then_wait=True))
    settings = KubeSettings(idle_seconds=0.05, first_backoff_seconds=0.01)
    async with following(server, settings) as stream:
        assert await told(stream, 3) == ["LIST", "+p0", "LISTED"]
        server.put(FIVE[1])
        assert await told(stream, 1) == ["+p1"]
    assert len(server.asked("watch=true")) == 2


async def test_closing_ends_the_request() -> None:
    """Nothing is left behind on the server."""
    server = ApiServer().with_all(FIVE[0])
    async with server.client() as client:
        async with aclosing(Feed(client, PODS, QUICK).follow()) as stream:
            assert await told(stream, 3) == ["LIST", "+p0", "LISTED"]
            server.put(FIVE[1])
            assert await told(stream, 1) == ["+p1"]
            assert server.open_watches == 1
        await until(lambda: not server.open_watches)


async def test_what_has_been_told_up_to_a_version() -> None:
    """A list tells all up to its own; an event, once it was applied, up to its own."""
    server = ApiServer().with_all(*FIVE[:1])
    async with server.client() as client:
        feed = Feed(client, PODS, QUICK)
        assert not await feed.wait_until_told(1, most_seconds=60)
        async with aclosing(feed.follow()) as stream:
            assert await told(stream, 3) == ["LIST", "+p0", "LISTED"]
            following_event = asyncio.ensure_future(anext(stream))
            await until(lambda: server.open_watches == 1)
            assert await feed.wait_until_told(server.version, most_seconds=0)
            assert not await feed.wait_until_told(server.version + 1, most_seconds=60)
            for number in range(1, 21):
                server.put(FIVE[number % 5])
                await following_event
                following_event = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0.05)
            server.put(FIVE[1])
            waiting = asyncio.ensure_future(
                feed.wait_until_told(server.version, most_seconds=10)
            )
            await following_event
            assert not waiting.done()  # what was told may not be applied yet
            after_it = asyncio.ensure_future(anext(stream))
            assert await waiting
            after_it.cancel()
            await asyncio.gather(after_it, return_exceptions=True)


async def test_version_that_is_not_told_in_time() -> None:
    """Whoever asks has another way to know; in quiet times that is taken at once."""
    server = ApiServer().with_all(*FIVE[:1])
    async with server.client() as client:
        feed = Feed(client, PODS, QUICK)
        async with aclosing(feed.follow()) as stream:
            assert await told(stream, 3) == ["LIST", "+p0", "LISTED"]
            assert not await feed.wait_until_told(server.version + 1, most_seconds=60)
            for number in range(21):
                server.put(FIVE[number % 5])
                await anext(stream)
            waiting = asyncio.ensure_future(
                feed.wait_until_told(server.version + 1, most_seconds=0.5)
            )
            await asyncio.sleep(0)
            assert not waiting.done()
            assert not await waiting
            assert feed._waiting == []


async def test_version_of_a_watch_that_is_behind() -> None:
    """While much is told, what is wanted is on its way, and in a list no sooner."""
    server = ApiServer().with_all(*FIVE[:1])
    async with server.client() as client:
        feed = Feed(client, PODS, replace(QUICK, watch_moment_seconds=0.5))
        async with aclosing(feed.follow()) as stream:
            assert await told(stream, 3) == ["LIST", "+p0", "LISTED"]
            wanted = server.version + 45

            async def go_on(changes: int) -> None:
                for number in range(changes):
                    server.put(FIVE[number % 5])
                    await anext(stream)

            await go_on(21)
            waiting = asyncio.ensure_future(
                feed.wait_until_told(wanted, most_seconds=10)
            )
            await asyncio.sleep(0.3)
            await go_on(21)
            await asyncio.sleep(0.3)
            assert not waiting.done()
            await go_on(4)
            assert await waiting


async def test_silent_watch() -> None:
    """A backup was restored: what was known is never reached, so all is listed."""
    server = ApiServer().with_all(*FIVE[:2])
    settings = replace(QUICK, idle_seconds=0.3)
    async with server.client() as client:
        feed = Feed(client, PODS, settings)
        async with aclosing(feed.follow()) as stream:
            assert await told(stream, 4) == ["LIST", "+p0", "+p1", "LISTED"]
            listed_again = asyncio.ensure_future(anext(stream))
            await until(partial(_has_watched, server, 1))
            former = server.version
            assert await feed.wait_until_told(former, most_seconds=0)
            server.version = 10
            server.delete(FIVE[1], silently=True)
            await until(partial(_has_watched, server, 2))
            assert not await feed.wait_until_told(1, most_seconds=0)
            assert await listed_again == LIST
            assert await told(stream, 2) == ["+p0", "LISTED"]
            after_it = asyncio.ensure_future(anext(stream))
            await until(partial(_has_watched, server, 3))
            assert await feed.wait_until_told(server.version, most_seconds=0)
            assert not await feed.wait_until_told(former, most_seconds=0)
            after_it.cancel()
            await asyncio.gather(after_it, return_exceptions=True)


async def test_quiet_watch_with_bookmarks() -> None:
    """One that tells as little as bookmarks is resumed where it stopped."""
    server = ApiServer().with_all(*FIVE[:1])
    settings = replace(QUICK, idle_seconds=0.3)
    async with following(server, settings) as stream:
        assert await told(stream, 3) == ["LIST", "+p0", "LISTED"]
        next_told = asyncio.ensure_future(anext(stream))
        for watches in range(2, 6):
            server.version += 1
            metadata = {"resourceVersion": str(server.version)}
            server.tell("pods", "BOOKMARK", {"kind": "Pod", "metadata": metadata})
            await until(partial(_has_watched, server, watches))
        server.put(FIVE[1])
        assert _short(await next_told) == "+p1"
        assert len(server.asked("limit=")) == 1


def _has_watched(server: ApiServer, times: int) -> bool:
    return len(server.asked("watch=true")) >= times
