"""inspect: what the state has, told in full; nothing changes."""

from collections.abc import Callable, Sequence

from extender.core.kind_set import Kinds
from extender.core.names import NodeName
from extender.core.node import Node
from extender.errors import NotFound
from extender.service.in_turns import in_turns
from extender.state.ledger_view import LedgerView
from extender.verbs.explanation import LockView
from extender.verbs.inspect import inspect_cluster_steps, inspect_node, inspect_pod
from extender.verbs.inspection import ClusterInspection, InspectedNode, InspectedPod


class Inspector:
    """Tells of the cluster, of its nodes and pods."""

    def __init__(
        self,
        ledger: LedgerView,
        kinds: Callable[[], Kinds],
        lock_of: Callable[[Node], LockView | None],
    ) -> None:
        """Tell of a state.

        Args:
            ledger: The state.
            kinds: Gives those that are scheduled.
            lock_of: Tells of a node's lock.
        """
        self._ledger = ledger
        self._kinds = kinds
        self._lock_of = lock_of

    async def inspect_cluster(
        self, wanted: Sequence[NodeName] = ()
    ) -> ClusterInspection:
        """Tell of all nodes, in turns between which requests are answered.

        Args:
            wanted: Nodes to be told in full besides.
        """
        steps = inspect_cluster_steps(
            self._ledger, self._kinds(), wanted, self._lock_of
        )
        return await in_turns(steps)

    def inspect_node(self, name: NodeName) -> InspectedNode:
        """Tell of one node.

        Raises:
            NotFound: There is none, and nothing is held on one of this name.
        """
        if name not in self._ledger.nodes and not self._ledger.holders_on(name):
            raise NotFound(f"node {name} is not known")
        return inspect_node(self._ledger, self._kinds(), name, self._lock_of)

    def inspect_pod(self, namespace: str, name: str) -> InspectedPod:
        """Tell of one pod.

        Raises:
            NotFound: There is none, or it asks for no device: of others nothing is
                kept.
        """
        for pod in self._ledger.pods.values():
            if pod.name == name and pod.namespace == namespace:
                return inspect_pod(self._ledger, pod)
        raise NotFound(
            f"pod {namespace}/{name} is not known: there is none of this name, or it "
            "asks for no device"
        )
