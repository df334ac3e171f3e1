"""What a burst is made of: nodes with cards, and pods that ask for shares of them."""

from collections.abc import Callable, Mapping
from typing import Final

from benchmarks.burst.api import Json
from benchmarks.cluster import make_cluster
from tests.control_plane.plane import User

NAMESPACE: Final = "default"
MOST_PODS_PER_NODE: Final = 32
"""So many of any shape surely fit on one node, however its cards are packed."""

APP_MIB: Final = 12_288
SIDECAR_MIB: Final = 4_096

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
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"burst-{number:05}",
                "namespace": NAMESPACE,
                "annotations": {_NODE_POLICY: policy},
            },
            "spec": {
                "schedulerName": scheduler_name,
                "terminationGracePeriodSeconds": 0,
                **SHAPES[shape](),
            },
        }
        for number in range(count)
    ]


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
            _rule(["events"], "create", "patch"),
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


def _rule(resources: list[str], *verbs: str) -> Json:
    return {"apiGroups": [""], "resources": resources, "verbs": list(verbs)}
