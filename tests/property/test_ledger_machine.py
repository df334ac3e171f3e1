"""Any order of events: the totals are what the pods add up to, at every step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from extender.core.bucket import NodeTotals
from extender.core.model import (
    Allocation,
    ContainerStatus,
    ContainerUsage,
    Device,
    DeviceUUID,
    Lifetime,
    Node,
    NodeName,
    Pod,
    PodPhase,
    PodStatus,
    PodUID,
    Release,
    RunState,
    SandboxReadiness,
    Share,
    UnreadableAllocation,
    Usage,
)
from extender.state.audit import audit
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
from extender.state.ledger import Ledger
from extender.state.overfull import Cause
from extender.verbs.filter import filter_nodes
from tests.oracles import kubelet_slots, timeline_charge
from tests.strategies import pod_statuses, releases
from tests.values import (
    IDLE_APP,
    N1,
    N2,
    N3,
    app,
    card,
    init,
    node,
    pod,
    request,
    sidecar,
)

NAMES: Final = (N1, N2, N3)
UUIDS: Final = tuple(DeviceUUID(f"GPU-{letter}") for letter in "abc")
REQUESTS: Final = (
    request(app(8_000)),
    request(sidecar(1_000), app(2_000, count=2, cores=30)),
    request(init(2_000), init(4_000), init(8_000), app(1_000)),
    request(init(9_000), sidecar(1_000), init(3_000, count=2), app(2_000)),
    request(IDLE_APP, app(500, cores=100)),
    request(IDLE_APP),
)
PODS: Final = tuple(pod(f"p{n}", asked) for n, asked in enumerate(REQUESTS))
UIDS: Final = (*(shown.uid for shown in PODS), PodUID("never seen"))

_COLD = PodStatus(phase=PodPhase.PENDING)


@dataclass
class World:
    """What the API shows and what was reserved; the reference for the ledger.

    Attributes:
        nodes: By name.
        pods: Every pod that is shown, or was reserved for.
        reserved: Place and rows of pods that are not shown bound.
        rows: What was read of each bound pod's allocation, while it counts; the
            largest counts.
        keepers: Pods of which, while they were charged by rows, release "never" was
            read.
        views: Every pod as it was ever shown.
        only_read: Pods that were reserved for, and never shown.
    """

    nodes: dict[NodeName, Node] = field(default_factory=dict)
    pods: dict[PodUID, Pod] = field(default_factory=dict)
    reserved: dict[PodUID, tuple[NodeName, Allocation]] = field(default_factory=dict)
    rows: dict[PodUID, list[Allocation]] = field(default_factory=dict)
    keepers: set[PodUID] = field(default_factory=set)
    views: list[Pod] = field(default_factory=list)
    only_read: set[PodUID] = field(default_factory=set)

    def show(self, shown: Pod) -> None:
        """Take in what the API shows of a pod."""
        known = self.pods.get(shown.uid)
        self.views.append(shown)
        if known is not None and is_late(shown, known):
            return
        self.pods[shown.uid] = shown
        self.only_read.discard(shown.uid)
        self._note_rows(shown)
        self._note_release(shown)
        if shown.node_name is not None:
            self.reserved.pop(shown.uid, None)

    def reserve(self, uid: PodUID, node_name: NodeName, rows: Allocation) -> None:
        """Hold a place."""
        self.reserved[uid] = (node_name, rows)

    def give_back(self, uid: PodUID) -> None:
        """Hold a place no longer; of a pod that was never shown nothing is left."""
        if self.reserved.pop(uid, None) is not None and uid in self.only_read:
            self.lose(uid)

    def lose(self, uid: PodUID) -> None:
        """Have the pod no more."""
        self.pods.pop(uid, None)
        self.only_read.discard(uid)
        self.reserved.pop(uid, None)
        self.rows.pop(uid, None)
        self.keepers.discard(uid)

    def _note_release(self, shown: Pod) -> None:
        if not self.rows[shown.uid]:
            self.keepers.discard(shown.uid)
        elif shown.release is Release.NEVER:
            self.keepers.add(shown.uid)

    def _note_rows(self, shown: Pod) -> None:
        rows = self.rows.setdefault(shown.uid, [])
        reserved_on, reserved = self.reserved.get(shown.uid, (None, ()))
        if shown.node_name is None or is_over(shown):
            rows.clear()
        elif isinstance(shown.allocation, UnreadableAllocation):
            if not rows and reserved_on == shown.node_name:
                rows.append(reserved)
        elif shown.allocation is not None and shown.allocation not in rows:
            rows.append(shown.allocation)

    def rows_of(self, shown: Pod) -> list[Allocation]:
        """List what a pod is charged by: the largest of these."""
        if shown.node_name is None and shown.uid in self.reserved:
            return [self.reserved[shown.uid][1]]
        return self.rows.get(shown.uid, [])

    def release_of(self, shown: Pod) -> Release:
        """Tell which release a pod is charged by: the one that charges more."""
        return Release.NEVER if shown.uid in self.keepers else shown.release

    def place_of(self, shown: Pod) -> NodeName | None:
        """Tell where a pod counts; None where it does not."""
        if is_over(shown):
            return None
        if shown.node_name is not None:
            return shown.node_name
        return self.reserved.get(shown.uid, (None, ()))[0]

    def counts(self, shown: Pod) -> bool:
        """Whether a pod counts somewhere: by rows, as torn, or for kubelet only."""
        is_torn = isinstance(shown.allocation, UnreadableAllocation)
        has_part = (
            bool(self.rows_of(shown)) or is_torn or shown.request.asks_for_devices
        )
        return self.place_of(shown) is not None and has_part

    def is_usable(self, name: NodeName) -> bool:
        """Tell whether a node's cards count."""
        return self._totals_of(self.nodes[name]) is not None

    def overfull(self) -> dict[NodeName, set[DeviceUUID]]:
        """List the cards that bound pods hold more of than there is."""
        bound = [each for each in self.pods.values() if each.node_name is not None]
        shown = World(self.nodes, {each.uid: each for each in bound}, {}, self.rows)
        found: dict[NodeName, set[DeviceUUID]] = {}
        for name, totals in shown.totals().items():
            for device in self.nodes[name].devices or ():
                used = totals.used[device.device_uuid] if totals else Usage()
                size = device.capacity
                if (
                    used.slots > size.slots
                    or used.memory_mib > size.memory_mib
                    or used.core_percent > size.core_percent
                ):
                    found.setdefault(name, set()).add(device.device_uuid)
        return found

    def totals(self) -> dict[NodeName, NodeTotals | None]:
        """Add up every pod from scratch, node by node."""
        return {name: self._totals_of(shown) for name, shown in self.nodes.items()}

    def _totals_of(self, shown: Node) -> NodeTotals | None:
        if not shown.devices or not shown.allocatable_slots or shown.inventory_problem:
            return None
        own = [card.device_uuid for card in shown.devices]
        used = dict.fromkeys(own, Usage())
        quarantined: set[DeviceUUID] = set()
        slots = closures = 0
        for each in self.pods.values():
            if self.place_of(each) != shown.name:
                continue
            slots += kubelet_slots(each.request.lifetimes, each.request.containers)
            if self.rows_of(each):
                charge = largest_charge(each, self.rows_of(each), self.release_of(each))
                for uuid, usage in charge.items():
                    if uuid in used:
                        used[uuid] += usage
            elif isinstance(each.allocation, UnreadableAllocation):
                here = set(each.allocation.named).intersection(own)
                quarantined |= here
                closures += not here and may_hold_cards(each)
        return NodeTotals(used, frozenset(quarantined), slots, closures)


