"""Before nodes and pods are known there is no answer that could be right."""

from tests.builders import node, pod
from tests.web.conftest import Serve
from tests.web.scheduler import arguments, binding

CARD = node("n1").gpu("GPU-a")
ASKING = pod("p").app("a", gpu=1, gpumem=8000)


async def test_not_synced_is_never_an_answer(serve: Serve) -> None:
    """Filter and bind say Error in a 200, prioritize 503, for every kind of pod."""
    scheduler = await serve(CARD, ASKING, synced=False)
    for wanted in (ASKING, pod("cpu").app("a")):
        filtered = await scheduler.filter(wanted, ["n1"])
        assert (filtered.node_names, filtered.nodes) == (None, None)
        assert "not been listed" in filtered.error
        assert "not been listed" in await scheduler.bind(wanted, "n1")
        answer = await scheduler.post("/prioritize", arguments(wanted, ["n1"], None))
        assert answer.status == 503
        assert "not been listed" in answer.json["error"]
    assert "nodeName" not in (await scheduler.shown(ASKING))["spec"]


async def test_health_is_not_readiness(serve: Serve) -> None:
    """Alive from the start, ready once synced."""
    scheduler = await serve(CARD, ASKING, synced=False)
    assert (await scheduler.send("GET", "/healthz")).status == 200
    assert (await scheduler.send("GET", "/readyz")).status == 503
    scheduler.cluster.listen(scheduler.extender.take_in)
    assert (await scheduler.send("GET", "/readyz")).status == 503
    scheduler.extender.mark_synced()
    assert (await scheduler.send("GET", "/readyz")).status == 200
    assert (await scheduler.send("GET", "/healthz")).status == 200
    assert (await scheduler.filter(ASKING)).node_names == ["n1"]
    assert await scheduler.bind(ASKING, "n1") == ""


async def test_malformed_is_malformed_before_sync_too(serve: Serve) -> None:
    """A body that can never be right is not answered by "try again"."""
    scheduler = await serve(CARD, synced=False)
    for path in ("/filter", "/prioritize", "/bind"):
        assert (await scheduler.send("POST", path, b"{")).status == 400
    wrong = {**binding(ASKING, "n1"), "PodUID": 7}
    assert (await scheduler.post("/bind", wrong)).status == 400
