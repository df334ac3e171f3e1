"""kube-scheduler places GPU pods through the extender, and each gets what it asked."""

from typing import Final

from tests.builders import node, pod
from tests.control_plane.client import path_of
from tests.control_plane.cluster import Cluster
from tests.control_plane.playing import Play
from tests.control_plane.plugin import VGPU_NODE
from tests.control_plane.recomputed import rows_held

GIB: Final = 1024
CARD: Final = 24 * GIB

NO_MEMORY: Final = (
    "0/1 nodes are available: 1 CardInsufficientMemory. no new claims to deallocate, "
    "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming "
    "pod."
)


async def test_sidecar_and_app_are_charged_together(cluster: Cluster) -> None:
    """12 GiB wait beside a sidecar of 10 and an app of 10, until these have ended."""
    kubelet = await cluster.add(node("n1").gpu("GPU-a", memory=CARD))
    both = pod("both").sidecar("s", gpu=1, gpumem=10 * GIB)
    await cluster.place(both.app("a", gpu=1, gpumem=10 * GIB))
    waiting = await cluster.submit(pod("waiting").app("a", gpu=1, gpumem=12 * GIB))
    assert await cluster.refused(waiting) == NO_MEMORY
    await kubelet.stage.finish("both")
    await cluster.placed(waiting)


async def test_memory_is_left_to_the_last_mib(cluster: Cluster) -> None:
    """Beside a sidecar of 10 GiB and an app of 10, exactly 4 GiB can be had."""
    await cluster.add(node("n1").gpu("GPU-a", memory=CARD))
    both = pod("both").sidecar("s", gpu=1, gpumem=10 * GIB)
    await cluster.place(both.app("a", gpu=1, gpumem=10 * GIB))
    await cluster.exactly_left(4 * GIB)


async def test_containers_without_a_gpu_have_empty_rows(cluster: Cluster) -> None:
    """They may stand before, between and after those with one, of every kind."""
    kubelet = await cluster.add(
        node("n1").gpu("GPU-a", memory=CARD).gpu("GPU-b", memory=CARD)
    )
    asking = (
        pod("p")
        .sidecar("logs")
        .init("fetch", gpu=1, gpumem=2 * GIB)
        .init("check")
        .sidecar("cache", gpu=1, gpumem=GIB)
        .sidecar("mesh")
        .app("front")
        .app("model", gpu=2, percentage=30, cores=40)
        .app("small", gpu=1, gpumem=GIB, cores=10)
        .app("metrics")
    )
    rows = rows_held(await cluster.place(asking))
    assert [len(row) for row in rows] == [0, 1, 0, 1, 0, 0, 2, 1, 0]
    assert [served.container for served in kubelet.served] == [1, 3, 6, 7]


async def test_container_that_names_no_memory_gets_the_whole_card(
    cluster: Cluster,
) -> None:
    """Two such containers get two cards, and then nothing is left on either."""
    await cluster.add(node("n1").gpu("GPU-a", memory=CARD).gpu("GPU-b", memory=CARD))
    await cluster.place(pod("p").sidecar("s", gpu=1).app("a", gpu=1))
    for card in ("GPU-a", "GPU-b"):
        await cluster.exactly_left(0, on=card)


async def test_sidecar_and_init_share_several_cards(cluster: Cluster) -> None:
    """Each of two cards is charged 20 GiB while the init holds, and 12 afterwards."""
    kubelet = await cluster.add(
        node("n1").gpu("GPU-a", memory=CARD).gpu("GPU-b", memory=CARD), play=Play.WAIT
    )
    asking = (
        pod("p")
        .sidecar("s", gpu=2, gpumem=4 * GIB)
        .init("i", gpu=2, gpumem=16 * GIB)
        .app("a", gpu=2, gpumem=8 * GIB)
    )
    await cluster.place(asking)
    for card in ("GPU-a", "GPU-b"):
        await cluster.exactly_left(4 * GIB, on=card)
    await kubelet.stage.run("p", "i")
    await kubelet.stage.exit("p", "i", 0)
    for card in ("GPU-a", "GPU-b"):
        await cluster.exactly_left(8 * GIB, on=card)


async def test_sidecar_on_one_card_of_its_init(cluster: Cluster) -> None:
    """Each card has a peak of its own: the init is alone on one of its two."""
    kubelet = await cluster.add(
        node("n1").gpu("GPU-a", memory=CARD).gpu("GPU-b", memory=CARD), play=Play.WAIT
    )
    asking = (
        pod("p")
        .sidecar("s", gpu=1, gpumem=6 * GIB)
        .init("i", gpu=2, gpumem=10 * GIB)
        .app("a", gpu=2, gpumem=8 * GIB)
    )
    rows = rows_held(await cluster.place(asking))
    shared = rows[0][0].uuid
    (alone,) = {"GPU-a", "GPU-b"} - {shared}
    await cluster.exactly_left(24 * GIB - 16 * GIB, on=shared)
    await cluster.exactly_left(24 * GIB - 10 * GIB, on=alone)
    await kubelet.stage.run("p", "i")
    await kubelet.stage.exit("p", "i", 0)
    await cluster.exactly_left(2 * GIB, on=shared)
    await cluster.exactly_left(2 * GIB, on=alone)


async def test_node_name_longer_than_a_label(cluster: Cluster) -> None:
    """Its pod gets no label, which would spoil every later write, and is served."""
    name = f"gpu-node-{'a' * 40}.rack-{'b' * 20}.example.com"
    await cluster.add(node(name).gpu("GPU-a"))
    shown = await cluster.place(pod("p").app("a", gpu=1, gpumem=GIB))
    assert VGPU_NODE not in shown["metadata"].get("labels", {})
    change = {"metadata": {"labels": {"still": "writable"}}}
    await cluster.api.patch(path_of(shown), change)


async def test_label_names_the_node(cluster: Cluster) -> None:
    """The monitor on the node finds its pods by it."""
    await cluster.add(node("n1").gpu("GPU-a"))
    shown = await cluster.place(pod("p").app("a", gpu=1, gpumem=GIB))
    assert shown["metadata"]["labels"][VGPU_NODE] == "n1"


async def test_pod_that_names_nothing_but_memory_is_placed(cluster: Cluster) -> None:
    """The webhook adds a card to each container, and brings it to our scheduler."""
    await cluster.add(node("n1").gpu("GPU-a", memory=CARD))
    asking = pod("p").init("i", gpumem=20 * GIB).app("a", gpumem=3 * GIB)
    created = await cluster.submit(asking, to="default-scheduler")
    assert created["spec"]["schedulerName"] == "gpu-scheduler"
    held = rows_held(await cluster.placed(created))
    amounts = [share.memory_mib for row in held for share in row]
    assert amounts == [20 * GIB, 3 * GIB]
