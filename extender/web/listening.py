"""The listeners: their addresses, and who may be served in the clear."""

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Final, cast

from aiohttp import web

from extender.errors import SettingsError
from extender.observe.metrics import Metrics
from extender.observe.words import Certificate
from extender.service import Extender
from extender.settings import HttpSettings, Listener, Part
from extender.web.app import PodCreator, build_app
from extender.web.connections import Connection, Room
from extender.web.handshakes import Handshaking
from extender.web.open_files import Share, share_of_files
from extender.web.tls import listening_context

_log = logging.getLogger(__name__)

_QUEUE: Final = 100
"""Clients whose connection the kernel keeps until it is accepted."""


class OpenListeners:
    """All listeners of a process, open."""

    def __init__(self) -> None:
        self._bound: list[_Bound] = []

    @property
    def urls(self) -> Mapping[Part, str]:
        """Where each part is served; the verbs first."""
        return {
            part: each.url
            for each in self._bound
            for part in Part
            if part in each.listener.parts
        }

    async def open(
        self, extender: Extender, settings: HttpSettings, intake: PodCreator | None
    ) -> None:
        """Listen on every address, or on none.

        Raises:
            SettingsError: An address cannot be listened on, or not in the clear; or a
                TLS file cannot be used.
        """
        listeners = list(settings.listeners())
        share = share_of_files(settings.connection_limit, len(listeners))
        for listener in listeners:
            app = build_app(extender, settings, intake, listener)
            runner, metrics = _runner(app, settings), extender.metrics
            bound = _Bound(listener, settings, runner, share, metrics)
            self._bound.append(bound)
            await bound.bind()
        for bound in self._bound:
            await bound.start()

    async def close(self) -> None:
        """Take no more requests, and finish those that are open."""
        async with asyncio.TaskGroup() as group:
            for bound in self._bound:
                group.create_task(bound.close())


@asynccontextmanager
async def served(
    extender: Extender, settings: HttpSettings, intake: PodCreator | None = None
) -> AsyncIterator[OpenListeners]:
    """Serve on every address; closed at the end, if not before.

    Raises:
        SettingsError: As `OpenListeners.open`.
    """
    doors = OpenListeners()
    try:
        await doors.open(extender, settings, intake)
        yield doors
    finally:
        await doors.close()


class _Bound:
    """One listener and its socket."""

    def __init__(
        self,
        listener: Listener,
        settings: HttpSettings,
        runner: web.AppRunner,
        share: Share,
        metrics: Metrics,
    ) -> None:
        self.listener = listener
        self._settings = settings
        self._runner = runner
        self._share = share
        self._metrics = metrics
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        scheme = "http" if self.listener.tls is None else "https"
        host, port, *_ = next(iter(self._sockets)).getsockname()
        shown = f"[{host}]" if ":" in host else host
        return f"{scheme}://{shown}:{port}"

    @property
    def _sockets(self) -> Iterable[socket.socket]:
        return () if self._server is None else self._server.sockets

    async def bind(self) -> None:
        """Take the address, and check it before anybody is let in."""
        tls = self.listener.tls
        trusted = None if tls is None else listening_context(tls, self._note_end)
        await self._runner.setup()
        self._server = await self._created(trusted)
        hosts = [each.getsockname()[0] for each in self._sockets]
        if all(ip_address(host).is_loopback for host in hosts):
            return
        if tls is None:
            self._check_plain()
        elif Part.VERBS in self.listener.parts and tls.client_ca_file is None:
            _log.warning(
                "whoever reaches %s %s can bind pods; --client-ca lets in those only "
                "who have a certificate",
                self.listener.flag,
                self.listener.address,
            )

    def _note_end(self, certificate: Certificate, unix_seconds: float) -> None:
        self._metrics.certificate_end.labels(certificate).set(unix_seconds)

    async def _created(self, trusted: ssl.SSLContext | None) -> asyncio.Server:
        room = Room(self._share.connections)
        handlers = cast("web.Server", self._runner.server)  # since it is set up
        where = self.listener.address

        def protocol() -> Connection | Handshaking:
            connection = Connection(handlers, room, self._settings)
            if trusted is None:
                return connection
            return Handshaking(connection, trusted, room, self._settings)

        try:
            return await asyncio.get_running_loop().create_server(
                protocol,
                where.host,
                where.port,
                backlog=self._share.accepted_at_once,
                start_serving=False,
            )
        except (OSError, UnicodeError) as error:
            reason = _why_unusable(error)
            raise SettingsError(f"cannot listen on {where}: {reason}") from error

    def _check_plain(self) -> None:
        where = f"{self.listener.flag} {self.listener.address}"
        if self._settings.is_plain_allowed:
            _log.warning("%s: plain HTTP is served to other machines", where)
            return
        raise SettingsError(
            f"{where}: plain HTTP is served on loopback only, such as 127.0.0.1. Give "
            "--tls-cert and --tls-key; or --insecure-http, where something else "
            "protects the connection"
        )

    async def start(self) -> None:
        """Let clients in."""
        if self._server is not None:
            await self._server.start_serving()
            for each in self._sockets:
                # asyncio makes the queue of those who knock as short as what it
                # accepts at one go, and whoever finds it full tries again after 1 s.
                with socket.socket(fileno=os.dup(each.fileno())) as same:
                    same.listen(_QUEUE)

    async def close(self) -> None:
        """Take no more connections, and finish what is under way."""
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._runner.cleanup()


def _runner(app: web.Application, settings: HttpSettings) -> web.AppRunner:
    seconds = settings.shutdown_seconds
    return web.AppRunner(app, access_log=None, shutdown_timeout=seconds)


def _why_unusable(error: OSError | UnicodeError) -> str:
    """Tell what is wrong with an address; asyncio's own text names it twice."""
    if isinstance(error, UnicodeError):
        return "no such host name"
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)
