"""A proxy between one extender and the apiserver, which delays, cuts and breaks.

The extender gets a kubeconfig of its own, so that only its requests pass here. They
are forwarded as they are, with the token that came with them, over TLS.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

import aiohttp
import yaml
from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from tests.control_plane.client import Api
from tests.control_plane.component import HOST
from tests.control_plane.lateness import Lateness, Line, read_lines
from tests.control_plane.plane import ControlPlane, User

PODS: Final = "/api/v1/pods"
NODES: Final = "/api/v1/nodes"

_OF_ONE_CONNECTION: Final = {
    *("host", "connection", "keep-alive", "transfer-encoding", "content-length"),
    # The client of this proxy unpacks what it receives.
    *("accept-encoding", "content-encoding"),
}
_STOP_SECONDS: Final = 0.1

Matches = Callable[[str, str], bool]
"""Whether a request is meant, by its method and its path (without query)."""


class Exchange:
    """One request on its way to the apiserver; a fault decides how far it gets."""

    def __init__(
        self, request: web.Request, forward: Callable[[], Awaitable[web.Response]]
    ) -> None:
        self._request = request
        self.forward = forward
        """Carry it out, and give the answer; also if the extender is gone by now."""

    def drop(self) -> web.StreamResponse:
        """Break the connection to the extender, without an answer."""
        _abort(self._request)
        return web.Response()


Fault = Callable[[Exchange], Awaitable[web.StreamResponse]]
"""What happens to a request instead of being forwarded and answered."""


def refused(status: int) -> Fault:
    """Answer with an error, as the apiserver tells one; the request goes no further."""

    async def refuse(_: Exchange) -> web.StreamResponse:
        message = "refused by a planted fault"
        body = {"kind": "Status", "code": status, "message": message}
        return web.json_response(body, status=status)

    return refuse


async def dropped(exchange: Exchange) -> web.StreamResponse:
    """Break the connection; the request goes no further.

    A GET, PUT or DELETE on a connection that was used before is repeated once by
    aiohttp itself, so a fault for one of them must meet it twice to be noticed.
    """
    return exchange.drop()


async def answer_lost(exchange: Exchange) -> web.StreamResponse:
    """Carry the request out, and break the connection instead of answering."""
    await exchange.forward()
    return exchange.drop()


class Held:
    """Keeps requests until they are released, and then goes on as if nothing were.

    Args:
        is_carried_out: Whether it is the answer that is kept, not the request.
    """

    def __init__(self, *, is_carried_out: bool = False) -> None:
        self._is_carried_out = is_carried_out
        self._released = asyncio.Event()
        self.reached = asyncio.Event()
        """Set once a request is kept."""

    def release(self) -> None:
        """Let all go on, and hold no more."""
        self._released.set()

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Keep one."""
        answer = await exchange.forward() if self._is_carried_out else None
        self.reached.set()
        await self._released.wait()
        return answer or await exchange.forward()


