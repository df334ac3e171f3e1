"""What pods on one card must agree on, of vendors whose cards go by it.

A card counts the pods on it by each trait. All counts stand in one number, so that
cards of other kinds have one array more to carry, and not five.

Source: HAMi v2.10, pkg/device/metax: sGPU.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final

from extender.core.arrays import Int64s, Mask


class Trait(Enum):
    """One of a pod's words; the value is as users write it."""

    BEST_EFFORT = "best-effort"
    FIXED_SHARE = "fixed-share"
    BURST_SHARE = "burst-share"
    ONLINE = "online"
    OFFLINE = "offline"


Traits = frozenset[Trait]
"""At most one of `QOS_POLICIES` and one of `APP_CLASSES`."""

NO_TRAITS: Final[Traits] = frozenset()

QOS_POLICIES: Final = (Trait.BEST_EFFORT, Trait.FIXED_SHARE, Trait.BURST_SHARE)
"""How a card's compute is shared out; a card has one at a time."""

APP_CLASSES: Final = (Trait.ONLINE, Trait.OFFLINE)
"""Offline pods stand still while an online one computes on their card."""

_BITS: Final = 12
_MOST: Final = (1 << _BITS) - 1
_SHIFTS: Final = {trait: place * _BITS for place, trait in enumerate(Trait)}


def counted(traits: Iterable[Trait]) -> int:
    """Give what one pod adds to the number of each card that it holds."""
    return sum(1 << _SHIFTS[trait] for trait in traits)


def has_any(counts: Int64s, traits: Iterable[Trait]) -> Mask:
    """Find the cards that a pod with any of these traits holds.

    Args:
        counts: int64, any shape; sums of `counted`, of fewer than 4096 pods a card.
        traits: Any of which will do.

    Example:
        >>> import numpy as np
        >>> cards = np.array([0, counted({Trait.OFFLINE}) * 2])
        >>> has_any(cards, APP_CLASSES).tolist()
        [False, True]
        >>> has_any(cards, [Trait.ONLINE]).tolist()
        [False, False]
    """
    mask = sum(_MOST << _SHIFTS[trait] for trait in traits)
    found: Mask = (counts & mask) != 0
    return found
