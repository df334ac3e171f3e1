"""The ledger: every node's cards, and who holds them."""

from collections import OrderedDict
from collections.abc import Collection
from typing import Final

from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import DeviceUUID, NodeName, PodUID
from extender.core.node import Node
from extender.core.pod import Pod
from extender.state.changes import Changes
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
from extender.state.holdings import (
    Reservation,
    Standing,
    standing_of,
)
from extender.state.ledger_view import LedgerView, bound_holding
from extender.state.overfull import Cause, overfull_cards
from extender.state.quotas import NO_CHARGES, Charged

_GONE_KEPT: Final = 10_000
"""UIDs of pods that are gone. Events of one pod come in order, so that only a view
that was read at about the time of its deletion can be late: few are needed."""


class Ledger(LedgerView):
    """The single mutable object; `apply` is its only door.

    A pod moves through::

        (absent) --Reserved--> reserved --PodSeen bound--> bound
        (absent) --PodSeen bound--> bound
        reserved --Unreserved or PodGone--> (absent)
        bound --PodSeen finished, or PodGone--> (absent)

    A reserved or bound pod is charged by `extender.core.phases.current_charge`. Events
    may repeat; a view that would unbind a pod, or bring a finished one back, is late
    and is passed over.

    A UID that is gone does not come back but in a list; so an addition that comes after
    its deletion changes nothing.

    Invariant: for each card, the fleet's ``used`` is the sum of the charges of the
    pods on its node; `extender.state.audit` recomputes and compares. It may exceed
    the capacity: what others bound is recorded, not refused.

    Ownership: only `extender.service` calls `apply`. Not thread-safe: one event loop
    is the lock.
    """

    def __init__(self) -> None:
        super().__init__()
        self._never_seen: set[PodUID] = set()
        self._gone: OrderedDict[PodUID, None] = OrderedDict()
        self._changes: Changes | None = None

    def tell(self, changes: Changes | None) -> None:
        """Note from now on what changes, for the one who looks; None for nobody."""
        self._changes = changes

    def note_pod(self, pod_uid: PodUID) -> None:
        """Tell who looks that something besides is known of a pod."""
        if self._changes is not None:
            self._changes.note_pod(pod_uid)

    def apply(self, event: Event) -> None:
        """Take in one event.

        Cost: O(cards + holdings) of the node concerned; for an event of a pod only
        where a card is overfull there, or else O(shares). `Recount` is O(everything).
        """
        self._generation += 1
        _note(event, self._changes)
        match event:
            case NodeSeen(node):
                self._see_node(node)
            case NodeGone(node_name):
                self._nodes.pop(node_name, None)
                self._fleet.remove(node_name)
                self._freed.forget(node_name)
                self._overfull.forget(node_name)
            case PodSeen(pod):
                self._see_pod(pod)
            case PodGone(pod_uid):
                self._admissions.arrive(pod_uid)
                self._forget(pod_uid)
                self._bury(pod_uid)
            case QuotaSeen() | QuotaGone():
                self._quotas.see(event, self._generation)
            case Reserved(pod, node_name, allocation):
                self._reserve(pod, Reservation(node_name, allocation))
            case Unreserved(pod_uid):
                self._unreserve(pod_uid)
            case ListTaken():
                pass
            case (
                Expected() | Lapsed() | Relisted() | Remembered() | Synced() | Recount()
            ):
                self._turn(event)

    def _turn(
        self, event: Expected | Lapsed | Relisted | Remembered | Synced | Recount
    ) -> None:
        match event:
            case Expected(pod, until):
                if pod.uid not in self._pods and pod.uid not in self._gone:
                    self._admissions.expect(pod, until)
            case Lapsed(now):
                self._admissions.lapse(now)
            case Relisted():
                self._gone.clear()
            case Remembered(pod, standing, reservation):
                if reservation is not None:
                    self._reservations[pod.uid] = reservation
                self._restate(pod, standing)
            case Synced():
                self._is_synced = True
            case Recount():
                self._recount()

    def _reserve(self, pod: Pod, reservation: Reservation) -> None:
        if pod.uid not in self._pods:
            self._never_seen.add(pod.uid)
        known = self._pods.get(pod.uid, pod)
        if known.node_name is None:
            self._reservations[pod.uid] = reservation
        self._restate(known)

    def _see_node(self, node: Node) -> None:
        known = self._nodes.get(node.name)
        self._nodes[node.name] = node
        if known is not None and known.inventories == node.inventories:
            return  # its lock changes most often, and what its plugins report
        self._fleet.put(node, self.holdings_on(node.name))
        self._freed.note(node.name, self._generation)
        if node.is_usable:
            cause = Cause.INHERITED if known is None else Cause.SHRUNK
            self._judge_overfull(node.name, cause)

    def _see_pod(self, pod: Pod) -> None:
        self._admissions.arrive(pod.uid)
        known = self._pods.get(pod.uid)
        if pod.uid in self._gone or (known is not None and _is_older(pod, known)):
            return
        self._never_seen.discard(pod.uid)
        self._restate(pod)
        if pod.node_name is not None:
            self._reservations.pop(pod.uid, None)

    def _restate(self, pod: Pod, remembered: Standing | None = None) -> None:
        before = self._standings.get(pod.uid)
        reservation = self._reservations.get(pod.uid)
        standing = standing_of(pod, reservation, remembered or before)
        self._phase_counts.note(before, standing)
        self._count_quota(pod, standing)
        self._pods[pod.uid] = pod
        former = self._nominated.get(pod.uid)
        if former is not None and former.nominated_node != pod.nominated_node:
            self._drop_nomination(pod.uid)
        if _waits_on_a_node(pod, standing):
            self._nominated[pod.uid] = pod
        else:
            self._drop_nomination(pod.uid)
        self._standings[pod.uid] = standing
        waits = standing.holding is None and pod.waits_for_devices
        self._admissions.restate(pod, waits=waits)
        self._replace(pod.uid, before.holding if before else None, standing.holding)
        self._judge_holding(before, standing)

    def _unreserve(self, pod_uid: PodUID) -> None:
        if self._reservations.pop(pod_uid, None) is None:
            return
        if pod_uid in self._never_seen:
            self._forget(pod_uid)
        else:
            self._restate(self._pods[pod_uid])

    def _count_quota(self, pod: Pod, after: Standing | None) -> None:
        """Count a pod's new charge to its quotas instead of its former one."""
        known, before = self._pods.get(pod.uid), self._standings.get(pod.uid)
        old = Charged.of(known, before.quota if before else NO_CHARGES)
        new = Charged.of(pod, after.quota if after else NO_CHARGES)
        self._quotas.replace(old, new, self._generation)

    def _forget(self, pod_uid: PodUID) -> None:
        if pod_uid in self._pods:
            self._count_quota(self._pods[pod_uid], None)
            self._admissions.forget(self._pods[pod_uid])
        self._pods.pop(pod_uid, None)
        self._drop_nomination(pod_uid)
        self._never_seen.discard(pod_uid)
        self._reservations.pop(pod_uid, None)
        standing = self._standings.pop(pod_uid, None)
        if standing is not None:
            self._replace(pod_uid, standing.holding, None)
            self._judge_holding(standing, None)

    def _bury(self, pod_uid: PodUID) -> None:
        self._gone[pod_uid] = None
        if len(self._gone) > _GONE_KEPT:
            self._gone.popitem(last=False)

    def _judge_holding(self, before: Standing | None, after: Standing | None) -> None:
        """Find out whether a pod's change made cards overfull, or ended that."""
        old, new = bound_holding(before), bound_holding(after)
        if old == new:
            return
        if old is not None and (new is None or new.node_name != old.node_name):
            self._judge_overfull(old.node_name, Cause.INHERITED)
        if new is None:
            return
        if old is not None and old.node_name == new.node_name:
            self._judge_overfull(new.node_name, Cause.RE_INFLATED)
        elif not self._is_synced:
            self._judge_overfull(new.node_name, Cause.INHERITED)
        elif before is not None and before.holding == new:
            # As it was reserved, when there was room.
            self._judge_overfull(new.node_name, Cause.PLACED)
        else:
            self._judge_overfull(new.node_name, Cause.PLACED, new.charge)

    def _judge_overfull(
        self, node_name: NodeName, cause: Cause, placed_on: Collection[DeviceUUID] = ()
    ) -> None:
        is_known = self._overfull.is_known(node_name)
        if self._fleet.is_overfull(node_name) or (
            is_known and self._fleet.has_cards(node_name)
        ):
            node, held = self._nodes[node_name], self.holdings_on(node_name)
            # Cards of a silent plugin are judged when they count again: what happens
            # to others meanwhile is not what made them overfull.
            judged = {*self._overfull.causes.get(node_name, ())}
            for totals in self._fleet.totals(node_name).values():
                judged.update(totals.used)
            self._overfull.judge(
                node_name,
                self.overfull_on(node_name).keys() & judged,
                overfull_cards(node, held),
                cause,
                placed_on,
            )

    def _recount(self) -> None:
        self._fleet = Fleet(self._fleet.searches)
        self._held_on = {}
        self._quotas.clear_sums(self._generation)
        former, self._standings = self._standings, {}
        for pod_uid, pod in self._pods.items():
            reservation = self._reservations.get(pod_uid)
            standing = standing_of(pod, reservation, former.get(pod_uid))
            self._standings[pod_uid] = standing
            charged = Charged.of(pod, standing.quota)
            self._quotas.replace(None, charged, self._generation)
            if standing.holding is not None:
                held = self._held_on.setdefault(standing.holding.node_name, {})
                held[pod_uid] = standing.holding
        if self._changes is not None:
            for name in self.places():
                self._changes.note_node(name)
            for pod_uid in self._pods:
                self._changes.note_pod(pod_uid)
        for node in self._nodes.values():
            self._fleet.put(node, self.holdings_on(node.name))
            self._freed.note(node.name, self._generation)
            # Who trusted totals that were too low may have placed a pod without room.
            cause = Cause.PLACED if self._is_synced else Cause.INHERITED
            self._judge_overfull(node.name, cause)

    def _drop_nomination(self, pod_uid: PodUID) -> None:
        former = self._nominated.pop(pod_uid, None)
        if former is not None and former.nominated_node in self._nodes:
            self._freed.note(former.nominated_node, self._generation)

    def _replace(
        self, pod_uid: PodUID, old: Holding | None, new: Holding | None
    ) -> None:
        if old == new:
            return
        if self._changes is not None:
            for holding in filter(None, (old, new)):
                self._changes.note_node(holding.node_name)
        if old is not None:
            self._fleet.subtract(old)
            if old.node_name in self._nodes:
                self._freed.note(old.node_name, self._generation)
            held = self._held_on[old.node_name]
            del held[pod_uid]
            if not held:
                del self._held_on[old.node_name]
        if new is not None:
            self._fleet.add(new)
            self._held_on.setdefault(new.node_name, {})[pod_uid] = new


def _note(event: Event, changes: Changes | None) -> None:
    """Note what an event itself names; what is held is noted where that changes."""
    if changes is None:
        return
    match event:
        case NodeSeen(node):
            changes.note_node(node.name)
        case NodeGone(node_name):
            changes.note_node(node_name)
        case PodSeen(pod) | Reserved(pod, _, _):
            changes.note_pod(pod.uid)
        case PodGone(pod_uid) | Unreserved(pod_uid):
            changes.note_pod(pod_uid)
        case _:
            pass


def _is_older(shown: Pod, known: Pod) -> bool:
    """Whether a view steps back: a pod is never unbound again, nor unfinished."""
    return (known.node_name is not None and shown.node_name is None) or (
        known.status.is_finished and not shown.status.is_finished
    )


def _waits_on_a_node(pod: Pod, standing: Standing) -> bool:
    return (
        pod.nominated_node is not None
        and pod.node_name is None
        and standing.holding is None
        and pod.asks_for_devices
        and not pod.status.is_finished
        and not pod.status.is_terminating
    )