@dataclass(slots=True)
class Planted:
    """A fault that is in the way."""

    matches: Matches
    fault: Fault
    most: int | None
    met: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of each request that met it."""

    def meets(self, method: str, path: str) -> bool:
        """Tell whether the next request of this kind meets it."""
        is_over = self.most is not None and len(self.met) >= self.most
        return not is_over and self.matches(method, path)


@dataclass(eq=False, slots=True)
class _Watch:
    """A watch that is open."""

    path: str
    request: web.Request
    passing_on: asyncio.Task[None]


class ApiProxy:
    """The proxy; `proxied` starts and ends it."""

    def __init__(self, upstream: aiohttp.ClientSession, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        """What to start an extender with."""

        self.asked: list[tuple[str, str]] = []
        """Method and path of every request, in order."""

        self._upstream = upstream
        self._lateness = Lateness()
        self._planted: list[Planted] = []
        self._watches: set[_Watch] = set()

    def delay(self, path: str, seconds: float) -> None:
        """Show events of watches on a collection so much later than they came.

        That goes for events that wait already, too; lists and reads are not delayed.
        """
        self._lateness.set(path, seconds)

    def cut_watches(self, path: str | None = None) -> int:
        """Break the watches that are open, of one collection or all; give how many."""
        cut = [watch for watch in self._watches if path in {None, watch.path}]
        for watch in cut:
            watch.passing_on.cancel()
            _abort(watch.request)
        return len(cut)

    @contextmanager
    def fault(
        self, matches: Matches, fault: Fault, *, most: int | None = None
    ) -> Iterator[Planted]:
        """Put a fault in the way of requests, for the length of a block.

        Args:
            matches: Which requests; watches among them.
            fault: What happens to them: `refused`, `dropped`, `answer_lost` or `Held`.
            most: How many it meets; those after them pass.
        """
        planted = Planted(matches, fault, most)
        self._planted.append(planted)
        try:
            yield planted
        finally:
            self._planted.remove(planted)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request of the extender."""
        asked = (request.method, request.path)
        self.asked.append(asked)
        body = await request.read()

        async def forward() -> web.Response:
            return await self._forward(request, body)

        exchange = Exchange(request, forward)
        try:
            for planted in self._planted:
                if planted.meets(*asked):
                    planted.met.append(asked)
                    return await planted.fault(exchange)
            if request.query.get("watch") == "true":
                return await self._watch(request)
            return await forward()
        except aiohttp.ClientError:
            # The apiserver is gone, or broke the connection; so does this.
            return exchange.drop()

    async def _forward(self, request: web.Request, body: bytes) -> web.Response:
        async with self._ask(request, body) as answer:
            read = await answer.read()
            return web.Response(
                status=answer.status, body=read, headers=_kept(answer.headers)
            )

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        async with self._ask(request, b"") as answer:
            headers = _kept(answer.headers)
            if answer.status != HTTPStatus.OK:
                read = await answer.read()
                return web.Response(status=answer.status, body=read, headers=headers)
            stream = web.StreamResponse(headers=headers)
            await stream.prepare(request)
            passing_on = asyncio.create_task(self._pass_on(request, answer, stream))
            watch = _Watch(request.path, request, passing_on)
            self._watches.add(watch)
            try:
                with suppress(asyncio.CancelledError):
                    await passing_on
            finally:
                passing_on.cancel()
                self._watches.discard(watch)
            return stream

    async def _pass_on(
        self,
        request: web.Request,
        answer: aiohttp.ClientResponse,
        stream: web.StreamResponse,
    ) -> None:
        """Read each event as it comes, and write it when it is due."""
        lines = asyncio.Queue[Line | None]()
        reading = asyncio.create_task(read_lines(answer, lines))
        try:
            while (line := await lines.get()) is not None:
                await self._lateness.until_due(request.path, line[0])
                await stream.write(line[1])
            await reading
        except (aiohttp.ClientError, ConnectionResetError):
            # Either side is gone, and the other must hear of it.
            _abort(request)
        finally:
            reading.cancel()

    @asynccontextmanager
    async def _ask(
        self, request: web.Request, body: bytes
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        async with self._upstream.request(
            request.method,
            URL(request.raw_path, encoded=True),
            data=body or None,
            headers=_kept(request.headers),
        ) as answer:
            yield answer


@asynccontextmanager
async def proxied(
    plane: ControlPlane, user: User = User.EXTENDER
) -> AsyncIterator[ApiProxy]:
    """Run a proxy to a control plane, for a user whose token it writes down."""
    folder = Path(mkdtemp(dir=plane.folder, prefix="proxy-"))
    async with Api.connected(plane, user) as api:
        proxy = ApiProxy(api.session, folder / "proxied.kubeconfig")
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_route("*", "/{path:.*}", proxy.answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=_STOP_SECONDS)
        await runner.setup()
        try:
            await web.TCPSite(runner, HOST, 0).start()
            _, port = runner.addresses[0]
            shown = yaml.safe_load(plane.kubeconfig(user).read_text())
            shown["clusters"][0]["cluster"] = {"server": f"http://{HOST}:{port}"}
            proxy.kubeconfig.write_text(yaml.safe_dump(shown))
            yield proxy
        finally:
            proxy.cut_watches()
            await runner.cleanup()


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _kept(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    given = headers.items()
    return CIMultiDict(one for one in given if one[0].lower() not in _OF_ONE_CONNECTION)
