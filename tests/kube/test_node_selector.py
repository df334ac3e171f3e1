"""--node-label-selector on a live cluster; and what exact mode forgets by time."""

from typing import Final

import pytest

from extender.core.names import NodeName
from extender.settings import BindSettings, SchedulingSettings
from extender.verbs.exact import Mode
from extender.wire.label_selector import parse_selector
from tests.builders import node, pod
from tests.kube.running import WANTED, running
from tests.kube.server import ApiServer, until

pytestmark = pytest.mark.timeout(30)

GPU_ON: Final = SchedulingSettings(node_selector=parse_selector("gpu=on"))
OURS: Final = node("n1").gpu("GPU-a").labels(gpu="on")
THEIRS: Final = node("n2").gpu("GPU-b").labels(gpu="off")
HOLDER: Final = (
    pod("holder")
    .app("a", gpu=1, gpumem=20_000)
    .on("n2")
    .holding("GPU-b,NVIDIA,20000,0:;")
    .phase("Running")
)


async def test_node_counts_as_long_as_its_labels_match() -> None:
    """From the event on; pods that hold cards there are counted again."""
    server = ApiServer().with_all(OURS, THEIRS, HOLDER)
    async with running(server, scheduling=GPU_ON) as run:
        left_out = {"n2": "NodeNotSelected"}
        assert run.filter(WANTED, "n1", "n2").unresolvable == left_out
        server.put(THEIRS.labels(gpu="on"))
        full = {"n2": "CardInsufficientMemory"}
        await until(lambda: run.filter(WANTED, "n1", "n2").failed == full)
        assert run.used("GPU-b", "n2") == 20_000
        server.put(THEIRS)
        await until(lambda: run.filter(WANTED, "n2").unresolvable == left_out)


async def test_old_locks_of_others_are_given_back_on_our_nodes_only() -> None:
    """Who binds on the other nodes looks after their locks."""
    longest = BindSettings().longest_bind_seconds
    old = "2026-01-01T00:00:00Z,default,gone"
    server = ApiServer().with_all(OURS, THEIRS)
    server.set_lock("n1", old)
    server.set_lock("n2", old)
    async with running(server, scheduling=GPU_ON) as run:
        run.clock.skipped += longest + 1
        for _ in range(3):
            await run.extender._binder.settle()
            run.clock.skipped += longest + 1
        assert (server.lock_of("n1"), server.lock_of("n2")) == (None, old)


async def test_expected_pod_is_forgotten_by_time() -> None:
    """In exact mode: kube-scheduler gave it up, or waits for something else."""
    exact = SchedulingSettings(mode=Mode.EXACT)
    server = ApiServer().with_all(node("n1").gpu("GPU-a"), node("n2").gpu("GPU-b"))
    async with running(server, scheduling=exact) as run:
        first, second = (pod(name).app("a", gpu=1) for name in ("first", "second"))
        assert run.filter(first, "n1", "n2").fitting == [NodeName("n1")]
        assert run.filter(second, "n1", "n2").fitting == [NodeName("n2")]
        run.clock.skipped += 4
        assert run.filter(second, "n1", "n2").fitting == [NodeName("n2")]
        run.clock.skipped += 2
        assert run.filter(second, "n1", "n2").fitting == [NodeName("n1")]
