"""Request bodies: how large, how slow, and how many at once.

A handler reads its body by `Bodies.read` and in no other way, so that every route has
the same limits.
"""

import asyncio
from typing import Final

from aiohttp import web

from extender.errors import BodyTooLarge, Described
from extender.settings import HttpSettings

_SMALL_BYTES: Final = 64 * 1024
"""What any body may have at once: all that is not Node objects or long lists."""


class Bodies:
    """Reads the bodies of one listener's requests."""

    def __init__(self, settings: HttpSettings) -> None:
        self._limit_bytes = settings.body_limit_bytes
        self._seconds = settings.body_seconds
        self._large = asyncio.Semaphore(settings.large_bodies)

    async def read(self, request: web.Request, limit_bytes: int | None = None) -> bytes:
        """Read a body to its end.

        Args:
            request: Whose.
            limit_bytes: Of this route; None for the listener's.

        Raises:
            BodyTooLarge: It has more bytes, or says that it has.
            web.HTTPRequestTimeout: It did not come in time.
            web.HTTPServiceUnavailable: Others came all that time.
        """
        most = self._limit_bytes if limit_bytes is None else limit_bytes
        _check_size(request.content_length or 0, most)
        has_turn = _is_small(request)
        try:
            async with asyncio.timeout(self._seconds):
                if has_turn:
                    body = await request.read()
                else:
                    async with self._large:
                        has_turn = True
                        body = await request.read()
        except TimeoutError as error:
            raise self._late(has_turn=has_turn) from error
        _check_size(len(body), most)
        return body

    def _late(self, *, has_turn: bool) -> web.HTTPException:
        if has_turn:
            text = f"body: did not come within {self._seconds:g} s"
            return web.HTTPRequestTimeout(reason=text)
        text = f"body: other large ones were read for {self._seconds:g} s; try again"
        return web.HTTPServiceUnavailable(reason=text)


BODIES: Final = web.AppKey("bodies", Bodies)


def _is_small(request: web.Request) -> bool:
    """Tell whether a body says that it is small; one that is compressed does not."""
    size = request.content_length
    is_plain = "Content-Encoding" not in request.headers
    return is_plain and size is not None and size <= _SMALL_BYTES


def _check_size(size: int, most: int) -> None:
    if size > most:
        shown = Described(f"{size} bytes")
        raise BodyTooLarge("body", shown, f"one of at most {most} bytes")
