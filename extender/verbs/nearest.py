"""The near miss over all nodes: where least is missing, and how much."""

from collections.abc import Generator, Iterable, Mapping
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
from extender.core.names import NodeName
from extender.core.near_miss import least_cost, relief_steps
from extender.core.reasons import Reason
from extender.verbs.explanation import CardRelief, NearMiss
from extender.verbs.moment import Moment

_MOST_NODES: Final = 32
"""That are looked at closely. Mostly the first one is the nearest: only where single
containers would fit and all together do not, more have to be compared."""

_NODES_A_STEP: Final = 512

_NOT_BY_ROOM: Final = frozenset(
    {
        Reason.SEARCH_EXHAUSTED,
        Reason.NODE_LOCKED,
        Reason.QUOTA_NOT_FIT,
        Reason.QUOTA_UNREADABLE,
    }
)
"""Where a node is refused for these, no room on its cards is what is missing."""


Costs = Mapping[NodeName, float]
"""What is missing on each node at least; see `least_cost`."""


def cost_steps(moment: Moment) -> Generator[None, None, Costs]:
    """Bound what is missing on each node that refuses, some hundred nodes a step.

    Of an unresolvable one that is what it lacks when no pod holds anything there.
    """
    found: dict[NodeName, float] = {}
    decision = moment.decision
    if moment.pod.request_problem is not None:
        return found
    for names, are_empty in (
        ([*decision.failed], False),
        ([*decision.unresolvable], True),
    ):
        for start in range(0, len(names), _NODES_A_STEP):
            yield
            some = names[start : start + _NODES_A_STEP]
            costs = _least_costs(moment, some, are_empty=are_empty)
            found.update(zip(some, costs.tolist(), strict=True))
    return found


def _least_costs(
    moment: Moment, node_names: list[NodeName], *, are_empty: bool
) -> Floats:
    # A list: tuples of names are kept by the fleet, for those who ask again.
    costs = np.zeros(len(node_names))
    for request in moment.pod.asking:
        of_kind = moment.fleet.of(request.kind)
        found = np.full(len(node_names), np.inf)
        for cards, positions in of_kind.nodes(node_names, moment.own, moment.beside):
            seen = cards.at_zero_usage() if are_empty else cards
            found[positions] = least_cost(seen, request)
        costs += found
    return costs


def nearest_steps(
    moment: Moment, costs: Costs
) -> Generator[None, None, NearMiss | None]:
    """Find where least is missing, in steps of some milliseconds.

    Of nodes that could hold the pod if they were empty, if there are any; else of the
    others, by what they lack when they are.

    Args:
        moment: The pod and the state.
        costs: Of `cost_steps`.

    Returns:
        None where no room would help on any node.
    """
    decision = moment.decision
    failed = [
        name
        for name, text in decision.failed.items()
        if not _NOT_BY_ROOM.intersection(moment.reasons_in(text))
    ]
    found = yield from _nearest_of(moment, costs, failed, are_empty=False)
    if found is None:
        hopeless = decision.unresolvable
        found = yield from _nearest_of(moment, costs, hopeless, are_empty=True)
    return found


def _nearest_of(
    moment: Moment, costs: Costs, names: Iterable[NodeName], *, are_empty: bool
) -> Generator[None, None, NearMiss | None]:
    bounds = sorted((costs[name], name) for name in names if costs[name] != np.inf)
    steps = STEPS_PER_NODE * ONE_NODE_TIMES
    budget = StepBudget(steps, 4 * steps, SearchCounts())
    best: NearMiss | None = None
    is_nearest = True
    for looked_at, (bound, name) in enumerate(bounds):
        if best is not None and bound >= best.cost:
            break
        if looked_at >= _MOST_NODES or budget.left <= 0:
            is_nearest = False
            break
        yield
        below = np.inf if best is None else best.cost
        miss = yield from _miss_on(moment, name, budget, below, are_empty=are_empty)
        best = miss or best
    if best is None or (is_nearest and budget.left > 0):
        return best
    return replace(best, is_nearest=False)


def _miss_on(
    moment: Moment,
    name: NodeName,
    budget: StepBudget,
    below: float,
    *,
    are_empty: bool,
) -> Generator[None, None, NearMiss | None]:
    reliefs: list[CardRelief] = []
    cost = 0.0
    for request in moment.pod.asking:
        cards = moment.fleet.of(request.kind).node(name, moment.own, moment.beside)
        if cards is None:
            return None
        seen = cards.at_zero_usage() if are_empty else cards
        if fit(seen, request, budget).placement.fits[0]:
            continue
        relief = yield from relief_steps(seen, request, 0, budget, below=below - cost)
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
