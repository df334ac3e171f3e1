"""Which cards are linked best, against all combinations."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from extender.core.arrays import Int64s
from extender.core.links import best_linked

COUNTS = st.integers(1, 6)


@st.composite
def linked(draw: st.DrawFn) -> tuple[Int64s, list[bool], int]:
    """Draw up to six cards, their links, and how many are wanted."""
    size = draw(COUNTS)
    scores = np.zeros((size, size), np.int64)
    for one, other in combinations(range(size), 2):
        score = draw(st.sampled_from([0, 10, 20, 60, 160, 1860]))
        scores[one, other] = scores[other, one] = score
    preferred = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    return scores, preferred, draw(st.integers(1, size))


def value(scores: Int64s, preferred: list[bool], chosen: list[int]) -> tuple[int, int]:
    """Tell what a choice is worth: preferred cards, then links."""
    held = sum(preferred[card] for card in chosen)
    if len(chosen) == 1:
        return held, -int(scores[chosen[0]].sum())
    return held, sum(int(scores[pair]) for pair in combinations(chosen, 2))


@given(linked())
def test_no_other_choice_is_better(drawn: tuple[Int64s, list[bool], int]) -> None:
    """And none before it is as good."""
    scores, preferred, count = drawn
    all_choices = [list(each) for each in combinations(range(len(scores)), count)]
    worth = [value(scores, preferred, each) for each in all_choices]
    expected = all_choices[worth.index(max(worth))]
    assert best_linked(scores, preferred, count) == expected


def two_boards(card_count: int) -> Int64s:
    """Link every other card closely."""
    parity = np.arange(card_count) % 2
    scores = np.where(parity[:, None] == parity[None, :], 60, 10)
    np.fill_diagonal(scores, 0)
    return scores.astype(np.int64)


def test_large_node() -> None:
    """Too many combinations to try all; the good ones are found card by card."""
    chosen = best_linked(two_boards(64), [False] * 64, 16)
    assert chosen == list(range(0, 32, 2))
    preferred = [card in (61, 63) for card in range(64)]
    assert best_linked(two_boards(64), preferred, 16) == [*range(1, 29, 2), 61, 63]
    assert best_linked(two_boards(64), [False] * 64, 64) == list(range(64))
