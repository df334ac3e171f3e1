"""A pod that was refused is placed soon after there is room, even if we hear late.

The extender's watches pass a proxy that delays them, so that kube-scheduler asks before
the extender knows; and nothing else happens that would make kube-scheduler ask again.
"""

from collections.abc import AsyncIterator
from typing import Final

import pytest_asyncio

from tests.builders import PodBuilder, node, pod
from tests.control_plane.client import pod_path
from tests.control_plane.cluster import Cluster
from tests.control_plane.extender import GpuExtender, gpu_extender
from tests.control_plane.kubelet import Kubelet
from tests.control_plane.plane import ControlPlane
from tests.control_plane.proxy import NODES, PODS, ApiProxy, Held, proxied
from tests.control_plane.scheduler import kube_scheduler

GIB: Final = 1024
CARD: Final = 24 * GIB

SOON: Final = 15.0
"""Seconds from when there is room; kube-scheduler would take up to five minutes."""

LATE: Final = 3.0
NEVER: Final = 3_600.0


@pytest_asyncio.fixture
async def proxy(control_plane: ControlPlane) -> AsyncIterator[ApiProxy]:
    """Run a proxy to the control plane."""
    async with proxied(control_plane) as running:
        yield running


@pytest_asyncio.fixture
async def extender(
    control_plane: ControlPlane, proxy: ApiProxy
) -> AsyncIterator[GpuExtender]:
    """Run an extender behind the proxy."""
    async with (
        gpu_extender(control_plane, kubeconfig=proxy.kubeconfig) as running,
        kube_scheduler(control_plane, running.url),
    ):
        yield running


def app(name: str, gib: int) -> PodBuilder:
    """Ask for memory in one app."""
    return pod(name).app("a", gpu=1, gpumem=gib * GIB)


async def test_room_that_is_heard_of_late(cluster: Cluster, proxy: ApiProxy) -> None:
    """With the pod watch 3 s late, a pod is bound within 15 s of another's end."""
    kubelet = await cluster.add(node("n1").gpu("GPU-a", memory=CARD))
    await cluster.place(app("first", 20))
    proxy.delay(PODS, LATE)
    waiting = await cluster.submit(app("waiting", 20))
    await cluster.refused(waiting, times=2)
    await kubelet.stage.finish("first")
    await cluster.placed(waiting, seconds=SOON)


async def test_room_after_a_pod_that_was_woken(
    cluster: Cluster, proxy: ApiProxy
) -> None:
    """A woken pod is counted once, even if it is bound before its touch is answered."""
    kubelet = await cluster.add(node("n1").gpu("GPU-a", memory=CARD))
    await cluster.place(app("small", 4))
    await cluster.place(app("first", 20))
    answer = Held(is_carried_out=True)
    with proxy.fault(lambda *asked: asked == ("PATCH", pod_path("woken")), answer):
        await placed_though_room_is_late(
            cluster, proxy, kubelet, "small", app("woken", 4)
        )
        answer.release()
    await placed_though_room_is_late(
        cluster, proxy, kubelet, "first", app("waiting", 20)
    )


async def placed_though_room_is_late(
    cluster: Cluster, proxy: ApiProxy, kubelet: Kubelet, ends: str, asking: PodBuilder
) -> None:
    """End a pod, have another refused before that is known, and see it placed soon."""
    proxy.delay(PODS, NEVER)
    await kubelet.stage.finish(ends)
    waiting = await cluster.submit(asking)
    await cluster.refused(waiting, times=2)
    proxy.delay(PODS, 0)
    await cluster.placed(waiting, seconds=SOON)


async def test_node_that_is_heard_of_late(cluster: Cluster, proxy: ApiProxy) -> None:
    """A pod that was refused on a node that was not known yet is bound there soon."""
    await cluster.add(node("n1").gpu("GPU-a", memory=8 * GIB))
    proxy.delay(NODES, NEVER)
    await cluster.add(node("n2").gpu("GPU-b", memory=CARD))
    waiting = await cluster.submit(app("waiting", 20))
    await cluster.refused(waiting, times=2)
    proxy.delay(NODES, 0)
    await cluster.placed(waiting, seconds=SOON)
