"""Many pods at once, asking for more than there is."""

import asyncio
from collections import Counter
from typing import Final

from extender.core.container import Lifetime
from extender.core.node import Device
from extender.core.pod_request import ContainerRequest, PodRequest
from extender.core.usage import Usage
from tests.builders import Json, NodeBuilder, PodBuilder, node, pod
from tests.control_plane.client import Api
from tests.control_plane.cluster import Cluster
from tests.control_plane.recomputed import cards_of, charge_of
from tests.oracles import Loaded, Placed, kubelet_slots, place_greedily

PIECE: Final = 2_000
"""MiB of every container that asks. A pod of either shape keeps two, on any cards of
its node, so a node holds half as many pods as its cards hold pieces, and every order of
placing ends with the same number of pods."""

PODS: Final = 100
SECONDS: Final = 120.0


def nodes() -> list[NodeBuilder]:
    """Describe four nodes with 24, 24, 26 and 26 pieces: half of what is asked for."""
    return [
        node(f"n{number}")
        .gpu(f"GPU-{number}-a", memory=pieces * PIECE, count=20)
        .gpu(f"GPU-{number}-b", memory=(pieces + 1) * PIECE - 1, count=20)
        for number, pieces in enumerate((12, 12, 13, 13))
    ]


def asking(number: int) -> PodBuilder:
    """Describe a pod: two apps, or a sidecar and an app after an init."""
    if number % 2:
        return (
            pod(f"two-apps-{number}")
            .app("a", gpu=1, gpumem=PIECE)
            .app("b", gpu=1, gpumem=PIECE)
        )
    return (
        pod(f"with-sidecar-{number}")
        .init("i", gpu=1, gpumem=PIECE)
        .sidecar("s", gpu=1, gpumem=PIECE)
        .app("a", gpu=1, gpumem=PIECE)
    )


def request() -> PodRequest:
    """Say the same as `asking` for the oracle: what a pod keeps."""
    lifetimes = (Lifetime.SIDECAR, Lifetime.APP)
    piece = ContainerRequest(1, PIECE)
    slots = kubelet_slots(lifetimes, [piece, piece])
    return PodRequest("NVIDIA", lifetimes, (piece, piece), kubelet_slots=slots)


def most_pods(shown: Json) -> int:
    """Count by the oracle, one pod after another, how many a node can hold."""
    loaded: list[Loaded] = [
        (Device(uuid, index, card.capacity, "NVIDIA A10"), Usage())
        for index, (uuid, card) in enumerate(cards_of(shown).items())
    ]
    allocatable = int(shown["status"]["allocatable"]["nvidia.com/gpu"])
    slots = number = 0
    wanted = request()
    while isinstance(
        placed := place_greedily(loaded, allocatable, slots, wanted), Placed
    ):
        loaded = [(device, placed.peak[device.device_uuid]) for device, _ in loaded]
        slots += wanted.kubelet_slots
        number += 1
    return number


async def test_burst_fills_the_cluster_and_no_more(cluster: Cluster) -> None:
    """Of 100 pods as many are bound as can be, and no card is ever over capacity."""
    builders = nodes()
    for builder in builders:
        await cluster.add(builder)
    expected = {builder.name: most_pods(builder.build()) for builder in builders}
    assert expected == {"n0": 12, "n1": 12, "n2": 13, "n3": 13}
    some = asyncio.Semaphore(16)

    async def submit(number: int) -> Json:
        async with some:
            return await cluster.submit(asking(number))

    created = await asyncio.gather(*map(submit, range(PODS)))
    bound = await when_bound(cluster.api, sum(expected.values()))
    assert Counter(one["spec"]["nodeName"] for one in bound) == expected
    names = {one["metadata"]["name"] for one in bound}
    left = [one for one in created if one["metadata"]["name"] not in names]
    for one in left:
        said = await cluster.refused(one)
        assert said.startswith("0/4 nodes are available: 4 CardInsufficientMemory. ")
    for one in bound:
        shown = await cluster.placed(one)
        memory = sum(held.memory_mib for held in charge_of(shown).values())
        assert memory == 2 * PIECE
    assert len(await when_bound(cluster.api, len(bound))) == len(bound)
    assert cluster.observer.events > 3 * len(bound)


async def when_bound(api: Api, number: int) -> list[Json]:
    """Wait until at least so many pods are bound, and give them."""
    async with asyncio.timeout(SECONDS):
        while True:
            listed = await api.get("/api/v1/pods")
            bound = [one for one in listed["items"] if "nodeName" in one["spec"]]
            if len(bound) >= number:
                return bound
            version = listed["metadata"]["resourceVersion"]
            await anext(api.watch("/api/v1/pods", resourceVersion=version))