def is_over(shown: Pod) -> bool:
    """Whether a pod's containers have ended for good."""
    return shown.status.phase in {PodPhase.SUCCEEDED, PodPhase.FAILED}


def is_late(shown: Pod, known: Pod) -> bool:
    """Whether a view is older than what is known: pods are bound and end only once."""
    unbinds = known.node_name is not None and shown.node_name is None
    return unbinds or (is_over(known) and not is_over(shown))


def largest_charge(
    shown: Pod, rows: list[Allocation], release: Release
) -> dict[DeviceUUID, Usage]:
    """Charge a pod by the larger of what its annotation said, now and before."""
    largest: dict[DeviceUUID, Usage] = {}
    for each in rows:
        for uuid, usage in charge_of(shown, each, release).items():
            before = largest.get(uuid, Usage())
            largest[uuid] = Usage(
                max(before.slots, usage.slots),
                max(before.memory_mib, usage.memory_mib),
                max(before.core_percent, usage.core_percent),
            )
    return largest


def charge_of(
    shown: Pod, rows: Allocation, release: Release
) -> Mapping[DeviceUUID, Usage]:
    """Charge a pod by the timeline of what can still start."""
    containers = []
    for lifetime, shares in zip(shown.request.lifetimes, rows, strict=True):
        held: dict[DeviceUUID, Usage] = {}
        for share in shares:
            before = held.get(share.device_uuid, Usage())
            added = Usage(1, share.memory_mib, share.core_percent)
            held[share.device_uuid] = before + added
        containers.append(ContainerUsage(lifetime, held))
    return timeline_charge(containers, shown.status, release)


