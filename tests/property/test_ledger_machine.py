"""Any order of events: the totals are what the pods add up to, at every step."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from extender.core.allocation import Allocation, Share, UnreadableAllocation
from extender.core.container import Lifetime
from extender.core.device_policy import DevicePolicy
from extender.core.names import DeviceUUID, KindWord, NodeName, PodUID
from extender.core.node import Device, Node
from extender.core.pod import Pod, Release
from extender.core.pod_status import (
    ContainerStatus,
    PodPhase,
    PodStatus,
    RunState,
    SandboxReadiness,
)
from extender.core.quota_room import Quota, QuotaDimension, QuotaLimit
from extender.core.quota_scopes import (
    PLAIN_QUOTA_TRAITS,
    QuotaScope,
    QuotaTraits,
    ScopeRequirement,
)
from extender.core.usage import Usage
from extender.state.audit import audit
from extender.state.events import (
    Event,
    Expected,
    Lapsed,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    QuotaGone,
    QuotaSeen,
    Recount,
    Reserved,
    Synced,
    Unreserved,
)
from extender.state.holdings import _ALLOCATIONS_KEPT
from extender.state.ledger import Ledger
from extender.state.overfull import Cause
from extender.verbs.filter import filter_nodes
from tests.property.ledger_world import World, is_over
from tests.strategies import pod_statuses, releases
from tests.values import (
    GPU,
    GPUS,
    IDLE_APP,
    N1,
    N2,
    N3,
    NPU,
    a100,
    app,
    card,
    init,
    instance,
    node,
    pod,
    request,
    sidecar,
    with_cards,
    with_inventory,
)

# Half a minute by itself; a time limit that ends an example looks like a fault of it.
pytestmark = pytest.mark.timeout(600)

NAMES: Final = (N1, N2, N3)
UUIDS: Final = tuple(DeviceUUID(f"GPU-{letter}") for letter in "abc")
OTHER_UUIDS: Final = tuple(DeviceUUID(f"NPU-{letter}") for letter in "ab")
KIND_OF: Final = dict.fromkeys(UUIDS, GPU) | dict.fromkeys(OTHER_UUIDS, NPU)
MUTEX: Final = DevicePolicy(is_exclusive=True)
REQUESTS: Final = (
    request(app(8_000)),
    request(sidecar(1_000), app(2_000, count=2, cores=30)),
    request(init(2_000), init(4_000), init(8_000), app(1_000)),
    request(init(9_000), sidecar(1_000), init(3_000, count=2), app(2_000)),
    request(IDLE_APP, app(500, cores=100)),
    request(init(2_000), app(1_000), cards=MUTEX),
    request(IDLE_APP),
)
BOTH: Final = (
    (
        request(sidecar(1_000), init(9_000), app(2_000)),
        request(sidecar(500), init(12_000), IDLE_APP, kind=NPU),
    ),
    (
        request(IDLE_APP, app(8_000), cards=MUTEX),
        request(app(16_000, count=2), IDLE_APP, cards=MUTEX, kind=NPU),
    ),
)
"""What pods ask of two kinds, in one container and in several."""

PODS: Final = (
    *(pod(f"p{n}", asked) for n, asked in enumerate(REQUESTS)),
    *(pod(f"both-{n}", *asked) for n, asked in enumerate(BOTH)),
    pod("other", request(init(14_000), app(3_000, cores=50), kind=NPU)),
)
NEVER_SEEN: Final = PodUID("never seen")
LAPSE_SECONDS: Final = 60.0

INSTANCES: Final = st.sampled_from(
    [
        *[instance("1g.5gb", start, 1) for start in range(7)],
        instance("3g.20gb", 0, 4),
        instance("3g.20gb", 4, 4),
    ]
)

_COLD = PodStatus(phase=PodPhase.PENDING)
_RUNNING: Final = ContainerStatus(RunState.RUNNING, has_started=True)
_WAITING: Final = ContainerStatus(RunState.WAITING)
_EXITED: Final = ContainerStatus(RunState.TERMINATED, 0, has_started=True)


def cards_of(uuids: Sequence[DeviceUUID], *, has_mig: bool = False) -> list[Device]:
    """Make a card of each UUID, the last of the first kind in MIG mode if at all."""
    return [
        (a100 if has_mig and uuid == UUIDS[2] else card)(uuid, index=index)
        for index, uuid in enumerate(uuids)
    ]


def inventories(
    uuids: Sequence[DeviceUUID] = UUIDS,
) -> st.SearchStrategy[tuple[Device, ...]]:
    """Draw which cards a node shows, in any order, few of them in MIG mode."""
    plain = cards_of(uuids)
    kinds = st.sampled_from([plain, plain, cards_of(uuids, has_mig=True)])
    return kinds.flatmap(
        lambda cards: st.lists(st.sampled_from(cards), unique=True, max_size=3)
    ).map(tuple)


@st.composite
def rows_for(draw: st.DrawFn, shown: Pod) -> Allocation:
    """Draw rows of the right lengths on any cards, twice the same one included.

    Instances are told of no card, or of the one that may be in MIG mode, or of others.
    The pod that asks for the second kind alone keeps to its end what inits hold.
    """
    cut = draw(st.sampled_from([UUIDS[2:], UUIDS[2:], (), UUIDS[:1]]))
    return tuple(
        tuple(
            Share(
                device_uuid := draw(
                    st.sampled_from(UUIDS if wanted.kind == GPU else OTHER_UUIDS)
                ),
                wanted.containers[index].memory_mib or 1,
                wanted.containers[index].core_percent,
                wanted.kind,
                is_kept=shown.name == "other",
                instance=draw(INSTANCES) if device_uuid in cut else None,
            )
            for wanted in shown.requests
            for _ in range(wanted.containers[index].count)
        )
        for index in range(len(shown.containers))
    )


def torn_texts() -> st.SearchStrategy[UnreadableAllocation]:
    """Draw an allocation that cannot be read and names some cards."""
    named = st.lists(st.sampled_from([*KIND_OF, DeviceUUID("GPU-z")]), max_size=2)
    kinds = st.sampled_from([GPUS, frozenset({NPU}), frozenset({GPU, NPU})])
    return st.builds(UnreadableAllocation, st.just("torn"), named.map(tuple), kinds)


def mostly_after_init() -> st.SearchStrategy[Release]:
    """Draw a release; one "never" stays with a pod, whatever is written later."""
    return st.sampled_from([*[Release.AFTER_INIT] * 3, Release.NEVER])


TRAITS: Final = [PLAIN_QUOTA_TRAITS, QuotaTraits(has_deadline=True)]
SCOPES: Final = [
    ScopeRequirement(QuotaScope.TERMINATING),
    ScopeRequirement(QuotaScope.NOT_TERMINATING),
]


class Machine(RuleBasedStateMachine):
    """A ledger beside the world that it is told of.

    Attributes:
        world: What it was told.
        uids: Of all pods that there ever were.
        missed: Pods that are gone, and it was not told.
        missed_nodes: The same of nodes.
        reserved_at: When each place was reserved.
        now: Rises with every step that has a time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.ledger = Ledger()
        self.fitted_before = self.fitting()
        self.admitted_before = self.admitted()
        self.uids = [NEVER_SEEN]
        self.missed: set[PodUID] = set()
        self.missed_nodes: set[NodeName] = set()
        self.reserved_at: dict[PodUID, float] = {}
        self.now = 100.0
        self._numbers = count()

    def fitting(self) -> tuple[Ledger, int, set[tuple[NodeName, PodUID]]]:
        """Tell who fits where at this generation of the ledger."""
        fits = {
            (name, probe.uid)
            for probe in PODS
            if probe.asks_for_devices
            for name in filter_nodes(self.ledger.fleet, probe, NAMES, None).fitting
        }
        return self.ledger, self.ledger.generation, fits

    def admitted(self) -> tuple[Ledger, int, set[tuple[int, QuotaTraits]]]:
        """Tell by how much a pod may grow at this generation, by its traits."""
        rooms = {
            (need, traits)
            for need in (1, 8_000, 24_000)
            for traits in TRAITS
            if all(
                room.admits(Usage(1, need))
                for room in self.ledger.quotas.rooms("default", traits).values()
            )
        }
        return self.ledger, self.ledger.generation, rooms

    def happens(self, event: Event) -> None:
        """Tell both, and judge the causes of what became overfull by that."""
        binds, causes = self.world.binds(event), self.world.causes_of(event)
        uid = event.pod.uid if isinstance(event, PodSeen) else NEVER_SEEN
        was_reserved = uid in self.world.reserved
        before, placed = self.causes(), self.ledger.overfull.seen.get(Cause.PLACED, 0)
        self.world.take(event)
        self.ledger.apply(event)
        after = self.causes()
        assert {after[place] for place in after.keys() - before.keys()} <= causes
        placed = self.ledger.overfull.seen.get(Cause.PLACED, 0) - placed
        if not binds or not self.world.is_synced:
            assert placed == 0
            return
        under = self.world.overfull_under(uid)
        # Besides these, cards that do not count now may be judged as well.
        others = {
            (name, device_uuid)
            for name, device_uuid in self.world.held_by(uid) & after.keys()
            if device_uuid not in self.world.counting_cards(name)
        }
        assert placed <= len(under | others)
        if was_reserved:
            return
        assert placed >= len(under)
        assert {after[place] for place in under} <= {Cause.PLACED}

    def causes(self) -> dict[tuple[NodeName, DeviceUUID], Cause]:
        """List the overfull cards, as they were last known where none counts now."""
        return {
            (name, device_uuid): cause
            for name, cards in self.ledger.overfull.causes.items()
            for device_uuid, cause in cards.items()
        }

    def pods(self, *, is_bound: bool) -> list[Pod]:
        """List the pods that the API shows bound, or those that it does not."""
        return [
            each
            for uid, each in self.world.pods.items()
            if (each.node_name is not None) is is_bound and uid not in self.missed
        ]

    def pick(self, data: st.DataObject, *, is_bound: bool) -> Pod:
        """Draw a pod that is shown bound, or one that is not."""
        return data.draw(st.sampled_from(self.pods(is_bound=is_bound)), label="pod")

    def pick_with_inits_over(self, data: st.DataObject) -> Pod:
        """Draw a bound pod, one whose inits are released if any, and let these exit."""
        bound = self.pods(is_bound=True)
        releasing = [
            each
            for each in bound
            if Lifetime.INIT in each.lifetimes
            and self.world.release_of(each) is Release.AFTER_INIT
            and not (is_over(each) or each.status.is_terminating)
        ]
        shown = data.draw(st.sampled_from(releasing or bound), label="pod")
        for _ in range(4):
            shown = self.let_one_more_init_exit(shown)
        return shown

    def let_one_more_init_exit(self, shown: Pod) -> Pod:
        """Or, after the last, let the apps run."""
        self.now += 1
        return self.show_status(shown, _with_next_init_over(shown, self.now))

    def show_status(self, shown: Pod, status: PodStatus) -> Pod:
        """Show a pod with another status, and see at once what it is charged."""
        changed = replace(shown, status=status)
        self.happens(PodSeen(changed))
        self.the_totals_are_those_of_the_timeline()
        return changed

    def new_pod(self, template: Pod) -> Pod:
        """Make a pod, whose UID there never was."""
        made = replace(template, uid=PodUID(f"{template.uid}-{next(self._numbers)}"))
        self.uids.append(made.uid)
        return made

    def former(self, template: Pod) -> Pod | None:
        """Give the pod of a name that the ledger knows."""
        known = self.world.pods.values()
        return next((each for each in known if each.name == template.name), None)

    @initialize(data=st.data(), is_synced=st.booleans())
    def begin_in_the_midst(self, data: st.DataObject, *, is_synced: bool) -> None:
        """With nodes and bound pods; a few steps seldom lead from nothing to these."""
        has_mig = data.draw(st.booleans(), label="has MIG")
        for name in data.draw(
            st.sets(st.sampled_from(NAMES), min_size=2), label="nodes"
        ):
            cards = cards_of(UUIDS, has_mig=has_mig)
            made = node(name, *cards, allocatable=30)
            if data.draw(st.booleans(), label="has both kinds"):
                made = with_cards(made, *cards_of(OTHER_UUIDS), allocatable=20)
            self.happens(NodeSeen(made))
        for shown in data.draw(st.permutations(PODS), label="pods")[:4]:
            bound = replace(
                self.new_pod(shown),
                node_name=data.draw(st.sampled_from(NAMES), label="on"),
                allocation=data.draw(rows_for(shown), label="rows"),
                release=data.draw(mostly_after_init(), label="release"),
            )
            self.happens(PodSeen(bound))
        if is_synced:
            self.happens(Synced())

    # Nodes.

    @rule(
        name=st.sampled_from(NAMES),
        cards=inventories(),
        others=st.none() | inventories(OTHER_UUIDS),
        slots=st.just(30),
    )
    def show_a_node(
        self,
        name: NodeName,
        cards: tuple[Device, ...],
        others: tuple[Device, ...] | None,
        slots: int,
    ) -> None:
        """It is new, or has other cards, or the same; of one kind or of both."""
        shown = node(name, *cards, allocatable=slots)
        if others is not None:
            shown = with_cards(shown, *others, allocatable=slots)
        self.show_node(shown)

    @rule(
        name=st.sampled_from(NAMES),
        how=st.sampled_from(["bare", "silent", "left out", "odd"]),
    )
    def show_a_node_without_cards_that_count(self, name: NodeName, how: str) -> None:
        """Its registration is gone, or unreadable, or its plugin is silent.

        Or its labels are no longer those of the nodes that are scheduled here.
        """
        shown = self.world.nodes.get(name, node(name, card("GPU-a"), allocatable=30))
        for kind in shown.inventories:
            shown = _without_cards_that_count(shown, kind, how)
        self.show_node(shown)

    @precondition(lambda self: self.world.nodes)
    @rule(data=st.data(), how=st.sampled_from(["bare", "silent", "odd"]))
    def show_a_node_of_which_one_kind_does_not_count(
        self, data: st.DataObject, how: str
    ) -> None:
        """The cards of its other kind count as before."""
        shown = data.draw(
            st.sampled_from(list(self.world.nodes.values())), label="node"
        )
        kind = data.draw(st.sampled_from(sorted(shown.inventories)), label="kind")
        self.show_node(_without_cards_that_count(shown, kind, how))

    def show_node(self, shown: Node) -> None:
        """Show a node; also one that was made again while nobody looked."""
        self.missed_nodes.discard(shown.name)
        self.happens(NodeSeen(shown))

    @rule(name=st.sampled_from(NAMES))
    def lose_a_node(self, name: NodeName) -> None:
        """Also one that is unknown."""
        self.missed_nodes.discard(name)
        self.happens(NodeGone(name))

    @precondition(lambda self: self.world.nodes)
    @rule(data=st.data())
    def lose_a_node_unseen(self, data: st.DataObject) -> None:
        """Only a list finds out."""
        name = data.draw(st.sampled_from(list(self.world.nodes)), label="node")
        self.missed_nodes.add(name)

    # Pods.

    @rule(template=st.sampled_from(PODS), data=st.data())
    def create_a_pod(self, template: Pod, data: st.DataObject) -> None:
        """Unbound, in some cases with the annotations of another life.

        Where one of its name went unseen, this one tells that.
        """
        former = self.former(template)
        if former is not None:
            if former.uid not in self.missed:
                return
            self.lose(former.uid)
        stale = data.draw(st.none() | rows_for(template) | torn_texts(), label="stale")
        release = data.draw(mostly_after_init(), label="release")
        shown = replace(self.new_pod(template), allocation=stale, release=release)
        self.happens(PodSeen(shown))

    @rule(template=st.sampled_from(PODS), name=st.sampled_from(NAMES), data=st.data())
    def reserve(self, template: Pod, name: NodeName, data: st.DataObject) -> None:
        """For a pod that is shown unbound, or was only read; again is allowed."""
        known = self.former(template) or self.new_pod(template)
        self.reserve_for(known, name, data)

    @precondition(lambda self: self.world.gone)
    @rule(name=st.sampled_from(NAMES), data=st.data())
    def reserve_for_a_pod_that_is_gone(
        self, name: NodeName, data: st.DataObject
    ) -> None:
        """It was read just before; its Binding will find nobody."""
        views = [each for each in self.world.views if each.uid in self.world.gone]
        if views:
            shown = data.draw(st.sampled_from(views), label="view")
            self.reserve_for(replace(shown, node_name=None), name, data)

    def reserve_for(self, shown: Pod, name: NodeName, data: st.DataObject) -> None:
        """Hold a place for a pod, unless it is bound."""
        if shown.node_name is None:
            rows = data.draw(rows_for(shown), label="rows")
            self.reserved_at[shown.uid] = self.now
            self.happens(Reserved(shown, name, rows))

    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        """Also for pods without a reservation, bound or unknown."""
        uid = data.draw(st.sampled_from(self.uids), label="uid")
        self.happens(Unreserved(uid))

    @rule(seconds=st.sampled_from([10.0, 30.0, LAPSE_SECONDS]))
    def let_reservations_lapse(self, seconds: float) -> None:
        """Time goes by, and no event shows what became of them."""
        self.now += seconds
        for uid in list(self.world.reserved):
            if self.now - self.reserved_at[uid] >= LAPSE_SECONDS:
                self.happens(Unreserved(uid))

    @rule(template=st.sampled_from(PODS), seconds=st.sampled_from([10.0, 30.0]))
    def admit(self, template: Pod, seconds: float) -> None:
        """A pod, that may be shown already, reserved for, gone, or never created."""
        wanted = self.former(template) or self.new_pod(template)
        self.happens(Expected(replace(wanted, node_name=None), self.now + seconds))

    @precondition(lambda self: self.world.expected)
    @rule(data=st.data(), is_read_first=st.booleans(), name=st.sampled_from(NAMES))
    def create_what_was_admitted(
        self, data: st.DataObject, name: NodeName, *, is_read_first: bool
    ) -> None:
        """It is shown, or read and reserved for before that."""
        uid = data.draw(st.sampled_from(sorted(self.world.expected)), label="uid")
        shown, _ = self.world.expected[uid]
        if is_read_first:
            self.reserve_for(shown, name, data)
        else:
            self.happens(PodSeen(shown))

    @rule(seconds=st.sampled_from([0.0, 10.0, 30.0]))
    def let_expectations_lapse(self, seconds: float) -> None:
        """Time goes by, and pods that were admitted do not come."""
        self.now += seconds
        self.happens(Lapsed(self.now))

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
        self.happens(PodSeen(bound))

    @rule(name=st.sampled_from(NAMES), uuid=st.sampled_from(list(KIND_OF)))
    def bind_without_room(self, name: NodeName, uuid: DeviceUUID) -> None:
        """Somebody else gives two pods more than any card has; neither is excused."""
        kind = KIND_OF[uuid]
        rows = ((Share(uuid, 24_001, 0, kind),),)
        for _ in range(2):
            asked = request(app(24_001), kind=kind)
            shown = self.new_pod(pod(f"foreign-{len(self.uids)}", asked))
            self.happens(PodSeen(replace(shown, node_name=name, allocation=rows)))

    @rule(
        template=st.sampled_from(PODS), name=st.sampled_from(NAMES), text=torn_texts()
    )
    def show_a_running_pod_whose_rows_cannot_be_read(
        self, template: Pod, name: NodeName, text: UnreadableAllocation
    ) -> None:
        """Whatever it holds, of all kinds that it asks for, can only be guessed."""
        shown = replace(self.new_pod(template), name=f"torn-{len(self.uids)}")
        running = PodStatus(phase=PodPhase.RUNNING)
        bound = replace(shown, node_name=name, allocation=text, status=running)
        self.happens(PodSeen(bound))

    @rule(data=st.data())
    def lose_a_pod(self, data: st.DataObject) -> None:
        """Also one that is unknown, or was lost before."""
        self.lose(data.draw(st.sampled_from(self.uids), label="uid"))

    def lose(self, uid: PodUID) -> None:
        """Tell that a pod is gone."""
        self.missed.discard(uid)
        self.happens(PodGone(uid))

    @precondition(lambda self: self.world.pods)
    @rule(data=st.data())
    def lose_a_pod_unseen(self, data: st.DataObject) -> None:
        """Only a list finds out, or one of its name."""
        shown = data.draw(st.sampled_from(list(self.world.pods.values())), label="pod")
        if shown.uid not in self.world.only_read:
            self.missed.add(shown.uid)

    @rule(template=st.sampled_from(PODS), name=st.sampled_from(NAMES), data=st.data())
    def lose_a_pod_before_it_is_added(
        self, template: Pod, name: NodeName, data: st.DataObject
    ) -> None:
        """Its addition comes late, and holds nothing."""
        shown = self.new_pod(template)
        self.happens(PodGone(shown.uid))
        rows = data.draw(rows_for(shown), label="rows")
        self.happens(PodSeen(replace(shown, node_name=name, allocation=rows)))
        assert self.ledger.holding(shown.uid) is None

    @precondition(lambda self: self.world.pods)
    @rule(data=st.data())
    def see_a_pod_again(self, data: st.DataObject) -> None:
        """Nothing about it has changed."""
        shown = data.draw(st.sampled_from(list(self.world.pods.values())), label="pod")
        self.happens(PodSeen(shown))

    @precondition(lambda self: self.world.views)
    @rule(data=st.data())
    def see_a_pod_as_it_was(self, data: st.DataObject) -> None:
        """A view comes late; the pod may be gone."""
        shown = data.draw(st.sampled_from(self.world.views), label="view")
        self.happens(PodSeen(shown))

    # A bound pod's life.

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data(), status=pod_statuses(max_containers=4))
    def show_any_status(self, data: st.DataObject, status: PodStatus) -> None:
        """Plausible or not."""
        self.happens(PodSeen(replace(self.pick(data, is_bound=True), status=status)))

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data(), steps=st.integers(1, 4))
    def let_inits_exit_one_by_one(self, data: st.DataObject, steps: int) -> None:
        """In the present sandbox; most pods have inits of rising or falling size."""
        shown = self.pick(data, is_bound=True)
        for _ in range(steps):
            shown = self.let_one_more_init_exit(shown)

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data(), steps=st.integers(0, 4))
    def recreate_the_sandbox(self, data: st.DataObject, steps: int) -> None:
        """It goes down and is up again, with the exits of the former one still shown.

        Then the inits run again, as far as that goes.
        """
        shown = self.pick_with_inits_over(data)
        for sandbox in (SandboxReadiness.NOT_READY, SandboxReadiness.READY)[:steps]:
            self.now += 1
            status = _stopped(shown)
            status = replace(status, sandbox=sandbox, sandbox_changed_at=self.now)
            shown = self.show_status(shown, status)
        for _ in range(steps - 2):
            shown = self.let_one_more_init_exit(shown)

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data(), steps=st.integers(0, 4))
    def restart_all_containers(self, data: st.DataObject, steps: int) -> None:
        """In the same sandbox; that is done before the inits run again."""
        shown = self.pick_with_inits_over(data)
        for is_done in (False, True)[:steps]:
            self.now += 1
            status = replace(
                _stopped(shown),
                is_restarting_all=not is_done,
                restarted_all_at=self.now if is_done else None,
            )
            shown = self.show_status(shown, status)
        for _ in range(steps - 2):
            shown = self.let_one_more_init_exit(shown)

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data())
    def terminate(self, data: st.DataObject) -> None:
        """It is being deleted, and still runs."""
        shown = self.pick(data, is_bound=True)
        status = replace(shown.status, is_terminating=True)
        self.happens(PodSeen(replace(shown, status=status)))

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data(), phase=st.sampled_from([PodPhase.SUCCEEDED, PodPhase.FAILED]))
    def finish(self, data: st.DataObject, phase: PodPhase) -> None:
        """Its containers have ended for good."""
        shown = self.pick(data, is_bound=True)
        status = replace(shown.status, phase=phase)
        self.happens(PodSeen(replace(shown, status=status)))

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data(), text=torn_texts())
    def tear(self, data: st.DataObject, text: UnreadableAllocation) -> None:
        """Somebody wrote over its allocation."""
        self.happens(PodSeen(replace(self.pick(data, is_bound=True), allocation=text)))

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data())
    def mend(self, data: st.DataObject) -> None:
        """Somebody wrote an allocation that can be read.

        Of more than a few, the ledger puts the oldest together: it may count more then
        than the largest of them.
        """
        shown = self.pick(data, is_bound=True)
        rows = data.draw(rows_for(shown), label="rows")
        if len(self.world.rows.get(shown.uid, ())) >= _ALLOCATIONS_KEPT:
            return
        self.happens(PodSeen(replace(shown, allocation=rows)))

    @precondition(lambda self: self.pods(is_bound=True))
    @rule(data=st.data(), written=st.lists(releases(), min_size=1, max_size=3))
    def edit_the_release(self, data: st.DataObject, written: list[Release]) -> None:
        """Somebody wrote over it, in most cases of a pod that has let its inits go."""
        shown = self.pick_with_inits_over(data)
        for release in written:
            self.happens(PodSeen(replace(shown, release=release)))

    # Lists.

    @rule()
    def sync(self) -> None:
        """All was shown once; again it changes nothing."""
        self.happens(Synced())

    @rule()
    def recount(self) -> None:
        """As after an audit that found a difference; nothing may change."""
        self.happens(Recount())

    @rule(data=st.data())
    def list_again(self, data: st.DataObject) -> None:
        """A list, in any order, shows what is there; the rest is gone."""
        gone: list[Event] = [PodGone(uid) for uid in sorted(self.missed)]
        gone += [NodeGone(name) for name in sorted(self.missed_nodes)]
        shown = self.listed()
        self.missed.clear()
        self.missed_nodes.clear()
        for event in [*gone, *data.draw(st.permutations(shown), label="order")]:
            self.happens(event)

    @rule(data=st.data(), is_synced=st.booleans())
    def restart(self, data: st.DataObject, *, is_synced: bool) -> None:
        """Only what the API shows is left: no reservations, no former rows."""
        shown = self.listed()
        self.missed.clear()
        self.missed_nodes.clear()
        self.world, self.ledger = World(), Ledger()
        for event in data.draw(st.permutations(shown), label="order"):
            self.happens(event)
        if is_synced:
            self.happens(Synced())

    def listed(self) -> list[Event]:
        """List all that the API shows."""
        nodes: list[Event] = [
            NodeSeen(each)
            for name, each in self.world.nodes.items()
            if name not in self.missed_nodes
        ]
        hidden = self.world.only_read | self.missed
        pods = self.world.pods.items()
        return [*nodes, *(PodSeen(each) for uid, each in pods if uid not in hidden)]

    # Quotas.

    @rule(
        name=st.sampled_from(["q1", "q2"]),
        most=st.none() | st.sampled_from([0, 8_000, 24_000, 60_000]),
        scopes=st.lists(st.sampled_from(SCOPES), max_size=1),
    )
    def see_a_quota(
        self, name: str, most: int | None, scopes: list[ScopeRequirement]
    ) -> None:
        """New, changed or repeated."""
        key = "limits.nvidia.com/gpumem"
        limit = QuotaLimit(key, GPU, QuotaDimension.MEMORY, "MiB", most)
        self.happens(QuotaSeen(Quota("default", name, tuple(scopes), (limit,))))

    @rule(name=st.sampled_from(["q1", "q2"]))
    def lose_a_quota(self, name: str) -> None:
        """One that may not be there."""
        self.happens(QuotaGone("default", name))

    @precondition(lambda self: self.world.pods)
    @rule(data=st.data(), traits=st.sampled_from(TRAITS))
    def change_what_scopes_look_at(
        self, data: st.DataObject, traits: QuotaTraits
    ) -> None:
        """A deadline can be set at any time."""
        shown = data.draw(st.sampled_from(list(self.world.pods.values())), label="pod")
        if shown.uid not in self.missed | self.world.only_read:
            self.happens(PodSeen(replace(shown, quota_traits=traits)))

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
    def quotas_are_charged_what_the_timeline_says(self) -> None:
        """Per kind, by what scopes look at, added up from scratch without the core."""
        quotas = self.ledger.quotas
        sums = self.world.quota_sums()
        assert quotas.sums == ({"default": sums} if sums else {})
        assert {each.name: each for each in quotas} == self.world.quotas
        for quota in quotas:
            used = Usage()
            for traits, of_kinds in sums.items():
                if quota.matches(traits):
                    used += of_kinds.get(GPU, Usage())
            assert [use.used for use in quotas.uses(quota)] == [used.memory_mib]

    @invariant()
    def pods_that_wait_are_those_that_hold_nothing(self) -> None:
        """Shown or expected, each once, and nobody who holds or ended."""
        waiting = [each.uid for each in self.ledger.waiting_in("default")]
        assert sorted(waiting) == sorted(self.world.waiting())
        assert [*self.ledger.waiting_in("other")] == []
        assert self.ledger.expected_count == len(self.world.expected)

    @invariant()
    def room_in_a_quota_that_appears_is_told(self) -> None:
        """Whoever stays within all quotas now, and did not before."""
        ledger, generation, before = self.admitted_before
        self.admitted_before = self.admitted()
        if ledger is self.ledger and self.admitted_before[2] - before:
            assert "default" in self.ledger.quota_freed_since(generation)

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
        assert self.ledger.reservation_count == len(self.world.reserved)
        for uid in self.uids:
            place = self.ledger.reservation(uid)
            expected = self.world.reserved.get(uid)
            assert (place and (place.node_name, place.allocation)) == expected

    @invariant()
    def cards_that_hold_too_much_are_known(self) -> None:
        """By what bound pods add up to; reservations do not count.

        What is known of a card outlasts the silence of its plugin.
        """
        found: dict[NodeName, set[DeviceUUID]] = {}
        for name, device_uuid in self.causes():
            if device_uuid in self.world.counting_cards(name):
                found.setdefault(name, set()).add(device_uuid)
        assert found == self.world.overfull()

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


