"""Cards that stand next to each other, for containers that get several."""

from collections.abc import Collection
from typing import Final

import numpy as np

from extender.core.arrays import Int64s, Mask
from extender.core.cards import Cards

RING_MODE: Final = "ring"
"""Mode word of cards of which any that stand in a row are neighbours. Of all others,
neighbours are the rows that begin at a multiple of their length."""

RUN_LENGTHS: Final = (4, 8, 16)
"""How many cards, besides one, can be neighbours where they do not form a ring."""


def is_in_ring(cards: Cards) -> Mask:
    """Tell which nodes' cards form a ring; bool (N,)."""
    words = cards.interned.modes.where(lambda mode: mode == RING_MODE)
    found: Mask = words[cards.mode_codes[0]]
    return found


def run_starts(eligible: Mask, is_ring: Mask, count: int) -> Mask:
    """Find the cards at which a row of `count` eligible neighbours begins.

    Args:
        eligible: bool (W, N).
        is_ring: bool (N,); see `is_in_ring`.
        count: At least 2.

    Returns:
        bool (W, N).

    Source: graphSelect of awsneuron in HAMi, which does not go round the end either.

    Example:
        >>> eligible = np.array([[False], [True], [True], [True], [True]])
        >>> run_starts(eligible, np.array([True]), 4)[:, 0].tolist()
        [False, True, False, False, False]
        >>> run_starts(eligible, np.array([False]), 4).any()
        np.False_
    """
    starts = np.zeros_like(eligible)
    last = len(eligible) - count
    if last < 0:
        return starts
    is_run = eligible[: last + 1].copy()
    for offset in range(1, count):
        is_run &= eligible[offset : last + 1 + offset]
    is_first = np.arange(last + 1)[:, np.newaxis] % count == 0
    in_blocks = is_first & (count in RUN_LENGTHS)
    starts[: last + 1] = is_run & (is_ring | in_blocks)
    return starts


def rows_among(serving: Collection[int], count: int, *, is_ring: bool) -> list[range]:
    """List the rows of `count` neighbours among some cards of one node.

    Args:
        serving: Their positions.
        count: At least 2.
        is_ring: Whether any that stand in a row are neighbours.

    Example:
        >>> rows_among({1, 2, 3, 5}, 2, is_ring=True)
        [range(1, 3), range(2, 4)]
        >>> rows_among({0, 1, 2, 3, 4}, 4, is_ring=False)
        [range(0, 4)]
    """
    in_blocks = count in RUN_LENGTHS
    return [
        range(start, start + count)
        for start in sorted(serving)
        if (is_ring or (in_blocks and start % count == 0))
        and all(place in serving for place in range(start, start + count))
    ]


def chosen_run(starts: Mask, preferred: Mask | None, count: int) -> Mask:
    """Choose one row on each node: that with most preferred cards, else the first.

    Args:
        starts: bool (W, N); see `run_starts`.
        preferred: bool (W, N).
        count: At least 2.

    Returns:
        bool (W, N); nothing of a node where no row begins.
    """
    rank: Int64s = starts.astype(np.int64)
    if preferred is not None:
        for offset in range(min(count, len(rank))):
            rank[: len(rank) - offset] += preferred[offset:]
        rank = (rank + 1) * starts
    first = rank.argmax(axis=0)
    places = np.arange(len(starts))[:, np.newaxis]
    chosen: Mask = (places >= first) & (places < first + count) & starts.any(axis=0)
    return chosen
