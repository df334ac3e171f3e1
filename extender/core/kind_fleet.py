"""All nodes' cards of one kind, in arrays that many nodes are judged on at once.

Nodes are kept in buckets by their number of cards, padded to a power of two: padding
everything to the widest node would make a fleet of eight-card nodes with one node of
64 cards several times slower. Nodes with cards in MIG mode have buckets of their own,
so that the others need no look at instances.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Final

import numpy as np

from extender.core.answers import Answers, answer
from extender.core.arrays import Int64s, Mask
from extender.core.bucket import Bucket, NodeTotals
from extender.core.budget import StepBudget
from extender.core.cards import Cards, Interned
from extender.core.core_bits import CoresOf, HeldCores
from extender.core.holding import Holding
from extender.core.names import KindWord, NodeName
from extender.core.node import Inventory, Links
from extender.core.pod_request import PodRequest
from extender.core.reasons import CODES, Reason
from extender.core.share_ranges import ShareRanges, joined_ranges, share_ranges


class KindFleet:
    """The nodes, their cards of one kind, and what is held on them.

    Invariant: for each card, ``used`` is the sum of the charges of the holdings that
    were added on its node and not removed. Whoever owns the fleet keeps the holdings
    and passes them again when a node is put.
    """

    def __init__(self, kind: KindWord) -> None:
        self._kind = kind
        self._interned = Interned()
        self._links: dict[NodeName, Links] = {}
        self._cores: dict[NodeName, HeldCores] = {}
        self._buckets: list[Bucket] = []
        self._bucket_numbers: dict[tuple[int, bool], int] = {}
        self._place_of: dict[NodeName, int] = {}
        self._unusable: dict[NodeName, Reason] = {}
        self._looked_up: deque[tuple[tuple[NodeName, ...], Int64s]] = deque(
            maxlen=_LISTS_KEPT
        )

    def put(
        self, node_name: NodeName, inventory: Inventory, holdings: Iterable[Holding]
    ) -> None:
        """Add or replace a node, with all that is held there.

        Cost: O(cards + holdings) of that node.
        """
        self.remove(node_name)
        if not inventory.is_usable or not inventory.devices:
            self._unusable[node_name] = _why_unusable(inventory)
            return
        self._looked_up.clear()
        if inventory.links:
            self._links[node_name] = inventory.links
        has_mig = any(device.is_mig for device in inventory.devices)
        number = self._bucket_number(len(inventory.devices), has_mig=has_mig)
        column = self._buckets[number].put(inventory)
        self._place_of[node_name] = number << _COLUMN_BITS | column
        for holding in holdings:
            self.add(holding)

    def remove(self, node_name: NodeName) -> None:
        """Forget a node; one that is not there is no error."""
        self._unusable.pop(node_name, None)
        self._links.pop(node_name, None)
        self._cores.pop(node_name, None)
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
            if holding.cores:
                held = self._cores.setdefault(holding.node_name, HeldCores())
                held.count(holding, sign)

    def _at(self, place: int) -> tuple[Bucket, int]:
        return self._buckets[place >> _COLUMN_BITS], place & _COLUMN_MASK

    def totals(self, node_name: NodeName) -> NodeTotals | None:
        """Read what is held on one node; None when it has no cards that count."""
        place = self._place_of.get(node_name, _NOWHERE)
        if place == _NOWHERE:
            return None
        bucket, column = self._at(place)
        totals = bucket.totals_at(column)
        held = self._cores.get(node_name)
        if held is None:
            return totals
        own = bucket.positions(column)
        holders = {each: n for each, n in held.holders.items() if each[0] in own}
        return replace(totals, cores=holders)

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
        held = self._cores.get(node_name)
        return bucket.is_overfull(column) or (held is not None and bool(held.twice))

    def why_unusable(self, node_name: NodeName) -> Reason | None:
        """Tell why a node has no cards that count; None when it has."""
        if node_name in self._place_of:
            return None
        return self._unusable.get(node_name, Reason.NODE_UNREGISTERED)

    def answers(
        self,
        node_names: Sequence[NodeName],
        request: PodRequest,
        budget: StepBudget,
        without: Holding | None = None,
        beside: Sequence[Holding] = (),
    ) -> Answers:
        """Judge a request on nodes, each on its own.

        Args:
            node_names: Any names; one without cards that count is hopeless, by the
                reason of `why_unusable`.
            request: At least one container asks for a device.
            budget: What searches may take; what they took is missing afterwards.
            without: A holding to leave out of the totals: a pod is judged as if it
                held nothing itself.
            beside: Holdings to count besides: pods that are about to come.

        Returns:
            One answer per name, in the order asked.

        Cost: one dictionary look-up per name, and that of `Bucket.answers`; nodes of
        `without` and `beside` are judged apart.
        """
        changes = _changes(without, beside)
        found = Answers.blank(len(node_names))
        is_judged = np.zeros(len(node_names), np.bool_)
        for number, columns, positions in self._by_bucket(node_names):
            answers = self._buckets[number].answers(columns, request, budget)
            if changes:
                apart = np.flatnonzero(self._is_changed(number, columns, changes))
                if apart.size:
                    cards = self._changed(number, columns[apart], changes)
                    answers.put(apart, answer(cards, request, budget))
            found.put(positions, answers)
            is_judged[positions] = True
        for position in np.flatnonzero(~is_judged).tolist():
            reason = self.why_unusable(node_names[position])
            if reason is not None:
                found.is_hopeless[position] = True
                found.reason_bits[position] = 1 << CODES[reason]
        return found

    def _is_changed(
        self, number: int, columns: Int64s, changes: Sequence[tuple[Holding, int]]
    ) -> Mask:
        """Tell on which nodes of a bucket something else is to be counted."""
        places = {
            place & _COLUMN_MASK
            for holding, _ in changes
            if (place := self._place_of.get(holding.node_name, _NOWHERE))
            >> _COLUMN_BITS
            == number
        }
        return np.isin(columns, list(places))

    def _changed(
        self, number: int, columns: Int64s, changes: Sequence[tuple[Holding, int]]
    ) -> Cards:
        """Copy nodes of a bucket out, and count something else on them."""
        bucket = self._buckets[number]
        here = []
        for holding, sign in changes:
            place = self._place_of.get(holding.node_name, _NOWHERE)
            if place >> _COLUMN_BITS == number:
                column = place & _COLUMN_MASK
                change = bucket.change(column, holding, sign)
                here += [
                    replace(change, column=each)
                    for each in np.flatnonzero(columns == column).tolist()
                ]
        cards = bucket.cards().of_nodes(columns)
        return cards.changed(here) if here else cards

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

    def cards(self) -> list[Cards]:
        """See all cards, bucket by bucket, read-only; also places that no node has."""
        return [bucket.cards() for bucket in self._buckets]

    def node(
        self,
        node_name: NodeName,
        without: Holding | None = None,
        beside: Sequence[Holding] = (),
    ) -> Cards | None:
        """Copy one node's cards out.

        Args:
            node_name: Any name.
            without: As for `answers`.
            beside: As for `answers`.

        Returns:
            The cards of this node alone, in column 0; None where none counts.
        """
        place = self._place_of.get(node_name, _NOWHERE)
        if place == _NOWHERE:
            return None
        number, column = place >> _COLUMN_BITS, place & _COLUMN_MASK
        here = [holding for holding in beside if holding.node_name == node_name]
        return self._changed(number, np.array([column]), _changes(without, here))

    def nodes(
        self,
        node_names: Sequence[NodeName],
        without: Holding | None = None,
        beside: Sequence[Holding] = (),
    ) -> Iterator[tuple[Cards, Int64s]]:
        """Copy several nodes' cards out, those of one bucket at a time.

        Args:
            node_names: Any names; those without cards that count are not there.
            without: As for `answers`.
            beside: As for `answers`.

        Returns:
            The cards, and each column's position among the names.
        """
        changes = _changes(without, beside)
        for number, columns, positions in self._by_bucket(node_names):
            yield self._changed(number, columns, changes), positions

    @property
    def has_mig(self) -> bool:
        """Whether any node has, or had, cards in MIG mode."""
        return any(has_mig for _, has_mig in self._bucket_numbers)

    def share_ranges(self, request: PodRequest) -> ShareRanges:
        """Tell what a container's share comes to, whichever matching card it gets."""
        found: ShareRanges = {}
        for bucket in self._buckets:
            found = joined_ranges(found, share_ranges(bucket.cards(), request))
        return found

    def held_cores(self, node_name: NodeName, without: Holding | None) -> CoresOf:
        """Tell which cores of one node's devices are held, as bits.

        Pods that are about to come hold none yet: that there are enough for them is
        seen to by their number.

        Args:
            node_name: Any name.
            without: As for `answers`.
        """
        held = self._cores.get(node_name, HeldCores()).copy()
        if without is not None and without.node_name == node_name:
            held.count(without, -1)
        return held.bits

    def links(self, node_name: NodeName) -> Int64s | None:
        """Tell how closely the cards of one node are linked.

        Returns:
            int64 (W, W), in card order and padded as `node`; None where that is not
            known.
        """
        links = self._links.get(node_name)
        if links is None:
            return None
        bucket, column = self._at(self._place_of[node_name])
        positions = bucket.positions(column)
        scores = np.zeros((bucket.width, bucket.width), np.int64)
        for one, position in positions.items():
            for other, score in links.get(one, {}).items():
                if other in positions and other != one:
                    scores[position, positions[other]] = score
        return scores

    def _bucket_number(self, card_count: int, *, has_mig: bool) -> int:
        width = 1 << (card_count - 1).bit_length()
        number = self._bucket_numbers.get((width, has_mig))
        if number is None:
            number = self._bucket_numbers[width, has_mig] = len(self._buckets)
            self._buckets.append(
                Bucket(width, self._interned, self._kind, has_mig=has_mig)
            )
        return number


_LISTS_KEPT: Final = 8
"""Lists of names that stay looked up."""

_COLUMN_BITS: Final = 32
_COLUMN_MASK: Final = (1 << _COLUMN_BITS) - 1
_NOWHERE: Final = -1
"""A place is a bucket's number and, in the low bits, a column: one integer, so that
5,000 names become an array in one pass."""


def _changes(
    without: Holding | None, beside: Sequence[Holding]
) -> list[tuple[Holding, int]]:
    """List what to count besides, and what to take back."""
    changes = [(holding, 1) for holding in beside]
    if without is not None:
        changes.append((without, -1))
    return changes


def _why_unusable(inventory: Inventory) -> Reason:
    if inventory.is_left_out:
        return Reason.NODE_NOT_SELECTED
    if inventory.problem is not None:
        return Reason.NODE_REGISTRATION_UNREADABLE
    return Reason.NODE_UNREGISTERED
