"""The accounting rule as kube-scheduler meets it: every pod goes through all verbs."""

from collections.abc import Callable
from typing import Final

import pytest

from tests.builders import PodBuilder, node, pod
from tests.oracles import Totals
from tests.web.conftest import Serve
from tests.web.scheduler import ALLOCATED, RELEASE, Scheduler, effective

GIB: Final = 1024
CARD_MIB: Final = 24 * GIB
ONE_CARD = node("n1").gpu("GPU-a", memory=CARD_MIB)
LATER = "2026-01-01T01:00:00Z"
LATEST = "2026-01-01T02:00:00Z"


async def _refuses(scheduler: Scheduler, gib: int) -> bool:
    wanted = pod(f"wants-{gib}").app("a", gpu=1, gpumem=gib * GIB)
    refused = await scheduler.filter(wanted)
    return refused.failed == {"n1": "CardInsufficientMemory"}


async def _agrees_with_oracle(scheduler: Scheduler) -> dict[str, Totals]:
    """Check card by card that what is free is what the oracle's charges leave."""
    charges = await scheduler.charges()
    for name, shown in scheduler.cluster.nodes.items():
        for device in shown.devices:
            held = charges.get(name, {}).get(device.device_uuid)
            left = device.capacity.memory_mib - (held.memory_mib if held else 0)
            assert await scheduler.free_memory(device.device_uuid) == max(left, 0)
    return charges


async def test_sidecar_and_app_are_charged_together(serve: Serve) -> None:
    """Sidecar 10 + app 10 on 24 GiB: charged 20, so a later 12 is refused, 4 is not."""
    scheduler = await serve(ONE_CARD)
    both = (
        pod("p").sidecar("s", gpu=1, gpumem=10 * GIB).app("a", gpu=1, gpumem=10 * GIB)
    )
    assert await scheduler.place(both) == "n1"
    assert effective(await scheduler.shown(both)) == {"GPU-a": (2, 20 * GIB, 0)}
    assert await _refuses(scheduler, 12)
    twelve = pod("twelve").app("a", gpu=1, gpumem=12 * GIB)
    assert await scheduler.place(twelve) is None
    assert "no longer fits" in await scheduler.bind(twelve, "n1")
    assert await scheduler.free_memory("GPU-a") == 4 * GIB
    four = pod("four").app("a", gpu=1, gpumem=4 * GIB)
    assert await scheduler.place(four) == "n1"
    assert await scheduler.free_memory("GPU-a") == 0


SIDECAR_FIRST = (
    pod("first")
    .sidecar("s", gpu=1, gpumem=2 * GIB)
    .init("i", gpu=1, gpumem=20 * GIB)
    .app("a", gpu=1, gpumem=10 * GIB)
)
INIT_FIRST = (
    pod("second")
    .init("i", gpu=1, gpumem=20 * GIB)
    .sidecar("s", gpu=1, gpumem=2 * GIB)
    .app("a", gpu=1, gpumem=10 * GIB)
)


@pytest.mark.parametrize(
    ("wanted", "slots", "gib"), [(SIDECAR_FIRST, 2, 22), (INIT_FIRST, 2, 20)]
)
async def test_order_of_init_and_sidecar_decides(
    serve: Serve, wanted: PodBuilder, slots: int, gib: int
) -> None:
    """Init 20, sidecar 2, app 10: 22 with the sidecar first, 20 with the init first."""
    scheduler = await serve(ONE_CARD)
    assert await scheduler.place(wanted) == "n1"
    shown = await scheduler.shown(wanted)
    assert effective(shown) == {"GPU-a": (slots, gib * GIB, 0)}
    assert await scheduler.free_memory("GPU-a") == (24 - gib) * GIB
    assert await _refuses(scheduler, 24 - gib + 1)


