"""prioritize: a node where a bind would have to wait comes after its equals."""

import asyncio

import pytest

from extender.core.names import NodeName
from extender.wire.extender_v1 import ExtenderArgs
from tests.builders import PodBuilder, node, pod
from tests.kube.running import Running, running
from tests.kube.server import ApiServer, until

pytestmark = pytest.mark.timeout(30)

PACKED = pod("p").app("a", gpu=1, gpumem=1000)
SPREAD = pod("s").app("a", gpu=1, gpumem=1000)
SPREAD = SPREAD.annotations({"hami.io/node-scheduler-policy": "spread"})
BEING_BOUND = "2026-01-01T00:00:00Z,default,q"


def scores(run: Running, wanted: PodBuilder) -> dict[str, int]:
    """Ask for scores as kube-scheduler does."""
    names = (NodeName("n1"), NodeName("n2"))
    args = ExtenderArgs(run.extender.reader.read(wanted.build()), names, None)
    scores = run.extender.prioritize(args).tolist()
    return {str(name): score for name, score in zip(names, scores, strict=True)}


async def test_locked_by_another() -> None:
    """As the watch shows it, from when it is taken until it is given back."""
    server = ApiServer().with_all(node("n1").gpu("GPU-a"), node("n2").gpu("GPU-b"))
    async with running(server) as run:
        before = scores(run, PACKED)
        assert before["n1"] == before["n2"]
        server.set_lock("n1", BEING_BOUND)
        await until(lambda: scores(run, PACKED)["n1"] == before["n1"] - 1)
        assert scores(run, PACKED)["n2"] == before["n2"]
        assert scores(run, SPREAD)["n1"] == 0
        server.set_lock("n1", None)
        await until(lambda: scores(run, PACKED) == before)


async def test_bind_of_ours_is_there() -> None:
    """Before the watch shows its lock."""
    server = ApiServer().with_all(node("n1").gpu("GPU-a"), node("n2").gpu("GPU-b"))
    server.put(pod("q").app("a", gpu=1))
    async with running(server, follows=False) as run:
        server.put(PACKED)
        before = scores(run, PACKED)
        bind = asyncio.create_task(run.bind(PACKED, "n1"))
        await until(lambda: bool(server.asked("PATCH", "/nodes/n1")))
        other = pod("other").app("a", gpu=1, gpumem=1000)
        assert scores(run, other)["n2"] == before["n2"]
        spread = other.annotations({"hami.io/node-scheduler-policy": "spread"})
        assert scores(run, spread)["n1"] == 0
        assert await bind == ""
