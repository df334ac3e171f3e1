"""What shadow mode has found: totals by outcome, and the last differences."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from extender.core.pod import Pod
from extender.verbs.shadow import Judgement, Outcome


@dataclass(frozen=True, slots=True)
class Difference:
    """A decision that we would not have made so.

    Attributes:
        at: Unix seconds at which it was seen.
        pod: As it was shown then.
        judgement: What we say of it.
    """

    at: float
    pod: Pod
    judgement: Judgement


class ShadowBook:
    """Totals since the start, and the last differences, as many as are kept."""

    def __init__(self, started_at: float, most_kept: int) -> None:
        self.started_at = started_at
        self._totals: Counter[Outcome] = Counter()
        self._kept: deque[Difference] = deque(maxlen=most_kept)

    @property
    def totals(self) -> Mapping[Outcome, int]:
        """How many decisions came to each outcome; every outcome has its number."""
        return {outcome: self._totals[outcome] for outcome in Outcome}

    @property
    def left_off(self) -> int:
        """How many differences are not kept any more."""
        found = sum(n for each, n in self._totals.items() if each.is_difference)
        return found - len(self._kept)

    def note(self, at: float, pod: Pod, judgement: Judgement) -> None:
        """Count a judgement, and keep it where it is a difference."""
        self._totals[judgement.outcome] += 1
        if judgement.outcome.is_difference:
            self._kept.append(Difference(at, pod, judgement))

    def newest_first(self) -> Iterator[Difference]:
        """List the differences that are kept."""
        return reversed(self._kept)
