"""Two extenders under one quota: of both, one at a time binds its namespace's pods."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import pytest

from extender.core.names import PodUID
from extender.settings import BindSettings
from tests.builders import PodBuilder, node, pod, resource_quota
from tests.kube.running import QUICK_TURNS, Running, running
from tests.kube.server import ApiServer, Json, answers, cut, until

pytestmark = pytest.mark.timeout(30)

MEM: Final = "limits.nvidia.com/gpumem"
NODES: Final = node("n1").gpu("GPU-a"), node("n2").gpu("GPU-b")
LEASE: Final = "gpu-extender/gpu-extender-quota-default"
WRITES: Final = ("POST", "PATCH")
NOT_FIT: Final = "no longer fits: ResourceQuotaNotFit"
SETTLE_SECONDS: Final = BindSettings().settle_seconds


def asking(name: str, memory: int = 6_000) -> PodBuilder:
    """Describe one of many pods."""
    return pod(name).app("a", gpu=1, gpumem=memory)


def lease(server: ApiServer) -> Json:
    """Give the lease of namespace default."""
    return server.kinds["leases"].objects[LEASE]


def holder(server: ApiServer) -> str | None:
    """Tell who holds it."""
    name: str | None = lease(server)["spec"].get("holderIdentity")
    return name


def wanted_by(server: ApiServer) -> str | None:
    """Tell who asked for it."""
    annotations: dict[str, str] = lease(server)["metadata"].get("annotations", {})
    return annotations.get("gpu-extender/wanted-by")


def writes(server: ApiServer) -> list[str]:
    """List the writes of leases."""
    return [one for one in server.asked("/leases") if one.partition(" ")[0] in WRITES]


def serve(server: ApiServer, bound: PodBuilder, node_name: str) -> None:
    """Let the node's plugin serve a pod, and give the lock back."""
    shown = json.loads(json.dumps(server.pod(bound.name)))
    shown["status"]["phase"] = "Running"
    server.put(shown)
    server.set_lock(node_name, None)


@asynccontextmanager
async def pair(server: ApiServer) -> AsyncIterator[tuple[Running, Running]]:
    """Run two extenders on one server, each looking after its leases."""
    async with running(server) as first, running(server) as second:
        tending = [
            asyncio.create_task(each.extender._turns.tend_forever())
            for each in (first, second)
        ]
        try:
            yield first, second
        finally:
            for task in tending:
                task.cancel()
            await asyncio.gather(*tending, return_exceptions=True)


def limited(most: int, *pods: PodBuilder) -> ApiServer:
    """Serve two nodes, a quota and pods."""
    server = ApiServer().with_all(*NODES, *pods)
    server.put(resource_quota("q", hard={MEM: most}))
    return server


async def test_without_a_quota_no_lease_is_taken() -> None:
    """Nor is one asked about."""
    server = ApiServer().with_all(*NODES, asking("p"))
    async with running(server) as run:
        assert await run.bind(asking("p")) == ""
    assert server.asked("/leases") == []


async def test_one_lease_serves_many_binds() -> None:
    """Written once when it is taken, and once when the process ends."""
    pods = [asking(f"p{number}", 1_000) for number in range(8)]
    server = limited(8_000, *pods)
    async with running(server) as run:
        for number, each in enumerate(pods):
            node_name = f"n{number % 2 + 1}"
            assert await run.bind(each, node_name) == ""
            serve(server, each, node_name)
        assert len(writes(server)) == 1
        assert holder(server)
    assert len(writes(server)) == 2
    assert holder(server) is None


async def test_one_remaining_share_two_extenders_two_nodes() -> None:
    """Each is asked to bind another pod on another node: exactly one is bound."""
    pods = [asking("p"), asking("q")]
    server = limited(10_000, *pods)
    server.hold("pods")  # no watch tells either what the other has bound
    async with pair(server) as (first, second):
        told = await asyncio.gather(
            first.bind(pods[0], "n1"), second.bind(pods[1], "n2")
        )
        assert sorted(told) == ["", NOT_FIT]
        bound = [each for each in "pq" if server.pod(each)["spec"].get("nodeName")]
        assert len(bound) == 1
        server.hold("pods", is_held=False)


