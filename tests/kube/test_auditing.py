"""The audit beside a live feed, and lists that come in one piece."""

import asyncio
import logging
from typing import Final

import pytest
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families

from extender.core.holding import Holding
from extender.core.names import DeviceUUID, NodeName, PodUID
from extender.core.usage import Usage
from extender.service import Extender
from extender.state.audit import audit
from extender.state.overfull import Cause
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.kube.running import ONE_CARD, WANTED, running
from tests.kube.server import ApiServer, streams, until

pytestmark = pytest.mark.timeout(30)

N1: Final = NodeName("n1")
GONE: Final = (
    b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n'
)


def holder(name: str, memory_mib: int = 16_000) -> PodBuilder:
    """Hold some of the only card."""
    bound = pod(name).app("a", gpu=1, gpumem=memory_mib).on("n1").phase("Running")
    return bound.holding(f"GPU-a,NVIDIA,{memory_mib},0:;")


def metric(extender: Extender, name: str, **labels: str) -> float:
    """Read one sample as a scrape shows it."""
    text = extender.metrics.exposition().decode()
    (found,) = [
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == f"gpu_extender_{name}" and sample.labels == labels
    ]
    return found


async def test_all_is_well() -> None:
    """Nothing is found, and nothing is listed again."""
    server = ApiServer().with_all(ONE_CARD, holder("p"))
    async with running(server) as run:
        assert await run.extender.audit() == []
        assert metric(run.extender, "audits_total") == 1
        assert metric(run.extender, "audit_differences_total") == 0
        assert metric(run.extender, "lists_total", collection="pods") == 1


async def test_difference_is_mended_counted_and_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A total that no pod explains; both figures are in the log."""
    server = ApiServer().with_all(ONE_CARD, holder("p"))
    async with running(server) as run:
        nobody = Holding(N1, {DeviceUUID("GPU-a"): Usage(1, 500)})
        run.extender.ledger.fleet.add(nobody)
        assert run.used() == 16_500
        with caplog.at_level(logging.ERROR, "extender"):
            (found,) = await run.extender.audit()
        assert found.subject == "node n1"
        assert "16500" in caplog.text
        assert "16000" in caplog.text
        assert run.used() == 16_000
        assert metric(run.extender, "audit_differences_total") == 1
        for collection in ("nodes", "pods"):
            await until(
                lambda which=collection: (  # type: ignore[misc]
                    metric(run.extender, "lists_total", collection=which) == 2
                )
            )
        assert await run.extender.audit() == []


async def test_holder_that_is_not_found_where_it_counts() -> None:
    """The audit looks at the index, too."""
    server = ApiServer().with_all(ONE_CARD, holder("p"))
    async with running(server) as run:
        ledger = run.extender.ledger
        held = ledger._held_on[N1]
        (uid,) = held
        kept = held.pop(uid)
        found = [each.subject for each in audit(ledger)]
        assert found == ["pod default/p", "node n1"]
        held[uid] = kept
        held[PodUID("nobody")] = kept
        found = [each.subject for each in audit(ledger)]
        assert found == ["pod of uid nobody", "node n1"]
        assert len(await run.extender.audit()) == 2


async def test_list_again_finds_what_was_missed() -> None:
    """A pod that went without an event, and one that came."""
    server = ApiServer().with_all(ONE_CARD, holder("gone"))
    async with running(server) as run:
        server.delete(holder("gone"), silently=True)
        new = holder("new", 8_000)
        server.put(new)
        server.kinds["pods"].events.pop()
        run.cluster.list_again()
        await until(lambda: run.used() == 8_000)
        server.put(new.phase("Succeeded"))
        await until(lambda: run.used() == 0)


OLD: Final = (
    pod("old")
    .init("i", gpu=1, gpumem=16_000)
    .app("a", gpu=1, gpumem=2_000)
    .on("n1")
    .holding("GPU-a,NVIDIA,16000,0:;GPU-a,NVIDIA,2000,0:;")
)
PASSING: Final = {
    "gone": None,
    "finished": OLD.phase("Succeeded"),
    "past its init": OLD.exited("i").running("a").phase("Running"),
    "another of its name": holder("old", 2_000).uid("successor"),
}


@pytest.mark.parametrize("later", PASSING.values(), ids=PASSING)
async def test_room_is_made_before_it_is_taken(later: PodBuilder | None) -> None:
    """A list is in the order of names; what it shows first was not there first."""
    server = ApiServer().with_all(ONE_CARD, OLD)
    async with running(server) as run:
        server.delete(OLD, silently=True)
        for shown in [holder("a-new"), *([later] if later else [])]:
            server.put(shown)
            server.kinds["pods"].events.pop()
        server.fail("GET", "/pods?watch", streams(GONE))
        run.cluster.list_again()
        ledger = run.extender.ledger
        await until(lambda: PodUID(holder("a-new").pod_uid) in ledger.pods)
        assert ledger.overfull.seen == {}
        assert ledger.overfull.causes == {}


async def test_state_is_the_old_one_until_a_list_is_whole() -> None:
    """The second page does not come."""
    many = [holder(f"p{number:03}", 10) for number in range(501)]
    server = ApiServer().with_all(node("n1").gpu("GPU-a", count=600), *many)
    async with running(server) as run:
        assert run.used() == 5_010
        server.delete(many[0], silently=True)
        reached = asyncio.Event()

        async def never(_request: web.Request) -> web.StreamResponse:
            reached.set()
            await asyncio.Event().wait()
            return web.Response()

        server.fail("GET", "continue=500", never)
        for number in range(2):
            server.put(holder(f"extra-{number}", 10))
            server.kinds["pods"].events.pop()
        run.cluster.list_again()
        await reached.wait()
        assert run.used() == 5_010


async def test_lag_of_the_watch() -> None:
    """From the answer to a Binding until the pod is shown bound."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    async with running(server) as run:
        server.hold("pods")
        assert await run.bind() == ""
        assert run.is_reserved()
        assert metric(run.extender, "reservations") == 1
        assert metric(run.extender, "watch_lag_seconds_count") == 0
        run.clock.skipped += 4
        server.hold("pods", is_held=False)
        await until(lambda: not run.is_reserved())
        assert metric(run.extender, "watch_lag_seconds_count") == 1
        assert metric(run.extender, "watch_lag_seconds_sum") >= 4
        assert metric(run.extender, "binds_total", outcome="bound") == 1
        assert metric(run.extender, "reservations") == 0


