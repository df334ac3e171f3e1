"""Cost grows at most linearly in nodes, and not at all in pods already placed.

Nothing here looks at a clock: work is counted (see `tests.counting`), and compared
between clusters of several sizes in one run. The last tests plant faults that a clock
would not notice at these sizes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, cycle
from typing import Final

import pytest

from benchmarks.cluster import make_cluster
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.embedded.cluster import EmbeddedCluster
from extender.service import Extender
from extender.state.events import NodeSeen, PodGone, PodSeen
from extender.wire.extender_v1 import ExtenderArgs
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from tests.builders import PodBuilder, pod
from tests.counting import (
    CountedName,
    Work,
    assert_flat,
    assert_linear,
    counted_arrays,
    work_of,
)
from tests.values import GPU, with_inventory

NODES: Final = (100, 200, 400)
PODS_PER_NODE: Final = (0, 8, 16)
WITH_SIDECAR: Final = "job-00001-1"
WITH_INIT: Final = "job-00001-2"
REPLACED: Final = "job-00001-4"
READER: Final = PodReader(Kinds([NVIDIA]))

_numbers: Final = count()


@pytest.fixture(scope="module", autouse=True)
def _arrays_are_counted() -> Iterator[None]:
    with counted_arrays():
        yield
        loaded.cache_clear()


@dataclass(frozen=True, slots=True)
class Loaded:
    """A synced extender and the cluster that it has taken in."""

    extender: Extender
    node_objects: list[dict[str, object]]
    pods: dict[str, Pod]

    def args(self, wanted: PodBuilder) -> ExtenderArgs:
        """Ask about all nodes, by a list of names that was not seen before."""
        names = [decode_node(node, [NVIDIA]).name for node in self.node_objects]
        asked = tuple(NodeName(CountedName(name)) for name in names)
        return ExtenderArgs(READER.read(wanted.build()), asked, None)


@cache
def loaded(node_count: int, pods_per_node: int) -> Loaded:
    """Load a cluster of `benchmarks.cluster`: 8 cards a node, every pod on one."""
    extender = Extender(EmbeddedCluster(READER), READER, lambda: 0.0)
    items = make_cluster(node_count, pods_per_node)["items"]
    nodes = [item for item in items if item["kind"] == "Node"]
    read = [READER.read(item) for item in items if item["kind"] == "Pod"]
    pods = {each.name: each for each in read}
    for node in nodes:
        extender.take_in(NodeSeen(decode_node(node, [NVIDIA])))
    for each in read:
        extender.take_in(PodSeen(each))
    extender.mark_synced()
    return Loaded(extender, nodes, pods)


def one_app() -> PodBuilder:
    """Ask for what every node can hold, and never for the same twice."""
    return pod("p").app("a", gpu=1, gpumem=1_000 + next(_numbers))


def phased() -> PodBuilder:
    """The same, with a pod whose phases differ."""
    sidecar = pod("p").sidecar("s", gpu=1, gpumem=1_000 + next(_numbers))
    return sidecar.init("i", gpu=1, gpumem=20_480).app("a", gpu=1, gpumem=10_240)


def refused() -> PodBuilder:
    """Ask for more than is free on any card that has a pod."""
    return pod("p").app("a", gpu=1, gpumem=70_000 + next(_numbers))


Verb = Callable[[Loaded, Callable[[], PodBuilder]], Work]


def filter_work(on: Loaded, wanted: Callable[[], PodBuilder]) -> Work:
    """Count filter alone, about pods that were not seen before."""
    asked = [on.args(wanted()) for _ in range(_CALLS)]
    remaining = iter(asked)
    return work_of(lambda: on.extender.filter(next(remaining)))


def prioritize_work(on: Loaded, wanted: Callable[[], PodBuilder]) -> Work:
    """Count prioritize alone, about pods that were not seen before."""
    asked = [on.args(wanted()) for _ in range(_CALLS)]
    remaining = iter(asked)
    return work_of(lambda: on.extender.prioritize(next(remaining)))


_CALLS: Final = 20
"""More than `work_of` takes."""


@pytest.mark.parametrize("verb", [filter_work, prioritize_work])
@pytest.mark.parametrize("wanted", [one_app, phased, refused])
def test_a_question_costs_at_most_linearly_in_nodes(
    verb: Verb, wanted: Callable[[], PodBuilder]
) -> None:
    """Twice as many nodes are at most twice the work, for pods that fit or do not."""
    assert_linear({nodes: verb(loaded(nodes, 8), wanted) for nodes in NODES})


@pytest.mark.parametrize("verb", [filter_work, prioritize_work])
@pytest.mark.parametrize("wanted", [one_app, phased])
def test_a_question_costs_the_same_with_more_pods_placed(
    verb: Verb, wanted: Callable[[], PodBuilder]
) -> None:
    """Totals are kept, not added up."""
    assert_flat({pods: verb(loaded(200, pods), wanted) for pods in PODS_PER_NODE})


def pod_unchanged(on: Loaded) -> Callable[[], None]:
    """Show a pod once more as it is."""
    event = PodSeen(on.pods[WITH_SIDECAR])
    return lambda: on.extender.take_in(event)


def pod_changed(on: Loaded) -> Callable[[], None]:
    """Show a pod in turn with its init over and with it running, as it is charged."""
    over = on.pods[WITH_INIT]
    status = replace(over.status, containers=())
    views = cycle((PodSeen(replace(over, status=status)), PodSeen(over)))

    def both() -> None:
        on.extender.take_in(next(views))
        on.extender.take_in(next(views))

    return both


def pod_replaced(on: Loaded) -> Callable[[], None]:
    """Have a pod go, and another one take its place."""

    def both() -> None:
        gone = on.pods[REPLACED]
        come = on.pods[REPLACED] = replace(gone, uid=PodUID(f"uid-{next(_numbers):06}"))
        on.extender.take_in(PodGone(gone.uid))
        on.extender.take_in(PodSeen(come))

    return both


def node_unchanged(on: Loaded) -> Callable[[], None]:
    """Show a node once more as it is."""
    event = NodeSeen(decode_node(on.node_objects[9], [NVIDIA]))
    return lambda: on.extender.take_in(event)


def node_locked(on: Loaded) -> Callable[[], None]:
    """Lock a node and unlock it."""
    node = decode_node(on.node_objects[9], [NVIDIA])
    locked = replace(node, lock="2026-01-01T00:00:00Z,default,p")

    def both() -> None:
        on.extender.take_in(NodeSeen(locked))
        on.extender.take_in(NodeSeen(node))

    return both


def node_changed(on: Loaded) -> Callable[[], None]:
    """Have a card fail and recover."""
    node = decode_node(on.node_objects[9], [NVIDIA])
    first, *others = node.devices
    failed = with_inventory(node, devices=(replace(first, is_healthy=False), *others))

    def both() -> None:
        on.extender.take_in(NodeSeen(failed))
        on.extender.take_in(NodeSeen(node))

    return both


Happening = Callable[[Loaded], Callable[[], None]]

OF_PODS: Final = (pod_unchanged, pod_changed, pod_replaced)
OF_NODES: Final = (node_unchanged, node_locked, node_changed)


@pytest.mark.parametrize("happening", [*OF_PODS, *OF_NODES])
def test_an_event_costs_the_same_on_more_nodes(happening: Happening) -> None:
    """An event is of one node, so it is no more work where there are others."""
    assert_flat({nodes: work_of(happening(loaded(nodes, 8))) for nodes in NODES})


@pytest.mark.parametrize("happening", [*OF_PODS, node_unchanged, node_locked])
def test_an_event_costs_the_same_with_more_pods_placed(happening: Happening) -> None:
    """Only a node that is put anew has its pods counted again."""
    assert_flat({pods: work_of(happening(loaded(200, pods))) for pods in (8, 16)})


Fault = Callable[[Extender, ExtenderArgs], object]


def looks_up_in_a_list(_extender: Extender, args: ExtenderArgs) -> object:
    """Be quadratic in comparisons, which are one instruction a name."""
    names = list(args.candidates)
    return [name for name in reversed(names) if name in names]


def passes_over_all_for_each(extender: Extender, args: ExtenderArgs) -> object:
    """Be quadratic in elements, though linear in instructions."""
    (bucket,) = extender.ledger.fleet.of(GPU)._buckets
    used = bucket.cards().used
    return [used.sum() for _ in args.candidates]


def compares_all_pairs(extender: Extender, args: ExtenderArgs) -> object:
    """Be quadratic in memory, in one operation."""
    columns = extender.ledger.fleet.of(GPU)._places(list(args.candidates))
    return columns[:, None] == columns[None, :]


def walks_all_pods(extender: Extender, _args: ExtenderArgs) -> object:
    """Be linear in pods, which is linear in nodes as well."""
    return sum(each.node_name is not None for each in extender.ledger.pods.values())


def _with(
    patch: pytest.MonkeyPatch, fault: Fault, wanted: Callable[[], PodBuilder] = one_app
) -> Verb:
    """Count filter with a fault in it."""
    sound = Extender.filter

    def faulty(extender: Extender, args: ExtenderArgs) -> object:
        fault(extender, args)
        return sound(extender, args)

    patch.setattr(Extender, "filter", faulty)
    return lambda on, _: filter_work(on, wanted)


@pytest.mark.parametrize(
    "fault", [looks_up_in_a_list, passes_over_all_for_each, compares_all_pairs]
)
def test_what_is_quadratic_is_found(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of the three counts it shows in, a quadratic cost fails."""
    verb = _with(monkeypatch, fault)
    with pytest.raises(AssertionError, match=" at 200: "):
        test_a_question_costs_at_most_linearly_in_nodes(verb, one_app)


