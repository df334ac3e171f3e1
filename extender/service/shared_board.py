"""One board for all who look: worked out once, and only while somebody does."""

import asyncio
import gzip
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from extender.errors import NotSynced
from extender.service.board import Board
from extender.service.in_turns import in_turns

_log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.5
"""Between two looks at what changed: as often as a page changes."""

IDLE_SECONDS: Final = 30.0
"""How long the rows are kept up to date for nobody: a page that comes back in this time
need not read all of them anew."""

_PACKING: Final = 5
"""Of gzip: half of what 9 takes, and a few percent more bytes."""


@dataclass(frozen=True, slots=True)
class News:
    """What a page lacks.

    Attributes:
        revision: That the page has with it.
        body: The rows, as JSON.
    """

    revision: str
    body: bytes


class Lost:
    """What a page lacks is not known: it reads all rows anew."""


class SharedBoard:
    """The board of a process, from the first who looks to some time after the last."""

    def __init__(self, make: Callable[[], Board]) -> None:
        """Show what `make` gives; it is called anew after a time without anybody."""
        self._make = make
        self._board: Board | None = None
        self._looked_at = 0.0
        self._client_count = 0
        self._is_closed = False
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self._writing = asyncio.Lock()
        self._whole: tuple[str, bytes, bytes] | None = None
        self._parts: dict[tuple[str, str], bytes] = {}

    @property
    def client_count(self) -> int:
        """How many wait for changes."""
        return self._client_count

    @property
    def is_closed(self) -> bool:
        """Whether nothing more will change."""
        return self._is_closed

    @contextmanager
    def client(self) -> Iterator[None]:
        """Count one more who waits for changes."""
        self._client_count += 1
        try:
            yield
        finally:
            self._client_count -= 1
            self._looked_at = time.monotonic()

    async def close(self) -> None:
        """Let all go who wait, and look no more."""
        self._is_closed = True
        if (task := self._task) is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        async with self._news:
            self._news.notify_all()

    async def whole(self) -> tuple[bytes, bytes]:
        """Give all rows as JSON, plain and by gzip.

        Raises:
            NotSynced: They cannot be worked out, or it is closed.
        """
        board = await self._looked()
        async with self._writing:
            if self._whole is None or self._whole[0] != board.revision:
                rows = board.whole()
                plain = await asyncio.to_thread(rows.encode)
                packed = await asyncio.to_thread(gzip.compress, plain, _PACKING)
                self._whole = rows.revision, plain, packed
            return self._whole[1:]

    async def news_since(self, revision: str, seconds: float) -> News | Lost | None:
        """Wait until there is something that a page of a revision lacks.

        Returns:
            None where there is nothing for so long.

        Raises:
            NotSynced: As `whole`.
        """
        board = await self._looked()
        if not board.knows(revision):
            return Lost()
        try:
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait_for(
                    lambda: self._is_closed or revision != board.revision
                )
        except TimeoutError:
            return None
        if self._is_closed:
            return None
        if board is not self._board or not board.knows(revision):
            return Lost()
        return await self._part(board, revision)

    async def _part(self, board: Board, revision: str) -> News:
        async with self._writing:
            rows = board.since(revision)
            key = revision, rows.revision
            if key not in self._parts:
                # Others that are as far get the same; whoever is behind is alone.
                self._parts = {
                    each: body
                    for each, body in self._parts.items()
                    if each[1] == rows.revision
                }
                self._parts[key] = await asyncio.to_thread(rows.encode)
            return News(rows.revision, self._parts[key])

    async def _looked(self) -> Board:
        """Give the board with its first rows, and begin to look where nobody does."""
        if self._is_closed:
            raise NotSynced("the extender stops")
        self._looked_at = time.monotonic()
        if self._task is None:
            self._task = asyncio.create_task(self._look_while_asked())
        async with self._news:
            await self._news.wait_for(
                lambda: self._board is not None or self._task is None
            )
        if self._board is None:
            raise NotSynced("the rows cannot be worked out; the log says why")
        return self._board

    async def _look_while_asked(self) -> None:
        try:
            await self._look()
        except Exception:  # noqa: BLE001 - whatever it is, nobody waits for ever
            _log.exception("a fault while the rows of the status page were worked out")
        finally:
            # At once, so that whoever asks now begins anew.
            self._board, self._task = None, None
            self._whole, self._parts = None, {}
            async with self._news:
                self._news.notify_all()

    async def _look(self) -> None:
        board = self._make()
        try:
            while self._is_looked_at():
                if await in_turns(board.update()) or self._board is None:
                    self._board = board
                    async with self._news:
                        self._news.notify_all()
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            board.close()

    def _is_looked_at(self) -> bool:
        return (
            self._client_count > 0 or time.monotonic() - self._looked_at < IDLE_SECONDS
        )
