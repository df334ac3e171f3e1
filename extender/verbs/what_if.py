"""what-if: how many more of a pod would fit, and what it would take; nothing changes.

Replicas are placed one after another on a copy of the state, each as a pod that comes
alone: filter, the best score, the first name among equals, bind's choice of cards.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.holding import Holding
from extender.core.names import NodeName
from extender.core.node import Node
from extender.core.pod import Pod
from extender.core.reasons import Reason
from extender.state.supposed import SupposedState
from extender.verbs.bind import choose_devices
from extender.verbs.explanation import QuotaShort
from extender.verbs.filter import FilterDecision, filter_nodes
from extender.verbs.findings import findings_of
from extender.verbs.prioritize import best_node, score_nodes
from extender.verbs.quota import shortages_anywhere
from extender.verbs.supposition import (
    MOST_REPLICAS,
    Ended,
    LimitGroup,
    NodesNeeded,
)
from extender.verbs.verdicts import NodeVerdict, judge_node

_REASON_OF: Final = {reason.value: reason for reason in Reason}

_LONG_SEARCHES: Final = 64
"""Nodes that are searched for as long as bind may, where filter could not decide."""


@dataclass(slots=True)
class Filling:
    """Replicas of a pod that were placed.

    Attributes:
        fits: How many.
        ended: Why no more.
        by_node: Where they are.
        refusal: Filter's answer on a further one, where it is no.
    """

    fits: int = 0
    ended: Ended = Ended.ALL_FIT
    by_node: dict[NodeName, int] = field(default_factory=dict)
    refusal: FilterDecision = field(default_factory=FilterDecision)


def fill_steps(
    state: SupposedState,
    pod: Pod,
    wanted: int | None,
    nominated: Sequence[Holding] = (),
    is_late: Callable[[], bool] = lambda: False,
) -> Generator[None, None, Filling]:
    """Place replicas until all are, or one is refused; a step is one replica.

    Args:
        state: They are placed there.
        pod: Asks for devices, in a form that can be honoured.
        wanted: How many; None for as many as fit.
        nominated: Room that is held for others.
        is_late: Asked before each whether to stop.
    """
    found = Filling()
    most = MOST_REPLICAS if wanted is None else min(wanted, MOST_REPLICAS)
    while found.fits < most:
        if is_late():
            found.ended = Ended.TIME
            return found
        decision = filter_nodes(
            state.fleet,
            pod,
            state.node_names,
            None,
            nominated,
            rooms=state.rooms(pod),
        )
        fitting = decision.fitting or (
            yield from _longer_searched(state, pod, decision, nominated)
        )
        if not fitting:
            found.refusal = decision
            found.ended = Ended.QUOTA if _is_of_quota(decision) else Ended.LIMIT
            return found
        name = _place(state, pod, fitting, nominated)
        if name is None:  # bind would be refused, too
            found.refusal, found.ended = decision, Ended.LIMIT
            return found
        found.fits += 1
        found.by_node[name] = found.by_node.get(name, 0) + 1
        yield
    if wanted is None or wanted > most:
        found.ended = Ended.MOST_REPLICAS
    return found


def _longer_searched(
    state: SupposedState,
    pod: Pod,
    decision: FilterDecision,
    nominated: Sequence[Holding],
) -> Generator[None, None, list[NodeName]]:
    """Find the nodes where a search as long as bind's finds that it fits."""
    undecided = [
        name
        for texts in (decision.failed, decision.unresolvable)
        for name, text in texts.items()
        if Reason.SEARCH_EXHAUSTED.value in text
    ]
    found = []
    for name in undecided[:_LONG_SEARCHES]:
        if judged(state, pod, name, nominated) is None:
            found.append(name)
        yield
    return found


def judged(
    state: SupposedState, pod: Pod, name: NodeName, nominated: Sequence[Holding]
) -> NodeVerdict | None:
    """Tell with numbers why a further one does not fit on a node."""
    rooms = state.rooms(pod)
    return judge_node(state.fleet, pod, name, None, nominated, rooms=rooms)


