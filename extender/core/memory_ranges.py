"""How much memory a container may come to, whichever of many cards it gets."""

from collections.abc import Mapping
from dataclasses import dataclass

from extender.core.arrays import MEMORY
from extender.core.cards import Cards
from extender.core.model import ContainerRequest, PodRequest
from extender.core.placement import open_cards
from extender.core.rules import memory_needed


@dataclass(frozen=True, slots=True)
class MemoryRange:
    """MiB of one card's share, on the smallest and the largest card that match."""

    least: int
    most: int

    def joined(self, other: "MemoryRange") -> "MemoryRange":
        """Cover both."""
        return MemoryRange(min(self.least, other.least), max(self.most, other.most))


MemoryRanges = Mapping[ContainerRequest, MemoryRange]
"""By what a container asks; nothing where no card matches."""


def memory_ranges(
    cards: Cards, request: PodRequest
) -> dict[ContainerRequest, MemoryRange]:
    """Look at every card that no rule refuses to the pod whatever its use.

    A card in MIG mode gives an instance with at least what is asked, and at most what
    the card has.

    Cost: a pass over (W, N) arrays for the rules of cards, and one for each request
    that differs.
    """
    is_open = open_cards(cards, request)
    if not is_open.any():
        return {}
    is_mig = is_open & cards.is_mig if cards.has_mig else None
    found = {}
    for asked in dict.fromkeys(request.containers):
        if not asked.count:
            continue
        needed = memory_needed(cards, asked)[is_open]
        most = int(needed.max())
        if is_mig is not None and is_mig.any():
            most = max(most, int(cards.capacity[MEMORY][is_mig].max()))
        found[asked] = MemoryRange(int(needed.min()), most)
    return found


def joined_ranges(
    some: MemoryRanges, others: MemoryRanges
) -> dict[ContainerRequest, MemoryRange]:
    """Cover the cards of both."""
    joined = {**some, **others}
    for asked in some.keys() & others.keys():
        joined[asked] = some[asked].joined(others[asked])
    return joined
