"""With the extender stopped and the guards in place, the rest of a cluster goes on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from tests.builders import Json, node
from tests.control_plane.client import Api, path_of, pods_path
from tests.control_plane.component import HOST, free_port
from tests.control_plane.kubelet import Kubelet, attached
from tests.control_plane.plane import ControlPlane
from tests.control_plane.playing import Play
from tests.control_plane.scheduler import kube_scheduler, scheduler_name

NAMESPACE: Final = "gpu-extender"
LABELS: Final = {"app": "gpu-extender"}


def template(**spec: object) -> Json:
    """Make the template of a pod without devices."""
    container = {
        "name": "a",
        "image": "registry.example/work:1",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    whole = {
        "containers": [container],
        # The extender's namespace lets no other pods in.
        "securityContext": {
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "schedulerName": scheduler_name(),
        "terminationGracePeriodSeconds": 0,
        **spec,
    }
    return {"metadata": {"labels": LABELS}, "spec": whole}


@asynccontextmanager
async def scheduling(
    plane: ControlPlane, api: Api, play: Play = Play.RUN
) -> AsyncIterator[None]:
    """Run a node, and a kube-scheduler whose extender is not there."""
    await api.create_node(node("n1").build())
    nowhere = f"http://{HOST}:{free_port()}"
    async with (
        kube_scheduler(plane, nowhere),
        attached(Kubelet(api, "n1", play=play)),
    ):
        yield


async def test_our_own_deployment(control_plane: ControlPlane, api: Api) -> None:
    """The extender can be started again by Kubernetes: nothing of it needs itself."""
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": LABELS},
        "template": template(serviceAccountName="gpu-extender"),
    }
    body = {"metadata": {"name": "gpu-extender"}, "spec": spec}
    async with scheduling(control_plane, api):
        await api.request("POST", path, body=body)
        try:
            await api.when(
                f"{path}/gpu-extender", lambda each: _count(each, "readyReplicas", 2)
            )
        finally:
            await api.delete(f"{path}/gpu-extender")
            for shown in await api.items(pods_path(NAMESPACE)):
                await api.when_gone(path_of(shown))


async def test_job(control_plane: ControlPlane, api: Api) -> None:
    """Its controller adds and removes finalizers, and kubelet ends its pod."""
    path = "/apis/batch/v1/namespaces/default/jobs"
    spec = {"template": template(restartPolicy="Never")}
    async with scheduling(control_plane, api, Play.COMPLETE):
        await api.request(
            "POST", path, body={"metadata": {"name": "plain"}, "spec": spec}
        )
        try:
            await api.when(f"{path}/plain", lambda each: _count(each, "succeeded", 1))
            (shown,) = await api.items(pods_path())
            assert "finalizers" not in shown["metadata"]
        finally:
            await api.delete(f"{path}/plain")


def _count(shown: Json, what: str, wanted: int) -> bool:
    return bool(shown.get("status", {}).get(what) == wanted)
