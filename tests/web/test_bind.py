"""bind: the only commit, written once and counted at once."""

import asyncio
import time

import pytest

from tests.builders import Json, node, pod
from tests.web.conftest import Serve
from tests.web.scheduler import ALLOCATED, TO_ALLOCATE, binding

ONE_CARD = node("n1").gpu("GPU-a")
OTHER = node("n2").gpu("GPU-b")
LABEL = "hami.io/vgpu-node"


async def test_bind_writes_what_the_plugin_needs(serve: Serve) -> None:
    """Annotations, label and node, one row per container; the rows are served."""
    scheduler = await serve(ONE_CARD, OTHER)
    wanted = (
        pod("p")
        .init("i", gpu=1, gpumem=20_000)
        .sidecar("s")
        .app("a", gpu=1, gpumem=10_000, cores=30)
        .annotations({"mine": "kept"})
    )
    await scheduler.add(wanted)
    started = int(time.time())
    assert await scheduler.bind(wanted, "n1") == ""
    shown = await scheduler.shown(wanted)
    annotations = shown["metadata"]["annotations"]
    for name in ("hami.io/vgpu-time", "hami.io/bind-time"):
        assert started <= int(annotations.pop(name)) <= int(time.time())
    assert annotations == {
        "mine": "kept",
        LABEL: "n1",
        ALLOCATED: "GPU-a,NVIDIA,20000,0:;;GPU-a,NVIDIA,10000,30:;",
        TO_ALLOCATE: ";;;",
        "hami.io/bind-phase": "success",
        "gpu-extender/release": "after-init",
    }
    assert shown["metadata"]["labels"] == {LABEL: "n1"}
    assert shown["spec"]["nodeName"] == "n1"


async def test_repeated_bind_is_success(serve: Serve) -> None:
    """Case 67: to the same node, and nothing is written or charged again."""
    scheduler = await serve(ONE_CARD)
    wanted = pod("p").app("a", gpu=1, gpumem=8000)
    await scheduler.add(wanted)
    assert await scheduler.bind(wanted, "n1") == ""
    before = await scheduler.state()
    assert await scheduler.bind(wanted, "n1") == ""
    assert await scheduler.state() == before


WRONG: dict[str, tuple[str, Json, str]] = {
    "another node": ("placed", {"Node": "n2"}, "already bound to n1"),
    "another uid": ("fresh", {"PodUID": "other"}, "has uid "),
    "another uid of a bound pod": ("placed", {"PodUID": "other"}, "has uid "),
    "another name": ("fresh", {"PodName": "placed"}, "default/fresh"),
    "a name that is not there": ("fresh", {"PodName": "x", "PodUID": "x"}, "x"),
    "another namespace": ("fresh", {"PodNamespace": "kube-system"}, "default/fresh"),
    "another name of a bound pod": ("placed", {"PodName": "fresh"}, "default/placed"),
    "an unknown node": ("fresh", {"Node": "ghost"}, "node unregistered"),
}


@pytest.mark.parametrize(("which", "changed", "text"), WRONG.values(), ids=WRONG)
async def test_wrong_binding_is_refused(
    serve: Serve, which: str, changed: Json, text: str
) -> None:
    """Each is an Error in a 200 that says what is wrong, and changes nothing."""
    scheduler = await serve(ONE_CARD, OTHER)
    placed = pod("placed").app("a", gpu=1, gpumem=8000)
    fresh = pod("fresh").app("a", gpu=1, gpumem=8000)
    await scheduler.add(placed)
    await scheduler.add(fresh)
    assert await scheduler.bind(placed, "n1") == ""
    before = await scheduler.state()
    wrong = placed if which == "placed" else fresh
    answer = await scheduler.post("/bind", {**binding(wrong, "n1"), **changed})
    assert answer.status == 200
    assert text in answer.json["Error"]
    assert await scheduler.state() == before


async def test_long_node_name_gets_no_label(serve: Serve) -> None:
    """Case 56: a label of 64 characters would make every later update invalid."""
    longest, too_long = "n" * 63, "gpu-" + 60 * "x" + ".example.internal"
    scheduler = await serve(node(longest).gpu("GPU-a"), node(too_long).gpu("GPU-b"))
    for name, labels in ((longest, {LABEL: longest}), (too_long, {})):
        wanted = pod(f"p{len(name)}").app("a", gpu=1, gpumem=1000)
        assert await scheduler.place(wanted, [name]) == name
        metadata = (await scheduler.shown(wanted))["metadata"]
        assert metadata["annotations"][LABEL] == name
        assert metadata.get("labels", {}) == labels


async def test_bind_checks_the_fit_again(serve: Serve) -> None:
    """The card became full after filter: bind refuses, and holds nothing for it."""
    scheduler = await serve(ONE_CARD)
    late = pod("late").app("a", gpu=1, gpumem=20_000)
    await scheduler.add(late)
    assert (await scheduler.filter(late)).node_names == ["n1"]
    assert await scheduler.place(pod("first").app("a", gpu=1, gpumem=8000)) == "n1"
    before = await scheduler.state()
    error = await scheduler.bind(late, "n1")
    assert error == "no longer fits: CardInsufficientMemory"
    assert await scheduler.state() == before


