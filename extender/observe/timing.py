"""How long a request took, and which stage took how much of it."""

import asyncio
from time import perf_counter
from types import TracebackType
from typing import Self

from prometheus_client import Counter, Histogram

from extender.errors import NotSynced, WireError
from extender.observe.words import OUTCOMES_OF, STAGES_OF, Stage, Verb, VerbOutcome


class VerbCounts:
    """What requests are counted by.

    To find one by its labels takes longer than to count.
    """

    def __init__(self, requests: Counter, whole: Histogram, stages: Histogram) -> None:
        self.requests = {
            (verb, outcome): requests.labels(verb, outcome)
            for verb, outcomes in OUTCOMES_OF.items()
            for outcome in outcomes
        }
        self.whole = {verb: whole.labels(verb) for verb in Verb}
        self.stages = {
            (verb, stage): stages.labels(verb, stage)
            for verb, stages_of in STAGES_OF.items()
            for stage in stages_of
        }


class Timing:
    """One request's clock, from its headers to its answer.

    Whoever ends a stage says which it was: `mark` gives it the time since the last
    mark. Several marks of one stage add up.

    Attributes:
        outcome: How it ended. An error that leaves the block decides by itself; where
            neither says, it was a fault.

    Cost: about 0.2 us a mark, and 2 us for each stage at the end.
    """

    __slots__ = ("_begun", "_counts", "_last", "_seconds", "_verb", "outcome")

    def __init__(self, counts: VerbCounts, verb: Verb) -> None:
        self._counts = counts
        self._verb = verb
        self._seconds: dict[Stage, float] = {}
        self._begun = self._last = perf_counter()
        self.outcome: VerbOutcome = VerbOutcome.FAULT

    def mark(self, stage: Stage) -> None:
        """Say that the time since the last mark went into a stage."""
        now = perf_counter()
        self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._last
        self._last = now

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        outcome = self.outcome if exc is None else _outcome_of(exc)
        counts, verb = self._counts, self._verb
        counts.requests[verb, outcome].inc()
        counts.whole[verb].observe(perf_counter() - self._begun)
        for stage, seconds in self._seconds.items():
            counts.stages[verb, stage].observe(seconds)


def _outcome_of(error: BaseException) -> VerbOutcome:
    match error:
        case NotSynced():
            return VerbOutcome.NOT_SYNCED
        case WireError():
            return VerbOutcome.UNREADABLE
        case asyncio.CancelledError() | OSError():
            return VerbOutcome.CUT_OFF
        case _ if getattr(error, "status", 500) < 500:  # noqa: PLR2004
            return VerbOutcome.CUT_OFF
        case _:
            return VerbOutcome.FAULT
