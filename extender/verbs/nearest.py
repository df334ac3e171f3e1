"""The near miss over all nodes: where least is missing, and how much."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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

_NODES_A_STEP: Final = 512

NOT_BY_ROOM: Final = frozenset(
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


@dataclass(frozen=True, slots=True)
class Effort:
    """How closely it is looked for what is missing.

    Attributes:
        most_nodes: That are looked at closely. Mostly the first one is the nearest:
            only where single containers would fit and all together do not, more have to
            be compared.
        node_steps: That one search on a node may take.
        all_steps: That all searches may take.
    """

    most_nodes: int
    node_steps: int
    all_steps: int


IN_FULL: Final = Effort(
    32, STEPS_PER_NODE * ONE_NODE_TIMES, 4 * STEPS_PER_NODE * ONE_NODE_TIMES
)
"""Where somebody waits for the answer."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The node where least is missing.

    Attributes:
        miss: As it was when the node was looked at.
        change: Stays equal as long as that node, and what is held there, does.
    """

    miss: NearMiss
    change: object


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
    moment: Moment, costs: Costs, effort: Effort = IN_FULL
) -> Generator[None, None, Nearest | None]:
    """Find where least is missing, in steps of some milliseconds.

    Of nodes that could hold the pod if they were empty, if there are any; else of the
    others, by what they lack when they are.

    Args:
        moment: The pod and the state.
        costs: Of `cost_steps`.
        effort: What it may take.

    Returns:
        None where no room would help on any node.
    """
    decision = moment.decision
    failed = [
        name
        for name, text in decision.failed.items()
        if not NOT_BY_ROOM.intersection(moment.reasons_in(text))
    ]
    found = yield from _nearest_of(
        moment, _by_cost(costs, failed), effort, are_empty=False
    )
    if found is None:
        hopeless = _by_cost(costs, decision.unresolvable)
        found = yield from _nearest_of(moment, hopeless, effort, are_empty=True)
    return found


def _by_cost(
    costs: Costs, names: Iterable[NodeName]
) -> Sequence[tuple[float, NodeName]]:
    return sorted((costs[name], name) for name in names if costs[name] != np.inf)


def _nearest_of(
    moment: Moment,
    bounds: Sequence[tuple[float, NodeName]],
    effort: Effort,
    *,
    are_empty: bool,
) -> Generator[None, None, Nearest | None]:
    budget = StepBudget(effort.node_steps, effort.all_steps, SearchCounts())
    best: Nearest | None = None
    is_nearest = True
    for looked_at, (bound, name) in enumerate(bounds):
        if best is not None and bound >= best.miss.cost:
            break
        if looked_at >= effort.most_nodes or budget.left <= 0:
            is_nearest = False
            break
        yield
        below = np.inf if best is None else best.miss.cost
        change = moment.fleet.change_of(name)
        miss = yield from _miss_on(moment, name, budget, below, are_empty=are_empty)
        best = best if miss is None else Nearest(miss, change)
    if best is None or (is_nearest and budget.left > 0):
        return best
    return replace(best, miss=replace(best.miss, is_nearest=False))


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
        # Before it yields: the node may be another by then.
        devices = moment.devices_on(name, request.kind)
        index_of = {device.device_uuid: device.index for device in devices}
        relief = yield from relief_steps(seen, request, 0, budget, below=below - cost)
        if relief is None:
            return None
        uuids = tuple(cards.device_uuid(each, 0) for each in relief.positions)
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
