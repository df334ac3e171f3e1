"""prioritize: how good each node is for a pod."""

from collections.abc import Mapping, Sequence
from itertools import repeat
from types import MappingProxyType

import numpy as np

from extender.core.arrays import Int64s
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import NodeName
from extender.core.pod import Pod
from extender.core.policies import Burst, without_busy


def score_nodes(
    fleet: Fleet,
    pod: Pod,
    node_names: Sequence[NodeName],
    own: Holding | None,
    nominated: Sequence[Holding] = (),
    *,
    binds_at: Mapping[NodeName, int] = MappingProxyType({}),
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
        binds_at: How many binds a further one would come behind, by node; at least 1
            where the node is locked. Nodes without any are left out.
        burst: What counts more than these waits.

    Returns:
        int64 (N,); one score per name.
    """
    scores = np.zeros(len(node_names), np.int64)
    asking = pod.asking if pod.request_problem is None else ()
    if asking:
        scores = fleet.answers(node_names, asking, own, nominated).scores
    if binds_at:
        binds_ahead = np.fromiter(
            map(binds_at.get, node_names, repeat(0)), np.int64, len(node_names)
        )
        scores = without_busy(scores, binds_ahead, pod.node_policy, burst)
    return scores


def best_node(scores: Mapping[NodeName, int]) -> NodeName:
    """Choose the node where nobody else does: the highest score, then the name.

    Args:
        scores: At least one.

    Example:
        >>> best_node({NodeName("b"): 7, NodeName("a"): 7, NodeName("c"): 3})
        'a'
    """
    best = max(scores.values())
    return min(name for name, score in scores.items() if score == best)
