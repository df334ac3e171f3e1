"""All nodes' cards of every kind.

Cards of different kinds have nothing to do with each other: they never serve the same
request, and what is held of one takes nothing from another. So each kind has arrays of
its own, and a pod that asks for several fits where it fits by each.
"""

from collections.abc import Iterable, Mapping, Sequence

from extender.core.answers import Answers, merged
from extender.core.bucket import NodeTotals
from extender.core.budget import SearchCounts, StepBudget
from extender.core.holding import Holding
from extender.core.kind_fleet import KindFleet
from extender.core.names import KindWord, NodeName
from extender.core.node import Node
from extender.core.pod_request import PodRequest


class Fleet:
    """The nodes, their cards, and what is held on them.

    Invariant: as `KindFleet`, for each kind. Whoever owns the fleet keeps the holdings
    and passes them again when a node is put.

    Attributes:
        searches: Counts what searches on its nodes take; shared with other fleets by
            whoever passes it.
    """

    def __init__(self, searches: SearchCounts | None = None) -> None:
        self.searches = SearchCounts() if searches is None else searches
        self._by_kind: dict[KindWord, KindFleet] = {}

    def of(self, kind: KindWord) -> KindFleet:
        """Give the cards of one kind; none where no node shows any."""
        found = self._by_kind.get(kind)
        return found if found is not None else KindFleet(kind)

    def put(self, node: Node, holdings: Iterable[Holding]) -> None:
        """Add or replace a node, with all that is held there.

        Cost: O(cards + holdings) of that node.
        """
        held = list(holdings)
        for kind in node.inventories.keys() - self._by_kind.keys():
            self._by_kind[kind] = KindFleet(kind)
        for kind, fleet in self._by_kind.items():
            inventory = node.inventories.get(kind)
            if inventory is None:
                fleet.remove(node.name)
            else:
                fleet.put(node.name, inventory, held)

    def remove(self, node_name: NodeName) -> None:
        """Forget a node; one that is not there is no error."""
        for fleet in self._by_kind.values():
            fleet.remove(node_name)

    def add(self, holding: Holding) -> None:
        """Count a holding; on a node that is not there it counts nowhere."""
        for fleet in self._by_kind.values():
            fleet.add(holding)

    def subtract(self, holding: Holding) -> None:
        """Take back a holding that was added."""
        for fleet in self._by_kind.values():
            fleet.subtract(holding)

    def totals(self, node_name: NodeName) -> Mapping[KindWord, NodeTotals]:
        """Read what is held on one node, of each kind of which it has cards."""
        return {
            kind: totals
            for kind, fleet in self._by_kind.items()
            if (totals := fleet.totals(node_name)) is not None
        }

    def change_of(self, node_name: NodeName) -> object:
        """Give what stays equal as long as a node, and what is held there, does."""
        return [fleet.change_of(node_name) for fleet in self._by_kind.values()]

    def is_overfull(self, node_name: NodeName) -> bool:
        """Tell whether more is held on any card of a node than it has."""
        return any(fleet.is_overfull(node_name) for fleet in self._by_kind.values())

    def has_cards(self, node_name: NodeName) -> bool:
        """Tell whether a node has cards that count."""
        return any(
            fleet.why_unusable(node_name) is None for fleet in self._by_kind.values()
        )

    def answers(
        self,
        node_names: Sequence[NodeName],
        requests: Sequence[PodRequest],
        without: Holding | None = None,
        beside: Sequence[Holding] = (),
    ) -> Answers:
        """Judge a pod's requests on nodes, each on its own.

        Args:
            node_names: Any names.
            requests: At least one; each asks for devices of another kind.
            without: A holding to leave out of the totals.
            beside: Holdings to count besides: pods that are about to come.

        Returns:
            One answer per name, in the order asked; see `merged`.

        Cost: see `KindFleet.answers`, for each request.
        """
        budget = StepBudget.of_many(self.searches)
        return merged(
            [
                self.of(request.kind).answers(
                    node_names, request, budget, without, beside
                )
                for request in requests
            ]
        )
