"""Events on pods that wait, beside those of kube-scheduler itself."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Final

import pytest_asyncio

from extender.observe.pod_events import EventSettings
from tests.builders import node, pod
from tests.control_plane.caller import calling
from tests.control_plane.client import Api
from tests.control_plane.cluster import Cluster
from tests.control_plane.events import all_events, count_of, events_of, printed
from tests.control_plane.extender import GpuExtender
from tests.control_plane.plane import ControlPlane, User
from tests.control_plane.scheduler import kube_scheduler
from tests.control_plane.tuned import tuned_extender

GIB: Final = 1024
PODS: Final = 100
PATIENCE_SECONDS: Final = 60.0
TUNED: Final = EventSettings(
    least_seconds=1.0, most_per_second=5.0, most_at_once=10, look_seconds=0.2
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def extender(
    shared_control_plane: ControlPlane,
) -> AsyncIterator[GpuExtender]:
    """Run an extender whose minute is a second, with the rights of the manifests."""
    kubeconfig = shared_control_plane.kubeconfig(User.EXTENDER)
    async with (
        tuned_extender(shared_control_plane, kubeconfig, events=TUNED) as running,
        kube_scheduler(shared_control_plane, running.url),
    ):
        yield running


async def test_refused_pod_is_told(api: Api, cluster: Cluster) -> None:
    """One series, whose count grows; without names of nodes and cards."""
    for name in ("n1", "n2"):
        await cluster.add(node(name).gpu(f"GPU-{name}", memory=24 * GIB))
    created = await cluster.submit(pod("p").app("a", gpu=1, gpumem=25 * GIB))
    (event,) = await events_of(api, created)
    note = (
        "0/2 nodes fit: 2 CardInsufficientMemory; 2 would not even without other pods; "
        "would fit on one node if one card had 1024 MiB more"
    )
    assert (event["type"], event["reason"]) == ("Warning", "FailedGPUScheduling")
    assert event["note"] == note
    # kube-scheduler has tried twice by now, or does so in a moment.
    (series,) = await events_of(api, created, times=2)
    assert series["metadata"]["name"] == event["metadata"]["name"]
    told = [
        one
        for one in await printed(api, created)
        if one["Reason"] == "FailedGPUScheduling"
    ]
    assert [(one["Type"], one["Object"]) for one in told] == [("Warning", "pod/p")]
    assert told[0]["Message"] == note
    assert int(told[0]["Count"]) == count_of(series)
    shown = str({**series, "metadata": None})
    assert not any(name in shown for name in ("n1", "n2", "GPU-n1", "GPU-n2"))


async def test_pod_without_gpus_is_told_nothing(
    api: Api, cluster: Cluster, extender: GpuExtender
) -> None:
    """Whatever is asked about it."""
    await cluster.add(node("n1").gpu("GPU-a", memory=24 * GIB))
    created = await api.create_pod(pod("plain").app("a").build())
    marked = await cluster.submit(pod("p").app("a", gpu=2))
    async with calling(extender.url) as caller:
        await caller.filter(created, ["n1"])
    await events_of(api, marked)
    told = {event["regarding"]["name"] for event in await all_events(api)}
    assert "plain" not in told


async def test_burst_stays_within_the_rate(api: Api, extender: GpuExtender) -> None:
    """However many pods are refused at once: some Events, then a few a second."""
    await api.create_node(node("n1").gpu("GPU-a", memory=24 * GIB).build())
    asking = [pod(f"p{number}").app("a", gpu=2) for number in range(PODS)]
    created = await asyncio.gather(*(api.create_pod(one.build()) for one in asking))
    before, began = len(await all_events(api)), time.monotonic()
    async with calling(extender.url) as caller:
        for _ in range(3):
            for each in created:
                await caller.filter(each, ["n1"])
    while True:
        told = len(await all_events(api)) - before
        seconds = time.monotonic() - began
        assert told <= TUNED.most_at_once + TUNED.most_per_second * seconds
        if told >= 3 * TUNED.most_at_once:
            break
        assert seconds < PATIENCE_SECONDS
        await asyncio.sleep(0.1)