async def test_a_lease_goes_to_and_fro() -> None:
    """Whoever asks gets it, though the other would have more to bind."""
    pods = [asking(f"p{number}", 1_000) for number in range(4)]
    server = limited(4_000, *pods)
    async with pair(server) as (first, second):
        holders = []
        for number, each in enumerate(pods):
            run = (first, second)[number % 2]
            node_name = f"n{number % 2 + 1}"
            assert await run.bind(each, node_name) == ""
            holders.append(holder(server))
            serve(server, each, node_name)
        assert holders[0] == holders[2] != holders[1] == holders[3]


async def test_a_lease_that_ran_out_is_taken() -> None:
    """Of one that was killed; not before it stood unchanged for its time."""
    server = limited(10_000, asking("p"))
    spec = {"holderIdentity": "gone", "renewTime": "2026-01-01T00:00:00.000000Z"}
    name = LEASE.partition("/")[2]
    metadata: Json = {"name": name, "namespace": "gpu-extender"}
    server.put({"kind": "Lease", "metadata": metadata, "spec": spec})
    async with running(server, lock_wait_seconds=0.1) as run:
        refused = await run.bind(asking("p"))
        assert refused == "another extender binds pods of namespace default"
        run.clock.skipped += QUICK_TURNS.lease_seconds - 1
        assert await run.bind(asking("p")) == refused
        run.clock.skipped += 2
        assert await run.bind(asking("p")) == ""


async def test_no_binding_without_the_lease() -> None:
    """Who cannot renew it in time sends none, and gives the node's lock back."""
    pods = [asking("p", 1_000), asking("q", 1_000)]
    server = limited(10_000, *pods)
    async with running(server) as run:
        assert await run.bind(pods[0], "n1") == ""
        run.clock.skipped += QUICK_TURNS.lease_seconds
        server.fail("PATCH", "/leases", answers(500), times=2)
        assert "500" in await run.bind(pods[1], "n2")
        assert "nodeName" not in server.pod("q")["spec"]
        assert server.lock_of("n2") is None
        assert await run.bind(pods[1], "n2") != ""
        assert await run.bind(pods[1], "n2") == ""


async def test_a_stolen_lease_stops_a_bind_on_its_way() -> None:
    """It waited for its node for longer than the lease lasted, and another took it."""
    pods = [asking("p", 1_000), asking("q", 1_000)]
    server = limited(10_000, *pods)
    async with running(server) as run:
        assert await run.bind(pods[0], "n1") == ""
        server.set_lock("n2", "2026-01-01T00:00:00Z,default,other")
        binding = asyncio.create_task(run.bind(pods[1], "n2"))
        await until(lambda: run.is_reserved(pods[1]))
        await asyncio.sleep(0.05)
        stolen = lease(server)
        stolen["spec"]["holderIdentity"] = "thief"
        server.put(stolen)
        run.clock.skipped += QUICK_TURNS.lease_seconds
        server.set_lock("n2", None)
        assert "ran out" in await binding or "busy" in await binding
        assert "nodeName" not in server.pod("q")["spec"]


async def test_an_unanswered_take_over_lists_again() -> None:
    """Whether it was carried out or not; nothing is bound by a lease not known ours."""
    server = limited(10_000, asking("p"))
    async with running(server) as run:
        server.fail("POST", "/leases", cut(), is_carried_out=True)
        assert await run.bind(asking("p")) != ""
        assert await run.bind(asking("p")) == ""
        assert len(server.asked("GET", "/namespaces/default/pods?")) <= 1


