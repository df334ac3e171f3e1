"""``/doctor``: what is wrong, to loopback; a fix is asked for in JSON alone."""

import orjson

from extender.verbs.doctor.examination import Examination, Fixed
from extender.wire.views import decode_view
from tests.builders import node, pod
from tests.web.conftest import Serve

NODE = node("n1").gpu("GPU-a").allocatable(0)
WAITS = pod("waits").app("a", gpu=1, gpumem=12_000)


async def test_examination(serve: Serve) -> None:
    """Worst first, with what was looked at; nothing changes."""
    scheduler = await serve(NODE.gpu("GPU-b", health=False), WAITS)
    generation = scheduler.extender.ledger.generation
    answer = await scheduler.send("GET", "/doctor")
    told = decode_view(Examination, orjson.loads(answer.body))
    codes = [each.code for each in told.diagnoses]
    assert codes == ["PluginSilent", "CardsUnhealthy"]
    assert (told.nodes, told.pods, told.is_whole) == (1, 1, True)
    assert scheduler.extender.ledger.generation == generation


async def test_fix_leaves_alone_what_is_another_by_now(serve: Serve) -> None:
    """And what there is none of; each entry gets its line."""
    scheduler = await serve(NODE)
    body = {"releases": [{"node": "n1", "value": "x"}, {"node": "n2", "value": "x"}]}
    answer = await scheduler.post("/doctor/fix", body)
    told = decode_view(Fixed, orjson.loads(answer.body))
    assert told.done[0] == "node n1: its lock is another by now; left alone"
    assert told.done[1].startswith("node n2: its lock is not released: ")


async def test_fix_is_not_taken_from_a_form(serve: Serve) -> None:
    """A page of another site can make a browser post one."""
    scheduler = await serve(NODE)
    body = orjson.dumps({"releases": [{"node": "n1", "value": "x"}]})
    answer = await scheduler.send(
        "POST", "/doctor/fix", body, headers={"Content-Type": "text/plain"}
    )
    assert answer.status == 415
    assert b"Content-Type must be application/json" in answer.body


async def test_odd_releases_are_named(serve: Serve) -> None:
    """By field and value."""
    scheduler = await serve(NODE)
    for posted, problem in (
        ({}, b"releases"),
        ({"releases": [{"node": "n1"}]}, b"releases[0].value"),
        ({"releases": [{"node": "", "value": "x"}]}, b"releases[0]"),
        ({"releases": [{"node": "n1", "value": "x"}] * 65}, b"at most 64"),
    ):
        answer = await scheduler.post("/doctor/fix", posted)
        assert answer.status == 400
        assert problem in answer.body
