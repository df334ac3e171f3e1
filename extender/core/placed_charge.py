"""What a placement charges a quota, on many nodes at once.

The formula of `extender.core.quota.quota_charge`, over the cards that were chosen on
each node; a property test holds the two together.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from extender.core.arrays import CORES, MEMORY, SLOTS, Int64s
from extender.core.cards import Cards
from extender.core.container import Lifetime
from extender.core.mig import NO_INSTANCE
from extender.core.mig_placement import Taken
from extender.core.needs import share_charged
from extender.core.placement import Placement
from extender.core.pod_request import ContainerRequest, PodRequest


def placed_charge(cards: Cards, request: PodRequest, placement: Placement) -> Int64s:
    """Sum what each node's chosen cards hold in the largest phase; int64 (3, N).

    Args:
        cards: That the pod was placed on.
        request: That was placed.
        placement: Where it does not fit, the figures mean nothing. Of several nodes
            with cards in MIG mode it may not tell the instances: place these one by
            one.
    """
    nothing = np.zeros((3, cards.node_count), np.int64)
    held = {
        index: _held(cards, request, placement, index)
        for index, asked in enumerate(request.containers)
        if asked.count and placement.chosen[index] is not None
    }
    running = sum((kept for _, kept in held.values()), nothing)
    most = running
    for index, (while_it_runs, _) in held.items():
        if request.lifetimes[index] is Lifetime.INIT:
            most = np.maximum(most, running + while_it_runs)
        else:
            running = running + while_it_runs
    charge: Int64s = np.maximum(most, running)
    return charge


def _held(
    cards: Cards, request: PodRequest, placement: Placement, index: int
) -> tuple[Int64s, Int64s]:
    """Give what one container holds while it runs, and to the pod's end."""
    asked, chosen = request.containers[index], placement.chosen[index]
    taken = placement.taken.get(index)
    if taken is not None:
        return _taken(cards, asked, taken)
    held = np.zeros((3, cards.node_count), np.int64)
    if chosen is not None:
        for dimension, amount in zip(_DIMENSIONS, _amounts(cards, asked), strict=True):
            held[dimension] = (chosen * amount).sum(axis=0)
    return held, np.zeros_like(held)


_DIMENSIONS: Final = (SLOTS, MEMORY, CORES)


def _amounts(cards: Cards, asked: ContainerRequest) -> tuple[Int64s, Int64s, Int64s]:
    """Give a share's slots, MiB and percent, in the order of `_DIMENSIONS`."""
    needed = share_charged(cards, asked)
    return needed.slots, needed.memory_mib, needed.cores


def _taken(
    cards: Cards, asked: ContainerRequest, taken: Sequence[Taken]
) -> tuple[Int64s, Int64s]:
    held = np.zeros((3, cards.node_count), np.int64)
    kept = np.zeros_like(held)
    amounts = _amounts(cards, asked)
    tables = cards.interned.mig_tables.by_code
    for each in taken:
        is_instance = each.chosen & (each.numbers != NO_INSTANCE)
        is_whole = each.chosen & ~is_instance
        for dimension, amount in zip(_DIMENSIONS, amounts, strict=True):
            held[dimension] += (is_whole * amount).sum(axis=0)
        kept[SLOTS] += is_instance.sum(axis=0)
        for code in np.unique(cards.mig_codes[is_instance]).tolist():
            at = is_instance & (cards.mig_codes == code)
            numbers = np.where(at, each.numbers, 0)
            table = tables[code]
            kept[MEMORY] += (at * table.memory_mib[numbers]).sum(axis=0)
            kept[CORES] += (at * table.core_percent[numbers]).sum(axis=0)
    return held, kept
