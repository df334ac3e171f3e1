"""All nodes' cards of one kind, in arrays that many nodes are judged on at once.

Nodes are kept in buckets by their number of cards, padded to a power of two: padding
everything to the widest node would make a fleet of eight-card nodes with one node of
64 cards several times slower.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final

import numpy as np

from extender.core.answers import Answers, answer
from extender.core.arrays import Int64s
from extender.core.bucket import Bucket, NodeTotals
from extender.core.cards import Cards, Change, Interned
from extender.core.holding import Holding
from extender.core.model import Node, NodeName, PodRequest
from extender.core.reasons import CODES, Reason


@dataclass(frozen=True, slots=True)
class Selected:
    """Some of the asked nodes, all in one bucket.

    Attributes:
        cards: At least the asked nodes; more where copying them out would cost more
            than judging them.
        columns: int64 (K,); the asked nodes' places in `cards`.
        positions: int64 (K,); their places in the list that was asked for.
    """

    cards: Cards
    columns: Int64s
    positions: Int64s


class Fleet:
    """The nodes, their cards, and what is held on them.

    Invariant: for each card, ``used`` is the sum of the charges of the holdings that
    were added on its node and not removed. Whoever owns the fleet keeps the holdings
    and passes them again when a node is put.
    """

    def __init__(self) -> None:
        self._interned = Interned()
        self._buckets: list[Bucket] = []
        self._bucket_by_width: dict[int, int] = {}
        self._place_of: dict[NodeName, int] = {}
        self._unusable: dict[NodeName, Reason] = {}
        self._looked_up: deque[tuple[tuple[NodeName, ...], Int64s]] = deque(
            maxlen=_LISTS_KEPT
        )

    def put(self, node: Node, holdings: Iterable[Holding]) -> None:
        """Add or replace a node, with all that is held there.

        Cost: O(cards + holdings) of that node.
        """
        self.remove(node.name)
        if not node.is_usable or not node.devices:
            self._unusable[node.name] = _why_unusable(node)
            return
        self._looked_up.clear()
        number = self._bucket_number(len(node.devices))
        column = self._buckets[number].put(node)
        self._place_of[node.name] = number << _COLUMN_BITS | column
        for holding in holdings:
            self.add(holding)

    def remove(self, node_name: NodeName) -> None:
        """Forget a node; one that is not there is no error."""
        self._unusable.pop(node_name, None)
        place = self._place_of.pop(node_name, _NOWHERE)
        if place != _NOWHERE:
            self._looked_up.clear()
            bucket, column = self._at(place)
            bucket.free(column)

    def add(self, holding: Holding) -> None:
        """Count a holding; on a node that is not there it counts nowhere."""
        self._count(holding, 1)

    def subtract(self, holding: Holding) -> None:
        """Take back a holding that was added."""
        self._count(holding, -1)

    def _count(self, holding: Holding, sign: int) -> None:
        place = self._place_of.get(holding.node_name, _NOWHERE)
        if place != _NOWHERE:
            bucket, column = self._at(place)
            bucket.count(column, holding, sign)

    def _at(self, place: int) -> tuple[Bucket, int]:
        return self._buckets[place >> _COLUMN_BITS], place & _COLUMN_MASK

    def totals(self, node_name: NodeName) -> NodeTotals | None:
        """Read what is held on one node; None when it has no cards that count."""
        place = self._place_of.get(node_name, _NOWHERE)
        if place == _NOWHERE:
            return None
        bucket, column = self._at(place)
        return bucket.totals_at(column)

    def change_of(self, node_name: NodeName) -> object:
        """Give what stays equal as long as a node, and what is held there, does."""
        place = self._place_of.get(node_name, _NOWHERE)
        if place == _NOWHERE:
            return None
        bucket, column = self._at(place)
        return self, place, bucket.change_of(column)

    def is_overfull(self, node_name: NodeName) -> bool:
        """Tell whether more is held on any card of a node than it has."""
        place = self._place_of.get(node_name, _NOWHERE)
        if place == _NOWHERE:
            return False
        bucket, column = self._at(place)
        return bucket.is_overfull(column)

    def why_unusable(self, node_name: NodeName) -> Reason | None:
        """Tell why a node has no cards that count; None when it has."""
        if node_name in self._place_of:
            return None
        return self._unusable.get(node_name, Reason.NODE_UNREGISTERED)

    def answers(
        self,
        node_names: Sequence[NodeName],
        request: PodRequest,
        without: Holding | None = None,
        beside: Sequence[Holding] = (),
    ) -> Answers:
        """Judge a request on nodes, each on its own.

        Args:
            node_names: Any names; one without cards that count is hopeless, by the
                reason of `why_unusable`.
            request: At least one container asks for a device.
            without: A holding to leave out of the totals: a pod is judged as if it
                held nothing itself.
            beside: Holdings to count besides: pods that are about to come.

        Returns:
            One answer per name, in the order asked.

        Cost: one dictionary look-up per name, and that of `Bucket.answers`; nodes of
        `without` and `beside` are judged apart.
        """
        changes = [(holding, 1) for holding in beside]
        if without is not None:
            changes.append((without, -1))
        found = Answers.blank(len(node_names))
        is_judged = np.zeros(len(node_names), np.bool_)
        for number, columns, positions in self._by_bucket(node_names):
            bucket = self._buckets[number]
            answers = bucket.answers(columns, request)
            if changes:
                self._judge_apart(number, columns, request, changes, answers)
            found.put(positions, answers)
            is_judged[positions] = True
        for position in np.flatnonzero(~is_judged).tolist():
            reason = self.why_unusable(node_names[position])
            if reason is not None:
                found.is_hopeless[position] = True
                found.reason_bits[position] = 1 << CODES[reason]
        return found

    def _judge_apart(
        self,
        number: int,
        columns: Int64s,
        request: PodRequest,
        changes: Sequence[tuple[Holding, int]],
        answers: Answers,
    ) -> None:
        """Write over the answers of nodes on which something else is to be counted."""
        places = {
            place & _COLUMN_MASK
            for holding, _ in changes
            if (place := self._place_of.get(holding.node_name, _NOWHERE))
            >> _COLUMN_BITS
            == number
        }
        positions = np.flatnonzero(np.isin(columns, list(places)))
        if positions.size:
            bucket = self._buckets[number]
            apart, at = columns[positions], np.arange(len(positions))
            cards = bucket.cards().of_nodes(apart)
            changed = self._changed(cards, bucket, apart, at, changes)
            answers.put(positions, answer(changed, request))

    def _by_bucket(
        self, node_names: Sequence[NodeName]
    ) -> Iterator[tuple[int, Int64s, Int64s]]:
        """Look names up: bucket by bucket, columns and positions in the list."""
        places = self._places(node_names)
        numbers = places >> _COLUMN_BITS
        for number in range(len(self._buckets)):
            positions = np.flatnonzero(numbers == number)
            if positions.size:
                yield number, places[positions] & _COLUMN_MASK, positions

    def _places(self, node_names: Sequence[NodeName]) -> Int64s:
        """Look names up; the latest tuples only once, as long as no node moves."""
        for names, places in self._looked_up:
            if names is node_names:
                return places
        found = np.fromiter(
            map(self._place_of.get, node_names, repeat(_NOWHERE)),
            np.int64,
            len(node_names),
        )
        if isinstance(node_names, tuple):
            self._looked_up.append((node_names, found))
        return found

    def select(
        self,
        node_names: Sequence[NodeName],
        without: Holding | None = None,
        beside: Sequence[Holding] = (),
    ) -> list[Selected]:
        """Look up the cards of nodes, bucket by bucket.

        Args:
            node_names: Any names; those without cards that count are left out.
            without: As for `answers`.
            beside: As for `answers`.

        Cost: one dictionary look-up per name, and one copy of the bucket's arrays
        where only a few of its nodes are asked for.
        """
        changes = [(holding, 1) for holding in beside]
        if without is not None:
            changes.append((without, -1))
        selected = []
        for number, columns, positions in self._by_bucket(node_names):
            bucket = self._buckets[number]
            cards, judged = bucket.cards().narrowed(columns)
            cards = self._changed(cards, bucket, columns, judged, changes)
            selected.append(Selected(cards, judged, positions))
        return selected

    def _changed(
        self,
        cards: Cards,
        bucket: Bucket,
        columns: Int64s,
        at: Int64s,
        changes: Sequence[tuple[Holding, int]],
    ) -> Cards:
        """Count something else on nodes of a bucket: at `columns` there, `at` here."""
        here = []
        for holding, sign in changes:
            place = self._place_of.get(holding.node_name, _NOWHERE)
            if place != _NOWHERE and self._at(place)[0] is bucket:
                column = self._at(place)[1]
                positions = bucket.positions(column)
                here += [
                    Change(each, positions, holding, sign)
                    for each in at[columns == column].tolist()
                ]
        return cards.changed(here) if here else cards

    def node(
        self,
        node_name: NodeName,
        without: Holding | None = None,
        beside: Sequence[Holding] = (),
    ) -> Cards | None:
        """Look up one node, as `select`: its cards alone; None where none counts."""
        here = [holding for holding in beside if holding.node_name == node_name]
        for selected in self.select([node_name], without, here):
            return selected.cards.of_nodes(selected.columns)
        return None

    def _bucket_number(self, card_count: int) -> int:
        width = 1 << (card_count - 1).bit_length()
        number = self._bucket_by_width.get(width)
        if number is None:
            number = self._bucket_by_width[width] = len(self._buckets)
            self._buckets.append(Bucket(width, self._interned))
        return number


_LISTS_KEPT: Final = 8
"""Lists of names that stay looked up."""

_COLUMN_BITS: Final = 32
_COLUMN_MASK: Final = (1 << _COLUMN_BITS) - 1
_NOWHERE: Final = -1
"""A place is a bucket's number and, in the low bits, a column: one integer, so that
5,000 names become an array in one pass."""


def _why_unusable(node: Node) -> Reason:
    if node.inventory_problem is not None:
        return Reason.NODE_REGISTRATION_UNREADABLE
    return Reason.NODE_UNREGISTERED
