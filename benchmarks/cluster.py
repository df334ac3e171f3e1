"""Make a cluster of any size in memory, in the form of a kubectl dump.

Every node has 8 equal cards, or 4, 8, 16 and 64 of two types in turn. Its pods go over
the cards in turn, in a mix of three shapes: app only; sidecar + app on one card; an
init that is done + app. The same arguments always give the same cluster.
"""

import argparse
import sys
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

import orjson

from benchmarks.layout import (
    CARD_MEMORY_MIB,
    LAYOUTS,
    SLOTS_PER_CARD,
    UNIFORM,
    Cards,
    ClusterPlan,
    card_uuid,
    node_name,
)

__all__ = [
    "CARDS_PER_NODE",
    "CARD_MEMORY_MIB",
    "LEAST_HELD_MIB",
    "PODS_PER_NODE",
    "SLOTS_PER_CARD",
    "Manifest",
    "make_cluster",
    "node_name",
    "sent_nodes",
    "to_create",
]

CARDS_PER_NODE: Final = LAYOUTS[UNIFORM][0].count
PODS_PER_NODE: Final = 8

LEAST_HELD_MIB: Final = 12_288
"""Every card holds at least this much when each has a pod."""

Manifest = dict[str, Any]
"""One Kubernetes object, as JSON."""

Container = tuple[str, int, Manifest]
"""Name, MiB on one card, and present state."""

_BOUND_AT: Final = 1_767_225_600
_SANDBOX_UP: Final = "2026-01-01T00:00:02Z"
_INIT_DONE: Final = "2026-01-01T00:05:00Z"
_APP_STARTED: Final = "2026-01-01T00:05:02Z"
_RUNNING: Final[Manifest] = {"running": {"startedAt": _APP_STARTED}}
_DONE: Final[Manifest] = {
    "terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": _INIT_DONE}
}


def make_cluster(
    node_count: int, pods_per_node: int = PODS_PER_NODE, layout: str = UNIFORM
) -> Manifest:
    """Make a ``v1 List`` of nodes and their running GPU pods.

    Args:
        node_count: Nodes.
        pods_per_node: GPU pods on each; up to 24 fit in the memory of 8 cards.
        layout: Which cards the nodes have, of `benchmarks.layout.LAYOUTS`.

    Cost: about 1.5 KiB of JSON a pod and 2 KiB a node of 8 cards.
    """
    plan = ClusterPlan(node_count, pods_per_node, layout)
    items = []
    for node_number, cards in enumerate(plan.all_cards()):
        items.append(_node(node_number, cards))
        items.extend(
            _pod(node_number, number, cards) for number in range(pods_per_node)
        )
    return {"apiVersion": "v1", "kind": "List", "items": items}


def sent_nodes(plan: ClusterPlan) -> dict[str, Manifest]:
    """Make the nodes of `make_cluster`, by name, as kube-scheduler sends them."""
    made = (_node(number, cards) for number, cards in enumerate(plan.all_cards()))
    return {
        node["metadata"]["name"]: {
            key: value
            for key, value in node.items()
            if key not in ("kind", "apiVersion")
        }
        for node in made
    }


def to_create(listed: Manifest) -> Manifest:
    """Turn a list of objects into one that ``kubectl create`` takes.

    Namespaces come first. An API server gives every object a UID and a version of its
    own, and makes every pod Pending, but the allocations stay. So pods' statuses are
    left out: ``kubectl`` would look for the image of each container in them.
    """
    items = []
    namespaces = set()
    for item in listed["items"]:
        metadata = dict(item["metadata"])
        for given in ("uid", "resourceVersion"):
            metadata.pop(given, None)
        created = {**item, "metadata": metadata}
        if item["kind"] == "Pod":
            created.pop("status", None)
        items.append(created)
        namespaces.add(metadata.get("namespace"))
    made = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in sorted(filter(None, namespaces))
    ]
    return {**listed, "items": [*made, *items]}


