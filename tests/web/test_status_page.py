"""``/ui`` without a browser: files, headers, rows, and what is told of changes."""

import asyncio
import contextlib
import gzip
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import aiohttp
import orjson
import pytest
from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient, TestServer

import extender.web
from extender.errors import NotSynced
from extender.runtime import embed
from extender.service.board import Board
from extender.service.shared_board import Lost, News, SharedBoard
from extender.settings import HttpSettings, Part, Settings
from extender.state.events import NodeGone
from extender.web.status_page import HEADERS, MOST_CLIENTS
from tests.board_page import BoardPage
from tests.builders import node, pod
from tests.cli.command import EXAMPLE
from tests.web.conftest import Serve
from tests.web.doors import opened
from tests.web.scheduler import Answer, Scheduler

FOLDER: Final = Path(extender.web.__file__).parent / "ui"
FILES: Final = sorted(each.name for each in FOLDER.iterdir() if each.suffix != ".html")
PATHS: Final = ["/ui", *[f"/ui/{name}" for name in FILES], "/ui/board", "/ui/events"]
TELLING: Final = [
    *PATHS,
    "/debug/audit",
    "/explain/a/b",
    "/inspect",
    "/inspect/nodes/a",
    "/inspect/pods/a/b",
]
NASTY: Final = "</script><img src=x onerror=alert(1)>\u2028\n\ndata: {}"
PATIENCE_SECONDS: Final = 20.0


class References(HTMLParser):
    """What a page names, and what stands in it that would run."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []
        self.inline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note addresses, handlers and styles."""
        names = dict(attrs)
        self.urls += [
            names[each] or ""
            for each in ("src", "href", "action")
            if names.get(each) is not None
        ]
        self.inline += [f"{tag} {name}" for name in names if name.startswith("on")]
        if (
            "style" in names
            or tag == "style"
            or (tag == "script" and "src" not in names)
        ):
            self.inline.append(tag)


async def test_everything_is_served_by_ourselves(serve: Serve) -> None:
    """The page, and each file that it names, with headers that let in nothing else."""
    scheduler = await serve(node("n1").gpu("GPU-a"))
    page = await scheduler.send("GET", "/ui")
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    references = References()
    references.feed(page.body.decode())
    assert references.inline == []
    outside = {each for each in references.urls if not each.startswith("/ui/")}
    assert outside == {"data:,", "#nodes"}
    for name in FILES:
        answer = await scheduler.send("GET", f"/ui/{name}")
        assert (answer.status, answer.body) == (200, (FOLDER / name).read_bytes())
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        assert answer.headers["Content-Type"] == f"{kind}; charset=utf-8"
    imported = re.findall(
        r'from "(\./[\w.]+)"', "".join((FOLDER / name).read_text() for name in FILES)
    )
    assert {each.removeprefix("./") for each in imported} <= set(FILES)


@pytest.mark.parametrize("path", [each for each in PATHS if each != "/ui/events"])
async def test_headers(serve: Serve, path: str) -> None:
    """A strict policy for contents, no guessing of types, nothing told to others."""
    scheduler = await serve(node("n1").gpu("GPU-a"))
    answer = await scheduler.send("GET", path)
    assert answer.status == 200
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    policy = dict(
        part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; ")
    )
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }


def tag_of(answer: Answer) -> str:
    """Give the ETag; how its name is written differs between the two ends."""
    return {name.lower(): value for name, value in answer.headers.items()}["etag"]


async def test_files_are_known_by_their_tag(serve: Serve) -> None:
    """A browser that has one is told so; a new version of us has other tags."""
    scheduler = await serve(node("n1").gpu("GPU-a"))
    tags = set()
    for path in PATHS[:-2]:
        first = await scheduler.send("GET", path)
        assert first.headers["Cache-Control"] == "no-cache"
        tag = {"If-None-Match": tag_of(first)}
        again = await scheduler.send("GET", path, headers=tag)
        assert (again.status, again.body) == (304, b"")
        assert tag_of(again) == tag_of(first)
        tags.add(tag_of(first))
        other = {"If-None-Match": '"other"'}
        assert (await scheduler.send("GET", path, headers=other)).status == 200
    assert len(tags) == len(PATHS) - 2


