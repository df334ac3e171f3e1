"""A fleet in which some nodes are as another fleet has them."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from extender.core.answers import Answers
from extender.core.arrays import Int64s
from extender.core.bucket import NodeTotals
from extender.core.budget import StepBudget
from extender.core.cards import Cards
from extender.core.core_bits import CoresOf
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.kind_fleet import KindFleet
from extender.core.names import KindWord, NodeName
from extender.core.pod_request import PodRequest
from extender.core.reasons import Reason
from extender.core.share_ranges import ShareRanges, joined_ranges


class OverlaidFleet(Fleet):
    """The nodes of one fleet, and below them those of another; for reading.

    So a request that brings a few nodes of its own is judged without copying the rest.
    """

    def __init__(self, over: Fleet, names: frozenset[NodeName], under: Fleet) -> None:
        """Lay a fleet over another.

        Args:
            over: Has nodes as they count.
            names: Which ones; also those without any card.
            under: Has all other nodes; it is not written to.
        """
        super().__init__(under.searches)
        self._over = over
        self._names = names
        self._under = under

    def _fleet_with(self, node_name: NodeName) -> Fleet:
        return self._over if node_name in self._names else self._under

    def of(self, kind: KindWord) -> KindFleet:
        """Give the cards of one kind; see `Fleet.of`."""
        over, under = self._over.of(kind), self._under.of(kind)
        return _OverlaidKindFleet(kind, over, self._names, under)

    def totals(self, node_name: NodeName) -> Mapping[KindWord, NodeTotals]:
        """Read what is held on one node; see `Fleet.totals`."""
        return self._fleet_with(node_name).totals(node_name)

    def change_of(self, node_name: NodeName) -> object:
        """Give what stays equal as long as a node does; see `Fleet.change_of`."""
        return self._fleet_with(node_name).change_of(node_name)

    def is_overfull(self, node_name: NodeName) -> bool:
        """Tell whether more is held on a card than it has; see `Fleet.is_overfull`."""
        return self._fleet_with(node_name).is_overfull(node_name)

    def has_cards(self, node_name: NodeName) -> bool:
        """Tell whether a node has cards that count; see `Fleet.has_cards`."""
        return self._fleet_with(node_name).has_cards(node_name)


class _OverlaidKindFleet(KindFleet):
    """The same of one kind, as far as requests are judged by it."""

    def __init__(
        self,
        kind: KindWord,
        over: KindFleet,
        names: frozenset[NodeName],
        under: KindFleet,
    ) -> None:
        super().__init__(kind)
        self._over = over
        self._names = names
        self._under = under

    def _fleet_with(self, node_name: NodeName) -> KindFleet:
        return self._over if node_name in self._names else self._under

    def answers(
        self,
        node_names: Sequence[NodeName],
        request: PodRequest,
        budget: StepBudget,
        without: Holding | None = None,
        beside: Sequence[Holding] = (),
    ) -> Answers:
        """Judge a request on nodes; see `KindFleet.answers`."""
        found = Answers.blank(len(node_names))
        for fleet, positions, names in self._parted(node_names):
            found.put(positions, fleet.answers(names, request, budget, without, beside))
        return found

    def _parted(
        self, node_names: Sequence[NodeName]
    ) -> Iterator[tuple[KindFleet, Int64s, list[NodeName]]]:
        """Give each fleet with the names that it is asked about, and where they are."""
        is_over = np.fromiter(
            map(self._names.__contains__, node_names), np.bool_, len(node_names)
        )
        for fleet, mask in ((self._over, is_over), (self._under, ~is_over)):
            positions = np.flatnonzero(mask)
            yield fleet, positions, [node_names[at] for at in positions.tolist()]

    def node(
        self,
        node_name: NodeName,
        without: Holding | None = None,
        beside: Sequence[Holding] = (),
    ) -> Cards | None:
        """Copy one node's cards out; see `KindFleet.node`."""
        return self._fleet_with(node_name).node(node_name, without, beside)

    def nodes(
        self,
        node_names: Sequence[NodeName],
        without: Holding | None = None,
        beside: Sequence[Holding] = (),
    ) -> Iterator[tuple[Cards, Int64s]]:
        """Copy several nodes' cards out; see `KindFleet.nodes`."""
        for fleet, positions, names in self._parted(node_names):
            for cards, among in fleet.nodes(names, without, beside):
                yield cards, positions[among]

    @property
    def has_mig(self) -> bool:
        """Whether any node of either has, or had, cards in MIG mode."""
        return self._over.has_mig or self._under.has_mig

    def share_ranges(self, request: PodRequest) -> ShareRanges:
        """Cover the cards of both fleets; see `KindFleet.share_ranges`."""
        fleets = self._over, self._under
        return joined_ranges(*(fleet.share_ranges(request) for fleet in fleets))

    def held_cores(self, node_name: NodeName, without: Holding | None) -> CoresOf:
        """Tell which cores are held; see `KindFleet.held_cores`."""
        return self._fleet_with(node_name).held_cores(node_name, without)

    def links(self, node_name: NodeName) -> Int64s | None:
        """Tell how closely one node's cards are linked; see `KindFleet.links`."""
        return self._fleet_with(node_name).links(node_name)

    def why_unusable(self, node_name: NodeName) -> Reason | None:
        """Tell why a node has no cards that count; see `KindFleet.why_unusable`."""
        return self._fleet_with(node_name).why_unusable(node_name)
