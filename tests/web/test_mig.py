"""MIG through the real wire; the numbers are those of the cases that users reported."""

import json
import time
from typing import Any

import pytest

from extender.core.names import NodeName
from tests.builders import NodeBuilder, PodBuilder, mig_profile, node, pod
from tests.values import GPU
from tests.web.conftest import Serve
from tests.web.scheduler import ALLOCATED, Scheduler

MIG = "hami.io/vgpu-mig-allocations"
ONE = node("n1").mig("GPU-a", count=10)
INFEASIBLE = "CardMigTopologyInfeasible"


def asking(name: str = "x", **asks: int) -> PodBuilder:
    """Give a pod of one container."""
    return pod(name).app("a", **{"gpu": 1, **asks})


async def bound(
    scheduler: Scheduler, wanted: PodBuilder, node_name: str = "n1"
) -> None:
    """Create a pod and bind it."""
    await scheduler.add(wanted)
    assert await scheduler.bind(wanted, node_name) == ""


async def instances(
    scheduler: Scheduler, wanted: PodBuilder
) -> list[tuple[int, str, str, int]]:
    """List container, card, profile and first slice of a pod's instances."""
    annotations = (await scheduler.shown(wanted))["metadata"]["annotations"]
    elements: list[dict[str, Any]] = json.loads(annotations[MIG])
    assert all(
        set(each)
        == {"containerIndex", "deviceIndex", "gpuUUID", "profile", "placement"}
        for each in elements
    )
    return [
        (
            each["containerIndex"],
            each["gpuUUID"],
            each["profile"],
            each["placement"]["start"],
        )
        for each in elements
    ]


async def rows(scheduler: Scheduler, wanted: PodBuilder) -> str:
    """Give a bound pod's rows."""
    text: str = (await scheduler.shown(wanted))["metadata"]["annotations"][ALLOCATED]
    return text


async def test_60_a_two_instances_of_one_card(serve: Serve) -> None:
    """At different places; the rows carry what the profile has."""
    scheduler = await serve(ONE)
    wanted = asking(gpu=2, gpumem=4_000)
    assert (await scheduler.filter(wanted)).node_names == ["n1"]
    await bound(scheduler, wanted)
    assert await instances(scheduler, wanted) == [
        (0, "GPU-a", "1g.5gb", 6),
        (0, "GPU-a", "1g.5gb", 5),
    ]
    assert await rows(scheduler, wanted) == (
        "GPU-a,NVIDIA,5120,15:GPU-a,NVIDIA,5120,15:;"
    )


async def test_60_b_the_smallest_profile_that_is_enough(serve: Serve) -> None:
    """12,000 MiB take 20 GB, not the whole card."""
    scheduler = await serve(ONE)
    wanted = asking(gpumem=12_000)
    await bound(scheduler, wanted)
    assert await instances(scheduler, wanted) == [(0, "GPU-a", "3g.20gb", 4)]


async def test_60_c_no_place_is_free(serve: Serve) -> None:
    """Seven small instances leave memory, and none for an eighth."""
    scheduler = await serve(ONE)
    seven = asking("seven", gpu=7, gpumem=4_000)
    await bound(scheduler, seven)
    filtered = await scheduler.filter(asking(gpumem=1_000))
    assert filtered.failed == {"n1": INFEASIBLE}
    scheduler.lose_pod(seven)
    assert (await scheduler.filter(asking(gpumem=1_000))).node_names == ["n1"]


async def test_50_as_many_small_pods_as_there_are_places(serve: Serve) -> None:
    """One after another; no two have the same place."""
    scheduler = await serve(ONE)
    starts = []
    for number in range(7):
        wanted = asking(f"p{number}", gpumem=2_000)
        await bound(scheduler, wanted)
        starts += [start for *_, start in await instances(scheduler, wanted)]
    assert sorted(starts) == list(range(7))
    assert (await scheduler.filter(asking(gpumem=2_000))).failed == {"n1": INFEASIBLE}


