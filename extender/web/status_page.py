"""``/ui``: the status page, its rows, and what changes of them. It names everything."""

import hashlib
import logging
from collections.abc import AsyncIterator, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from aiohttp import web

from extender.errors import MalformedBody
from extender.service import Extender
from extender.service.board import Board
from extender.service.shared_board import Lost, News, SharedBoard
from extender.web.answers import check_synced
from extender.web.local import check_local

_log = logging.getLogger(__name__)

MOST_CLIENTS: Final = 16
"""Pages that are told of changes at the same time."""

HEARTBEAT_SECONDS: Final = 15.0
"""So that a page notices a dead connection, and so do we."""

_GLANCE_SECONDS: Final = 1.0
"""Between two looks whether a page that nothing is told is still there."""

HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; "
            "connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
    }
)
"""Nothing from elsewhere, nothing inline, in nobody's frame."""

_TYPES: Final = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
}

_BOARD: Final = web.AppKey("board", SharedBoard)
_EXTENDER: Final = web.AppKey("shows", Extender)


def add_ui(app: web.Application, extender: Extender) -> None:
    """Serve the page, to whoever is on this machine."""
    app[_EXTENDER] = extender
    app[_BOARD] = SharedBoard(
        lambda: Board(
            extender.ledger, extender.last_refusals, lambda: extender.reader.kinds
        )
    )
    files_of_page = _Files()
    app.router.add_get("/ui", files_of_page.page)
    app.router.add_get("/ui/board", _whole_board)
    app.router.add_get("/ui/events", _events)
    app.router.add_get("/ui/{file}", files_of_page.file)
    app.on_shutdown.append(_close)


async def _close(app: web.Application) -> None:
    await app[_BOARD].close()


def _check(request: web.Request) -> None:
    check_local(request)
    check_synced(request.app[_EXTENDER])


class _Files:
    """The files of the page; read once."""

    def __init__(self) -> None:
        folder = files("extender.web").joinpath("ui")
        self._files = {
            each.name: each.read_bytes()
            for each in folder.iterdir()
            if each.name.rpartition(".")[2] in _TYPES
        }

    async def page(self, request: web.Request) -> web.Response:
        """Give the page itself."""
        check_local(request)
        return self._answer(request, "index.html")

    async def file(self, request: web.Request) -> web.Response:
        """Give a file that it names."""
        check_local(request)
        name = request.match_info["file"]
        if name not in self._files:
            raise web.HTTPNotFound
        return self._answer(request, name)

    def _answer(self, request: web.Request, name: str) -> web.Response:
        content = self._files[name]
        tag = hashlib.sha256(content).hexdigest()[:32]
        # A newer version of us must not meet the scripts of an older one.
        headers = {**HEADERS, "Cache-Control": "no-cache", "ETag": f'"{tag}"'}
        if any(each.value in (tag, "*") for each in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        return web.Response(
            body=content,
            content_type=_TYPES[name.rpartition(".")[2]],
            charset="utf-8",
            headers=headers,
        )


async def _whole_board(request: web.Request) -> web.Response:
    _check(request)
    body, packed = await request.app[_BOARD].whole()
    headers = {**HEADERS, "Cache-Control": "no-store", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        headers["Content-Encoding"] = "gzip"
        body = packed
    return web.Response(body=body, content_type="application/json", headers=headers)


async def _events(request: web.Request) -> web.StreamResponse:
    _check(request)
    board = request.app[_BOARD]
    revision = request.headers.get("Last-Event-ID") or request.query.get("since", "")
    if not revision:
        raise MalformedBody("since", revision, "the revision of a board")
    if board.client_count >= MOST_CLIENTS:
        raise web.HTTPServiceUnavailable(
            reason=f"{MOST_CLIENTS} pages are told of changes already; close one"
        )
    stream = web.StreamResponse(
        headers={
            **HEADERS,
            "Cache-Control": "no-store",
            "Content-Type": "text/event-stream",
        }
    )
    with board.client():
        await stream.prepare(request)
        if request.method == "HEAD":
            return stream
        try:
            async for event in _told(request, board, revision):
                await stream.write(event)
        except ConnectionError:
            _log.debug("a page was closed")
    return stream


async def _told(
    request: web.Request, board: SharedBoard, revision: str
) -> AsyncIterator[bytes]:
    """Give events from a revision on, until it is not known or the page is gone."""
    silent_seconds = 0.0
    while not board.is_closed and request.transport is not None:
        match await board.news_since(revision, _GLANCE_SECONDS):
            case None:
                silent_seconds += _GLANCE_SECONDS
                if silent_seconds >= HEARTBEAT_SECONDS:
                    silent_seconds = 0.0
                    yield b": heartbeat\n\n"
            case News(revision, body):
                silent_seconds = 0.0
                yield b"id: %b\nevent: rows\ndata: %b\n\n" % (revision.encode(), body)
            case Lost():
                yield b"event: lost\ndata: {}\n\n"
                return
