"""--mode exact: filter returns one node, as HAMi's does."""

import asyncio
from collections import Counter
from typing import Final

from extender.settings import SchedulingSettings
from extender.verbs.exact import Mode
from tests.builders import PodBuilder, node, pod
from tests.web.conftest import Serve
from tests.web.scheduler import Filtered, Scheduler

EXACT: Final = SchedulingSettings(mode=Mode.EXACT)
EMPTY: Final = node("empty").gpu("GPU-a")
HALF: Final = node("half").gpu("GPU-b")
FULL: Final = node("full").gpu("GPU-c")
SMALL: Final = node("small").gpu("GPU-d", memory=4_000)
RESIDENTS: Final = (
    pod("r1")
    .app("a", gpu=1, gpumem=12_000)
    .on("half")
    .holding("GPU-b,NVIDIA,12000,0:;")
    .phase("Running"),
    pod("r2")
    .app("a", gpu=1, gpumem=24_000)
    .on("full")
    .holding("GPU-c,NVIDIA,24000,0:;")
    .phase("Running"),
)
ASKING: Final = pod("p").app("a", gpu=1, gpumem=8_000)


def asking(number: int) -> PodBuilder:
    """Ask for a third of a card."""
    return pod(f"p{number}").app("a", gpu=1, gpumem=8_000)


async def test_best_node_alone_is_returned(serve: Serve) -> None:
    """Refused nodes say why; the one that would fit, too, is in no list."""
    scheduler = await serve(EMPTY, HALF, FULL, SMALL, *RESIDENTS, scheduling=EXACT)
    assert await scheduler.filter(ASKING) == Filtered(
        nodes=None,
        node_names=["half"],
        failed={"full": "CardInsufficientMemory"},
        unresolvable={"small": "CardInsufficientMemory"},
        error="",
    )
    spread = ASKING.annotations({"hami.io/node-scheduler-policy": "spread"})
    assert (await scheduler.filter(spread)).node_names == ["empty"]


async def test_whole_nodes_come_back_as_one(serve: Serve) -> None:
    """As it was sent."""
    scheduler = await serve(EMPTY, HALF, *RESIDENTS, scheduling=EXACT)
    filtered = await scheduler.filter(ASKING, nodes=[EMPTY.build(), HALF.build()])
    assert [each["metadata"]["name"] for each in filtered.nodes or []] == ["half"]
    assert (filtered.failed, filtered.unresolvable) == ({}, {})


async def test_same_node_as_the_scores_say(serve: Serve) -> None:
    """The best of prioritize, and of equal ones the first by name."""
    nodes = [node(name).gpu(f"GPU-{name}") for name in ("c", "b", "a")]
    scheduler = await serve(*nodes, scheduling=EXACT)
    scores = await scheduler.prioritize(ASKING)
    best = min(scores, key=lambda scored: (-scored[1], scored[0]))[0]
    assert (await scheduler.filter(ASKING)).node_names == [best] == ["a"]


async def test_pod_that_fits_nowhere_is_refused_as_ever(serve: Serve) -> None:
    """With every node's reason."""
    nodes = (EMPTY, HALF, FULL, SMALL)
    exact = await serve(*nodes, *RESIDENTS, scheduling=EXACT)
    scored = await serve(*nodes, *RESIDENTS)
    for wanted in (
        pod("large").app("a", gpu=1, gpumem=48_000),
        pod("two").app("a", gpu=2),
        pod("unreadable").app("a", gpu=1, gpumem="5Gi"),
    ):
        assert await exact.filter(wanted) == await scored.filter(wanted)


async def test_pod_without_cards_fits_everywhere(serve: Serve) -> None:
    """It is none of our business."""
    scheduler = await serve(EMPTY, HALF, scheduling=EXACT)
    filtered = await scheduler.filter(pod("cpu").app("a"))
    assert filtered.node_names == ["empty", "half"]


async def test_asked_twice_the_answer_is_the_same(serve: Serve) -> None:
    """A pod does not stand in its own way."""
    scheduler = await serve(EMPTY, HALF, *RESIDENTS, ASKING, scheduling=EXACT)
    first = await scheduler.filter(ASKING)
    assert await scheduler.filter(ASKING) == first
    assert await scheduler.bind(ASKING, "half") == ""
    assert await scheduler.filter(ASKING) == first


async def test_pods_in_flight_go_to_nodes_with_room(serve: Serve) -> None:
    """Filter is asked for all of them before the first bind."""
    nodes = [node(name).gpu(f"GPU-{name}") for name in ("a", "b", "c")]
    pods = [asking(number) for number in range(9)]
    scheduler = await serve(*nodes, *pods, scheduling=EXACT)
    chosen = [await only(scheduler, each) for each in pods]
    assert Counter(chosen) == {"a": 3, "b": 3, "c": 3}
    # What is expected refuses nobody: the tenth is sent somewhere, and then refused.
    tenth = asking(10)
    await scheduler.add(tenth)
    last = await only(scheduler, tenth)
    binds = [scheduler.bind(each, at) for each, at in zip(pods, chosen, strict=True)]
    assert await asyncio.gather(*binds) == [""] * 9
    problem = await scheduler.bind(tenth, last)
    assert problem.startswith("no longer fits: CardInsufficientMemory")
    assert (await scheduler.filter(tenth)).node_names == []


async def test_refused_bind_frees_what_was_expected(serve: Serve) -> None:
    """Another pod is sent there at once."""
    nodes = [node(name).gpu(f"GPU-{name}") for name in ("a", "b")]
    first = pod("first").app("a", gpu=1)
    second = pod("second").app("a", gpu=1)
    scheduler = await serve(*nodes, second, scheduling=EXACT)
    assert await only(scheduler, first) == "a"
    assert await only(scheduler, second) == "b"
    assert "does not exist" in await scheduler.bind(first, "a")
    assert await only(scheduler, second) == "a"


async def test_deleted_pod_is_expected_no_more(serve: Serve) -> None:
    """Nor one that now fits nowhere."""
    nodes = [node(name).gpu(f"GPU-{name}") for name in ("a", "b")]
    first = pod("first").app("a", gpu=1)
    second = pod("second").app("a", gpu=1)
    scheduler = await serve(*nodes, first, second, scheduling=EXACT)
    assert await only(scheduler, first) == "a"
    assert await only(scheduler, second) == "b"
    scheduler.lose_pod(first)
    assert await only(scheduler, second) == "a"
    third = pod("third").app("a", gpu=1)
    assert await only(scheduler, third) == "b"
    assert (await scheduler.filter(third, [])).node_names == []
    assert await only(scheduler, pod("fourth").app("a", gpu=1)) == "b"


async def only(scheduler: Scheduler, wanted: PodBuilder) -> str:
    """Give the one node that filter returns."""
    (name,) = (await scheduler.filter(wanted)).node_names or []
    return name
