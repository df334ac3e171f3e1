"""Faults that users of GPU schedulers reported; the numbers are those of the cases."""

import asyncio
import json
from collections.abc import Callable

import pytest

from tests.builders import PodBuilder, node, pod
from tests.web.conftest import Serve
from tests.web.scheduler import ALLOCATED, REGISTER, Scheduler

N1 = node("n1").gpu("GPU-a")
N2 = node("n2").gpu("GPU-b")


def held(name: str, node_name: str, rows: str, **asks: int) -> PodBuilder:
    """Give a running pod of one container that holds these rows."""
    wanted = pod(name).app("a", **{"gpu": 1, **asks}).on(node_name)
    return wanted.holding(rows).running("a").phase("Running")


def asking(name: str = "x", **asks: int | str) -> PodBuilder:
    """Give a pod of one container; 4000 MiB of one card unless told otherwise."""
    return pod(name).app("a", **{"gpu": 1, **(asks or {"gpumem": 4000})})


async def row(scheduler: Scheduler, wanted: PodBuilder) -> list[str]:
    """List the cards that a bound pod of one container got."""
    text = (await scheduler.shown(wanted))["metadata"]["annotations"][ALLOCATED]
    return [share.split(",")[0] for share in text.rstrip(";").split(":") if share]


async def test_26_unreadable_allocation_closes_its_card(serve: Serve) -> None:
    """Not zero: n1 is refused until the annotation is mended or the pod is gone."""
    damaged = held("p1", "n1", "GPU-a,NVIDIA,abc,0:;")
    scheduler = await serve(N1, N2, damaged)
    filtered = await scheduler.filter(asking())
    assert filtered.node_names == ["n2"]
    assert filtered.failed == {"n1": "CardHeldByUnreadableAllocation"}
    mended = damaged.holding("GPU-a,NVIDIA,8000,0:;")
    scheduler.see_pod(mended)
    assert await scheduler.free_memory("GPU-a") == 16_000
    scheduler.see_pod(damaged)  # the last readable value is kept
    assert await scheduler.free_memory("GPU-a") == 16_000
    scheduler.lose_pod(damaged)
    assert await scheduler.free_memory("GPU-a") == 24_000


async def test_26_garbage_without_a_card_closes_its_node(serve: Serve) -> None:
    """Which cards the pod holds cannot be told; an end of the pod frees the node."""
    damaged = held("p1", "n1", "garbage")
    scheduler = await serve(N1, N2, damaged)
    filtered = await scheduler.filter(asking())
    assert filtered.failed == {"n1": "NodeHasUnreadableAllocation"}
    scheduler.see_pod(damaged.phase("Failed"))
    assert (await scheduler.filter(asking())).node_names == ["n1", "n2"]


async def test_26_forged_pending_pod_closes_nothing(serve: Serve) -> None:
    """Only a pod that is bound there can hold a node's cards."""
    forged = asking("p1").holding("GPU-a,NVIDIA,abc,0:;")
    forged = forged.annotations({"hami.io/vgpu-node": "n1"})
    scheduler = await serve(N1, N2, forged)
    assert (await scheduler.filter(asking())).node_names == ["n1", "n2"]


async def test_36_filter_returns_every_node_that_fits(serve: Serve) -> None:
    """kube-scheduler's own scoring keeps its choice; the cards are chosen at bind."""
    full = held("full", "n3", "GPU-c,NVIDIA,24000,0:;")
    scheduler = await serve(N1, N2, node("n3").gpu("GPU-c"), full)
    wanted = asking(gpumem=8000)
    await scheduler.add(wanted)
    filtered = await scheduler.filter(wanted)
    assert filtered.node_names == ["n1", "n2"]
    assert filtered.failed == {"n3": "CardInsufficientMemory"}
    scores = await scheduler.prioritize(wanted, ["n1", "n2"])
    assert all(0 <= score <= 10 for _, score in scores)
    assert "annotations" not in (await scheduler.shown(wanted))["metadata"]
    assert await scheduler.bind(wanted, "n2") == ""
    assert await row(scheduler, wanted) == ["GPU-b"]


