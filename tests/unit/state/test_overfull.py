"""Cards that hold more than they have: which, and why."""

from dataclasses import replace
from typing import Final

from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.core.pod_status import (
    ContainerStatus,
    PodPhase,
    PodStatus,
    RunState,
    SandboxReadiness,
)
from extender.core.usage import Usage
from extender.state.events import (
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Recount,
    Reserved,
    Synced,
    Unreserved,
)
from extender.state.ledger import Ledger
from extender.state.overfull import Cause
from tests.values import (
    N1,
    N2,
    NPU,
    a100,
    app,
    card,
    init,
    instance,
    node,
    pod,
    request,
    row,
    with_cards,
    with_inventory,
)

A: Final = card("GPU-a")
NODE: Final = node(N1, A, allocatable=30)
ROWS: Final = (row(("GPU-a", 16_000, 0)),)


def bound(name: str, node_name: NodeName = N1) -> Pod:
    """Hold 16,000 of the card's 24,000 MiB."""
    unbound = pod(name, request(app(16_000)))
    return replace(unbound, node_name=node_name, allocation=ROWS)


def causes(ledger: Ledger) -> dict[str, str]:
    """Name the overfull cards of the first node."""
    found = ledger.overfull.causes.get(N1, {})
    return {str(device_uuid): str(cause) for device_uuid, cause in found.items()}


def ledger_with(*pods: Pod) -> Ledger:
    """Start on a node with pods, synced."""
    ledger = Ledger()
    ledger.apply(NodeSeen(NODE))
    for shown in pods:
        ledger.apply(PodSeen(shown))
    ledger.apply(Synced())
    return ledger


def test_inherited() -> None:
    """It was so at the start, whichever of nodes and pods is listed first."""
    pods = (bound("p"), bound("q"))
    assert causes(ledger_with(*pods)) == {"GPU-a": "inherited"}
    ledger = Ledger()
    for shown in pods:
        ledger.apply(PodSeen(shown))
    ledger.apply(NodeSeen(NODE))
    assert causes(ledger) == {"GPU-a": "inherited"}
    expected = {A.device_uuid: (Usage(2, 32_000, 0), A.capacity)}
    assert ledger.overfull_on(N1) == expected


def test_placed() -> None:
    """Somebody bound a pod there after the start."""
    ledger = ledger_with(bound("p"))
    assert causes(ledger) == {}
    ledger.apply(PodSeen(bound("q")))
    assert causes(ledger) == {"GPU-a": "placed"}
    assert ledger.overfull.seen == {Cause.PLACED: 1}
    ledger.apply(PodSeen(bound("q")))
    assert ledger.overfull.seen == {Cause.PLACED: 1}


def test_placed_where_too_much_was_held_before() -> None:
    """That it was overfull already excuses nothing."""
    ledger = ledger_with(bound("p"), bound("q"))
    ledger.apply(PodSeen(bound("r")))
    assert causes(ledger) == {"GPU-a": "placed"}


def test_reservation_does_not_count() -> None:
    """Another replica was faster: our bind will be refused."""
    ledger = ledger_with()
    wanted = pod("p", request(app(16_000)))
    ledger.apply(Reserved(wanted, N1, ROWS))
    ledger.apply(PodSeen(bound("q")))
    assert causes(ledger) == {}
    ledger.apply(Unreserved(wanted.uid))
    assert causes(ledger) == {}


def test_reserved_and_then_shown_bound() -> None:
    """The holding is the same, and counts from now on."""
    ledger = ledger_with(bound("q"))
    ledger.apply(Reserved(pod("p", request(app(16_000))), N1, ROWS))
    assert causes(ledger) == {}
    ledger.apply(PodSeen(bound("p")))
    assert causes(ledger) == {"GPU-a": "placed"}


def test_re_inflated() -> None:
    """The init of a pod that ran for long runs again, since its sandbox is gone."""
    exited = ContainerStatus(RunState.TERMINATED, 0, 60.0, has_started=True)
    runs = ContainerStatus(RunState.RUNNING, has_started=True)
    up = PodStatus(
        containers=(exited, runs),
        sandbox=SandboxReadiness.READY,
        sandbox_changed_at=50.0,
    )
    shown = replace(
        pod("i", request(init(20_000), app(4_000))),
        node_name=N1,
        allocation=(row(("GPU-a", 20_000, 0)), row(("GPU-a", 4_000, 0))),
        status=up,
    )
    ledger = ledger_with(shown, bound("p"))
    assert causes(ledger) == {}
    down = replace(up, sandbox=SandboxReadiness.NOT_READY)
    ledger.apply(PodSeen(replace(shown, status=down)))
    assert causes(ledger) == {"GPU-a": "re-inflated"}
    ledger.apply(PodSeen(shown))
    assert causes(ledger) == {}


def test_re_inflated_under_a_bind() -> None:
    """There was room when it was reserved, and the Binding was on its way."""
    wanted = pod("p", request(app(16_000)))
    ledger = ledger_with(bound("q"))
    small = replace(A, capacity=Usage(10, 32_000, 100))
    ledger.apply(NodeSeen(node(N1, small, allocatable=30)))
    ledger.apply(Reserved(wanted, N1, ROWS))
    ledger.apply(NodeSeen(NODE))
    assert causes(ledger) == {}
    ledger.apply(PodSeen(bound("p")))
    assert causes(ledger) == {"GPU-a": "shrunk"}
    assert ledger.overfull.seen == {Cause.SHRUNK: 1}


