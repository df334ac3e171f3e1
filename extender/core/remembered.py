"""Answers that are kept until their nodes change.

Pods come in bursts of one shape, a pod that waits is asked about again and again, and
prioritize asks what filter has just asked. Between two such questions few nodes change,
so only these are judged anew; and those in question whose search was cut short, since
it has new steps now.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.answers import Answers, answer
from extender.core.arrays import Int64s
from extender.core.budget import StepBudget
from extender.core.cards import Cards
from extender.core.pod_request import PodRequest

_REQUESTS_KEPT: Final = 32
"""Each takes 19 bytes a node."""

_ALL_ABOVE: Final = 2
"""Judge all where more than one in so many must be: copying them out costs as much."""


@dataclass(slots=True)
class _Remembered:
    """What the nodes of a bucket answered, and as of which change."""

    answers: Answers
    change: int


class RememberedAnswers:
    """The latest answers of one bucket's nodes to the latest requests."""

    def __init__(self) -> None:
        self._by_request: dict[PodRequest, _Remembered] = {}
        self._change = 0
        self._changed_at: Int64s = np.zeros(1, np.int64)

    def note_change(self, column: int) -> None:
        """Judge a node anew from now on."""
        self._change += 1
        if column >= len(self._changed_at):
            larger = np.zeros(2 * column, np.int64)
            larger[: len(self._changed_at)] = self._changed_at
            self._changed_at = larger
        self._changed_at[column] = self._change

    def change_of(self, column: int) -> int:
        """Number the latest change of a node."""
        return int(self._changed_at[column])

    def of(
        self, cards: Cards, columns: Int64s, request: PodRequest, budget: StepBudget
    ) -> Answers:
        """Answer a request on some of the nodes.

        Args:
            cards: All columns of the bucket, as they are now; those whose node has gone
                have no cards.
            columns: int64 (K,); the nodes in question.
            request: At least one container asks for a device.
            budget: For the search.

        Returns:
            K answers.

        Cost: that of judging the nodes that changed since the last time, or were not
        decided; all of them for a request that is new, unless few are in question.
        """
        known = self._by_request.pop(request, None)
        if known is None and len(columns) * _ALL_ABOVE < len(_taken(cards)):
            return answer(cards.of_nodes(columns), request, budget)
        known = self._refreshed(known, cards, columns, request, budget)
        self._by_request[request] = known
        if len(self._by_request) > _REQUESTS_KEPT:
            del self._by_request[next(iter(self._by_request))]
        return known.answers.of(columns)

    def _refreshed(
        self,
        known: _Remembered | None,
        cards: Cards,
        columns: Int64s,
        request: PodRequest,
        budget: StepBudget,
    ) -> _Remembered:
        column_count = cards.node_count
        if known is None or len(known.answers.fits) != column_count:
            return _Remembered(_judged(cards, request, budget), self._change)
        is_stale = self._changed_at[:column_count] > known.change
        if np.count_nonzero(is_stale) * _ALL_ABOVE > column_count:
            return _Remembered(_judged(cards, request, budget), self._change)
        # Never all of them for that alone: the same nodes would take the steps again.
        is_stale[columns] |= known.answers.is_cut_short[columns]
        stale = np.flatnonzero(is_stale)
        if stale.size:
            anew = answer(cards.of_nodes(stale), request, budget)
            known.answers.put(stale, anew)
        known.change = self._change
        return known


def _taken(cards: Cards) -> Int64s:
    """Find the columns that have a node: where many have gone, few of all."""
    return np.flatnonzero(cards.card_counts)


def _judged(cards: Cards, request: PodRequest, budget: StepBudget) -> Answers:
    """Judge every node; columns without one have any answer."""
    taken = _taken(cards)
    if len(taken) * _ALL_ABOVE >= cards.node_count:
        return answer(cards, request, budget)
    answers = Answers.blank(cards.node_count)
    answers.put(taken, answer(cards.of_nodes(taken), request, budget))
    return answers
