"""Exact mode: filter itself chooses the node.

kube-scheduler is given one node, as by HAMi, so that it has nothing to score.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import NodeName
from extender.core.pod import Pod
from extender.core.policies import Burst
from extender.verbs.filter import filter_nodes
from extender.verbs.prioritize import best_node, score_nodes


class Mode(StrEnum):
    """What filter returns."""

    SCORED = "scored"
    """Every node that fits: kube-scheduler's scores and ours choose among them."""

    EXACT = "exact"
    """The one with the best score of ours, the first by name among equal ones."""


def choose_node(
    fleet: Fleet,
    pod: Pod,
    node_names: Sequence[NodeName],
    own: Holding | None,
    *,
    nominated: Sequence[Holding] = (),
    expected: Sequence[Holding] = (),
    binds_at: Mapping[NodeName, int] = MappingProxyType({}),
    burst: Burst = Burst.PACKING,
) -> NodeName:
    """Choose one of the nodes that a pod fits on.

    Room that other pods are expected to take comes last. It is taken where no other is
    left: an expectation is no charge, and may never come true.

    Args:
        fleet: Cards and totals.
        pod: Asks for devices.
        node_names: Nodes that it fits on, at least one.
        own: What the pod itself already counts for; it is left out of the totals.
        nominated: What pods that others were evicted for will hold.
        expected: What pods that were sent to a node will hold there, once bound.
        binds_at: As for `score_nodes`; each expected pod is one bind more.
        burst: As for `score_nodes`.
    """
    beside = [*nominated, *expected]
    with_room = filter_nodes(fleet, pod, node_names, own, beside).fitting
    if not with_room:
        with_room, beside = list(node_names), list(nominated)
    binds_ahead = Counter(binds_at)
    binds_ahead.update(holding.node_name for holding in expected)
    scores = score_nodes(
        fleet, pod, with_room, own, beside, binds_at=binds_ahead, burst=burst
    )
    return best_node(dict(zip(with_room, scores.tolist(), strict=True)))
