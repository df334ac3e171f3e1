"""Whether each of several containers finds enough cards, in one addition.

The search asks this at every step, so it is worth a trick: what each container finds
is counted in a field of its own within one large number.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from extender.core.card_states import Wanted

_FIELD: Final = 20
_UPPER: Final = 1 << (_FIELD - 1)
"""More than a node has cards, and so more than a container may ask for of them."""


class Enough:
    """Compares, for a pod's containers from any one on, what they find and want."""

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self._spread = _Spread()
        self._bounds = [_bounds(wanted[at:]) for at in range(len(wanted))]

    def is_for_all(self, at: int, answers: Iterable[int]) -> bool:
        """Tell whether every container from the one at `at` on finds enough cards.

        Args:
            at: In start order among those that ask.
            answers: Of each card: bit by bit, which containers it would serve.

        Example:
            Two containers want 1 and 2 cards, and fields have 4 bits, the upper one
            being 8. Three cards would serve the first, one the second: the sum is 3
            and 1. Added to 8 - 1 and 8 - 2 that is 10 and 7: the upper bit is set for
            the first alone, so the second does not find enough.
        """
        offset, uppers = self._bounds[at]
        found = sum(map(self._spread.__getitem__, answers))
        return (found + offset) & uppers == uppers


class _Spread(dict[int, int]):
    """Answers with a field in place of each bit."""

    def __missing__(self, answer: int) -> int:
        """Spread an answer for the first time."""
        bits = range(answer.bit_length())
        spread = sum(1 << _FIELD * bit for bit in bits if answer >> bit & 1)
        self[answer] = spread
        return spread


def _bounds(wanted: Sequence[Wanted]) -> tuple[int, int]:
    """Give what to add to what is found, and the bits that are set then."""
    counts: dict[int, int] = {}
    for one in wanted:
        counts[one.bit] = max(one.count, counts.get(one.bit, 0))
    shifts = {bit: _FIELD * (bit.bit_length() - 1) for bit in counts}
    offset = sum(_UPPER - count << shifts[bit] for bit, count in counts.items())
    return offset, sum(_UPPER << shift for shift in shifts.values())