def _node(node_number: int, cards: Cards) -> Manifest:
    name = node_name(node_number)
    register = [_card(node_number, index, cards) for index in range(cards.count)]
    slots = str(cards.count * SLOTS_PER_CARD)
    resources = {
        "cpu": "128",
        "memory": "1024Gi",
        "pods": "110",
        "nvidia.com/gpu": slots,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": _uid(name),
            "resourceVersion": str(1_000 + node_number),
            "labels": {"gpu": "on", "kubernetes.io/hostname": name},
            "annotations": {
                "hami.io/node-nvidia-register": orjson.dumps(register).decode()
            },
        },
        "spec": {},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _card(node_number: int, index: int, cards: Cards) -> Manifest:
    """Register one card as the device plugin does, which leaves out what is zero."""
    card: Manifest = {"id": card_uuid(node_number, index), "index": index}
    card |= {"count": SLOTS_PER_CARD, "devmem": CARD_MEMORY_MIB, "devcore": 100}
    card |= {"type": cards.type, "numa": index // 4}
    card |= {"mode": "hami-core", "health": True}
    return {key: value for key, value in card.items() if value}


def _pod(node_number: int, number: int, cards: Cards) -> Manifest:
    inits, apps = _containers(node_number, number)
    held_card = card_uuid(node_number, number % cards.count)
    name = f"job-{node_number:05}-{number}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": f"team-{number % 5}",
            "uid": _uid(name),
            "resourceVersion": str(100_000 + node_number * 100 + number),
            "labels": {"hami.io/vgpu-node": node_name(node_number)},
            "annotations": _allocation_annotations(
                node_name(node_number), held_card, [*inits, *apps]
            ),
        },
        "spec": {
            "nodeName": node_name(node_number),
            "schedulerName": "gpu-scheduler",
            "initContainers": [_spec(container) for container in inits],
            "containers": [_spec(container) for container in apps],
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {
                    "type": "PodReadyToStartContainers",
                    "status": "True",
                    "lastTransitionTime": _SANDBOX_UP,
                }
            ],
            "initContainerStatuses": [_status(container) for container in inits],
            "containerStatuses": [_status(container) for container in apps],
        },
    }


def _containers(
    node_number: int, number: int
) -> tuple[list[Container], list[Container]]:
    """Give a pod its initContainers and its containers."""
    app_mib = LEAST_HELD_MIB + 1_024 * ((7 * node_number + 3 * number) % 8)
    app: Container = ("app", app_mib, _RUNNING)
    match number % 3:
        case 0:
            return [], [app]
        case 1:
            return [("sidecar", 4_096, _RUNNING)], [app]
        case _:
            return [("prepare", 2 * app_mib, _DONE)], [app]


def _allocation_annotations(
    on_node: str, held_card: str, containers: list[Container]
) -> dict[str, str]:
    return {
        "hami.io/bind-phase": "success",
        "hami.io/bind-time": str(_BOUND_AT),
        "hami.io/vgpu-node": on_node,
        "hami.io/vgpu-time": str(_BOUND_AT),
        "hami.io/vgpu-devices-allocated": "".join(
            f"{held_card},NVIDIA,{memory_mib},0:;" for _, memory_mib, _ in containers
        ),
        "hami.io/vgpu-devices-to-allocate": ";" * len(containers),
    }


def _spec(container: Container) -> Manifest:
    name, memory_mib, _ = container
    spec: Manifest = {"name": name, "image": "busybox:1.37"}
    if name == "sidecar":
        spec["restartPolicy"] = "Always"
    asked = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": str(memory_mib)}
    return spec | {"resources": {"limits": asked, "requests": asked}}


def _status(container: Container) -> Manifest:
    name, _, state = container
    return {
        "name": name,
        "ready": True,
        "restartCount": 0,
        "started": "running" in state,
        "state": state,
    }


def _uid(name: str) -> str:
    return str(uuid5(NAMESPACE_URL, name))


def main() -> None:
    """Write a cluster as JSON to the standard output."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods-per-node", type=int, default=PODS_PER_NODE)
    parser.add_argument(
        "--cards",
        choices=LAYOUTS,
        default=UNIFORM,
        help="8 on each node, or 4, 8, 16 and 64 in turn (default: 8)",
    )
    parser.add_argument(
        "--to-create",
        action="store_true",
        help="leave out what an API server gives, and add the namespaces",
    )
    arguments = parser.parse_args()
    cluster = make_cluster(arguments.nodes, arguments.pods_per_node, arguments.cards)
    if arguments.to_create:
        cluster = to_create(cluster)
    sys.stdout.buffer.write(orjson.dumps(cluster))


if __name__ == "__main__":
    main()
