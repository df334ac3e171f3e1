"""Which nodes are locked, by whom and since when, as this process sees it."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.errors import Forbidden, NotFound, Rejected, WireError
from extender.service.cluster import Cluster, NodeLock
from extender.service.own_locks import OwnLocks
from extender.settings import BindSettings
from extender.verbs.doctor.signs import StandingLock
from extender.verbs.locks import LockVerdict, SeenLock, is_gone, judge_lock
from extender.wire.lock import LockOwner, decode_lock, lock_taken_at

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Stand:
    """A value that somebody's lock has.

    Attributes:
        value: Of the lock.
        since: By our clock.
        owner_uid: Of the pod that it was set for, once that is known.
        gone_since: Since when that pod is known to be gone, by our clock.
        look_at: When to look at it again.
    """

    value: str
    since: float
    owner_uid: PodUID | None = None
    gone_since: float | None = None
    look_at: float | None = None


class LockStands:
    """The locks that are held, and the judgement of each."""

    def __init__(
        self,
        cluster: Cluster,
        settings: BindSettings,
        monotonic: Callable[[], float],
    ) -> None:
        """Know of no lock yet.

        Args:
            cluster: Tells of the pods that locks name.
            settings: How long a bind and an admission may last.
            monotonic: The clock by which locks age.
        """
        self.own = OwnLocks(settings.longest_bind_seconds, monotonic)
        """Those that some kinds have besides."""
        self._cluster = cluster
        self._settings = settings
        self._monotonic = monotonic
        self._stands: dict[NodeName, Stand] = {}

    def see(self, node_name: NodeName, lock: NodeLock | None) -> None:
        """Note what a node's locks are; None for a node that is gone."""
        self.own.see(node_name, lock)
        if lock is None or lock.value is None:
            self._stands.pop(node_name, None)
            return
        stand = self._stands.get(node_name)
        if stand is None or stand.value != lock.value:
            self._stands[node_name] = Stand(lock.value, self._monotonic())

    def of(self, node_name: NodeName) -> Stand | None:
        """Give what a node's lock is; None while nobody holds it."""
        return self._stands.get(node_name)

    @property
    def all(self) -> dict[NodeName, Stand]:
        """Every node that is locked."""
        return self._stands

    def long_held(self) -> Iterator[tuple[NodeName, LockOwner]]:
        """List locks whose value has stood for longer than a bind waits."""
        since = self._monotonic() - self._settings.lock_wait_seconds
        for node_name, stand in self._stands.items():
            if stand.since < since:
                owner = decode_lock(stand.value)
                if owner is not None:
                    yield node_name, owner

    def standing(
        self, pods: Iterable[Pod], unix_seconds: float
    ) -> Iterator[StandingLock]:
        """Tell of every lock to whoever examines them; nothing is decided by that.

        A lock that we have not seen begin is as old as it says.

        Args:
            pods: Those that may own one.
            unix_seconds: Now.
        """
        owners = map(decode_lock, [stand.value for stand in self._stands.values()])
        wanted = {(each.namespace, each.name) for each in owners if each is not None}
        # Of tens of thousands of pods, and only where there is a lock.
        by_name = {
            (pod.namespace, pod.name): pod
            for pod in (pods if wanted else ())
            if (pod.namespace, pod.name) in wanted
        }
        now = self._monotonic()
        own = self.own.standing()
        for node_name in {**self._stands, **own}:
            stand = self._stands.get(node_name)
            if stand is None:
                yield StandingLock(node_name, None, None, own[node_name])
                continue
            named = decode_lock(stand.value)
            owner = by_name.get((named.namespace, named.name)) if named else None
            seconds = max(now - stand.since, _told_seconds(stand.value, unix_seconds))
            gone = named is not None and is_gone(owner, stand.owner_uid)
            seen = SeenLock(owner, seconds, seconds if gone else None)
            yield StandingLock(node_name, stand.value, seen, own.get(node_name, ()))

    async def judge_as_told(
        self, node_name: NodeName, lock: NodeLock, unix_seconds: float
    ) -> LockVerdict:
        """Judge a lock that nobody wants, which is as old as it says.

        Args:
            node_name: Whose lock it is.
            lock: As for `judge`.
            unix_seconds: Now.

        Raises:
            ClusterError: As for `judge`.
        """
        stand = self._stands.get(node_name)
        if stand is not None:
            told = self._monotonic() - _told_seconds(stand.value, unix_seconds)
            stand.since = min(stand.since, told)
        return await self.judge(None, node_name, lock)

    async def judge(
        self, pod: Pod | None, node_name: NodeName, lock: NodeLock
    ) -> LockVerdict:
        """Judge a node's common lock by the API's view of the pod that it names.

        Args:
            pod: Wants it; None where nobody does.
            node_name: Whose lock it is.
            lock: As it was read; its value was told by `see`.

        Raises:
            ClusterError: The pod cannot be read now.
        """
        if lock.value is None:
            return LockVerdict(may_take=True, why="it is free")
        # While the owner is read, an event may put another value in its place.
        stand = self._stands.setdefault(node_name, Stand(lock.value, self._monotonic()))
        named = decode_lock(lock.value)
        owner = None
        if named is not None:
            try:
                owner = await self._cluster.read_pod(named.namespace, named.name)
            except NotFound:
                pass
            except (Forbidden, Rejected, WireError) as error:
                # Only its age can tell, as for a lock that names nobody.
                _log.warning("node %s: whom its lock names: %s", node_name, error)
                named = None
        if stand.owner_uid is None and owner is not None:
            stand.owner_uid = owner.uid
        now = self._monotonic()
        if named is not None and is_gone(owner, stand.owner_uid):
            stand.gone_since = now if stand.gone_since is None else stand.gone_since
        seen = SeenLock(
            owner=owner,
            stood_seconds=now - stand.since,
            gone_seconds=None if stand.gone_since is None else now - stand.gone_since,
        )
        return judge_lock(
            seen,
            node_name,
            pod,
            self._settings.longest_bind_seconds,
            self._settings.admission_seconds,
        )


def _told_seconds(value: str, unix_seconds: float) -> float:
    taken_at = lock_taken_at(value)
    return 0.0 if taken_at is None else unix_seconds - taken_at
