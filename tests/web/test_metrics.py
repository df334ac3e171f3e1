"""What a scrape shows of requests, devices and pods."""

import asyncio
from typing import Final

import pytest

from extender.observe.devices import DEVICES, MEMORY_CHARGED
from extender.settings import ObserveSettings
from extender.state.events import PodSeen
from tests.builders import node, pod, resource_quota
from tests.scraped import Samples, sample, samples_in
from tests.web.conftest import Serve
from tests.web.scheduler import Scheduler

MIB: Final = 1024 * 1024
WANTED: Final = pod("w").app("a", gpu=1, gpumem=8_000)
HELD: Final = (
    pod("p", "team")
    .app("a", gpu=1, gpumem=6_000, cores=25)
    .on("n1")
    .phase("Running")
    .holding("GPU-a,NVIDIA,6000,25:;")
)
A: Final = {
    "kind": "NVIDIA",
    "model": "NVIDIA A10",
    "node": "n1",
    "device_uuid": "GPU-a",
}


async def scraped(scheduler: Scheduler) -> Samples:
    """Read all samples."""
    answer = await scheduler.send("GET", "/metrics")
    return samples_in(answer.body.decode())


async def test_requests_are_counted_by_outcome_and_timed_by_stage(serve: Serve) -> None:
    """The stages of a verb add up to its whole, but for what is around them."""
    scheduler = await serve(node("n1").gpu("GPU-a"), WANTED)
    await scheduler.filter(WANTED, ["n1"])
    await scheduler.filter(pod("large").app("a", gpu=1, gpumem=99_000), ["n1"])
    await scheduler.filter(pod("none").app("a"), ["n1"])
    await scheduler.send("POST", "/filter", "{")
    await scheduler.prioritize(WANTED, ["n1"])
    assert await scheduler.bind(WANTED, "n1") == ""
    assert await scheduler.bind(WANTED, "n2") != ""
    samples = await scraped(scheduler)
    for verb, outcome, count in (
        ("filter", "fits", 1),
        ("filter", "fits-nowhere", 1),
        ("filter", "no-devices", 1),
        ("filter", "unreadable", 1),
        ("filter", "fault", 0),
        ("prioritize", "scored", 1),
        ("bind", "bound", 1),
        ("bind", "refused", 1),
    ):
        name = "gpu_extender_verb_requests_total"
        assert sample(samples, name, verb=verb, outcome=outcome) == count
    for verb, stages, count in (
        ("filter", ("decode", "fit", "encode"), 3),
        ("filter", ("wait",), 4),
        ("prioritize", ("wait", "decode", "fit", "encode"), 1),
        ("bind", ("wait", "decode", "commit", "encode"), 2),
        ("bind", ("fit",), 1),
    ):
        for stage in stages:
            name = "gpu_extender_stage_duration_seconds_count"
            assert sample(samples, name, verb=verb, stage=stage) == count, stage
    for verb in ("filter", "prioritize", "bind"):
        whole = sample(samples, "gpu_extender_verb_duration_seconds_sum", verb=verb)
        parts = sum(
            value
            for (name, labels), value in samples.items()
            if name == "gpu_extender_stage_duration_seconds_sum"
            and ("verb", verb) in labels
        )
        assert 0 < parts <= whole
        assert parts > whole / 4


async def test_not_synced_is_an_outcome(serve: Serve) -> None:
    """Of filter and bind, which answer 200, and of prioritize."""
    scheduler = await serve(node("n1").gpu("GPU-a"), WANTED, synced=False)
    await scheduler.filter(WANTED, ["n1"])
    await scheduler.bind(WANTED, "n1")
    samples = await scraped(scheduler)
    for verb in ("filter", "bind"):
        name = "gpu_extender_verb_requests_total"
        assert sample(samples, name, verb=verb, outcome="not-synced") == 1
    name = "gpu_extender_bind_refusals_total"
    assert sample(samples, name, reason="not-synced") == 1
    assert sample(samples, "gpu_extender_ready") == 0


async def test_refused_nodes_are_counted_by_reason(serve: Serve) -> None:
    """A node with two reasons counts under each; a pod without devices nowhere."""
    scheduler = await serve(
        node("small").gpu("GPU-a", memory=1_000).gpu("GPU-b", health=False),
        node("large").gpu("GPU-c"),
    )
    await scheduler.filter(WANTED, ["small", "large", "unknown"])
    await scheduler.filter(pod("none").app("a"), ["small", "large"])
    samples = await scraped(scheduler)
    answers = {"fits": 1, "failed": 0, "unresolvable": 2}
    for answer, count in answers.items():
        name = "gpu_extender_fit_nodes_total"
        assert sample(samples, name, answer=answer) == count, answer
    for reason in ("CardNotHealth", "CardInsufficientMemory", "node unregistered"):
        name = "gpu_extender_fit_refusals_total"
        assert sample(samples, name, reason=reason) == 1, reason


