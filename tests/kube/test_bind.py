"""bind on an API server: what is written, and what becomes of it when things fail."""

import asyncio
from typing import Final

import pytest
from aiohttp import web

from extender.core.names import NodeName, PodUID
from extender.core.pod import Release
from tests.builders import PodBuilder, node, pod
from tests.kube.running import ONE_CARD, WANTED, Running, running
from tests.kube.server import ApiServer, Json, answers, cut, says, status, until

pytestmark = pytest.mark.timeout(30)

N1: Final = NodeName("n1")
ROWS: Final = "GPU-a,NVIDIA,16000,0:;"
ALLOCATED: Final = "hami.io/vgpu-devices-allocated"
TO_ALLOCATE: Final = "hami.io/vgpu-devices-to-allocate"
PHASE: Final = "hami.io/bind-phase"
BINDING: Final = "/pods/p/binding"
RELEASE: Final = "gpu-extender/release"


async def test_one_binding_carries_all() -> None:
    """Lock, then Binding: two writes; the lock names the pod before kubelet sees it."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    async with running(server) as run:
        assert await run.bind() == ""
        bound = server.pod("p")
        assert bound["spec"]["nodeName"] == "n1"
        assert bound["metadata"]["annotations"] == {
            "hami.io/vgpu-node": "n1",
            "hami.io/vgpu-time": "1700000000",
            TO_ALLOCATE: ROWS,
            ALLOCATED: ROWS,
            PHASE: "allocating",
            "hami.io/bind-time": "1700000000",
        }
        assert bound["metadata"]["labels"] == {"hami.io/vgpu-node": "n1"}
        lock = server.lock_of("n1")
        assert lock is not None
        assert lock.endswith(",default,p")
        assert lock.startswith("2023-11-14T22:13:20.5")
        asked = [
            one.partition("?")[0]
            for one in server.requests
            if "watch" not in one and "limit=1" not in one
        ]
        assert asked[-3:] == [
            "PATCH /api/v1/nodes/n1",
            "GET /api/v1/pods",
            "POST /api/v1/namespaces/default/pods/p/binding",
        ]
        await until(lambda: not run.is_reserved())
        assert run.used() == 16_000
        assert await run.bind() == ""
        assert len(server.asked("POST")) == 1


WITH_INIT: Final = (
    pod("p").init("i", gpu=1, gpumem=20_000).app("a", gpu=1, gpumem=8_000)
)
INIT_OVER: Final = WITH_INIT.sandbox().exited("i").running("a").phase("Running")

CLUSTER_CHANGES: Final = {
    "to never": (Release.AFTER_INIT, Release.NEVER, 8_000),
    "from never": (Release.NEVER, Release.AFTER_INIT, 20_000),
}


@pytest.mark.parametrize(
    ("before", "after", "memory_mib"), CLUSTER_CHANGES.values(), ids=CLUSTER_CHANGES
)
async def test_release_is_fixed_at_bind(
    before: Release, after: Release, memory_mib: int
) -> None:
    """Another setting of the cluster charges nobody anew who has it in writing."""
    server = ApiServer().with_all(ONE_CARD, WITH_INIT)
    async with running(server, release=before) as run:
        assert await run.bind(WITH_INIT) == ""
        bound = server.pod("p")
        assert bound["metadata"]["annotations"][RELEASE] == before.value
        server.put({**bound, "status": INIT_OVER.build()["status"]})
        await until(lambda: run.used() == memory_mib)
    async with running(server, release=after) as run:
        assert run.used() == memory_mib


@pytest.mark.parametrize("default", list(Release))
async def test_bound_pod_without_a_release_is_charged_by_the_clusters(
    default: Release,
) -> None:
    """It was bound by another scheduler, or before there was the setting."""
    rows = "GPU-a,NVIDIA,20000,0:;GPU-a,NVIDIA,8000,0:;"
    server = ApiServer().with_all(ONE_CARD, INIT_OVER.on("n1").holding(rows))
    async with running(server, release=default) as run:
        assert run.used() == (20_000 if default is Release.NEVER else 8_000)


@pytest.mark.parametrize(
    ("text", "written"), [("never", "never"), ("nevr", "after-init")]
)
async def test_release_of_the_pod_comes_before_the_clusters(
    text: str, written: str
) -> None:
    """And one that is misspelt gives way to what is charged."""
    server = ApiServer().with_all(ONE_CARD, WITH_INIT.annotations({RELEASE: text}))
    async with running(server) as run:
        assert await run.bind(WITH_INIT) == ""
        assert server.pod("p")["metadata"]["annotations"][RELEASE] == written


async def test_pod_that_holds_its_cards_alone_is_noted() -> None:
    """So that another default after a restart lets nobody join it."""
    mutex = {"hami.io/gpu-scheduler-policy": "mutex"}
    server = ApiServer().with_all(ONE_CARD, WANTED.annotations(mutex))
    async with running(server) as run:
        assert await run.bind() == ""
    written = server.pod("p")["metadata"]["annotations"]
    assert written["gpu-extender/exclusive"] == "true"


async def test_label_that_was_dropped_is_written() -> None:
    """Servers before 1.35 drop the labels of a Binding."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    server.keeps_labels = False
    async with running(server) as run:
        assert await run.bind() == ""
        expected = {"hami.io/vgpu-node": "n1"}
        await until(lambda: server.pod("p")["metadata"].get("labels") == expected)


