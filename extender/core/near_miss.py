"""How little is missing: what must become free on a node so that a pod fits there.

Room is given back in mind, on one card where that does, and else by the same amount on
several; then the pod is fitted as ever, so that a near miss is one by every rule. The
amount is found by bisection, one dimension after another: it is enough, and one MiB,
percent or slot less is not.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Final

import numpy as np

from extender.core.arrays import CORES, DIMENSIONS, MEMORY, SLOTS, Floats, Int64s, Mask
from extender.core.budget import StepBudget
from extender.core.cards import Cards
from extender.core.fitting import fit
from extender.core.needs import share_needed
from extender.core.placement import open_cards
from extender.core.pod_request import ContainerRequest, PodRequest, Sharing
from extender.core.rules import (
    WHOLE_CARD_PERCENT,
    node_has_unreadable_allocation,
    node_insufficient_device,
)
from extender.core.usage import NOTHING, Usage


@dataclass(frozen=True, slots=True)
class Relief:
    """What must become free on one node.

    Attributes:
        positions: Of the cards, in card order.
        amount: On each of them.
        device_ids: Of kubelet's, on the node.
        cost: `amount` as a share of what each card has, added up; and the same of
            `device_ids`.
    """

    positions: tuple[int, ...]
    amount: Usage
    device_ids: int
    cost: float


def least_cost(cards: Cards, request: PodRequest) -> Floats:
    """Bound from below what `relief_steps` costs on each node; float64 (N,).

    What each container lacks alone, on the cards that lack least. Infinite where no
    room would help. No bound where the pod fits.

    Args:
        cards: The nodes; not written to.
        request: At least one container asks for a device.

    Cost: a few passes over (W, N) arrays for each distinct request.
    """
    is_open = open_cards(cards, request)
    least = np.zeros(cards.node_count)
    for asked in dict.fromkeys(each for each in request.containers if each.count):
        is_alone = request.device_policy.is_exclusive
        lacking = _lacking(cards, asked, is_alone=is_alone)
        lacking[~is_open] = np.inf
        place = 0 if cards.has_mig else asked.count - 1
        if place >= len(lacking):
            return np.full(cards.node_count, np.inf)
        np.maximum(least, np.partition(lacking, place, axis=0)[place], out=least)
    least += _ids_cost(cards, request)
    least[_is_beyond_help(cards, request)] = np.inf
    return least


def _lacking(cards: Cards, asked: ContainerRequest, *, is_alone: bool) -> Floats:
    """Tell what a share lacks on each card, as a part of the card; float64 (W, N)."""
    needed = share_needed(cards, asked)
    free = cards.capacity - cards.used
    slots = np.maximum(needed.slots, 1)
    if is_alone or asked.core_percent == WHOLE_CARD_PERCENT:
        # Nobody else may be there.
        is_plain = cards.capacity[CORES] == WHOLE_CARD_PERCENT
        slots = np.where(is_alone | is_plain, cards.capacity[SLOTS], slots)
    short: list[tuple[int, Int64s]] = [(SLOTS, slots)]
    if asked.sharing is not Sharing.BY_SLOT:
        short.append((MEMORY, needed.memory_mib))
    if asked.sharing is not Sharing.BY_MEMORY:
        short.append((CORES, needed.cores))
    found = np.zeros(cards.exists.shape)
    for dimension, amount in short:
        found += _parts(np.maximum(amount - free[dimension], 0), cards, dimension)
    found[cards.is_mig] = 0.0
    return found


def _parts(amount: Int64s, cards: Cards, dimension: int) -> Floats:
    capacity = cards.capacity[dimension]
    parts: Floats = np.divide(
        amount,
        capacity,
        out=np.where(amount > 0, np.inf, 0.0),
        where=(capacity > 0) & (amount > 0),
    )
    return parts


def _short_ids(cards: Cards, request: PodRequest) -> Int64s:
    taken = cards.kubelet_slots + request.kubelet_slots
    short: Int64s = np.maximum(taken - cards.allocatable_slots, 0)
    return short


def _ids_cost(cards: Cards, request: PodRequest) -> Floats:
    return _short_ids(cards, request) / np.maximum(cards.allocatable_slots, 1)


def _is_beyond_help(cards: Cards, request: PodRequest) -> Mask:
    is_closed: Mask = node_has_unreadable_allocation(cards, request)
    is_closed |= node_insufficient_device(cards, request)
    if any(each.sharing is Sharing.EQUALLY for each in request.containers):
        # What is free does not count there: all must have the same size.
        is_closed[:] = True
    return is_closed


def relief_steps(
    cards: Cards,
    request: PodRequest,
    column: int,
    budget: StepBudget,
    *,
    below: float = np.inf,
) -> Generator[None, None, Relief | None]:
    """Tell what must become free on one node, so that a pod fits; in short steps.

    Of single cards, and of the orders in which dimensions can be made small, the one
    that costs least counts; of equal ones, the first card. Cards together only where
    none alone would do.

    Args:
        cards: The nodes; not written to.
        request: At least one container asks for a device; it does not fit there.
        column: Of the node.
        budget: For the searches. Where it runs out, more may be told than is missing.
        below: Only what costs less is of interest.

    Returns:
        None where room on cards would not help, or costs as much.

    Cost: twenty to a hundred times that of `fit` on so many nodes as it has cards; but
    once or twice where nothing costs less than `below`.
    """
    if _is_beyond_help(cards, request)[column]:
        return None
    alone = cards.of_nodes(np.array([column]))
    ids = int(_short_ids(alone, request)[0])
    left = below - float(_ids_cost(alone, request)[0])
    trial = _Trial(alone, request, ids, budget, left)
    singles = np.flatnonzero(open_cards(alone, request)[:, 0])
    if not singles.size:
        return None
    found = yield from _on_one_of(trial, singles)
    if found is None:
        yield
        found = yield from _on_several(trial, singles)
    if found is None or found.cost == np.inf:
        return None  # where a card has none of a dimension, none can become free
    cost = found.cost + float(_ids_cost(alone, request)[0])
    at = found.positions if found.amount != NOTHING else ()
    return replace(found, positions=at, cost=cost) if cost < below else None


class _Trial:
    """One node, once for each set of cards that get room."""

    def __init__(
        self,
        alone: Cards,
        request: PodRequest,
        device_ids: int,
        budget: StepBudget,
        most_cost: float,
    ) -> None:
        self.alone, self.device_ids = alone, device_ids
        self._request, self._budget = request, budget
        wanted = np.zeros(DIMENSIONS, np.int64)
        for asked in request.containers:
            if asked.count:
                needed = share_needed(alone, asked)
                of_kinds = needed.slots, needed.memory_mib, needed.cores
                wanted += asked.count * np.array([each.max() for each in of_kinds])
        plenty = wanted + np.maximum(alone.used, 0).max(axis=(1, 2))
        if most_cost != np.inf:
            largest = alone.capacity.max(axis=(1, 2))
            plenty = np.minimum(plenty, np.floor(most_cost * largest).astype(np.int64))
        self.plenty: Int64s = plenty
        """As much as the pod and all that is held there take of any card; or as may be
        told at most."""

    def fits(self, gets_room: Mask, amounts: Int64s) -> Mask:
        """Tell where the pod fits once room is given back.

        Args:
            gets_room: bool (W, V); the cards of each set.
            amounts: int64 (3, V); on each of them.

        Returns:
            bool (V,).
        """
        cards = self.alone.of_nodes(np.zeros(gets_room.shape[1], np.int64))
        relieved = replace(
            cards,
            used=cards.used - amounts[:, np.newaxis] * gets_room,
            kubelet_slots=cards.kubelet_slots - self.device_ids,
        )
        found: Mask = fit(relieved, self._request, self._budget).placement.fits
        return found

    def smallest(
        self, gets_room: Mask, amounts: Int64s, order: Sequence[int]
    ) -> Generator[None, None, Int64s]:
        """Make amounts that are enough small, one dimension after another."""
        amounts = amounts.copy()
        for dimension in order:
            enough = amounts[dimension].copy()
            too_little = np.full_like(enough, -1)
            middle = np.zeros_like(enough)  # mostly enough
            while (is_open := enough - too_little > 1).any():
                yield
                amounts[dimension] = np.where(is_open, middle, enough)
                fits = self.fits(gets_room, amounts)
                enough = np.where(is_open & fits, middle, enough)
                too_little = np.where(is_open & ~fits, middle, too_little)
                middle = (enough + too_little) // 2
            amounts[dimension] = enough
        return amounts

    def costs(self, gets_room: Mask, amounts: Int64s) -> Floats:
        """Add up each set's amounts as parts of its cards; float64 (V,)."""
        found = np.zeros(gets_room.shape[1])
        for dimension in range(DIMENSIONS):
            part = _parts(gets_room * amounts[dimension], self.alone, dimension)
            found += part.sum(axis=0)
        return found


