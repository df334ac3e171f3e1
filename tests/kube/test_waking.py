"""Refused pods are touched when room appears and kube-scheduler stays silent."""

from typing import Final

import pytest

from extender.core.names import NodeName, PodUID
from extender.service.waker import _ROOM_KEPT_SECONDS
from extender.settings import WakingSettings
from tests.builders import PodBuilder, node, pod, resource_quota
from tests.kube.running import ONE_CARD, WANTED, Running, running
from tests.kube.server import ApiServer, answers, cut, until

pytestmark = pytest.mark.timeout(30)

WOKEN: Final = "gpu-extender/woken-at"
PATIENCE: Final = WakingSettings().patience_seconds
AT_ONCE: Final = WakingSettings().most_per_look
HOLDER: Final = (
    pod("holder")
    .app("a", gpu=1, gpumem=16_000)
    .on("n1")
    .holding("GPU-a,NVIDIA,16000,0:;")
    .phase("Running")
)
HELD: Final = ONE_CARD, HOLDER, WANTED


def touched(server: ApiServer) -> list[str]:
    """Name the pods that were touched, in order."""
    asked = server.asked("PATCH", "/pods/")
    return [one.rpartition("/")[2] for one in asked]


async def end(run: Running, holder: PodBuilder = HOLDER) -> None:
    """Let a pod finish, and the extender hear of it."""
    run.server.put(holder.phase("Succeeded"))
    ledger = run.extender.ledger
    await until(lambda: ledger.holding(PodUID(holder.pod_uid)) is None)


async def look(run: Running, *, after: float = PATIENCE) -> None:
    """See what there is, and look again once patience is over."""
    await run.extender.wake()
    run.clock.skipped += after
    await run.extender.wake()


async def test_refused_pod_is_touched_once() -> None:
    """After kube-scheduler had its time to ask by itself; nothing else is changed."""
    server = ApiServer().with_all(*HELD)
    async with running(server) as run:
        assert run.filter(WANTED).failed == {"n1": "CardInsufficientMemory"}
        before = dict(server.pod("p")["metadata"].get("annotations", {}))
        await look(run)
        assert touched(server) == []
        await end(run)
        await look(run, after=PATIENCE - 1)
        assert touched(server) == []
        run.clock.skipped += 1
        await run.extender.wake()
        assert touched(server) == ["p"]
        after = server.pod("p")["metadata"]["annotations"]
        assert set(after) - set(before) == {WOKEN}
        await look(run, after=_ROOM_KEPT_SECONDS + PATIENCE)
        assert touched(server) == ["p"]


async def test_pod_that_was_asked_about_again_is_left_alone() -> None:
    """kube-scheduler heard of the room; a bind is on its way."""
    server = ApiServer().with_all(*HELD)
    async with running(server) as run:
        run.filter(WANTED)
        await end(run)
        assert run.filter(WANTED).fitting == ["n1"]
        await look(run)
        assert touched(server) == []


async def test_room_that_is_too_small_wakes_nobody() -> None:
    """The pod would only be refused again."""
    small = pod("small").app("a", gpu=1, gpumem=1000).on("n1").phase("Running")
    small = small.holding("GPU-a,NVIDIA,1000,0:;")
    server = ApiServer().with_all(*HELD, small)
    async with running(server) as run:
        run.filter(WANTED)
        await end(run, small)
        await look(run)
        assert touched(server) == []


async def test_node_that_was_not_asked_about_wakes_nobody() -> None:
    """kube-scheduler has its own reasons against that node, and its own events."""
    server = ApiServer().with_all(*HELD, node("n2"))
    async with running(server) as run:
        run.filter(WANTED)
        server.put(node("n2").gpu("GPU-b"))
        await until(lambda: run.extender.ledger.nodes[NodeName("n2")].is_usable)
        await look(run)
        assert touched(server) == []


async def test_as_many_are_touched_as_there_is_room_for() -> None:
    """One card became free: one of three, the most important, the first of equals."""
    late = pod("late").app("a", gpu=1, gpumem=16_000)
    high = pod("high").app("a", gpu=1, gpumem=16_000).priority(5)
    also = pod("also").app("a", gpu=1, gpumem=16_000).priority(5)
    server = ApiServer().with_all(*HELD, late, high, also)
    async with running(server) as run:
        for waiting in (WANTED, late, high, also):
            run.filter(waiting)
        await end(run)
        await look(run)
        assert touched(server) == ["high"]
        await look(run)
        assert touched(server) == ["high"]


