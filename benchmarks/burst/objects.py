"""What a burst is made of: nodes with cards, and pods that ask for shares of them."""

from collections.abc import Callable, Mapping
from typing import Final

from benchmarks.burst.api import Json
from benchmarks.cluster import (
    CARD_MEMORY_MIB,
    CARDS_PER_NODE,
    SLOTS_PER_CARD,
    make_cluster,
)
from tests.control_plane.plane import User

NAMESPACE: Final = "default"
"""Of the burst."""

PENDING_NAMESPACE: Final = "pending"
"""Of pods that fit nowhere."""

MOST_PODS_PER_NODE: Final = 32
"""So many of any shape surely fit on one node, however its cards are packed."""

APP_MIB: Final = 12_288
SIDECAR_MIB: Final = 4_096
TOO_MUCH_MIB: Final = 2 * CARD_MEMORY_MIB
"""More than any card has."""

_NODE_POLICY: Final = "hami.io/node-scheduler-policy"


def nodes(count: int) -> list[Json]:
    """Make nodes that are Ready, with 8 cards of 10 slots each."""
    made: list[Json] = make_cluster(count, pods_per_node=0)["items"]
    for node in made:
        # The API server gives these.
        del node["metadata"]["uid"], node["metadata"]["resourceVersion"]
    return made


def pods(count: int, shape: str, policy: str, scheduler_name: str) -> list[Json]:
    """Make the pods of a burst.

    Args:
        count: Pods.
        shape: One of `SHAPES`.
        policy: Which nodes are preferred: ``binpack`` or ``spread``.
        scheduler_name: Who shall place them.
    """
    return [
        _pod(NAMESPACE, f"burst-{number:05}", policy, scheduler_name, SHAPES[shape]())
        for number in range(count)
    ]


def pending_pods(
    count: int, policy: str, scheduler_name: str, *, by_extender: bool
) -> list[Json]:
    """Make pods that fit on no node.

    Args:
        count: Pods.
        policy: As for `pods`.
        scheduler_name: Who shall refuse them.
        by_extender: Whether the extender has to refuse them, since only it looks at
            the memory of cards. Else kube-scheduler itself does, by a label that no
            node has; it then asks no extender, and does not try them again whenever a
            pod is bound, as it does for those that an extender refused.
    """
    spec: Json = {"containers": [_container("app", TOO_MUCH_MIB)]}
    if not by_extender:
        spec = {"nodeSelector": {"no-node": "has-it"}, **_app()}
    return [
        _pod(PENDING_NAMESPACE, f"pending-{number:05}", policy, scheduler_name, spec)
        for number in range(count)
    ]


def namespace(name: str) -> Json:
    """Make a namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def fewest_nodes(count: int, shape: str) -> int:
    """Reckon how many nodes a burst needs at least, with nothing else there.

    Pods are put on one node until the next does not fit, each container on the first
    card that has room. For the shapes here that is as many as can be: all memory is
    taken, or all slots, or what is left of each card is less than any container asks.

    Example:
        >>> fewest_nodes(41, "sidecar"), fewest_nodes(48, "app")
        (2, 1)
    """
    return -(-count // _most_on_one_node(shape))


def _most_on_one_node(shape: str) -> int:
    free = [[SLOTS_PER_CARD, CARD_MEMORY_MIB] for _ in range(CARDS_PER_NODE)]
    spec = SHAPES[shape]()
    containers = [*spec.get("initContainers", []), *spec["containers"]]
    asked = [
        int(each["resources"]["limits"]["nvidia.com/gpumem"]) for each in containers
    ]
    number = 0
    while all(_take(free, mib) for mib in asked):
        number += 1
    return number


def _take(free: list[list[int]], mib: int) -> bool:
    """Take a slot and memory of the first card that has both."""
    for card in free:
        if card[0] >= 1 and card[1] >= mib:
            card[0] -= 1
            card[1] -= mib
            return True
    return False


def _pod(
    in_namespace: str, name: str, policy: str, scheduler_name: str, spec: Json
) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": in_namespace,
            "annotations": {_NODE_POLICY: policy},
        },
        "spec": {
            "schedulerName": scheduler_name,
            "terminationGracePeriodSeconds": 0,
            **spec,
        },
    }


def _app() -> Json:
    return {"containers": [_container("app", APP_MIB)]}


def _sidecar_and_app() -> Json:
    sidecar = _container("sidecar", SIDECAR_MIB) | {"restartPolicy": "Always"}
    return {"initContainers": [sidecar], "containers": [_container("app", APP_MIB)]}


SHAPES: Final[Mapping[str, Callable[[], Json]]] = {
    "sidecar": _sidecar_and_app,
    "app": _app,
}
"""Containers by the name of a shape; each container has a share of one card."""


def _container(name: str, memory_mib: int) -> Json:
    asked = {
        "cpu": "100m",
        "memory": "128Mi",
        "nvidia.com/gpu": "1",
        "nvidia.com/gpumem": str(memory_mib),
    }
    return {
        "name": name,
        "image": "registry.example/work:1",
        "resources": {"limits": asked, "requests": asked},
    }


def role() -> Json:
    """Make the role of an extender: reads, locks and labels, Bindings and Events."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": str(User.EXTENDER)},
        "rules": [
            _rule(["nodes", "pods"], "get", "list", "watch", "patch"),
            _rule(["pods/binding"], "create"),
            _rule(["resourcequotas"], "list", "watch"),
            _rule(["events"], "create", "patch"),
            _rule(["events"], "create", "patch", group="events.k8s.io"),
        ],
    }


def role_binding() -> Json:
    """Give the role to the extender's user."""
    group = "rbac.authorization.k8s.io"
    name = str(User.EXTENDER)
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": name}],
    }


def _rule(resources: list[str], *verbs: str, group: str = "") -> Json:
    return {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