def test_what_walks_over_the_placed_pods_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cost that grows with pods fails, also where it is linear in nodes."""
    verb = _with(monkeypatch, walks_all_pods)
    test_a_question_costs_at_most_linearly_in_nodes(verb, one_app)
    with pytest.raises(AssertionError, match=" at 8: "):
        test_a_question_costs_the_same_with_more_pods_placed(verb, one_app)


@pytest.mark.parametrize(
    "fault",
    [
        lambda extender: [name for name in extender.ledger.nodes],  # noqa: C416
        lambda extender: list(extender.ledger.nodes),
        lambda extender: extender.ledger.fleet.of(GPU)._places(
            list(extender.ledger.nodes)
        ),
    ],
    ids=["walks all nodes", "copies all nodes", "looks up all nodes"],
)
def test_an_event_that_looks_at_every_node_is_found(
    fault: Callable[[Extender], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a copy in one instruction, which shows in bytes alone."""
    sound = Extender.take_in

    def faulty(extender: Extender, event: PodSeen) -> None:
        fault(extender)
        sound(extender, event)

    monkeypatch.setattr(Extender, "take_in", faulty)
    with pytest.raises(AssertionError, match=r" at [24]00: "):
        test_an_event_costs_the_same_on_more_nodes(pod_unchanged)
