"""What an init held is free once it has exited with 0, and only then."""

from typing import Final

import pytest

from tests.builders import PodBuilder, node, pod
from tests.control_plane.cluster import Cluster
from tests.control_plane.kubelet import Kubelet
from tests.control_plane.playing import Play

GIB: Final = 1024
CARD: Final = 24 * GIB

SIDECAR_FIRST: Final = (
    pod("p")
    .sidecar("s", gpu=1, gpumem=2 * GIB)
    .init("i", gpu=1, gpumem=20 * GIB)
    .app("a", gpu=1, gpumem=10 * GIB)
)
INIT_FIRST: Final = (
    pod("p")
    .init("i", gpu=1, gpumem=20 * GIB)
    .sidecar("s", gpu=1, gpumem=2 * GIB)
    .app("a", gpu=1, gpumem=10 * GIB)
)


async def one_card(cluster: Cluster) -> Kubelet:
    """Create a node with one card, whose pods wait for the test to play them."""
    return await cluster.add(node("n1").gpu("GPU-a", memory=CARD), play=Play.WAIT)


@pytest.mark.parametrize(
    ("asking", "charged"),
    [
        pytest.param(SIDECAR_FIRST, 22 * GIB, id="sidecar first"),
        pytest.param(INIT_FIRST, 20 * GIB, id="init first"),
    ],
)
async def test_order_of_sidecar_and_init_counts(
    cluster: Cluster, asking: PodBuilder, charged: int
) -> None:
    """A sidecar runs beside the inits after it: 22 GiB or 20, and 12 afterwards."""
    kubelet = await one_card(cluster)
    await cluster.place(asking)
    await cluster.exactly_left(CARD - charged)
    await kubelet.stage.run("p", "s")
    await kubelet.stage.run("p", "i")
    await cluster.exactly_left(0)
    await kubelet.stage.exit("p", "i", 0)
    await cluster.exactly_left(charged - 12 * GIB)
    await kubelet.stage.start_apps("p")
    await cluster.exactly_left(0)


async def test_inits_are_released_one_by_one(cluster: Cluster) -> None:
    """Each exit brings the charge down to the largest phase that is still to come."""
    kubelet = await one_card(cluster)
    await cluster.place(
        pod("p")
        .init("first", gpu=1, gpumem=20 * GIB)
        .init("second", gpu=1, gpumem=15 * GIB)
        .init("third", gpu=1, gpumem=8 * GIB)
        .app("a", gpu=1, gpumem=10 * GIB)
    )
    await cluster.exactly_left(4 * GIB)
    for name, freed in (("first", 5), ("second", 5), ("third", 0)):
        await kubelet.stage.run("p", name)
        await kubelet.stage.exit("p", name, 0)
        await cluster.exactly_left(freed * GIB)


async def test_init_that_fails_holds(cluster: Cluster) -> None:
    """Its memory is taken again by its next try, so only an exit with 0 frees it."""
    kubelet = await one_card(cluster)
    await cluster.place(SIDECAR_FIRST)
    for name in ("one", "two"):
        await cluster.place(pod(name).app("a", gpu=1, gpumem=GIB))
    await kubelet.stage.run("p", "s")
    await kubelet.stage.run("p", "i")
    await kubelet.stage.exit("p", "i", 1)
    # Whoever knows of this end knows of the failure, which came before.
    await kubelet.stage.finish("one")
    await cluster.exactly_left(GIB)
    await kubelet.stage.back_off("p", "i")
    await kubelet.stage.finish("two")
    await cluster.exactly_left(GIB)
    await kubelet.stage.run("p", "i")
    await kubelet.stage.exit("p", "i", 0)
    await cluster.exactly_left(10 * GIB)


@pytest.mark.parametrize("code", [0, 1])
async def test_sidecar_that_crashes_frees_nothing(cluster: Cluster, code: int) -> None:
    """It is started again, whatever it exits with."""
    kubelet = await one_card(cluster)
    both = pod("p").sidecar("s", gpu=1, gpumem=10 * GIB)
    await cluster.place(both.app("a", gpu=1, gpumem=10 * GIB))
    for name in ("one", "two", "three"):
        await cluster.place(pod(name).app("a", gpu=1, gpumem=GIB))
    await kubelet.stage.run("p", "s")
    await kubelet.stage.start_apps("p")
    await kubelet.stage.exit("p", "s", code)
    await kubelet.stage.finish("one")
    await cluster.exactly_left(2 * GIB)
    await kubelet.stage.back_off("p", "s")
    await kubelet.stage.finish("two")
    await cluster.exactly_left(GIB)
    await kubelet.stage.run("p", "s")
    await kubelet.stage.finish("three")
    await cluster.exactly_left(GIB)


async def test_all_inits_are_sidecars(cluster: Cluster) -> None:
    """Then the charge is the steady one from the start, and stays so."""
    kubelet = await one_card(cluster)
    await cluster.place(
        pod("p")
        .sidecar("s", gpu=1, gpumem=4 * GIB)
        .sidecar("t", gpu=1, gpumem=6 * GIB)
        .app("a", gpu=1, gpumem=8 * GIB)
    )
    await cluster.exactly_left(6 * GIB)
    for name in ("s", "t"):
        await kubelet.stage.run("p", name)
    await kubelet.stage.start_apps("p")
    await cluster.exactly_left(0)
    await kubelet.stage.finish("p")
    await cluster.exactly_left(18 * GIB)


async def test_gpu_only_in_an_init(cluster: Cluster) -> None:
    """The card is whole again for others while the pod runs on without it."""
    kubelet = await one_card(cluster)
    await cluster.place(pod("p").init("i", gpu=1, gpumem=CARD).app("a"))
    await cluster.exactly_left(0)
    await kubelet.stage.run("p", "i")
    await kubelet.stage.exit("p", "i", 0)
    await kubelet.stage.start_apps("p")
    await cluster.exactly_left(CARD)


async def test_device_id_of_an_init_stays_taken(cluster: Cluster) -> None:
    """Its memory is free, but kubelet would fail a pod that needs its id."""
    kubelet = await cluster.add(
        node("n1").gpu("GPU-a", memory=CARD).allocatable(1), play=Play.WAIT
    )
    await cluster.place(pod("p").init("i", gpu=1, gpumem=CARD).app("a"))
    await kubelet.stage.run("p", "i")
    await kubelet.stage.exit("p", "i", 0)
    await kubelet.stage.start_apps("p")
    waiting = await cluster.submit(pod("waiting").app("a", gpu=1, gpumem=GIB))
    said = await cluster.refused(waiting)
    assert said.startswith("0/1 nodes are available: 1 Insufficient nvidia.com/gpu. ")
    await kubelet.stage.finish("p")
    await cluster.placed(waiting)
