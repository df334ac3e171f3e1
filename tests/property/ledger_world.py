"""What the API shows and what was reserved, pod by pod: the reference for the ledger.

It takes the same events, and adds up every total from scratch whenever it is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from extender.core.allocation import Allocation, Row, UnreadableAllocation
from extender.core.bucket import NodeTotals
from extender.core.container import ContainerUsage
from extender.core.mig import MigInstance
from extender.core.names import DeviceUUID, KindWord, NodeName, PodUID
from extender.core.node import Inventory, Node
from extender.core.pod import Pod, Release
from extender.core.pod_request import PodRequest
from extender.core.pod_status import PodPhase, PodStatus
from extender.core.quota_room import Quota
from extender.core.quota_scopes import QuotaTraits
from extender.core.usage import Usage
from extender.state.events import (
    Event,
    Expected,
    Lapsed,
    ListTaken,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    QuotaGone,
    QuotaSeen,
    Recount,
    Relisted,
    Remembered,
    Reserved,
    Synced,
    Unreserved,
)
from extender.state.overfull import Cause
from tests.oracles import kubelet_slots, timeline_charge, timeline_quota

_FORESEEN = frozenset({Cause.RE_INFLATED, Cause.SHRUNK})


@dataclass
class World:
    """All that the ledger was told, as it was told.

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
        gone: UIDs of pods that were deleted; none of them comes back.
        is_synced: Whether all that the API had was shown once.
        has_reserved: Whether there ever was a reservation.
        quotas: Of the one namespace that all pods are in, by name.
        expected: Admitted pods that were not shown since, and until when each counts.
    """

    nodes: dict[NodeName, Node] = field(default_factory=dict)
    pods: dict[PodUID, Pod] = field(default_factory=dict)
    reserved: dict[PodUID, tuple[NodeName, Allocation]] = field(default_factory=dict)
    rows: dict[PodUID, list[Allocation]] = field(default_factory=dict)
    keepers: set[PodUID] = field(default_factory=set)
    views: list[Pod] = field(default_factory=list)
    only_read: set[PodUID] = field(default_factory=set)
    gone: set[PodUID] = field(default_factory=set)
    is_synced: bool = False
    has_reserved: bool = False
    quotas: dict[str, Quota] = field(default_factory=dict)
    expected: dict[PodUID, tuple[Pod, float]] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Take in what the ledger takes in."""
        match event:
            case NodeSeen(node):
                self.nodes[node.name] = node
            case NodeGone(node_name):
                self.nodes.pop(node_name, None)
            case PodSeen(pod):
                self._show(pod)
            case PodGone(pod_uid):
                self._drop(pod_uid)
                self.expected.pop(pod_uid, None)
                self.gone.add(pod_uid)
            case Reserved(pod, node_name, rows):
                self._reserve(pod, node_name, rows)
            case Unreserved(pod_uid):
                self._give_back(pod_uid)
            case Relisted() | ListTaken() | Synced() | Recount() | Remembered():
                self._turn(event)
            case QuotaSeen() | QuotaGone():
                self._take_quota(event)
            case Expected() | Lapsed():
                self._admit(event)

    def _admit(self, event: Expected | Lapsed) -> None:
        if isinstance(event, Lapsed):
            for uid, (_, until) in list(self.expected.items()):
                if until <= event.now:
                    del self.expected[uid]
        elif event.pod.uid not in self.pods.keys() | self.gone:
            self.expected[event.pod.uid] = (event.pod, event.until)

    def waiting(self) -> set[PodUID]:
        """Name the pods that count at admission, and hold nothing."""
        shown = {
            uid
            for uid, each in self.pods.items()
            if self.place_of(each) is None
            and each.asks_for_devices
            and not is_over(each)
            and not each.status.is_terminating
        }
        return shown | (self.expected.keys() - self.pods.keys())

    def _turn(
        self, event: Relisted | ListTaken | Synced | Recount | Remembered
    ) -> None:
        assert not isinstance(event, Remembered), "no cluster tells what a ledger had"
        if isinstance(event, Relisted):
            self.gone.clear()
        elif isinstance(event, Synced):
            self.is_synced = True

    def _take_quota(self, event: QuotaSeen | QuotaGone) -> None:
        if isinstance(event, QuotaSeen):
            self.quotas[event.quota.name] = event.quota
        else:
            self.quotas.pop(event.name, None)

    def _show(self, shown: Pod) -> None:
        self.views.append(shown)
        self.expected.pop(shown.uid, None)
        known = self.pods.get(shown.uid)
        if shown.uid in self.gone or (known is not None and is_late(shown, known)):
            return
        self.pods[shown.uid] = shown
        self.only_read.discard(shown.uid)
        self._note_rows(shown)
        self._note_release(shown)
        if shown.node_name is not None:
            self.reserved.pop(shown.uid, None)

    def _reserve(self, pod: Pod, node_name: NodeName, rows: Allocation) -> None:
        if pod.uid not in self.pods:
            self.only_read.add(pod.uid)
            self.pods[pod.uid] = pod
        if self.pods[pod.uid].node_name is None:
            self.reserved[pod.uid] = (node_name, rows)
            self.has_reserved = True

    def _give_back(self, uid: PodUID) -> None:
        """Hold a place no longer; of a pod that was never shown nothing is left."""
        if self.reserved.pop(uid, None) is not None and uid in self.only_read:
            self._drop(uid)

    def _drop(self, uid: PodUID) -> None:
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
        elif isinstance(shown.allocation, UnreadableAllocation | None):
            if not rows and reserved_on == shown.node_name:
                rows.append(reserved)
        elif shown.allocation not in rows:
            rows.append(shown.allocation)

    def binds(self, event: Event) -> bool:
        """Tell whether an event, not taken yet, is the first to show a pod bound."""
        if not isinstance(event, PodSeen) or event.pod.uid in self.gone:
            return False
        known = self.pods.get(event.pod.uid)
        was_bound = known is not None and known.node_name is not None
        return event.pod.node_name is not None and not was_bound

    def causes_of(self, event: Event) -> frozenset[Cause]:
        """Tell by which causes an event, not taken yet, may make a card overfull.

        Where a place is reserved, what took its room before it was bound may be told
        in place of the bind.
        """
        match event:
            case NodeSeen(node):
                cause = Cause.SHRUNK if node.name in self.nodes else Cause.INHERITED
            case PodSeen() if not self.is_synced and self.binds(event):
                cause = Cause.INHERITED
            case PodSeen() if self.binds(event):
                cause = Cause.PLACED
            case PodSeen():
                cause = Cause.RE_INFLATED
            case _:
                return frozenset()
        return frozenset({cause}) | (_FORESEEN if self.has_reserved else frozenset())

    def overfull_under(self, uid: PodUID) -> set[tuple[NodeName, DeviceUUID]]:
        """List the overfull cards of which a bound pod holds something."""
        held = self.held_by(uid)
        return {
            (name, each)
            for name, overfull in self.overfull().items()
            for each in overfull
            if (name, each) in held
        }

    def held_by(self, uid: PodUID) -> set[tuple[NodeName, DeviceUUID]]:
        """List the cards of which a bound pod holds something."""
        shown = self.pods[uid]
        name, rows = shown.node_name, self.rows_of(shown)
        if name is None or not rows:
            return set()
        charge = largest_charge(shown, rows, self.release_of(shown))
        return {(name, each) for each in charge}

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
        has_part = bool(self.rows_of(shown)) or is_torn or shown.asks_for_devices
        return self.place_of(shown) is not None and has_part

    def counting_cards(self, name: NodeName) -> set[DeviceUUID]:
        """List the cards of a node that count; a silent plugin's do not."""
        totals = self._totals_of(self.nodes[name]) if name in self.nodes else {}
        return {device_uuid for each in totals.values() for device_uuid in each.used}

    def quota_sums(self) -> dict[QuotaTraits, dict[KindWord, Usage]]:
        """Add up what all pods are charged to quotas, by what scopes look at."""
        sums: dict[QuotaTraits, dict[KindWord, Usage]] = {}
        for shown in self.pods.values():
            for kind, charge in self._quota_charges(shown).items():
                own = sums.setdefault(shown.quota_traits, {})
                own[kind] = own.get(kind, Usage()) + charge
        return sums

    def _quota_charges(self, shown: Pod) -> dict[KindWord, Usage]:
        if self.place_of(shown) is None:
            return {}
        kinds = {each.kind for each in shown.requests}
        if rows := self.rows_of(shown):
            release = self.release_of(shown)
            found = {kind: quota_of(shown, rows, kind, release) for kind in kinds}
        elif isinstance(shown.allocation, UnreadableAllocation):
            found = {each.kind: untold(each) for each in shown.requests}
        else:
            return {}
        return {kind: charge for kind, charge in found.items() if charge != Usage()}

    def overfull(self) -> dict[NodeName, set[DeviceUUID]]:
        """List the cards that bound pods hold more of than there is."""
        bound = [each for each in self.pods.values() if each.node_name is not None]
        shown = replace(self, pods={each.uid: each for each in bound}, reserved={})
        found: dict[NodeName, set[DeviceUUID]] = {}
        for name, totals in shown.totals().items():
            held = {
                u: used for each in totals.values() for u, used in each.used.items()
            }
            cuts = {
                u: cut for each in totals.values() for u, cut in each.slices.items()
            }
            for device in self.nodes[name].devices:
                used = held.get(device.device_uuid, Usage())
                cut = cuts.get(device.device_uuid, ())
                size = device.capacity
                has_cores = used.core_percent <= size.core_percent
                if (
                    used.slots > size.slots
                    or used.memory_mib > size.memory_mib
                    or not (has_cores or device.mode == "mig")
                    or max(cut, default=0) > 1
                ):
                    found.setdefault(name, set()).add(device.device_uuid)
        return found

    def totals(self) -> dict[NodeName, dict[KindWord, NodeTotals]]:
        """Add up every pod from scratch, node by node and kind by kind."""
        return {name: self._totals_of(shown) for name, shown in self.nodes.items()}

    def _totals_of(self, shown: Node) -> dict[KindWord, NodeTotals]:
        return {
            kind: self._totals_of_kind(shown.name, kind, inventory)
            for kind, inventory in shown.inventories.items()
            if inventory.devices
            and inventory.allocatable_slots
            and not inventory.problem
        }

    def _totals_of_kind(
        self, name: NodeName, kind: KindWord, inventory: Inventory
    ) -> NodeTotals:
        own = [card.device_uuid for card in inventory.devices or ()]
        mig = {
            card.device_uuid for card in inventory.devices or () if card.mode == "mig"
        }
        used = dict.fromkeys(own, Usage())
        slices: dict[DeviceUUID, tuple[int, ...]] = {}
        quarantined: set[DeviceUUID] = set()
        alone: set[DeviceUUID] = set()
        slots = closures = 0
        for each in self.pods.values():
            if self.place_of(each) != name:
                continue
            slots += sum(
                kubelet_slots(asked.lifetimes, asked.containers)
                for asked in each.requests
                if asked.kind == kind
            )
            if self.rows_of(each):
                charge = largest_charge(each, self.rows_of(each), self.release_of(each))
                for uuid, usage in charge.items():
                    if uuid in used:
                        used[uuid] += usage
                        if is_exclusive(each) and usage.slots:
                            alone.add(uuid)
                cut = most_cut(self.rows_of(each))
                named = {uuid for uuid, _ in shares_of(self.rows_of(each))}
                quarantined |= named.intersection(own) & (mig ^ cut.keys())
                for uuid in mig & cut.keys():
                    slices[uuid] = added(slices.get(uuid, ()), cut[uuid])
            elif isinstance(each.allocation, UnreadableAllocation):
                here = set(each.allocation.named).intersection(own)
                quarantined |= here
                closures += not here and may_hold_cards(each, kind)
        return NodeTotals(
            used, frozenset(quarantined), slots, closures, frozenset(alone), slices
        )


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
    for lifetime, shares in zip(shown.lifetimes, rows, strict=True):
        held: dict[DeviceUUID, Usage] = {}
        kept: dict[DeviceUUID, Usage] = {}
        for share in shares:
            is_kept = share.is_kept or share.instance is not None
            part = kept if is_kept else held
            more = Usage(1, share.memory_mib, share.core_percent)
            part[share.device_uuid] = part.get(share.device_uuid, Usage()) + more
        containers.append(ContainerUsage(lifetime, held, kept))
    return timeline_charge(containers, shown.status, release)


