"""What becomes of a node's lock that somebody else holds, on a real API server.

Each test begins with a lock that the extender did not write. Its clock for waiting is
put on where 20 or 60 s must pass.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from typing import Final

import pytest
import pytest_asyncio

from tests.builders import Json, node, pod
from tests.control_plane.client import (
    PLUGIN,
    STRATEGIC,
    Api,
    node_path,
    path_of,
    pod_path,
)
from tests.control_plane.kubelet import Kubelet, attached
from tests.control_plane.plane import ControlPlane
from tests.control_plane.plugin import (
    ALLOCATED,
    BIND_PHASE,
    BIND_TIME,
    LOCK,
    TO_ALLOCATE,
    VGPU_NODE,
)
from tests.control_plane.proxy import PODS, Held, Matches
from tests.control_plane.steps import Late
from tests.control_plane.trial import TimedTrial, is_running, on_timed_trial

pytestmark = pytest.mark.asyncio(loop_scope="module")

BIND_SECONDS: Final = 21.0
"""Longer than a bind waits for a lock."""

LONGEST_SECONDS: Final = 61.0
"""Longer than any bind lasts."""

ADMISSION_SECONDS: Final = 6.0
"""Longer than kubelet may still be at a pod that is gone."""

DAY_SECONDS: Final = 86_400.0

OWNED_BY_Q: Final = "2026-01-01T00:00:00Z,default,q"
OWNED_BY_Q_LATER: Final = "2026-01-01T00:00:01Z,default,q"
ROWS: Final = "GPU-a,NVIDIA,1000,0:;"
UNSERVED: Final = {
    VGPU_NODE: "n1",
    ALLOCATED: ROWS,
    TO_ALLOCATE: ROWS,
    BIND_PHASE: "allocating",
    BIND_TIME: "1767225600",
}
SERVED: Final = {**UNSERVED, TO_ALLOCATE: ";", BIND_PHASE: "success"}
FREE: Final = None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def only(shared_control_plane: ControlPlane) -> AsyncIterator[TimedTrial]:
    """Run an extender behind a proxy for all tests of this file."""
    async with on_timed_trial(shared_control_plane) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def trial(only: TimedTrial) -> AsyncIterator[TimedTrial]:
    """Give the extender to a test, with node n1, and n2, and pod p that waits."""
    async with only.emptied():
        await only.api.create_node(node("n1").gpu("GPU-a").build())
        await only.api.create_node(node("n2").gpu("GPU-b").build())
        await only.api.create_pod(pod("p").app("a", gpu=1, gpumem=16_000).build())
        await only.caller.knows(nodes=2, pods=1)
        yield only


async def lock(api: Api, value: str | None) -> None:
    """Write the lock of n1, as others would."""
    change = {"metadata": {"annotations": {LOCK: value}}}
    await api.acting_as(PLUGIN).patch(node_path("n1"), change)


async def lock_of(api: Api) -> str:
    """Read the lock of n1."""
    shown = await api.get(node_path("n1"))
    return str(shown["metadata"].get("annotations", {}).get(LOCK))


def is_look(method: str, path: str) -> bool:
    """Whether a request reads the lock of n1."""
    return (method, path) == ("GET", node_path("n1"))


async def bind(trial: TimedTrial) -> str:
    """Bind p to n1, as kube-scheduler does."""
    return await trial.caller.bind(await trial.api.get(pod_path("p")), "n1")


async def bind_till_the_end(trial: TimedTrial, until: Matches = is_look) -> str:
    """Bind p to n1, with no time left once the lock, or the node's pods, was read."""
    look = Held()
    with trial.proxy.fault(until, look, most=1):
        binding = asyncio.ensure_future(bind(trial))
        await look.reached.wait()
        trial.clock.skipped += BIND_SECONDS
        look.release()
        return await binding


async def owner(
    api: Api, node_name: str | None = None, texts: dict[str, str] | None = None
) -> Json:
    """Create q, which the lock names, bound or not."""
    created = await api.create_pod(pod("q").app("a", gpu=1, gpumem=1_000).build())
    if node_name is not None:
        await api.bind(created, node_name, texts)
    return created


async def ends(api: Api, created: Json, phase: str) -> None:
    """Let a pod be over, as kubelet reports it."""
    change = {"status": {"phase": phase}}
    await api.patch(f"{path_of(created)}/status", change, STRATEGIC)


async def served(api: Api) -> None:
    """The plugin is done, and did not release; containers are still being created."""
    await owner(api, "n1", SERVED)


async def running(api: Api) -> None:
    """Nobody told that it was served, but it runs."""
    await ends(api, await owner(api, "n1", UNSERVED), "Running")


async def failed(api: Api) -> None:
    """Kubelet refused it before it was served, such as for its CPU."""
    await ends(api, await owner(api, "n1", UNSERVED), "Failed")


