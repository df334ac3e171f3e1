"""Which cards the nodes of a made cluster have.

Kept apart from the making, so that an answer can be judged without reading the
cluster back: which nodes fit follows from a node's number.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

CARD_MEMORY_MIB: Final = 81_920
SLOTS_PER_CARD: Final = 10

_A100: Final = "NVIDIA A100-SXM4-80GB"
_H100: Final = "NVIDIA H100 80GB HBM3"


@dataclass(frozen=True, slots=True)
class Cards:
    """The cards of one node, all alike."""

    count: int
    type: str


LAYOUTS: Final[Mapping[str, tuple[Cards, ...]]] = {
    "8": (Cards(8, _A100),),
    "mixed": (
        Cards(4, _A100),
        Cards(8, _H100),
        Cards(16, _A100),
        Cards(64, _H100),
    ),
}
"""By name: what the nodes have, in turn."""

UNIFORM: Final = "8"


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """A cluster that can be made.

    Attributes:
        nodes: How many.
        pods_per_node: GPU pods on each.
        layout: One of `LAYOUTS`.
    """

    nodes: int
    pods_per_node: int
    layout: str = UNIFORM

    def cards(self, node_number: int) -> Cards:
        """Tell which cards a node has."""
        turns = LAYOUTS[self.layout]
        return turns[node_number % len(turns)]

    def node_names(self) -> list[str]:
        """Name every node, in order."""
        return [node_name(number) for number in range(self.nodes)]

    def all_cards(self) -> Iterator[Cards]:
        """Tell the cards of every node, in the order of their names."""
        return map(self.cards, range(self.nodes))


def node_name(node_number: int) -> str:
    """Name a node, as long as names in large clusters are.

    Example:
        >>> node_name(7)
        'gpu-node-00007.example.internal'
    """
    return f"gpu-node-{node_number:05}.example.internal"


def card_uuid(node_number: int, index: int) -> str:
    """Name a card, as NVIDIA does."""
    return f"GPU-{UUID(int=(node_number << 16 | index) << 80 | 0xA100)}"
