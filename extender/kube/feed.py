"""List and watch as a stream of what is there: small generators, one in another.

::

    follow            for ever: list, then watch; again from the list where needed
      pages           one list, page by page
      watch           for as long as one resourceVersion leads on to the next
        watch_once    one request
"""

import asyncio
import logging
import random
import re
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import Final

import orjson

from extender.errors import ClusterError, Gone, Unanswered, Unreachable, WireError
from extender.kube.backoff import Backoff
from extender.kube.client import ApiClient, error_of
from extender.settings import KubeSettings
from extender.wire.objects import JsonObject, object_at, optional_text_at, shown

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shown:
    """An object that is there, new, changed or listed."""

    obj: object


@dataclass(frozen=True, slots=True)
class Removed:
    """An object that was deleted, as it was last."""

    obj: object


@dataclass(frozen=True, slots=True)
class ListBegins:
    """What comes until `LISTED` is all that there is."""


@dataclass(frozen=True, slots=True)
class ListEnds:
    """All that there is has come since `LIST`; what has not is gone."""


LIST: Final = ListBegins()
LISTED: Final = ListEnds()

News = Shown | Removed | ListBegins | ListEnds

_CHANGES_OF_A_BURST: Final = 20
"""So many within a moment: more will come."""

_NUMBER: Final = re.compile(r"[0-9]{1,19}")

_MOST_WATCH_FAILURES: Final = 3
"""After so many in a row, list again."""

_MOST_SILENT_WATCHES: Final = 2
"""After so many in a row, list again: the server does not say that a resourceVersion
from before a restored backup is not reached for long, and sends nothing up to it."""


@dataclass(slots=True)
class _Version:
    """The resourceVersion up to which all is known."""

    text: str


