"""Which of a node's cards are linked best with each other.

Source: HAMi v2.10, policy topology-aware. A pair's score is the higher, the closer two
cards are: 10 across processors to 60 on one board, and 100 for each NVLink.
"""

from collections.abc import Sequence
from itertools import chain, combinations
from math import comb
from typing import Final

import numpy as np

from extender.core.arrays import Floats, Int64s, Mask

_MOST_COMBINATIONS: Final = 20_000
"""More than there are of 8 among 16. With more, the best is approached card by card."""

_BEYOND_ALL_SCORES: Final = 2**40
"""Above any sum of scores: 64 cards have 2,016 pairs of less than 2**29 each."""


def best_linked(scores: Int64s, is_preferred: Sequence[bool], count: int) -> list[int]:
    """Choose `count` of K cards.

    As many preferred ones as can be; among such choices the one with the highest sum
    over its pairs, or for one card the lowest sum to all others, so that those with
    good links stay together; among equal ones the first in the order of the cards.

    Args:
        scores: int64 (K, K); of card k with each other one, 0 where none is known.
        is_preferred: One per card.
        count: At least 1, and at most K.

    Returns:
        Places among the K, ascending.

    Example:
        >>> scores = np.array([[0, 10, 60], [10, 0, 10], [60, 10, 0]])
        >>> best_linked(scores, [False] * 3, 2)
        [0, 2]
        >>> best_linked(scores, [False] * 3, 1)
        [1]

    Cost: all combinations at once where these are few, else O(K ** 3 * count).
    """
    bonus = np.where(is_preferred, _BEYOND_ALL_SCORES, 0)
    if count == 1:
        return [int(np.argmax(bonus - scores.sum(axis=1)))]
    if comb(len(scores), count) > _MOST_COMBINATIONS:
        return _grown(scores, bonus, count)
    flat = chain.from_iterable(combinations(range(len(scores)), count))
    choices = np.fromiter(flat, np.int64).reshape(-1, count)
    value = bonus[choices].sum(axis=1)
    for first, second in combinations(range(count), 2):
        value += scores[choices[:, first], choices[:, second]]
    best: list[int] = choices[np.argmax(value)].tolist()
    return best


def linked_in_order(
    links: Int64s, order: Floats, eligible: Mask, preferred: Mask | None, count: int
) -> Mask:
    """Choose, of one node's eligible cards, those that are linked best.

    Args:
        links: int64 (W, W); how closely the cards are linked.
        order: float64 (W, 1); lowest first, equal ones in card order.
        eligible: bool (W, 1).
        preferred: bool (W, 1); those among the eligible that go before all others.
        count: Cards wanted; at most as many as are eligible.

    Returns:
        bool (W, 1).
    """
    positions = np.flatnonzero(eligible[:, 0])
    positions = positions[np.argsort(order[positions, 0], kind="stable")]
    is_preferred = np.zeros(len(positions), np.bool_)
    if preferred is not None:
        is_preferred = preferred[positions, 0]
    scores = links[np.ix_(positions, positions)]
    chosen = np.zeros_like(eligible)
    chosen[positions[best_linked(scores, is_preferred.tolist(), count)], 0] = True
    return chosen


def _grown(scores: Int64s, bonus: Int64s, count: int) -> list[int]:
    """Begin with each card in turn, add what is linked best, and keep the best."""
    best: list[int] = []
    best_value = -1
    for start in range(len(scores)):
        chosen = [start]
        value = int(bonus[start])
        gain = bonus + scores[start]
        for _ in range(count - 1):
            gain[chosen] = -1
            added = int(np.argmax(gain))
            value += int(gain[added])
            chosen.append(added)
            gain = gain + scores[added]
        if value > best_value:
            best, best_value = sorted(chosen), value
    return best