def quota_of(
    shown: Pod, rows: list[Allocation], kind: KindWord, release: Release
) -> Usage:
    """Charge a pod for the cards of one kind by the timeline, all cards as one."""
    most = Usage()
    for allocation in rows:
        containers = [
            ContainerUsage(
                lifetime,
                {DeviceUUID("held"): summed(row, kind, is_kept=False)},
                {DeviceUUID("kept"): summed(row, kind, is_kept=True)},
            )
            for lifetime, row in zip(shown.lifetimes, allocation, strict=True)
        ]
        charge = timeline_quota(containers, shown.status, release)
        most = Usage(
            max(most.slots, charge.slots),
            max(most.memory_mib, charge.memory_mib),
            max(most.core_percent, charge.core_percent),
        )
    return most


def summed(row: Row, kind: KindWord, *, is_kept: bool) -> Usage:
    """Add up a row's shares of one kind that are kept to the end, or that are not."""
    found = [
        share
        for share in row
        if share.kind == kind
        and (share.is_kept or share.instance is not None) is is_kept
    ]
    return Usage(
        len(found),
        sum(share.memory_mib for share in found),
        sum(share.core_percent for share in found),
    )


def untold(asked: PodRequest) -> Usage:
    """Charge a pod whose rows cannot be read: more than there is for percentages."""
    containers = [
        ContainerUsage(
            lifetime,
            {
                DeviceUUID("all"): Usage(
                    each.count,
                    each.count
                    * (2**31 - 1 if each.memory_mib is None else each.memory_mib),
                    each.count * each.core_percent,
                )
            },
        )
        for lifetime, each in zip(asked.lifetimes, asked.containers, strict=True)
    ]
    return timeline_quota(containers, PodStatus())


