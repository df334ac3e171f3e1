"""Which single change of its nodes, or of what it accepts, would let a pod fit.

Asked of nodes without any pod: where it fits nowhere even then, something else than
room is in its way. Each change is tried by the fit that filter goes by.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

import numpy as np

from extender.core.arrays import Mask
from extender.core.budget import SearchCounts, StepBudget
from extender.core.cards import Cards
from extender.core.fitting import fit
from extender.core.fleet import Fleet
from extender.core.names import NodeName
from extender.core.node import Device, Node
from extender.core.pod_request import PodRequest, Selection
from extender.core.reasons import Reason
from extender.state.ledger_view import LedgerView

_NODES_A_STEP: Final = 256

_MOST_SILENT: Final = 64
"""Nodes without a live plugin that are tried; they are put together for that."""


class Change(Enum):
    """What is changed in mind."""

    SERVICE = "cards are in service again"
    PLUGINS = "device plugins are alive"
    CARDS = "any card is accepted"
    MODELS = "any model is accepted"
    MODES = "any mode is accepted"


_CODES: Final = {
    Change.SERVICE: (Reason.CARD_NOT_HEALTHY, Reason.CARD_CORDONED),
    Change.PLUGINS: (Reason.NODE_UNREGISTERED,),
    Change.CARDS: (Reason.CARD_UUID_MISMATCH,),
    Change.MODELS: (Reason.CARD_TYPE_MISMATCH,),
    Change.MODES: (Reason.CARD_MODE_MISMATCH,),
}
"""A change is tried only where filter gave one of its codes."""


def change_steps(
    ledger: LedgerView, requests: Sequence[PodRequest], codes: Collection[Reason]
) -> Generator[None, None, Change | None]:
    """Find the first change by which a pod would fit on some node without pods.

    Args:
        ledger: The state.
        requests: By which the pod asks for devices.
        codes: All that filter gave.

    Cost: for each change that is tried, that of filter; in steps of some milliseconds.
    """
    names = [*ledger.nodes]
    for change, its_codes in _CODES.items():
        if not set(its_codes).intersection(codes):
            continue
        fleet, some = ledger.fleet, names
        if change is Change.PLUGINS:
            silent = list(_with_live_plugins(ledger, requests))
            fleet, some = _fleet_of(silent), [node.name for node in silent]
        asked = [_changed(request, change) for request in requests]
        seen = _IN_SERVICE if change is Change.SERVICE else _AS_IT_IS
        for start in range(0, len(some), _NODES_A_STEP):
            yield
            if _fits(fleet, asked, some[start : start + _NODES_A_STEP], seen).any():
                return change
    return None


def _changed(request: PodRequest, change: Change) -> PodRequest:
    selection: Selection = request.selection
    match change:
        case Change.CARDS:
            selection = replace(selection, use_uuids=None, avoid_uuids=frozenset())
        case Change.MODELS:
            selection = replace(selection, use_types=None, avoid_types=())
        case Change.MODES:
            selection = replace(selection, modes=None)
        case Change.SERVICE | Change.PLUGINS:
            return request
    return replace(request, selection=selection)


def _in_service(cards: Cards) -> Cards:
    none = np.zeros_like(cards.exists)
    return replace(cards, is_unhealthy=none, is_cordoned=none)


_Seen = Callable[[Cards], Cards]
_IN_SERVICE: Final[_Seen] = _in_service
_AS_IT_IS: Final[_Seen] = lambda cards: cards  # noqa: E731


def _fits(
    fleet: Fleet, requests: Sequence[PodRequest], names: list[NodeName], seen: _Seen
) -> Mask:
    budget = StepBudget.of_many(SearchCounts())
    found = np.ones(len(names), np.bool_)
    for request in requests:
        fits = np.zeros(len(names), np.bool_)
        for cards, positions in fleet.of(request.kind).nodes(names):
            empty = seen(cards.at_zero_usage())
            fits[positions] = fit(empty, request, budget).placement.fits
        found &= fits
    return found


def _with_live_plugins(
    ledger: LedgerView, requests: Sequence[PodRequest]
) -> Iterator[Node]:
    """Give nodes where nothing is allocatable as if all that they register were."""
    found = 0
    for node in ledger.nodes.values():
        silent = {
            request.kind: replace(
                inventory, allocatable_slots=_slots_of(inventory.devices)
            )
            for request in requests
            if (inventory := node.inventories.get(request.kind)) is not None
            and inventory.devices
            and inventory.problem is None
            and inventory.allocatable_slots <= 0
        }
        if silent:
            yield replace(node, inventories={**node.inventories, **silent})
            found += 1
        if found == _MOST_SILENT:
            return


def _slots_of(devices: Sequence[Device]) -> int:
    return sum(device.capacity.slots for device in devices)


def _fleet_of(nodes: Sequence[Node]) -> Fleet:
    fleet = Fleet()
    for node in nodes:
        fleet.put(node, ())
    return fleet
