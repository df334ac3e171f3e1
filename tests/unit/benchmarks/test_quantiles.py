"""Quantiles by nearest rank."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.quantiles import milliseconds, quantile


@pytest.mark.parametrize(
    ("count", "share", "rank"),
    [
        (1, 0.5, 1),
        (1, 0.99, 1),
        (2, 0.5, 1),
        (4, 0.5, 2),
        (100, 0.99, 99),
        (200, 0.99, 198),
        (400, 0.9, 360),
        (10, 1.0, 10),
    ],
)
def test_the_rank_is_the_nearest_above(count: int, share: float, rank: int) -> None:
    """Of the numbers from 1, the quantile is its own rank."""
    assert quantile(range(1, count + 1), share) == rank


@given(
    st.lists(st.integers(0, 10**10), min_size=1, max_size=60),
    st.sampled_from([0.5, 0.9, 0.99, 1.0]),
)
def test_enough_values_are_not_above_it(values: list[int], share: float) -> None:
    """At least the share is at or below, and that of no smaller value is."""
    found = quantile(values, share)

    needed = math.ceil(len(values) * share)
    assert found in values
    assert sum(value <= found for value in values) >= needed
    assert sum(value < found for value in values) < needed


@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=60))
def test_tails_are_not_below_the_median(values: list[int]) -> None:
    """p50, p90 and p99 come in that order."""
    figures = list(milliseconds(values).values())

    assert all(first <= second for first, second in pairwise(figures))
