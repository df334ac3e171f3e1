"""Node locks: waited for, taken and given back, one bind a node at a time."""

import asyncio
import logging
import secrets
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import count
from typing import Final

from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.errors import (
    Conflict,
    ExtenderError,
    NotFound,
    Unanswered,
)
from extender.service.cluster import Cluster, NodeLock
from extender.service.doors import Doors
from extender.service.lock_stands import LockStands, Stand
from extender.settings import BindSettings
from extender.verbs.diagnosis import LockRelease
from extender.verbs.locks import LockVerdict
from extender.wire.lock import LockOwner, encode_lock

_log = logging.getLogger(__name__)

_LONGEST_WAIT_SECONDS: Final = 2.0
"""A lock is looked at this often even if no event comes: its owner may go without
one, and age alone makes some locks ours to take."""

_LOOKS_AT_A_TIME: Final = 5
"""Locks that nobody asks for are looked at a few at a time: each look is a read."""

_MOMENT_SECONDS: Final = 0.05
"""After a write that came too late: enough for the other's write to be readable."""

_MICROS: Final = 10**6
_NANOS_PER_MICRO: Final = 10**3


@dataclass(frozen=True, slots=True)
class Taken:
    """The lock is ours, by this value, in this version of the node."""

    value: str
    version: str


@dataclass(frozen=True, slots=True)
class Kept:
    """The lock stayed with another pod until the deadline."""

    why: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """Who wants a node's lock.

    Attributes:
        pod: To be bound.
        own: Annotations of the locks that its kinds have besides; they are taken, too.
        waiting: Gives a pod on the node that is known to be bound there and not yet
            served; None without one.
    """

    pod: Pod
    own: frozenset[str]
    waiting: Callable[[], Pod | None]


@dataclass(slots=True)
class _Written:
    """The last value that we wrote, or tried to, at a node, and for whom.

    Attributes:
        value: It may still come to stand long after its bind gave up.
        pod_uid: Whom it was for.
        idle_since: Since when it stands and nobody needs it, by our clock.
    """

    value: str
    pod_uid: PodUID
    idle_since: float | None = None