async def test_label_that_was_dropped_before_a_restart() -> None:
    """Whoever bound the pod: it was killed before the label was written."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    server.keeps_labels = False
    server.fail("PATCH", "/pods/p", answers(503))
    async with running(server) as run:
        assert await run.bind() == ""
        await until(lambda: len(server.asked("PATCH", "/pods/p")) == 1)
    assert server.pod("p")["metadata"].get("labels", {}) == {}
    async with running(server):
        expected = {"hami.io/vgpu-node": "n1"}
        await until(lambda: server.pod("p")["metadata"].get("labels") == expected)


async def test_labels_of_many_pods_are_written_a_few_at_a_time() -> None:
    """A start lists all that lack one; the API server has other things to do."""
    server = ApiServer().with_all(ONE_CARD)
    ours = {"hami.io/vgpu-node": "n1"}
    for number in range(40):
        server.put(pod(f"p{number}").app("a").on("n1").annotations(ours))
    most_open = open_writes = 0

    async def write_slowly(_request: web.Request) -> web.StreamResponse:
        nonlocal most_open, open_writes
        open_writes += 1
        most_open = max(most_open, open_writes)
        await asyncio.sleep(0.01)
        open_writes -= 1
        return status(200, "labelled")

    server.fail("PATCH", "/pods/p", write_slowly, times=40)
    async with running(server):
        await until(lambda: len(server.asked("PATCH", "/pods/p")) == 40)
    assert most_open == 8


async def test_label_that_cannot_be_written(caplog: pytest.LogCaptureFixture) -> None:
    """The pod is bound all the same, and the log says what it lacks."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    server.keeps_labels = False
    server.fail("PATCH", "/pods/p", answers(503))
    async with running(server) as run:
        assert await run.bind() == ""
        await until(lambda: "stays without its label" in caplog.text)


async def test_label_is_for_this_pod_only() -> None:
    """Not for a successor of its name."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    server.keeps_labels = False

    async def replace_pod(_request: web.Request) -> web.StreamResponse:
        server.delete(WANTED)
        server.put(WANTED.uid("successor"))
        return status(201, "bound")

    server.fail("POST", BINDING, replace_pod, is_carried_out=True)
    async with running(server) as run:
        assert await run.bind() == ""
        assert server.pod("p")["metadata"].get("labels", {}) == {}


async def test_name_too_long_for_a_label() -> None:
    """Such a label would make every later update of the pod fail."""
    name = "n" * 64
    server = ApiServer().with_all(node(name).gpu("GPU-a"), WANTED)
    async with running(server) as run:
        assert await run.bind(node_name=name) == ""
        assert server.pod("p")["metadata"].get("labels", {}) == {}


async def test_unseen_pod_is_read() -> None:
    """The watch may be behind kube-scheduler's; the UID must still be the one asked."""
    server = ApiServer().with_all(ONE_CARD)
    async with running(server, follows=False) as run:
        server.put(WANTED)
        assert "has uid" in await run.bind(WANTED.uid("another"))
        assert await run.bind() == ""
        assert server.pod("p")["spec"]["nodeName"] == "n1"


