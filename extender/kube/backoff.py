"""Pauses between tries: doubling, with jitter, from anew after a success."""

import asyncio
import random


class Backoff:
    """Grows with each failure in a row."""

    def __init__(self, first_seconds: float, longest_seconds: float) -> None:
        self._first = first_seconds
        self._longest = longest_seconds
        self._failures = 0

    @property
    def failures(self) -> int:
        """Failures in a row."""
        return self._failures

    def succeed(self) -> None:
        """Start anew."""
        self._failures = 0

    async def pause(self) -> None:
        """Count a failure, and wait."""
        await asyncio.sleep(self.next_seconds())

    def next_seconds(self) -> float:
        """Count a failure, and tell how long to wait.

        Half of it is chance, so that many clients do not come back at once.
        """
        doubled = self._first * 2.0 ** min(self._failures, _MOST_DOUBLINGS)
        self._failures += 1
        longest: float = min(self._longest, doubled)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter


_MOST_DOUBLINGS = 30
