"""The near miss over all nodes: where least is missing, and how much."""

from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Final

import numpy as np

from extender.core.arrays import Floats
from extender.core.budget import (
    ONE_NODE_TIMES,
    STEPS_PER_NODE,
    SearchCounts,
    StepBudget,
)
from extender.core.fitting import fit
from extender.core.model import NodeName
from extender.core.near_miss import least_cost, relief_on
from extender.core.reasons import Reason
from extender.verbs.explanation import CardRelief, NearMiss
from extender.verbs.moment import Moment

_MOST_NODES: Final = 32
"""That are looked at closely. Mostly the first one is the nearest: only where single
containers would fit and all together do not, more have to be compared."""

_NOT_BY_ROOM: Final = frozenset(
    {
        Reason.SEARCH_EXHAUSTED,
        Reason.NODE_LOCKED,
        Reason.QUOTA_NOT_FIT,
        Reason.QUOTA_UNREADABLE,
    }
)
"""Where a node is refused for these, no room on its cards is what is missing."""


def least_costs(
    moment: Moment, node_names: tuple[NodeName, ...], *, are_empty: bool
) -> Floats:
    """Bound from below what is missing on each node; float64 (N,).

    Args:
        moment: The pod and the state.
        node_names: Nodes that it does not fit on.
        are_empty: Whether what is held there is left out.

    Returns:
        Infinite where no room would help.
    """
    costs = np.zeros(len(node_names))
    for request in moment.pod.asking:
        of_kind = moment.fleet.of(request.kind)
        found = np.full(len(node_names), np.inf)
        for cards, positions in of_kind.nodes(node_names, moment.own, moment.beside):
            seen = cards.at_zero_usage() if are_empty else cards
            found[positions] = least_cost(seen, request)
        costs += found
    return costs


def nearest_steps(moment: Moment) -> Generator[None, None, NearMiss | None]:
    """Find where least is missing, in steps of some milliseconds.

    Of nodes that could hold the pod if they were empty, if there are any; else of the
    others, by what they lack when they are.

    Returns:
        None where no room would help on any node.
    """
    decision = moment.decision
    failed = [
        name
        for name, text in decision.failed.items()
        if not _NOT_BY_ROOM.intersection(moment.reasons_in(text))
    ]
    found = yield from _nearest_of(moment, failed, are_empty=False)
    if found is None:
        hopeless = decision.unresolvable
        found = yield from _nearest_of(moment, hopeless, are_empty=True)
    return found


def _nearest_of(
    moment: Moment, names: Iterable[NodeName], *, are_empty: bool
) -> Generator[None, None, NearMiss | None]:
    sorted_names = tuple(sorted(names))
    bounds = least_costs(moment, sorted_names, are_empty=are_empty)
    steps = STEPS_PER_NODE * ONE_NODE_TIMES
    budget = StepBudget(steps, 4 * steps, SearchCounts())
    best: NearMiss | None = None
    is_nearest = True
    for looked_at, place in enumerate(np.argsort(bounds, kind="stable").tolist()):
        bound = float(bounds[place])
        if bound == np.inf or (best is not None and bound >= best.cost):
            break
        if looked_at >= _MOST_NODES or budget.left <= 0:
            is_nearest = False
            break
        yield
        name = sorted_names[place]
        miss = _miss_on(moment, name, budget, are_empty=are_empty)
        if miss is not None and (best is None or miss.cost < best.cost):
            best = miss
    if best is None or (is_nearest and budget.left > 0):
        return best
    return replace(best, is_nearest=False)


def _miss_on(
    moment: Moment, name: NodeName, budget: StepBudget, *, are_empty: bool
) -> NearMiss | None:
    reliefs: list[CardRelief] = []
    cost = 0.0
    for request in moment.pod.asking:
        cards = moment.fleet.of(request.kind).node(name, moment.own, moment.beside)
        if cards is None:
            return None
        seen = cards.at_zero_usage() if are_empty else cards
        if fit(seen, request, budget).placement.fits[0]:
            continue
        relief = relief_on(seen, request, 0, budget)
        if relief is None:
            return None
        uuids = tuple(cards.device_uuid(each, 0) for each in relief.positions)
        devices = moment.devices_on(name, request.kind)
        index_of = {device.device_uuid: device.index for device in devices}
        counts_units = request.tells_cores_apart or any(
            each.cores_of_card for each in request.containers
        )
        reliefs.append(
            CardRelief(
                request.kind,
                uuids,
                tuple(index_of[uuid] for uuid in uuids),
                relief.amount,
                relief.device_ids,
                counts_units,
            )
        )
        cost += relief.cost
    return NearMiss(name, tuple(reliefs), cost, are_empty) if reliefs else None
