"""prioritize: how good each node is for a pod."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from extender.core.arrays import Int64s
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.model import NodeName, Pod
from extender.core.policies import Burst, without_locked


def score_nodes(
    fleet: Fleet,
    pod: Pod,
    node_names: Sequence[NodeName],
    own: Holding | None,
    nominated: Sequence[Holding] = (),
    *,
    locked: Collection[NodeName] = (),
    burst: Burst = Burst.PACKING,
) -> Int64s:
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

    Returns:
        int64 (N,); one score per name.
    """
    scores = np.zeros(len(node_names), np.int64)
    if pod.request.asks_for_devices and pod.request_problem is None:
        scores = fleet.answers(node_names, pod.request, own, nominated).scores
    if locked:
        is_locked = np.fromiter(
            map(locked.__contains__, node_names), np.bool_, len(node_names)
        )
        scores = without_locked(scores, is_locked, pod.request.node_policy, burst)
    return scores


def best_node(scores: Mapping[NodeName, int]) -> NodeName:
    """Choose the node where nobody else does: the highest score, then the name.

    Args:
        scores: At least one.

    Example:
        >>> best_node({NodeName("b"): 7, NodeName("a"): 7, NodeName("c"): 3})
        'a'
    """
    return min(scores, key=lambda name: (-scores[name], name))
