"""Profiles: parts of a card that its driver cuts, each of some slots.

A container asks for a profile, and which one it gets is told by the card: nodes have
profiles of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.arrays import Int64s

_MIB_PER_GB: Final = 1024
"""As the vendor counts: its profile of 20gb has 20 * 1024 MiB."""

_FAR_ABOVE: Final = 2
"""Times the largest profile's GB; a number beyond that is MiB."""


@dataclass(frozen=True, slots=True)
class CardProfile:
    """One part that a card can be cut into.

    Attributes:
        name: As the vendor writes it, such as ``3g.20gb``.
        number: By which its driver knows it.
        slots: Of the card.
        memory_mib: MiB.
        core_percent: Percent of the card, rounded up.
    """

    name: str
    number: str
    slots: int
    memory_mib: int
    core_percent: int


CardProfiles = tuple[CardProfile, ...]
"""All of a card: the one with the fewest slots first, then that with least memory."""


@dataclass(frozen=True, slots=True)
class ProfileWish:
    """What a profile must have.

    Attributes:
        slots: Exactly so many; None where the others count.
        memory: At least; GB, or MiB where it is more than twice the GB of the card's
            largest profile.
        core_percent: At least.
    """

    slots: int | None = None
    memory: int = 0
    core_percent: int = 0


def chosen_profile(profiles: CardProfiles, wish: ProfileWish) -> CardProfile | None:
    """Choose the smallest profile of a card that is as wished; None where none is.

    Source: selectProfileByRequest and normalizeMemoryRequestToGB of enflame in HAMi.

    Example:
        >>> third = CardProfile("1g.6gb", "0", 1, 6_144, 34)
        >>> whole = CardProfile("3g.20gb", "1", 3, 20_480, 100)
        >>> wishes = ProfileWish(3), ProfileWish(memory=7), ProfileWish(memory=6_000)
        >>> [chosen_profile((third, whole), each).name for each in wishes]
        ['3g.20gb', '3g.20gb', '1g.6gb']
        >>> chosen_profile((third, whole), ProfileWish(2))
    """
    if wish.slots is not None:
        return next((each for each in profiles if each.slots == wish.slots), None)
    largest_mib = profiles[-1].memory_mib if profiles else 0
    is_mib = wish.memory * _MIB_PER_GB > _FAR_ABOVE * largest_mib
    needed_mib = wish.memory if is_mib else wish.memory * _MIB_PER_GB
    enough = (
        each
        for each in profiles
        if each.memory_mib >= needed_mib and each.core_percent >= wish.core_percent
    )
    return next(enough, None)


def profile_amounts(tables: Sequence[CardProfiles], wish: ProfileWish) -> Int64s:
    """Tell what is taken of a card by each table of profiles.

    Args:
        tables: By number.
        wish: Of a container.

    Returns:
        int64 (3, T): slots, MiB and percent; all 0 where no profile is as wished.
    """
    chosen = [chosen_profile(profiles, wish) for profiles in tables]
    return np.array(
        [
            (each.slots, each.memory_mib, each.core_percent) if each else (0, 0, 0)
            for each in chosen
        ],
        np.int64,
    ).T
