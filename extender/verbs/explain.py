"""explain: all that is told of one pod, from filter's own answer.

Which nodes fit, and the codes of the others, are filter's. What is added are numbers
and names, by the functions that filter and bind go by.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Final

from extender.core.allocation import UnreadableAllocation
from extender.core.names import NodeName
from extender.core.node import Node
from extender.core.pod import Pod
from extender.core.pod_status import PodStatus
from extender.state.holdings import Footing, Standing
from extender.verbs.causes import cause_elsewhere, cause_steps
from extender.verbs.explanation import (
    Explanation,
    NodeGroup,
    NodeView,
    Outcome,
)
from extender.verbs.filter import filter_nodes
from extender.verbs.holders import held_cards
from extender.verbs.missing import missing_steps
from extender.verbs.moment import Moment
from extender.verbs.nearest import Costs, cost_steps
from extender.verbs.node_views import node_view
from extender.verbs.places import place_of
from extender.verbs.pod_phases import asks_of, phase_needs

SMALL_CLUSTER: Final = 12
"""Up to so many nodes, each is explained in full."""

MOST_NODES: Final = 32
"""That are explained in full of a larger one."""


def explain_placed(
    pod: Pod, standing: Standing | None, node: Node | None
) -> Explanation:
    """Explain a pod that is not to be placed: what it holds, and when that returns.

    Args:
        pod: Bound, reserved for, ended, or without devices.
        standing: What it counts for; None where it is not known.
        node: Where; None where the node is unknown.
    """
    problem = None
    if isinstance(pod.allocation, UnreadableAllocation):
        problem = pod.allocation.problem
    elif standing is not None and standing.footing is Footing.UNMANAGED:
        problem = "bound with a request for devices, but without an allocation"
    where = pod.node_name
    if standing is not None and standing.holding is not None:
        where = standing.holding.node_name
    return replace(
        _begun(pod, _outcome(pod, standing)),
        node=where,
        problem=problem,
        holds=tuple(held_cards(pod, standing, node)) if standing else (),
    )


def as_new(pod: Pod) -> Pod:
    """Give a pod as if it were created now: bound nowhere, with nothing behind it."""
    return replace(
        pod, node_name=None, nominated_node=None, allocation=None, status=PodStatus()
    )


def is_to_be_placed(pod: Pod, standing: Standing | None) -> bool:
    """Tell whether filter is to be asked about a pod."""
    return _outcome(pod, standing) is Outcome.REFUSED


def _outcome(pod: Pod, standing: Standing | None) -> Outcome:
    """Tell what becomes of a pod; of one that is to be placed, nothing yet."""
    if pod.status.is_finished:
        return Outcome.ENDED
    if pod.node_name is not None:
        return Outcome.BOUND
    if standing is not None and standing.footing is Footing.RESERVED:
        return Outcome.RESERVED
    if not pod.asks_for_devices and pod.request_problem is None:
        return Outcome.NO_DEVICES
    return Outcome.REFUSED


def _begun(pod: Pod, outcome: Outcome) -> Explanation:
    is_readable = pod.request_problem is None
    return Explanation(
        pod.namespace,
        pod.name,
        pod.uid,
        outcome,
        warnings=pod.warnings,
        asks=tuple(asks_of(pod)) if is_readable else (),
        phases=phase_needs(pod) if is_readable else (),
    )


def explain_steps(
    moment: Moment, wanted: Sequence[NodeName] = ()
) -> Generator[None, None, Explanation]:
    """Explain a pod that is to be placed, in steps of some milliseconds.

    Args:
        moment: What filter answered, and by what.
        wanted: Nodes to be explained in full besides.
    """
    pod, decision = moment.pod, moment.decision
    begun = replace(
        _begun(pod, Outcome.FITS if decision.fitting else Outcome.REFUSED),
        problem=pod.request_problem,
        node_count=len(moment.node_names),
        fitting=tuple(decision.fitting),
    )
    costs = yield from cost_steps(moment)
    yield
    groups = _groups(moment, costs)
    names = _in_full(moment, groups, wanted)
    nodes: list[NodeView] = []
    for name in names:
        yield
        nodes.append(node_view(moment, name))
    told = replace(begun, groups=groups, nodes=tuple(nodes))
    yield
    if decision.fitting:
        return replace(told, place=place_of(moment), cause=cause_elsewhere(pod))
    why = yield from cause_steps(moment.ledger, pod, decision.count_refusals())
    told = replace(told, cause=why)
    if pod.request_problem is not None:
        return told
    missing = yield from missing_steps(moment, costs)
    if missing.quota:
        otherwise = filter_nodes(
            moment.fleet, pod, moment.node_names, moment.own, moment.beside
        )
        told = replace(told, fits_but_for_quota=len(otherwise.fitting))
    return replace(told, quota=missing.quota, nearest=missing.nearest)


def _groups(moment: Moment, costs: Costs) -> tuple[NodeGroup, ...]:
    """Put nodes together that refuse for the same reasons."""
    found: list[NodeGroup] = []
    decision = moment.decision
    for refused, is_unresolvable in (
        (decision.failed, False),
        (decision.unresolvable, True),
    ):
        by_text: dict[str, list[NodeName]] = {}
        for name, text in refused.items():
            by_text.setdefault(text, []).append(name)
        of_these = [
            NodeGroup(
                moment.reasons_in(text),
                text,
                is_unresolvable,
                tuple(names),
                min(names, key=lambda name: (costs.get(name, 0.0), name)),
            )
            for text, names in by_text.items()
        ]
        found += sorted(of_these, key=lambda group: (-len(group.nodes), group.text))
    return tuple(found)


def _in_full(
    moment: Moment, groups: Sequence[NodeGroup], wanted: Sequence[NodeName]
) -> list[NodeName]:
    """List which nodes are explained in full, those that were asked for first."""
    known = set(moment.node_names)
    names = [name for name in wanted if name in known]
    if moment.pod.request_problem is None:
        if len(moment.node_names) <= SMALL_CLUSTER:
            names += moment.node_names
        else:
            names += [group.nearest for group in groups]
    return list(dict.fromkeys(names))[: max(MOST_NODES, len(wanted))]
