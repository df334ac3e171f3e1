"""Objects as large as an API server shows them.

`benchmarks.cluster` writes what decides, which is a fifth of a real object. The rest
has to be read and passed over all the same: images, managed fields, volumes,
conditions, what kubelet tells of each container.
"""

from collections.abc import Iterator
from typing import Final
from uuid import NAMESPACE_URL, uuid5

import orjson

from benchmarks.cluster import Manifest
from benchmarks.layout import node_name

_CREATED: Final = "2026-01-01T00:00:00Z"
_IMAGES_PER_NODE: Final = 50
"""kubelet tells of so many at most, and every GPU node has as many."""

_DIGEST: Final = "9ae97d36d26566ff84e8893c64a6dc4fe8ca6d1144bf5b87b2b85a32def253c7"


def node_as_shown(node: Manifest) -> Manifest:
    """Add what kubelet and controllers write on a node: 15 KiB in all."""
    metadata = node["metadata"]
    return node | {
        "metadata": metadata
        | {
            "creationTimestamp": _CREATED,
            "labels": metadata["labels"] | _NODE_LABELS,
            "managedFields": _NODE_FIELDS,
        },
        "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]},
        "status": node["status"]
        | {
            "addresses": [
                {"type": "InternalIP", "address": "192.0.2.7"},
                {"type": "Hostname", "address": metadata["name"]},
            ],
            "conditions": _NODE_CONDITIONS,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10_250}},
            "nodeInfo": _NODE_INFO,
            "images": _NODE_IMAGES,
        },
    }


