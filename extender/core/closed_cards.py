"""Cards that can take no further container, whatever it asks for."""

from dataclasses import replace
from typing import Final

import numpy as np

from extender.core.arrays import MEMORY, Codes
from extender.core.cards import Cards
from extender.core.device_policy import SPREAD_CARDS
from extender.core.mig import mig_offers
from extender.core.needs import Needed
from extender.core.pod_request import ANY_DEVICE, ContainerRequest
from extender.core.reasons import Reason
from extender.core.rules import (
    Trial,
    card_compute_exhausted,
    card_cordoned,
    card_held_exclusively,
    card_mig_topology_infeasible,
    card_not_healthy,
    card_quarantined,
    card_slots_exhausted,
    first_refusals,
)

_LEAST: Final = ContainerRequest(count=1, memory_mib=1)
"""One MiB and no cores: a card that refuses this for another reason than memory
refuses every container that names no more."""


def closed_cards(cards: Cards) -> Codes:
    """Tell which cards take no further container that names no cores, and why.

    The same rules as filter's, asked for the least that a container can ask. Memory is
    not asked about: what is closed is what keeps free memory from being used.

    Args:
        cards: With what is held now.

    Returns:
        uint8 (W, N); `CODES` of the first reason, 0 for a card that is open or is
        padding. A node's own reasons come first: an allocation there that cannot be
        read, and device ids of kubelet that have run out.

    Cost: a few vector operations over all cards.
    """
    one = np.broadcast_to(np.int64(1), cards.exists.shape)
    none = np.broadcast_to(np.int64(0), cards.exists.shape)
    trial = Trial(cards, cards.used, _LEAST, SPREAD_CARDS, Needed(one, one, none))
    if cards.has_mig:
        offers = mig_offers(
            cards.interned.mig_tables,
            cards.mig_codes,
            cards.held_slices(),
            memory_mib=one,
            free_mib=cards.capacity[MEMORY] - cards.used[MEMORY],
            core_percent=0,
        )
        trial = replace(trial, offers=offers)
    has_no_ids = cards.kubelet_slots >= cards.allocatable_slots
    shape = cards.exists.shape
    codes = first_refusals(
        (
            (
                Reason.NODE_HAS_UNREADABLE_ALLOCATION,
                np.broadcast_to(cards.closures > 0, shape),
            ),
            (Reason.KUBELET_SLOTS_EXHAUSTED, np.broadcast_to(has_no_ids, shape)),
            (Reason.CARD_NOT_HEALTHY, card_not_healthy(cards, ANY_DEVICE)),
            (Reason.CARD_CORDONED, card_cordoned(cards, ANY_DEVICE)),
            (Reason.CARD_QUARANTINED, card_quarantined(cards, ANY_DEVICE)),
            (
                Reason.CARD_EXCLUSIVE_CONFLICT,
                card_held_exclusively(cards, ANY_DEVICE),
            ),
            (Reason.CARD_SLOTS_EXHAUSTED, card_slots_exhausted(trial)),
            (Reason.CARD_COMPUTE_EXHAUSTED, card_compute_exhausted(trial)),
            (
                Reason.CARD_MIG_TOPOLOGY_INFEASIBLE,
                card_mig_topology_infeasible(trial),
            ),
        ),
        shape,
    )
    codes[~cards.exists] = 0
    return codes