async def test_fit_that_counts_is_on_the_list() -> None:
    """Another replica bound a pod that no event has shown here."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    async with running(server, follows=False) as run:
        others = pod("q").app("a", gpu=1, gpumem=16_000).phase("Running").on("n1")
        server.put(others.holding(ROWS))
        assert await run.bind() == "no longer fits: CardInsufficientMemory"
        assert server.lock_of("n1") is None
        assert not run.is_reserved()


async def test_pod_bound_there_by_another_is_adopted() -> None:
    """409, and the pod is ours by UID and node: success, with what it was given."""
    server = ApiServer().with_all(ONE_CARD.gpu("GPU-b"), WANTED)
    async with running(server, follows=False) as run:
        rows = "GPU-b,NVIDIA,16000,0:;"
        server.put(WANTED.on("n1").annotations({ALLOCATED: rows, TO_ALLOCATE: rows}))
        assert await run.bind() == ""
        assert (run.used("GPU-a"), run.used("GPU-b")) == (0, 16_000)


CONFLICTS: Final = {
    "bound to another node": (WANTED.on("n2"), "is assigned to n2"),
    "made again under its name": (WANTED.uid("new"), "does not match"),
}


@pytest.mark.parametrize(("meanwhile", "text"), CONFLICTS.values(), ids=CONFLICTS)
async def test_conflict_undoes_lock_and_reservation(
    meanwhile: PodBuilder, text: str
) -> None:
    """The pod is not on our node, so nothing of ours stays."""
    server = ApiServer().with_all(ONE_CARD, node("n2").gpu("GPU-b"), WANTED)
    async with running(server, follows=False) as run:
        server.put(meanwhile)
        assert text in await run.bind()
        assert server.lock_of("n1") is None
        assert not run.is_reserved()
        assert run.used() == 0


async def test_deleted_pod() -> None:
    """404 to the Binding."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    async with running(server, follows=False) as run:
        server.delete(WANTED)
        assert "404" in await run.bind()
        assert server.lock_of("n1") is None
        assert not run.is_reserved()
        assert run.used() == 0


async def test_lost_reply_of_a_binding_that_was_done() -> None:
    """The pod is read back, and is bound: success; the plugin needs the lock."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    server.fail("POST", BINDING, cut(), is_carried_out=True)
    async with running(server) as run:
        assert await run.bind() == ""
        assert server.lock_of("n1") is not None
        await until(lambda: not run.is_reserved())
        assert run.used() == 16_000


async def test_lost_reply_of_a_binding_that_was_not_done() -> None:
    """It may still be done a moment later: room and lock are kept until it is due."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    server.fail("POST", BINDING, cut())
    async with running(server) as run:
        assert "ServerDisconnected" in await run.bind()
        assert run.is_reserved()
        assert server.lock_of("n1") is not None
        assert "not known yet" in await run.bind()
        await run.extender._binder.settle()
        assert run.is_reserved()
        run.clock.skipped += 61
        await run.extender._binder.settle()
        assert not run.is_reserved()
        assert server.lock_of("n1") is None
        assert await run.bind() == ""


async def test_binding_that_cannot_be_read_back_keeps_its_room() -> None:
    """Until the API server answers again; then the answer decides."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    server.fail("POST", BINDING, cut(), is_carried_out=True)
    server.fail("GET", "/pods/p", answers(503), times=2)
    async with running(server, follows=False) as run:
        assert "not known yet" in await run.bind()
        assert run.is_reserved()
        run.clock.skipped += 61
        await run.extender._binder.settle()
        assert "not known yet" in await run.bind()
        await run.extender._binder.settle()
        assert run.is_reserved()
        assert run.used() == 16_000
        assert await run.bind() == ""


async def test_refused_binding_is_undone() -> None:
    """403 says that nothing was done."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    server.fail("POST", BINDING, answers(403, "no rights"))
    async with running(server) as run:
        assert "403 no rights" in await run.bind()
        assert not run.is_reserved()
        assert server.lock_of("n1") is None


async def test_lost_reply_of_a_lock_that_was_taken() -> None:
    """The next look finds our own value."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    server.fail("PATCH", "/nodes/n1", cut(), is_carried_out=True)
    async with running(server) as run:
        assert await run.bind() == ""
        assert len(server.asked("PATCH")) == 1


async def test_node_that_changed_under_the_lock() -> None:
    """409 to the lock: it is read and tried again."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    server.fail("PATCH", "/nodes/n1", answers(409))
    async with running(server) as run:
        assert await run.bind() == ""


