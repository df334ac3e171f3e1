"""What changed since somebody last looked."""

from extender.core.names import NodeName, PodUID


class Changes:
    """Nodes and pods that may be shown differently than before.

    That too many are named is no fault; that one is missing is. It grows with what
    changes between two looks, so nobody should hand one out and never look.
    """

    def __init__(self) -> None:
        self._nodes: set[NodeName] = set()
        self._pods: set[PodUID] = set()

    def note_node(self, node_name: NodeName) -> None:
        """Note that a node changed, or what is held on it."""
        self._nodes.add(node_name)

    def note_pod(self, pod_uid: PodUID) -> None:
        """Note that a pod changed, or what is known of it."""
        self._pods.add(pod_uid)

    def take(self) -> tuple[set[NodeName], set[PodUID]]:
        """Give all that was noted, and begin anew."""
        taken = self._nodes, self._pods
        self._nodes, self._pods = set(), set()
        return taken
