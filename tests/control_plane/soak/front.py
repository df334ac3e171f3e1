"""One address for several extenders, as a Service is: any that accepts a connection.

Each request gets a connection of its own, and goes to the next in turn; where that one
refuses the connection, to the one after it. A connection that breaks later breaks for
kube-scheduler, too.
"""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count

import aiohttp
import orjson
from aiohttp import web

from tests.control_plane.component import HOST


class Front:
    """Passes kube-scheduler's requests on, and counts what is said.

    Attributes:
        counts: Requests, refusals and failures by name.
    """

    def __init__(self, urls: Sequence[str], session: aiohttp.ClientSession) -> None:
        self.counts = Counter[str]()
        self._urls = urls
        self._session = session
        self._turn = count()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Pass one request on."""
        body = await request.read()
        first = next(self._turn)
        verb = request.path.strip("/")
        for number in range(len(self._urls)):
            url = self._urls[(first + number) % len(self._urls)]
            try:
                async with self._session.post(url + request.path, data=body) as answer:
                    read = await answer.read()
            except aiohttp.ClientConnectorError:
                self.counts[f"{verb}: no connection"] += 1
            except aiohttp.ClientError:
                self.counts[f"{verb}: broken"] += 1
                return _broken(request)
            else:
                self._count(verb, answer.status, read)
                return web.Response(
                    body=read, status=answer.status, content_type=answer.content_type
                )
        self.counts[f"{verb}: nobody there"] += 1
        return _broken(request)

    def _count(self, verb: str, status: int, read: bytes) -> None:
        outcome = "answered"
        if status != web.HTTPOk.status_code:
            outcome = f"status {status}"
        elif verb != "prioritize":
            said = orjson.loads(read)
            if said["Error"]:
                outcome = "refused" if verb == "bind" else "not ready"
            elif verb == "filter" and not said["NodeNames"]:
                outcome = "refused"
        self.counts[f"{verb}: {outcome}"] += 1


def _broken(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


@asynccontextmanager
async def fronted(urls: Sequence[str]) -> AsyncIterator[tuple[Front, str]]:
    """Serve on an address of its own; gives that, too."""
    # A connection that was used before may be one to a process that was killed.
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    limits = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=limits) as session:
        front = Front(urls, session)
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_post("/{verb}", front.answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, HOST, 0).start()
            _, port = runner.addresses[0]
            yield front, f"http://{HOST}:{port}"
        finally:
            await runner.cleanup()
