"""kube-scheduler's part on the embedded cluster: filter, prioritize, choose, bind."""

from dataclasses import dataclass

from extender.core.names import NodeName
from extender.core.pod import Pod
from extender.embedded.cluster import EmbeddedCluster
from extender.errors import Conflict
from extender.service import Extender
from extender.verbs.prioritize import best_node
from extender.verbs.verdicts import NodeVerdict
from extender.wire.extender_v1 import BindingArgs, ExtenderArgs
from extender.wire.objects import JsonObject


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """A pod that was bound.

    Attributes:
        pod: As the cluster shows it afterwards.
        node_name: Where.
        score: Of that node, 0 to 10.
        candidate_count: How many nodes fitted.
    """

    pod: Pod
    node_name: NodeName
    score: int
    candidate_count: int


@dataclass(frozen=True, slots=True)
class RefusedPod:
    """A pod that fits nowhere, with each node's verdict."""

    pod: Pod
    verdicts: tuple[NodeVerdict, ...]


async def schedule_pod(
    extender: Extender, cluster: EmbeddedCluster, obj: JsonObject
) -> PlacedPod | RefusedPod:
    """Add one pod to the cluster and place it by GPU rules alone.

    Args:
        extender: On this cluster.
        cluster: Keeps the pod, placed or not.
        obj: The pod; the object is the cluster's from then on.

    Raises:
        BadObject: It is not a pod.
        Conflict: The cluster has a pod of this name or UID already, or the pod cannot
            be bound: it has a node, or is being deleted.
    """
    pod = cluster.add_pod_object(obj)
    if pod.node_name is not None:
        raise Conflict(f"pod {pod.full_name} is bound to {pod.node_name} already")
    if pod.status.is_finished or pod.status.is_terminating:
        raise Conflict(f"pod {pod.full_name} has ended, or is being deleted")
    names = tuple(sorted(NodeName(name) for name in cluster.nodes))
    fitting = extender.filter(ExtenderArgs(pod, names, None)).fitting
    if not fitting:
        verdicts = {name: extender.judge(pod, name) for name in names}
        # A verdict may search for longer than filter does.
        fitting = [name for name in names if verdicts[name] is None]
        if not fitting:
            given = (each for each in verdicts.values() if each is not None)
            return RefusedPod(pod, tuple(given))
    scored = extender.prioritize(ExtenderArgs(pod, tuple(fitting), None))
    scores = dict(zip(fitting, scored.tolist(), strict=True))
    node_name = best_node(scores)
    problem = await extender.bind(
        BindingArgs(pod.name, pod.namespace, pod.uid, node_name)
    )
    if problem:
        raise Conflict(f"pod {pod.full_name} to {node_name}: {problem}")
    bound = await cluster.read_pod(pod.namespace, pod.name)
    return PlacedPod(bound, node_name, scores[node_name], len(fitting))