async def test_bind_refuses_an_unreadable_request_by_name(serve: Serve) -> None:
    """Case 75: it is neither dropped nor read as a whole card."""
    scheduler = await serve(ONE_CARD)
    wanted = pod("p").app("worker", gpu=1, gpumem="1500m")
    await scheduler.add(wanted)
    error = await scheduler.bind(wanted, "n1")
    assert "container 'worker'" in error
    assert "1500m" in error
    assert "nodeName" not in (await scheduler.shown(wanted))["spec"]


async def test_pod_without_devices_is_bound_bare(serve: Serve) -> None:
    """No annotation and no label of ours; a node that is not there is refused."""
    scheduler = await serve(ONE_CARD, node("cpu"))
    wanted = pod("p").app("a")
    await scheduler.add(wanted)
    assert "ghost" in await scheduler.bind(wanted, "ghost")
    assert await scheduler.bind(wanted, "cpu") == ""
    shown = await scheduler.shown(wanted)
    assert shown["spec"]["nodeName"] == "cpu"
    assert shown["metadata"].get("annotations", {}) == {}
    assert shown["metadata"].get("labels", {}) == {}


async def test_terminating_pod_is_not_bound(serve: Serve) -> None:
    """The API server refuses it; what was reserved for it is given back."""
    wanted = pod("p").app("a", gpu=1, gpumem=8000).terminating()
    scheduler = await serve(ONE_CARD, wanted)
    before = await scheduler.state()
    assert "being deleted" in await scheduler.bind(wanted, "n1")
    assert await scheduler.state() == before
    assert await scheduler.free_memory("GPU-a") == 24_000


async def test_write_that_fails_gives_the_room_back(serve: Serve) -> None:
    """Whatever went wrong with the Binding, the pod holds nothing afterwards."""
    shown = pod("p").app("a", gpu=1, gpumem=24_000).build()
    shown["metadata"]["labels"] = ["no", "object"]
    scheduler = await serve(ONE_CARD)
    created = await scheduler.post("/pods", shown)
    if created.status == 201:  # the cluster may as well refuse such a pod
        await scheduler.post("/bind", binding(shown, "n1"))
    assert await scheduler.free_memory("GPU-a") == 24_000


async def test_one_of_two_racing_binds_wins(serve: Serve) -> None:
    """Both were told that they fit; there is room for one."""
    scheduler = await serve(ONE_CARD)
    pair = [pod(name).app("a", gpu=1, gpumem=16_000) for name in ("x", "y")]
    for each in pair:
        await scheduler.add(each)
        assert (await scheduler.filter(each)).node_names == ["n1"]
    errors = await asyncio.gather(*[scheduler.bind(each, "n1") for each in pair])
    assert sorted(errors) == ["", "no longer fits: CardInsufficientMemory"]
    assert await scheduler.free_memory("GPU-a") == 8000


async def test_racing_binds_of_one_pod_bind_it_once(serve: Serve) -> None:
    """To two nodes at once: it lands on one of them, and is charged there alone."""
    scheduler = await serve(ONE_CARD, OTHER)
    wanted = pod("p").app("a", gpu=1, gpumem=16_000)
    await scheduler.add(wanted)
    errors = await asyncio.gather(
        *[scheduler.bind(wanted, name) for name in ("n1", "n2")]
    )
    assert errors.count("") == 1
    bound_to = (await scheduler.shown(wanted))["spec"]["nodeName"]
    assert bound_to == ("n1", "n2")[errors.index("")]
    free = [await scheduler.free_memory(uuid) for uuid in ("GPU-a", "GPU-b")]
    assert sorted(free) == [8000, 24_000]


async def test_burst_never_goes_over_capacity(serve: Serve) -> None:
    """40 pods bound at once where about 12 fit: as many as fit are, and no more."""
    cards = node("n1").gpu("GPU-a").gpu("GPU-b").gpu("GPU-c").gpu("GPU-d")
    scheduler = await serve(cards)
    many = [
        pod(f"p{index}").sidecar("s", gpu=1, gpumem=3000).app("a", gpu=1, gpumem=5000)
        for index in range(40)
    ]
    # Spread puts sidecar and app on different cards, so one card each may remain.
    await asyncio.gather(*[scheduler.add(each) for each in many])
    errors = await asyncio.gather(*[scheduler.bind(each, "n1") for each in many])
    assert set(errors) == {"", "no longer fits: CardInsufficientMemory"}
    charges = (await scheduler.charges())["n1"]
    assert all(held.memory_mib <= 24_000 for held in charges.values())
    assert all(held.slots <= 10 for held in charges.values())
    bound = errors.count("")
    total = sum(held.memory_mib for held in charges.values())
    assert total == bound * 8000
    assert max(24_000 - held.memory_mib for held in charges.values()) < 8000
    for uuid, held in charges.items():
        assert await scheduler.free_memory(uuid) == 24_000 - held.memory_mib
