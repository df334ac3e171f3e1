"""Events of watches, kept until they are late by as much as a test wants."""

import asyncio
from contextlib import suppress

import aiohttp

Line = tuple[float, bytes]
"""One event, and when it came, by the clock of the loop."""


class Lateness:
    """How late the events of each collection are; may change at any time."""

    def __init__(self) -> None:
        self._delays: dict[str, float] = {}
        self._changed = asyncio.Event()

    def set(self, path: str, seconds: float) -> None:
        """Set the lateness of a collection, also of events that wait already."""
        self._delays[path] = seconds
        self._changed.set()
        self._changed = asyncio.Event()

    async def until_due(self, path: str, came_at: float) -> None:
        """Wait until an event is to be shown."""
        clock = asyncio.get_running_loop().time
        while (left := came_at + self._delays.get(path, 0.0) - clock()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()


async def read_lines(
    answer: aiohttp.ClientResponse, lines: asyncio.Queue[Line | None]
) -> None:
    """Split a stream into its lines, however long they are; None is the last."""
    clock = asyncio.get_running_loop().time
    rest = b""
    try:
        async for chunk in answer.content.iter_any():
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                lines.put_nowait((clock(), line + b"\n"))
    finally:
        lines.put_nowait(None)
