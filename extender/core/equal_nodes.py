"""Nodes and cards that are equal for a search, so that each is searched once."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from extender.core.arrays import Int64s, Mask
from extender.core.cards import Cards

_ODD: Final = 0x9E3779B97F4A7C15
_WORDS: Final = 1 << 64


def card_fields(cards: Cards, is_open: Mask, columns: Int64s) -> Int64s:
    """Tell all that a search looks at.

    Args:
        cards: The nodes.
        is_open: bool (W, N); whether no rule refuses a card whatever its use. Those
            that are refused are all equal.
        columns: int64 (K,); the nodes in question.

    Returns:
        int64 (8, W, K); one more where cards have profiles.
    """
    serves = is_open[:, columns]
    looked_at: list[npt.NDArray[Any]] = [
        cards.capacity[..., columns],
        cards.used[..., columns],
        cards.numa_ranks[np.newaxis, :, columns],
        serves[np.newaxis],
    ]
    if cards.interned.profiles.has_words:
        looked_at.append(cards.profile_codes[np.newaxis, :, columns])
    fields = np.concatenate(looked_at, dtype=np.int64)
    fields *= serves
    return fields


def first_of_equal(fields: Int64s) -> tuple[Int64s, Int64s]:
    """Group nodes whose cards are equal, place by place.

    Args:
        fields: int64 (F, W, K).

    Returns:
        The first node of each group, ascending: int64 (G,); and each node's group:
        int64 (K,).

    Cost: one pass and a sort of K numbers. Two nodes that differ and have the same
    number are not to be expected; where there are some, nothing is grouped.
    """
    flat = fields.reshape(-1, fields.shape[-1])
    odd = [pow(_ODD, place + 1, _WORDS) for place in range(len(flat))]
    numbers = np.array(odd, np.uint64) @ flat.astype(np.uint64)
    _, first, group_of = np.unique(numbers, return_index=True, return_inverse=True)
    if not np.array_equal(flat, flat[:, first[group_of]]):
        alone = np.arange(fields.shape[-1])
        return alone, alone
    by_place = np.argsort(first)
    place_of = np.empty_like(by_place)
    place_of[by_place] = np.arange(len(first))
    return first[by_place], place_of[group_of]