def may_hold_cards(shown: Pod) -> bool:
    """Whether a container that asks for cards may have started; some pods have none."""
    started = [
        shown.status.of(index).has_started
        for index, asked in enumerate(shown.request.containers)
        if asked.count
    ]
    if shown.status.phase is PodPhase.PENDING:
        return any(started)
    return bool(started)


def inventories() -> st.SearchStrategy[tuple[Device, ...]]:
    """Draw which cards a node shows, in any order."""
    cards = [card(uuid, index=index) for index, uuid in enumerate(UUIDS)]
    return st.lists(st.sampled_from(cards), unique=True, max_size=3).map(tuple)


@st.composite
def rows_for(draw: st.DrawFn, shown: Pod) -> Allocation:
    """Draw rows of the right lengths on any cards, twice the same one included."""
    return tuple(
        tuple(
            Share(
                draw(st.sampled_from(UUIDS)),
                asked.memory_mib or 1,
                asked.core_percent,
            )
            for _ in range(asked.count)
        )
        for asked in shown.request.containers
    )


def torn_texts() -> st.SearchStrategy[UnreadableAllocation]:
    """Draw an allocation that cannot be read and names some cards."""
    named = st.lists(st.sampled_from([*UUIDS, DeviceUUID("GPU-z")]), max_size=2)
    return st.builds(UnreadableAllocation, st.just("torn"), named.map(tuple))


