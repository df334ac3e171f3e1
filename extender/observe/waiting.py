"""How long something that others hold was waited for, and whether it came."""

from time import perf_counter
from types import TracebackType
from typing import Self

from prometheus_client import Histogram

from extender.observe.words import WaitOutcome


class Waiting:
    """One wait, as a context manager around it and around what it was for.

    It is observed at the end of the block, once: up to the last time that it was over,
    or up to the error that came before.
    """

    __slots__ = ("_begun", "_histogram", "_outcome", "_seconds")

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram
        self._begun = perf_counter()
        self._outcome = WaitOutcome.FAILED
        self._seconds: float | None = None

    def over(self, *, is_taken: bool) -> None:
        """Say that it is over now: it was taken, or the deadline came first."""
        self._outcome = WaitOutcome.TAKEN if is_taken else WaitOutcome.TIMED_OUT
        self._seconds = perf_counter() - self._begun

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        seconds = self._seconds
        if seconds is None:
            seconds = perf_counter() - self._begun
        self._histogram.labels(self._outcome).observe(seconds)