LIVES: dict[str, tuple[Callable[[PodBuilder], PodBuilder], int]] = {
    "just bound": (lambda p: p, 22),
    "init runs": (lambda p: p.sandbox().running("s").running("i"), 22),
    "init exited 0": (lambda p: p.sandbox().running("s").exited("i"), 12),
    "app runs": (
        lambda p: p.sandbox().running("s").exited("i").running("a").phase("Running"),
        12,
    ),
    "no conditions are shown": (lambda p: p.running("s").exited("i"), 12),
    "init exited 1": (lambda p: p.sandbox().running("s").exited("i", code=1), 22),
    "init was killed": (lambda p: p.sandbox().exited("i", code=137), 22),
    "init crash-loops": (
        lambda p: p.sandbox().waiting("i", reason="CrashLoopBackOff", restarts=7),
        22,
    ),
    "app crash-loops": (
        lambda p: (
            p.sandbox()
            .exited("i")
            .waiting("a", reason="CrashLoopBackOff", restarts=7)
            .phase("Running")
        ),
        12,
    ),
    "sidecar restarts": (
        lambda p: p.sandbox().exited("s").exited("i").running("a").phase("Running"),
        12,
    ),
    "sandbox is down": (
        lambda p: p.sandbox(ready=False, since=LATER).exited("i").running("a"),
        22,
    ),
    "sandbox is new, exits are of the old one": (
        lambda p: p.sandbox(since=LATER).exited("i").exited("a"),
        22,
    ),
    "init exited in the new sandbox": (
        lambda p: p.sandbox(since=LATER).exited("i", at=LATEST),
        12,
    ),
    "exit at the very second of the sandbox": (
        lambda p: p.sandbox(since=LATER).exited("i", at=LATER),
        12,
    ),
    "all containers are restarting": (
        lambda p: p.sandbox().exited("i").running("a").restarting_all(),
        22,
    ),
    "terminating, and the sandbox is gone": (
        lambda p: p.terminating().sandbox(ready=False, since=LATER).exited("i"),
        12,
    ),
    "terminating while the init runs": (
        lambda p: p.terminating().sandbox().running("i"),
        22,
    ),
    "phase unknown": (lambda p: p.phase("Unknown"), 22),
    "succeeded": (lambda p: p.phase("Succeeded").exited("i").exited("a"), 0),
    "failed": (lambda p: p.phase("Failed").exited("i", code=1), 0),
    "evicted": (lambda p: p.phase("Failed"), 0),
}


@pytest.mark.parametrize(("lives", "gib"), LIVES.values(), ids=LIVES)
async def test_charge_follows_the_status(
    serve: Serve, lives: Callable[[PodBuilder], PodBuilder], gib: int
) -> None:
    """As seen at start, and the same when it is seen to become so."""
    scheduler = await serve(ONE_CARD)
    assert await scheduler.place(SIDECAR_FIRST) == "n1"
    bound = await scheduler.shown(SIDECAR_FIRST)
    lived = {**bound, "status": lives(SIDECAR_FIRST).build()["status"]}
    lived["metadata"] = {
        **lives(SIDECAR_FIRST).build()["metadata"],
        **bound["metadata"],
    }
    for _ in range(2):
        scheduler.see_pod(lived)
        assert await scheduler.free_memory("GPU-a") == (24 - gib) * GIB
    restarted = await serve(ONE_CARD, lived)
    assert await restarted.free_memory("GPU-a") == (24 - gib) * GIB
    await _agrees_with_oracle(restarted)


KEEPER = SIDECAR_FIRST.annotations({RELEASE: "never"})


@pytest.mark.parametrize(("lives", "gib"), LIVES.values(), ids=LIVES)
async def test_by_release_never_only_its_end_frees_what_a_pod_holds(
    serve: Serve, lives: Callable[[PodBuilder], PodBuilder], gib: int
) -> None:
    """Until then it is charged its peak, as seen and after a restart."""
    kept = 22 if gib else 0
    scheduler = await serve(ONE_CARD)
    assert await scheduler.place(KEEPER) == "n1"
    bound = await scheduler.shown(KEEPER)
    lived = {**bound, "status": lives(KEEPER).build()["status"]}
    lived["metadata"] = {**lives(KEEPER).build()["metadata"], **bound["metadata"]}
    scheduler.see_pod(lived)
    assert await scheduler.free_memory("GPU-a") == (24 - kept) * GIB
    restarted = await serve(ONE_CARD, lived)
    assert await restarted.free_memory("GPU-a") == (24 - kept) * GIB
    await _agrees_with_oracle(restarted)


async def test_release_is_progressive(serve: Serve) -> None:
    """Of several inits each leaves with its own exit, in order and not before."""
    wanted = (
        pod("p")
        .init("i1", gpu=1, gpumem=16 * GIB)
        .sidecar("s", gpu=1, gpumem=GIB)
        .init("i2", gpu=1, gpumem=12 * GIB)
        .init("i3", gpu=1, gpumem=8 * GIB)
        .app("a", gpu=1, gpumem=4 * GIB)
    ).sandbox()
    scheduler = await serve(ONE_CARD)
    assert await scheduler.place(wanted) == "n1"
    bound = await scheduler.shown(wanted)
    lives = [
        (wanted, 16),
        (wanted.exited("i1"), 13),
        (wanted.exited("i1").exited("i3"), 13),
        (wanted.exited("i1").exited("i2"), 9),
        (wanted.exited("i2").exited("i3"), 16),
        (wanted.exited("i1").exited("i2").exited("i3"), 5),
    ]
    for lived, gib in lives:
        scheduler.see_pod({**bound, "status": lived.build()["status"]})
        assert await scheduler.free_memory("GPU-a") == (24 - gib) * GIB


