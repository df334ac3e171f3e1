"""One connection: what is done where a client is slow, silent, or speaks no HTTP.

aiohttp waits for ever for the rest of a header that came in part, and for a client that
does not take its answer; and it logs a traceback for each request that it cannot parse.
So its protocol is extended here. What it keeps for itself (names with an underscore) is
read and never written; the tests in ``tests/web/test_slow_clients.py`` fail where a
newer aiohttp means something else by it.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

import orjson
from aiohttp import web
from aiohttp.http_exceptions import LineTooLong

from extender.settings import HttpSettings

_log = logging.getLogger(__name__)

_SAY_FULL_SECONDS: Final = 60.0

_HEADER_LATE: Final = (
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
)


class Room:
    """The connections of one listener, and room for so many."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # By when they last asked for something, the latest at the end.
        self._connections: dict[Connection, None] = {}
        # Whose TLS handshake is not done, the earliest first.
        self._knocking: dict[Connection, asyncio.Transport] = {}
        self._silent_until = 0.0

    def knock(self, newcomer: "Connection", transport: asyncio.Transport) -> bool:
        """Let a handshake begin; False as for `enter`."""
        has_room = self._make_room()
        if has_room:
            self._knocking[newcomer] = transport
        return has_room

    def enter(self, newcomer: "Connection") -> bool:
        """Take a connection in; False where each of the others has a request."""
        has_room = self._knocking.pop(newcomer, None) is not None or self._make_room()
        if has_room:
            self._connections[newcomer] = None
        return has_room

    def _make_room(self) -> bool:
        """Close whoever has come least far, if need be."""
        if len(self._connections) + len(self._knocking) < self._limit:
            return True
        self._say_full()
        if self._knocking:
            earliest = next(iter(self._knocking))
            self._knocking.pop(earliest).abort()
            return True
        waiting = (each for each in self._connections if each.is_waiting)
        longest = next(waiting, None)
        if longest is None:
            return False
        self.leave(longest)
        longest.force_close()
        return True

    def asked(self, connection: "Connection") -> None:
        """Note that a request has come as far as the end of its headers."""
        if self._connections.pop(connection, connection) is None:
            self._connections[connection] = None

    def leave(self, connection: "Connection") -> None:
        """Note that a connection is closed."""
        self._connections.pop(connection, None)
        self._knocking.pop(connection, None)

    def _say_full(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._silent_until:
            self._silent_until = now + _SAY_FULL_SECONDS
            _log.warning(
                "%d connections are open, the most there may be: for a new one, one "
                "whose TLS handshake is not done is closed, or the one that has asked "
                "nothing for longest",
                self._limit,
            )


class _Deadline:
    """Calls once, so long after it begins, unless it is stopped before."""

    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        self._seconds = seconds
        self._call = call
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Begin, if it has not begun yet."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._seconds, self._end)

    def stop(self) -> None:
        """Do not call."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._timer = None
        self._call()


class Connection(web.RequestHandler):
    """aiohttp's protocol, with limits on what a client may leave undone."""

    def __init__(self, server: web.Server, room: Room, settings: HttpSettings) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=settings.keepalive_seconds,
            access_log=None,  # type: ignore[arg-type] # None is how it is turned off
            logger=_log,
            max_line_size=settings.line_limit_bytes,
            max_field_size=settings.line_limit_bytes,
            max_headers=settings.header_limit,
            lingering_time=settings.unread_seconds,
        )
        self._room = room
        self._settings = settings
        self._has_room = False
        self._header_late = _Deadline(settings.header_seconds, self._end_late_header)
        self._answer_late = _Deadline(settings.answer_seconds, self._end_untaken_answer)

    @property
    def is_waiting(self) -> bool:
        """Whether no request is under way."""
        if self._waiter is None:
            return self._request_count == 0
        return not self._waiter.done()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, if there is room."""
        self._has_room = self._room.enter(self)
        if self._has_room:
            super().connection_made(transport)
        elif isinstance(transport, asyncio.Transport):
            transport.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        """End."""
        self._room.leave(self)
        self._header_late.stop()
        self._answer_late.stop()
        if self._has_room:
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has come; a header that has begun must end in time."""
        before = self._request_count
        super().data_received(data)
        if self._request_count > before:
            self._room.asked(self)
        if not self.is_waiting:
            self._header_late.stop()
        elif data:
            self._header_late.begin()

    def pause_writing(self) -> None:
        """Note that the client does not take what is sent."""
        super().pause_writing()
        self._answer_late.begin()

    def resume_writing(self) -> None:
        """Note that it has taken it."""
        self._answer_late.stop()
        super().resume_writing()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is no HTTP, without a traceback and without the bytes of it.

        They may be anything, such as a password that was meant for somebody else.
        """
        if status != web.HTTPBadRequest.status_code:
            return super().handle_error(request, status, exc, message)
        if isinstance(exc, LineTooLong):
            most = self._settings.line_limit_bytes
            text = f"a line or a header of the request is longer than {most} bytes"
        else:
            text = "the request is not HTTP/1.1 that can be read"
        _log.warning("a client at %s was refused: %s", request.remote, text)
        answer = web.Response(
            body=orjson.dumps({"error": text}, option=orjson.OPT_APPEND_NEWLINE),
            status=status,
            content_type="application/json",
        )
        answer.force_close()
        return answer

    def log_exception(self, *args: object, **kw: object) -> None:
        """Log a fault of ours; of a body that cannot be unpacked a line is enough.

        aiohttp reads what is left of a body after its answer, and takes that for a
        fault. Whoever reaches the port could so write pages into the log.
        """
        if isinstance(kw.get("exc_info"), web.RequestPayloadError):
            _log.warning(
                "a client at %s was left: the rest of its body cannot be read",
                _host(self.peername),
            )
        else:
            super().log_exception(*args, **kw)

    def _end_late_header(self) -> None:
        if not self.is_waiting or self.transport is None:
            return
        _log.warning(
            "a client at %s was refused: its request's header took longer than %g s",
            _host(self.peername),
            self._settings.header_seconds,
        )
        self.transport.write(_HEADER_LATE)
        self.force_close()

    def _end_untaken_answer(self) -> None:
        if self.transport is None:
            return
        _log.warning(
            "a client at %s was left: it did not take its answer within %g s",
            _host(self.peername),
            self._settings.answer_seconds,
        )
        self.transport.abort()


def _host(peer: object) -> object:
    return peer[0] if isinstance(peer, tuple) else peer
