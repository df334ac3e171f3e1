"""What pods count for, event by event; one card of 24,000 MiB a node, unless said."""

from dataclasses import dataclass, replace

import pytest

from extender.core.allocation import Allocation, Share, UnreadableAllocation
from extender.core.bucket import NodeTotals
from extender.core.holding import Holding
from extender.core.names import DeviceUUID, NodeName, PodUID
from extender.core.pod import Release
from extender.core.pod_status import (
    ContainerStatus,
    PodPhase,
    PodStatus,
    RunState,
    SandboxReadiness,
)
from extender.core.usage import NOTHING, Usage
from extender.state.audit import Difference, audit
from extender.state.events import (
    Event,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Recount,
    Reserved,
    Unreserved,
)
from extender.state.holdings import Effect, Footing, Reservation, Standing, effect_of
from extender.state.ledger import Ledger
from extender.verbs.filter import filter_nodes
from tests.values import (
    GPU,
    GPUS,
    IDLE_APP,
    N1,
    N2,
    a100,
    app,
    card,
    held,
    init,
    instance,
    node,
    pod,
    request,
    row,
    sidecar,
    totals_of,
    with_inventory,
)

GPU_A, GPU_Z = DeviceUUID("GPU-a"), DeviceUUID("GPU-z")
A = card("GPU-a")
TWENTY = request(app(20_000, cores=30))
ROWS = (row(("GPU-a", 20_000, 30)),)
UNBOUND = pod("p", TWENTY)
BOUND = pod("p", TWENTY, on=N1, allocation=ROWS)
TORN = UnreadableAllocation("torn", (), GPUS)
RUNNING = ContainerStatus(RunState.RUNNING, has_started=True)
WAITING = ContainerStatus(RunState.WAITING)
EXITED = ContainerStatus(RunState.TERMINATED, 0, 60.0, has_started=True)


def ledger_after(*events: Event) -> Ledger:
    """Show two nodes of one card of the same UUID, and then what happens."""
    ledger = Ledger()
    for event in (NodeSeen(node(N1, A)), NodeSeen(node(N2, A)), *events):
        ledger.apply(event)
    return ledger


def used(ledger: Ledger, name: NodeName = N1) -> tuple[int, int, int, int]:
    """Read slots, MiB and percent of GPU-a, and kubelet's device ids."""
    totals = totals_of(ledger.fleet, name)
    assert totals is not None
    usage = totals.used[GPU_A]
    return usage.slots, usage.memory_mib, usage.core_percent, totals.kubelet_slots


FREE = (0, 0, 0, 0)
TAKEN = (1, 20_000, 30, 1)


def ended(phase: PodPhase) -> PodStatus:
    """Show a pod that has ended."""
    return PodStatus(phase=phase)


@dataclass(frozen=True)
class Story:
    """Events, what both nodes hold after them, and the pod's footing."""

    events: tuple[Event, ...]
    on_n1: tuple[int, int, int, int]
    footing: Footing | None
    on_n2: tuple[int, int, int, int] = FREE


RESERVE = Reserved(UNBOUND, N1, ROWS)
SUCCEEDED = replace(BOUND, status=ended(PodPhase.SUCCEEDED))
FAILED = replace(BOUND, status=ended(PodPhase.FAILED))
UNMANAGED = replace(BOUND, allocation=None)

