"""What a cluster behind an API server shows besides."""

import asyncio

from extender.observe.loop_lag import measure_loop_lag_forever
from extender.observe.metrics import Metrics
from extender.observe.words import WaitOutcome
from tests.kube.running import ONE_CARD, WANTED, running
from tests.kube.server import ApiServer, answers
from tests.kube.test_auditing import metric
from tests.kube.test_bind import OWNED_BY_Q, OWNER, UNSERVED


async def test_requests_to_the_api_server_are_counted() -> None:
    """By method and by how they ended."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    async with running(server) as run:
        server.fail("POST", "/binding", answers(403))
        assert await run.bind() != ""
        counts = {
            (method, outcome): metric(
                run.extender, "api_requests_total", method=method, outcome=outcome
            )
            for method in ("GET", "POST")
            for outcome in ("ok", "forbidden")
        }
        assert counts["POST", "forbidden"] == 1
        assert counts["POST", "ok"] == 0
        assert counts["GET", "ok"] >= 3
        reasons = {
            reason: metric(run.extender, "bind_refusals_total", reason=reason)
            for reason in ("api-error", "no-longer-fits")
        }
        assert reasons == {"api-error": 1, "no-longer-fits": 0}


async def test_lock_that_stays_is_a_wait_that_timed_out() -> None:
    """A pod that waits for its devices keeps it."""
    owner = OWNER.on("n1").annotations(UNSERVED)
    server = ApiServer().with_all(ONE_CARD, owner, WANTED)
    server.set_lock("n1", OWNED_BY_Q)
    async with running(server, lock_wait_seconds=0.1) as run:
        assert await run.bind() != ""
        waited = {
            outcome: metric(run.extender, "lock_wait_seconds_count", outcome=outcome)
            for outcome in WaitOutcome
        }
        seconds = metric(run.extender, "lock_wait_seconds_sum", outcome="timed-out")
        refused = metric(run.extender, "bind_refusals_total", reason="node-locked")
        locked = metric(run.extender, "locked_nodes")
    assert waited == {"taken": 0, "timed-out": 1, "failed": 0}
    assert 0.1 <= seconds < 5
    assert (refused, locked) == (1, 1)


async def test_lock_that_cannot_be_written_is_a_wait_that_failed() -> None:
    """The API server refuses it."""
    server = ApiServer().with_all(ONE_CARD, WANTED)
    async with running(server) as run:
        server.fail("PATCH", "/nodes/n1", answers(403))
        assert await run.bind() != ""
        name = "lock_wait_seconds_count"
        assert metric(run.extender, name, outcome="failed") == 1
        assert metric(run.extender, "bind_refusals_total", reason="api-error") == 1


async def test_lag_of_the_loop() -> None:
    """A step that holds it is seen."""
    metrics = Metrics()
    measuring = asyncio.create_task(measure_loop_lag_forever(metrics))
    await asyncio.sleep(0.3)
    measuring.cancel()
    await asyncio.gather(measuring, return_exceptions=True)
    text = metrics.exposition().decode()
    assert "gpu_extender_event_loop_lag_seconds_count 1.0" in text
