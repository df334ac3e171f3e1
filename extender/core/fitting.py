"""Fit a pod on many nodes at once: by choosing where that does, and else by search.

`extender.core.placement` chooses card by card, on all nodes at once. Where that ends
with a container that does not fit, though each would on its own, other choices before
it may have left room: there `extender.core.search` looks for them, node by node, or
`extender.core.instance_search` where cards are in MIG mode.

Outside the search are containers that get several cards in a row, and how cards are
linked. Where other rows might do, the node is undecided.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from extender.core.arrays import CORES, SLOTS, Int64s, Mask
from extender.core.budget import OutOfSteps, StepBudget
from extender.core.card_states import CardStates, Wants
from extender.core.cards import Cards
from extender.core.container import Lifetime
from extender.core.equal_nodes import card_fields, first_of_equal, neighbour_fields
from extender.core.instance_search import (
    Instances,
    fewest_for_inits,
    search_instances,
)
from extender.core.needs import share_needed
from extender.core.placed_charge import placed_charge
from extender.core.placement import NO_CONTAINER, Placement, open_cards, place
from extender.core.pod_request import PodRequest
from extender.core.prospects import have_instances, worth_a_search
from extender.core.reasons import CODES, Reason
from extender.core.search import Assignment, Search
from extender.core.usage import Usage

_MOST_CONTAINERS: Final = 60
"""That ask for cards: each takes a bit, and a level of the search."""

_NODES_AT_FIRST: Final = 8
"""Whose kinds of card the rules are asked about together; twice as many each time, so
that few questions are put, and few answers are left over when the steps run out."""

_STEPS_PER_QUESTION: Final = 4
"""That it counts as to ask the rules about one request, however few the cards."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What came of fitting one pod on N nodes.

    Attributes:
        placement: Of all nodes. Where the search ran out of steps, or could not be
            made, the node is refused as a whole by `Reason.SEARCH_EXHAUSTED`. Where it
            proved that nothing fits, the reasons are those that choosing card by card
            met.
        is_cut_short: bool (N,); undecided only since other nodes took the steps: asked
            again, it may be decided.
    """

    placement: Placement
    is_cut_short: Mask

    @property
    def is_undecided(self) -> Mask:
        """Where nobody knows whether another choice would do: bool (N,)."""
        exhausted: Mask = self.placement.node_codes == CODES[Reason.SEARCH_EXHAUSTED]
        return exhausted


def fit(
    cards: Cards, request: PodRequest, budget: StepBudget, *, keep_usage: bool = False
) -> Fit:
    """Fit a pod on every node of `cards`, each on its own.

    Args:
        cards: The nodes; not written to.
        request: At least one container asks for a device.
        budget: For the search.
        keep_usage: As for `place`.

    Cost: that of `place`; where it refuses a pod of several containers, about as much
    again, and the steps of the search.
    """
    placement = place(cards, request, keep_usage=keep_usage)
    refused = np.flatnonzero(~placement.fits)
    return search_refused(cards, request, placement, refused, budget)


def fit_on(cards: Cards, request: PodRequest, nodes: Int64s, budget: StepBudget) -> Fit:
    """Fit a pod as `fit`, but search on no other nodes than these: int64 (M,)."""
    placement = place(cards, request)
    refused = nodes[~placement.fits[nodes]]
    return search_refused(cards, request, placement, refused, budget)


def search_refused(
    cards: Cards,
    request: PodRequest,
    placement: Placement,
    refused: Int64s,
    budget: StepBudget,
) -> Fit:
    """Search on nodes that `place` refused.

    Args:
        cards: The nodes; not written to.
        request: At least one container asks for a device.
        placement: Of the pod on `cards`; taken over and written to.
        refused: int64 (M,); columns of such nodes, ascending. Where there is no
            prospect, they are not searched.
        budget: For the search.
    """
    is_cut_short = np.zeros(cards.node_count, np.bool_)
    columns = worth_a_search(cards, request, placement, refused)
    if not columns.size:
        return Fit(placement, is_cut_short)
    has_instances = have_instances(cards, request, columns)
    placing = _Placing(cards, request, placement)
    for some, answer in _searched(cards, request, columns[~has_instances], budget):
        if isinstance(answer, _Found):
            placing.put(some, answer.assignment, answer.states)
        else:
            placing.give_up(some)
            is_cut_short[some] = answer.is_for_others
    for found in search_instances(cards, request, columns[has_instances], budget):
        placing.put_instances(found)
        placing.give_up(np.concatenate([found.exhausted, found.cut_short]))
        is_cut_short[found.cut_short] = True
    return Fit(placing.placement, is_cut_short)


def fit_within(
    cards: Cards, request: PodRequest, most: Usage, budget: StepBudget
) -> Fit:
    """Fit a pod as `fit`, so that what it holds at one time stays within a quota.

    Choosing by the policy comes first. Where that takes cards that come to too much,
    others are searched for; but instances, as ever, are not.

    Args:
        cards: The nodes; not written to. With cards in MIG mode, one at a time.
        request: At least one container asks for a device.
        most: What the pod may be charged.
        budget: For the search.
    """
    found = fit(cards, request, budget)
    placement, is_cut_short = found.placement, found.is_cut_short
    limits = np.array([most.slots, most.memory_mib, most.core_percent], np.int64)
    is_over = placed_charge(cards, request, placement) > limits[:, np.newaxis]
    is_dear = placement.fits & is_over.any(axis=0)
    placement.fits[is_dear] = False
    placement.node_codes[is_dear] = CODES[Reason.QUOTA_NOT_FIT]
    # All cards of a node have the same profiles, and a quota counts cores as they are
    # asked: so of all but instances, only memory depends on the choice.
    has_mig = (open_cards(cards, request) & cards.is_mig).any(axis=0)
    is_hopeless = has_mig | is_over[SLOTS] | is_over[CORES]
    columns = np.flatnonzero(is_dear & ~is_hopeless)
    if not columns.size:
        return found
    placing = _Placing(cards, request, placement)
    for some, answer in _searched(cards, request, columns, budget, most.memory_mib):
        if isinstance(answer, _Found):
            placing.put(some, answer.assignment, answer.states)
        else:
            placing.give_up(some)
            is_cut_short[some] = answer.is_for_others
    return Fit(placing.placement, is_cut_short)


def fit_with_fewest_cards(
    cards: Cards, request: PodRequest, budget: StepBudget
) -> Placement:
    """Fit a pod on the one node that `cards` is, on few cards for inits only.

    The choice of `fit` counts, unless another assignment has fewer cards that nothing
    but inits hold. Of several that have the fewest, it is the first by the policy.
    Where the steps run out before that is known, it is the choice of `fit`.
    """
    placement = fit(cards, request, budget).placement
    extra = _cards_of_inits_only(placement, request)
    if not extra:
        return placement
    if have_instances(cards, request, np.zeros(1, np.int64))[0]:
        return fewest_for_inits(cards, request, extra, budget) or placement
    try:
        return _with_fewer_cards(cards, request, placement, extra, budget)
    except OutOfSteps:
        return placement


def _with_fewer_cards(
    cards: Cards,
    request: PodRequest,
    placement: Placement,
    fewer_than: int,
    budget: StepBudget,
) -> Placement:
    """Find an assignment with fewer cards for inits only, or keep the placement."""
    wants = Wants(request)
    if _is_too_large(wants, cards, budget):
        return placement
    column = np.zeros(1, np.int64)
    kinds = _Kinds(cards, open_cards(cards, request), column, CardStates(wants))
    search = Search(kinds.states, budget)
    better = search.assign_with_fewest_cards(kinds.of(column)[0], fewer_than)
    if better is None:
        return placement
    placing = _Placing(cards, request, placement)
    placing.put(column, better, kinds.states)
    return placing.placement


def _cards_of_inits_only(placement: Placement, request: PodRequest) -> int:
    """Count them on the only node; 0 where the pod does not fit."""
    if not placement.fits[0]:
        return 0
    of_inits = np.zeros(len(placement.card_codes), np.bool_)
    of_others = of_inits.copy()
    for chosen, lifetime in zip(placement.chosen, request.lifetimes, strict=True):
        if chosen is not None:
            held = of_inits if lifetime is Lifetime.INIT else of_others
            held |= chosen[:, 0]
    return int(np.count_nonzero(of_inits & ~of_others))


@dataclass(frozen=True, slots=True)
class _Found:
    assignment: Assignment
    states: CardStates


@dataclass(frozen=True, slots=True)
class _Undecided:
    """The steps ran out; whether only since other nodes took some of them."""

    is_for_others: bool


def _searched(
    cards: Cards,
    request: PodRequest,
    columns: Int64s,
    budget: StepBudget,
    most_mib: int | None = None,
) -> Iterator[tuple[Int64s, _Found | _Undecided]]:
    """Search some nodes, equal ones at once; those where nothing fits are not told."""
    if not columns.size:
        return
    wants = Wants(request)
    if _is_too_large(wants, cards, budget):
        budget.counts.exhausted += len(columns)
        yield columns, _Undecided(is_for_others=False)
        return
    kinds = _Kinds(cards, open_cards(cards, request), columns, CardStates(wants))
    search = Search(kinds.states, budget, most_mib)
    first, group_of = first_of_equal(kinds.fields)
    in_groups = columns[np.argsort(group_of, kind="stable")]
    ends = np.cumsum(np.bincount(group_of)).tolist()
    begins = [0, *ends]
    start, at_once = 0, _NODES_AT_FIRST
    while start < len(first):
        while at_once > 1 and 2 * kinds.steps_of(at_once) > budget.left:
            at_once //= 2
        chunk = first[start : start + at_once]
        steps = kinds.steps_of(len(chunk))
        if steps >= budget.left:
            rest = in_groups[begins[start] :]
            budget.counts.exhausted += len(rest)
            yield rest, _Undecided(is_for_others=True)
            return
        budget.take(steps)
        for group, of_node in enumerate(kinds.of(chunk), start):
            some = in_groups[begins[group] : ends[group]]
            yield from _searched_alone(search, of_node, some, budget)
        start, at_once = start + at_once, 2 * at_once


def _searched_alone(
    search: Search, kinds: Sequence[int], columns: Int64s, budget: StepBudget
) -> Iterator[tuple[Int64s, _Found | _Undecided]]:
    """Search one node for all that are equal."""
    is_limited = budget.left < budget.per_node
    budget.counts.nodes += 1
    try:
        assignment = search.assign(kinds)
    except OutOfSteps:
        budget.counts.exhausted += len(columns)
        yield columns, _Undecided(is_for_others=is_limited)
    else:
        if assignment is not None:
            yield columns, _Found(assignment, search.states)


def _is_too_large(wants: Wants, cards: Cards, budget: StepBudget) -> bool:
    """Tell whether so much is asked that the rules' answers alone take too long."""
    return (
        len(wants.containers) > _MOST_CONTAINERS
        or wants.steps_of(len(cards.exists)) >= budget.per_node
    )


