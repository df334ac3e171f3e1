"""Answers are kept for the nodes that are there, however many have been."""

from collections.abc import Callable, Sequence

import pytest

from extender.core.arrays import MEMORY
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import NodeName
from extender.core.pod_request import PodRequest
from extender.core.usage import Usage
from tests.counting import Work, counted_arrays, work_of
from tests.values import GPU, app, card, fleet_of, held, node, request

NAMES = [NodeName(f"node-{number}") for number in range(100)]
KEPT = NAMES[60:]
FULL = KEPT[7]


def filled() -> Fleet:
    """Put a hundred nodes of one card, of which one is full."""
    nodes = [node(name, card(f"GPU-{name}")) for name in NAMES]
    return fleet_of(nodes, [full(FULL)])


def full(name: NodeName) -> Holding:
    """Hold all that a node has."""
    return held(name, {f"GPU-{name}": Usage(1, 24_000)})


def removed(fleet: Fleet) -> None:
    """Take most nodes out."""
    for name in NAMES[:60]:
        fleet.remove(name)


def widened(fleet: Fleet) -> None:
    """Give most nodes a second card, which moves them to another bucket."""
    for name in NAMES[:60]:
        cards = (card(f"GPU-{name}"), card(f"GPU-{name}-1", index=1))
        fleet.put(node(name, *cards), ())


def fits(fleet: Fleet, names: Sequence[NodeName], wanted: PodRequest) -> list[NodeName]:
    """Name the nodes that can hold a request."""
    answers = fleet.answers(names, [wanted])
    return [name for name, one in zip(names, answers.fits, strict=True) if one]


def is_remembered(fleet: Fleet, names: Sequence[NodeName], wanted: PodRequest) -> bool:
    """Fill a bucket's cards behind its back, ask again, and empty them."""
    before = fits(fleet, names, wanted)
    used = fleet.of(GPU)._buckets[0]._cards.used
    used[MEMORY] += 24_000
    again = fits(fleet, names, wanted)
    used[MEMORY] -= 24_000
    return again == before


@pytest.mark.parametrize("leave", [removed, widened])
def test_the_nodes_that_stayed_are_remembered(leave: Callable[[Fleet], None]) -> None:
    """Also where fewer than half of all that were there ask for it."""
    fleet, wanted = filled(), request(app())
    leave(fleet)
    assert fits(fleet, KEPT, wanted) == [name for name in KEPT if name != FULL]
    assert is_remembered(fleet, KEPT, wanted)


@pytest.mark.parametrize(("asked", "expected"), [(19, False), (20, True)])
def test_half_of_the_nodes_that_stayed_are_remembered(
    asked: int, *, expected: bool
) -> None:
    """Fewer are judged by themselves, each time."""
    fleet, wanted = filled(), request(app())
    removed(fleet)
    fits(fleet, KEPT[:asked], wanted)
    assert is_remembered(fleet, KEPT[:asked], wanted) is expected


def test_a_node_that_comes_where_one_went_is_judged() -> None:
    """It has its own answer, not that of the column when it was empty."""
    fleet, wanted = filled(), request(app())
    removed(fleet)
    fits(fleet, KEPT, wanted)
    fleet.put(node(NAMES[0], card("GPU-new")), ())
    fleet.put(node(NAMES[1], card(f"GPU-{NAMES[1]}")), [full(NAMES[1])])
    assert fits(fleet, NAMES[:3], wanted) == [NAMES[0]]


def test_nodes_that_have_gone_are_not_judged() -> None:
    """A new request costs about what it does where they never were."""

    def cost(fleet: Fleet) -> Work:
        sizes = iter(range(1_000, 2_000))
        return work_of(lambda: fits(fleet, KEPT, request(app(next(sizes)))))

    with counted_arrays():
        shrunk = filled()
        removed(shrunk)
        small = fleet_of([node(name, card(f"GPU-{name}")) for name in KEPT])
        small.add(full(FULL))
        assert cost(shrunk).elements < 1.3 * cost(small).elements