@pytest.mark.parametrize("deleted_first", [True, False])
async def test_37_successor_gets_the_cards_of_its_predecessor(
    serve: Serve, *, deleted_first: bool
) -> None:
    """Eight cards, four pods of two: exactly the deleted pod's cards are free."""
    cards = node("n1")
    for letter in "abcdefgh":
        cards = cards.gpu(f"GPU-{letter}")
    pods = [
        held(
            f"p{pair}",
            "n1",
            f"GPU-{pair[0]},NVIDIA,24000,100:GPU-{pair[1]},NVIDIA,24000,100:;",
            gpu=2,
        )
        for pair in ("ab", "cd", "ef", "gh")
    ]
    scheduler = await serve(cards, *pods)
    successor = asking(gpu=2, gpumem=24_000, cores=100)
    await scheduler.add(successor)
    if not deleted_first:
        filtered = await scheduler.filter(successor)
        assert filtered.failed == {"n1": "CardInsufficientMemory"}
        assert "no longer fits" in await scheduler.bind(successor, "n1")
    scheduler.lose_pod(pods[1])
    assert (await scheduler.filter(successor)).node_names == ["n1"]
    assert await scheduler.bind(successor, "n1") == ""
    assert await row(scheduler, successor) == ["GPU-c", "GPU-d"]


MODELS = [
    node("h200").gpu("GPU-1", memory=80_000, model="NVIDIA H200"),
    node("h20").gpu("GPU-2", memory=96_000, model="NVIDIA H20"),
    node("a100").gpu("GPU-3", memory=40_000, model="NVIDIA A100-SXM4-40GB"),
    node("a10").gpu("GPU-4", model="NVIDIA A10"),
]
TYPES = {
    "substring": ({"use": "H20"}, ["h200", "h20"]),
    "use and nouse": ({"use": "A10", "nouse": "A100"}, ["a10"]),
    "any of": ({"use": "A100,V100"}, ["a100"]),
    "any case": ({"use": "a100"}, ["a100"]),
    "blanks": ({"use": " a100 , "}, ["a100"]),
    "empty is no constraint": ({"use": ""}, ["h200", "h20", "a100", "a10"]),
    "only commas match nothing": ({"use": ",,"}, []),
    "all but": ({"nouse": "H20"}, ["a100", "a10"]),
}


@pytest.mark.parametrize(("words", "fitting"), TYPES.values(), ids=TYPES)
async def test_44_card_type(
    serve: Serve, words: dict[str, str], fitting: list[str]
) -> None:
    """As HAMi: a case-insensitive substring, any of the list."""
    scheduler = await serve(*MODELS)
    texts = {f"nvidia.com/{key}-gputype": text for key, text in words.items()}
    filtered = await scheduler.filter(asking().annotations(texts))
    assert filtered.node_names == fitting
    assert set(filtered.unresolvable.values()) <= {"CardTypeMismatch"}


SCORES = {
    f"GPU-{one}": {
        f"GPU-{two}": 100 if one // 2 == two // 2 else 10
        for two in range(4)
        if one != two
    }
    for one in range(4)
}


@pytest.mark.parametrize(("count", "cards"), [(2, ["GPU-0", "GPU-1"]), (1, ["GPU-0"])])
async def test_46_topology_aware(serve: Serve, count: int, cards: list[str]) -> None:
    """Pairs that are linked well; one card breaks no better pair than it must."""
    text = json.dumps([{"uuid": uuid, "score": each} for uuid, each in SCORES.items()])
    shown = node("n2").annotations({"hami.io/node-nvidia-score": text})
    for number in range(4):
        shown = shown.gpu(f"GPU-{number}")
    scheduler = await serve(shown)
    policy = {"hami.io/gpu-scheduler-policy": "topology-aware"}
    wanted = asking(gpu=count, gpumem=1000).annotations(policy)
    await scheduler.add(wanted)
    assert (await scheduler.filter(wanted)).node_names == ["n2"]
    assert await scheduler.bind(wanted, "n2") == ""
    assert await row(scheduler, wanted) == cards


