"""Nodes and cards that are equal for a search, so that each is searched once."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from extender.core.arrays import Int64s, Mask
from extender.core.cards import Cards
from extender.core.neighbours import is_in_ring

_ODD: Final = 0x9E3779B97F4A7C15
_MOST_FIELDS: Final = 4_096
_WEIGHTS: Final = np.array(
    [pow(_ODD, place + 1, 1 << 64) for place in range(_MOST_FIELDS)], np.uint64
)
"""Of the fields of a node; more than one has with 128 cards."""


def card_fields(cards: Cards, is_open: Mask, columns: Int64s) -> Int64s:
    """Tell all that a search looks at.

    Args:
        cards: The nodes.
        is_open: bool (W, N); whether no rule refuses a card whatever its use. Those
            that are refused are all equal.
        columns: int64 (K,); the nodes in question.

    Returns:
        int64 (9, W, K); one more where cards have profiles.
    """
    serves = is_open[:, columns]
    looked_at: list[npt.NDArray[Any]] = [
        cards.capacity[..., columns],
        cards.used[..., columns],
        cards.numa_ranks[np.newaxis, :, columns],
        cards.core_steps[np.newaxis, :, columns],
        serves[np.newaxis],
    ]
    if cards.interned.profiles.has_words:
        looked_at.append(cards.profile_codes[np.newaxis, :, columns])
    fields = np.concatenate(looked_at, dtype=np.int64)
    fields *= serves
    return fields


def neighbour_fields(cards: Cards, is_open: Mask, columns: Int64s) -> Int64s:
    """Tell what is looked at where cards must stand in a row: where each stands, too.

    Returns:
        int64 (F + 2, W, K); see `card_fields`.
    """
    fields = card_fields(cards, is_open, columns)
    places = np.broadcast_to(np.arange(len(is_open))[:, np.newaxis], fields.shape[1:])
    is_ring = np.broadcast_to(is_in_ring(cards)[columns], fields.shape[1:])
    return np.concatenate([fields, np.stack([places, is_ring]).astype(np.int64)])


def instance_fields(cards: Cards, is_open: Mask, columns: Int64s) -> Int64s:
    """Tell the same, and what more is looked at of cards in MIG mode.

    Returns:
        int64 (11, W, K); one more where cards have profiles.
    """
    serves = is_open[:, columns]
    some = cards.of_nodes(columns)
    more = np.stack([some.mig_codes * serves, some.held_slices() * serves])
    return np.concatenate([card_fields(cards, is_open, columns), more])


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
    numbers = _numbers(flat)
    _, first, group_of = np.unique(numbers, return_index=True, return_inverse=True)
    if not np.array_equal(flat, flat[:, first[group_of]]):
        alone = np.arange(fields.shape[-1])
        return alone, alone
    by_place = np.argsort(first)
    place_of = np.empty_like(by_place)
    place_of[by_place] = np.arange(len(first))
    return first[by_place], place_of[group_of]


def same_cards_first(fields: Int64s) -> Int64s:
    """Give the cards of each node an order of their own, whatever their places were.

    Args:
        fields: int64 (F, W, K).

    Returns:
        int64 (F, W, K); equal for nodes that have the same cards in another order,
        unless cards that differ have the same number: then they may be told apart.
    """
    numbers = _numbers(fields)
    order = np.argsort(numbers, axis=0, kind="stable")
    return np.take_along_axis(fields, order[np.newaxis], axis=1)


def _numbers(fields: Int64s) -> npt.NDArray[np.uint64]:
    """Give a number for all fields of each: (F, ...) to uint64 (...)."""
    weights = np.resize(_WEIGHTS, len(fields))
    # Seen and summed as they are: copies would take longer than all else.
    numbers: npt.NDArray[np.uint64] = np.einsum(
        "f,f...->...", weights, fields.view(np.uint64)
    )
    return numbers
