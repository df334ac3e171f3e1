"""Quantiles of times."""

import math
from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float:
    """Give the smallest value that at least this share of the values does not exceed.

    By nearest rank, so it is always one of the values: with 100 of them, the 0.99
    quantile is the second largest.

    Args:
        values: In any order; at least one.
        share: Above 0, up to 1.

    Example:
        >>> quantile([40, 10, 30, 20], 0.5)
        20
        >>> quantile(range(1, 101), 0.99)
        99
    """
    ranked = sorted(values)
    return ranked[math.ceil(len(ranked) * share) - 1]


def milliseconds(nanoseconds: Sequence[int]) -> dict[str, float]:
    """Give the median and two tails of some times, as figures of a row.

    Example:
        >>> milliseconds([1_000_000, 2_000_000, 3_000_000])
        {'p50_ms': 2.0, 'p90_ms': 3.0, 'p99_ms': 3.0}
    """
    return {
        f"p{percent}_ms": quantile(nanoseconds, percent / 100) / 1e6
        for percent in (50, 90, 99)
    }
