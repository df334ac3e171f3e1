"""All listeners of an embedded extender, and clients that speak plain bytes to them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from extender.runtime import EmbeddedExtender, embed
from extender.settings import HttpSettings, Part, Settings
from extender.web.listening import OpenListeners, served
from tests.builders import Json, NodeBuilder, PodBuilder
from tests.web.conftest import listed

PATIENCE_SECONDS: Final = 30.0
"""Longest wait for anything; a failure, never a pace."""


@dataclass(frozen=True, slots=True)
class Served:
    """An embedded extender behind its listeners."""

    doors: OpenListeners
    embedded: EmbeddedExtender
    callers: list["Caller"] = field(default_factory=list)

    def port(self, part: Part = Part.VERBS) -> int:
        """Tell where a part is served."""
        port = urlsplit(self.doors.urls[part]).port
        assert port is not None
        return port

    async def connect(self, part: Part = Part.VERBS) -> "Caller":
        """Open a connection in the clear."""
        caller = Caller(*await asyncio.open_connection("127.0.0.1", self.port(part)))
        self.callers.append(caller)
        return caller


class Caller:
    """A client that sends what it likes."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader = reader
        self.writer = writer

    def send(self, content: bytes) -> None:
        """Send bytes as they are."""
        self.writer.write(content)

    async def answer(self) -> tuple[int, bytes]:
        """Read one answer: its status and its body."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            head = await self._reader.readuntil(b"\r\n\r\n")
            status = int(head.split()[1])
            lines = head.lower().split(b"\r\n")
            (length,) = [
                int(line.partition(b":")[2])
                for line in lines
                if line.startswith(b"content-length:")
            ]
            return status, await self._reader.readexactly(length)

    async def rest(self) -> bytes:
        """Read until the other end closes the connection, by whichever way."""
        content = b""
        async with asyncio.timeout(PATIENCE_SECONDS):
            try:
                while chunk := await self._reader.read(65536):
                    content += chunk
            except ConnectionError:
                pass
        return content

    async def trickle(self, content: bytes) -> bytes:
        """Send the same bytes time and again; give what is said until the end."""
        dripping = asyncio.create_task(self._drip(content))
        try:
            return await self.rest()
        finally:
            dripping.cancel()

    async def _drip(self, content: bytes) -> None:
        while not self.writer.is_closing():
            self.send(content)
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        """Go away, without a word."""
        self.writer.transport.abort()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@asynccontextmanager
async def opened(
    folder: Path,
    settings: HttpSettings,
    *shown: NodeBuilder | PodBuilder | Json,
) -> AsyncIterator[Served]:
    """Serve a cluster of these objects by these settings."""
    file = folder / "cluster.json"
    file.write_text(json.dumps(listed(*shown)))
    embedded = embed([file], Settings(http=settings))
    async with served(embedded.extender, settings, embedded.cluster) as doors:
        door = Served(doors, embedded)
        try:
            yield door
        finally:
            for caller in door.callers:
                await caller.close()


def request(method: str, path: str, body: bytes = b"", *headers: bytes) -> bytes:
    """Write a request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1".encode(), b"Host: a.test", *headers]
    if body:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*lines, b"", body])