async def test_few_are_touched_at_a_time() -> None:
    """The rest follows at the next looks."""
    many = [pod(f"p{number}").app("a", gpu=1, gpumem=1000) for number in range(8)]
    server = ApiServer().with_all(ONE_CARD, *many)
    holder = pod("holder").app("a", gpu=1, gpumem=24_000).on("n1").phase("Running")
    holder = holder.holding("GPU-a,NVIDIA,24000,0:;")
    server.put(holder)
    async with running(server) as run:
        for waiting in many:
            run.filter(waiting)
        await end(run, holder)
        await look(run)
        assert len(touched(server)) == AT_ONCE
        await run.extender.wake()
        assert sorted(touched(server)) == sorted(one.name for one in many)
        await look(run)
        assert len(touched(server)) == len(many)


async def test_room_that_comes_in_two_steps() -> None:
    """The first is too small, and its patience is over before the second's."""
    small = pod("small").app("a", gpu=1, gpumem=1000).on("n1").phase("Running")
    small = small.holding("GPU-a,NVIDIA,1000,0:;")
    server = ApiServer().with_all(*HELD, small)
    async with running(server) as run:
        await end(run, small)
        await run.extender.wake()
        run.clock.skipped += PATIENCE / 2
        run.filter(WANTED)
        await end(run)
        await look(run, after=PATIENCE / 2)
        assert touched(server) == []
        run.clock.skipped += PATIENCE / 2
        await run.extender.wake()
        assert touched(server) == ["p"]


async def test_node_that_registers_after_the_refusal() -> None:
    """Then its refusal was one that no eviction changes."""
    server = ApiServer().with_all(node("n1"), WANTED)
    async with running(server) as run:
        assert run.filter(WANTED).unresolvable == {"n1": "node unregistered"}
        server.put(ONE_CARD)
        await until(lambda: run.extender.ledger.nodes[NodeName("n1")].is_usable)
        await look(run)
        assert touched(server) == ["p"]


async def test_room_of_a_lapsed_reservation() -> None:
    """It appears without any event at all."""
    other = pod("other").app("a", gpu=1, gpumem=16_000)
    server = ApiServer().with_all(ONE_CARD, WANTED, other)
    server.fail("POST", "/pods/other/binding", cut())
    async with running(server) as run:
        assert "ServerDisconnected" in await run.bind(other)
        assert run.filter(WANTED).failed == {"n1": "CardInsufficientMemory"}
        run.clock.skipped += 61
        await run.extender._binder.settle()
        await look(run)
        assert touched(server) == ["p"]


async def test_node_that_is_no_longer_stuck() -> None:
    """Its lock was kept for long by a pod that waited for its devices."""
    rows = "GPU-a,NVIDIA,1000,0:;"
    owner = pod("q").app("a", gpu=1, gpumem=1000).on("n1")
    unserved = owner.annotations(
        {
            "hami.io/vgpu-devices-allocated": rows,
            "hami.io/vgpu-devices-to-allocate": rows,
            "hami.io/bind-phase": "allocating",
        }
    )
    server = ApiServer().with_all(ONE_CARD, WANTED, unserved)
    server.set_lock("n1", "2026-01-01T00:00:00Z,default,q")
    async with running(server) as run:
        run.clock.skipped += 6
        assert run.filter(WANTED).failed == {"n1": "NodeLocked"}
        await look(run)
        assert touched(server) == []
        server.set_lock("n1", None)
        await until(lambda: run.extender.ledger.nodes[NodeName("n1")].lock is None)
        await look(run)
        assert touched(server) == ["p"]


async def test_touch_that_failed_is_tried_again() -> None:
    """The API server was away."""
    server = ApiServer().with_all(*HELD)
    server.fail("PATCH", "/pods/p", answers(503))
    async with running(server) as run:
        run.filter(WANTED)
        await end(run)
        await look(run)
        assert WOKEN not in server.pod("p")["metadata"].get("annotations", {})
        await run.extender.wake()
        assert WOKEN in server.pod("p")["metadata"]["annotations"]


