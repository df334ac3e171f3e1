"""Settings of ``serve`` that change which nodes kube-scheduler is told of."""

import asyncio
from collections import Counter
from typing import Final

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.control_plane.client import Api, node_path
from tests.control_plane.cluster import Cluster, clustered
from tests.control_plane.extender import gpu_extender
from tests.control_plane.plane import ControlPlane
from tests.control_plane.scheduler import kube_scheduler, scheduler_name
from tests.control_plane.test_burst import when_bound

PIECE: Final = 2_000
NODES: Final = 4
PIECES: Final = 6
"""Of each node; the burst asks for half as many again as there are."""

SPREAD: Final = {"hami.io/node-scheduler-policy": "spread"}


def nodes() -> list[NodeBuilder]:
    """Describe four nodes of one card, each with room for three pods."""
    return [
        node(f"n{number}").gpu(f"GPU-{number}", memory=PIECES * PIECE, count=20)
        for number in range(NODES)
    ]


def asking(number: int) -> PodBuilder:
    """Describe a pod of two pieces; every other one prefers nodes with more room."""
    name = f"p{number:02}"
    wanted = pod(name).sidecar("s", gpu=1, gpumem=PIECE).app("a", gpu=1, gpumem=PIECE)
    return wanted.annotations(SPREAD) if number % 2 else wanted


async def test_exact_mode_places_a_burst(control_plane: ControlPlane, api: Api) -> None:
    """As many pods are bound as fit, none is lost, and no card is over capacity."""
    fitting = NODES * PIECES // 2
    async with (
        gpu_extender(control_plane, options=("--mode", "exact")) as running,
        kube_scheduler(control_plane, running.url),
        clustered(api) as cluster,
    ):
        for builder in nodes():
            await cluster.add(builder)
        created = await asyncio.gather(
            *(cluster.submit(asking(number)) for number in range(fitting * 3 // 2))
        )
        bound = await when_bound(api, fitting)
        for one in bound:
            await cluster.placed(one)
        places = Counter(one["spec"]["nodeName"] for one in bound)
        assert places == {f"n{number}": PIECES // 2 for number in range(NODES)}
        names = {one["metadata"]["name"] for one in bound}
        for one in created:
            if one["metadata"]["name"] not in names:
                said = await cluster.refused(one)
                assert said.startswith(
                    f"0/{NODES} nodes are available: {NODES} CardInsufficientMemory. "
                ), said


async def test_one_extender_for_several_scheduler_names(
    control_plane: ControlPlane, api: Api
) -> None:
    """Pods of every name are placed, and see what those of the others hold."""
    async with (
        gpu_extender(control_plane) as running,
        kube_scheduler(control_plane, running.url, more_names=("gpu-too",)),
        clustered(api) as cluster,
    ):
        for builder in nodes()[:2]:
            await cluster.add(builder)
        names = [scheduler_name(), "gpu-too"] * 3
        created = [
            await cluster.submit(asking(number), to=name)
            for number, name in enumerate(names)
        ]
        for one in created:
            await cluster.placed(one)
        for number, name in enumerate(names[:2], start=len(names)):
            late = await cluster.submit(asking(number), to=name)
            said = await cluster.refused(late)
            assert said.startswith("0/2 nodes are available: 2 CardInsufficientMemory.")


async def test_only_selected_nodes_get_pods(
    control_plane: ControlPlane, api: Api
) -> None:
    """Until another one gets the label, which the waiting pod needs not be told."""
    options = ("--node-label-selector", "gpu in (on, yes), !spot")
    async with (
        gpu_extender(control_plane, options=options) as running,
        kube_scheduler(control_plane, running.url),
        clustered(api) as cluster,
    ):
        ours, spot, bare = nodes()[:3]
        await cluster.add(ours.labels(gpu="on"))
        await cluster.add(spot.labels(gpu="on", spot="true"))
        await cluster.add(bare)
        await place_on(cluster, "n0", 3)
        waiting = await cluster.submit(asking(9))
        said = await cluster.refused(waiting)
        wanted = (
            "0/3 nodes are available: 1 CardInsufficientMemory, 2 NodeNotSelected. "
        )
        assert said.startswith(wanted), said
        change = {"metadata": {"labels": {"gpu": "yes"}}}
        await api.patch(node_path("n2"), change)
        assert (await cluster.placed(waiting))["spec"]["nodeName"] == "n2"


async def place_on(cluster: Cluster, node_name: str, count: int) -> None:
    """Place pods, all of which must come to this node."""
    for number in range(count):
        shown = await cluster.place(asking(number))
        assert shown["spec"]["nodeName"] == node_name