async def test_46_topology_aware(serve: Serve) -> None:
    """Eight cards with seven places each: two different cards, and soon."""
    small = [mig_profile("1g.5gb", 5_120, 15, range(7), 1)]
    cards = node("n1")
    for number in range(8):
        cards = cards.mig(f"GPU-{number}", profiles=small)
    scores = [
        {"uuid": f"GPU-{one}", "score": {f"GPU-{other}": 10 for other in range(8)}}
        for one in range(8)
    ]
    cards = cards.annotations({"hami.io/node-nvidia-score": json.dumps(scores)})
    scheduler = await serve(cards)
    policy = {"hami.io/gpu-scheduler-policy": "topology-aware"}
    wanted = asking(gpu=2, gpumem=4_000).annotations(policy)
    began = time.monotonic()
    await bound(scheduler, wanted)
    assert time.monotonic() - began < 1
    first, second = await instances(scheduler, wanted)
    assert (first[1], second[1]) == ("GPU-0", "GPU-1")


async def test_44_type_and_mode_choose_among_cards(serve: Serve) -> None:
    """A card in MIG mode has its type as any other."""
    plain = node("n2").gpu("GPU-b", model="NVIDIA A100-SXM4-40GB", memory=40_960)
    scheduler = await serve(ONE, plain, node("n3").gpu("GPU-c"))
    wanted = asking(gpumem=4_000).annotations({"nvidia.com/use-gputype": "a100"})
    assert (await scheduler.filter(wanted)).node_names == ["n1", "n2"]
    mig = wanted.annotations({"nvidia.com/vgpu-mode": "mig"})
    assert (await scheduler.filter(mig)).node_names == ["n1"]
    plainly = wanted.annotations({"nvidia.com/vgpu-mode": "hami-core"})
    assert (await scheduler.filter(plainly)).node_names == ["n2"]


async def test_containers_stand_side_by_side_until_the_pod_ends(serve: Serve) -> None:
    """An init's instance is there as long as the pod, also once the init is over."""
    scheduler = await serve(ONE)
    wanted = pod("p").init("i", gpu=1, gpumem=20_000).app("a", gpu=1, gpumem=20_000)
    await bound(scheduler, wanted)
    assert await instances(scheduler, wanted) == [
        (0, "GPU-a", "3g.20gb", 0),
        (1, "GPU-a", "3g.20gb", 4),
    ]
    shown = as_bound(wanted, await scheduler.shown(wanted))
    scheduler.see_pod(shown.exited("i").running("a").phase("Running"))
    assert (await scheduler.filter(asking(gpumem=1_000))).failed != {}
    scheduler.see_pod(shown.exited("i").exited("a").phase("Succeeded"))
    assert (await scheduler.filter(asking(gpumem=1_000))).node_names == ["n1"]


def as_bound(wanted: PodBuilder, shown: dict[str, Any]) -> PodBuilder:
    """Give the pod as it is bound, with all that bind wrote."""
    annotations = shown["metadata"]["annotations"]
    return wanted.on(shown["spec"]["nodeName"]).annotations(annotations)


async def test_a_restart_finds_the_same_places_taken(serve: Serve) -> None:
    """All that is known of them stands on the pods."""
    shown = [ONE, node("n2").mig("GPU-b").gpu("GPU-c")]
    scheduler = await serve(*shown)
    pods = [
        (asking("p", gpu=2, gpumem=4_000), "n1"),
        (pod("q").init("i", gpu=1, gpumem=9_000).app("a", gpu=1), "n2"),
        (pod("r").app("a").app("b", gpu=2, gpumem=4_000), "n2"),
    ]
    for wanted, node_name in pods[:1] + pods[2:]:
        await bound(scheduler, wanted, node_name)
    again = await serve(*shown, *await scheduler.pods())
    for node_name in (NodeName("n1"), NodeName("n2")):
        totals = scheduler.extender.ledger.fleet.totals(node_name)
        assert totals[GPU].slices != {}
        assert again.extender.ledger.fleet.totals(node_name) == totals
    probe = asking("probe", gpumem=9_000)
    assert (await again.filter(probe)).node_names == ["n1", "n2"]
    assert await again.prioritize(probe) == await scheduler.prioritize(probe)


LEFT_OVER = {
    "of another pod": "[7]",
    "of a card": '[{"gpuUUID":"GPU-b","profile":"1g.5gb","placement":{"size":1}}]',
}