async def test_lock_of_another_that_came_first_is_not_overwritten() -> None:
    """Between our look and our write: the resourceVersion says so."""
    server = ApiServer().with_all(ONE_CARD, OWNER, WANTED)

    async def come_first(request: web.Request) -> web.StreamResponse:
        server.set_lock("n1", OWNED_BY_Q)
        return await server.carry_out(request)

    server.fail("PATCH", "/nodes/n1", come_first)
    async with running(server, lock_wait_seconds=0.1) as run:
        assert "is being bound" in await run.bind()
        assert server.lock_of("n1") == OWNED_BY_Q


async def test_lock_that_another_took_over_is_not_released() -> None:
    """Only exactly the value that we wrote is ours to remove."""
    server = ApiServer().with_all(ONE_CARD, OWNER, WANTED)

    async def refuse(_request: web.Request) -> web.StreamResponse:
        server.set_lock("n1", OWNED_BY_Q)
        return status(403, "no rights")

    server.fail("POST", BINDING, refuse)
    async with running(server) as run:
        assert "no rights" in await run.bind()
        assert server.lock_of("n1") == OWNED_BY_Q


async def test_pod_deleted_while_its_bind_waits() -> None:
    """No event brings it back, and the lock goes to the next."""
    server = ApiServer().with_all(ONE_CARD, OWNER.on("n1").annotations(UNSERVED))
    server.put(WANTED)
    server.set_lock("n1", OWNED_BY_Q)
    async with running(server) as run:
        bind = asyncio.create_task(run.bind())
        await until(lambda: bool(server.asked("GET", "/pods/q")))
        server.delete(WANTED)
        await until(lambda: not run.is_reserved())
        server.put(OWNER.on("n1").annotations(SERVED))
        server.set_lock("n1", None)
        assert "was deleted meanwhile" in await bind
        assert server.lock_of("n1") is None
        assert PodUID(WANTED.pod_uid) not in run.extender.ledger.pods


