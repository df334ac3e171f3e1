"""What is told of a refused pod's lack: short, of one moment, and in small steps."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.embedded.cluster import EmbeddedCluster
from extender.service import Extender
from extender.service.missing_line import MissingLine
from extender.state.events import NodeGone, NodeSeen, PodGone, PodSeen, QuotaSeen
from extender.verbs.missing import FOR_AN_EVENT, Missing, missing_text
from extender.wire.pods import PodReader
from tests.builders import NodeBuilder, PodBuilder, node, pod, resource_quota

READER: Final = PodReader(Kinds([NVIDIA]))
GIB: Final = 1024
N1, N2 = NodeName("n1"), NodeName("n2")


@dataclass
class World:
    """An extender, and what it is shown."""

    extender: Extender = field(
        default_factory=lambda: Extender(EmbeddedCluster(READER), READER, lambda: 0.0)
    )

    def __post_init__(self) -> None:
        self.extender.mark_synced()

    def show(self, *nodes: NodeBuilder) -> list[NodeName]:
        """Show nodes; gives their names."""
        read = [self.extender.read_node(each.build()) for each in nodes]
        for each in read:
            self.extender.take_in(NodeSeen(each))
        return [each.name for each in read]

    def have(self, shown: PodBuilder) -> Pod:
        """Show a pod."""
        read = READER.read(shown.build())
        self.extender.take_in(PodSeen(read))
        return read

    async def missing(
        self, asking: Pod, names: list[NodeName], change: Callable[[], object], at: int
    ) -> Missing | None:
        """Ask, and let something change after so many steps."""
        asked = asyncio.create_task(self.extender.explainer.missing(asking, names))
        for _ in range(at):
            await asyncio.sleep(0)
        change()
        return await asked

    async def text(self, asking: Pod, names: list[NodeName]) -> str | None:
        """Tell what is missing."""
        missing = await self.extender.explainer.missing(asking, names)
        return None if missing is None else missing_text(missing)


def holder(memory: int, name: str = "held", on: str = "n1") -> PodBuilder:
    """Hold memory of card GPU-a of a node."""
    asking = pod(name).app("a", gpu=1, gpumem=memory)
    return asking.holding(f"GPU-a,NVIDIA,{memory},0:;").on(on).phase("Running")


async def test_texts() -> None:
    """Room on a card, on several, a larger card, or room under a quota."""
    world = World()
    names = world.show(node("n1").gpu("GPU-a", memory=24 * GIB))
    world.have(holder(20 * GIB))
    asks = pod("p").app("a", gpu=1, gpumem=6 * GIB)
    assert await world.text(world.have(asks), names) == (
        "would fit on one node if 2048 MiB more were free on one card"
    )
    large = world.have(pod("large").app("a", gpu=1, gpumem=25 * GIB))
    assert await world.text(large, names) == (
        "would fit on one node if one card had 1024 MiB more"
    )
    wide = world.have(pod("wide").app("a", gpu=2, gpumem=GIB))
    assert await world.text(wide, names) == ""
    typed = pod("typed").app("a", gpu=1).annotations({"nvidia.com/use-gputype": "B200"})
    assert await world.text(world.have(typed), names) == ""
    hard = resource_quota("q", hard={"limits.nvidia.com/gpumem": 21 * GIB})
    world.extender.take_in(QuotaSeen(world.extender.read_quota(hard)))
    assert await world.text(world.have(asks), names) == (
        "over quota: 5120 MiB of limits.nvidia.com/gpumem more are needed"
    )


async def test_other_nodes_than_were_asked_about_do_not_count() -> None:
    """kube-scheduler may not place the pod there."""
    world = World()
    world.show(*(node(name).gpu("GPU-a", memory=24 * GIB) for name in (N1, N2)))
    world.have(holder(20 * GIB))
    asks = world.have(pod("p").app("a", gpu=1, gpumem=6 * GIB))
    assert await world.text(asks, [N1]) is not None
    assert await world.text(asks, [N1, N2]) is None


@pytest.mark.parametrize("at", range(1, 8))
async def test_what_changes_meanwhile_is_not_told(at: int) -> None:
    """Whenever it does: either of the state before, or of none."""
    world = World()
    names = world.show(node("n1").gpu("GPU-a", memory=24 * GIB))
    held = world.have(holder(20 * GIB))
    asks = world.have(pod("p").app("a", gpu=1, gpumem=6 * GIB))

    def change() -> None:
        world.have(holder(1 * GIB, "more"))

    told = await world.missing(asks, names, change, at)
    assert told is not None
    assert missing_text(told) in (
        "",
        "would fit on one node if 3072 MiB more were free on one card",
    )
    world.extender.take_in(PodGone(PodUID(pod("more").pod_uid)))

    def free() -> None:
        world.extender.take_in(PodGone(held.uid))

    assert await world.missing(asks, names, free, at) in (None, Missing())


@pytest.mark.parametrize("at", range(1, 6))
async def test_nothing_is_said_of_a_node_that_is_gone(at: int) -> None:
    """Nor does it go wrong, whenever the node goes."""
    world = World()
    names = world.show(node("n1").gpu("GPU-a", memory=24 * GIB))
    asks = world.have(pod("p").app("a", gpu=1, gpumem=25 * GIB))
    gone = await world.missing(
        asks, names, lambda: world.extender.take_in(NodeGone(N1)), at
    )
    assert gone == Missing()


async def test_large_cluster_is_looked_at_in_small_steps() -> None:
    """Each answers for a few hundred nodes, or tries room on one of a few."""
    world = World()
    names = world.show(
        *(
            node(f"n{number}")
            .gpu("GPU-a", memory=24 * GIB)
            .gpu("GPU-b", memory=24 * GIB)
            for number in range(5_000)
        )
    )
    # Each container fits alone, and not beside the other two: all nodes have to be
    # compared, since that cannot be told quickly.
    asks = pod("p")
    for container in "abc":
        asks = asks.app(container, gpu=1, gpumem=13 * GIB)
    steps = world.extender.explainer._missing_steps(world.have(asks), names)
    looked_at = world.extender.ledger.fleet.searches
    took: list[int] = []
    missing = None
    while missing is None:
        before = looked_at.steps
        try:
            next(steps)
        except StopIteration as ended:
            missing = ended.value
            assert missing is not None
        took.append(looked_at.steps - before)
    assert missing_text(missing) == (
        "would fit on one node if one card had 2048 MiB more"
    )
    assert missing.nearest is not None
    assert not missing.nearest.is_nearest
    assert len(took) >= 5_000 / 256 + 5_000 / 512
    assert max(took) <= 8 * FOR_AN_EVENT.node_steps
    assert FOR_AN_EVENT.most_nodes == 4


def test_line_is_short() -> None:
    """Whoever may be told something first has a place; of equals, the first comers."""
    ready = {PodUID(name): 0.0 for name in "abc"} | {PodUID("later"): 60.0}
    line = MissingLine(2, ready.__getitem__)
    for name in ("a", "later", "b", "c", "a"):
        line.join(PodUID(name), [N1, N2])
    assert len(line) == 2
    assert line.take(0.0) == ("a", [N1, N2])
    assert line.take(0.0) == ("b", [N1, N2])
    assert line.take(60.0) is None
