"""Room held for nominated pods, worked out once until their nodes change."""

from collections.abc import Sequence
from dataclasses import dataclass

from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import NodeName
from extender.core.pod import Pod
from extender.state.ledger_view import LedgerView
from extender.verbs.nominations import Nomination, nominations


@dataclass(frozen=True, slots=True)
class _WorkedOut:
    """What pods will hold on a node, and what that was worked out from."""

    pods: Sequence[Pod]
    change: object
    nominations: Sequence[Nomination]


class NominatedRoom:
    """What pods that others were evicted for will hold."""

    def __init__(self, ledger: LedgerView) -> None:
        self._ledger = ledger
        self._generation = -1
        self._by_node: dict[NodeName, _WorkedOut] = {}

    def held_against(self, pod: Pod, fleet: Fleet | None = None) -> list[Holding]:
        """List the room that `pod` has to leave.

        Args:
            pod: To be placed.
            fleet: Cards and totals, where they are not the ledger's own.
        """
        return [each.holding for each in self.nominations_against(pod, fleet)]

    def nominations_against(
        self, pod: Pod, fleet: Fleet | None = None
    ) -> list[Nomination]:
        """List the same with the pods that it is held for."""
        if fleet is None or fleet is self._ledger.fleet:
            self._refresh()
            found = [each.nominations for each in self._by_node.values()]
        else:
            found = [
                nominations(fleet, node_name, pods)
                for node_name, pods in self._nominated().items()
            ]
        return [each for some in found for each in some if each.holds_against(pod)]

    def _nominated(self) -> dict[NodeName, list[Pod]]:
        on_node: dict[NodeName, list[Pod]] = {}
        for pod in self._ledger.nominated():
            if pod.nominated_node is not None:
                on_node.setdefault(pod.nominated_node, []).append(pod)
        return on_node

    def _refresh(self) -> None:
        """Work out anew where a node, or a pod nominated there, has changed."""
        if self._generation == self._ledger.generation:
            return
        self._generation = self._ledger.generation
        fleet, former = self._ledger.fleet, self._by_node
        self._by_node = {}
        for node_name, pods in self._nominated().items():
            change, known = fleet.change_of(node_name), former.get(node_name)
            if known is None or (known.change, known.pods) != (change, pods):
                known = _WorkedOut(pods, change, nominations(fleet, node_name, pods))
            self._by_node[node_name] = known