STORIES = {
    "an unbound pod holds nothing": Story((PodSeen(UNBOUND),), FREE, Footing.NOTHING),
    "an unbound pod's annotations are no charge": Story(
        (PodSeen(replace(UNBOUND, allocation=ROWS)),), FREE, Footing.NOTHING
    ),
    "a bound pod holds its rows": Story((PodSeen(BOUND),), TAKEN, Footing.ALLOCATED),
    "a bound pod counts on the node that it is bound to": Story(
        (PodSeen(replace(BOUND, node_name=N2)),), FREE, Footing.ALLOCATED, TAKEN
    ),
    "a pod that is seen twice counts once": Story(
        (PodSeen(BOUND), PodSeen(BOUND)), TAKEN, Footing.ALLOCATED
    ),
    "a pod without GPUs holds nothing": Story(
        (PodSeen(pod("p", request(IDLE_APP), on=N1)),), FREE, Footing.NOTHING
    ),
    "a reservation holds before the pod is bound": Story(
        (PodSeen(UNBOUND), RESERVE), TAKEN, Footing.RESERVED
    ),
    "a reservation needs no earlier sight of the pod": Story(
        (RESERVE,), TAKEN, Footing.RESERVED
    ),
    "a reservation outlives another sight of the unbound pod": Story(
        (RESERVE, PodSeen(UNBOUND)), TAKEN, Footing.RESERVED
    ),
    "a later reservation takes the place of the former": Story(
        (RESERVE, Reserved(UNBOUND, N2, ROWS)), FREE, Footing.RESERVED, TAKEN
    ),
    "a refused Binding gives back the reservation": Story(
        (PodSeen(UNBOUND), RESERVE, Unreserved(UNBOUND.uid)), FREE, Footing.NOTHING
    ),
    "giving back twice gives back once; a pod never shown leaves nothing": Story(
        (RESERVE, Unreserved(UNBOUND.uid), Unreserved(UNBOUND.uid)), FREE, None
    ),
    "giving back for an unknown pod is nothing": Story(
        (Unreserved(UNBOUND.uid),), FREE, None
    ),
    "the pod is shown bound as reserved": Story(
        (RESERVE, PodSeen(BOUND)), TAKEN, Footing.ALLOCATED
    ),
    "the pod is shown bound elsewhere than reserved": Story(
        (RESERVE, PodSeen(replace(BOUND, node_name=N2))),
        FREE,
        Footing.ALLOCATED,
        TAKEN,
    ),
    "giving back after the pod was shown bound takes nothing": Story(
        (RESERVE, PodSeen(BOUND), Unreserved(BOUND.uid)), TAKEN, Footing.ALLOCATED
    ),
    "the pod is shown bound with other rows than reserved": Story(
        (
            RESERVE,
            PodSeen(replace(BOUND, allocation=(row(("GPU-a", 5_000, 0)),))),
        ),
        (1, 5_000, 0, 1),
        Footing.ALLOCATED,
    ),
    "a bound pod without an allocation counts for kubelet only": Story(
        (PodSeen(UNMANAGED),), (0, 0, 0, 1), Footing.UNMANAGED
    ),
    "an unmanaged pod that gets its rows is charged": Story(
        (PodSeen(UNMANAGED), PodSeen(BOUND)), TAKEN, Footing.ALLOCATED
    ),
    "a pod that succeeded holds nothing": Story(
        (PodSeen(BOUND), PodSeen(SUCCEEDED)), FREE, Footing.NOTHING
    ),
    "a pod that failed holds nothing": Story(
        (PodSeen(BOUND), PodSeen(FAILED)), FREE, Footing.NOTHING
    ),
    "a pod that failed before it was bound holds no reservation": Story(
        (RESERVE, PodSeen(replace(UNBOUND, status=ended(PodPhase.FAILED)))),
        FREE,
        Footing.NOTHING,
    ),
    "a pod that is first seen finished holds nothing": Story(
        (PodSeen(FAILED),), FREE, Footing.NOTHING
    ),
    "a terminating pod holds until it is gone": Story(
        (PodSeen(replace(BOUND, status=PodStatus(is_terminating=True))),),
        TAKEN,
        Footing.ALLOCATED,
    ),
    "a pod that is gone holds nothing": Story(
        (PodSeen(BOUND), PodGone(BOUND.uid)), FREE, None
    ),
    "a pod that is gone twice is gone once": Story(
        (PodSeen(BOUND), PodGone(BOUND.uid), PodGone(BOUND.uid)), FREE, None
    ),
    "an unknown pod that is gone is nothing": Story(
        (PodGone(PodUID("never seen")),), FREE, None
    ),
    "a pod that is gone takes its reservation along": Story(
        (RESERVE, PodGone(UNBOUND.uid)), FREE, None
    ),
    "giving back after the pod is gone is nothing": Story(
        (RESERVE, PodGone(UNBOUND.uid), Unreserved(UNBOUND.uid)), FREE, None
    ),
    "a pod may come before its node": Story(
        (NodeGone(N1), PodSeen(BOUND), NodeSeen(node(N1, A))), TAKEN, Footing.ALLOCATED
    ),
    "a pod may end while its node is away": Story(
        (PodSeen(BOUND), NodeGone(N1), PodSeen(FAILED), NodeSeen(node(N1, A))),
        FREE,
        Footing.NOTHING,
    ),
    "a node that is seen again, unchanged, keeps what is held": Story(
        (PodSeen(BOUND), NodeSeen(node(N1, A))), TAKEN, Footing.ALLOCATED
    ),
    "a node that is seen changed keeps what is held": Story(
        (PodSeen(BOUND), NodeSeen(node(N1, A, card("GPU-b", index=1)))),
        TAKEN,
        Footing.ALLOCATED,
    ),
    "a node that goes and comes keeps what is held": Story(
        (PodSeen(BOUND), NodeGone(N1), NodeGone(N1), NodeSeen(node(N1, A))),
        TAKEN,
        Footing.ALLOCATED,
    ),
    "a node whose cards go and come keeps what is held": Story(
        (
            PodSeen(BOUND),
            NodeSeen(with_inventory(node(N1), devices=None)),
            NodeSeen(node(N1, A)),
        ),
        TAKEN,
        Footing.ALLOCATED,
    ),
    "a card that goes and comes keeps what is held": Story(
        (
            PodSeen(BOUND),
            NodeSeen(node(N1, card("GPU-b"))),
            NodeSeen(node(N1, card("GPU-b"), card("GPU-a", index=7))),
        ),
        TAKEN,
        Footing.ALLOCATED,
    ),
    "more than a card has is recorded, not refused": Story(
        (PodSeen(BOUND), PodSeen(replace(BOUND, uid=PodUID("other")))),
        (2, 40_000, 60, 2),
        Footing.ALLOCATED,
    ),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_a_pod_counts_for_what_the_api_shows(story: Story) -> None:
    """Each claim of the table holds, and the audit agrees."""
    ledger = ledger_after(*story.events)
    standing = ledger.standing(UNBOUND.uid)
    assert (used(ledger), used(ledger, N2)) == (story.on_n1, story.on_n2)
    assert (standing.footing if standing else None) == story.footing
    assert audit(ledger) == []


# A pod's life.


def showing(*statuses: ContainerStatus, since: float = 50.0) -> PodStatus:
    """Show containers in a sandbox that is up since `since`."""
    return PodStatus(
        containers=statuses, sandbox=SandboxReadiness.READY, sandbox_changed_at=since
    )


def test_inits_are_released_one_by_one_and_come_back_with_a_new_sandbox() -> None:
    """Memory falls as each exits; kubelet's ids stay to the end."""
    wanted = request(sidecar(2_000), init(20_000), init(10_000), app(3_000))
    rows = tuple(row(("GPU-a", mib, 0)) for mib in (2_000, 20_000, 10_000, 3_000))
    living = pod("p", wanted, on=N1, allocation=rows)
    statuses = [
        showing(RUNNING, RUNNING, WAITING, WAITING),
        showing(RUNNING, EXITED, RUNNING, WAITING),
        showing(RUNNING, EXITED, EXITED, WAITING),
        showing(RUNNING, EXITED, EXITED, RUNNING),
        showing(RUNNING, EXITED, EXITED, WAITING, since=70.0),
        PodStatus(phase=PodPhase.SUCCEEDED),
    ]
    ledger = ledger_after()
    shown = []
    for status in statuses:
        ledger.apply(PodSeen(replace(living, status=status)))
        shown.append(used(ledger))
        assert audit(ledger) == []
    assert shown == [
        (2, 22_000, 0, 2),
        (2, 12_000, 0, 2),
        (2, 5_000, 0, 2),
        (2, 5_000, 0, 2),
        (2, 22_000, 0, 2),
        FREE,
    ]


def test_a_card_is_known_by_its_uuid_not_its_index() -> None:
    """The first card is taken out, and the second moves to its index."""
    holder = pod("p", TWENTY, on=N1, allocation=(row(("GPU-b", 20_000, 0)),))
    ledger = ledger_after(
        NodeSeen(node(N1, A, card("GPU-b", index=1))),
        PodSeen(holder),
        NodeSeen(node(N1, card("GPU-b"))),
    )
    totals = totals_of(ledger.fleet, N1)
    assert totals is not None
    assert totals.used == {DeviceUUID("GPU-b"): Usage(1, 20_000)}
    assert refusals(ledger, 8_000) == {N1: "CardInsufficientMemory"}


def refusals(ledger: Ledger, memory: int) -> dict[NodeName, str]:
    """Ask filter about the first node, for a new pod."""
    asking = pod("asking", request(app(memory)))
    decision = filter_nodes(ledger.fleet, asking, [N1], None)
    return decision.failed | decision.unresolvable


def test_a_machine_of_the_same_name_starts_empty() -> None:
    """Its pods' end lowers nothing below zero; in between the node is unknown."""
    ledger = ledger_after(PodSeen(BOUND), NodeGone(N1))
    assert refusals(ledger, 20_000) == {N1: "node unregistered"}
    ledger.apply(NodeSeen(node(N1, card("GPU-z"))))
    assert refusals(ledger, 20_000) == {}
    ledger.apply(PodGone(BOUND.uid))
    empty = NodeTotals({GPU_Z: Usage()}, frozenset(), 0, 0)
    assert totals_of(ledger.fleet, N1) == empty
    assert audit(ledger) == []


def test_the_same_machine_comes_back_with_its_pods() -> None:
    """Its cards are as full as before."""
    ledger = ledger_after(PodSeen(BOUND), NodeGone(N1), NodeSeen(node(N1, A)))
    assert refusals(ledger, 8_000) == {N1: "CardInsufficientMemory"}


def test_a_lost_registration_is_not_a_lost_charge() -> None:
    """Meanwhile the node is unregistered."""
    ledger = ledger_after(
        PodSeen(BOUND), NodeSeen(with_inventory(node(N1), devices=None))
    )
    assert refusals(ledger, 8_000) == {N1: "node unregistered"}
    ledger.apply(NodeSeen(node(N1, A)))
    assert refusals(ledger, 8_000) == {N1: "CardInsufficientMemory"}


def test_health_comes_and_goes_with_the_node_and_changes_no_charge() -> None:
    """A sick card takes no new pod, and a mended one does."""
    ledger = ledger_after(PodSeen(BOUND))
    ledger.apply(NodeSeen(node(N1, card("GPU-a", is_healthy=False))))
    assert refusals(ledger, 1_000) == {N1: "CardNotHealth"}
    assert used(ledger) == TAKEN
    ledger.apply(NodeSeen(node(N1, A)))
    assert refusals(ledger, 1_000) == {}


def test_finished_pods_free_their_slots() -> None:
    """Three pods fill a card of three; a fourth fits when one has ended."""
    ledger = ledger_after(NodeSeen(node(N1, card("GPU-a", slots=3))))
    small = pod("p", request(app(1_000)), on=N1, allocation=(row(("GPU-a", 1_000, 0)),))
    for name in "123":
        ledger.apply(PodSeen(replace(small, uid=PodUID(name))))
    assert refusals(ledger, 1_000) == {N1: "KubeletSlotsExhausted"}
    ended_pod = replace(small, uid=PodUID("2"), status=ended(PodPhase.SUCCEEDED))
    ledger.apply(PodSeen(ended_pod))
    assert refusals(ledger, 1_000) == {}


# Allocations that cannot be read.


@dataclass(frozen=True)
class Torn:
    """A pod whose allocation cannot be read, and what becomes of its node."""

    shown: tuple[Event, ...]
    footing: Footing
    quarantined: frozenset[DeviceUUID] = frozenset()
    closures: int = 0
    charged: Usage = NOTHING


def torn(
    *named: DeviceUUID,
    status: PodStatus | None = None,
    problem: str | None = None,
) -> PodSeen:
    """Show the pod bound, with a text that names these cards."""
    return PodSeen(
        replace(
            BOUND,
            allocation=UnreadableAllocation("torn", named, GPUS),
            status=status or PodStatus(phase=PodPhase.RUNNING),
            request_problem=problem,
        )
    )


TWO = request(IDLE_APP, app())

TEARS = {
    "the cards that it names count as full": Torn(
        (torn(GPU_A),), Footing.QUARANTINED, frozenset({GPU_A})
    ),
    "it names nothing: the node is closed": Torn(
        (torn(),), Footing.QUARANTINED, closures=1
    ),
    "it names cards of another node: the node is closed": Torn(
        (torn(GPU_Z),), Footing.QUARANTINED, closures=1
    ),
    "it names one of the node's cards and another: that card is enough": Torn(
        (torn(GPU_Z, GPU_A),), Footing.QUARANTINED, frozenset({GPU_A})
    ),
    "nothing ever started: the node stays open": Torn(
        (torn(status=PodStatus(containers=(WAITING,))),), Footing.QUARANTINED
    ),
    "nothing is known to have started: the node stays open": Torn(
        (torn(status=PodStatus()),), Footing.QUARANTINED
    ),
    "nothing ever started: cards that it names count as full all the same": Torn(
        (torn(GPU_A, status=PodStatus()),), Footing.QUARANTINED, frozenset({GPU_A})
    ),
    "a container started: the node is closed": Torn(
        (torn(status=PodStatus(containers=(RUNNING,))),),
        Footing.QUARANTINED,
        closures=1,
    ),
    "a lost node's phase proves nothing: the node is closed": Torn(
        (torn(status=PodStatus(phase=PodPhase.UNKNOWN)),),
        Footing.QUARANTINED,
        closures=1,
    ),
    "a container that asks for no card started: the node stays open": Torn(
        (
            PodSeen(
                pod(
                    "p",
                    TWO,
                    on=N1,
                    allocation=TORN,
                    status=PodStatus(containers=(RUNNING, WAITING)),
                )
            ),
        ),
        Footing.QUARANTINED,
    ),
    "any container may be the one, where the request cannot be read": Torn(
        (
            PodSeen(
                pod(
                    "p",
                    TWO,
                    on=N1,
                    allocation=TORN,
                    status=PodStatus(containers=(RUNNING, WAITING)),
                    problem="wrong",
                )
            ),
        ),
        Footing.QUARANTINED,
        closures=1,
    ),
    "it was readable before: that still counts": Torn(
        (PodSeen(BOUND), torn()),
        Footing.LAST_READABLE,
        charged=Usage(1, 20_000, 30),
    ),
    "it was readable before, and is torn twice": Torn(
        (PodSeen(BOUND), torn(), torn(GPU_Z)),
        Footing.LAST_READABLE,
        charged=Usage(1, 20_000, 30),
    ),
    "we reserved it ourselves: that counts": Torn(
        (RESERVE, torn()), Footing.LAST_READABLE, charged=Usage(1, 20_000, 30)
    ),
    "we reserved elsewhere: that does not count": Torn(
        (Reserved(UNBOUND, N2, ROWS), torn(GPU_A)),
        Footing.QUARANTINED,
        frozenset({GPU_A}),
    ),
    "a reservation that was given back does not count": Torn(
        (RESERVE, Unreserved(UNBOUND.uid), torn(GPU_A)),
        Footing.QUARANTINED,
        frozenset({GPU_A}),
    ),
    "it is mended": Torn(
        (torn(), PodSeen(BOUND)), Footing.ALLOCATED, charged=Usage(1, 20_000, 30)
    ),
    "another pod of its name was readable: that does not count": Torn(
        (
            PodSeen(replace(BOUND, uid=PodUID("former"))),
            PodGone(PodUID("former")),
            torn(),
        ),
        Footing.QUARANTINED,
        closures=1,
    ),
    "the pod ended": Torn(
        (
            torn(),
            PodSeen(replace(BOUND, allocation=TORN, status=ended(PodPhase.FAILED))),
        ),
        Footing.NOTHING,
    ),
    "unbound, it is no matter": Torn(
        (PodSeen(replace(UNBOUND, allocation=TORN)),), Footing.NOTHING
    ),
    "it counts on its node when the node comes back": Torn(
        (torn(GPU_A), NodeGone(N1), NodeSeen(node(N1, A))),
        Footing.QUARANTINED,
        frozenset({GPU_A}),
    ),
    "the card that it names is taken out: the node is closed": Torn(
        (torn(GPU_Z), NodeSeen(node(N1, A, card("GPU-y")))),
        Footing.QUARANTINED,
        closures=1,
    ),
    "the card that it names is put in: the node is open again": Torn(
        (torn(GPU_Z), NodeSeen(node(N1, A, card("GPU-z", index=1)))),
        Footing.QUARANTINED,
        frozenset({GPU_Z}),
    ),
}


@pytest.mark.parametrize("case", TEARS.values(), ids=TEARS)
def test_an_allocation_that_cannot_be_read_is_held_against_its_node(case: Torn) -> None:
    """Each claim of the table holds; kubelet's ids count unless the pod is over."""
    ledger = ledger_after(*case.shown)
    totals = totals_of(ledger.fleet, N1)
    standing = ledger.standing(BOUND.uid)
    assert totals is not None
    assert standing is not None
    assert standing.footing is case.footing
    assert totals.quarantined == case.quarantined
    assert totals.closures == case.closures
    assert totals.used[GPU_A] == case.charged
    assert totals.kubelet_slots == (case.footing is not Footing.NOTHING)
    assert audit(ledger) == []


# What the ledger tells.


def test_the_ledger_tells_nodes_pods_and_places() -> None:
    """As the API shows them, and as reserved."""
    ledger = ledger_after(RESERVE)
    charge = {GPU_A: Usage(1, 20_000, 30)}
    holding = Holding(N1, charge, {GPU: 1})
    assert dict(ledger.nodes) == {N1: node(N1, A), N2: node(N2, A)}
    assert dict(ledger.pods) == {UNBOUND.uid: UNBOUND}
    assert ledger.reservation(UNBOUND.uid) == Reservation(N1, ROWS)
    assert ledger.holding(UNBOUND.uid) == holding
    assert ledger.standing(UNBOUND.uid) == Standing(
        holding, Footing.RESERVED, (ROWS,), quota={GPU: Usage(1, 20_000, 30)}
    )
    assert list(ledger.holdings_on(N1)) == [holding]
    assert list(ledger.holdings_on(N2)) == []


def test_a_place_is_reserved_until_the_pod_is_shown_bound() -> None:
    """Wherever it is bound."""
    ledger = ledger_after(RESERVE, PodSeen(replace(BOUND, node_name=N2)))
    assert ledger.reservation(BOUND.uid) is None


def test_no_place_is_reserved_for_a_pod_that_is_shown_bound() -> None:
    """A choice that comes late, from an older view of the pod, is void."""
    ledger = ledger_after(PodSeen(BOUND), Reserved(UNBOUND, N2, ROWS))
    assert ledger.reservation(BOUND.uid) is None
    assert (used(ledger), used(ledger, N2)) == (TAKEN, FREE)


def test_the_same_rows_are_kept_once() -> None:
    """However often, and in whatever turn with others, they are shown."""
    other = replace(BOUND, allocation=(row(("GPU-a", 5_000, 40)),))
    ledger = ledger_after(*[PodSeen(BOUND), PodSeen(other)] * 3)
    standing = ledger.standing(BOUND.uid)
    assert standing is not None
    assert standing.charged_by == (ROWS, other.allocation)
    assert used(ledger) == (1, 20_000, 40, 1)


def test_an_unknown_pod_has_no_place() -> None:
    """Nor a pod that is gone."""
    ledger = ledger_after(RESERVE, PodGone(UNBOUND.uid))
    uid = UNBOUND.uid
    assert ledger.standing(uid) is None
    assert ledger.reservation(uid) is None
    assert ledger.holding(uid) is None
    assert uid not in ledger.pods
    assert list(ledger.standings()) == []


def test_only_pods_that_count_somewhere_are_listed() -> None:
    """In the order of their arrival."""
    other = replace(BOUND, uid=PodUID("other"))
    idle = replace(UNBOUND, uid=PodUID("idle"))
    ledger = ledger_after(PodSeen(other), PodSeen(idle), PodSeen(BOUND))
    assert [shown.uid for shown, _ in ledger.standings()] == ["other", BOUND.uid]


def test_holdings_are_kept_for_nodes_that_are_away() -> None:
    """They are there when the node comes."""
    ledger = ledger_after(NodeGone(N1), PodSeen(BOUND))
    assert [holding.charge for holding in ledger.holdings_on(N1)] == [
        {GPU_A: Usage(1, 20_000, 30)}
    ]
    assert totals_of(ledger.fleet, N1) is None


def test_nodes_that_come_as_objects_are_not_recorded() -> None:
    """They show their own cards, with what is held there; others are as known."""
    ledger = ledger_after(PodSeen(BOUND))
    brought = ledger.fleet_of([node(N1, card("GPU-a", memory=80_000))])
    totals = totals_of(brought, N1)
    assert totals is not None
    assert totals.used == {GPU_A: Usage(1, 20_000, 30)}
    assert brought.totals(N2) == ledger.fleet.totals(N2)
    assert totals_of(brought, NodeName("n9")) is None
    assert ledger.nodes[N1] == node(N1, A)
    assert ledger.fleet_of([]) is ledger.fleet


def test_nominated_pods_are_told() -> None:
    """Each once, as it was shown last."""
    waiting = replace(UNBOUND, nominated_node=N1, priority=10)
    other = replace(waiting, uid=PodUID("other"), priority=5)
    ledger = ledger_after(PodSeen(waiting), PodSeen(other), PodSeen(waiting))
    assert list(ledger.nominated()) == [waiting, other]


def test_every_event_starts_a_new_generation() -> None:
    """Whatever was worked out from the state before it has to be worked out again."""
    ledger = ledger_after()
    before = ledger.generation
    ledger.apply(PodGone(BOUND.uid))
    assert ledger.generation == before + 1


NO_LONGER_NOMINATED: dict[str, Event] = {
    "bound": PodSeen(replace(BOUND, nominated_node=N1)),
    "reserved": Reserved(replace(UNBOUND, nominated_node=N1), N1, ROWS),
    "no longer nominated": PodSeen(UNBOUND),
    "terminating": PodSeen(
        replace(UNBOUND, nominated_node=N1, status=PodStatus(is_terminating=True))
    ),
    "failed": PodSeen(
        replace(UNBOUND, nominated_node=N1, status=ended(PodPhase.FAILED))
    ),
    "gone": PodGone(UNBOUND.uid),
}


@pytest.mark.parametrize("event", NO_LONGER_NOMINATED.values(), ids=NO_LONGER_NOMINATED)
def test_a_nomination_ends_when_the_pod_no_longer_waits(event: Event) -> None:
    """Whatever its status still says of a nomination."""
    ledger = ledger_after(PodSeen(replace(UNBOUND, nominated_node=N1)), event)
    assert list(ledger.nominated()) == []


def test_a_nominated_pod_without_gpus_holds_no_room() -> None:
    """kube-scheduler counts it itself."""
    waiting = replace(pod("q", request(IDLE_APP)), nominated_node=N1)
    assert list(ledger_after(PodSeen(waiting)).nominated()) == []


# The audit can fail.


def test_the_audit_finds_a_total_that_its_pods_do_not_add_up_to() -> None:
    """The difference names the node and both totals."""
    ledger = ledger_after(PodSeen(BOUND))
    ledger.fleet.add(held(N1, {"GPU-a": Usage(0, 1)}))
    right = NodeTotals({GPU_A: Usage(1, 20_000, 30)}, frozenset(), 1, 0)
    wrong = replace(right, used={GPU_A: Usage(1, 20_001, 30)})
    assert audit(ledger) == [Difference(f"node {N1}", {GPU: wrong}, {GPU: right})]


@pytest.mark.parametrize(
    "corruption",
    [
        held(N1, {"GPU-a": Usage(1)}),
        held(N1, {"GPU-a": Usage(0, 0, 1)}),
        held(N1, {}, kubelet=1),
        Holding(N1, {}, quarantined=(GPU_A,)),
        Holding(N1, {}, hides=GPUS),
    ],
    ids=["slots", "percent", "device ids", "quarantine", "closure"],
)
def test_the_audit_sees_every_total(corruption: Holding) -> None:
    """Slots, percent, device ids, quarantines and closures, in both directions."""
    ledger = ledger_after(PodSeen(BOUND))
    ledger.fleet.add(corruption)
    assert [found.subject for found in audit(ledger)] == [f"node {N1}"]
    ledger.fleet.subtract(corruption)
    assert audit(ledger) == []


def test_the_audit_finds_a_node_that_was_forgotten() -> None:
    """It has no totals where it should have some."""
    ledger = ledger_after()
    ledger.fleet.remove(N2)
    (difference,) = audit(ledger)
    assert (difference.subject, difference.recorded) == (f"node {N2}", {})


def test_rows_are_charged_by_position() -> None:
    """An init's row is the init's: it goes when the init has exited."""
    wanted = request(init(20_000), app(3_000))
    rows: Allocation = (row(("GPU-a", 20_000, 0)), row(("GPU-a", 3_000, 0)))
    exited = pod("p", wanted, on=N1, allocation=rows, status=showing(EXITED, WAITING))
    assert used(ledger_after(PodSeen(exited))) == (1, 3_000, 0, 1)


# Edits of a bound pod's allocation, and views that come late.

HALVED = replace(BOUND, allocation=(row(("GPU-a", 10_000, 60)),))
VIEWS: dict[str, tuple[list[Event], tuple[int, int, int, int]]] = {
    "edited downwards: the containers still hold the old": (
        [PodSeen(BOUND), PodSeen(HALVED)],
        (1, 20_000, 60, 1),
    ),
    "edited and edited back: the largest of all counts": (
        [PodSeen(BOUND), PodSeen(HALVED), PodSeen(BOUND)],
        (1, 20_000, 60, 1),
    ),
    "taken away: the old counts": (
        [PodSeen(BOUND), PodSeen(UNMANAGED)],
        (1, 20_000, 30, 1),
    ),
    "taken away, then garbled: the old counts": (
        [PodSeen(BOUND), PodSeen(UNMANAGED), PodSeen(replace(BOUND, allocation=TORN))],
        (1, 20_000, 30, 1),
    ),
    "edited before a restart: only what is shown is known": (
        [PodSeen(HALVED)],
        (1, 10_000, 60, 1),
    ),
    "reserved, then bound by another replica with other rows": (
        [RESERVE, PodSeen(HALVED)],
        (1, 10_000, 60, 1),
    ),
    "a view from before the bind comes late": (
        [PodSeen(BOUND), PodSeen(UNBOUND)],
        (1, 20_000, 30, 1),
    ),
    "a view from before the end comes late": (
        [PodSeen(BOUND), PodSeen(SUCCEEDED), PodSeen(BOUND)],
        (0, 0, 0, 0),
    ),
    "a reservation that was decided from an old view": (
        [PodSeen(BOUND), RESERVE, Unreserved(BOUND.uid)],
        (1, 20_000, 30, 1),
    ),
}


@pytest.mark.parametrize(("events", "expected"), VIEWS.values(), ids=VIEWS)
def test_what_a_bound_pod_holds_is_not_talked_away(
    events: list[Event], expected: tuple[int, int, int, int]
) -> None:
    """Neither by an edit of its annotations nor by a view that is late."""
    ledger = ledger_after(*events)
    assert used(ledger) == expected
    assert audit(ledger) == []


# When inits are released, and edits of that.

INIT_OVER = pod(
    "p",
    request(init(20_000), app(3_000)),
    on=N1,
    allocation=(row(("GPU-a", 20_000, 0)), row(("GPU-a", 3_000, 0))),
    status=showing(EXITED, RUNNING),
)
KEEPER = replace(INIT_OVER, release=Release.NEVER)
REWRITTEN = (row(("GPU-a", 8_000, 0)), row(("GPU-a", 4_000, 0)))
KEPT, GIVEN_BACK = (1, 20_000, 0, 1), (1, 3_000, 0, 1)

RELEASES: dict[str, tuple[list[Event], tuple[int, int, int, int]]] = {
    "after init": ([PodSeen(INIT_OVER)], GIVEN_BACK),
    "never": ([PodSeen(KEEPER)], KEPT),
    "never, while it goes": (
        [PodSeen(replace(KEEPER, status=replace(KEEPER.status, is_terminating=True)))],
        KEPT,
    ),
    "never, until it has ended": (
        [PodSeen(KEEPER), PodSeen(replace(KEEPER, status=ended(PodPhase.SUCCEEDED)))],
        FREE,
    ),
    "never, until it is gone": ([PodSeen(KEEPER), PodGone(KEEPER.uid)], FREE),
    "edited to never": ([PodSeen(INIT_OVER), PodSeen(KEEPER)], KEPT),
    "edited from never: never counts until a restart": (
        [PodSeen(KEEPER), PodSeen(INIT_OVER)],
        KEPT,
    ),
    "edited to never and back": (
        [PodSeen(INIT_OVER), PodSeen(KEEPER), PodSeen(INIT_OVER)],
        KEPT,
    ),
    "edited from never, and seen again": (
        [PodSeen(KEEPER), *[PodSeen(INIT_OVER)] * 3],
        KEPT,
    ),
    "never, and the allocation was taken away": (
        [PodSeen(KEEPER), PodSeen(replace(INIT_OVER, allocation=None))],
        KEPT,
    ),
    "edited to never while the allocation is garbled": (
        [PodSeen(INIT_OVER), PodSeen(replace(KEEPER, allocation=TORN))],
        KEPT,
    ),
    "edited from never, and other rows: the larger of both, at its peak": (
        [PodSeen(KEEPER), PodSeen(replace(INIT_OVER, allocation=REWRITTEN))],
        KEPT,
    ),
    "other rows, never": (
        [PodSeen(replace(KEEPER, allocation=REWRITTEN))],
        (1, 8_000, 0, 1),
    ),
    "reserved by never, and bound by another replica by after init": (
        [
            Reserved(replace(KEEPER, node_name=None), N1, REWRITTEN),
            PodSeen(INIT_OVER),
        ],
        GIVEN_BACK,
    ),
    "unmanaged by never, then with rows by after init": (
        [PodSeen(replace(KEEPER, allocation=None)), PodSeen(INIT_OVER)],
        GIVEN_BACK,
    ),
}


@pytest.mark.parametrize(("events", "expected"), RELEASES.values(), ids=RELEASES)
def test_a_pod_is_charged_by_its_release(
    events: list[Event], expected: tuple[int, int, int, int]
) -> None:
    """An edit of a bound pod can raise its charge, and never lowers it."""
    ledger = ledger_after(*events)
    assert used(ledger) == expected
    assert audit(ledger) == []


def test_a_list_is_judged_by_the_same_release() -> None:
    """The list of a node's pods that bind reads charges as the events do."""
    ledger = ledger_after(PodSeen(KEEPER))
    for listed in (KEEPER, INIT_OVER):
        fleet = ledger.fleet_as_listed(N1, [listed], PodUID("another"))
        assert fleet.totals(N1) == ledger.fleet.totals(N1)
    unseen = replace(INIT_OVER, uid=PodUID("unseen"))
    for listed, memory_mib in (
        (unseen, 3_000),
        (replace(unseen, release=Release.NEVER), 20_000),
    ):
        totals = totals_of(ledger.fleet_as_listed(N1, [listed], PodUID("another")), N1)
        assert totals is not None
        assert totals.used[GPU_A].memory_mib == memory_mib


def test_a_garbled_annotation_of_a_pod_without_gpus_closes_no_node() -> None:
    """None of its GPU containers ever started: it has none."""
    cpu_only = pod(
        "c",
        request(IDLE_APP),
        on=N1,
        allocation=TORN,
        status=PodStatus(phase=PodPhase.RUNNING, containers=(RUNNING,)),
    )
    totals = totals_of(ledger_after(PodSeen(cpu_only)).fleet, N1)
    assert totals is not None
    assert totals.closures == 0


def test_an_addition_after_its_deletion_changes_nothing() -> None:
    """A UID that is gone never comes back; a late view of it is no new pod."""
    ledger = ledger_after()
    ledger.apply(PodGone(BOUND.uid))
    ledger.apply(PodSeen(BOUND))
    assert BOUND.uid not in ledger.pods
    assert used(ledger) == (0, 0, 0, 0)
    successor = replace(BOUND, uid=PodUID("successor"))
    ledger.apply(PodSeen(successor))
    assert used(ledger)[1] == 20_000
    assert audit(ledger) == []


def test_a_reserved_pod_of_which_little_can_be_read_is_quarantined() -> None:
    """Rows were chosen for containers that are not read any more."""
    ledger = ledger_after(Reserved(UNBOUND, N1, ROWS))
    remains = replace(BOUND, containers=(), requests=(), allocation=TORN)
    ledger.apply(PodSeen(remains))
    standing = ledger.standing(BOUND.uid)
    assert standing is not None
    assert standing.footing is Footing.QUARANTINED
    assert audit(ledger) == []


def test_audit_sees_what_a_pod_left_behind() -> None:
    """A charge without a pod; and counting anew ends it."""
    ledger = ledger_after(PodSeen(BOUND))
    del ledger._pods[BOUND.uid]
    left = [(each.subject, each.recomputed) for each in audit(ledger)]
    assert left == [
        (f"pod of uid {BOUND.uid}", None),
        ("quota of namespace default", None),
    ]
    ledger.apply(Recount())
    assert audit(ledger) == []
    assert used(ledger) == (0, 0, 0, 0)
    assert list(ledger.standings()) == []


def test_room_on_nodes_that_are_gone_is_not_noted() -> None:
    """Nodes come and go for years."""
    ledger = ledger_after(PodSeen(BOUND))
    ledger.apply(NodeGone(N1))
    before = ledger.generation
    ledger.apply(PodGone(BOUND.uid))
    assert ledger.freed_since(before) == []


def test_an_allocation_stripped_before_it_was_seen_still_counts() -> None:
    """It was bound by our own Binding, whatever the first event of it shows."""
    ledger = ledger_after(
        Reserved(UNBOUND, N1, ROWS), PodSeen(replace(BOUND, allocation=None))
    )
    standing = ledger.standing(BOUND.uid)
    assert standing is not None
    assert standing.footing is Footing.LAST_READABLE
    assert used(ledger)[1] == 20_000


def test_many_edits_are_kept_as_few() -> None:
    """The charge never falls, and an event costs no more than before."""
    ledger = ledger_after(PodSeen(BOUND))
    for memory_mib in (*range(1, 40), 23_000, 5):
        edited = (row(("GPU-a", memory_mib, memory_mib % 7)),)
        ledger.apply(PodSeen(replace(BOUND, allocation=edited)))
    standing = ledger.standing(BOUND.uid)
    assert standing is not None
    assert len(standing.charged_by) == 8
    assert used(ledger)[1:3] == (23_000, 30)


def test_a_reservation_of_other_rows_than_containers_counts_nowhere() -> None:
    """The API lets nobody add containers; if it did, we would live on."""
    two = request(app(20_000), app(1_000))
    ledger = ledger_after(Reserved(UNBOUND, N1, ROWS))
    ledger.apply(PodSeen(pod("p", two)))
    assert used(ledger)[1] == 0
    assert audit(ledger) == []


def test_other_slices_make_room() -> None:
    """An edit that gives some up comes before what takes them, when events are many."""
    one = held(N1, {"GPU-a": Usage(1)}, slices={"GPU-a": (1, 1)})
    fewer = held(N1, {"GPU-a": Usage(1)}, slices={"GPU-a": (1,)})
    assert effect_of(one, fewer) is Effect.MAKES_ROOM
    assert effect_of(fewer, one) is Effect.MAKES_NONE


def test_an_edited_instance_counts_at_both_places() -> None:
    """Nobody knows which the pod has; a restart goes by what is written then."""
    first, second = (
        Share(GPU_A, 4_864, 15, GPU, instance=instance("1g.5gb", start, 1))
        for start in (0, 3)
    )
    shown = pod("cut", request(app(4_000)), on=N1, allocation=((first,),))
    ledger = ledger_after(NodeSeen(node(N1, a100("GPU-a"))), PodSeen(shown))
    ledger.apply(PodSeen(replace(shown, allocation=((second,),))))
    totals = totals_of(ledger.fleet, N1)
    assert totals is not None
    assert totals.slices == {GPU_A: (1, 0, 0, 1)}
    assert totals.used[GPU_A] == Usage(1, 4_864, 15)
    assert audit(ledger) == []