@pytest.mark.parametrize("path", TELLING)
async def test_foreign_pages_are_told_nothing(serve: Serve, path: str) -> None:
    """Neither by a name that leads here, nor by a request from another site."""
    scheduler = await serve(node("n1").gpu("GPU-a"))
    for headers in ({"Host": "a.test"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = await scheduler.send("GET", path, headers=headers)
        assert answer.status == 403
        assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize("path", ["/ui/board", "/ui/events?since=a.1"])
async def test_not_synced(serve: Serve, path: str) -> None:
    """What is not known yet is no answer."""
    scheduler = await serve(node("n1").gpu("GPU-a"), synced=False)
    assert (await scheduler.send("GET", path)).status == 503
    assert (await scheduler.send("GET", "/ui")).status == 200


def test_texts_are_never_markup() -> None:
    """The scripts have no way to make elements of a text, nor to run one."""
    wrong = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|"
        r"new Function|DOMParser|createContextualFragment|setTimeout\(['\"]|srcdoc"
    )
    for name in FILES:
        assert wrong.findall((FOLDER / name).read_text()) == []


async def test_numbers_are_those_of_inspect() -> None:
    """Every card of the example, by /inspect; and the same packed."""
    embedded = embed([EXAMPLE], Settings())
    app_of = _app(embedded.extender)
    async with TestClient(TestServer(app_of)) as client:
        async with client.get("/ui/board") as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            body = await answer.read()
        async with client.get(
            "/ui/board", headers={"Accept-Encoding": "identity"}
        ) as plain:
            assert "Content-Encoding" not in plain.headers
            assert await plain.read() == body
        page = BoardPage()
        page.take(body)
        async with client.get("/inspect") as answer:
            told = orjson.loads(await answer.read())
    names = [each["node"] for each in told["nodes"]]
    assert sorted(page.nodes) == names
    for inspected in told["in_full"]:
        summary = inspected["summary"]
        cards, pods, problems = page.nodes[summary["node"]]
        assert (pods, [*problems]) == (summary["pods"], summary["problems"])
        assert [each[7:11] for each in cards] == [
            (card["index"], *card["charged"].values()) for card in inspected["cards"]
        ]
        assert [each[3:6] for each in cards] == [
            tuple(card["capacity"].values()) for card in inspected["cards"]
        ]
        assert [each[11] or None for each in cards] == [
            card["closed_by"] for card in inspected["cards"]
        ]


def _app(shown: extender.service.Extender) -> aiohttp.web.Application:
    return extender.web.app.build_app(shown, HttpSettings())


class Stream:
    """What is told of changes."""

    def __init__(self, answer: ClientResponse) -> None:
        self._answer = answer

    async def event(self) -> tuple[str, str, bytes]:
        """Read the next event that is no heartbeat: its name, id, and data."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                lines = []
                while line := (await self._answer.content.readuntil(b"\n"))[:-1]:
                    lines.append(line.partition(b": ")[::2])
                fields = dict(lines)
                if b"event" in fields:
                    named = fields[b"event"].decode(), fields.get(b"id", b"").decode()
                    return *named, fields[b"data"]

    async def end(self) -> bytes:
        """Read to the end."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self._answer.read()


@asynccontextmanager
async def followed(
    scheduler: Scheduler, since: str, **headers: str
) -> AsyncIterator[Stream]:
    """Follow what changes."""
    client = scheduler._client
    async with client.get(f"/ui/events?since={since}", headers=headers) as answer:
        assert answer.status == 200, await answer.text()
        assert answer.headers["Content-Type"] == "text/event-stream"
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        yield Stream(answer)


async def begun(scheduler: Scheduler) -> BoardPage:
    """Read all rows."""
    page = BoardPage()
    page.take((await scheduler.send("GET", "/ui/board")).body)
    return page


async def test_changes_are_told(serve: Serve) -> None:
    """One pod is refused, another is bound; whoever was away is told all at once."""
    scheduler = await serve(node("n1").gpu("GPU-a", memory=10_000))
    page, away = await begun(scheduler), await begun(scheduler)
    asking = pod("p").app("a", gpu=1, gpumem=12_000)
    async with followed(scheduler, page.revision) as stream:
        await scheduler.add(asking)
        await scheduler.filter(asking)
        while not any(each[5] for each in page.pods.values()):
            name, revision, data = await stream.event()
            page.take(data)
            assert (name, revision) == ("rows", page.revision)
        assert [*page.pods.values()] == [
            (
                *("default", "p", None, "waiting", ""),
                (("CardInsufficientMemory", 1),),
                "it asks for more than any card has that it may use",
            )
        ]
        small = pod("small").app("a", gpu=1, gpumem=4_000)
        await scheduler.add(small)
        assert await scheduler.bind(small, "n1") == ""
        while page.nodes["n1"][1] == 0:
            page.take((await stream.event())[2])
    headers = {"Last-Event-ID": away.revision}
    async with followed(scheduler, "other.1", **headers) as stream:
        away.take((await stream.event())[2])
    assert away.shown == page.shown == (await begun(scheduler)).shown
    assert [each[8:11] for each in page.nodes["n1"][0]] == [(1, 4_000, 0)]


async def test_unknown_revision_is_lost(serve: Serve) -> None:
    """The page begins anew; one without a revision is a mistake."""
    scheduler = await serve(node("n1").gpu("GPU-a"))
    async with followed(scheduler, "other.1") as stream:
        assert await stream.event() == ("lost", "", b"{}")
        assert await stream.end() == b""
    answer = await scheduler.send("GET", "/ui/events")
    assert (answer.status, b"since" in answer.body) == (400, True)


async def test_number_of_pages_is_bounded(serve: Serve) -> None:
    """The next is told so; where one goes, there is room again."""
    scheduler = await serve(node("n1").gpu("GPU-a"))
    revision = (await begun(scheduler)).revision
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(MOST_CLIENTS):
            await stack.enter_async_context(followed(scheduler, revision))
        full = await scheduler.send("GET", f"/ui/events?since={revision}")
        assert full.status == 503
        assert b"pages are told of changes already" in full.body
        assert (await scheduler.send("GET", "/ui/board")).status == 200
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            again = scheduler._client.get(f"/ui/events?since={revision}")
            async with again as answer:
                if answer.status == 200:
                    break
            await asyncio.sleep(0.05)


async def test_fault_is_told_and_passes() -> None:
    """Where rows cannot be worked out nobody waits for ever, and the next may."""
    embedded = embed([EXAMPLE], Settings())
    shown = embedded.extender
    faults = [KeyError("a fault")]

    def make() -> Board:
        for each in faults:
            raise each
        return Board(shown.ledger, shown.last_refusals, lambda: shown.reader.kinds)

    shared = SharedBoard(make)
    with pytest.raises(NotSynced, match="the log says why"):
        await shared.whole()
    faults.clear()
    assert (await shared.whole())[0]
    await shared.close()
    with pytest.raises(NotSynced, match="stops"):
        await shared.whole()


async def test_head_ends(serve: Serve) -> None:
    """Who asks for headers alone is not told of changes."""
    scheduler = await serve(node("n1").gpu("GPU-a"))
    answer = await scheduler.send("HEAD", "/ui/events?since=a.1")
    assert (answer.status, answer.body) == (200, b"")


async def test_names_come_as_they_are(serve: Serve) -> None:
    """Whatever they are, an event stays one event, and a text a text."""
    scheduler = await serve(node("n1").gpu("GPU-a"))
    page = await begun(scheduler)
    async with followed(scheduler, page.revision) as stream:
        scheduler.see_node(node(NASTY).gpu("GPU-n"))
        scheduler.see_pod(pod(NASTY, NASTY).app("a", gpu=1))
        while NASTY not in page.nodes or not page.pods:
            page.take((await stream.event())[2])
    assert [each[:2] for each in page.pods.values()] == [(NASTY, NASTY)]


async def test_stop_does_not_wait_for_pages(tmp_path: Path) -> None:
    """Whoever looks is let go at once; the kernel has nothing left to send."""
    settings = HttpSettings(port=0)
    async with contextlib.AsyncExitStack() as stack:
        doors = opened(tmp_path, settings, node("n1").gpu("GPU-a"))
        door = await stack.enter_async_context(doors)
        url = door.doors.urls[Part.METRICS]
        session = await stack.enter_async_context(aiohttp.ClientSession())
        async with session.get(f"{url}/ui/board") as answer:
            revision = orjson.loads(await answer.read())["revision"]
        async with session.get(f"{url}/ui/events?since={revision}") as answer:
            assert answer.status == 200
            async with asyncio.timeout(settings.shutdown_seconds / 2):
                await door.doors.close()
                await answer.read()


async def test_rows_are_worked_out_once_for_all() -> None:
    """Pages that are as far get the same bytes; without any, nobody looks."""
    embedded = embed([EXAMPLE], Settings())
    shown = embedded.extender
    made: list[Board] = []

    def make() -> Board:
        made.append(
            Board(shown.ledger, shown.last_refusals, lambda: shown.reader.kinds)
        )
        return made[-1]

    shared = SharedBoard(make)
    assert made == []
    first, second = await asyncio.gather(shared.whole(), shared.whole())
    assert first[0] is second[0]
    assert gzip.decompress(first[1]) == first[0]
    [board] = made
    revision = board.revision
    with shared.client():
        assert await shared.news_since(revision, 0.01) is None
        both = asyncio.gather(*[shared.news_since(revision, 20) for _ in range(2)])
        await asyncio.sleep(0)
        gone = next(iter(shown.ledger.nodes))
        shown.take_in(NodeGone(gone))
        one, other = await both
        assert isinstance(one, News)
        assert isinstance(other, News)
        assert one.body is other.body
        assert isinstance(await shared.news_since("a.1", 1), Lost)
    await shared.close()
    assert made == [board]
