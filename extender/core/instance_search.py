"""Search other choices of cards on nodes that have some in MIG mode.

Which instance a card gives next depends on all that were cut out of it before, so that
the tables of `extender.core.card_states` do not hold there. All ways are followed at
once instead, one card or instance after another: each is a column of the arrays, and
the rules are asked about all of them together. Ways that leave the node in the same
state, but for the order of equal cards, are one from there on. They stay in the order
of the policy, so that the first one at the end is the first that fits.

What each card gives is not searched: it is the instance that its table names.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np

from extender.core.arrays import DIMENSIONS, Int64s, Mask
from extender.core.budget import StepBudget
from extender.core.cards import Cards
from extender.core.container import Lifetime
from extender.core.equal_nodes import (
    first_of_equal,
    instance_fields,
    same_cards_first,
)
from extender.core.mig_placement import State, offered
from extender.core.placement import Placement, open_cards, place
from extender.core.pod_request import ContainerRequest, PodRequest
from extender.core.policies import card_order

_CARDS_PER_STEP: Final = 32
"""Of the nodes of all ways: to follow a way to its next takes one for so many cards."""

_STEPS_PER_TURN: Final = 10
"""That it counts as to ask the rules once more, however few the ways."""

_ANY_NUMA_NODE: Final = -1


_NODES_AT_ONCE: Final = 8
"""That are searched together after the first, and then twice as many each time."""


@dataclass(frozen=True, slots=True)
class Instances:
    """What came of searching some nodes; all int64, columns of the caller's cards.

    Attributes:
        columns: (M,); nodes on which the pod fits.
        source: (M,); the node of `placement` that each is equal to.
        placement: Of the pod: the first way by its policy.
        exhausted: Nodes each of which took all the steps that one may.
        cut_short: Nodes that are not decided, since others took the steps.
    """

    columns: Int64s
    source: Int64s
    placement: Placement
    exhausted: Int64s
    cut_short: Int64s


def search_instances(
    cards: Cards, request: PodRequest, columns: Int64s, budget: StepBudget
) -> Iterator[Instances]:
    """Place a pod on some nodes of `cards`, by whichever cards it takes.

    Equal nodes are searched once. The first is searched alone, so that it is decided
    whatever the others take. Nodes that are told neither as found nor as undecided have
    no way.
    """
    if not columns.size:
        return
    fields_there = instance_fields(cards, open_cards(cards, request), columns)
    first, group_of = first_of_equal(fields_there)
    start, at_once = 0, 1
    while start < len(first):
        size = at_once if budget.left >= _STEPS_PER_TURN else len(first)
        groups = np.arange(start, min(start + size, len(first)))
        some = cards.of_nodes(columns[first[groups]])
        walk = _Walk(some, request, budget)
        ways = walk.run(tells_inits=False)
        found, at = np.unique(ways.node, return_index=True)
        place_of = np.full(len(first), _NOT_FOUND)
        place_of[groups[found]] = np.arange(len(found))
        source = place_of[group_of]
        is_found = source != _NOT_FOUND
        exhausted = np.isin(group_of, groups[walk.is_exhausted])
        cut_short = np.isin(group_of, groups[walk.is_cut_short])
        budget.counts.nodes += int(np.count_nonzero(~walk.is_cut_short))
        budget.counts.exhausted += int(np.count_nonzero(exhausted | cut_short))
        yield Instances(
            columns[is_found],
            source[is_found],
            _replayed(some, request, found, ways.positions[:, at]),
            columns[exhausted],
            columns[cut_short],
        )
        start, at_once = start + size, max(2 * at_once, _NODES_AT_ONCE)


_NOT_FOUND: Final = -1


def fewest_for_inits(
    cards: Cards, request: PodRequest, fewer_than: int, budget: StepBudget
) -> Placement | None:
    """Place a pod on one node with the fewest cards that nothing but inits hold.

    Args:
        cards: The node.
        request: At least one container asks for a device.
        fewer_than: How many such cards are too many.
        budget: What the search may take.

    Returns:
        The first of these by the policy; None where there is none, or the steps ran
        out.
    """
    ways = _Walk(cards, request, budget).run(tells_inits=True)
    extra = np.count_nonzero(ways.of_inits & ~ways.of_others, axis=0)
    if extra.min(initial=fewer_than) >= fewer_than:
        return None
    best = extra.argmin()
    return _replayed(cards, request, ways.node[[best]], ways.positions[:, [best]])


def _replayed(
    cards: Cards, request: PodRequest, nodes: Int64s, positions: Int64s
) -> Placement:
    """Place the pod once more, on the cards that were found."""
    plan: dict[int, list[Int64s]] = {}
    # Where no way was left, it was not followed to its end.
    for (index, _), taken in zip(_takes(request), positions, strict=bool(nodes.size)):
        plan.setdefault(index, []).append(taken)
    return place(cards.of_nodes(nodes), request, plan=plan)


def _takes(request: PodRequest) -> Iterator[tuple[int, ContainerRequest]]:
    """List the containers in the order of placement, each as often as it takes."""
    for is_init in (False, True):
        for index, asked in enumerate(request.containers):
            if (request.lifetimes[index] is Lifetime.INIT) == is_init:
                yield from [(index, asked)] * asked.count


@dataclass(frozen=True, slots=True)
class _Ways:
    """N ways in which the first containers may be placed; the last axis is N.

    Attributes:
        node: int64 (N,); on which of the nodes.
        used: int64 (3, W, N); what is used beside the container that is being placed,
            and by it.
        slices: int64 (W, N); the slices that are held, as bits.
        bases: int64 (B, 3, W, N); what is used at the turn of each init.
        whole: bool (W, N); cards without instances that the container has taken.
        numa_rank: int64 (N,); where the container has to stay.
        of_others: bool (W, N); cards that sidecars and apps hold.
        of_inits: bool (W, N).
        positions: int64 (T, N); what was taken, one after another.
    """

    node: Int64s
    used: Int64s
    slices: Int64s
    bases: Int64s
    whole: Mask
    numa_rank: Int64s
    of_others: Mask
    of_inits: Mask
    positions: Int64s

    def at(self, columns: Int64s) -> "_Ways":
        """Copy out some of the ways."""
        return _Ways(*(getattr(self, each.name)[..., columns] for each in fields(self)))


def _is_first_of_node(serves: Mask, nodes: Int64s) -> Mask:
    """Find the first way of each node that serves; all bool or int64 (N,)."""
    at = serves.nonzero()[0]
    _, first = np.unique(nodes[at], return_index=True)
    found = np.zeros_like(serves)
    found[at[first]] = True
    return found


class _Walk:
    """Follows all ways through the pod's containers on K nodes.

    Attributes:
        is_exhausted: bool (K,); the node took all the steps that one may.
        is_cut_short: bool (K,); it would have taken more steps than were left.
    """

    def __init__(self, cards: Cards, request: PodRequest, budget: StepBudget) -> None:
        self.is_exhausted = np.zeros(cards.node_count, np.bool_)
        self.is_cut_short = np.zeros(cards.node_count, np.bool_)
        self._cards, self._request, self._budget = cards, request, budget
        self._is_open = open_cards(cards, request)
        every = np.arange(cards.node_count)
        fixed = instance_fields(cards, self._is_open, every)
        _, kinds = first_of_equal(fixed.reshape(len(fixed), 1, -1))
        self._kinds = kinds.reshape(cards.exists.shape)
        self._steps = np.zeros(cards.node_count, np.int64)

    def run(self, *, tells_inits: bool) -> _Ways:
        """Place every container.

        Args:
            tells_inits: Whether ways differ by the cards that only inits hold.

        Returns:
            The ways that are left, those of one node together and in the order of the
            policy.
        """
        request = self._request
        ways = self._start()
        takes_left = sum(asked.count for asked in request.containers)
        for is_init in (False, True):
            base = 0
            for index, asked in enumerate(request.containers):
                is_of_inits = request.lifetimes[index] is Lifetime.INIT
                if not asked.count:
                    continue
                if is_of_inits and not is_init:
                    bases = np.concatenate([ways.bases, ways.used[np.newaxis]])
                    ways = replace(ways, bases=bases)
                if is_of_inits != is_init:
                    continue
                if is_init:
                    ways = self._begun(ways, base)
                for left in reversed(range(asked.count)):
                    takes_left -= 1
                    is_last = not takes_left and not tells_inits
                    ways = self._taken(
                        self._turn(ways), asked, is_init=is_init, is_last=is_last
                    )
                    if not ways.node.size:
                        return ways
                    if not left:
                        ways = self._ended(ways, base if is_init else None)
                    ways = ways.at(self._different(ways, tells_inits=tells_inits))
                base += 1
        return ways

    def _start(self) -> _Ways:
        cards = self._cards
        none = np.zeros(cards.exists.shape, np.bool_)
        return _Ways(
            node=np.arange(cards.node_count),
            used=cards.used,
            slices=cards.held_slices(),
            bases=np.zeros((0, *cards.used.shape), np.int64),
            whole=none,
            numa_rank=np.full(cards.node_count, _ANY_NUMA_NODE),
            of_others=none,
            of_inits=none,
            positions=np.zeros((0, cards.node_count), np.int64),
        )

    def _affordable(self, ways: _Ways, next_ways: Int64s) -> Mask:
        """Take the steps of going on, and tell which of the ways may: bool (N,).

        Args:
            ways: N of them.
            next_ways: int64 (N,); how many come of each.
        """
        nodes = np.bincount(ways.node, next_ways, self._cards.node_count)
        # Each way carries what is used now, and as much for every init to come.
        cards = nodes.astype(np.int64) * len(self._is_open) * (1 + len(ways.bases))
        steps = -(-cards // _CARDS_PER_STEP)
        is_over = self._steps + steps > self._budget.per_node
        steps[is_over] = 0
        is_late = np.cumsum(steps) > self._budget.left
        is_late &= ~is_over & (cards > 0)
        steps[is_late] = 0
        self.is_exhausted |= is_over
        self.is_cut_short |= is_late
        self._steps += steps
        self._budget.take(int(steps.sum()))
        may_go_on: Mask = ~(is_over | is_late)
        return may_go_on[ways.node]

    def _turn(self, ways: _Ways) -> _Ways:
        """Take the steps of one more question to the rules; no ways where none are."""
        self._steps += _STEPS_PER_TURN
        if self._budget.left >= _STEPS_PER_TURN:
            self._budget.take(_STEPS_PER_TURN)
            return ways
        self.is_cut_short[ways.node] = True
        return ways.at(np.zeros(0, np.int64))

    def _begun(self, ways: _Ways, base: int) -> _Ways:
        """Turn to an init: it starts from its base."""
        # Instances of all containers stand side by side, of inits too.
        is_mig = self._cards.is_mig[:, ways.node]
        return replace(ways, used=np.where(is_mig, ways.used, ways.bases[base]))

    def _ended(self, ways: _Ways, base: int | None) -> _Ways:
        """Forget what only the container had to know, and what an init gives back."""
        used = ways.used
        if base is not None:
            used = np.where(self._cards.is_mig[:, ways.node], used, 0)
            ways.bases[base] = 0
        return replace(
            ways,
            used=used,
            whole=np.zeros_like(ways.whole),
            numa_rank=np.full_like(ways.numa_rank, _ANY_NUMA_NODE),
        )

    def _taken(
        self, ways: _Ways, asked: ContainerRequest, *, is_init: bool, is_last: bool
    ) -> _Ways:
        """Let the container take one more, in every way that there is.

        Of the last one, the first way on each node is enough.
        """
        cards = self._cards.of_nodes(ways.node)
        policy = self._request.device_policy
        offer = offered(cards, asked, policy, State(ways.used, ways.slices))
        eligible = self._is_open[:, ways.node] & (offer.refusals == 0) & ~ways.whole
        if policy.on_one_numa_node and asked.count > 1:
            eligible &= (ways.numa_rank == _ANY_NUMA_NODE) | (
                cards.numa_ranks == ways.numa_rank
            )
        if is_last:
            eligible &= _is_first_of_node(eligible.any(axis=0), ways.node)
        next_ways = np.count_nonzero(eligible, axis=0)
        if is_last:
            next_ways = np.minimum(next_ways, 1)
        eligible &= self._affordable(ways, next_ways)
        order = card_order(cards, ways.used, policy)
        behind = is_init & ~(ways.of_others | ways.of_inits)
        by_order = np.lexsort((order, behind, ~eligible), axis=0)
        is_there = np.take_along_axis(eligible, by_order, axis=0)
        columns, ranks = is_there[:1].T.nonzero() if is_last else is_there.T.nonzero()
        positions = by_order[ranks, columns]
        taken = ways.at(columns)
        at = positions, np.arange(len(positions))
        taken.used[:, *at] += offer.shares[:, positions, columns]
        taken.slices[at] |= offer.bits[positions, columns]
        taken.whole[at] = ~cards.is_mig[positions, columns]
        (taken.of_inits if is_init else taken.of_others)[at] = True
        return replace(
            taken,
            numa_rank=cards.numa_ranks[positions, columns].astype(np.int64),
            positions=np.concatenate([taken.positions, positions[np.newaxis]]),
        )

    def _different(self, ways: _Ways, *, tells_inits: bool) -> Int64s:
        """Find the first of ways that are equal for all that is to come."""
        shape = (1, *ways.slices.shape)
        told = [
            self._kinds[np.newaxis, :, ways.node],
            np.broadcast_to(ways.node, shape),
            ways.used,
            ways.slices[np.newaxis],
            ways.bases.reshape(DIMENSIONS * len(ways.bases), *ways.slices.shape),
            ways.whole[np.newaxis],
            np.broadcast_to(ways.numa_rank, shape),
        ]
        if tells_inits:
            told += [ways.of_others[np.newaxis], ways.of_inits[np.newaxis]]
        first, _ = first_of_equal(same_cards_first(np.concatenate(told)))
        return first
