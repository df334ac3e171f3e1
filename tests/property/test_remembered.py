"""Answers that are remembered are those that would be given anew."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from extender.core.arrays import MEMORY
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import DeviceUUID, NodeName
from extender.core.node import Node
from extender.core.pod import Pod
from extender.verbs.filter import FilterDecision, filter_nodes
from extender.verbs.prioritize import score_nodes
from tests.strategies import devices, pod_requests, used_amounts
from tests.values import GPU, GPUS, N1, N2, app, card, fleet_of, node, pod, request

NAMES = tuple(NodeName(f"n{number}") for number in range(6))


@dataclass
class Books:
    """A fleet that lives on, and what it takes to make it anew."""

    fleet: Fleet = field(default_factory=Fleet)
    nodes: dict[NodeName, Node] = field(default_factory=dict)
    held: list[Holding] = field(default_factory=list)

    def put(self, shown: Node) -> None:
        """Add or replace a node."""
        self.nodes[shown.name] = shown
        self.fleet.put(shown, self.held_on(shown.name))

    def held_on(self, name: NodeName) -> list[Holding]:
        """List what is held on a node."""
        return [each for each in self.held if each.node_name == name]

    def remove(self, name: NodeName) -> None:
        """Take a node out; what is held there stays."""
        self.nodes.pop(name, None)
        self.fleet.remove(name)

    def anew(self, held: Sequence[Holding]) -> Fleet:
        """Make a fleet of the same nodes from nothing, with this held there."""
        return fleet_of(list(self.nodes.values()), held)

    def without(self, own: Holding | None, coming: Sequence[Holding]) -> Fleet:
        """Make it as it is without what one pod holds, and with what is to come."""
        held = [*self.held, *coming]
        if own is not None:
            held.remove(own)
        return self.anew(held)


def drawn_node(data: st.DataObject, name: NodeName) -> Node:
    """Draw a node of one to three cards, so that two buckets are in use."""
    count = data.draw(st.integers(1, 3))
    cards = tuple(
        data.draw(devices(DeviceUUID(f"GPU-{name}-{number}")))
        for number in range(count)
    )
    return node(name, *cards, allocatable=data.draw(st.sampled_from([0, 3, 100])))


def drawn_holding(data: st.DataObject, books: Books) -> Holding:
    """Draw what a pod holds on a card of a node that is there, or on none."""
    name = data.draw(st.sampled_from(NAMES))
    there = books.nodes.get(name)
    if data.draw(st.integers(0, 9)) == 0:
        return Holding(name, {}, hides=GPUS)
    if there is None or not there.devices:
        return Holding(name, {}, {GPU: 1})
    on = data.draw(st.sampled_from(there.devices))
    usage = data.draw(used_amounts(on.capacity))
    return Holding(name, {on.device_uuid: usage}, {GPU: usage.slots})


def judged(
    fleet: Fleet,
    asking: Pod,
    names: Sequence[NodeName],
    own: Holding | None = None,
    coming: Sequence[Holding] = (),
) -> tuple[FilterDecision, list[int]]:
    """Answer as filter does, and as prioritize does."""
    scores = score_nodes(fleet, asking, names, own, coming).tolist()
    return filter_nodes(fleet, asking, names, own, coming), scores


counts = st.integers(0, 3)
"""Of pods that are about to come; most nodes have none."""


@given(st.data())
def test_remembered_answers_are_as_fresh_ones(data: st.DataObject) -> None:
    """Whatever changes between, and whichever nodes are in question.

    Where the pod itself holds room, or others are to come, a fleet with just that held
    gives the same; and what is remembered stays as it was.
    """
    books = Books()
    requests = [data.draw(pod_requests()) for _ in range(2)]
    for name in NAMES:
        books.put(drawn_node(data, name))
    for _ in range(data.draw(st.integers(1, 8), label="steps")):
        match data.draw(st.sampled_from(["put", "remove", "add", "subtract", "ask"])):
            case "put":
                books.put(drawn_node(data, data.draw(st.sampled_from(NAMES))))
            case "remove":
                books.remove(data.draw(st.sampled_from(NAMES)))
            case "add":
                holding = drawn_holding(data, books)
                books.held.append(holding)
                books.fleet.add(holding)
            case "subtract" if books.held:
                books.fleet.subtract(books.held.pop())
        asking = pod("p", data.draw(st.sampled_from(requests)))
        names = data.draw(st.sampled_from([NAMES, NAMES[:2], tuple(reversed(NAMES))]))
        own = data.draw(st.sampled_from([None, *books.held]))
        coming = [drawn_holding(data, books) for _ in range(data.draw(counts))]
        expected = judged(books.without(own, coming), asking, names)
        assert judged(books.fleet, asking, names, own, coming) == expected
        if data.draw(st.booleans()):
            expected = judged(books.anew(books.held), asking, names)
            assert judged(books.fleet, asking, names) == expected


def test_a_change_that_is_not_noted_is_not_seen() -> None:
    """Otherwise nothing would be remembered, and the test above would prove nothing."""
    fleet = fleet_of([node(N1, card("GPU-a")), node(N2, card("GPU-b"))])
    asking = pod("p", request(app(16_000)))
    assert filter_nodes(fleet, asking, [N1, N2], None).fitting == [N1, N2]
    (bucket,) = fleet.of(GPU)._buckets
    bucket._cards.used[MEMORY] += 16_000
    assert filter_nodes(fleet, asking, [N1, N2], None).fitting == [N1, N2]
    bucket._remembered.note_change(1)
    assert filter_nodes(fleet, asking, [N1, N2], None).fitting == [N1]