class NodeLocks:
    """The locks of all nodes, as this process sees and takes them.

    Binds to one node come in turn, first come first served; so one process never takes
    a lock from itself.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: BindSettings,
        unix_seconds: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._unix_seconds = unix_seconds
        self._monotonic = monotonic
        self._views: dict[NodeName, NodeLock] = {}
        self._doors = Doors(monotonic)
        self._written: dict[NodeName, _Written] = {}
        self._stands = LockStands(cluster, settings, monotonic)
        self._takings = count(secrets.randbelow(_NANOS_PER_MICRO))

    def see(self, node_name: NodeName, lock: NodeLock | None) -> None:
        """Note what a node's lock is, and wake who waits for it to change.

        Args:
            node_name: The node.
            lock: As it was read or shown; None for a node that is gone.
        """
        self._stands.see(node_name, lock)
        if lock is None:
            self._views.pop(node_name, None)
            self._written.pop(node_name, None)
        else:
            self._views[node_name] = lock
        self.wake(node_name)

    @property
    def stands(self) -> LockStands:
        """The locks that are held."""
        return self._stands

    def binds_at(self) -> dict[NodeName, int]:
        """Count binds at nodes that are locked, or that binds of ours are at."""
        binds = dict.fromkeys(self._stands.all, 1)
        binds.update(self._doors.callers())
        return binds

    def wake(self, node_name: NodeName) -> None:
        """Let who waits at a node look again."""
        self._doors.wake(node_name)

    def turn(
        self, node_name: NodeName, deadline: float
    ) -> AbstractAsyncContextManager[bool]:
        """Come in turn; gives False where the deadline came first."""
        return self._doors.turn(node_name, deadline)

    async def take(
        self, wanted: Wanted, node_name: NodeName, deadline: float
    ) -> Taken | Kept:
        """Take the lock of a node for a pod; call it in `turn`.

        Raises:
            ClusterError: The lock cannot be read or written.
        """
        if await self._is_worth_a_look(wanted, node_name, deadline):
            return await self._take(wanted, node_name, deadline)
        return Kept("a pod that we bound waits for its devices")

    async def _take(
        self, wanted: Wanted, node_name: NodeName, deadline: float
    ) -> Taken | Kept:
        tried: str | None = None
        try:
            while True:
                lock = self._view_if_free(node_name, wanted.own)
                is_read = lock is None
                if lock is None:
                    lock = await self._cluster.read_lock(node_name)
                    self.see(node_name, lock)
                self._doors.changed(node_name).clear()
                if tried is not None and lock.value == tried:
                    return Taken(tried, lock.version)
                verdict = await self._judge_all(wanted, node_name, lock)
                if verdict.may_take:
                    if lock.value is not None:
                        _log.info(
                            "node %s: its lock is taken over: %s",
                            node_name,
                            verdict.why,
                        )
                    tried = self._fresh_value(wanted.pod)
                    self._written[node_name] = _Written(tried, wanted.pod.uid)
                    taken = await self._taken(node_name, wanted, tried, lock)
                    if taken is not None:
                        return Taken(tried, taken.version)
                    if not is_read:
                        continue
                ripe_in = 0.0 if verdict.may_take else verdict.ripe_in_seconds
                if not await self.wait(node_name, deadline, ripe_in):
                    break
        except ExtenderError:
            await self._give_back(node_name, tried)
            raise
        await self._give_back(node_name, tried)
        return Kept("others take it first" if verdict.may_take else verdict.why)

    async def _is_worth_a_look(
        self, wanted: Wanted, node_name: NodeName, deadline: float
    ) -> bool:
        """Wait, a while at most, where the lock is one of ours and still needed.

        Its pod was bound a moment ago and waits for its devices; the watch shows when
        that is over. So there is nothing to read. A lock that no plugin releases may
        stand longer than its pod waits.

        Returns:
            False once the deadline is here.
        """
        seen_at = self._monotonic()
        while self._is_held_by_us(wanted.pod, node_name):
            if wanted.own and wanted.waiting() is None:
                break
            left = seen_at + _LONGEST_WAIT_SECONDS - self._monotonic()
            if left <= 0:
                break
            if not await self.wait(node_name, deadline, left):
                return False
        return True

    def _is_held_by_us(self, pod: Pod, node_name: NodeName) -> bool:
        view, written = self._views.get(node_name), self._written.get(node_name)
        return (
            view is not None
            and written is not None
            and view.value == written.value
            and written.pod_uid != pod.uid
        )

    async def wait(
        self, node_name: NodeName, deadline: float, ripe_in: float | None = None
    ) -> bool:
        """Wait until something happens at a node; False once the deadline is here.

        Args:
            node_name: The node.
            deadline: On the monotonic clock.
            ripe_in: Seconds after which to look again in any case.
        """
        now = self._monotonic()
        if now >= deadline:
            return False
        longest = _LONGEST_WAIT_SECONDS
        if ripe_in is not None:
            longest = min(longest, ripe_in + _MOMENT_SECONDS)
        changed = self._doors.changed(node_name)
        try:
            async with asyncio.timeout(min(longest, deadline - now)):
                await changed.wait()
        except TimeoutError:
            pass
        changed.clear()
        return True

    async def release(self, node_name: NodeName, value: str) -> None:
        """Give a lock back; where that fails, `tidy` does it later."""
        try:
            await self._cluster.release_lock(node_name, value)
        except NotFound:
            self.see(node_name, None)
            return
        except ExtenderError as error:
            _log.warning("node %s: its lock is not given back: %s", node_name, error)
            return
        written = self._written.get(node_name)
        if written is not None and written.value == value:
            del self._written[node_name]

    async def tidy(
        self,
        needs_lock: Callable[[PodUID, NodeName], bool],
        is_selected: Callable[[NodeName], bool],
    ) -> None:
        """Give back what nobody needs any more.

        Such as the lock of a pod that was deleted before it was served, or one whose
        write arrived after its bind gave up, or that of a process that was killed.

        Args:
            needs_lock: Tells whether a pod is being bound to a node, or is bound there
                and waits for its devices.
            is_selected: Tells whether a node is scheduled here; else only locks that
                we wrote are ours to give back.
        """
        await self._tidy_written(needs_lock)
        await self._tidy_old(is_selected)

    async def _tidy_old(self, is_selected: Callable[[NodeName], bool]) -> None:
        """Give back, a few at a time, what has stood for longer than any bind lasts."""
        now, longest = self._monotonic(), self._settings.longest_bind_seconds
        due = [
            (node_name, stand)
            for node_name, stand in self._stands.all.items()
            if (stand.look_at or stand.since + longest) < now and is_selected(node_name)
        ]
        for node_name, stand in due[:_LOOKS_AT_A_TIME]:
            stand.look_at = now + longest
            is_as_it_was = self._stands.of(node_name) is stand
            if is_as_it_was and node_name not in self._doors:
                await self._tidy_one(node_name, stand)

    async def _tidy_one(self, node_name: NodeName, stand: Stand) -> None:
        try:
            verdict = await self._stands.judge(
                None, node_name, NodeLock(stand.value, "")
            )
        except ExtenderError as error:
            _log.warning("node %s: its lock cannot be judged: %s", node_name, error)
            return
        if verdict.may_take and node_name not in self._doors:
            _log.info("node %s: its lock is given back: %s", node_name, verdict.why)
            await self.release(node_name, stand.value)
        elif verdict.ripe_in_seconds is not None:
            stand.look_at = self._monotonic() + verdict.ripe_in_seconds

    async def _tidy_written(
        self, needs_lock: Callable[[PodUID, NodeName], bool]
    ) -> None:
        now = self._monotonic()
        for node_name, written in list(self._written.items()):
            stand = self._stands.of(node_name)
            if (
                stand is None
                or stand.value != written.value
                or needs_lock(written.pod_uid, node_name)
            ):
                written.idle_since = None
            elif written.idle_since is None:
                written.idle_since = now
            elif now - written.idle_since > self._settings.admission_seconds:
                _log.info("node %s: its lock, which we left, is given back", node_name)
                written.idle_since = None  # where it fails, not again at once
                await self.release(node_name, written.value)

    async def release_leaked(self, leaked: LockRelease) -> str:
        """Release a lock that is judged to be needed by nobody, by the API as it is.

        A lock that has not been watched for long is as old as it says, since whoever
        asks for this has looked at it.

        Returns:
            What was done, or why nothing.
        """
        node_name = leaked.node
        try:
            lock = await self._cluster.read_lock(node_name)
            self.see(node_name, lock)
            if lock.value != leaked.value:
                return f"node {node_name}: its lock is another by now; left alone"
            if node_name in self._doors:
                return f"node {node_name}: a bind is at it; left alone"
            verdict = await self._judged_leaked(node_name, lock)
            if not verdict.may_take or node_name in self._doors:
                return f"node {node_name}: {verdict.why}; left alone"
            await self._cluster.release_lock(node_name, leaked.value)
        except ExtenderError as error:
            return f"node {node_name}: its lock is not released: {error}"
        _log.info("node %s: its lock is released: %s", node_name, verdict.why)
        return f"node {node_name}: its lock is released: {verdict.why}"

    async def _judged_leaked(self, node_name: NodeName, lock: NodeLock) -> LockVerdict:
        """Judge a lock, and again once kubelet must know that its pod is gone."""
        now = self._unix_seconds()
        verdict = await self._stands.judge_as_told(node_name, lock, now)
        wait_seconds = verdict.ripe_in_seconds
        if wait_seconds and wait_seconds <= self._settings.admission_seconds:
            await asyncio.sleep(wait_seconds + _MOMENT_SECONDS)
            now = self._unix_seconds()
            verdict = await self._stands.judge_as_told(node_name, lock, now)
        return verdict

    def _view_if_free(
        self, node_name: NodeName, own: AbstractSet[str]
    ) -> NodeLock | None:
        """Give the last view of free locks: a write says if it is outdated."""
        view = self._views.get(node_name)
        is_free = view is not None and view.value is None and own.isdisjoint(view.own)
        return view if is_free else None

    async def _taken(
        self, node_name: NodeName, wanted: Wanted, value: str, lock: NodeLock
    ) -> NodeLock | None:
        try:
            taken = await self._cluster.take_lock(node_name, value, lock, wanted.own)
        except (Conflict, Unanswered):
            self._views.pop(node_name, None)
            return None  # the next look tells
        self.see(node_name, taken)
        stand = self._stands.of(node_name)
        if stand is not None and stand.value == value:
            stand.owner_uid = wanted.pod.uid
        return taken

    async def _give_back(self, node_name: NodeName, tried: str | None) -> None:
        if tried is not None:
            await self.release(node_name, tried)

    async def _judge_all(
        self, wanted: Wanted, node_name: NodeName, lock: NodeLock
    ) -> LockVerdict:
        """Judge the common lock, and those that a pod's kinds have besides."""
        verdict = await self._stands.judge(wanted.pod, node_name, lock)
        if not verdict.may_take or wanted.own.isdisjoint(lock.own):
            return verdict
        waiting = wanted.waiting()
        own = self._stands.own.judge(wanted.pod, node_name, lock, wanted.own, waiting)
        return verdict if own.may_take else own

    def _fresh_value(self, pod: Pod) -> str:
        """Make a value that no earlier taking wrote, so that a release is exact."""
        micros = int(self._unix_seconds() * _MICROS)
        nanos = micros * _NANOS_PER_MICRO + next(self._takings) % _NANOS_PER_MICRO
        return encode_lock(LockOwner(pod.namespace, pod.name), nanos)