async def test_binds_are_counted_by_reason(serve: Serve) -> None:
    """And the wait for the node's lock by how it ended."""
    other = pod("o").app("a", gpu=1, gpumem=20_000)
    scheduler = await serve(node("n1").gpu("GPU-a"), HELD, WANTED, other)
    assert await scheduler.bind(other, "n1") != ""
    assert await scheduler.bind(WANTED, "n1") == ""
    assert await scheduler.bind(WANTED, "n2") != ""
    samples = await scraped(scheduler)
    name = "gpu_extender_bind_refusals_total"
    assert sample(samples, name, reason="no-longer-fits") == 1
    assert sample(samples, name, reason="bound-elsewhere") == 1
    assert sample(samples, name, reason="api-error") == 0
    name = "gpu_extender_lock_wait_seconds_count"
    assert sample(samples, name, outcome="taken") == 1


async def test_devices_one_by_one(serve: Serve) -> None:
    """Capacity and charge, in bytes and parts of a device."""
    scheduler = await serve(node("n1").gpu("GPU-a", memory=24_000), HELD)
    samples = await scraped(scheduler)
    for name, value in (
        ("devices", 1),
        ("devices_usable", 1),
        ("device_slots", 10),
        ("device_slots_charged", 1),
        ("device_memory_bytes", 24_000 * MIB),
        ("device_memory_charged_bytes", 6_000 * MIB),
        ("device_compute_charged", 0.25),
    ):
        assert sample(samples, f"gpu_extender_{name}", **A) == value, name
    assert sample(samples, "gpu_extender_device_rows", level="device") == 1


async def test_devices_of_a_silent_plugin_are_not_usable(serve: Serve) -> None:
    """What is held there is shown all the same."""
    scheduler = await serve(node("n1").gpu("GPU-a").allocatable(0), HELD)
    samples = await scraped(scheduler)
    assert sample(samples, "gpu_extender_devices_usable", **A) == 0
    name = "gpu_extender_device_memory_charged_bytes"
    assert sample(samples, name, **A) == 6_000 * MIB


def sums(samples: Samples, name: str) -> float:
    """Add up all samples of a name."""
    return sum(value for (each, _), value in samples.items() if each == name)


LEVELS: Final = {4: ("device", 4), 3: ("node", 2), 1: ("model", 1), 0: ("model", 0)}


@pytest.mark.parametrize(("most", "shown"), LEVELS.items(), ids=map(str, LEVELS))
async def test_rows_are_bounded(
    serve: Serve, most: int, shown: tuple[str, int]
) -> None:
    """Devices, else nodes, else models; the sums are the same."""
    nodes = [node(f"n{n}").gpu(f"GPU-{n}a").gpu(f"GPU-{n}b") for n in (1, 2)]
    held = HELD.holding("GPU-1b,NVIDIA,6000,25:;")
    observe = ObserveSettings(device_rows=most)
    scheduler = await serve(*nodes, held, observe=observe)
    samples = await scraped(scheduler)
    level, rows = shown
    assert sample(samples, "gpu_extender_device_rows", level=level) == rows
    names = [each for each, _ in samples if each == DEVICES.scraped_name]
    assert len(names) == rows <= most
    if rows:
        assert sums(samples, DEVICES.scraped_name) == 4
        assert sums(samples, MEMORY_CHARGED.scraped_name) == 6_000 * MIB


async def test_requests_are_answered_between_steps(serve: Serve) -> None:
    """A scrape of many nodes does not hold the loop to its end."""
    nodes = [node(f"n{n}").gpu(f"GPU-{n}") for n in range(1_500)]
    scheduler = await serve(*nodes)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    pieces = len(list(scheduler.extender.metrics.steps()))
    counting = asyncio.create_task(count_turns())
    await scheduler.send("GET", "/metrics")
    counting.cancel()
    await asyncio.gather(counting, return_exceptions=True)
    assert 50 < pieces <= turns


async def test_phases_released_and_counted_again(serve: Serve) -> None:
    """Only of inits that have devices; the end of a pod is no release of a phase."""
    shown = (
        pod("i")
        .init("plain")
        .init("i", gpu=1, gpumem=9_000)
        .app("a", gpu=1, gpumem=2_000)
        .on("n1")
        .holding(";GPU-a,NVIDIA,9000,0:;GPU-a,NVIDIA,2000,0:;")
    )
    scheduler = await serve(node("n1").gpu("GPU-a"), shown)
    reader, ledger = scheduler.extender.reader, scheduler.extender.ledger
    done = shown.exited("plain").exited("i").running("a").phase("Running")
    for each in (done, shown, done, done.phase("Succeeded")):
        ledger.apply(PodSeen(reader.read(each.build())))
    samples = await scraped(scheduler)
    assert sample(samples, "gpu_extender_phases_released_total") == 2
    assert sample(samples, "gpu_extender_phases_re_inflated_total") == 1


