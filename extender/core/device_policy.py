"""How a pod's containers choose among the cards that would serve."""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class CardKey(Enum):
    """One sort key of a node's cards; what is named comes first."""

    MOST_USED = "most used"
    LEAST_USED = "least used"
    HIGHEST_NUMA = "highest NUMA node"
    LOWEST_NUMA = "lowest NUMA node"


OF_USE: Final = frozenset({CardKey.MOST_USED, CardKey.LEAST_USED})
"""Keys that sort by the same sum; after one of them the other says nothing."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each dimension counts in a card's use; only their ratio matters.

    Attributes:
        slots: Of the share of slots that is taken.
        memory: Of the share of memory that is taken.
        cores: Of the share of cores that is taken.
    """

    slots: int = 1
    memory: int = 1
    cores: int = 1


EQUAL_WEIGHTS: Final = Weights()


@dataclass(frozen=True, slots=True)
class DevicePolicy:
    """How a pod's containers choose among the cards that would serve.

    Attributes:
        keys: In which order cards are tried: by the first key, equal ones by the next,
            and at last in card order.
        is_exclusive: Whether containers take only cards that no container holds, and
            nobody joins them there.
        on_one_numa_node: Whether all cards of a container are of one NUMA node.
        is_topology_aware: Whether bind takes, of a container's fitting cards, those
            that are linked best. Whether it fits does not depend on that.
        weights: How the use of a card is summed up.
    """

    keys: tuple[CardKey, ...] = (CardKey.LEAST_USED,)
    is_exclusive: bool = False
    on_one_numa_node: bool = False
    is_topology_aware: bool = False
    weights: Weights = EQUAL_WEIGHTS


SPREAD_CARDS: Final = DevicePolicy()
BINPACK_CARDS: Final = DevicePolicy((CardKey.MOST_USED,))
