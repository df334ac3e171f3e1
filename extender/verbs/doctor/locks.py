"""Locks that nobody needs any more."""

from collections.abc import Iterator

from extender.verbs.diagnosis import Diagnosis, LockRelease
from extender.verbs.doctor.catalogue import LEAKED_LOCK, LEAKED_OWN_LOCK
from extender.verbs.doctor.signs import Signs, StandingLock
from extender.verbs.durations import in_words
from extender.verbs.locks import judge_lock, judge_own_lock


def check_lock(signs: Signs, lock: StandingLock) -> Iterator[Diagnosis]:
    """Tell whether a node's lock, or a kind's own, is leaked.

    The same judgement as that of a bind, but for what is void and young: whoever left
    it may be about to release it.
    """
    about = f"node {lock.node_name}"
    patience = signs.patience
    if lock.seen is not None and lock.value is not None:
        verdict = judge_lock(
            lock.seen,
            lock.node_name,
            None,
            patience.longest_bind_seconds,
            patience.admission_seconds,
        )
        is_old = lock.seen.stood_seconds > patience.longest_bind_seconds
        if verdict.may_take and is_old:
            yield LEAKED_LOCK.found(
                about,
                f"its lock is held and not needed: {_who(verdict.why)}",
                f"the lock is {lock.value}",
                f"it has stood for {in_words(lock.seen.stood_seconds)}",
                fix=LockRelease(lock.node_name, lock.value),
            )
    waiting = next(
        (
            pod
            for pod in signs.ledger.pods_on(lock.node_name)
            if pod.is_unserved and pod.node_name == lock.node_name
        ),
        None,
    )
    for name, seconds in lock.own_seconds:
        own = judge_own_lock(waiting, seconds, patience.longest_bind_seconds, name)
        if own.may_take:
            yield LEAKED_OWN_LOCK.found(
                about, own.why, f"it has stood for {in_words(seconds)}"
            )


def _who(why: str) -> str:
    """Say of an unbound owner what its age means."""
    return why.replace("is being bound", "was to be bound, and is not")