async def test_no_hand_over_while_a_binding_is_open() -> None:
    """Nobody knows yet whether it was carried out: it would come on top of the rest.

    The lease is renewed until the pod was read again, and only then given away.
    """
    pods = [asking("p"), asking("q")]
    server = limited(10_000, *pods)
    server.hold("pods")
    async with pair(server) as (first, second):
        server.fail("POST", "/binding", cut())
        assert await first.bind(pods[0], "n1") != ""
        waiting = asyncio.create_task(second.bind(pods[1], "n2"))
        await until(lambda: bool(wanted_by(server)))
        ours = holder(server)
        await asyncio.sleep(3 * QUICK_TURNS.least_seconds)
        assert holder(server) == ours
        renewed = lease(server)["spec"]["renewTime"]
        first.clock.skipped += QUICK_TURNS.lease_seconds - 1
        await until(lambda: lease(server)["spec"]["renewTime"] != renewed)
        assert not waiting.done()
        first.clock.skipped += SETTLE_SECONDS
        await first.extender._binder.settle()
        assert await waiting == ""
        server.hold("pods", is_held=False)


async def test_a_lease_with_an_open_binding_is_not_given_back() -> None:
    """At the end of a process it is left to lapse."""
    server = limited(10_000, asking("p"))
    server.hold("pods")
    async with running(server) as run:
        server.fail("POST", "/binding", cut())
        assert await run.bind(asking("p")) != ""
    assert holder(server)
    server.hold("pods", is_held=False)


async def test_a_lease_that_was_deleted_is_ours_no_more() -> None:
    """Another may take it at once; so the next bind begins anew, with a list."""
    pods = [asking("p", 1_000), asking("q", 1_000)]
    server = limited(10_000, *pods)
    async with running(server) as run:
        assert await run.bind(pods[0], "n1") == ""
        server.delete(lease(server))
        await run.extender._turns.tend()
        assert await run.bind(pods[1], "n2") == ""
        assert len(server.asked("POST", "/leases")) == 2


async def test_a_pod_made_again_is_counted_though_the_watch_is_late() -> None:
    """Its bound successor is read by the list; events of the one before come later."""
    before = asking("s", 3_000).on("n1").holding("GPU-a,NVIDIA,3000,0:;")
    pods = [asking("p", 1_000)]
    server = limited(10_000, before.phase("Running"), *pods)
    async with running(server) as run:
        server.hold("pods")
        old = json.loads(json.dumps(server.pod("s")))
        old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        server.put(old)
        server.delete(old)
        again = before.uid("again").phase("Running")
        server.put(again)
        assert await run.bind(pods[0], "n2") == ""
        ledger = run.extender.ledger
        assert PodUID(again.pod_uid) in ledger.pods
        server.hold("pods", is_held=False)
        last = asking("last", 1)
        server.put(last)
        await until(lambda: PodUID(last.pod_uid) in ledger.pods)
        assert PodUID(again.pod_uid) in ledger.pods
        assert PodUID(before.pod_uid) not in ledger.pods
        server.delete(again)
        await until(lambda: PodUID(again.pod_uid) not in ledger.pods)


async def test_a_pod_that_only_the_turn_has_read_is_gone_by_a_list() -> None:
    """The watch broke before it told of it, and it is not there any more."""
    pods = [asking("p", 1_000)]
    other = asking("s", 3_000).on("n1").holding("GPU-a,NVIDIA,3000,0:;")
    server = limited(10_000, *pods)
    async with running(server) as run:
        server.hold("pods")
        server.put(other.phase("Running"))
        assert await run.bind(pods[0], "n2") == ""
        ledger = run.extender.ledger
        assert PodUID(other.pod_uid) in ledger.pods
        server.delete(other, silently=True)
        server.kinds["pods"].events.clear()
        server.fail("GET", "/pods?watch", answers(410))
        server.tell("pods", "ERROR", {"kind": "Status", "code": 410})
        server.hold("pods", is_held=False)
        await until(lambda: PodUID(other.pod_uid) not in ledger.pods)
        assert PodUID(pods[0].pod_uid) in ledger.pods
