"""What one container's share takes of each card: slots, memory and cores.

It may differ from card to card: a percentage is of what the card registers, and a
profile is one of those that the card has.
"""

from dataclasses import dataclass, replace

import numpy as np

from extender.core.arrays import CORES, MEMORY, SLOTS, Int64s
from extender.core.cards import Cards
from extender.core.pod_request import ContainerRequest
from extender.core.profiles import profile_amounts


@dataclass(frozen=True, slots=True)
class Needed:
    """One share on each card; the arrays are int64 (W, N), read-only.

    Attributes:
        slots: 1, or those of a profile.
        memory_mib: MiB.
        cores: Percent, or units of a card that counts in its own.
    """

    slots: Int64s
    memory_mib: Int64s
    cores: Int64s

    def at(self, position: int, column: int) -> Int64s:
        """Copy out what is taken of one card: int64 (3,)."""
        return np.array(
            [
                each[position, column]
                for each in (self.slots, self.memory_mib, self.cores)
            ],
            np.int64,
        )


def share_needed(cards: Cards, request: ContainerRequest) -> Needed:
    """Resolve a request on each card.

    A card without the profile that is wished gives 0 of all.
    """
    if request.profile is None:
        one = np.broadcast_to(np.int64(1), cards.exists.shape)
        return Needed(one, _memory(cards, request), _cores(cards, request))
    tables = cards.interned.profiles.by_code
    by_code = profile_amounts(tables, request.profile)
    found = by_code[:, cards.profile_codes]
    return Needed(found[SLOTS], found[MEMORY], found[CORES])


def share_charged(cards: Cards, request: ContainerRequest) -> Needed:
    """Resolve the same as a quota counts it, which knows no units of a card.

    Cores that are asked as a part of each card are percent, as they are asked.
    """
    needed = share_needed(cards, request)
    if not request.cores_of_card:
        return needed
    percent = np.broadcast_to(np.int64(request.core_percent), cards.exists.shape)
    return replace(needed, cores=percent)


def _memory(cards: Cards, request: ContainerRequest) -> Int64s:
    """Resolve MiB.

    Percents of a card in MIG mode are those of its largest instance: no container can
    get more of it.
    """
    if request.memory_mib is not None:
        return np.broadcast_to(np.int64(request.memory_mib), cards.exists.shape)
    whole = cards.capacity[MEMORY]
    if cards.has_mig:
        largest = cards.interned.mig_tables.largest_mib(cards.mig_codes)
        whole = np.where(largest > 0, np.minimum(whole, largest), whole)
    needed: Int64s = whole * request.memory_percent // 100
    return needed


def _cores(cards: Cards, request: ContainerRequest) -> Int64s:
    """Resolve cores.

    Of cards that count in units of their own it is a part of those, rounded down, and
    one unit at least: a row of 0 would mean no limit. Where a plugin hands out several
    units together, it is raised to those, up to the whole card.

    Source: HAMi's fit of amd.
    """
    if not request.cores_of_card:
        return np.broadcast_to(np.int64(request.core_percent), cards.exists.shape)
    whole, steps = cards.capacity[CORES], cards.core_steps
    units = np.maximum(whole * request.core_percent // 100, 1)
    raised = (units + steps - 1) // steps * steps
    needed: Int64s = np.maximum(np.minimum(raised, whole), 1)
    return needed