NEWS: Final = {"nodes": ONE_CARD, "pods": holder("p")}


@pytest.mark.parametrize(("collection", "shown"), NEWS.items(), ids=NEWS)
async def test_silence_of_the_watch(
    collection: str, shown: NodeBuilder | PodBuilder
) -> None:
    """Each has its own; it ends with the next line that is heard."""
    server = ApiServer().with_all(ONE_CARD)
    async with running(server) as run:

        def silence() -> float:
            return metric(run.extender, "watch_silence_seconds", collection=collection)

        await until(lambda: silence() > 0.05)
        before = silence()

        def is_shorter_after_news() -> bool:
            server.put(shown)
            return silence() < before

        await until(is_shorter_after_news)


async def test_timer_audits_again_and_again() -> None:
    """Nobody asks for these audits."""
    server = ApiServer().with_all(ONE_CARD, holder("p"))
    async with running(server, audit_seconds=0.01) as run:
        assert metric(run.extender, "audits_total") == 0
        tending = asyncio.create_task(run.extender.tend_forever())
        await until(lambda: metric(run.extender, "audits_total") >= 2)
        nobody = Holding(N1, {DeviceUUID("GPU-a"): Usage(1, 500)})
        run.extender.ledger.fleet.add(nobody)
        await until(lambda: run.used() == 16_000)
        assert metric(run.extender, "audit_differences_total") == 1
        tending.cancel()
        await asyncio.gather(tending, return_exceptions=True)


async def test_overfull_cards_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """With what is held, what there is, the cause; and again when it is over."""
    server = ApiServer().with_all(ONE_CARD, holder("p"), holder("q"))
    async with running(server) as run:
        run.extender._auditor.tell()
        run.extender._auditor.tell()
        (line,) = [one for one in caplog.messages if "GPU-a" in one]
        assert "holds 2 slots, 32000 MiB, 0 % of cores of 10 slots, 24000 MiB" in line
        assert "cause: inherited" in line
        overfull = metric(run.extender, "overfull_cards", cause="inherited")
        assert overfull == 1
        assert metric(run.extender, "overfull_cards_seen_total", cause="placed") == 0
        server.put(holder("r"))
        seen = run.extender.ledger.overfull.seen
        await until(lambda: seen.get(Cause.PLACED) == 1)
        run.extender._auditor.tell()
        assert caplog.records[-1].levelno == logging.ERROR
        for name in ("p", "q", "r"):
            server.delete(holder(name))
        await until(lambda: run.used() == 0)
        with caplog.at_level(logging.INFO, "extender"):
            run.extender._auditor.tell()
        assert "has room again" in caplog.messages[-1]


async def test_card_that_holds_too_much_refuses_alone() -> None:
    """Taken over from whoever undercounted: the other card is used."""
    others = holder("x"), holder("y")
    server = ApiServer().with_all(ONE_CARD.gpu("GPU-b"), *others, WANTED)
    async with running(server) as run:
        assert run.filter(WANTED).fitting == ["n1"]
        assert await run.bind() == ""
        given = server.pod("p")["metadata"]["annotations"]
        assert given["hami.io/vgpu-devices-allocated"] == "GPU-b,NVIDIA,16000,0:;"
