"""The extender: one method per verb, over one ledger.

Each method is synchronous from reading the state to recording what was decided from
it: on one event loop, that is the lock. Only the effects between such steps are
awaited.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Final

from extender.core.arrays import Int64s
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.kinds import Kind
from extender.core.names import NodeName, PodUID
from extender.core.node import Node
from extender.core.pod import Pod
from extender.core.quota_room import Quota
from extender.core.reasons import Reason
from extender.errors import NotSynced
from extender.observe.decision_log import PodName
from extender.observe.loop_lag import measure_loop_lag_forever
from extender.observe.metrics import Metrics
from extender.observe.timing import Timing
from extender.observe.words import BindRefusal, Verb
from extender.service.admitter import Admitter
from extender.service.auditor import Auditor
from extender.service.binder import Binder
from extender.service.cluster import Cluster, NodeLock
from extender.service.decisions import Decisions
from extender.service.doctor import Doctor
from extender.service.event_writer import EventWriter
from extender.service.exact import ExactPlaces
from extender.service.explainer import Explainer, lock_of
from extender.service.figures import show_state, show_told
from extender.service.fit_counts import FitCounts
from extender.service.handshakes import Handshakes
from extender.service.inspector import Inspector
from extender.service.last_refusals import LastRefusals
from extender.service.node_locks import NodeLocks
from extender.service.nominated import NominatedRoom
from extender.service.planner import Planner
from extender.service.quota_admitter import QuotaAdmitter
from extender.service.quota_turns import QuotaTurns
from extender.service.snapshots import Snapshots
from extender.service.waker import Waker
from extender.settings import Settings
from extender.state.audit import Difference
from extender.state.events import (
    Event,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Synced,
)
from extender.state.ledger import Ledger
from extender.verbs.bind import choose_devices
from extender.verbs.decision import Circumstances, filtered
from extender.verbs.exact import Mode
from extender.verbs.filter import FilterDecision, Refusals
from extender.verbs.missing import missing_text
from extender.verbs.nominations import expected_holding
from extender.verbs.prioritize import score_nodes
from extender.verbs.verdicts import NodeVerdict, judge_node
from extender.wire.extender_v1 import BindingArgs, ExtenderArgs
from extender.wire.nodes import decode_node, has_same_devices
from extender.wire.pods import PodReader
from extender.wire.resource_quota import read_quota

DEFAULT_SETTINGS: Final = Settings()

_log = logging.getLogger(__name__)

_WARNED_PODS_KEPT = 10_000


class Extender:
    """kube-scheduler's verbs; owns the ledger.

    Not thread-safe: all calls come from one event loop.
    """

    def __init__(
        self,
        cluster: Cluster,
        reader: PodReader,
        unix_seconds: Callable[[], float],
        settings: Settings = DEFAULT_SETTINGS,
        *,
        metrics: Metrics | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Put an extender on a cluster.

        Args:
            cluster: Answers reads and takes the Bindings.
            reader: Reads the pods of requests, as the cluster's are read.
            unix_seconds: The clock for the times that are written.
            settings: How long to wait, and what is preferred.
            metrics: Where to count; its own without.
            monotonic: The clock for waiting.
        """
        self.reader = reader
        self.metrics = metrics or Metrics()
        self._cluster = cluster
        self._burst = settings.scheduling.burst
        self._kinds = reader.kinds
        self._node_selector = settings.scheduling.node_selector
        self._ledger = Ledger()
        self.last_refusals = LastRefusals(self._ledger)
        self._nominated = NominatedRoom(self._ledger)
        self._locks = NodeLocks(cluster, settings.bind, unix_seconds, monotonic)
        self._exact = (
            ExactPlaces(self._ledger, self._locks, self._burst, monotonic)
            if settings.scheduling.mode is Mode.EXACT
            else None
        )
        identity = f"gpu-extender_{uuid.uuid4()}"
        self._turns = QuotaTurns(
            cluster=cluster,
            identity=identity,
            settings=settings.quota,
            monotonic=monotonic,
            # The binder is made after this.
            is_open=lambda namespace: self._binder.is_open_in(namespace),  # noqa: PLW0108
        )
        self._binder = Binder(
            cluster=cluster,
            ledger=self._ledger,
            locks=self._locks,
            turns=self._turns,
            nominated=self._nominated,
            kinds=reader.kinds,
            settings=settings.bind,
            metrics=self.metrics,
            unix_seconds=unix_seconds,
            monotonic=monotonic,
        )
        self._waker = Waker(
            cluster=cluster,
            ledger=self._ledger,
            place_of=self._place_of,
            stuck_nodes=lambda: [node_name for node_name, _ in self._stuck()],
            settings=settings.waking,
            metrics=self.metrics,
            monotonic=monotonic,
        )
        self._auditor = Auditor(
            self._ledger, self.metrics, cluster.list_again, settings.audit_seconds
        )
        self.admitter = Admitter(lambda: self.reader, settings.admission, self.metrics)
        self.quota_admitter = QuotaAdmitter(
            ledger=self._ledger,
            reader=lambda: self.reader,
            is_synced=lambda: self._is_synced,
            settings=settings.admission,
            metrics=self.metrics,
            monotonic=monotonic,
        )
        self.explainer = Explainer(
            ledger=self._ledger,
            locks=self._locks,
            nominated=self._nominated,
            exact=self._exact,
            burst=self._burst,
            decide=lambda pod, names: self._decide(pod, self._ledger.fleet, names),
            stuck=self._stuck,
            with_problem=self._with_problem,
        )
        self.inspector = Inspector(
            self._ledger,
            lambda: self.reader.kinds,
            lambda node: lock_of(node, {name for name, _ in self._stuck()}),
        )
        self.doctor = Doctor(
            ledger=self._ledger,
            locks=self._locks,
            auditor=self._auditor,
            kinds=lambda: self.reader.kinds,
            settings=settings.bind,
            unix_seconds=unix_seconds,
        )
        self.snapshots = Snapshots(
            ledger=self._ledger,
            nominated=self._nominated,
            kinds=lambda: self.reader.kinds,
            given=self._circumstances,
            unix_seconds=unix_seconds,
            version=version("gpu-extender"),
        )
        self.planner = Planner(
            self._ledger, self._nominated, self._with_problem, monotonic
        )
        self._handshakes = Handshakes(cluster, self._ledger, unix_seconds)
        self._monotonic = monotonic
        self._events = EventWriter(
            cluster=cluster,
            pod_of=self._ledger.pods.get,
            look_for=self._look_for,
            reporter=identity,
            settings=settings.events,
            unix_seconds=unix_seconds,
            monotonic=monotonic,
        )
        self._told = Decisions(self._ledger, self._events, monotonic)
        self._fit_counts = FitCounts(self.metrics)
        self._is_synced = False
        show_state(
            self.metrics,
            self._ledger,
            settings.observe,
            is_synced=lambda: self._is_synced,
            expected_count=self.quota_admitter.expected,
            locked_nodes=self._locks.binds_at,
            stuck_nodes=lambda: list(self._stuck()),
        )
        show_told(self.metrics, self._events)
        self._warned: set[PodUID] = set()

    def read_with(self, reader: PodReader) -> None:
        """Count other kinds of device from now on.

        What was read before is told anew by a list; until then it counts as it did.
        """
        self.reader = reader
        self._kinds = reader.kinds
        self._binder.kinds = reader.kinds
        self._cluster.read_with(reader)
        self._cluster.list_again()

    @property
    def ledger(self) -> Ledger:
        """The state; for reading."""
        return self._ledger

    @property
    def is_synced(self) -> bool:
        """Whether nodes, pods and quotas have been listed and applied."""
        return self._is_synced

    def read_node(self, obj: object) -> Node:
        """Read a node object of a cluster or a request.

        Raises:
            BadObject: It is no object, or has no name.
        """
        return decode_node(obj, self._kinds, self._node_selector)

    def read_quota(self, obj: object) -> Quota:
        """Read a ResourceQuota, and log once what of it is not done as it says.

        Raises:
            BadObject: It is no object, or has no name.
        """
        quota = read_quota(obj, self._kinds)
        known = self._ledger.quotas.of(quota.namespace)
        if quota.warnings and quota not in known:
            name = f"{quota.namespace}/{quota.name}"
            _log.warning("resourcequota %s: %s", name, "; ".join(quota.warnings))
        return quota

    def take_in(self, event: Event) -> None:
        """Apply what the cluster shows, and wake the binds that wait for it."""
        match event:
            case NodeSeen(node):
                self._ledger.apply(event)
                lock = NodeLock(node.lock, node.version, dict(node.own_locks))
                self._locks.see(node.name, lock)
            case NodeGone(node_name):
                self._ledger.apply(event)
                self._locks.see(node_name, None)
            case PodSeen(pod):
                self._ledger.apply(event)
                if pod.node_name is not None:
                    self._binder.show_bound(pod)
                    self._locks.wake(pod.node_name)
            case PodGone(pod_uid):
                gone = self._ledger.pods.get(pod_uid)
                self._ledger.apply(event)
                self._waker.forget(pod_uid)
                self.last_refusals.drop(pod_uid)
                self._expect_nowhere(pod_uid)
                if gone is not None and gone.node_name is not None:
                    self._locks.wake(gone.node_name)
            case _:
                self._ledger.apply(event)

    def mark_synced(self) -> None:
        """Start to answer: all nodes, pods and quotas that there are were taken in."""
        self._ledger.apply(Synced())
        self._is_synced = True

    def filter(self, args: ExtenderArgs) -> FilterDecision:
        """Judge the pod on every candidate. Changes no charge.

        In exact mode, only the best of the nodes that fit is among the fitting ones;
        the others are left out.

        Raises:
            NotSynced: The state is not complete yet.
        """
        began = self._monotonic()
        self._check_synced(Verb.FILTER, args.pod)
        self._warn_once(args.pod)
        decision, refusals = self._filter(args)
        self._told.filtered(args, decision, refusals, began)
        return decision

    def _filter(self, args: ExtenderArgs) -> tuple[FilterDecision, Refusals]:
        fleet, node_names = self._candidates(args)
        decision = self._decide(args.pod, fleet, node_names)
        pod = args.pod
        refusals = decision.count_refusals()
        self._fit_counts.count(pod, decision, refusals)
        asks = pod.asks_for_devices and pod.request_problem is None
        if asks and not decision.fitting:
            self._waker.refused(pod, [*decision.failed, *decision.unresolvable])
            self.last_refusals.note(pod.uid, refusals)
            self._expect_nowhere(pod.uid)
            return decision, refusals
        self.last_refusals.drop(pod.uid)
        self._waker.forget(pod.uid)
        if asks and self._exact is not None:
            nominated = self._nominated.held_against(pod, fleet)
            chosen = self._exact.choose(fleet, pod, decision.fitting, nominated)
            decision.fitting = [chosen]
        return decision, refusals

    def _expect_nowhere(self, pod_uid: PodUID) -> None:
        if self._exact is not None:
            self._exact.forget(pod_uid)

    def _decide(
        self,
        pod: Pod,
        fleet: Fleet,
        node_names: Sequence[NodeName],
        beside: Sequence[Holding] = (),
    ) -> FilterDecision:
        held = [*self._nominated.held_against(pod, fleet), *beside]
        stuck = list(self._stuck())
        return filtered(self._ledger, pod, node_names, held, fleet=fleet, stuck=stuck)

    def _circumstances(self, pod: Pod) -> Circumstances:
        """Give what a pod's decision goes by besides the ledger."""
        expected: dict[PodUID, Holding] = {}
        if self._exact is not None:
            expected = self._exact.expected(pod.uid)
        return Circumstances(
            tuple(self._stuck()),
            self._locks.binds_at(),
            tuple(expected.values()),
            Mode.SCORED if self._exact is None else Mode.EXACT,
            self._burst,
        )

    def _place_of(
        self, pod: Pod, node_names: Sequence[NodeName], beside: Sequence[Holding]
    ) -> Holding | None:
        """Tell what a pod would hold on the first of these nodes that it fits on."""
        fleet, rooms = self._ledger.fleet, self._ledger.quota_rooms(pod)
        for node_name in self._decide(pod, fleet, node_names, beside).fitting:
            held = [*self._nominated.held_against(pod), *beside]
            allocation = choose_devices(fleet, pod, node_name, None, held, rooms=rooms)
            if allocation is not None:
                return expected_holding(pod, node_name, allocation)
        return None

    def _stuck(self) -> Iterator[tuple[NodeName, PodUID]]:
        """List nodes whose lock a pod keeps that waits for its devices, for long."""
        for node_name, owner in self._locks.stands.long_held():
            for there in self._ledger.pods_on(node_name):
                if (
                    there.is_unserved
                    and there.node_name == node_name
                    and (there.namespace, there.name) == (owner.namespace, owner.name)
                ):
                    yield node_name, there.uid

    def prioritize(self, args: ExtenderArgs) -> Int64s:
        """Score every candidate: int64 (N,), in the order asked. Changes nothing.

        Raises:
            NotSynced: The state is not complete yet.
        """
        began = self._monotonic()
        self._check_synced(Verb.PRIORITIZE, args.pod)
        fleet, node_names = self._candidates(args)
        own = self._ledger.holding(args.pod.uid)
        nominated = self._nominated.held_against(args.pod, fleet)
        scores = score_nodes(
            fleet,
            args.pod,
            node_names,
            own,
            nominated,
            binds_at=self._locks.binds_at(),
            burst=self._burst,
        )
        self._told.scored(args, scores, began)
        return scores

    def judge(self, pod: Pod, node_name: NodeName) -> NodeVerdict | None:
        """Tell with numbers why the pod does not fit on a node; None where it does."""
        fleet, own = self._ledger.fleet, self._ledger.holding(pod.uid)
        nominated = self._nominated.held_against(pod)
        rooms = self._ledger.quota_rooms(pod)
        verdict = judge_node(fleet, pod, node_name, own, nominated, rooms=rooms)
        return None if verdict is None else self._with_problem(verdict)

    def _with_problem(self, verdict: NodeVerdict) -> NodeVerdict:
        """Add why no card of the node counts, where that is so."""
        if verdict.problem is not None or verdict.kind is None:
            return verdict
        if verdict.reason is Reason.NODE_NOT_SELECTED:
            wanted = self._node_selector.text
            return replace(verdict, problem=f"its labels do not match {wanted}")
        kind = self._kinds[verdict.kind]
        problem = self._why_no_card_counts(verdict.node_name, kind)
        return replace(verdict, problem=problem)

    def _why_no_card_counts(self, node_name: NodeName, kind: Kind) -> str | None:
        node = self._ledger.nodes.get(node_name)
        if node is None:
            return "no such node"
        inventory = node.inventories.get(kind.type_word)
        if inventory is None:
            return f"no {_source_of(kind)}"
        if inventory.problem is not None:
            return inventory.problem
        if not inventory.devices:
            return f"{_source_of(kind)} lists no card"
        if not inventory.allocatable_slots:
            return f"allocatable {kind.count_resource} is 0: no live plugin"
        return None

    async def bind(self, args: BindingArgs, timing: Timing | None = None) -> str:
        """Commit the pod to a node: the only verb that changes anything.

        Args:
            args: Pod and node.
            timing: Is told which stage took how long.

        Returns:
            What went wrong, for kube-scheduler's log and event; empty on success, and
            also where the pod is already bound to this node.

        Raises:
            NotSynced: The state is not complete yet.
        """
        began = self._monotonic()
        try:
            self._check_synced(Verb.BIND, args)
        except NotSynced:
            self.metrics.bind_refusals.labels(BindRefusal.NOT_SYNCED).inc()
            raise
        timing = timing or self.metrics.time(Verb.BIND)
        try:
            problem = await self._binder.bind(args, timing)
        finally:
            self._expect_nowhere(args.uid)
        self._told.bound(args, problem, began)
        return problem

    async def finish(self) -> None:
        """Wait until every bind that was begun has ended, and give leases back."""
        await self._binder.finish()
        await self._turns.release_all()

    async def tend_forever(self) -> None:
        """Do, until cancelled, all that is due by time and not by a request.

        Find out what became of Bindings that no event shows; hand over the leases of
        namespaces; touch refused pods that kube-scheduler should try again; audit, and
        tell which cards are overfull; ask device plugins to register; write Events;
        measure how late all this is.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._binder.settle_forever())
            group.create_task(self._turns.tend_forever())
            group.create_task(self._waker.look_forever())
            group.create_task(self._auditor.audit_forever())
            group.create_task(self._auditor.tell_forever())
            group.create_task(self._handshakes.ask_forever())
            group.create_task(self._events.write_forever())
            group.create_task(measure_loop_lag_forever(self.metrics))

    async def audit(self) -> list[Difference]:
        """Recompute all totals from the pods, and mend what differs."""
        return await self._auditor.audit()

    async def ask_plugins(self) -> None:
        """Ask, once, the device plugins that wait to be asked to register."""
        await self._handshakes.ask()

    async def wake(self) -> None:
        """Touch, once, the refused pods that kube-scheduler should try again now."""
        await self._waker.look()

    def _candidates(self, args: ExtenderArgs) -> tuple[Fleet, Sequence[NodeName]]:
        """Give the cards to judge by, and the names in question.

        Nodes that come as objects are judged by the inventory they bring and the
        usage that the ledger has on them. Most bring the inventory that is known.
        """
        if args.nodes is None:
            return self._ledger.fleet, args.candidates
        known, selector = self._ledger.nodes, self._node_selector
        changed = [
            self.read_node(obj)
            for name, obj in args.nodes.items()
            if name not in known
            or not has_same_devices(known[name], obj, self._kinds, selector)
        ]
        return self._ledger.fleet_of(changed), args.candidates

    def _check_synced(self, verb: Verb, pod: Pod | BindingArgs) -> None:
        if self._is_synced:
            return
        error = NotSynced("nodes, pods and quotas have not been listed yet; try again")
        self._told.not_synced(verb, PodName.of(pod.namespace, pod.name, pod.uid), error)
        raise error

    async def _look_for(self, pod: Pod, node_names: Sequence[NodeName]) -> str | None:
        """Tell what a refused pod lacks, for its Event; see `EventWriter`."""
        missing = await self.explainer.missing(pod, node_names)
        return None if missing is None else missing_text(missing)

    def _warn_once(self, pod: Pod) -> None:
        if not pod.warnings or pod.uid in self._warned:
            return
        if len(self._warned) >= _WARNED_PODS_KEPT:
            self._warned.clear()
        self._warned.add(pod.uid)
        for warning in pod.warnings:
            _log.warning("pod %s: %s", pod.full_name, warning)


def _source_of(kind: Kind) -> str:
    """Name what tells a node's cards."""
    if kind.register_annotation is not None:
        return f"annotation {kind.register_annotation}"
    if kind.capacity_cards is not None:
        return f"capacity {kind.capacity_cards.resource}"
    return f"capacity {kind.count_resource}"
