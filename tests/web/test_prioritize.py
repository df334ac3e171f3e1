"""prioritize: a score from 0 to 10 for every name."""

import pytest

from tests.builders import PodBuilder, node, pod
from tests.web.conftest import Serve

EMPTY = node("empty").gpu("GPU-a")
HALF = node("half").gpu("GPU-b")
FULL = node("full").gpu("GPU-c")
PLAIN = node("plain")
RESIDENTS = [
    pod("r1")
    .app("a", gpu=1, gpumem=12_000, cores=50)
    .on("half")
    .phase("Running")
    .holding("GPU-b,NVIDIA,12000,50:;"),
    pod("r2")
    .app("a", gpu=1, gpumem=24_000, cores=100)
    .on("full")
    .phase("Running")
    .holding("GPU-c,NVIDIA,24000,100:;"),
]
ASKING = pod("p").app("a", gpu=1, gpumem=8000)


def by_policy(name: str) -> PodBuilder:
    """Ask with a node policy."""
    return ASKING.annotations({"hami.io/node-scheduler-policy": name})


async def test_every_name_is_answered(serve: Serve) -> None:
    """Also unknown, unfit and GPU-less nodes, each once, the best first."""
    scheduler = await serve(EMPTY, HALF, FULL, PLAIN, *RESIDENTS)
    names = ["plain", "ghost", "full", "half", "empty"]
    scores = await scheduler.prioritize(ASKING, [*names, "half", "ghost"])
    assert sorted(host for host, _ in scores) == sorted(names)
    assert all(0 <= score <= 10 for _, score in scores)
    assert [host for host, score in scores if not score] == names[:3]
    assert [score for _, score in scores] == sorted(dict(scores).values())[::-1]


async def test_scores_are_those_of_the_formula(serve: Serve) -> None:
    """Case 35: binpack likes the fuller node, spread the emptier, after placement."""
    scheduler = await serve(EMPTY, HALF, *RESIDENTS)
    # Ratios after placement add up to 0.43 on the empty card and 1.53 on the half.
    binpack = await scheduler.prioritize(by_policy("binpack"))
    assert dict(binpack) == {"empty": 2, "half": 6}
    spread = await scheduler.prioritize(by_policy("spread"))
    assert dict(spread) == {"empty": 9, "half": 5}
    unknown = await scheduler.prioritize(by_policy("pack"))
    assert unknown == binpack


async def test_objects_and_names_score_alike(serve: Serve) -> None:
    """Case 90: nodeCacheCapable makes no difference to the scores."""
    shown = [EMPTY, HALF, FULL, PLAIN]
    scheduler = await serve(*shown, *RESIDENTS)
    by_name = await scheduler.prioritize(ASKING)
    objects = [each.build() for each in shown]
    assert await scheduler.prioritize(ASKING, nodes=objects) == by_name
    cpu_only = pod("cpu").app("a")
    zeros = {host: 0 for host, _ in by_name}
    assert dict(await scheduler.prioritize(cpu_only, nodes=objects)) == zeros
    assert dict(await scheduler.prioritize(cpu_only)) == zeros


async def test_no_name_is_answered_by_none(serve: Serve) -> None:
    """An empty list stays a list."""
    scheduler = await serve(EMPTY)
    assert await scheduler.prioritize(ASKING, []) == []
    assert await scheduler.prioritize(ASKING, nodes=[]) == []


UNREADABLE = pod("p").app("a", gpu=1, gpumem="5Gi")


@pytest.mark.parametrize("wanted", [ASKING, UNREADABLE, pod("cpu").app("a")])
async def test_prioritize_changes_nothing(serve: Serve, wanted: PodBuilder) -> None:
    """Asked twice it says the same, and filter does not notice."""
    scheduler = await serve(EMPTY, HALF, FULL, PLAIN, *RESIDENTS)
    before = await scheduler.state()
    first = await scheduler.prioritize(wanted)
    assert await scheduler.prioritize(wanted) == first
    assert await scheduler.state() == before
