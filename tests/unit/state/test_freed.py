"""Where room appeared: nothing is missed, and the latest comes first."""

from dataclasses import replace

from extender.core.names import NodeName, PodUID
from extender.state.events import NodeGone, NodeSeen, PodGone, PodSeen
from extender.state.freed import Freed
from extender.state.ledger import Ledger
from tests.values import N1, N2, app, card, node, pod, request


def test_since_a_generation() -> None:
    """Each node once, with its last time."""
    freed: Freed[NodeName] = Freed()
    freed.note(N1, 1)
    freed.note(N2, 2)
    freed.note(N1, 3)
    assert freed.since(0) == [N1, N2]
    assert freed.since(2) == [N1]
    assert freed.since(3) == []
    freed.forget(N1)
    assert freed.since(0) == [N2]


def test_room_that_a_nomination_held() -> None:
    """It is free once the pod is gone, nominated elsewhere, or bound."""
    waiting = replace(pod("p", request(app(8_000))), nominated_node=N1, priority=5)
    ends = (
        PodGone(PodUID(waiting.uid)),
        PodSeen(replace(waiting, nominated_node=N2)),
        PodSeen(replace(waiting, nominated_node=None)),
        PodSeen(replace(waiting, node_name=N2)),
    )
    for end in ends:
        ledger = Ledger()
        for name in (N1, N2):
            ledger.apply(NodeSeen(node(name, card("GPU-a"), allocatable=10)))
        ledger.apply(PodSeen(waiting))
        generation = ledger.generation
        ledger.apply(PodSeen(waiting))
        assert ledger.freed_since(generation) == []
        ledger.apply(end)
        assert N1 in ledger.freed_since(generation)


def test_node_that_is_gone_is_not_told() -> None:
    """Nothing fits there; once it is back, something may."""
    ledger = Ledger()
    shown = node(NodeName("n"), card("GPU-a"), allocatable=10)
    ledger.apply(NodeSeen(shown))
    ledger.apply(NodeGone(shown.name))
    assert ledger.freed_since(0) == []
    ledger.apply(NodeSeen(shown))
    assert ledger.freed_since(0) == [shown.name]