class _Kinds:
    """Numbers kinds of card, and asks the rules about new ones."""

    def __init__(
        self, cards: Cards, is_open: Mask, columns: Int64s, states: CardStates
    ) -> None:
        self.states = states
        tell = (
            neighbour_fields if states.wants.request.wants_neighbours else card_fields
        )
        self.fields = tell(cards, is_open, columns)
        self._cards, self._is_open, self._columns = cards, is_open, columns
        self._by_fields: dict[bytes, int] = {}
        self._known = 0

    def steps_of(self, nodes: int) -> int:
        """Tell how many steps it counts as to ask the rules about so many nodes."""
        wants = self.states.wants
        steps = len(wants.distinct) * _STEPS_PER_QUESTION
        return steps + wants.steps_of(nodes * len(self._is_open))

    def of(self, places: Int64s) -> list[list[int]]:
        """Give the kinds of each node's cards, by place among the columns."""
        rows = np.ascontiguousarray(self.fields[:, :, places].transpose(2, 1, 0))
        fields = rows.view(f"V{rows.itemsize * len(self.fields)}")[..., 0].tolist()
        new: list[tuple[int, int]] = []
        found = []
        by_fields = self._by_fields
        for node, column in zip(fields, self._columns[places].tolist(), strict=True):
            kinds = []
            for position, of_card in enumerate(node):
                kind = by_fields.setdefault(of_card, len(by_fields))
                if kind == self._known + len(new):
                    new.append((position, column))
                kinds.append(kind)
            found.append(kinds)
        self._known += len(new)
        if new:
            positions, columns = np.array(new, np.int64).T
            single = self._cards.single(positions, columns)
            self.states.add(single, self._is_open[positions, columns])
        return found