MUTEX = {"hami.io/gpu-scheduler-policy": "mutex"}
MUTEX_CASES = {
    "a mutex pod joins nobody": (asking().annotations(MUTEX), 4_000, False),
    "nobody joins a mutex pod": (asking(gpumem=20_000), 4_000, True),
    "nor where all else is full": (asking(), 24_000, False),
}


@pytest.mark.parametrize(
    ("wanted", "memory_mib", "fits"), MUTEX_CASES.values(), ids=MUTEX_CASES
)
async def test_47_mutex(
    serve: Serve, wanted: PodBuilder, memory_mib: int, *, fits: bool
) -> None:
    """Both ways: such a pod has its card alone for as long as it lives."""
    alone = held("m", "n1", "GPU-a,NVIDIA,4000,0:;").annotations(MUTEX)
    other = held("p", "n1", f"GPU-b,NVIDIA,{memory_mib},0:;")
    scheduler = await serve(node("n1").gpu("GPU-a").gpu("GPU-b"), alone, other)
    filtered = await scheduler.filter(wanted)
    if fits:
        assert filtered.node_names == ["n1"]
    else:
        assert "ExclusiveDeviceAllocateConflict" in filtered.failed["n1"]


async def test_53_node_is_created_anew(serve: Serve) -> None:
    """Unknown in between; new cards are empty, old ones charged while the pod lives."""
    old = held("p1", "n1", "GPU-a,NVIDIA,20000,0:;")
    scheduler = await serve(N1, old)
    wanted = asking(gpumem=20_000)
    scheduler.lose_node(N1)
    assert (await scheduler.filter(wanted)).unresolvable == {"n1": "node unregistered"}
    scheduler.see_node(node("n1").gpu("GPU-z"))
    assert (await scheduler.filter(wanted)).node_names == ["n1"]
    scheduler.see_node(N1)
    assert await scheduler.free_memory("GPU-a") == 4000
    scheduler.lose_pod(old)
    scheduler.lose_pod(old)
    assert await scheduler.free_memory("GPU-a") == 24_000


async def test_59_73_bound_by_others_is_unmanaged(serve: Serve) -> None:
    """No annotation: charged on no card, counted by kubelet, reported by name."""
    stranger = pod("g").app("a", gpu=2).on("n1").running("a").phase("Running")
    scheduler = await serve(N1.allocatable(3), stranger)
    assert await scheduler.free_memory("GPU-a") == 24_000
    two = pod("two").app("a", gpu=1, gpumem=1).app("b", gpu=1, gpumem=1)
    assert (await scheduler.filter(two)).failed == {"n1": "KubeletSlotsExhausted"}
    reported = {
        each.full_name: standing.footing.value
        for each, standing in scheduler.extender.ledger.standings()
    }
    assert reported == {"default/g": "unmanaged"}


async def test_65_repeated_events_book_once(serve: Serve) -> None:
    """Reservation, event, and a re-list of the same pod are one booking."""
    scheduler = await serve(N1)
    wanted = asking(gpumem=8000)
    assert await scheduler.place(wanted) == "n1"
    for _ in range(3):
        scheduler.see_pod(await scheduler.shown(wanted))
        assert await scheduler.free_memory("GPU-a") == 16_000
    assert [held.slots for held in (await scheduler.charges())["n1"].values()] == [1]


async def test_66_burst_shares_cards_evenly_and_within_capacity(serve: Serve) -> None:
    """Ten at once, room for six: three per card, four refused."""
    scheduler = await serve(node("n1").gpu("GPU-a").gpu("GPU-b"))
    many = [asking(f"p{index}", gpumem=8000) for index in range(10)]
    placed = await asyncio.gather(*[_filter_and_bind(scheduler, each) for each in many])
    assert sorted(placed) == [False] * 4 + [True] * 6
    charges = (await scheduler.charges())["n1"]
    assert [(held.slots, held.memory_mib) for held in charges.values()] == [
        (3, 24_000),
        (3, 24_000),
    ]