async def test_settling_leaves_a_pod_that_is_bound_alone() -> None:
    """The watch is late: the place stays reserved until it shows the pod."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    async with running(server, follows=False) as run:
        assert await run.bind() == ""
        run.clock.skipped += 61
        await run.extender._binder.settle()
        assert run.used() == 16_000
        server.delete(WANTED)
        run.clock.skipped += 61
        await run.extender._binder.settle()
        assert run.used() == 0
        assert server.lock_of("n1") is None


OWNER: Final = pod("q").app("a", gpu=1, gpumem=1000)
SERVED: Final = {ALLOCATED: "GPU-a,NVIDIA,1000,0:;", TO_ALLOCATE: ";", PHASE: "success"}
UNSERVED: Final = {
    ALLOCATED: "GPU-a,NVIDIA,1000,0:;",
    TO_ALLOCATE: "GPU-a,NVIDIA,1000,0:;",
    PHASE: "allocating",
}
OWNED_BY_Q: Final = "2026-01-01T00:00:00Z,default,q"
LOST: Final = {
    "served, though still Pending": OWNER.on("n1").annotations(SERVED),
    "running": OWNER.on("n1").annotations(UNSERVED).phase("Running"),
    "failed before it was served": OWNER.on("n1").annotations(UNSERVED).phase("Failed"),
    "bound elsewhere": OWNER.on("n2").annotations(UNSERVED),
}


@pytest.mark.parametrize("owner", LOST.values(), ids=LOST)
async def test_lock_that_is_lost_at_once(owner: PodBuilder) -> None:
    """Its owner needs it no more, however young the lock is."""
    server = ApiServer().with_all(ONE_CARD, node("n2").gpu("GPU-b"), WANTED, owner)
    server.set_lock("n1", OWNED_BY_Q)
    async with running(server) as run:
        assert await run.bind() == ""
        assert (server.lock_of("n1") or "").endswith(",default,p")


GOES: Final = {
    "gone": None,
    "of another UID": OWNER.uid("successor"),
}


@pytest.mark.parametrize("later", GOES.values(), ids=GOES)
async def test_lock_of_a_pod_that_goes(later: PodBuilder | None) -> None:
    """For a moment kubelet may still admit it, and the plugin asks the lock."""
    server = ApiServer().with_all(ONE_CARD, OWNER, WANTED)
    server.set_lock("n1", OWNED_BY_Q)
    async with running(server) as run:
        bind = asyncio.create_task(run.bind())
        await until(lambda: bool(server.asked("GET", "/pods/q")))
        server.delete(OWNER)
        if later is not None:
            server.put(later)
        server.set_lock("n1", OWNED_BY_Q)  # an event, so that it looks again
        await until(lambda: len(server.asked("GET", "/pods/q")) > 1)
        assert not bind.done()
        assert server.lock_of("n1") == OWNED_BY_Q
        run.clock.skipped += 5.1
        server.set_lock("n1", OWNED_BY_Q)
        assert await bind == ""
        assert (server.lock_of("n1") or "").endswith(",default,p")


KEPT: Final = {
    "not served": (OWNER.on("n1").annotations(UNSERVED), OWNED_BY_Q, "waits for its"),
    "being bound": (OWNER, OWNED_BY_Q, "is being bound"),
    "of a form that names no pod": (OWNER, "2026-01-01T00:00:00Z", "names no pod"),
}


@pytest.mark.parametrize(("owner", "value", "text"), KEPT.values(), ids=KEPT)
async def test_lock_that_is_kept(owner: PodBuilder, value: str, text: str) -> None:
    """The node is refused by name at the deadline, and the lock is left alone."""
    server = ApiServer().with_all(ONE_CARD, owner, WANTED)
    server.set_lock("n1", value)
    async with running(server, lock_wait_seconds=0.1) as run:
        problem = await run.bind()
        assert problem.startswith("node n1 is locked: ")
        assert text in problem
        assert server.lock_of("n1") == value
        assert not run.is_reserved()
        assert not server.asked("PATCH")
        run.clock.skipped += 61
        taken = await run.bind()
        assert bool(taken) is (text == "waits for its")


async def test_filter_refuses_a_node_that_is_stuck() -> None:
    """A young lock refuses nothing; one that its pod has kept for long does."""
    server = ApiServer().with_all(ONE_CARD, OWNER.on("n1").annotations(UNSERVED))
    server.set_lock("n1", OWNED_BY_Q)
    async with running(server) as run:
        assert run.filter(WANTED).fitting == ["n1"]
        run.clock.skipped += 6
        assert run.filter(WANTED).failed == {"n1": "NodeLocked"}
        server.put(OWNER.on("n1").annotations(SERVED))
        await until(lambda: run.filter(WANTED).fitting == ["n1"])


async def test_bind_waits_for_the_lock() -> None:
    """The node watch wakes it as soon as the plugin is done."""
    server = ApiServer().with_all(ONE_CARD, OWNER.on("n1").annotations(UNSERVED))
    server.put(WANTED)
    server.set_lock("n1", OWNED_BY_Q)
    async with running(server) as run:
        bind = asyncio.create_task(run.bind())
        await until(lambda: bool(server.asked("GET", "/pods/q")))
        started = asyncio.get_running_loop().time()
        server.put(OWNER.on("n1").annotations(SERVED))
        server.set_lock("n1", None)
        assert await bind == ""
        assert asyncio.get_running_loop().time() - started < 1


async def test_unserved_pod_without_a_lock_comes_first() -> None:
    """Its rows would be handed to ours, or ours to it; bind waits without the lock."""
    server = ApiServer().with_all(ONE_CARD, OWNER.on("n1").annotations(UNSERVED))
    server.put(WANTED)
    async with running(server, lock_wait_seconds=0.2) as run:
        assert "pod default/q waits for its devices" in await run.bind()
        assert server.lock_of("n1") is None
        bind = asyncio.create_task(run.bind())
        await asyncio.sleep(0)
        server.put(OWNER.on("n1").annotations(SERVED))
        assert await bind == ""


async def test_lock_of_a_static_mig_pod_is_taken_once_it_is_admitted() -> None:
    """Its plugin hands its devices out without a word, and never releases the lock."""
    owner = OWNER.init("i").on("n1").annotations(UNSERVED)
    server = ApiServer().with_all(ONE_CARD, owner)
    server.put(WANTED)
    server.set_lock("n1", OWNED_BY_Q)
    async with running(server) as run:
        bind = asyncio.create_task(run.bind())
        await until(lambda: bool(server.asked("GET", "/pods/q")))
        assert not bind.done()
        server.put(owner.sandbox().running("i"))
        assert await bind == ""


async def test_one_bind_of_a_pod_at_a_time() -> None:
    """The second is told so, and the first goes on."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    async with running(server) as run:
        problems = await asyncio.gather(run.bind(), run.bind())
        assert list(problems) == ["", "another bind of this pod is under way"]


