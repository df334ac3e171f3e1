"""Locks that some kinds have besides the common one: since when they stand.

They are taken with the common lock, in the same write, and released by the kind's
plugin; see `extender.core.kinds.ServedBy.OWN_LOCK`.
"""

from collections.abc import Callable, Iterable

from extender.core.names import NodeName
from extender.core.pod import Pod
from extender.service.cluster import NodeLock
from extender.verbs.locks import LockVerdict, judge_own_lock
from extender.wire.lock import decode_lock, own_lock_value


class OwnLocks:
    """Kinds' own locks of all nodes, and since when each value stands, by our clock."""

    def __init__(
        self, longest_bind_seconds: float, monotonic: Callable[[], float]
    ) -> None:
        self._longest_bind_seconds = longest_bind_seconds
        self._monotonic = monotonic
        self._since: dict[NodeName, dict[tuple[str, str], float]] = {}

    def see(self, node_name: NodeName, lock: NodeLock | None) -> None:
        """Note what a node's locks are; None for a node that is gone."""
        former = self._since.pop(node_name, {})
        if lock is not None and lock.own:
            now = self._monotonic()
            self._since[node_name] = {
                held: former.get(held, now) for held in lock.own.items()
            }

    def standing(self) -> dict[NodeName, tuple[tuple[str, float], ...]]:
        """Tell for how many seconds each has stood, by annotation."""
        now = self._monotonic()
        return {
            node_name: tuple((name, now - at) for (name, _), at in stood.items())
            for node_name, stood in self._since.items()
        }

    def judge(
        self,
        pod: Pod,
        node_name: NodeName,
        lock: NodeLock,
        names: Iterable[str],
        waiting: Pod | None,
    ) -> LockVerdict:
        """Tell whether a pod may take locks that are held, if not by a try of its own.

        Args:
            pod: Wants them.
            node_name: Whose locks they are.
            lock: As it was read.
            names: Of the locks.
            waiting: A pod on the node that is bound and not yet served; None without.
        """
        now, stood = self._monotonic(), self._since.get(node_name, {})
        for name in names:
            value = lock.own.get(name)
            if value is None or _is_of(pod, lock, value):
                continue
            # An event may have shown others since `lock` was read.
            seconds = now - stood.get((name, value), now)
            verdict = judge_own_lock(waiting, seconds, self._longest_bind_seconds, name)
            if not verdict.may_take:
                return verdict
        return LockVerdict(may_take=True, why="they are free")


def _is_of(pod: Pod, lock: NodeLock, value: str) -> bool:
    """Whether a lock of a kind's own was taken with a common one that names the pod."""
    if lock.value is None or own_lock_value(lock.value) != value:
        return False
    owner = decode_lock(lock.value)
    return owner is not None and (owner.namespace, owner.name) == (
        pod.namespace,
        pod.name,
    )