class _Placing:
    """Writes assignments into a placement."""

    def __init__(self, cards: Cards, request: PodRequest, placement: Placement) -> None:
        self._cards, self._request = cards, request
        self._rows = [
            np.zeros_like(cards.exists) if one is None else one
            for one in placement.chosen
        ]
        chosen = [
            row if asked.count else None
            for row, asked in zip(self._rows, request.containers, strict=True)
        ]
        self.placement = replace(placement, chosen=chosen, taken={})

    def put(self, columns: Int64s, assignment: Assignment, states: CardStates) -> None:
        """Place the pod on nodes that are equal for a search."""
        peak = self._cards.used[..., columns]
        for position, code in enumerate(assignment.last):
            if code % states.wants.state_count:
                peak[:, position] = states.used(code)[:, np.newaxis]
        for turn, one in enumerate(states.wants.containers):
            taken = assignment.cards[turn]
            self._rows[one.index][:, columns] = False
            for position in taken:
                self._rows[one.index][position, columns] = True
                if one.is_init:
                    before = states.used(assignment.codes[turn][position])
                    held = before + self._share(one.index, position, int(columns[0]))
                    at = peak[:, position]
                    np.maximum(at, held[:, np.newaxis], out=at)
        self._put(columns, peak)

    def put_instances(self, found: Instances) -> None:
        """Place the pod on nodes with cards in MIG mode."""
        columns, source, placement = found.columns, found.source, found.placement
        for row, chosen in zip(self._rows, placement.chosen, strict=True):
            row[:, columns] = False if chosen is None else chosen[:, source]
        if self._cards.node_count == 1:
            self.placement = replace(self.placement, taken=placement.taken)
        self._put(columns, placement.peak[..., source])

    def _put(self, columns: Int64s, peak: Int64s) -> None:
        placement = self.placement
        placement.peak[..., columns] = peak
        placement.fits[columns] = True
        placement.refused_container[columns] = NO_CONTAINER
        placement.node_codes[columns] = 0
        placement.card_codes[:, columns] = 0

    def _share(self, index: int, position: int, column: int) -> Int64s:
        """Tell what a container holds of a card: int64 (3,)."""
        asked = self._request.containers[index]
        return share_needed(self._cards, asked).at(position, column)

    def give_up(self, columns: Int64s) -> None:
        """Refuse nodes as a whole, since the steps ran out."""
        placement = self.placement
        placement.refused_container[columns] = NO_CONTAINER
        placement.node_codes[columns] = CODES[Reason.SEARCH_EXHAUSTED]
        placement.card_codes[:, columns] = 0