async def succeeded(api: Api) -> None:
    """It has ended."""
    await ends(api, await owner(api, "n1", SERVED), "Succeeded")


async def elsewhere(api: Api) -> None:
    """It waits for its devices on another node."""
    await owner(api, "n2", {**UNSERVED, VGPU_NODE: "n2"})


LOST: Final = [served, running, failed, succeeded, elsewhere]


@pytest.mark.parametrize("become", LOST, ids=[each.__name__ for each in LOST])
async def test_lock_that_protects_nobody(
    trial: TimedTrial, become: Callable[[Api], Awaitable[None]]
) -> None:
    """It is taken at once, and the plugin serves who took it, and releases it."""
    await become(trial.api)
    await lock(trial.api, OWNED_BY_Q)
    assert await bind(trial) == ""
    assert (await lock_of(trial.api)).endswith(",default,p")
    async with attached(Kubelet(trial.api, "n1")) as kubelet:
        await trial.api.when(pod_path("p"), is_running, wanted="running")
        assert kubelet.served[-1].pod["metadata"]["name"] == "p"
        await trial.api.when(node_path("n1"), is_free, wanted="unlocked")


async def test_lock_of_a_pod_that_is_gone(trial: TimedTrial) -> None:
    """It is kept for a moment, in which kubelet may still be at that pod."""
    await lock(trial.api, OWNED_BY_Q)
    said = await bind_till_the_end(trial)
    why = "the pod that it was set for is gone, and kubelet may not know it yet"
    assert said == f"node n1 is locked: {why}"
    assert await lock_of(trial.api) == OWNED_BY_Q
    trial.clock.skipped += ADMISSION_SECONDS
    assert await bind(trial) == ""
    assert (await lock_of(trial.api)).endswith(",default,p")


def is_free(shown: Json) -> bool:
    """Whether a node has no lock."""
    return LOCK not in shown["metadata"]["annotations"]


WAITING: Final = {
    "no row was served": UNSERVED,
    "the phase is not written yet": {**UNSERVED, TO_ALLOCATE: ";"},
    "a row of another kind is left": {
        **SERVED,
        "hami.io/dcu-devices-to-allocate": "DCU-a,DCU,1000,0:;",
    },
}


@pytest.mark.parametrize("texts", WAITING.values(), ids=WAITING)
async def test_owner_that_is_bound_and_not_served(
    trial: TimedTrial, texts: dict[str, str]
) -> None:
    """It keeps the lock however old that is; bind names it, and filter does later."""
    created = await owner(trial.api, "n1", texts)
    await lock(trial.api, OWNED_BY_Q)
    await trial.caller.knows(nodes=2, pods=2)
    waiting = await trial.api.get(pod_path("p"))
    # A young lock refuses nothing: its owner is mostly served within a second.
    assert (await trial.caller.filter(waiting, ["n1"]))["NodeNames"] == ["n1"]
    said = "node n1 is locked: pod default/q waits for its devices"
    assert await bind_till_the_end(trial) == said
    trial.clock.skipped += DAY_SECONDS
    assert await bind_till_the_end(trial) == said
    decision = await trial.caller.filter(waiting, ["n1", "n2"])
    assert decision["NodeNames"] == ["n2"]
    assert decision["FailedNodes"] == {"n1": "NodeLocked"}
    assert await lock_of(trial.api) == OWNED_BY_Q
    await trial.caller.is_clean()
    await trial.api.delete(path_of(created), grace_seconds=3_600)
    assert await bind_till_the_end(trial) == said
    await trial.api.delete(path_of(created))
    assert await bind(trial) == ""


async def test_unserved_pod_whose_lock_is_missing(trial: TimedTrial) -> None:
    """It comes first all the same: bind waits for it, and gives its own lock back."""
    created = await owner(trial.api, "n1", UNSERVED)
    said = "node n1 is busy: pod default/q waits for its devices"
    assert await bind_till_the_end(trial, lambda *at: at == ("GET", PODS)) == said
    assert await lock_of(trial.api) == str(FREE)
    plugin = trial.api.acting_as(PLUGIN)
    await plugin.patch(path_of(created), {"metadata": {"annotations": SERVED}})
    assert await bind(trial) == ""


NAMELESS: Final = {
    "time": "2026-01-01T00:00:00Z",
    "nonsense": "?",
    "empty-name": "2026-01-01T00:00:00Z,default,",
    "four-parts": "2026-01-01T00:00:00Z,default,q,r",
}