async def _filter_and_bind(scheduler: Scheduler, wanted: PodBuilder) -> bool:
    await scheduler.add(wanted)
    if not (await scheduler.filter(wanted)).node_names:
        return False
    return await scheduler.bind(wanted, "n1") == ""


async def test_69_stale_annotations_are_no_charge(serve: Serve) -> None:
    """Neither while unbound, nor on n1 once somebody bound the pod to n2."""
    stale = asking().holding("GPU-a,NVIDIA,20000,0:;")
    stale = stale.annotations({"hami.io/vgpu-node": "n1"})
    scheduler = await serve(N1, N2, stale)
    assert await scheduler.free_memory("GPU-a") == 24_000
    scheduler.see_pod(stale.on("n2"))
    assert await scheduler.free_memory("GPU-a") == 24_000
    assert await scheduler.free_memory("GPU-b") == 24_000


async def test_69_bind_replaces_stale_annotations(serve: Serve) -> None:
    """An old attempt's rows do not survive, in whatever key."""
    stale = asking().holding("GPU-b,NVIDIA,20000,0:;")
    stale = stale.annotations({"hami.io/vgpu-node": "n2"})
    scheduler = await serve(N1, N2, stale)
    assert await scheduler.bind(stale, "n1") == ""
    annotations = (await scheduler.shown(stale))["metadata"]["annotations"]
    assert annotations[ALLOCATED] == "GPU-a,NVIDIA,4000,0:;"
    assert annotations["hami.io/vgpu-node"] == "n1"


async def test_72_late_registration_counts_at_once(serve: Serve) -> None:
    """The filter after the event fits; there is no loop to wait for."""
    scheduler = await serve(node("n1").allocatable(10))
    refused = await scheduler.filter(asking())
    assert refused.unresolvable == {"n1": "node unregistered"}
    scheduler.see_node(N1)
    assert (await scheduler.filter(asking())).node_names == ["n1"]
    scheduler.see_node(N1.cordon("GPU-a"))
    assert (await scheduler.filter(asking())).unresolvable == {"n1": "CardCordoned"}


QUANTITIES: dict[str, tuple[int | str, int | None]] = {
    "5k": ("5k", 5000),
    "3e3": ("3e3", 3000),
    "5000": ("5000", 5000),
    "5Gi is far out of range": ("5Gi", None),
    "1500m is no whole number": ("1500m", None),
    "2000m is": ("2000m", 2),
    "a text": ("lots", None),
    "negative": (-5, None),
}


@pytest.mark.parametrize(("quantity", "mib"), QUANTITIES.values(), ids=QUANTITIES)
async def test_75_quantity_suffixes(
    serve: Serve, quantity: int | str, mib: int | None
) -> None:
    """Read as Kubernetes does, or refused everywhere by the container's name."""
    scheduler = await serve(node("n1").gpu("GPU-a", memory=11_264), N2)
    wanted = asking(gpumem=quantity)
    filtered = await scheduler.filter(wanted, ["n1", "n2"])
    if mib is None:
        assert filtered.node_names == []
        (text,) = set(filtered.unresolvable.values())
        assert "container 'a'" in text
        assert "nvidia.com/gpumem" in text
    else:
        assert await scheduler.place(wanted, ["n1"]) == "n1"
        assert await scheduler.free_memory("GPU-a") == 11_264 - mib


async def test_77_limits_win_key_by_key(serve: Serve) -> None:
    """A request counts only where there is no such limit."""
    scheduler = await serve(N1)
    wanted = asking().build()
    wanted["spec"]["containers"][0]["resources"] = {
        "requests": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"},
        "limits": {"nvidia.com/gpumem": "4000"},
    }
    await scheduler.add(wanted)
    assert await scheduler.bind(wanted, "n1") == ""
    assert await scheduler.free_memory("GPU-a") == 20_000
    only = asking("only").build()
    only["spec"]["containers"][0]["resources"].pop("limits")
    await scheduler.add(only)
    assert await scheduler.bind(only, "n1") == ""
    assert await scheduler.free_memory("GPU-a") == 16_000