def pod_as_shown(pod: Manifest) -> Manifest:
    """Add what admission, controllers and kubelet write on a pod: 6 KiB in all."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod["status"]
    return pod | {
        "metadata": metadata
        | {
            "creationTimestamp": _CREATED,
            "labels": metadata.get("labels", {}) | _POD_LABELS,
            "ownerReferences": _OWNERS,
            "managedFields": _POD_FIELDS,
        },
        "spec": spec
        | _POD_SPEC
        | {
            key: [container | _CONTAINER for container in spec.get(key, ())]
            for key in ("initContainers", "containers")
        },
        "status": status
        | _POD_STATUS
        | {
            "conditions": [*status.get("conditions", ()), *_POD_CONDITIONS],
            **{
                key: [shown | _CONTAINER_STATUS for shown in status.get(key, ())]
                for key in ("initContainerStatuses", "containerStatuses")
            },
        },
    }


def plain_pod(number: int, node_count: int) -> Manifest:
    """Make a running pod that asks for no GPU, as they come; one container."""
    name = f"web-{number:06}"
    asked = {"cpu": "250m", "memory": "512Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": f"web-{number % 50}",
            "uid": str(uuid5(NAMESPACE_URL, name)),
            "resourceVersion": str(1_000_000 + number),
            "annotations": {"prometheus.io/scrape": "true"},
        },
        "spec": {
            "nodeName": node_name(number % node_count),
            "schedulerName": "default-scheduler",
            "containers": [
                {
                    "name": "app",
                    "image": "registry.example.internal/web/app:1.37.2",
                    "resources": {"limits": asked, "requests": asked},
                }
            ],
        },
        "status": {
            "phase": "Running",
            "containerStatuses": [
                {
                    "name": "app",
                    "ready": True,
                    "restartCount": 0,
                    "started": True,
                    "state": {"running": {"startedAt": _CREATED}},
                }
            ],
        },
    }


def _encoded(value: object) -> orjson.Fragment:
    """Encode what is the same in every object once, for all of them."""
    return orjson.Fragment(orjson.dumps(value))


def _condition(kind: str, *, status: str = "True", reason: str = "") -> Manifest:
    shown = {"lastTransitionTime": _CREATED, "status": status, "type": kind}
    return shown | ({"reason": reason, "message": reason} if reason else {})


def _managed(manager: str, *paths: str, subresource: str = "") -> Manifest:
    """Make one entry of managedFields; a path is fields with blanks between them."""
    fields: Manifest = {}
    for path in paths:
        at = fields
        for key in path.split():
            at = at.setdefault(f"f:{key}", {})
    entry = {
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "manager": manager,
        "operation": "Update",
        "time": _CREATED,
    }
    return entry | ({"subresource": subresource} if subresource else {})


def _paths(under: str, keys: str) -> Iterator[str]:
    return (f"{under} {key}" for key in keys.split())


_NODE_LABELS: Final = {
    "beta.kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/os": "linux",
    "node.kubernetes.io/instance-type": "a100.8xlarge",
    "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
    "nvidia.com/gpu.count": "8",
    "nvidia.com/cuda.driver.major": "550",
    "topology.kubernetes.io/region": "region-1",
    "topology.kubernetes.io/zone": "region-1a",
}
_NODE_INFO: Final = _encoded(
    {
        "architecture": "amd64",
        "bootID": "3c1a2f0e-7d56-4f0b-9a55-0c8a1d1e5b11",
        "containerRuntimeVersion": "containerd://2.0.2",
        "kernelVersion": "6.8.0-51-generic",
        "kubeProxyVersion": "",
        "kubeletVersion": "v1.34.1",
        "machineID": "0f0c7cf1e27e4b0bbd8dbb6a5a4d4e6b",
        "operatingSystem": "linux",
        "osImage": "Ubuntu 24.04.1 LTS",
        "systemUUID": "4c4c4544-0043-3510-8052-b4c04f4d3533",
    }
)
_NODE_CONDITIONS: Final = _encoded(
    [
        _condition(kind, status=status, reason=f"Kubelet{kind}IsAsItShouldBe")
        for kind, status in (
            ("MemoryPressure", "False"),
            ("DiskPressure", "False"),
            ("PIDPressure", "False"),
            ("Ready", "True"),
        )
    ]
)
_NODE_IMAGES: Final = _encoded(
    [
        {
            "names": [
                f"registry.example.internal/team-{number}/train@sha256:{_DIGEST}",
                f"registry.example.internal/team-{number}/train:2026.01.{number}",
            ],
            "sizeBytes": 8_000_000_000 + number,
        }
        for number in range(_IMAGES_PER_NODE)
    ]
)
_NODE_FIELDS: Final = _encoded(
    [
        _managed(
            "kube-controller-manager",
            *_paths("metadata annotations", ". node.alpha.kubernetes.io/ttl"),
            *_paths("spec", "podCIDR podCIDRs"),
        ),
        _managed("device-plugin", "metadata annotations hami.io/node-nvidia-register"),
        _managed(
            "kubelet",
            *_paths("status allocatable", "cpu memory pods nvidia.com/gpu"),
            *_paths("status capacity", "cpu memory pods nvidia.com/gpu"),
            *_paths("status", "conditions images nodeInfo addresses"),
            subresource="status",
        ),
    ]
)

_OWNERS: Final = _encoded(
    [
        {
            "apiVersion": "apps/v1",
            "blockOwnerDeletion": True,
            "controller": True,
            "kind": "ReplicaSet",
            "name": "workload-5d78c9869d",
            "uid": "3c1a2f0e-7d56-4f0b-9a55-0c8a1d1e5b11",
        }
    ]
)
_POD_LABELS: Final = {"app": "workload", "pod-template-hash": "5d78c9869d"}
_CONTAINER_PATH: Final = 'spec containers k:{"name":"app"}'
_POD_FIELDS: Final = _encoded(
    [
        _managed(
            "kube-controller-manager",
            "metadata generateName",
            *_paths("metadata labels", ". app pod-template-hash"),
            'metadata ownerReferences k:{"uid":"3c1a2f0e-7d56-4f0b-9a55-0c8a1d1e5b11"}',
            *_paths(
                _CONTAINER_PATH,
                "env image imagePullPolicy name ports resources terminationMessagePath "
                "terminationMessagePolicy volumeMounts",
            ),
            *_paths(f"{_CONTAINER_PATH} resources limits", "cpu memory"),
            *_paths(f"{_CONTAINER_PATH} resources requests", "cpu memory"),
            *_paths(
                "spec",
                "dnsPolicy enableServiceLinks restartPolicy schedulerName "
                "securityContext terminationGracePeriodSeconds tolerations",
            ),
        ),
        _managed(
            "kubelet",
            *(
                f'status conditions k:{{"type":"{kind}"}} {key}'
                for kind in ("ContainersReady", "Initialized", "Ready")
                for key in ("lastProbeTime", "lastTransitionTime", "status", "type")
            ),
            *_paths(
                "status",
                "containerStatuses hostIP hostIPs initContainerStatuses phase podIP "
                "podIPs startTime",
            ),
            subresource="status",
        ),
    ]
)
_POD_SPEC: Final = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "restartPolicy": "Always",
    "securityContext": {},
    "serviceAccount": "default",
    "serviceAccountName": "default",
    "terminationGracePeriodSeconds": 30,
    "tolerations": _encoded(
        [
            {
                "effect": "NoExecute",
                "key": f"node.kubernetes.io/{condition}",
                "operator": "Exists",
                "tolerationSeconds": 300,
            }
            for condition in ("not-ready", "unreachable")
        ]
    ),
    "volumes": _encoded(
        [
            {
                "name": "kube-api-access",
                "projected": {
                    "defaultMode": 420,
                    "sources": [
                        {
                            "serviceAccountToken": {
                                "expirationSeconds": 3_607,
                                "path": "token",
                            }
                        },
                        {
                            "configMap": {
                                "items": [{"key": "ca.crt", "path": "ca.crt"}],
                                "name": "kube-root-ca.crt",
                            }
                        },
                    ],
                },
            }
        ]
    ),
}
_CONTAINER: Final = {
    "env": _encoded(
        [
            {"name": name, "value": f"https://{name}.example.internal".lower()}
            for name in ("STORE", "QUEUE", "TRACES", "METRICS")
        ]
    ),
    "imagePullPolicy": "IfNotPresent",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "volumeMounts": _encoded(
        [
            {
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                "name": "kube-api-access",
                "readOnly": True,
            }
        ]
    ),
}
_POD_CONDITIONS: Final = tuple(
    _condition(kind)
    for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
)
_POD_STATUS: Final = {
    "hostIP": "192.0.2.7",
    "hostIPs": _encoded([{"ip": "192.0.2.7"}]),
    "podIP": "10.0.0.19",
    "podIPs": _encoded([{"ip": "10.0.0.19"}]),
    "qosClass": "Burstable",
    "startTime": _CREATED,
}
_CONTAINER_STATUS: Final = {
    "containerID": f"containerd://{_DIGEST}",
    "image": "registry.example.internal/team/app:1.37.2",
    "imageID": f"registry.example.internal/team/app@sha256:{_DIGEST}",
    "lastState": {},
}
