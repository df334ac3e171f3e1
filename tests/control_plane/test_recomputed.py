"""What recomputes a pod's devices notices each thing that can be wrong with them."""

from collections.abc import Callable
from typing import Final

import pytest

from tests.builders import Json, NodeBuilder, PodBuilder, node, pod
from tests.control_plane.client import Api, path_of
from tests.control_plane.observer import observed
from tests.control_plane.plugin import (
    ALLOCATED,
    BIND_PHASE,
    BIND_TIME,
    TO_ALLOCATE,
    VGPU_NODE,
)
from tests.control_plane.recomputed import (
    VGPU_TIME,
    charge_of,
    checked_rows,
    excesses_of,
)

ROWS: Final = "GPU-a,NVIDIA,2000,0:;GPU-a,NVIDIA,8000,0:;;GPU-b,NVIDIA,4000,30:;"


def shown_node() -> Json:
    """Show a node with two cards."""
    return node("n1").gpu("GPU-a").gpu("GPU-b").build()


def shown_pod(change: Callable[[Json], None] = lambda _: None) -> Json:
    """Show a pod as it is bound, with a change made to it."""
    texts = {
        VGPU_NODE: "n1",
        VGPU_TIME: "1767225600",
        BIND_TIME: "1767225600",
        BIND_PHASE: "success",
        ALLOCATED: ROWS,
        TO_ALLOCATE: ";;;;",
    }
    shown = asking().on("n1").annotations(texts).build()
    shown["metadata"]["labels"] = {VGPU_NODE: "n1"}
    change(shown)
    return shown


def asking() -> PodBuilder:
    """Ask in a sidecar, an init and one of two apps."""
    return (
        pod("p")
        .sidecar("s", gpu=1, gpumem=2000)
        .init("i", gpu=1, gpumem="8k")
        .app("none")
        .app("a", gpu=1, gpumem=4000, cores=30)
    )


def annotates(key: str, text: str | None) -> Callable[[Json], None]:
    """Give a change of one annotation."""

    def change(shown: Json) -> None:
        shown["metadata"]["annotations"].pop(key)
        if text is not None:
            shown["metadata"]["annotations"][key] = text

    return change


def allocates(before: str, after: str) -> Callable[[Json], None]:
    """Give a change in the rows."""
    return annotates(ALLOCATED, ROWS.replace(before, after, 1))


def labels(text: str) -> Callable[[Json], None]:
    """Give a change of the label."""

    def change(shown: Json) -> None:
        shown["metadata"]["labels"] = {VGPU_NODE: text}

    return change


def test_pod_that_got_what_it_asked_for() -> None:
    """Its rows are given, container by container."""
    rows = checked_rows(shown_pod(), shown_node())
    assert [[one.uuid for one in row] for row in rows] == [
        ["GPU-a"],
        ["GPU-a"],
        [],
        ["GPU-b"],
    ]
    charge = charge_of(shown_pod())
    assert {uuid: held.memory_mib for uuid, held in charge.items()} == {
        "GPU-a": 10_000,
        "GPU-b": 4_000,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(annotates(VGPU_NODE, "n2"), id="another node"),
        pytest.param(annotates(VGPU_TIME, "now"), id="no time of the choice"),
        pytest.param(annotates(BIND_TIME, ""), id="no time of the bind"),
        pytest.param(annotates(BIND_PHASE, "failed"), id="failed"),
        pytest.param(labels("n2"), id="another label"),
        pytest.param(annotates(TO_ALLOCATE, ";;;"), id="a row too few to serve"),
        pytest.param(
            annotates(TO_ALLOCATE, "GPU-b,NVIDIA,2000,0:;;;;"), id="another to serve"
        ),
        pytest.param(allocates(";;", ";"), id="no row for a container"),
        pytest.param(allocates("GPU-a", "GPU-x"), id="no such card"),
        pytest.param(allocates("2000", "2001"), id="more memory"),
        pytest.param(allocates("2000", "1999"), id="less memory"),
        pytest.param(allocates("4000,30", "4000,0"), id="other cores"),
        pytest.param(
            allocates(";;", ";GPU-b,NVIDIA,1,0:;"), id="a card that was not asked for"
        ),
        pytest.param(
            allocates("GPU-b,NVIDIA,4000,30:", "GPU-b,NVIDIA,4000,30:" * 2),
            id="a card twice",
        ),
    ],
)
def test_pod_that_got_something_else(wrong: Callable[[Json], None]) -> None:
    """It fails the test in which it happens."""
    with pytest.raises(AssertionError):
        checked_rows(shown_pod(wrong), shown_node())


def test_card_that_takes_no_work() -> None:
    """Neither an unhealthy card nor a cordoned one may be given."""
    cordoned = node("n1").gpu("GPU-a").gpu("GPU-b").cordon("GPU-b").build()
    unhealthy = node("n1").gpu("GPU-a", health=False).gpu("GPU-b").build()
    for one in (cordoned, unhealthy):
        with pytest.raises(AssertionError, match="takes no work"):
            checked_rows(shown_pod(), one)


@pytest.mark.parametrize(
    ("there", "excess"),
    [
        (node("n1").gpu("GPU-a", memory=10_000).gpu("GPU-b"), []),
        (node("n1").gpu("GPU-a", memory=9_999).gpu("GPU-b"), ["GPU-a"]),
        (node("n1").gpu("GPU-a", count=1).gpu("GPU-b"), ["GPU-a"]),
        (node("n1").gpu("GPU-a").gpu("GPU-b", cores=29), ["GPU-b"]),
        (node("n1").gpu("GPU-a"), ["GPU-b"]),
        (node("n1").gpu("GPU-a").gpu("GPU-b").allocatable(1), ["device ids"]),
    ],
    ids=["none", "memory", "slots", "cores", "no such card", "device ids"],
)
def test_excess_in_each_dimension(there: NodeBuilder, excess: list[str]) -> None:
    """What a node's pods hold is held against each thing that it has."""
    found = excesses_of(there.build(), [shown_pod()])
    assert [text.partition(":")[0] for text in found] == excess


async def test_observer_notices_what_is_over_in_a_moment(api: Api) -> None:
    """A card that is over capacity between two events fails the test."""
    shown = await api.create_node(node("n1").gpu("GPU-a", memory=9_999).build())

    async def is_overbooked() -> None:
        async with observed(api) as observer:
            observer.know(shown)
            created = await api.create_pod(pod("p").app("a", gpu=1).build())
            await api.bind(created, "n1", {ALLOCATED: "GPU-a,NVIDIA,10000,0:;"})
            await api.delete(path_of(created))

    with pytest.raises(AssertionError, match=r"n1, after default/p: GPU-a"):
        await is_overbooked()
