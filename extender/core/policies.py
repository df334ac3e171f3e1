"""Which of several fitting cards, or nodes, is preferred."""

from enum import StrEnum
from typing import Final

import numpy as np

from extender.core.arrays import DIMENSIONS, Floats, Int64s
from extender.core.cards import Cards
from extender.core.device_policy import (
    EQUAL_WEIGHTS,
    OF_USE,
    CardKey,
    DevicePolicy,
    Weights,
)
from extender.core.pod_request import Policy

BEST_SCORE: Final = 10
"""kube-scheduler's maximum for an extender."""

_STEPS_PER_USE: Final = float(2**32)
_SPAN_OF_USE: Final = float(2**40)
_SPAN_OF_COUNTS: Final = float(2**10)
"""Of a key after the first. Both together stay exact in a float64."""

_ROUNDING_ERROR: Final = 1e-9
"""More than a sum of three ratios can be off by; keeps exact halves rounding up."""


def card_order(cards: Cards, used: Int64s, policy: DevicePolicy) -> Floats:
    """Rank cards by the policy's keys; the lowest value is tried first.

    A card's use is the sum of its three use ratios, each times its weight, with weights
    that add up to 3; it is 0 when any capacity is 0. Equal cards are taken in card
    order, which is (index, UUID).

    Args:
        cards: The cards.
        used: int64 (3, W, N); what is held at the moment of the choice.
        policy: Of the pod.

    Returns:
        float64 (W, N), finite and whole. Use counts in steps so small that only equal
        sums of ratios share one, and so large that rounding does not part them.

    Example:
        Two cards of 10 slots, 1000 MiB and 100 percent; 5 slots and 500 MiB are in use
        of one, 2 slots and 900 MiB of the other. With equal weights their uses are 1.0
        and 1.1; with ``slot=1,core=0,memory=0`` they are 1.5 and 0.6, so binpack tries
        the other one first now.

    Source: HAMi v2.10 orders by ten times the same sum, of current use; the factor
    changes no order.
    """
    order = _by_key(cards, used, policy, policy.keys[0])
    for key in policy.keys[1:]:
        span = _SPAN_OF_USE if key in OF_USE else _SPAN_OF_COUNTS
        further = _by_key(cards, used, policy, key)
        order *= span
        order += np.clip(further, -span / 2 + 1, span / 2 - 1)
    return order


def _by_key(cards: Cards, used: Int64s, policy: DevicePolicy, key: CardKey) -> Floats:
    match key:
        case CardKey.LEAST_USED:
            return _use_steps(cards, used, policy.weights, _STEPS_PER_USE)
        case CardKey.MOST_USED:
            return _use_steps(cards, used, policy.weights, -_STEPS_PER_USE)
        case CardKey.HIGHEST_NUMA:
            lowest_first: Floats = cards.numa_ranks.astype(np.float64)
            return -lowest_first
        case CardKey.LOWEST_NUMA:
            highest_last: Floats = cards.numa_ranks.astype(np.float64)
            return highest_last


def _use_steps(cards: Cards, used: Int64s, weights: Weights, steps: float) -> Floats:
    if weights == EQUAL_WEIGHTS:
        use: Floats = used[0] / cards.divisors[0]
        for dimension in range(1, DIMENSIONS):
            use += used[dimension] / cards.divisors[dimension]
    else:
        of_dimension = (weights.slots, weights.memory, weights.cores)
        scale = DIMENSIONS / sum(of_dimension)
        use = np.zeros(cards.exists.shape)
        for dimension, weight in enumerate(of_dimension):
            use += used[dimension] / cards.divisors[dimension] * (weight * scale)
    use *= steps
    return np.rint(use, out=use)


def node_scores(cards: Cards, peak: Int64s, policy: Policy) -> Int64s:
    """Score nodes after placement, from 1 to `BEST_SCORE`.

    With x the sum of the node's three use ratios (used and capacity each summed over
    its cards, clamped to 0..3)::

        binpack  round(1 + 9 x / 3)
        spread   round(1 + 9 (3 - x) / 3)

    Halves round up. A dimension of which the node has none counts as unused.

    Args:
        cards: The cards.
        peak: int64 (3, W, N); use with the pod placed, merged over its phases.
        policy: Of the pod.

    Returns:
        int64 (N,).

    Example:
        One card of 10 slots, 1000 MiB and 100 percent with 5 slots, 500 MiB and 50
        percent in use after placement: x = 1.5, so both policies give round(5.5) = 6.
    """
    use = np.clip(use_ratios(cards, peak).sum(axis=0), 0.0, float(DIMENSIONS))
    wanted = use if policy is Policy.BINPACK else DIMENSIONS - use
    scores: Int64s = np.floor(
        1.0 + (BEST_SCORE - 1) * wanted / DIMENSIONS + 0.5 + _ROUNDING_ERROR
    ).astype(np.int64)
    return scores


def use_ratios(cards: Cards, peak: Int64s) -> Floats:
    """Tell which parts of its slots, memory and cores each node has in use.

    Args:
        cards: The cards.
        peak: int64 (3, W, N); what is in use, or will be.

    Returns:
        float64 (3, N); 0 in a dimension of which the node has none.
    """
    return _ratio(peak.sum(axis=1), cards.capacity.sum(axis=1))


class Burst(StrEnum):
    """What counts more when many pods come at once, under binpack."""

    PACKING = "packing"
    """Fewer nodes: a bind waits until the best node's lock is free."""

    THROUGHPUT = "throughput"
    """More binds a second: locked nodes come last."""


def without_busy(
    scores: Int64s, binds_ahead: Int64s, policy: Policy, burst: Burst
) -> Int64s:
    """Lower the scores of nodes where a bind has to wait for others.

    Under spread, or where throughput counts more, to 0. Under binpack by one for each
    bind that waits there already, since these come one after another; and by one where
    a node without any has the same score: then nothing is lost by it.

    Args:
        scores: int64 (N,); 0 for nodes that do not fit, else 1 to `BEST_SCORE`.
        binds_ahead: int64 (N,); binds that come first, the one at work included; at
            least 1 where the node is locked.
        policy: Of the pod.
        burst: What counts more.

    Returns:
        int64 (N,).

    Example:
        Nodes score 7, 7, 4 and 6. One bind is at the first and one at the third, and
        three are at the last: binpack gives 6, 7, 4 and 4, spread 0, 7, 0 and 0.
    """
    is_busy = binds_ahead > 0
    if policy is not Policy.BINPACK or burst is Burst.THROUGHPUT:
        lowered: Int64s = np.where(is_busy, 0, scores)
        return lowered
    has_equal = np.isin(scores, scores[~is_busy & (scores > 0)])
    waiting = np.maximum(binds_ahead - 1, 0)
    less: Int64s = np.maximum(scores - waiting - (is_busy & has_equal), 0)
    return less


def _ratio(part: Int64s, whole: Int64s) -> Floats:
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)
