"""Whether a node's lock may be taken from the pod that it names.

The device plugin serves whichever pod the lock names, unchecked. So a pod that is bound
and not yet served keeps the lock, however old it is: to take it would hand out that
pod's devices to another.
"""

from dataclasses import dataclass

from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod


@dataclass(frozen=True, slots=True)
class SeenLock:
    """A lock that somebody holds.

    Attributes:
        owner: The pod that it names, as the API has it now; None without one.
        stood_seconds: How long the value has stood unchanged, by our own clock.
        gone_seconds: How long it is known that the pod it was set for is gone, by the
            same clock; None while it is there, or nobody knows which it was.
    """

    owner: Pod | None
    stood_seconds: float
    gone_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class LockVerdict:
    """Whether the lock may be taken.

    Attributes:
        may_take: Now.
        why: Or why not, in words for people.
        ripe_in_seconds: When age alone will make it so; None where it never does.
    """

    may_take: bool
    why: str
    ripe_in_seconds: float | None = None


def is_gone(owner: Pod | None, first_uid: PodUID | None) -> bool:
    """Tell whether the pod that a lock was set for is gone.

    Args:
        owner: The pod of that name, as the API has it now.
        first_uid: UID of the pod that it was set for, as far as that is known.
    """
    return owner is None or first_uid not in (None, owner.uid)


def judge_lock(
    lock: SeenLock,
    node_name: NodeName,
    pod: Pod | None,
    longest_bind_seconds: float,
    admission_seconds: float,
) -> LockVerdict:
    """Judge a lock that is held.

    Args:
        lock: As it was seen.
        node_name: Whose lock it is.
        pod: Wants it; None where nobody does.
        longest_bind_seconds: No bind of anybody lasts longer.
        admission_seconds: kubelet does not admit a pod that is gone for longer. Until
            then its device plugin may be asked to serve that pod, and would hand out
            the rows of whichever pod the lock names.
    """
    owner = lock.owner
    is_own = owner is not None and pod is not None and owner.uid == pod.uid
    if owner is not None and _waits_there(owner, node_name) and not is_own:
        why = f"pod {owner.full_name} waits for its devices"
        return LockVerdict(may_take=False, why=why)
    if lock.gone_seconds is not None:
        is_known = lock.gone_seconds > admission_seconds
        doubt = "" if is_known else ", and kubelet may not know it yet"
        why = f"the pod that it was set for is gone{doubt}"
        return _by_age(lock.gone_seconds, admission_seconds, why)
    void = _why_void(owner, node_name, is_own=is_own)
    if void is not None:
        return LockVerdict(may_take=True, why=void)
    why = f"pod {owner.full_name} is being bound" if owner else "its lock names no pod"
    return _by_age(lock.stood_seconds, longest_bind_seconds, why)


def judge_own_lock(
    waiting: Pod | None, stood_seconds: float, longest_bind_seconds: float, name: str
) -> LockVerdict:
    """Judge a lock of a kind's own that is held; it names no pod.

    Its plugin removes it once it has served a pod, and cannot bear that somebody else
    does so at that moment. So it is left alone for as long as it may be needed.

    Args:
        waiting: A pod on the node that is bound and not yet served; None without one.
        stood_seconds: How long the value has stood unchanged, by our own clock.
        longest_bind_seconds: No bind of anybody lasts longer.
        name: The annotation.
    """
    if waiting is not None:
        why = f"pod {waiting.full_name} waits for its devices"
        return LockVerdict(may_take=False, why=why)
    why = f"{name} is held, and no pod there waits for devices"
    return _by_age(stood_seconds, longest_bind_seconds, why)


def _by_age(seconds: float, limit_seconds: float, why: str) -> LockVerdict:
    left = limit_seconds - seconds
    return LockVerdict(may_take=left < 0, why=why, ripe_in_seconds=max(left, 0.0))


def _waits_there(owner: Pod, node_name: NodeName) -> bool:
    return owner.node_name == node_name and owner.is_unserved


def _why_void(owner: Pod | None, node_name: NodeName, *, is_own: bool) -> str | None:
    """Tell why a lock protects nobody, however young it is; None where it may."""
    why = None
    if owner is None:
        pass
    elif is_own:
        why = "an earlier bind of this pod left it"
    elif owner.status.is_finished:
        why = f"pod {owner.full_name} has finished"
    elif owner.node_name == node_name:
        why = f"pod {owner.full_name} is served"
    elif owner.node_name is not None:
        why = f"pod {owner.full_name} is on {owner.node_name}"
    return why