@pytest.mark.parametrize(
    "value", [OWNED_BY_Q, *NAMELESS.values()], ids=["q", *NAMELESS]
)
async def test_lock_of_which_only_its_age_tells(trial: TimedTrial, value: str) -> None:
    """Of an unbound pod, or of none: it is kept for a minute, and then taken."""
    await owner(trial.api)
    await lock(trial.api, value)
    why = (
        "pod default/q is being bound"
        if value == OWNED_BY_Q
        else "its lock names no pod"
    )
    assert await bind_till_the_end(trial) == f"node n1 is locked: {why}"
    assert await bind_till_the_end(trial) == f"node n1 is locked: {why}"
    assert await lock_of(trial.api) == value
    trial.clock.skipped += LONGEST_SECONDS - 2 * BIND_SECONDS
    assert await bind(trial) == ""
    assert (await lock_of(trial.api)).endswith(",default,p")


async def test_lock_that_is_taken_anew_is_young_again(trial: TimedTrial) -> None:
    """Its age is that of its value, by our own clock; the time in it says nothing."""
    await owner(trial.api)
    await lock(trial.api, OWNED_BY_Q)
    assert "is being bound" in await bind_till_the_end(trial)
    trial.clock.skipped += LONGEST_SECONDS
    await lock(trial.api, OWNED_BY_Q_LATER)
    assert "is being bound" in await bind_till_the_end(trial)
    assert await lock_of(trial.api) == OWNED_BY_Q_LATER


async def test_owner_that_is_made_again_under_its_name(trial: TimedTrial) -> None:
    """The new one did not set this lock, so it is taken; one that it sets is kept."""
    created = await owner(trial.api)
    await lock(trial.api, OWNED_BY_Q)
    assert "is being bound" in await bind_till_the_end(trial)
    await trial.api.delete(path_of(created))
    await owner(trial.api)
    await lock(trial.api, OWNED_BY_Q_LATER)
    assert "is being bound" in await bind_till_the_end(trial)
    await trial.api.delete(path_of(created))
    await owner(trial.api)
    assert await bind(trial) == ""


async def test_lock_that_changes_between_look_and_write(trial: TimedTrial) -> None:
    """Who came first has it."""
    await owner(trial.api, "n1", UNSERVED)
    write = Late()
    with trial.proxy.fault(lambda method, _: method == "PATCH", write, most=1):
        binding = asyncio.ensure_future(bind(trial))
        await write.reached.wait()
        await lock(trial.api, OWNED_BY_Q)
        look = Held()
        with trial.proxy.fault(is_look, look, most=1):
            write.release()
            assert await write.outcome == HTTPStatus.CONFLICT
            await look.reached.wait()
            trial.clock.skipped += BIND_SECONDS
            look.release()
            assert "pod default/q waits for its devices" in await binding
    assert await lock_of(trial.api) == OWNED_BY_Q


async def test_lock_that_two_replicas_take_at_once(
    trial: TimedTrial, shared_control_plane: ControlPlane
) -> None:
    """One has it; the other waits until its pod is served, and then binds its own."""
    other = await trial.api.create_pod(pod("q").app("a", gpu=1, gpumem=8_000).build())
    async with (
        on_timed_trial(shared_control_plane) as second,
        attached(Kubelet(trial.api, "n1")),
    ):
        writes = [Late(), Late()]
        with (
            trial.proxy.fault(lambda method, _: method == "PATCH", writes[0], most=1),
            second.proxy.fault(lambda method, _: method == "PATCH", writes[1], most=1),
        ):
            binds = asyncio.gather(bind(trial), second.caller.bind(other, "n1"))
            for write in writes:
                await write.reached.wait()
            for write in writes:
                write.release()
            outcomes = {await write.outcome for write in writes}
            assert outcomes == {HTTPStatus.OK, HTTPStatus.CONFLICT}
            assert list(await binds) == ["", ""]
        for created in (other, await trial.api.get(pod_path("p"))):
            await trial.api.when(path_of(created), is_running, wanted="running")
        await trial.api.when(node_path("n1"), is_free, wanted="unlocked")
        for each in (trial, second):
            await each.caller.is_clean()
            await each.caller.has_left("n1", 0)


async def test_lock_that_changes_while_its_owner_is_read(trial: TimedTrial) -> None:
    """The pod of the new one is not taken for a successor of the old one's."""
    served = await owner(trial.api, "n1", SERVED)
    await lock(trial.api, OWNED_BY_Q)
    await trial.api.create_pod(pod("r").app("a", gpu=1, gpumem=1_000).build())
    owned_by_r = "2026-01-01T00:00:01Z,default,r"
    read, look = Held(), Held()
    with trial.proxy.fault(lambda _, path: path == path_of(served), read):
        binding = asyncio.ensure_future(bind(trial))
        await read.reached.wait()
        await lock(trial.api, owned_by_r)
        await trial.api.create_node(node("n3").build())
        # The watch has shown the lock, too.
        await trial.caller.knows(nodes=3, pods=3)
        with trial.proxy.fault(is_look, look):
            read.release()
            await look.reached.wait()
            trial.clock.skipped += BIND_SECONDS
            look.release()
            said = await binding
    assert said == "node n1 is locked: pod default/r is being bound"
    assert await lock_of(trial.api) == owned_by_r