async def test_pods_by_footing(serve: Serve) -> None:
    """What cannot be read, and what others placed, is seen."""
    bound = pod("u").app("a", gpu=1, gpumem=1_000).on("n1").phase("Running")
    unreadable = pod("x").app("a", gpu=1, gpumem=1_000).on("n1").phase("Running")
    scheduler = await serve(
        node("n1").gpu("GPU-a"), HELD, bound, unreadable.holding("GPU-a,NVIDIA,x,0:;")
    )
    samples = await scraped(scheduler)
    for footing in ("allocated", "unmanaged", "unreadable allocation"):
        name = "gpu_extender_pods_by_footing"
        assert sample(samples, name, footing=footing) == 1, footing


HAMI: Final = ObserveSettings(shows_hami_names=True)
HAMI_DEVICE: Final = {
    "zone": "vGPU",
    "node": "n1",
    "device_uuid": "GPU-a",
    "device_index": "0",
    "device_type": "NVIDIA A10",
}
HAMI_POD: Final = {
    "zone": "vGPU",
    "namespace": "team",
    "node": "n1",
    "pod": "p",
    "container_index": "0",
    "device_uuid": "GPU-a",
}
HAMI_SAMPLES: Final = {
    ("hami_gpu_memory_limit_bytes", 24_000 * MIB): HAMI_DEVICE,
    ("hami_gpu_core_limit_ratio", 100): HAMI_DEVICE,
    ("hami_gpu_memory_allocated_bytes", 6_000 * MIB): {
        **HAMI_DEVICE,
        "device_cores": "100",
    },
    ("hami_gpu_shared_count", 1): HAMI_DEVICE,
    ("hami_gpu_core_allocated_ratio", 25): HAMI_DEVICE,
    ("hami_node_gpu_overview", 6_000 * MIB): {
        **HAMI_DEVICE,
        "device_cores": "100",
        "device_memory_limit": "24000",
    },
    ("hami_node_gpu_memory_allocated_ratio", 0.25): HAMI_DEVICE,
    ("hami_vgpu_memory_allocated_bytes", 6_000 * MIB): HAMI_POD,
    ("hami_vgpu_core_allocated_ratio", 25): HAMI_POD,
    ("hami_resource_quota_used", 6_000): {
        "zone": "vGPU",
        "namespace": "team",
        "quota_name": "nvidia.com/gpumem",
        "limit": "8000",
    },
    ("hami_resource_quota_limit", 8_000): {
        "zone": "vGPU",
        "namespace": "team",
        "quota_name": "nvidia.com/gpumem",
    },
}


async def test_hami_names(serve: Serve) -> None:
    """Names, labels and values, and no others; of two quotas the lower one counts."""
    quotas = [
        resource_quota(name, "team", hard={"limits.nvidia.com/gpumem": most})
        for name, most in (("q", 8_000), ("larger", 9_000))
    ]
    scheduler = await serve(
        node("n1").gpu("GPU-a", memory=24_000), HELD, *quotas, observe=HAMI
    )
    samples = await scraped(scheduler)
    found = {key: value for key, value in samples.items() if key[0].startswith("hami_")}
    assert found == {
        (name, frozenset(labels.items())): value
        for (name, value), labels in HAMI_SAMPLES.items()
    }
    assert sample(samples, "gpu_extender_hami_rows_left_out") == 0


async def test_hami_names_are_bounded(serve: Serve) -> None:
    """What is left out is told."""
    observe = ObserveSettings(shows_hami_names=True, device_rows=1)
    nodes = node("n1").gpu("GPU-a").gpu("GPU-b").gpu("GPU-c")
    scheduler = await serve(nodes, HELD, observe=observe)
    samples = await scraped(scheduler)
    names = [name for name, _ in samples if name == "hami_gpu_shared_count"]
    assert len(names) == 1
    assert sample(samples, "gpu_extender_hami_rows_left_out") == 2


async def test_hami_names_are_asked_for(serve: Serve) -> None:
    """They name pods."""
    scheduler = await serve(node("n1").gpu("GPU-a"), HELD)
    assert not [name for name, _ in await scraped(scheduler) if "hami_" in name]


async def test_label_values_are_escaped(serve: Serve) -> None:
    """A node's annotation may name any model."""
    model = 'a "b" \\ c\nd'
    scheduler = await serve(node("n1").gpu("GPU-a", model=model), observe=HAMI)
    samples = await scraped(scheduler)
    assert sample(samples, "gpu_extender_devices", **{**A, "model": model}) == 1