@pytest.mark.parametrize("percentage", [150, -5])
async def test_78_percentage_out_of_range(serve: Serve, percentage: int) -> None:
    """More than 100 is 100, below 0 is unset, which is a whole card as well."""
    scheduler = await serve(N1)
    assert await scheduler.place(asking(percentage=percentage)) == "n1"
    assert await scheduler.free_memory("GPU-a") == 0


PHASES: dict[str, tuple[Callable[[PodBuilder], PodBuilder], int]] = {
    "Running and crash-looping": (
        lambda p: p.waiting("a", reason="CrashLoopBackOff", restarts=9),
        4000,
    ),
    "Running, exited 0": (lambda p: p.exited("a"), 4000),
    "Unknown": (lambda p: p.phase("Unknown"), 4000),
    "a word of tomorrow": (lambda p: p.phase("Hibernating"), 4000),
    "Pending, pulling": (
        lambda p: p.phase("Pending").waiting("a", reason="ContainerCreating"),
        4000,
    ),
    "Failed": (lambda p: p.phase("Failed"), 24_000),
    "Succeeded": (lambda p: p.phase("Succeeded"), 24_000),
}


@pytest.mark.parametrize("name", PHASES)
async def test_83_phases(serve: Serve, name: str) -> None:
    """Only Failed and Succeeded free; nothing that one container does."""
    shown, free = PHASES[name]
    resident = held("p1", "n1", "GPU-a,NVIDIA,20000,0:;")
    scheduler = await serve(N1, shown(resident))
    assert await scheduler.free_memory("GPU-a") == free


async def test_98_unregistered_nodes(serve: Serve) -> None:
    """Without the annotation there are no cards; its old text forms register too."""
    texts = {
        "nine": "GPU-9,10,24000,100,NVIDIA-NVIDIA A10,0,true,0,hami-core:",
        "seven": "GPU-7,10,24000,100,NVIDIA-NVIDIA A10,0,true:",
    }
    scheduler = await serve(
        node("stock").allocatable(10),
        node("empty").allocatable(10).annotations({REGISTER: "[]"}),
        node("bad").allocatable(10).annotations({REGISTER: "[{"}),
        *[
            node(name).allocatable(10).annotations({REGISTER: text})
            for name, text in texts.items()
        ],
    )
    filtered = await scheduler.filter(asking())
    assert filtered.node_names == ["nine", "seven"]
    assert filtered.unresolvable == {
        "stock": "node unregistered",
        "empty": "node unregistered",
        "bad": "NodeRegistrationUnreadable",
    }


async def test_104_restart_does_not_charge_a_finished_init(serve: Serve) -> None:
    """The first thing that is seen of the pod is its status."""
    finished = (
        pod("p1")
        .init("i", gpu=1, gpumem=20_000)
        .app("a", gpu=1, gpumem=4000)
        .on("n1")
        .holding("GPU-a,NVIDIA,20000,0:;GPU-a,NVIDIA,4000,0:;")
        .exited("i")
        .running("a")
        .sandbox()
        .phase("Running")
    )
    scheduler = await serve(N1, finished)
    assert await scheduler.free_memory("GPU-a") == 20_000
    assert await scheduler.place(asking(gpumem=16_000)) == "n1"


@pytest.mark.parametrize("slots", [None, 0])
async def test_106_dead_node_is_unregistered_from_the_start(
    serve: Serve, slots: int | None
) -> None:
    """Cards count while allocatable is above 0; what the handshake says does not."""
    dead = node("n1").annotations(
        {
            REGISTER: '[{"id":"GPU-a","count":10,"devmem":24000,"devcore":100,'
            '"type":"NVIDIA A10","health":true}]',
            "hami.io/node-handshake": "Reported_2026.01.01 00:00:00",
        }
    )
    scheduler = await serve(dead if slots is None else dead.allocatable(slots))
    filtered = await scheduler.filter(asking())
    assert filtered.unresolvable == {"n1": "node unregistered"}
    scheduler.see_node(dead.allocatable(10))
    assert (await scheduler.filter(asking())).node_names == ["n1"]