@pytest.mark.parametrize("text", LEFT_OVER.values(), ids=LEFT_OVER)
@pytest.mark.parametrize("rows", [{}, {ALLOCATED: "GPU-b,NVIDIA,1,0:;"}])
async def test_instances_that_were_there_before_do_not_stay(
    serve: Serve, text: str, rows: dict[str, str]
) -> None:
    """Else anybody could have a card count as full that the pod then gets."""
    plain = node("n2").gpu("GPU-b")
    scheduler = await serve(plain)
    wanted = asking(gpumem=4_000).annotations({MIG: text, **rows})
    await bound(scheduler, wanted, "n2")
    assert (await scheduler.shown(wanted))["metadata"]["annotations"][MIG] == ""
    again = await serve(plain, *await scheduler.pods())
    assert await again.free_memory("GPU-b") == 20_000


FULL = {"n1": "CardHeldByUnreadableAllocation"}
HELD = asking("held", gpumem=4_000).on("n1").holding("GPU-a,NVIDIA,5120,15:;")
HELD = HELD.running("a").phase("Running")
ELEMENT = {
    "containerIndex": 0,
    "deviceIndex": 0,
    "gpuUUID": "GPU-a",
    "profile": "1g.5gb",
    "placement": {"start": 6, "size": 1},
}
PLAIN = node("n1").gpu("GPU-a")


def told(*elements: dict[str, Any]) -> PodBuilder:
    """Give the pod that holds an instance, and tells of these."""
    return HELD.annotations({MIG: json.dumps(elements)})


MISTAKEN = {
    "rows on a card in MIG mode, and no instance": (ONE, HELD),
    "an instance of a card that is not in MIG mode": (PLAIN, told(ELEMENT)),
    "an instance of another card": (ONE, told(ELEMENT | {"gpuUUID": "GPU-z"})),
    "a text that cannot be read": (ONE, HELD.annotations({MIG: "[{"})),
}


@pytest.mark.parametrize(("shown", "resident"), MISTAKEN.values(), ids=MISTAKEN)
async def test_what_is_not_known_counts_as_full(
    serve: Serve, shown: NodeBuilder, resident: PodBuilder
) -> None:
    """Whether node or pod is seen first; it ends with the pod."""
    scheduler = await serve(shown, resident)
    assert (await scheduler.filter(asking(gpumem=1_000))).failed == FULL
    scheduler.lose_node(shown)
    scheduler.see_node(shown)
    assert (await scheduler.filter(asking(gpumem=1_000))).failed == FULL
    scheduler.lose_pod(resident)
    assert (await scheduler.filter(asking(gpumem=1_000))).node_names == ["n1"]


async def test_a_card_that_is_put_into_mig_mode_counts_as_full(serve: Serve) -> None:
    """Until the pods that were there before are gone, or it is put back."""
    scheduler = await serve(PLAIN, HELD)
    assert (await scheduler.filter(asking(gpumem=1_000))).node_names == ["n1"]
    scheduler.see_node(ONE)
    assert (await scheduler.filter(asking(gpumem=1_000))).failed == FULL
    scheduler.see_node(PLAIN)
    assert (await scheduler.filter(asking(gpumem=1_000))).node_names == ["n1"]


async def test_instances_of_others_are_counted(serve: Serve) -> None:
    """As HAMi writes them, with what the device plugin added."""
    realized = {"migUUID": "MIG-1", "gpuInstanceID": 9, "computeInstanceID": 0}
    scheduler = await serve(ONE, told(ELEMENT | realized))
    wanted = asking(gpumem=4_000)
    await bound(scheduler, wanted)
    assert await instances(scheduler, wanted) == [(0, "GPU-a", "1g.5gb", 5)]


async def test_static_instances_are_cards(serve: Serve) -> None:
    """Each registers as a card of its own; no annotation of instances is written."""
    shown = node("n1")
    for number in range(2):
        shown = shown.gpu(f"MIG-{number}", memory=4_864, count=1)
    scheduler = await serve(shown)
    wanted = asking(gpu=2, gpumem=4_000)
    await bound(scheduler, wanted)
    annotations = (await scheduler.shown(wanted))["metadata"]["annotations"]
    assert MIG not in annotations
    assert annotations[ALLOCATED] == "MIG-0,NVIDIA,4000,0:MIG-1,NVIDIA,4000,0:;"
    third = await scheduler.filter(asking("y", gpumem=100))
    assert third.failed == {"n1": "KubeletSlotsExhausted"}