def _place(
    state: SupposedState,
    pod: Pod,
    fitting: Sequence[NodeName],
    nominated: Sequence[Holding],
) -> NodeName | None:
    scored = score_nodes(state.fleet, pod, fitting, None, nominated)
    name = best_node(dict(zip(fitting, scored.tolist(), strict=True)))
    rooms = state.rooms(pod)
    allocation = choose_devices(state.fleet, pod, name, None, nominated, rooms=rooms)
    if allocation is None:
        return None
    state.place(pod, name, allocation)
    return name


def _is_of_quota(decision: FilterDecision) -> bool:
    """Tell whether the quota alone refuses it wherever there is any room."""
    codes = {Reason.QUOTA_NOT_FIT.value, Reason.QUOTA_UNREADABLE.value}
    return bool(decision.failed) and all(
        text in codes for text in decision.failed.values()
    )


def limit_steps(
    state: SupposedState,
    pod: Pod,
    refusal: FilterDecision,
    nominated: Sequence[Holding] = (),
    with_problem: Callable[[NodeVerdict], NodeVerdict] = lambda verdict: verdict,
) -> Generator[None, None, tuple[LimitGroup, ...]]:
    """Put nodes together that refuse a further one for the same reasons.

    Args:
        state: With all placed that fit.
        pod: As for `fill_steps`.
        refusal: Filter's answer on a further one.
        nominated: As for `fill_steps`.
        with_problem: Adds to a verdict why no card of its node counts.
    """
    found: list[LimitGroup] = []
    for texts, is_unresolvable in (
        (refusal.failed, False),
        (refusal.unresolvable, True),
    ):
        by_text: dict[str, list[NodeName]] = {}
        for name, text in texts.items():
            by_text.setdefault(text, []).append(name)
        for text, names in sorted(by_text.items(), key=lambda each: -len(each[1])):
            verdict = judged(state, pod, names[0], nominated)
            found.append(
                LimitGroup(
                    tuple(_REASON_OF[each] for each in text.split(", ")),
                    is_unresolvable,
                    len(names),
                    names[0],
                    tuple(findings_of(with_problem(verdict))) if verdict else (),
                )
            )
            yield
    return tuple(found)


def quota_shortages(state: SupposedState, pod: Pod) -> tuple[QuotaShort, ...]:
    """Tell which limits a further one would go beyond wherever it goes."""
    rooms = state.rooms(pod)
    return tuple(
        QuotaShort.of(each)
        for each in (shortages_anywhere(state.fleet, pod, rooms) if rooms else ())
    )


def needed_steps(
    state: SupposedState,
    pod: Pod,
    left: int,
    of_type: tuple[str, Node],
    is_late: Callable[[], bool] = lambda: False,
) -> Generator[None, None, NodesNeeded]:
    """Tell how many empty nodes of a type would take the pods that are left.

    Nodes do not depend on each other, so that one is as good as another: what fits on
    one is found out once. Under a quota, all that are left are placed.

    Args:
        state: With all placed that fit; it stays as it is.
        pod: As for `fill_steps`.
        left: How many are left, at least one.
        of_type: The type's name, and one such node.
        is_late: As for `fill_steps`.
    """
    word, node = of_type
    one = state.alone(node)
    filling = yield from fill_steps(one, pod, left, (), is_late)
    per_node = filling.fits
    match filling.ended:
        case Ended.TIME:
            return NodesNeeded(word, per_node, None, Ended.TIME)
        case Ended.QUOTA:
            return NodesNeeded(word, per_node, None, Ended.QUOTA)
        case _ if per_node == 0:
            reasons = {*filling.refusal.failed.values()}
            reasons |= {*filling.refusal.unresolvable.values()}
            return NodesNeeded(word, 0, None, ", ".join(sorted(reasons)))
    if not state.rooms(pod):
        return NodesNeeded(word, per_node, -(-left // per_node))
    nodes, rest = 1, left - per_node
    while rest > 0:
        one.empty(node)
        filling = yield from fill_steps(one, pod, rest, (), is_late)
        rest, nodes = rest - filling.fits, nodes + 1
        if filling.ended in (Ended.TIME, Ended.QUOTA) or not filling.fits:
            return NodesNeeded(word, per_node, None, filling.ended)
    return NodesNeeded(word, per_node, nodes)
