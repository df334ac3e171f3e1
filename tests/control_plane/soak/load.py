"""Pods that come and go: more than fit at a time, deleted at every stage of theirs."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from http import HTTPStatus
from random import Random
from time import monotonic
from typing import Final, NoReturn

from tests.builders import Json
from tests.control_plane.client import ApiError
from tests.control_plane.scheduler import scheduler_name
from tests.control_plane.soak.excuses import Refusal
from tests.control_plane.soak.fates import End, Fate, number_of
from tests.control_plane.soak.nodes import PatientApi, delete_exactly
from tests.control_plane.soak.stream import Change, Kind
from tests.control_plane.soak.witness import is_unserved

_MOST_WAITING: Final = 70
"""Unbound pods at a time; while there are as many, no more come."""

_GRACE_SECONDS: Final = 10


class Load:
    """Creates pods and deletes them; what happens to each is told by a stream.

    Args:
        api: As an administrator.
        seed: What all fates are drawn from.
        group: Where what is to be done later runs.
    """

    def __init__(self, api: PatientApi, seed: int, group: asyncio.TaskGroup) -> None:
        self.counts = Counter[str]()
        self.deleted_unserved: set[str] = set()
        """UIDs of pods that were gone between their bind and their last device."""

        self.refusals: list[Refusal] = []
        self._api = api
        self._seed = seed
        self._group = group
        self._came = asyncio.Event()
        self._is_over = False
        self._number = 0
        self._waiting: set[str] = set()
        self._names: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._scheduler = scheduler_name()

    async def create_forever(self, per_second: float) -> NoReturn:
        """Create pods at this rate, on average, until cancelled."""
        random = Random(f"{self._seed} times of pods")
        due = monotonic()
        while True:
            due = max(due, monotonic() - 1) + random.expovariate(per_second)
            await asyncio.sleep(max(0.0, due - monotonic()))
            if len(self._waiting) < _MOST_WAITING:
                await self._create()

    async def has_created(self, number: int) -> None:
        """Wait until so many pods came."""
        while self.counts["created"] < number:
            self._came.clear()
            await self._came.wait()

    def end(self) -> None:
        """Delete no more."""
        self._is_over = True
        for task in self._tasks:
            task.cancel()

    async def _create(self) -> None:
        self._number += 1
        name = self._names.pop() if self._names else f"p{self._number}"
        built = self._fate(self._number).builder(name, self._number).build()
        try:
            await self._api.create_pod(built, scheduler_name=self._scheduler)
        except ApiError as error:
            # Its first creation was carried out, but the answer was lost.
            if error.status != HTTPStatus.CONFLICT:
                raise

    def _fate(self, number: int) -> Fate:
        return Fate.of(self._seed, number)

    def see(self, change: Change) -> None:
        """Take note of what happened to a pod, and do what is to follow."""
        shown = change.after or change.before
        if change.kind is not Kind.POD or shown is None:
            return
        before, after, fate = change.before, change.after, self._fate(number_of(shown))
        if before is None:
            self._see_new(shown, fate)
        elif after is None:
            self._see_gone(before, fate)
        elif _is_bound(after) and not _is_bound(before):
            self._see_bound(after, fate)
        elif _is_over(after) and not _is_over(before):
            self._see_over(after, fate)

    def _see_new(self, shown: Json, fate: Fate) -> None:
        self.counts["created"] += 1
        self._came.set()
        self._waiting.add(_uid(shown))
        if fate.patience_seconds is not None:
            self._soon(self._lose_patience(shown, fate.patience_seconds))

    def _see_gone(self, shown: Json, fate: Fate) -> None:
        self._waiting.discard(_uid(shown))
        if _is_bound(shown) and is_unserved(shown):
            self.deleted_unserved.add(_uid(shown))
        if fate.name_again:
            self._names.append(shown["metadata"]["name"])

    def _see_bound(self, shown: Json, fate: Fate) -> None:
        self.counts["placed"] += 1
        self._waiting.discard(_uid(shown))
        after, grace = fate.run_seconds, _GRACE_SECONDS
        match fate.end:
            case End.BEFORE_SERVED:
                self._soon(self._delete(shown, "before it was served", 0.0))
            case End.FORCED:
                self._soon(self._delete(shown, "while it ran, with force", after))
            case End.GRACEFUL:
                self._soon(self._delete(shown, "while it ran", after, grace))
            case End.BY_ITSELF:
                pass

    def _see_over(self, shown: Json, fate: Fate) -> None:
        status, name = shown["status"], shown["metadata"]["name"]
        if status.get("reason") == "UnexpectedAdmissionError":
            self.counts["refused by kubelet"] += 1
            node_name = shown["spec"]["nodeName"]
            text = f"{name} on {node_name}: {status['message']}"
            self.refusals.append(Refusal(_uid(shown), node_name, monotonic(), text))
        else:
            self.counts[f"finished: {status['phase']}"] += 1
        self._soon(self._delete(shown, "finished", fate.tidy_seconds))

    async def _lose_patience(self, shown: Json, after: float) -> None:
        await asyncio.sleep(after)
        if _uid(shown) in self._waiting:
            await self._delete(shown, "while it waited", 0.0)

    async def _delete(
        self, shown: Json, why: str, after: float, grace_seconds: int = 0
    ) -> None:
        await asyncio.sleep(after)
        if await delete_exactly(self._api, shown, grace_seconds=grace_seconds):
            self.counts[f"deleted: {why}"] += 1

    def _soon(self, doing: Coroutine[None, None, None]) -> None:
        if self._is_over:
            doing.close()
            return
        task = self._group.create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _uid(shown: Json) -> str:
    uid: str = shown["metadata"]["uid"]
    return uid


def _is_bound(shown: Json) -> bool:
    return "nodeName" in shown["spec"]


def _is_over(shown: Json) -> bool:
    return shown["status"]["phase"] in {"Succeeded", "Failed"}
