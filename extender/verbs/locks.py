"""Whether a node's lock may be taken from the pod that it names.

The device plugin serves whichever pod the lock names, unchecked. So a pod that is bound
and not yet served keeps the lock, however old it is: to take it would hand out that
pod's devices to another.
"""

from dataclasses import dataclass

from extender.core.model import NodeName, Pod, PodUID


@dataclass(frozen=True, slots=True)
class SeenLock:
    """A lock that somebody holds.

    Attributes:
        names_pod: Whether its value can be read.
        owner: The pod that it names, as the API has it now; None without one.
        first_uid: UID of the pod of that name when this value was first looked at;
            None when there was none, or it was not looked at.
        stood_seconds: How long the value has stood unchanged, by our own clock.
    """

    names_pod: bool
    owner: Pod | None
    first_uid: PodUID | None
    stood_seconds: float


@dataclass(frozen=True, slots=True)
class LockVerdict:
    """Whether the lock may be taken, and why or why not, in words for people."""

    may_take: bool
    why: str


def judge_lock(
    lock: SeenLock, node_name: NodeName, pod: Pod, longest_bind_seconds: float
) -> LockVerdict:
    """Judge a lock that is held.

    Args:
        lock: As it was seen.
        node_name: Whose lock it is.
        pod: Wants it.
        longest_bind_seconds: No bind of anybody lasts longer.
    """
    is_old = lock.stood_seconds > longest_bind_seconds
    if not lock.names_pod:
        return LockVerdict(is_old, "its lock names no pod")
    owner = lock.owner
    if owner is None:
        return LockVerdict(may_take=True, why="the pod that it names is gone")
    if owner.uid == pod.uid:
        return LockVerdict(may_take=True, why="an earlier bind of this pod left it")
    if owner.status.is_finished:
        return LockVerdict(may_take=True, why=f"pod {owner.full_name} has finished")
    if owner.node_name == node_name:
        if owner.is_unserved:
            why = f"pod {owner.full_name} waits for its devices"
            return LockVerdict(may_take=False, why=why)
        return LockVerdict(may_take=True, why=f"pod {owner.full_name} is served")
    if owner.node_name is not None:
        why = f"pod {owner.full_name} is on {owner.node_name}"
        return LockVerdict(may_take=True, why=why)
    if lock.first_uid is not None and lock.first_uid != owner.uid:
        why = f"the pod {owner.full_name} that it named is gone"
        return LockVerdict(may_take=True, why=why)
    return LockVerdict(is_old, f"pod {owner.full_name} is being bound")
