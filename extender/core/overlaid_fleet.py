"""A fleet in which some nodes are as another fleet has them."""

from collections.abc import Sequence

import numpy as np

from extender.core.answers import Answers
from extender.core.arrays import Int64s
from extender.core.bucket import NodeTotals
from extender.core.cards import Cards
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.model import NodeName, PodRequest
from extender.core.reasons import Reason


class OverlaidFleet(Fleet):
    """The nodes of one fleet, and below them those of another; for reading.

    So a request that brings a few nodes of its own is judged without copying the rest.
    """

    def __init__(self, over: Fleet, under: Fleet) -> None:
        """Lay a fleet over another.

        Args:
            over: Its nodes count where both have one.
            under: Has all other nodes; it is not written to.
        """
        super().__init__()
        self._over = over
        self._under = under

    def __contains__(self, node_name: object) -> bool:
        """Tell whether either has a node."""
        return node_name in self._over or node_name in self._under

    def _of(self, node_name: NodeName) -> Fleet:
        return self._over if node_name in self._over else self._under

    def answers(
        self,
        node_names: Sequence[NodeName],
        request: PodRequest,
        without: Holding | None = None,
        beside: Sequence[Holding] = (),
    ) -> Answers:
        """Judge a request on nodes; see `Fleet.answers`."""
        found = Answers.blank(len(node_names))
        is_over = np.fromiter(
            map(self._over.__contains__, node_names), np.bool_, len(node_names)
        )
        for fleet, mask in ((self._over, is_over), (self._under, ~is_over)):
            positions = np.flatnonzero(mask)
            names = [node_names[at] for at in positions.tolist()]
            found.put(positions, fleet.answers(names, request, without, beside))
        return found

    def node(
        self,
        node_name: NodeName,
        without: Holding | None = None,
        beside: Sequence[Holding] = (),
    ) -> Cards | None:
        """Copy one node's cards out; see `Fleet.node`."""
        return self._of(node_name).node(node_name, without, beside)

    def links(self, node_name: NodeName) -> Int64s | None:
        """Tell how closely the cards of one node are linked; see `Fleet.links`."""
        return self._of(node_name).links(node_name)

    def why_unusable(self, node_name: NodeName) -> Reason | None:
        """Tell why a node has no cards that count; see `Fleet.why_unusable`."""
        return self._of(node_name).why_unusable(node_name)

    def totals(self, node_name: NodeName) -> NodeTotals | None:
        """Read what is held on one node; see `Fleet.totals`."""
        return self._of(node_name).totals(node_name)

    def change_of(self, node_name: NodeName) -> object:
        """Give what stays equal as long as a node does; see `Fleet.change_of`."""
        return self._of(node_name).change_of(node_name)

    def is_overfull(self, node_name: NodeName) -> bool:
        """Tell whether more is held on a card than it has; see `Fleet.is_overfull`."""
        return self._of(node_name).is_overfull(node_name)