def is_exclusive(shown: Pod) -> bool:
    """Whether nobody may join a pod on its cards, of whichever kind they are."""
    return any(asked.device_policy.is_exclusive for asked in shown.requests)


def shares_of(
    allocations: list[Allocation],
) -> list[tuple[DeviceUUID, MigInstance | None]]:
    """List what some allocations name."""
    return [
        (share.device_uuid, share.instance)
        for allocation in allocations
        for row in allocation
        for share in row
    ]


def most_cut(allocations: list[Allocation]) -> dict[DeviceUUID, tuple[int, ...]]:
    """Count the instances on each slice, by the allocation that has most there."""
    most: dict[DeviceUUID, tuple[int, ...]] = {}
    for allocation in allocations:
        own: dict[DeviceUUID, tuple[int, ...]] = {}
        for uuid, instance in shares_of([allocation]):
            if instance is not None:
                place = instance.placement
                counts = (0,) * place.start + (1,) * place.size
                own[uuid] = added(own.get(uuid, ()), counts)
        for uuid, counts in own.items():
            pairs = zip_longest(most.get(uuid, ()), counts, fillvalue=0)
            most[uuid] = tuple(max(pair) for pair in pairs)
    return most


def added(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Add counts slice by slice."""
    return tuple(sum(pair) for pair in zip_longest(one, other, fillvalue=0))


def may_hold_cards(shown: Pod, kind: KindWord) -> bool:
    """Whether a container that asks for cards of a kind may have started.

    Some pods have none.
    """
    started = [
        shown.status.of(index).has_started
        for wanted in shown.requests
        if wanted.kind == kind
        for index, asked in enumerate(wanted.containers)
        if asked.count
    ]
    if shown.status.phase is PodPhase.PENDING:
        return any(started)
    return bool(started)