async def test_all_sidecars_are_steady_from_the_start(serve: Serve) -> None:
    """Without an init there is one phase, whatever restarts."""
    wanted = pod("p").app("a", gpu=1, gpumem=3 * GIB)
    for index in range(3):
        wanted = wanted.sidecar(f"s{index}", gpu=1, gpumem=2 * GIB)
    scheduler = await serve(ONE_CARD)
    assert await scheduler.place(wanted) == "n1"
    shown = await scheduler.shown(wanted)
    assert effective(shown) == {"GPU-a": (4, 9 * GIB, 0)}
    for lived in (
        wanted.running("s0"),
        wanted.sandbox(ready=False),
        wanted.exited("s0").exited("s1", code=1).waiting("s2", restarts=3),
    ):
        scheduler.see_pod({**shown, "status": lived.build()["status"]})
        assert await scheduler.free_memory("GPU-a") == 15 * GIB


async def test_room_of_a_finished_init_is_given_away_and_held(serve: Serve) -> None:
    """Re-inflation after a node reboot shows over capacity; nothing new comes."""
    scheduler = await serve(ONE_CARD)
    assert await scheduler.place(SIDECAR_FIRST) == "n1"
    bound = await scheduler.shown(SIDECAR_FIRST)
    done = SIDECAR_FIRST.sandbox().exited("i").running("a")
    scheduler.see_pod({**bound, "status": done.build()["status"]})
    assert await scheduler.place(pod("twelve").app("a", gpu=1, gpumem=12 * GIB)) == "n1"
    assert await scheduler.free_memory("GPU-a") == 0
    rebooted = SIDECAR_FIRST.sandbox(ready=False, since=LATER).exited("i")
    scheduler.see_pod({**bound, "status": rebooted.build()["status"]})
    assert await _refuses(scheduler, 1)
    back = SIDECAR_FIRST.sandbox(since=LATER).exited("i", at=LATEST).running("a")
    scheduler.see_pod({**bound, "status": back.build()["status"]})
    assert await _refuses(scheduler, 1)
    scheduler.see_pod({**bound, "status": {"phase": "Succeeded"}})
    assert await scheduler.free_memory("GPU-a") == 12 * GIB


async def test_by_release_never_a_reboot_finds_its_room(serve: Serve) -> None:
    """What its inits needed was given to nobody, so no card holds more than it has."""
    scheduler = await serve(ONE_CARD)
    assert await scheduler.place(KEEPER) == "n1"
    bound = await scheduler.shown(KEEPER)
    done = KEEPER.sandbox().exited("i").running("a")
    scheduler.see_pod({**bound, "status": done.build()["status"]})
    assert await _refuses(scheduler, 12)
    assert await scheduler.place(pod("two").app("a", gpu=1, gpumem=2 * GIB)) == "n1"
    rebooted = KEEPER.sandbox(ready=False, since=LATER).exited("i")
    scheduler.see_pod({**bound, "status": rebooted.build()["status"]})
    assert scheduler.extender.ledger.overfull.causes == {}
    scheduler.see_pod({**bound, "status": {"phase": "Succeeded"}})
    assert await scheduler.free_memory("GPU-a") == 22 * GIB


async def test_kubelet_keeps_ids_of_finished_inits(serve: Serve) -> None:
    """Memory is free again after the init; its device ids are not."""
    scheduler = await serve(ONE_CARD.allocatable(2))
    wanted = pod("p").init("i", gpu=1, gpumem=GIB).app("a", gpu=1, gpumem=GIB)
    two = pod("two").app("a", gpu=1, gpumem=GIB).app("b", gpu=1, gpumem=GIB)
    assert (await scheduler.filter(two)).node_names == ["n1"]
    assert await scheduler.place(wanted) == "n1"
    done = wanted.exited("i").running("a").build()["status"]
    scheduler.see_pod({**(await scheduler.shown(wanted)), "status": done})
    assert (await scheduler.filter(two)).failed == {"n1": "KubeletSlotsExhausted"}


FOUR_CARDS = (
    node("n1")
    .gpu("GPU-a", memory=CARD_MIB)
    .gpu("GPU-b", memory=CARD_MIB)
    .gpu("GPU-c", memory=CARD_MIB)
    .gpu("GPU-d", memory=CARD_MIB)
)
BINPACK = {"hami.io/gpu-scheduler-policy": "binpack"}

