"""What ``manifests`` has, installed as ``kubectl apply`` would."""

import asyncio
from pathlib import Path
from typing import Final

import yaml

from tests.builders import Json
from tests.control_plane.client import APPLY, Api, ApiError, node_path, pods_path
from tests.control_plane.plane import ControlPlane, User

MANIFESTS: Final = Path(__file__).parents[2] / "manifests"
FILES: Final = (
    "base/namespace.yaml",
    "base/rbac.yaml",
    "shadow-rbac.yaml",
    "guard/parameters.yaml",
    "guard/pods.yaml",
    "guard/nodes.yaml",
    "guard/schedulers.yaml",
)
"""What is installed, in the order of installation."""

_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_COLLECTIONS: Final = {
    "Namespace": "/api/v1/namespaces",
    "ClusterRole": f"{_RBAC}/clusterroles",
    "ClusterRoleBinding": f"{_RBAC}/clusterrolebindings",
    "ValidatingAdmissionPolicy": f"{_ADMISSION}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": (
        f"{_ADMISSION}/validatingadmissionpolicybindings"
    ),
}
_NAMESPACED: Final = {
    "ConfigMap": ("/api/v1", "configmaps"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "Role": (_RBAC, "roles"),
    "RoleBinding": (_RBAC, "rolebindings"),
}
_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.1


def documents(name: str) -> list[Json]:
    """Read a file of ``manifests``."""
    text = (MANIFESTS / name).read_text()
    return [document for document in yaml.safe_load_all(text) if document]


def path_of_document(document: Json) -> str:
    """Tell where an object is in the API."""
    kind, metadata = document["kind"], document["metadata"]
    if kind in _COLLECTIONS:
        return f"{_COLLECTIONS[kind]}/{metadata['name']}"
    root, plural = _NAMESPACED[kind]
    return f"{root}/namespaces/{metadata['namespace']}/{plural}/{metadata['name']}"


async def apply(api: Api, document: Json) -> None:
    """Write an object as it is here, whether it is there or not."""
    await api.request(
        "PATCH",
        path_of_document(document),
        body=document,
        content_type=APPLY,
        parameters={"fieldManager": "tests", "force": "true"},
    )


async def install(plane: ControlPlane) -> None:
    """Install everything, and wait until the guards stand.

    Raises:
        TimeoutError: They do not, in time.
    """
    async with Api.connected(plane) as api:
        for name in FILES:
            for document in documents(name):
                await apply(api, document)
        await guarded(api)


async def guarded(api: Api, *, is_on: bool = True) -> None:
    """Wait until forged annotations of pods and nodes are refused, or are not.

    Raises:
        TimeoutError: They still are not, or are, after a while.
    """
    containers = [{"name": "a", "image": "registry.example/work:1"}]
    metadata = {"name": "forged", "annotations": {"hami.io/vgpu-node": "n"}}
    pod = {"metadata": metadata, "spec": {"containers": containers}}
    metadata = {"name": "forged", "annotations": {"hami.io/mutex.lock": "n"}}
    node: Json = {"metadata": metadata}
    forged: dict[str, Json] = {pods_path(): pod, node_path("").rstrip("/"): node}
    async with asyncio.timeout(_SECONDS):
        for path, body in forged.items():
            while True:
                if await _passes(api, path, body) is not is_on:
                    break
                await asyncio.sleep(_POLL_SECONDS)


async def _passes(api: Api, path: str, body: Json) -> bool:
    try:
        await api.acting_as(User.NOBODY).request(
            "POST", path, body=body, parameters={"dryRun": "All"}
        )
    except ApiError:
        return False
    return True