async def test_binds_to_one_node_come_in_turn() -> None:
    """Each waits until the pod before it is served; none takes another's lock."""
    pods = [pod(f"p{number}").app("a", gpu=1, gpumem=4000) for number in range(4)]
    server = ApiServer().with_all(ONE_CARD, *pods)

    async def serve_pods() -> None:
        while True:
            await asyncio.sleep(0.005)
            lock = server.lock_of("n1")
            shown = server.pod(lock.rpartition(",")[2]) if lock else None
            if shown and shown["spec"].get("nodeName"):
                shown = {**shown, "metadata": dict(shown["metadata"])}
                texts = {**shown["metadata"]["annotations"], TO_ALLOCATE: ";"}
                shown["metadata"]["annotations"] = {**texts, PHASE: "success"}
                server.put(shown)
                server.set_lock("n1", None)

    async with running(server, lock_wait_seconds=10) as run:
        plugin = asyncio.create_task(serve_pods())
        problems = await asyncio.gather(*[run.bind(each) for each in pods])
        plugin.cancel()
        assert list(problems) == [""] * 4
        await until(lambda: run.used() == 16_000)


async def test_pod_without_devices_takes_no_lock() -> None:
    """One write, and no annotation."""
    plain = pod("plain").app("a")
    server = ApiServer().with_all(node("cpu"), plain)
    async with running(server) as run:
        assert await run.bind(plain, "cpu") == ""
        assert server.pod("plain")["metadata"].get("annotations", {}) == {}
        assert not server.asked("PATCH")


async def test_second_bind_of_a_pod_that_no_event_has_shown_yet() -> None:
    """It is bound: the same node is a success, another one takes nothing from it."""
    server = ApiServer().with_all(ONE_CARD, node("n2").gpu("GPU-b"), WANTED)
    async with running(server, follows=False) as run:
        assert await run.bind() == ""
        assert await run.bind() == ""
        assert await run.bind(node_name="n2") == "the pod is already bound to n1"
        assert run.used() == 16_000
        assert run.used("GPU-b", "n2") == 0
        assert len(server.asked("POST")) == 1
        assert server.lock_of("n2") is None


async def test_pod_bound_elsewhere_is_charged_there_before_its_event() -> None:
    """Another replica was faster, and the watch has not shown it yet."""
    server = ApiServer().with_all(ONE_CARD, node("n2").gpu("GPU-b"), WANTED)
    async with running(server, follows=False) as run:
        server.put(WANTED.on("n2").holding("GPU-b,NVIDIA,16000,0:;"))
        assert "is assigned to n2" in await run.bind()
        assert run.used() == 0
        assert run.used("GPU-b", "n2") == 16_000
        assert server.lock_of("n1") is None
        assert await run.bind() == "the pod is already bound to n2"


OWNERS_LONG_GONE: Final = {
    "gone": None,
    "never bound": pod("q").app("a", gpu=1),
    "bound elsewhere": pod("q").app("a", gpu=1).on("n2"),
    "served": pod("q").app("a", gpu=1).on("n1").phase("Running"),
}


@pytest.mark.parametrize("owner", OWNERS_LONG_GONE.values(), ids=OWNERS_LONG_GONE)
async def test_lock_of_a_killed_process_is_given_back(owner: PodBuilder | None) -> None:
    """Nobody else asks for the node, and whoever wrote the lock is no more."""
    server = ApiServer().with_all(ONE_CARD)
    if owner is not None:
        server.put(owner)
    server.set_lock("n1", "2026-01-01T00:00:00Z,default,q")
    async with running(server) as run:
        for _ in range(2):
            await run.extender._binder.settle()
            assert server.lock_of("n1") is not None
            run.clock.skipped += 31
        await run.extender._binder.settle()
        run.clock.skipped += 6  # a pod that is gone may still be admitted
        await run.extender._binder.settle()
        assert server.lock_of("n1") is None