async def test_successor_of_a_pod_is_not_touched() -> None:
    """A touch is for one UID: it is sent, and the API server refuses it."""
    server = ApiServer().with_all(*HELD)
    async with running(server) as run:
        run.filter(WANTED)
        await end(run)
        await run.extender.wake()
        run.clock.skipped += PATIENCE
        server.delete(WANTED, silently=True)
        server.put(WANTED.uid("successor"))
        server.kinds["pods"].events.pop()
        assert touched(server) == []
        await run.extender.wake()
        assert touched(server) == ["p"]
        assert WOKEN not in server.pod("p")["metadata"].get("annotations", {})


MEM: Final = "limits.nvidia.com/gpumem"
TWO_NODES: Final = node("n1").gpu("GPU-a"), node("n2").gpu("GPU-b")


def limits(run: Running) -> list[int | None]:
    """Give the memory limits of all quotas."""
    quotas = run.extender.ledger.quotas
    return [limit.most for quota in quotas for limit in quota.limits]


async def test_a_raised_or_deleted_quota_wakes() -> None:
    """kube-scheduler does not watch quotas."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    server.put(resource_quota("q", hard={MEM: 1_000}))
    async with running(server) as run:
        assert run.filter(WANTED).failed == {"n1": "ResourceQuotaNotFit"}
        server.put(resource_quota("q", hard={MEM: 15_999}))
        await until(lambda: limits(run) == [15_999])
        await look(run)
        assert touched(server) == []
        server.put(resource_quota("q", hard={MEM: 16_000}))
        await until(lambda: limits(run) == [16_000])
        await look(run)
        assert touched(server) == ["p"]
        server.put(resource_quota("q", hard={MEM: 0}))
        await until(lambda: limits(run) == [0])
        assert run.filter(WANTED).failed == {"n1": "ResourceQuotaNotFit"}
        server.delete(resource_quota("q", hard={}))
        await until(lambda: limits(run) == [])
        await look(run, after=_ROOM_KEPT_SECONDS + PATIENCE)
        assert touched(server) == ["p", "p"]


async def test_a_pod_that_ends_elsewhere_wakes_its_namespace() -> None:
    """The node that it was on has no other room; a pod elsewhere stays asleep."""
    full = pod("full", "other").app("a", gpu=1, gpumem=8_000).on("n1").phase("Running")
    full = full.holding("GPU-a,NVIDIA,8000,0:;")
    stranger = pod("s", "other").app("a", gpu=1, gpumem=24_000)
    wanted = pod("p").app("a", gpu=1, gpumem=20_000)
    server = ApiServer().with_all(*TWO_NODES, full, HOLDER, stranger, wanted)
    server.put(resource_quota("q", hard={MEM: 24_000}))
    server.put(resource_quota("q", "other", hard={MEM: 24_000}))
    async with running(server) as run:
        for each in (wanted, stranger):
            assert (
                run.filter(each, "n1", "n2").failed[NodeName("n2")]
                == "ResourceQuotaNotFit"
            )
        await end(run)
        await look(run)
        assert touched(server) == ["p"]


async def test_a_phase_that_is_released_wakes_its_namespace() -> None:
    """No event of Kubernetes' scheduler tells of it."""
    both = (
        pod("i")
        .init("i", gpu=1, gpumem=20_000)
        .app("a", gpu=1, gpumem=1_000)
        .holding("GPU-a,NVIDIA,20000,0:;GPU-a,NVIDIA,1000,0:;")
        .on("n1")
    )
    server = ApiServer().with_all(*TWO_NODES, both, WANTED)
    server.put(resource_quota("q", hard={MEM: 20_000}))
    async with running(server) as run:
        assert run.filter(WANTED, "n2").failed == {"n2": "ResourceQuotaNotFit"}
        server.put(both.phase("Running").exited("i").running("a"))
        ledger = run.extender.ledger
        await until(
            lambda: ledger.quotas.uses(ledger.quotas.of("default")[0])[0].used == 1_000
        )
        await look(run)
        assert touched(server) == ["p"]
