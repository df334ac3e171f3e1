"""Rows of cards, against a plain look at each card that may be the first."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from extender.core.neighbours import chosen_run, run_starts


@st.composite
def nodes(draw: st.DrawFn) -> tuple[list[list[bool]], list[list[bool]], list[bool]]:
    """Draw some nodes of equal width: eligible cards, preferred ones, and rings."""
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    count = draw(st.integers(1, 3))
    mostly = st.sampled_from([True, True, True, False])
    cards = st.lists(mostly, min_size=width, max_size=width)
    many = st.lists(cards, min_size=count, max_size=count)
    rings = st.lists(st.booleans(), min_size=count, max_size=count)
    return draw(many), draw(many), draw(rings)


def first_run(
    eligible: list[bool], preferred: list[bool] | None, count: int, *, is_ring: bool
) -> list[int]:
    """Look at one node: the row with most preferred cards, of these the first."""
    rows = []
    for first in range(len(eligible) - count + 1):
        row = list(range(first, first + count))
        may_begin = is_ring or (count in {4, 8, 16} and first % count == 0)
        if may_begin and all(eligible[card] for card in row):
            rows.append(row)
    wanted = preferred or [False] * len(eligible)
    return max(rows, key=lambda row: sum(wanted[card] for card in row), default=[])


@given(nodes(), st.sampled_from([2, 3, 4, 8, 16]), st.booleans())
def test_the_first_row_of_neighbours_is_taken(
    drawn: tuple[list[list[bool]], list[list[bool]], list[bool]],
    count: int,
    is_init: bool,  # noqa: FBT001 - drawn
) -> None:
    """That with most cards that the rest of the pod holds, where some are preferred."""
    eligible, preferred, rings = drawn
    starts = run_starts(np.array(eligible).T, np.array(rings), count)
    chosen = chosen_run(starts, np.array(preferred).T if is_init else None, count)
    for column, is_ring in enumerate(rings):
        wanted = preferred[column] if is_init else None
        expected = first_run(eligible[column], wanted, count, is_ring=is_ring)
        assert starts[:, column].any() == bool(expected)
        assert np.flatnonzero(chosen[:, column]).tolist() == expected
