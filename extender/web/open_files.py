"""Files that may be open: each connection is one, and so are ours to the API server.

Where they run out, nobody is let in any more, nor can a pod be bound. So the process
takes as many as it may have, and listeners take no more than half of them: the rest is
for our own, for handshakes under way, which no listener counts yet, and for connections
that were accepted and are about to be closed.
"""

import logging
import resource
from dataclasses import dataclass
from typing import Final

_log = logging.getLogger(__name__)

_MOST_AT_ONCE: Final = 100
"""What asyncio accepts at one go, if it is not told otherwise."""

_ROUNDS: Final = 4
"""asyncio accepts so often before the first connection that gives way is closed."""


@dataclass(frozen=True, slots=True)
class Share:
    """What of the files a listener may have.

    Attributes:
        connections: Open at one time.
        accepted_at_once: Beside these, until others have given way.
    """

    connections: int
    accepted_at_once: int = _MOST_AT_ONCE


def share_of_files(most: int, listeners: int) -> Share:
    """Divide the files among listeners; raises the process's own limit.

    Args:
        most: Connections of a listener, where there are files enough.
        listeners: How many there are; at least one.

    Source: getrlimit(2), RLIMIT_NOFILE. A soft limit of 1024 is common, since programs
    that use select(2) cannot have more; we use epoll.
    """
    files = _raised()
    if files == resource.RLIM_INFINITY:
        return Share(most)
    each = max(1, files // (2 * listeners))
    if each < most:
        _log.warning(
            "%d files may be open, so a listener has %d connections at most, not %d; "
            "raise the limit of open files, such as by `ulimit -Hn` or LimitNOFILE",
            files,
            each,
            most,
        )
    at_once = max(1, each // (2 * _ROUNDS))
    return Share(min(each, most), min(at_once, _MOST_AT_ONCE))


def _raised() -> int:
    """Raise the soft limit to the hard one, and give it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError) as error:
        _log.warning("the limit of open files stays at %d: %s", soft, error)
        return soft
    return hard