class Machine(RuleBasedStateMachine):
    """A ledger beside the world that it is told of."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.ledger = Ledger()
        self.fitted_before = self.fitting()

    def fitting(self) -> tuple[Ledger, int, set[tuple[NodeName, PodUID]]]:
        """Tell who fits where at this generation of the ledger."""
        fits = {
            (name, probe.uid)
            for probe in PODS
            if probe.request.asks_for_devices
            for name in filter_nodes(self.ledger.fleet, probe, NAMES, None).fitting
        }
        return self.ledger, self.ledger.generation, fits

    def tell(self, shown: Pod) -> None:
        """Show a pod to both."""
        self.world.show(shown)
        self.ledger.apply(PodSeen(shown))

    def pick(self, data: st.DataObject, *, is_bound: bool) -> Pod:
        """Draw a pod that is shown bound, or one that is not."""
        return data.draw(st.sampled_from(self.pods(is_bound=is_bound)), label="pod")

    def pods(self, *, is_bound: bool) -> list[Pod]:
        """List the pods that are shown bound, or those that are not."""
        shown = self.world.pods.values()
        return [each for each in shown if (each.node_name is not None) is is_bound]

    @initialize(data=st.data())
    def begin_in_the_midst(self, data: st.DataObject) -> None:
        """With nodes and bound pods; a few steps seldom lead from nothing to these."""
        cards = [card(uuid, index=index) for index, uuid in enumerate(UUIDS)]
        for name in data.draw(
            st.sets(st.sampled_from(NAMES), min_size=2), label="nodes"
        ):
            self.show_node(node(name, *cards, allocatable=30))
        for shown in data.draw(st.permutations(PODS), label="pods")[:3]:
            bound = replace(
                shown,
                node_name=data.draw(st.sampled_from(NAMES), label="on"),
                allocation=data.draw(rows_for(shown), label="rows"),
                release=data.draw(releases(), label="release"),
            )
            self.tell(bound)

    # Nodes.

    @rule(name=st.sampled_from(NAMES), cards=inventories(), slots=st.just(30))
    def show_a_node(
        self, name: NodeName, cards: tuple[Device, ...], slots: int
    ) -> None:
        """It is new, or has other cards, or the same."""
        self.show_node(node(name, *cards, allocatable=slots))

    @rule(name=st.sampled_from(NAMES), how=st.sampled_from(["bare", "silent", "odd"]))
    def show_a_node_without_cards_that_count(self, name: NodeName, how: str) -> None:
        """Its registration is gone, or unreadable, or its plugin is silent."""
        shown = self.world.nodes.get(name, node(name, card("GPU-a"), allocatable=30))
        match how:
            case "bare":
                shown = replace(shown, devices=None)
            case "silent":
                shown = replace(shown, allocatable_slots=0)
            case _:
                shown = replace(shown, inventory_problem="no JSON")
        self.show_node(shown)

    def show_node(self, shown: Node) -> None:
        """Show a node to both."""
        self.world.nodes[shown.name] = shown
        self.ledger.apply(NodeSeen(shown))

    @rule(name=st.sampled_from(NAMES))
    def lose_a_node(self, name: NodeName) -> None:
        """Also one that is unknown."""
        self.world.nodes.pop(name, None)
        self.ledger.apply(NodeGone(name))

    # Pods.

    @rule(shown=st.sampled_from(PODS), data=st.data())
    def create_a_pod(self, shown: Pod, data: st.DataObject) -> None:
        """Unbound, in some cases with the annotations of another life."""
        if shown.uid not in self.world.pods:
            stale = data.draw(st.none() | rows_for(shown) | torn_texts(), label="stale")
            release = data.draw(releases(), label="release")
            self.tell(replace(shown, allocation=stale, release=release))

    @rule(shown=st.sampled_from(PODS), name=st.sampled_from(NAMES), data=st.data())
    def reserve(self, shown: Pod, name: NodeName, data: st.DataObject) -> None:
        """For a pod that is shown unbound, or was only read; again is allowed."""
        known = self.world.pods.get(shown.uid, shown)
        if known.node_name is None:
            rows = data.draw(rows_for(known), label="rows")
            if known.uid not in self.world.pods:
                self.world.only_read.add(known.uid)
                self.world.pods[known.uid] = known
            self.world.reserve(known.uid, name, rows)
            self.ledger.apply(Reserved(known, name, rows))

    @rule(uid=st.sampled_from(UIDS))
    def give_back(self, uid: PodUID) -> None:
        """Also for pods without a reservation, bound or unknown."""
        self.world.give_back(uid)
        self.ledger.apply(Unreserved(uid))

    @precondition(lambda self: self.pods(is_bound=False))
    @rule(data=st.data(), as_reserved=st.booleans(), name=st.sampled_from(NAMES))
    def bind(self, data: st.DataObject, name: NodeName, *, as_reserved: bool) -> None:
        """As reserved, or by others: elsewhere, with other rows, torn, or none."""
        shown = self.pick(data, is_bound=False)
        reservation = self.world.reserved.get(shown.uid)
        if as_reserved and reservation is not None:
            bound = replace(shown, node_name=reservation[0], allocation=reservation[1])
        else:
            rows = data.draw(rows_for(shown) | torn_texts() | st.none(), label="rows")
            bound = replace(shown, node_name=name, allocation=rows)
        self.tell(bound)

    @rule(uid=st.sampled_from(UIDS))
    def lose_a_pod(self, uid: PodUID) -> None:
        """Also one that is unknown."""
        self.world.lose(uid)
        self.ledger.apply(PodGone(uid))

    @precondition(lambda self: self.world.pods)
    @rule(data=st.data())
    def see_a_pod_again(self, data: st.DataObject) -> None:
        """Nothing about it has changed."""
        shown = data.draw(st.sampled_from(list(self.world.pods.values())), label="pod")
        self.tell(shown)

    @precondition(lambda self: self.world.views)
    @rule(data=st.data())
    def see_a_pod_as_it_was(self, data: st.DataObject) -> None:
        """A view comes late, while the pod is still there."""
        shown = data.draw(st.sampled_from(self.world.views), label="view")
        if shown.uid in self.world.pods:
            self.tell(shown)

    # A bound pod's life.

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data(), status=pod_statuses(max_containers=4))
    def show_any_status(self, data: st.DataObject, status: PodStatus) -> None:
        """Plausible or not."""
        self.tell(replace(self.pick(data, is_bound=True), status=status))

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data(), done=st.integers(0, 3))
    def let_inits_exit(self, data: st.DataObject, done: int) -> None:
        """The first ones have exited well in the present sandbox."""
        shown = self.pick(data, is_bound=True)
        self.tell(replace(shown, status=_with_inits_over(shown, done)))

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data(), is_up=st.booleans())
    def recreate_the_sandbox(self, data: st.DataObject, *, is_up: bool) -> None:
        """The exits of the former one are still shown."""
        shown = self.pick(data, is_bound=True)
        sandbox = SandboxReadiness.READY if is_up else SandboxReadiness.NOT_READY
        status = replace(shown.status, sandbox=sandbox, sandbox_changed_at=70.0)
        self.tell(replace(shown, status=status))

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data(), phase=st.sampled_from([PodPhase.SUCCEEDED, PodPhase.FAILED]))
    def finish(self, data: st.DataObject, phase: PodPhase) -> None:
        """Its containers have ended for good."""
        shown = self.pick(data, is_bound=True)
        self.tell(replace(shown, status=replace(shown.status, phase=phase)))

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data(), text=torn_texts())
    def tear(self, data: st.DataObject, text: UnreadableAllocation) -> None:
        """Somebody wrote over its allocation."""
        self.tell(replace(self.pick(data, is_bound=True), allocation=text))

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data())
    def mend(self, data: st.DataObject) -> None:
        """Somebody wrote an allocation that can be read."""
        shown = self.pick(data, is_bound=True)
        rows = data.draw(rows_for(shown), label="rows")
        self.tell(replace(shown, allocation=rows))

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data(), written=st.lists(releases(), min_size=1, max_size=3))
    def edit_the_release(self, data: st.DataObject, written: list[Release]) -> None:
        """Somebody wrote over it, in most cases of a pod that has let its inits go."""
        shown = self.pick(data, is_bound=True)
        if data.draw(st.integers(0, 3), label="as it is") and not is_over(shown):
            shown = replace(shown, status=_with_inits_over(shown, done=3))
            self.tell(shown)
        for release in written:
            self.tell(replace(shown, release=release))

    # Lists.

    @rule()
    def recount(self) -> None:
        """As after an audit that found a difference; nothing may change."""
        self.ledger.apply(Recount())

    @rule(data=st.data())
    def list_again(self, data: st.DataObject) -> None:
        """A new list shows everything once more, in any order."""
        for event in data.draw(st.permutations(self.listed()), label="order"):
            self.ledger.apply(event)

    @rule(data=st.data())
    def restart(self, data: st.DataObject) -> None:
        """Only what the API shows is left: no reservations, no former rows."""
        for uid in list(self.world.only_read):
            self.world.lose(uid)
        self.world.reserved.clear()
        self.world.rows.clear()
        self.world.keepers.clear()
        for shown in list(self.world.pods.values()):
            self.world.show(shown)
        self.ledger = Ledger()
        for event in data.draw(st.permutations(self.listed()), label="order"):
            self.ledger.apply(event)

    def listed(self) -> list[Event]:
        """List all that the API shows."""
        nodes: Sequence[Event] = [NodeSeen(each) for each in self.world.nodes.values()]
        shown = [
            PodSeen(each)
            for uid, each in self.world.pods.items()
            if uid not in self.world.only_read
        ]
        return [*nodes, *shown]

    # What always holds.

    @invariant()
    def the_audit_finds_no_difference(self) -> None:
        """Kept up event by event, or recomputed: the same."""
        assert audit(self.ledger) == []

    @invariant()
    def the_totals_are_those_of_the_timeline(self) -> None:
        """Per node, card and dimension, added up from scratch without the core."""
        found = {name: self.ledger.fleet.totals(name) for name in self.world.nodes}
        assert found == self.world.totals()

    @invariant()
    def the_ledger_knows_what_is_shown(self) -> None:
        """No pod or node more, and none less."""
        assert dict(self.ledger.pods) == self.world.pods
        assert dict(self.ledger.nodes) == self.world.nodes
        counting = [shown.uid for shown, _ in self.ledger.standings()]
        assert sorted(counting) == sorted(
            shown.uid for shown in self.world.pods.values() if self.world.counts(shown)
        )

    @invariant()
    def the_ledger_knows_what_is_reserved(self) -> None:
        """Until the pod is shown bound, or the place is given back."""
        for uid in UIDS:
            place = self.ledger.reservation(uid)
            expected = self.world.reserved.get(uid)
            assert (place and (place.node_name, place.allocation)) == expected

    @invariant()
    def cards_that_hold_too_much_are_known(self) -> None:
        """By what bound pods add up to; reservations do not count."""
        found = {name: set(cards) for name, cards in self.overfull().items()}
        assert found == self.world.overfull()

    def overfull(self) -> Mapping[NodeName, Mapping[DeviceUUID, Cause]]:
        """Give what the ledger says of nodes whose cards count."""
        causes = self.ledger.overfull.causes
        return {name: causes[name] for name in causes if self.world.is_usable(name)}

    @invariant()
    def room_that_appears_is_told(self) -> None:
        """Whoever fits now and did not before: that node is among the freed ones."""
        ledger, generation, before = self.fitted_before
        self.fitted_before = self.fitting()
        if ledger is self.ledger:
            newly = {name for name, _ in self.fitted_before[2] - before}
            assert newly <= set(self.ledger.freed_since(generation))

    @invariant()
    def nothing_is_left_of_pods_that_hold_nothing(self) -> None:
        """Each holding is that of a pod; there is no other."""
        kept = [holding for name in NAMES for holding in self.ledger.holdings_on(name)]
        owned = [self.ledger.holding(uid) for uid in self.ledger.pods]
        assert len(kept) == len([holding for holding in owned if holding])
        assert all(self.ledger._held_on.values())


def _with_inits_over(shown: Pod, done: int) -> PodStatus:
    return replace(
        _COLD,
        containers=tuple(_after_inits(shown, done)),
        sandbox=SandboxReadiness.READY,
        sandbox_changed_at=50.0,
    )


def _after_inits(shown: Pod, done: int) -> list[ContainerStatus]:
    statuses = []
    exited = 0
    for lifetime in shown.request.lifetimes:
        if lifetime is Lifetime.INIT and exited < done:
            exited += 1
            statuses.append(
                ContainerStatus(RunState.TERMINATED, 0, 60.0, has_started=True)
            )
        elif lifetime is Lifetime.SIDECAR:
            statuses.append(ContainerStatus(RunState.RUNNING, has_started=True))
        else:
            statuses.append(ContainerStatus(RunState.WAITING))
    return statuses


TestLedger = Machine.TestCase
TestLedger.settings = settings(stateful_step_count=30)