def test_shrunk() -> None:
    """The node registers a smaller card; later the old one again."""
    ledger = ledger_with(bound("p"))
    smaller = replace(A, capacity=Usage(10, 8_000, 100))
    ledger.apply(NodeSeen(node(N1, smaller, allocatable=30)))
    assert causes(ledger) == {"GPU-a": "shrunk"}
    ledger.apply(NodeSeen(NODE))
    assert causes(ledger) == {}
    assert ledger.overfull.seen == {Cause.SHRUNK: 1}


def test_cause_outlasts_a_silent_plugin() -> None:
    """While no card counts nothing is judged; then it is the same fault as before."""
    ledger = ledger_with(bound("p"), bound("q"))
    ledger.apply(NodeSeen(with_inventory(NODE, allocatable_slots=0)))
    assert causes(ledger) == {"GPU-a": "inherited"}
    ledger.apply(NodeSeen(NODE))
    assert causes(ledger) == {"GPU-a": "inherited"}
    assert ledger.overfull.seen == {Cause.INHERITED: 1}


def test_silent_plugin_is_not_judged_by_what_happens_to_another_kind() -> None:
    """Nobody placed anything on its card when that of the other kind was overfilled."""
    both = with_cards(NODE, card("NPU-a"), allocatable=30)
    ledger = ledger_with(bound("p"))
    ledger.apply(NodeSeen(with_inventory(both, allocatable_slots=0)))
    ledger.apply(PodSeen(bound("q")))
    assert causes(ledger) == {}
    asked = request(app(16_000), kind=NPU)
    for name in ("r", "s"):
        rows = (row(("NPU-a", 16_000, 0), kind=NPU),)
        ledger.apply(PodSeen(replace(pod(name, asked), node_name=N1, allocation=rows)))
    assert causes(ledger) == {"NPU-a": "placed"}
    assert ledger.overfull.seen == {Cause.PLACED: 1}


def test_ends() -> None:
    """A pod finishes, is deleted, or the node goes."""
    done = bound("q")
    finished = replace(done, status=replace(done.status, phase=PodPhase.FAILED))
    for end in (PodSeen(finished), PodGone(PodUID(done.uid)), NodeGone(N1)):
        ledger = ledger_with(bound("p"), done)
        assert causes(ledger) == {"GPU-a": "inherited"}
        ledger.apply(end)
        assert causes(ledger) == {}


def test_only_the_card_concerned() -> None:
    """Another card and another node are judged on their own."""
    ledger = Ledger()
    ledger.apply(NodeSeen(node(N1, A, card("GPU-b", index=1), allocatable=30)))
    ledger.apply(NodeSeen(node(N2, A, allocatable=30)))
    for shown in (bound("p"), bound("q"), bound("r", N2)):
        ledger.apply(PodSeen(shown))
    assert causes(ledger) == {"GPU-a": "inherited"}
    assert N2 not in ledger.overfull.causes


def test_a_recount_keeps_causes() -> None:
    """It works out totals, not history."""
    ledger = ledger_with(bound("p"))
    ledger.apply(PodSeen(bound("q")))
    ledger.apply(Recount())
    assert causes(ledger) == {"GPU-a": "placed"}
    assert ledger.overfull.seen == {Cause.PLACED: 1}


def test_a_recount_that_finds_too_much_is_no_inheritance() -> None:
    """Totals that were too low let a pod be placed without room."""
    ledger = ledger_with(bound("p"))
    holding = ledger.holding(PodUID(bound("p").uid))
    assert holding is not None
    ledger.fleet.subtract(holding)
    ledger.apply(PodSeen(bound("q")))
    assert causes(ledger) == {}
    ledger.apply(Recount())
    assert causes(ledger) == {"GPU-a": "placed"}


def cut(name: str, start: int) -> Pod:
    """Hold an instance of two slices."""
    (share,) = row(("GPU-m", 9_984, 29))
    own = replace(share, instance=instance("2g.10gb", start, 2))
    return pod(name, request(app(9_000)), on=N1, allocation=((own,),))


def test_slices_that_two_pods_hold() -> None:
    """Somebody bound the second there, beside the first's place."""
    ledger = Ledger()
    ledger.apply(NodeSeen(node(N1, a100("GPU-m"))))
    ledger.apply(PodSeen(cut("p", 0)))
    ledger.apply(Synced())
    ledger.apply(PodSeen(cut("q", 2)))
    assert causes(ledger) == {}
    ledger.apply(PodSeen(cut("r", 1)))
    assert causes(ledger) == {"GPU-m": "placed"}
    ledger.apply(PodGone(PodUID("uid-r")))
    assert causes(ledger) == {}


def test_slices_of_a_card_that_is_not_cut() -> None:
    """They are no part of it, also where another card there holds too much."""
    ledger = Ledger()
    ledger.apply(NodeSeen(node(N1, A, card("GPU-m", memory=40_960))))
    for each in (bound("a"), bound("b"), cut("p", 0), cut("q", 0)):
        ledger.apply(PodSeen(each))
    ledger.apply(Synced())
    assert causes(ledger) == {"GPU-a": "inherited"}
