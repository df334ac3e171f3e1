"""The pods that are asked about, and the bytes of kube-scheduler's question.

No two questions are about the same pod or the same amount of memory, so nothing that
a server remembers of one answers another.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

import orjson

from benchmarks.cluster import CARD_MEMORY_MIB, LEAST_HELD_MIB, Manifest

MOST_QUESTIONS: Final = 10_000
"""Questions of one shape whose amounts of memory all differ and suit the shape."""

Containers = tuple[list[Manifest], list[Manifest]]
"""initContainers and containers."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of question.

    Attributes:
        name: As the report shows it.
        fits: Whether every node of a made cluster can hold it, or none.
        containers: Builds the containers from the question's number.
    """

    name: str
    fits: bool
    containers: Callable[[int], Containers]


def _one_app(number: int) -> Containers:
    return [], [_container("app", 1_024 + number)]


def _sidecar_init_app(number: int) -> Containers:
    sidecar = _container("sidecar", 1_024 + number) | {"restartPolicy": "Always"}
    return [sidecar, _container("init", 20_480)], [_container("app", 10_240)]


def _refused(number: int) -> Containers:
    """Ask for less than a card has and more than is free on any."""
    return [], [_container("app", CARD_MEMORY_MIB - LEAST_HELD_MIB + 1 + number)]


SHAPES: Final = (
    Shape("one app", fits=True, containers=_one_app),
    Shape("sidecar + init + app", fits=True, containers=_sidecar_init_app),
    Shape("refused everywhere", fits=False, containers=_refused),
)


def filter_body(shape: Shape, number: int, node_names: Sequence[str]) -> bytes:
    """Encode ExtenderArgs as kube-scheduler with ``nodeCacheCapable: true`` does."""
    pod = _pending_pod(shape, number)
    return orjson.dumps({"Pod": pod, "Nodes": None, "NodeNames": node_names})


def _pending_pod(shape: Shape, number: int) -> Manifest:
    inits, apps = shape.containers(number)
    name = f"{shape.name.replace(' + ', '-').replace(' ', '-')}-{number:05}"
    return {
        "metadata": {
            "name": name,
            "namespace": "benchmark",
            "uid": str(uuid5(NAMESPACE_URL, name)),
            "resourceVersion": str(9_000_000 + number),
            "creationTimestamp": "2026-01-02T00:00:00Z",
            "labels": {"app": "benchmark", "pod-template-hash": "5d78c9869d"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "benchmark-5d78c9869d",
                    "uid": "3c1a2f0e-7d56-4f0b-9a55-0c8a1d1e5b11",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "initContainers": inits,
            "containers": apps,
            "volumes": [{"name": "token", "projected": {"defaultMode": 420}}],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "securityContext": {},
            "schedulerName": "gpu-scheduler",
            "tolerations": [_tolerated("not-ready"), _tolerated("unreachable")],
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def _container(name: str, memory_mib: int) -> Manifest:
    asked = {
        "cpu": "4",
        "memory": "16Gi",
        "nvidia.com/gpu": "1",
        "nvidia.com/gpumem": str(memory_mib),
    }
    return {
        "name": name,
        "image": "busybox:1.37",
        "resources": {"limits": asked, "requests": asked},
        "volumeMounts": [{"name": "token", "readOnly": True, "mountPath": "/var/run"}],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def _tolerated(condition: str) -> dict[str, Any]:
    return {
        "key": f"node.kubernetes.io/{condition}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
