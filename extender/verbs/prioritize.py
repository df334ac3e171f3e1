"""prioritize: how good each node is for a pod."""

from collections.abc import Collection, Sequence

import numpy as np

from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.model import NodeName, Pod
from extender.core.placement import place
from extender.core.policies import Burst, node_scores, without_locked


def score_nodes(
    fleet: Fleet,
    pod: Pod,
    node_names: Sequence[NodeName],
    own: Holding | None,
    nominated: Sequence[Holding] = (),
    *,
    locked: Collection[NodeName] = (),
    burst: Burst = Burst.PACKING,
) -> list[tuple[NodeName, int]]:
    """Score every node that was asked about, in the order asked. Changes nothing.

    A node that cannot hold the pod scores 0, and so does every node for a pod that
    asks for no device: kube-scheduler expects an answer for each name that it sent.

    Args:
        fleet: Cards and totals.
        pod: To be placed.
        node_names: Candidates, each once.
        own: What the pod itself already counts for; it is left out of the totals.
        nominated: What pods that others were evicted for will hold.
        locked: Nodes where a bind has to wait for others.
        burst: What counts more than these waits.
    """
    scores = np.zeros(len(node_names), np.int64)
    if pod.request.asks_for_devices and pod.request_problem is None:
        for selected in fleet.select(node_names, own, nominated):
            cards = selected.cards
            placement = place(cards, pod.request)
            node = node_scores(cards, placement.peak, pod.request.node_policy)
            node[~placement.fits] = 0
            scores[selected.positions] = node[selected.columns]
    if locked:
        is_locked = np.fromiter(
            map(locked.__contains__, node_names), np.bool_, len(node_names)
        )
        scores = without_locked(scores, is_locked, pod.request.node_policy, burst)
    return list(zip(node_names, scores.tolist(), strict=True))


def best_node(scores: Sequence[tuple[NodeName, int]]) -> NodeName:
    """Choose the node where nobody else does: the highest score, then the name.

    Args:
        scores: At least one.

    Example:
        >>> best_node([(NodeName("b"), 7), (NodeName("a"), 7), (NodeName("c"), 3)])
        'a'
    """
    return min(scores, key=lambda scored: (-scored[1], scored[0]))[0]
