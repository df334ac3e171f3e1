"""What a container's share may come to, whichever of many cards it gets."""

from collections.abc import Mapping
from dataclasses import dataclass

from extender.core.arrays import CORES, MEMORY
from extender.core.cards import Cards
from extender.core.needs import share_charged
from extender.core.placement import open_cards
from extender.core.pod_request import ContainerRequest, PodRequest
from extender.core.usage import Usage


@dataclass(frozen=True, slots=True)
class ShareRange:
    """One card's share, each dimension on the cheapest and the dearest card."""

    least: Usage
    most: Usage

    def joined(self, other: "ShareRange") -> "ShareRange":
        """Cover both."""
        return ShareRange(
            self.least.smallest(other.least), self.most.largest(other.most)
        )


ShareRanges = Mapping[ContainerRequest, ShareRange]
"""By what a container asks; nothing where no card matches."""


def share_ranges(
    cards: Cards, request: PodRequest
) -> dict[ContainerRequest, ShareRange]:
    """Look at every card that no rule refuses to the pod whatever its use.

    A card in MIG mode gives an instance with at least what is asked, and at most what
    the card has.

    Cost: a pass over (W, N) arrays for the rules of cards, and one for each request
    that differs.
    """
    is_open = open_cards(cards, request)
    is_mig = is_open & cards.is_mig if cards.has_mig else None
    found = {}
    for asked in dict.fromkeys(request.containers):
        needed = share_charged(cards, asked)
        serves = is_open & (needed.slots > 0)
        if not asked.count or not serves.any():
            continue
        amounts = [
            each[serves] for each in (needed.slots, needed.memory_mib, needed.cores)
        ]
        most = Usage(*[int(each.max()) for each in amounts])
        if is_mig is not None and is_mig.any():
            most = most.largest(
                Usage(
                    memory_mib=int(cards.capacity[MEMORY][is_mig].max()),
                    core_percent=int(cards.capacity[CORES][is_mig].max()),
                )
            )
        found[asked] = ShareRange(Usage(*[int(each.min()) for each in amounts]), most)
    return found


def joined_ranges(
    some: ShareRanges, others: ShareRanges
) -> dict[ContainerRequest, ShareRange]:
    """Cover the cards of both."""
    joined = {**some, **others}
    for asked in some.keys() & others.keys():
        joined[asked] = some[asked].joined(others[asked])
    return joined