SEVERAL: dict[str, tuple[PodBuilder, str, dict[str, tuple[int, int, int]]]] = {
    "spread takes a card for each": (
        pod("p").sidecar("s", gpu=1, gpumem=2 * GIB).app("a", gpu=1, gpumem=4 * GIB),
        "GPU-a,NVIDIA,2048,0:;GPU-b,NVIDIA,4096,0:;",
        {"GPU-a": (1, 2 * GIB, 0), "GPU-b": (1, 4 * GIB, 0)},
    ),
    "binpack takes one card for all": (
        pod("p")
        .sidecar("s", gpu=1, gpumem=2 * GIB)
        .app("a", gpu=1, gpumem=4 * GIB)
        .annotations(BINPACK),
        "GPU-a,NVIDIA,2048,0:;GPU-a,NVIDIA,4096,0:;",
        {"GPU-a": (2, 6 * GIB, 0)},
    ),
    "one container has different cards": (
        pod("p").app("a", gpu=3, gpumem=2 * GIB, cores=30),
        "GPU-a,NVIDIA,2048,30:GPU-b,NVIDIA,2048,30:GPU-c,NVIDIA,2048,30:;",
        {f"GPU-{letter}": (1, 2 * GIB, 30) for letter in "abc"},
    ),
    "an init prefers the cards of the rest": (
        pod("p").init("i", gpu=2, gpumem=8 * GIB).app("a", gpu=1, gpumem=4 * GIB),
        "GPU-a,NVIDIA,8192,0:GPU-b,NVIDIA,8192,0:;GPU-a,NVIDIA,4096,0:;",
        {"GPU-a": (1, 8 * GIB, 0), "GPU-b": (1, 8 * GIB, 0)},
    ),
    "each dimension has its own maximum": (
        pod("p")
        .init("i", gpu=1, gpumem=20 * GIB, cores=10)
        .app("a", gpu=1, gpumem=GIB, cores=80),
        "GPU-a,NVIDIA,20480,10:;GPU-a,NVIDIA,1024,80:;",
        {"GPU-a": (1, 20 * GIB, 80)},
    ),
    "no device before, between and after": (
        pod("p")
        .init("i0")
        .sidecar("s", gpu=1, gpumem=GIB)
        .init("i1")
        .app("a0")
        .app("a1", gpu=1, gpumem=3 * GIB)
        .app("a2")
        .annotations(BINPACK),
        ";GPU-a,NVIDIA,1024,0:;;;GPU-a,NVIDIA,3072,0:;;",
        {"GPU-a": (2, 4 * GIB, 0)},
    ),
    "only an init asks": (
        pod("p").init("i", gpu=1, gpumem=6 * GIB).app("a"),
        "GPU-a,NVIDIA,6144,0:;;",
        {"GPU-a": (1, 6 * GIB, 0)},
    ),
    "only a sidecar asks": (
        pod("p").sidecar("s", gpu=1, percentage=25).app("a"),
        "GPU-a,NVIDIA,6144,0:;;",
        {"GPU-a": (1, 6 * GIB, 0)},
    ),
}


@pytest.mark.parametrize(("wanted", "rows", "charge"), SEVERAL.values(), ids=SEVERAL)
async def test_rows_and_charge_on_several_cards(
    serve: Serve,
    wanted: PodBuilder,
    rows: str,
    charge: dict[str, tuple[int, int, int]],
) -> None:
    """One row per container in start order, and the oracle's charge per device."""
    scheduler = await serve(FOUR_CARDS)
    assert await scheduler.place(wanted) == "n1"
    shown = await scheduler.shown(wanted)
    assert shown["metadata"]["annotations"][ALLOCATED] == rows
    assert effective(shown) == charge
    await _agrees_with_oracle(scheduler)


async def test_many_pods_add_up(serve: Serve) -> None:
    """A mixed crowd, placed one by one until some are refused, then restarted."""
    nodes = [FOUR_CARDS, node("n2").gpu("GPU-x", memory=8 * GIB, count=3)]
    scheduler = await serve(*nodes)
    placed: list[str | None] = []
    for index in range(24):
        wanted = (
            pod(f"p{index}")
            .init("i", gpu=1 + index % 2, gpumem=(3 + index % 7) * GIB)
            .sidecar("s", gpu=index % 2, gpumem=GIB, cores=5)
            .app("a", gpu=1 + index % 3, gpumem=(1 + index % 5) * GIB, cores=10)
        )
        placed.append(await scheduler.place(wanted))
    assert {"n1", None} <= set(placed)
    for on_node in (await _agrees_with_oracle(scheduler)).values():
        assert all(held.memory_mib <= CARD_MIB for held in on_node.values())
        assert all(held.slots <= 10 for held in on_node.values())
        assert all(held.core_percent <= 100 for held in on_node.values())
    restarted = await serve(*nodes, *(await scheduler.pods()))
    assert await restarted.state() == await scheduler.state()
