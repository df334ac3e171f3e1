"""Where room appeared, for those who were refused before."""

from extender.core.model import NodeName


class Freed:
    """Nodes on which something was given back, each with its last time.

    Time is the ledger's generation. What is noted may be no more room at all, such as
    a charge that changed on another card; that nothing is missed is what counts.
    """

    def __init__(self) -> None:
        self._last: dict[NodeName, int] = {}

    def note(self, node_name: NodeName, generation: int) -> None:
        """Note that a node may have more room from this generation on."""
        self._last.pop(node_name, None)  # so that the latest always comes last
        self._last[node_name] = generation

    def forget(self, node_name: NodeName) -> None:
        """Drop a node that is gone."""
        self._last.pop(node_name, None)

    def since(self, generation: int) -> list[NodeName]:
        """List nodes noted after a generation, the latest first.

        Cost: as many steps as there are such nodes.
        """
        found = []
        for node_name, noted in reversed(self._last.items()):
            if noted <= generation:
                break
            found.append(node_name)
        return found
