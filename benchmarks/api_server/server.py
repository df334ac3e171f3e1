"""The stand-in itself: lists and watches over HTTP, and a switch for the events."""

import http.server
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import parse_qs, urlsplit

import orjson

from benchmarks.api_server.paced import Paced
from benchmarks.api_server.pages import Page

EVENTS_PATH: Final = "/events"
"""POST lets events flow, with a rate for each collection; DELETE stops them and tells
how many have flowed."""

_COLLECTION_PATH: Final = "/api/v1/"


@dataclass(frozen=True, slots=True)
class Collection:
    """All objects of a kind as they are listed, and what happens to them."""

    pages: Mapping[str, Page]
    events: Paced


class Server(http.server.ThreadingHTTPServer):
    """Serves collections by name, on loopback."""

    daemon_threads = True
    """A watch has no end; it must not keep the process."""

    def __init__(self, address: tuple[str, int], of: Mapping[str, Collection]) -> None:
        super().__init__(address, _Handler)
        self.collections = of

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that left, which is how every watch here ends."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def _collections(self) -> Mapping[str, Collection]:
        return cast("Server", self.server).collections

    def do_GET(self) -> None:
        """Answer a list or a watch."""
        asked = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(asked.query).items()}
        name = asked.path.removeprefix(_COLLECTION_PATH)
        collection = self._collections.get(name)
        if collection is None or name == asked.path:
            self._refuse(404, "only collections are served")
        elif query.get("watch") == "true":
            self._watch(collection, int(query["resourceVersion"]))
        else:
            self._list(collection, query.get("continue", ""))

    def do_POST(self) -> None:
        """Let events flow."""
        asked = urlsplit(self.path)
        if asked.path != EVENTS_PATH:
            self._refuse(404, "nothing is written")
            return
        for name, (rate,) in parse_qs(asked.query).items():
            self._collections[name].events.start(float(rate))
        self._answer(b"{}")

    def do_DELETE(self) -> None:
        """Stop events; tell how many there were, and whether any are left."""
        flowed = {}
        for name, collection in self._collections.items():
            flowed[name] = collection.events.stop()
        used_up = any(
            flowed[name] and collection.events.is_used_up
            for name, collection in self._collections.items()
        )
        self._answer(orjson.dumps({"flowed": flowed, "used_up": used_up}))

    def _list(self, collection: Collection, name: str) -> None:
        page = collection.pages.get(name)
        if page is None:
            self._refuse(410, "no such page")
        elif page.compressed and "gzip" in self.headers.get("Accept-Encoding", ""):
            self._answer(page.compressed, encoding="gzip")
        else:
            self._answer(page.plain)

    def _watch(self, collection: Collection, version: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        with suppress(OSError):  # whoever watched has left
            collection.events.follow(version, self.wfile.write)

    def _refuse(self, status: int, message: str) -> None:
        body = {"kind": "Status", "code": status, "message": message}
        self._answer(orjson.dumps(body), status=status)

    def _answer(self, body: bytes, *, status: int = 200, encoding: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as there
        """Log nothing: what is refused shows in the answer."""