def _without_cards_that_count(shown: Node, kind: KindWord, how: str) -> Node:
    match how:
        case "bare":
            return with_inventory(shown, kind, devices=None)
        case "silent":
            return with_inventory(shown, kind, allocatable_slots=0)
        case "left out":
            return with_inventory(shown, kind, devices=None, is_left_out=True)
        case _:
            return with_inventory(shown, kind, problem="no JSON")


def _with_next_init_over(shown: Pod, now: float) -> PodStatus:
    """Let one more init exit well, and the next one run; or all apps, after the last.

    A sandbox that was down is up from now on, a restart of all containers is done.
    """
    status = shown.status
    is_up = status.sandbox is SandboxReadiness.READY
    began = (status.sandbox_changed_at if is_up else None) or now
    restarted = now if status.is_restarting_all else status.restarted_all_at
    since = max(began, restarted or began)
    containers = [
        status.of(index) if index < len(status.containers) else _WAITING
        for index in range(len(shown.lifetimes))
    ]
    for index, lifetime in enumerate(shown.lifetimes):
        if lifetime is not Lifetime.INIT:
            containers[index] = _RUNNING
        elif not _exited_since(containers[index], since):
            containers[index] = replace(_EXITED, finished_at=now)
            break
    return replace(
        status,
        containers=tuple(containers),
        sandbox=SandboxReadiness.READY,
        sandbox_changed_at=began,
        is_restarting_all=False,
        restarted_all_at=restarted,
    )


def _stopped(shown: Pod) -> PodStatus:
    """Show what ran as ended; what had exited is shown as it was."""
    return replace(
        shown.status,
        containers=tuple(
            _WAITING if one.run_state is RunState.RUNNING else one
            for one in shown.status.containers
        ),
    )


def _exited_since(status: ContainerStatus, since: float) -> bool:
    return (
        status.run_state is RunState.TERMINATED
        and status.exit_code == 0
        and (status.finished_at or 0.0) >= since
    )


TestLedger = Machine.TestCase
TestLedger.settings = settings(stateful_step_count=50)
