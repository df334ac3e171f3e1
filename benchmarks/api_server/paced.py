"""Events that fall due by the clock, for as many watches as there are."""

import time
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final

_TICK_SECONDS: Final = 0.001
"""kube-apiserver writes an event once it has it; at 2,000/s this is two at a time."""


class Paced:
    """A collection's events, from its list's version on.

    The event at place i has version `first_version` + i + 1. Safe to use from several
    threads.
    """

    def __init__(self, events: Iterable[bytes], first_version: int) -> None:
        """Take encoded lines of a watch, each with its end."""
        self._chunks = [b"%x\r\n%b\r\n" % (len(line), line) for line in events]
        self._first_version = first_version
        self._lock = Lock()
        self._due_before = 0
        self._rate = 0.0
        self._since = 0.0

    def start(self, rate: float) -> None:
        """Let events fall due, so many a second."""
        with self._lock:
            self._due_before = self._due()
            self._rate, self._since = rate, time.monotonic()

    def stop(self) -> int:
        """Let none fall due any more; tell how many have."""
        with self._lock:
            self._due_before, self._rate = self._due(), 0.0
            return self._due_before

    @property
    def is_used_up(self) -> bool:
        """Whether there is nothing left to tell."""
        with self._lock:
            return self._due() == len(self._chunks)

    def follow(self, version: int, write: Callable[[bytes], object]) -> None:
        """Write all events after a version as they fall due, until writing fails.

        Args:
            version: Up to which the watch knows all.
            write: Takes chunks of HTTP's chunked coding, one an event.
        """
        told = version - self._first_version
        while True:
            with self._lock:
                due = self._due()
            if due > told:
                write(b"".join(self._chunks[told:due]))
                told = due
            else:
                time.sleep(_TICK_SECONDS)

    def _due(self) -> int:
        passed = time.monotonic() - self._since
        return min(len(self._chunks), self._due_before + int(passed * self._rate))
