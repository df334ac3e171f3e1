"""The bytes of what kube-scheduler asks, and of a pod before anybody asks.

Every question is about a pod of its own. Whether its *request* was seen before is the
asker's choice: pods of one Deployment all ask the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import orjson

from benchmarks.cluster import Manifest
from benchmarks.layout import ClusterPlan, node_name
from benchmarks.shapes import Shape

NAMESPACE: Final = "benchmark"


def shuffled(node_names: Sequence[str], number: int) -> list[str]:
    """Put the candidates in an order of the question's own, the same in every run.

    kube-scheduler collects them from workers that run side by side, so no two pods are
    sent the same list.
    """
    order = np.random.default_rng(number).permutation(len(node_names))
    return [node_names[each] for each in order.tolist()]


@dataclass(frozen=True, slots=True)
class Question:
    """One pod that is asked about.

    Attributes:
        shape: What kind of pod.
        plan: The cluster that it is to be placed on.
        number: Names the pod; no two questions share it.
        request_number: What the shape makes the request of. With the same one, two
            pods ask for the same.
    """

    shape: Shape
    plan: ClusterPlan
    number: int
    request_number: int

    @property
    def pod_name(self) -> str:
        """Name the pod."""
        kind = self.shape.name.replace(" + ", "-").replace(" ", "-")
        return f"{kind}-{self.number:05}"

    @property
    def pod_uid(self) -> str:
        """Give the pod's UID, which follows from its name."""
        return str(uuid5(NAMESPACE_URL, self.pod_name))

    def fitting(self) -> list[str]:
        """Name the nodes that can hold the pod, in the order of all names."""
        numbers = self.shape.fitting(self.plan, self.request_number)
        return [node_name(number) for number in numbers]

    def pod(self) -> Manifest:
        """Make the pod as kube-scheduler sends it."""
        inits, apps = self.shape.containers(self.request_number)
        return {
            "metadata": {
                "name": self.pod_name,
                "namespace": NAMESPACE,
                "uid": self.pod_uid,
                "resourceVersion": str(9_000_000 + self.number),
                "creationTimestamp": "2026-01-02T00:00:00Z",
                "labels": {"app": "benchmark", "pod-template-hash": "5d78c9869d"},
                "annotations": self.shape.annotations(self.plan, self.request_number),
                "ownerReferences": [_OWNER],
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

    def extender_args(
        self, node_names: Sequence[str], pod: Manifest | None = None
    ) -> bytes:
        """Encode it as kube-scheduler with ``nodeCacheCapable: true`` does.

        Args:
            node_names: The candidates.
            pod: The pod as an API server has it; made here by default.
        """
        asked = self.pod() if pod is None else pod
        return orjson.dumps({"Pod": asked, "Nodes": None, "NodeNames": node_names})

    def extender_args_of(self, nodes: Sequence[Manifest]) -> bytes:
        """Encode it as kube-scheduler with ``nodeCacheCapable: false`` does."""
        sent = {"metadata": {}, "items": nodes}
        return orjson.dumps({"Pod": self.pod(), "Nodes": sent, "NodeNames": None})

    def new_pod(self) -> bytes:
        """Encode the pod as it is created."""
        return orjson.dumps({"apiVersion": "v1", "kind": "Pod", **self.pod()})

    def binding_args(self, node: str) -> bytes:
        """Encode the question whether to bind it there."""
        return orjson.dumps(
            {
                "PodName": self.pod_name,
                "PodNamespace": NAMESPACE,
                "PodUID": self.pod_uid,
                "Node": node,
            }
        )


_OWNER: Final = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "benchmark-5d78c9869d",
    "uid": "3c1a2f0e-7d56-4f0b-9a55-0c8a1d1e5b11",
    "controller": True,
    "blockOwnerDeletion": True,
}


def _tolerated(condition: str) -> dict[str, Any]:
    return {
        "key": f"node.kubernetes.io/{condition}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
