"""Rows of cards, against a plain look at each card that may be the first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from hypothesis import event, example, given
from hypothesis import strategies as st

from extender.core.container import Lifetime
from extender.core.holding import Holding
from extender.core.kind_set import Kinds
from extender.core.names import DeviceUUID, NodeName
from extender.core.neighbours import chosen_run, run_starts
from extender.core.usage import Usage
from extender.verbs.bind import choose_devices
from extender.verbs.filter import filter_nodes
from extender.verbs.verdicts import judge_node
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from tests.builders import Json, pod
from tests.shipped import SHIPPED
from tests.values import fleet_of

NEURON: Final = SHIPPED["AWSNeuron"]
N1: Final = NodeName("n1")
DEVICES: Final = "aws.amazon.com/neuron"
CORES: Final = "aws.amazon.com/neuroncore"


@st.composite
def nodes(draw: st.DrawFn) -> tuple[list[list[bool]], list[list[bool]], list[bool]]:
    """Draw some nodes of equal width: eligible cards, preferred ones, and rings."""
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    count = draw(st.integers(1, 3))
    mostly = st.sampled_from([True, True, True, False])
    cards = st.lists(mostly, min_size=width, max_size=width)
    many = st.lists(cards, min_size=count, max_size=count)
    rings = st.lists(st.booleans(), min_size=count, max_size=count)
    return draw(many), draw(many), draw(rings)


def first_run(
    eligible: list[bool], preferred: list[bool] | None, count: int, *, is_ring: bool
) -> list[int]:
    """Look at one node: the row with most preferred cards, of these the first."""
    rows = []
    for first in range(len(eligible) - count + 1):
        row = list(range(first, first + count))
        may_begin = is_ring or (count in {4, 8, 16} and first % count == 0)
        if may_begin and all(eligible[card] for card in row):
            rows.append(row)
    wanted = preferred or [False] * len(eligible)
    return max(rows, key=lambda row: sum(wanted[card] for card in row), default=[])


@given(nodes(), st.sampled_from([2, 3, 4, 8, 16]), st.booleans())
def test_the_first_row_of_neighbours_is_taken(
    drawn: tuple[list[list[bool]], list[list[bool]], list[bool]],
    count: int,
    is_init: bool,  # noqa: FBT001 - drawn
) -> None:
    """That with most cards that the rest of the pod holds, where some are preferred."""
    eligible, preferred, rings = drawn
    starts = run_starts(np.array(eligible).T, np.array(rings), count)
    chosen = chosen_run(starts, np.array(preferred).T if is_init else None, count)
    for column, is_ring in enumerate(rings):
        wanted = preferred[column] if is_init else None
        expected = first_run(eligible[column], wanted, count, is_ring=is_ring)
        assert starts[:, column].any() == bool(expected)
        assert np.flatnonzero(chosen[:, column]).tolist() == expected


@dataclass(frozen=True)
class Pods:
    """A node's free cores, device by device, and what a pod's containers ask for."""

    is_ring: bool
    free: list[int]
    wanted: list[tuple[Lifetime, int, int]]
    """Lifetime, devices, and cores of each."""

    def pod(self) -> Json:
        """Print the pod."""
        made = pod("p")
        for number, (lifetime, *_) in enumerate(self.wanted):
            make = {
                Lifetime.INIT: made.init,
                Lifetime.SIDECAR: made.sidecar,
                Lifetime.APP: made.app,
            }
            made = make[lifetime](f"c{number}")
        shown = made.build()
        spec = shown["spec"]
        containers = [*spec.get("initContainers", ()), *spec["containers"]]
        for one, (_, devices, cores) in zip(containers, self.wanted, strict=True):
            one["resources"] = {"limits": {CORES: str(devices * cores)}}
        return shown


@st.composite
def pods(draw: st.DrawFn) -> Pods:
    """Draw a node of up to 6 devices, and a pod of up to 4 containers."""
    free = draw(st.lists(st.sampled_from([2, 2, 2, 1, 0]), min_size=1, max_size=6))
    early = st.lists(st.sampled_from([Lifetime.INIT, Lifetime.SIDECAR]), max_size=2)
    lifetimes = [*draw(early), *[Lifetime.APP] * draw(st.integers(1, 2))]
    asks = st.sampled_from([(1, 1), (1, 2), (1, 2), (2, 2), (3, 2), (4, 2)])
    wanted = [(lifetime, *draw(asks)) for lifetime in lifetimes]
    return Pods(draw(st.booleans()), free, wanted)


def ways(
    case: Pods, free: Sequence[int], at: int = 0
) -> Iterator[list[tuple[bool, list[int]]]]:
    """List what the containers from one on may get: whether an init, and devices."""
    if at == len(case.wanted):
        yield []
        return
    lifetime, count, cores = case.wanted[at]
    for first in range(len(free) - count + 1):
        row = list(range(first, first + count))
        is_row = count == 1 or case.is_ring or (count == 4 and first == 0)
        if not is_row or any(free[device] < cores for device in row):
            continue
        is_init = lifetime is Lifetime.INIT
        after = list(free)
        if not is_init:
            for device in row:
                after[device] -= cores
        for rest in ways(case, after, at + 1):
            yield [(is_init, row), *rest]


LATER_ROW: Final = Pods(
    is_ring=True,
    free=[2, 2, 2, 0, 2, 2],
    wanted=[(Lifetime.APP, 2, 2), (Lifetime.APP, 3, 2)],
)
"""The first row for two leaves none for three."""


@given(pods())
@example(LATER_ROW)
def test_rows_are_found_exactly_where_there_are_some(case: Pods) -> None:
    """On up to 6 devices and for up to 4 containers, as each that may be tried."""
    found = list(ways(case, case.free))
    count = len(case.free)
    amounts = {DEVICES: str(count), CORES: str(2 * count)}
    kind = "inf2.48xlarge" if case.is_ring else "trn1.32xlarge"
    node = decode_node(
        {
            "metadata": {
                "name": N1,
                "labels": {"node.kubernetes.io/instance-type": kind},
            },
            "status": {"capacity": amounts, "allocatable": amounts},
        },
        [NEURON],
    )
    held = {
        DeviceUUID(f"n1-AWSNeuron-{place}"): Usage(1, 0, 2 - free)
        for place, free in enumerate(case.free)
        if free < 2
    }
    fleet = fleet_of([node], [Holding(N1, held)])
    asking = PodReader(Kinds([NEURON])).read(case.pod())
    event(f"fits: {bool(found)}")
    decision = filter_nodes(fleet, asking, [N1], None)
    assert (decision.fitting == [N1]) == bool(found)
    is_possible_empty = any(True for _ in ways(case, [2] * count))
    assert (N1 in decision.unresolvable) == (not is_possible_empty)
    assert (judge_node(fleet, asking, N1, None) is None) == bool(found)
    allocation = choose_devices(fleet, asking, N1, None)
    assert (allocation is not None) == bool(found)
    if allocation is not None:
        got = [
            [int(share.device_uuid.rpartition("-")[2]) for share in row]
            for row in allocation
        ]
        assert got in [[row for _, row in way] for way in found]
        assert extra(found, got) == min(extra(found, None, way) for way in found)


def extra(
    found: list[list[tuple[bool, list[int]]]],
    got: list[list[int]] | None,
    way: list[tuple[bool, list[int]]] | None = None,
) -> int:
    """Count the devices that only inits hold."""
    if way is None:
        way = next(each for each in found if [row for _, row in each] == got)
    of_inits = {device for is_init, row in way if is_init for device in row}
    return len(of_inits - {each for is_init, row in way if not is_init for each in row})