_ORDERS: Final = tuple(permutations(range(DIMENSIONS)))


def _on_one_of(trial: _Trial, singles: Int64s) -> Generator[None, None, Relief | None]:
    """Find the card on which least must become free; None where none alone does."""
    gets_room = np.zeros((len(trial.alone.exists), len(singles)), np.bool_)
    gets_room[singles, np.arange(len(singles))] = True
    plenty = np.repeat(trial.plenty[:, np.newaxis], len(singles), axis=1)
    does = np.flatnonzero(trial.fits(gets_room, plenty))
    if not does.size:
        return None
    gets_room, plenty, singles = gets_room[:, does], plenty[:, does], singles[does]
    best: Relief | None = None
    orders = yield from _orders_of(trial, gets_room, plenty)
    for order in orders:
        amounts = yield from trial.smallest(gets_room, plenty, order)
        costs = trial.costs(gets_room, amounts)
        first = int(costs.argmin())
        if best is None or costs[first] < best.cost:
            amount = Usage(*amounts[:, first].tolist())
            at = (int(singles[first]),)
            best = Relief(at, amount, trial.device_ids, float(costs[first]))
    return best


def _orders_of(
    trial: _Trial, gets_room: Mask, plenty: Int64s
) -> Generator[None, None, Sequence[tuple[int, ...]]]:
    """Leave out orders that come to the same: most pods lack one dimension only.

    Where a dimension need not become free for any set, whatever the others are, its
    place in the order does not matter.
    """
    matters = []
    for dimension in range(DIMENSIONS):
        without = plenty.copy()
        without[dimension] = 0
        yield
        if not trial.fits(gets_room, without).all():
            matters.append(dimension)
    others = [each for each in range(DIMENSIONS) if each not in matters]
    last = np.zeros_like(plenty)
    for dimension in matters:
        last[dimension] = plenty[dimension]
    yield
    if trial.fits(gets_room, last).all():
        return [(*others, *order) for order in permutations(matters)]
    return _ORDERS


def _on_several(trial: _Trial, singles: Int64s) -> Generator[None, None, Relief | None]:
    """Find how much must become free on each of several cards, and on which."""
    gets_room = np.zeros((len(trial.alone.exists), 1), np.bool_)
    gets_room[singles] = True
    plenty = trial.plenty[:, np.newaxis]
    if not trial.fits(gets_room, plenty)[0]:
        return None
    best: Relief | None = None
    orders = yield from _orders_of(trial, gets_room, plenty)
    for order in orders:
        amounts = yield from trial.smallest(gets_room, plenty, order)
        fewer = gets_room.copy()
        for position in reversed(singles.tolist()):
            yield
            fewer[position] = False
            if not trial.fits(fewer, amounts)[0]:
                fewer[position] = True
        cost = float(trial.costs(fewer, amounts)[0])
        if best is None or cost < best.cost:
            at = tuple(np.flatnonzero(fewer[:, 0]).tolist())
            amount = Usage(*amounts[:, 0].tolist())
            best = Relief(at, amount, trial.device_ids, cost)
    return best
