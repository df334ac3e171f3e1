"""What a scheduler writes of an unbound pod's place, before it binds it."""

from collections.abc import Mapping

from extender.core.names import NodeName
from extender.core.pod import NOT_PLACED, Placing
from extender.wire.allocation import NODE_ANNOTATION, TIME_ANNOTATION
from extender.wire.objects import JsonObject


def read_placing(pod: JsonObject, annotations: Mapping[str, str]) -> Placing:
    """Read the node of HAMi's filter, and condition PodScheduled. Nothing is an error.

    Args:
        pod: The JSON object, of a pod without a node.
        annotations: Of the pod.
    """
    node_name = annotations.get(NODE_ANNOTATION, "")
    refusal = _refusal(pod.get("status"))
    if not node_name and refusal is None:
        return NOT_PLACED
    at = annotations.get(TIME_ANNOTATION, "")
    return Placing(NodeName(node_name) or None, at, refusal)


def _refusal(status: object) -> str | None:
    """Give why no node was found; ``SchedulerError`` and such say nothing of that."""
    conditions = status.get("conditions") if isinstance(status, dict) else None
    for condition in conditions if isinstance(conditions, list) else ():
        if (
            isinstance(condition, dict)
            and condition.get("type") == "PodScheduled"
            and condition.get("status") == "False"
            and condition.get("reason") == "Unschedulable"
        ):
            message = condition.get("message")
            return message if isinstance(message, str) else ""
    return None