async def test_old_lock_of_a_pod_that_waits_for_its_devices_stays() -> None:
    """Its plugin serves whichever pod the lock names."""
    rows = "GPU-a,NVIDIA,1000,0:;"
    waiting = (
        pod("q")
        .app("a", gpu=1, gpumem=1000)
        .on("n1")
        .annotations({ALLOCATED: rows, TO_ALLOCATE: rows, PHASE: "allocating"})
    )
    server = ApiServer().with_all(ONE_CARD, waiting)
    server.set_lock("n1", "2026-01-01T00:00:00Z,default,q")
    async with running(server) as run:
        for _ in range(3):
            run.clock.skipped += 61
            await run.extender._binder.settle()
        assert server.lock_of("n1") is not None


ENDED: Final = {
    "finished": WANTED.phase("Failed"),
    "being deleted": WANTED.terminating(),
}


@pytest.mark.parametrize("shown", ENDED.values(), ids=ENDED)
async def test_pod_that_has_ended_is_refused_before_its_lock(shown: PodBuilder) -> None:
    """kube-apiserver would refuse the Binding of a pod that is being deleted."""
    server = ApiServer().with_all(ONE_CARD, shown)
    async with running(server) as run:
        assert "has ended, or is being deleted" in await run.bind(shown)
        assert server.asked("PATCH") == []


@pytest.mark.parametrize("name", [".", "..", "p/../q", "P", "x" * 300])
async def test_lock_that_names_what_no_pod_is_called(name: str) -> None:
    """It grows old, as one that names nobody."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    server.set_lock("n1", f"2026-01-01T00:00:00Z,default,{name}")
    async with running(server) as run:
        run.clock.skipped += 61
        assert await run.bind() == ""


async def test_list_that_is_none_binds_nothing() -> None:
    """An empty answer is no empty node: the one that is there would be forgotten."""
    holder = pod("q").app("a", gpu=1, gpumem=16_000).phase("Running").on("n1")
    server = ApiServer().with_all(ONE_CARD, holder.holding(ROWS), WANTED)
    async with running(server) as run:
        server.fail("GET", "fieldSelector", says({}))
        small = pod("small").app("a", gpu=1, gpumem=1000)
        server.put(small)
        assert "asked for a list" in await run.bind(small)
        assert server.lock_of("n1") is None
        assert run.used() == 16_000


async def bind_in_a_burst(run: Running) -> str:
    """Bind while the pod watch tells much, also of something newer than the lock."""
    for number in range(20):
        run.server.put(pod(f"other-{number}").app("a"))
    counted = run.extender.metrics.watch_events.labels("pods")
    await until(lambda: counted._value.get() >= 20)
    bind = asyncio.create_task(run.bind())
    await until(lambda: bool(run.server.asked("PATCH", "/nodes/n1")))
    run.server.put(pod("another").app("a"))
    return await bind


async def test_watch_that_is_newer_than_the_lock_spares_the_list() -> None:
    """In a burst the list of a node's pods would be most of what a bind costs."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    async with running(server) as run:
        await until(lambda: len(server.asked("limit=1")) == 3)
        assert await bind_in_a_burst(run) == ""
        assert server.asked("fieldSelector") == []


async def test_versions_that_are_not_of_one_sequence_are_not_compared() -> None:
    """Pods are kept in an etcd of their own, so a version of a node tells nothing."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    apart: Json = {"kind": "PodList", "metadata": {"resourceVersion": "7"}, "items": []}
    server.fail("GET", "/pods?limit=1", says(apart))
    async with running(server) as run:
        await until(lambda: len(server.asked("limit=1")) == 3)
        assert await bind_in_a_burst(run) == ""
        assert len(server.asked("fieldSelector")) == 1


async def test_comparison_of_versions_is_tried_again() -> None:
    """One failure, in the moment when most is asked for, does not last."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    server.fail("GET", "/pods?limit=1", answers(503), times=2)
    async with running(server) as run:
        await until(lambda: len(server.asked("limit=1")) == 7)
        assert await bind_in_a_burst(run) == ""
        assert server.asked("fieldSelector") == []


async def test_what_a_list_shows_is_no_event() -> None:
    """A start lists tens of thousands of pods; a watch told of none of them."""
    server = ApiServer().with_all(ONE_CARD, WANTED, pod("other").app("a"))
    async with running(server) as run:
        metrics = run.extender.metrics
        counted = metrics.watch_events.labels("pods")._value
        assert (metrics.lists.labels("pods")._value.get(), counted.get()) == (1, 0)
        server.put(pod("another").app("a"))
        await until(lambda: counted.get() == 1)
