"""All nodes' cards of one kind, in arrays that many nodes are judged on at once.

Nodes are kept in buckets by their number of cards, padded to a power of two: padding
everything to the widest node would make a fleet of eight-card nodes with one node of
64 cards several times slower.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final

import numpy as np

from extender.core.arrays import Int64s
from extender.core.bucket import Bucket, NodeTotals
from extender.core.cards import Cards, Change, Interned
from extender.core.holding import Holding
from extender.core.model import Node, NodeName
from extender.core.reasons import Reason


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

    def put(self, node: Node, holdings: Iterable[Holding]) -> None:
        """Add or replace a node, with all that is held there.

        Cost: O(cards + holdings) of that node.
        """
        self.remove(node.name)
        if not node.is_usable or not node.devices:
            self._unusable[node.name] = _why_unusable(node)
            return
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

    def select(
        self,
        node_names: Sequence[NodeName],
        without: Holding | None = None,
        beside: Sequence[Holding] = (),
    ) -> list[Selected]:
        """Look up nodes, bucket by bucket.

        Args:
            node_names: Any names; those without cards that count are left out.
            without: A holding to leave out of the totals: a pod is judged as if it
                held nothing itself.
            beside: Holdings to count besides: pods that are about to come.

        Cost: one dictionary look-up per name, and one copy of the bucket's arrays
        where only a few of its nodes are asked for.
        """
        places = np.fromiter(
            map(self._place_of.get, node_names, repeat(_NOWHERE)),
            np.int64,
            len(node_names),
        )
        numbers = places >> _COLUMN_BITS
        changes = [(holding, 1) for holding in beside]
        if without is not None:
            changes.append((without, -1))
        selected = []
        for number, bucket in enumerate(self._buckets):
            positions = np.flatnonzero(numbers == number)
            if positions.size:
                columns = places[positions] & _COLUMN_MASK
                selected.append(self._selected(bucket, columns, positions, changes))
        return selected

    def _selected(
        self,
        bucket: Bucket,
        columns: Int64s,
        positions: Int64s,
        changes: Sequence[tuple[Holding, int]],
    ) -> Selected:
        cards, judged = bucket.cards().narrowed(columns)
        here = []
        for holding, sign in changes:
            place = self._place_of.get(holding.node_name, _NOWHERE)
            if place != _NOWHERE and self._at(place)[0] is bucket:
                column = self._at(place)[1]
                card_positions = bucket.positions(column)
                here += [
                    Change(at, card_positions, holding, sign)
                    for at in judged[columns == column].tolist()
                ]
        if here:
            cards = cards.changed(here)
        return Selected(cards, judged, positions)

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


_COLUMN_BITS: Final = 32
_COLUMN_MASK: Final = (1 << _COLUMN_BITS) - 1
_NOWHERE: Final = -1
"""A place is a bucket's number and, in the low bits, a column: one integer, so that
5,000 names become an array in one pass."""


def _why_unusable(node: Node) -> Reason:
    if node.inventory_problem is not None:
        return Reason.NODE_REGISTRATION_UNREADABLE
    return Reason.NODE_UNREGISTERED
