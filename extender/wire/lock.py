"""The node lock: which pod a node's device plugin serves next.

``<RFC3339 time>,<namespace>,<pod name>``. The plugin reads namespace and name; the time
has nine decimals, which Go's reader accepts, so that each taking writes a value of its
own.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

LOCK_ANNOTATION: Final = "hami.io/mutex.lock"

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
"""What Kubernetes takes for a namespace's name, and roughly for a pod's."""

_NANOS: Final = 10**9

_TIME: Final = re.compile(
    r"(?P<to_seconds>[0-9-]{10}T[0-9:]{8})(?P<fraction>\.[0-9]{1,9})?"
    r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})"
)


@dataclass(frozen=True, slots=True)
class LockOwner:
    """The pod that a lock names. It has no UID: a later pod of the name is it too."""

    namespace: str
    name: str


def encode_lock(owner: LockOwner, unix_nanoseconds: int) -> str:
    """Write a lock value.

    Example:
        >>> encode_lock(LockOwner("default", "p"), 1_000_000_005)
        '1970-01-01T00:00:01.000000005Z,default,p'
    """
    seconds, nanos = divmod(unix_nanoseconds, _NANOS)
    moment = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{nanos:09}Z,{owner.namespace},{owner.name}"


def own_lock_value(text: str) -> str:
    """Give what stands in the locks of kinds' own that are taken with a lock.

    It is as much a value of its own as the lock's, so that only what was taken by it is
    given back.

    Example:
        >>> own_lock_value("1970-01-01T00:00:01.000000005Z,default,p")
        '1970-01-01T00:00:01.000000005Z'
    """
    return text.partition(",")[0]


def decode_lock(text: str) -> LockOwner | None:
    """Read whom a lock names; None for a time alone and whatever else names no pod.

    The time is not looked at: clocks of others decide nothing here.

    Example:
        >>> decode_lock("2026-01-01T00:00:00Z,default,p")
        LockOwner(namespace='default', name='p')
        >>> decode_lock("2026-01-01T00:00:00Z") is None
        True
    """
    _, _, owner = text.partition(",")
    namespace, _, name = owner.partition(",")
    if not _LABEL.fullmatch(namespace) or not _SUBDOMAIN.fullmatch(name):
        return None
    return LockOwner(namespace, name)


def lock_taken_at(text: str) -> float | None:
    """Read when a lock was taken, in Unix seconds; None where that cannot be told.

    By the clock of whoever took it: for people, and for who has not watched the lock.

    Example:
        >>> lock_taken_at("1970-01-01T00:00:01.500000005Z,default,p")
        1.5
        >>> lock_taken_at("yesterday,default,p") is None
        True
    """
    moment = _TIME.fullmatch(text.partition(",")[0])
    if moment is None:
        return None
    try:
        seconds = datetime.fromisoformat(f"{moment['to_seconds']}{moment['zone']}")
    except ValueError:
        return None
    fraction = float(f"0{(moment['fraction'] or '.0')[:7]}")
    return seconds.timestamp() + fraction