class Feed:
    """One collection of objects on the API server, such as all pods."""

    def __init__(self, client: ApiClient, path: str, settings: KubeSettings) -> None:
        self._client = client
        self._path = path
        self._settings = settings
        self._heard_at = monotonic()
        self._version: int | None = None
        self._told_at: deque[float] = deque(maxlen=_CHANGES_OF_A_BURST)
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    async def wait_until_told(self, version: int, *, most_seconds: float) -> bool:
        """Wait, while the watch is busy, until it has told all up to a resourceVersion.

        Args:
            version: A number of the same sequence as this collection's.
            most_seconds: How long to wait at most.

        Returns:
            Whether it has. A watch is busy while it told many changes within the last
            moment (`KubeSettings.watch_moment_seconds`); for another it is not waited.
        """
        if self._version is not None and self._version >= version:
            return True
        deadline = monotonic() + most_seconds
        is_told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = version, is_told
        self._waiting.append(waiter)
        try:
            while not is_told.done() and self._is_busy():
                left = min(self._settings.watch_moment_seconds, deadline - monotonic())
                if left <= 0:
                    break
                await asyncio.wait([is_told], timeout=left)
        finally:
            self._waiting.remove(waiter)
        return is_told.done()

    def _is_busy(self) -> bool:
        told, moment = self._told_at, self._settings.watch_moment_seconds
        return len(told) == told.maxlen and monotonic() - told[0] < moment

    def _note(self, version: str) -> None:
        """Take note that all has been told up to a version, and let go who waited."""
        self._version = int(version) if _NUMBER.fullmatch(version) else None
        for wanted, waiter in self._waiting:
            is_told = self._version is not None and self._version >= wanted
            if is_told and not waiter.done():
                waiter.set_result(None)

    @property
    def silence_seconds(self) -> float:
        """How long nothing was heard, neither a page nor a line of a watch."""
        return monotonic() - self._heard_at

    async def follow(self) -> AsyncGenerator[News, None]:
        """Tell all that there is, and then every change, until closed.

        Failures are logged and tried again, with growing pauses; no one ends it.
        """
        backoff = self._backoff()
        while True:
            try:
                async with aclosing(self._list_then_watch(backoff)) as stream:
                    async for news in stream:
                        yield news
            except Gone as error:
                _log.info("%s: listing again: %s", self._path, error)
            except (ClusterError, WireError) as error:
                _log.warning("%s: listing again: %s", self._path, error)
            await backoff.pause()

    async def _list_then_watch(self, backoff: Backoff) -> AsyncGenerator[News, None]:
        version = _Version("")
        self._version = None
        async with aclosing(self._whole_list(version)) as listed:
            async for news in listed:
                yield news
        listed_version = version.text
        self._note(version.text)
        try:
            async with aclosing(self._watch(version)) as changes:
                async for news in changes:
                    yield news
        finally:
            if version.text != listed_version:
                backoff.succeed()

    async def _whole_list(self, version: _Version) -> AsyncGenerator[News, None]:
        """List page by page; in one piece where pages grow old too fast."""
        try:
            async with aclosing(self._list(version, self._settings.page_size)) as paged:
                async for news in paged:
                    yield news
        except Gone as error:
            _log.info("%s: listing in one piece: %s", self._path, error)
        else:
            return
        async with aclosing(self._list(version, None)) as everything:
            async for news in everything:
                yield news

    async def _list(
        self, version: _Version, page_size: int | None
    ) -> AsyncGenerator[News, None]:
        yield LIST
        async with aclosing(self._pages(version, page_size)) as objects:
            async for obj in objects:
                yield Shown(obj)
        yield LISTED

    async def _pages(
        self, version: _Version, page_size: int | None
    ) -> AsyncGenerator[object, None]:
        """List, with no resourceVersion asked for: then it is the newest.

        Every page carries the version of the first.
        """
        query = {} if page_size is None else {"limit": str(page_size)}
        while True:
            page = await self._client.get(
                self._path, query=query, seconds=self._settings.page_seconds
            )
            self._heard_at = monotonic()
            items, metadata = items_of(page), object_at(page, "metadata", "list")
            version.text = optional_text_at(metadata, "resourceVersion", "metadata")
            for obj in items:
                yield obj
            more = optional_text_at(metadata, "continue", "metadata")
            if not more:
                return
            query = {**query, "continue": more}

    async def _watch(self, version: _Version) -> AsyncGenerator[News, None]:
        """Watch on from a version, request after request.

        Raises:
            Gone: The version is no longer served.
            ClusterError: Watching failed, or told nothing, several times in a row.
        """
        idle_seconds = self._settings.idle_seconds
        backoff, silent_watches = self._backoff(), 0
        while True:
            before, begun_at = version.text, monotonic()
            try:
                async with aclosing(self._watch_once(version)) as changes:
                    async for news in changes:
                        yield news
            except Unreachable as error:
                if backoff.failures >= _MOST_WATCH_FAILURES:
                    raise
                _log.warning("%s: watching again: %s", self._path, error)
            # Whatever ended it may have been a restore; the next one has to tell first.
            self._version = None
            is_silent = self._heard_at < begun_at
            if is_silent and monotonic() - begun_at > idle_seconds / 2:
                silent_watches += 1
            elif not is_silent:
                silent_watches = 0
            if silent_watches >= _MOST_SILENT_WATCHES:
                seconds = silent_watches * idle_seconds
                raise Unanswered(f"the watch told nothing for {seconds:g} s")
            if version.text == before:
                await backoff.pause()
            else:
                backoff.succeed()

    async def _watch_once(self, version: _Version) -> AsyncGenerator[News, None]:
        lasting = self._settings.watch_seconds * random.uniform(1.0, 1.5)  # noqa: S311 - jitter
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version.text,
            "timeoutSeconds": str(max(1, int(lasting))),
        }
        lines = self._client.lines(
            self._path, query, idle_seconds=self._settings.idle_seconds
        )
        async with aclosing(lines):
            async for line in lines:
                self._heard_at = monotonic()
                kind, obj = _event(line)
                match kind:
                    case "ADDED" | "MODIFIED":
                        yield Shown(obj)
                    case "DELETED":
                        yield Removed(obj)
                    case "ERROR":
                        raise error_of(obj)
                    case _:  # BOOKMARK, and what may come in later releases
                        pass
                version.text = _version_of(obj) or version.text
                self._told_at.append(self._heard_at)
                self._note(version.text)

    def _backoff(self) -> Backoff:
        return Backoff(
            self._settings.first_backoff_seconds, self._settings.longest_backoff_seconds
        )


def items_of(answer: JsonObject) -> list[object]:
    """Take the items of a list.

    Raises:
        Unanswered: The answer is no list, whatever its status: to take it for an empty
            one would be to forget everything.
    """
    kind, items = answer.get("kind"), answer.get("items")
    if not isinstance(kind, str) or not kind.endswith("List"):
        raise Unanswered(f"asked for a list, the server sent kind {shown(kind)!r}")
    if not isinstance(items, list):
        raise Unanswered(f"the server sent a {kind} whose items are {shown(items)!r}")
    return items


def _event(line: bytes) -> tuple[object, JsonObject]:
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Unreachable(f"the watch sent what is no JSON: {error}") from error
    obj = event.get("object") if isinstance(event, dict) else None
    if not isinstance(obj, dict):
        raise Unreachable("the watch sent an event without an object")
    return event.get("type"), obj


def _version_of(obj: JsonObject) -> str | None:
    metadata = obj.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    return version if isinstance(version, str) else None
