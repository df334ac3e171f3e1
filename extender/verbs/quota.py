"""Quota: what a pod needs of its namespace's room, and where that is too much.

Filter and bind ask the same questions here, so that they agree: what it needs at least
wherever it goes; and on one node, whether some choice of cards stays within the room.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.allocation import Allocation
from extender.core.arrays import CORES, MEMORY, SLOTS
from extender.core.budget import SearchCounts, StepBudget
from extender.core.cards import Cards
from extender.core.fitting import fit, fit_within
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import KindWord, NodeName
from extender.core.placed_charge import placed_charge
from extender.core.placement import Placement
from extender.core.pod import Pod
from extender.core.pod_request import PodRequest
from extender.core.quota import (
    allocation_charges,
    named_share,
    names_a_profile,
    names_its_memory,
    request_charge,
)
from extender.core.quota_room import QuotaRoom, QuotaRooms, Shortage, refusal
from extender.core.reasons import REASON_OF, Reason
from extender.core.share_ranges import ShareRanges
from extender.core.usage import NOTHING, Usage

_MOST_MIG_NODES: Final = 256
"""Nodes with cards in MIG mode are looked at one by one, and take a millisecond or two
each. Beyond these, filter leaves it to bind."""


def charge_at_admission(fleet: Fleet, pod: Pod) -> dict[KindWord, Usage]:
    """Charge a pod that has no node yet: the least that it will be charged.

    A percentage is resolved on the smallest card that matches, so that no pod is turned
    away which some node could take within the quota.

    Args:
        fleet: Its cards; what is held on them does not matter.
        pod: To be admitted, in a form that can be honoured.

    Returns:
        By kind. Where no card matches, a percentage comes to nothing: no quota keeps
        such a pod out, and no node takes it.
    """
    return {
        request.kind: _least(request, fleet.of(request.kind).share_ranges(request))
        for request in pod.asking
    }


def shortages_anywhere(fleet: Fleet, pod: Pod, rooms: QuotaRooms) -> list[Shortage]:
    """List the limits that a pod would go beyond on whichever node.

    Args:
        fleet: Cards.
        pod: To be placed.
        rooms: What the quotas leave it.

    Cost: one check per kind, before any node is judged; where a percentage is limited,
    a pass over the cards.
    """
    return [
        shortage
        for request in pod.asking
        if (room := rooms.get(request.kind)) is not None
        for shortage in room.shortages(_bounds(fleet, request, room).least)
    ]


def over_quota(
    fleet: Fleet,
    pod: Pod,
    node_names: Sequence[NodeName],
    own: Holding | None,
    nominated: Sequence[Holding],
    *,
    rooms: QuotaRooms,
) -> dict[NodeName, Reason]:
    """Tell on which nodes, of those that a pod fits on, all its cards come to too much.

    Args:
        fleet: Cards and totals.
        pod: To be placed; nothing is short on whichever node.
        node_names: Where it fits by the cards alone.
        own: As for `extender.verbs.filter.filter_nodes`.
        nominated: The same.
        rooms: What the quotas leave it.

    Returns:
        Why, by node; nothing where any choice of cards would do.
    """
    refused: dict[NodeName, Reason] = {}
    for request in pod.asking:
        room = rooms.get(request.kind)
        if room is None or room.admits(_bounds(fleet, request, room).most):
            continue
        budget = StepBudget.of_many(fleet.searches)
        looked_at = 0
        for cards, positions in fleet.of(request.kind).nodes(
            node_names, own, nominated
        ):
            if not cards.has_mig:
                fitted = fit_within(cards, request, room.most, budget).placement
                for column in np.flatnonzero(~fitted.fits).tolist():
                    name = node_names[positions[column]]
                    refused[name] = REASON_OF[int(fitted.node_codes[column])]
                continue
            for column in range(min(len(positions), _MOST_MIG_NODES - looked_at)):
                alone = cards.of_nodes(np.array([column]))
                if placed_within(alone, request, room, fleet.searches) is None:
                    refused[node_names[positions[column]]] = Reason.QUOTA_NOT_FIT
            looked_at += len(positions)
    return refused


def shortages_on(
    cards: Cards, request: PodRequest, room: QuotaRoom, searches: SearchCounts
) -> list[Shortage]:
    """List what is short on the one node that `cards` is, though the pod fits there.

    The figures are those of the cards that it would get without a quota.
    """
    if placed_within(cards, request, room, searches) is not None:
        return []
    placement = fit(cards, request, StepBudget.of_one(searches)).placement
    charge = placed_charge(cards, request, placement)[:, 0]
    need = Usage(int(charge[SLOTS]), int(charge[MEMORY]), int(charge[CORES]))
    return room.shortages(need)


def placed_within(
    cards: Cards, request: PodRequest, room: QuotaRoom, searches: SearchCounts
) -> Placement | None:
    """Place a pod on the one node that `cards` is, within the room; None where not."""
    found = fit_within(cards, request, room.most, StepBudget.of_one(searches))
    return found.placement if found.placement.fits[0] else None


def stays_within(room: QuotaRoom, request: PodRequest, allocation: Allocation) -> bool:
    """Tell whether cards that were chosen stay within the room."""
    charges = allocation_charges(request.lifetimes, allocation, [request])
    return room.admits(charges.get(request.kind, NOTHING))


def reason_of(shortages: Sequence[Shortage]) -> Reason:
    """Give the reason code of at least one shortage."""
    return refusal(shortages) or Reason.QUOTA_NOT_FIT


@dataclass(frozen=True, slots=True)
class _Bounds:
    """What a request is charged on the cheapest cards, and on the dearest."""

    least: Usage
    most: Usage


def _bounds(fleet: Fleet, request: PodRequest, room: QuotaRoom) -> _Bounds:
    of_kind = fleet.of(request.kind)
    needs_cards = names_a_profile(request) or (
        room.limits_memory and not names_its_memory(request)
    )
    if not needs_cards and not of_kind.has_mig:
        charge = request_charge(request, named_share)
        return _Bounds(charge, charge)
    ranges = of_kind.share_ranges(request)
    most = request_charge(
        request,
        lambda asked: ranges[asked].most if asked in ranges else named_share(asked),
    )
    return _Bounds(_least(request, ranges), most)


def _least(request: PodRequest, ranges: ShareRanges) -> Usage:
    return request_charge(
        request,
        lambda asked: ranges[asked].least if asked in ranges else named_share(asked),
    )
