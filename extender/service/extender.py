"""The extender: one method per verb, over one ledger.

Each method is synchronous from reading the state to recording what was decided from
it: on one event loop, that is the lock. Only the effects between such steps are
awaited.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.model import Allocation, NodeName, Pod, PodUID
from extender.errors import ClusterError, NotSynced
from extender.state.events import Event, Reserved, Unreserved
from extender.state.ledger import Ledger
from extender.verbs.bind import choose_devices
from extender.verbs.filter import FilterDecision, filter_nodes
from extender.verbs.nominations import nominated_holdings
from extender.verbs.prioritize import score_nodes
from extender.verbs.verdicts import NodeVerdict, judge_node
from extender.wire.allocation import allocation_annotations, allocation_labels
from extender.wire.extender_v1 import BindingArgs, ExtenderArgs
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader

_log = logging.getLogger(__name__)

_WARNED_PODS_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Binding:
    """One write that binds a pod and tells the device plugin its cards.

    The cluster applies it as one: node, annotations and labels together, and only to
    an unbound pod of this UID.
    """

    namespace: str
    name: str
    uid: PodUID
    node_name: NodeName
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


class Cluster(Protocol):
    """What the extender needs of a cluster besides its events."""

    async def read_pod(self, namespace: str, name: str) -> Pod:
        """Read a pod as the API has it now.

        Raises:
            NotFound: There is none of this name.
        """

    async def bind(self, binding: Binding) -> None:
        """Write a Binding. The pod is shown bound by an event, not by this call.

        Raises:
            NotFound: There is no such pod.
            Conflict: It has another UID, is bound already, or is being deleted.
        """


class Extender:
    """kube-scheduler's verbs; owns the ledger.

    Not thread-safe: all calls come from one event loop.
    """

    def __init__(
        self,
        cluster: Cluster,
        reader: PodReader,
        unix_seconds: Callable[[], float],
    ) -> None:
        """Put an extender on a cluster.

        Args:
            cluster: Answers reads and takes the Bindings.
            reader: Reads the pods of requests, as the cluster's are read.
            unix_seconds: The clock for the times that are written.
        """
        self.reader = reader
        self._kind = reader.kind
        self._cluster = cluster
        self._unix_seconds = unix_seconds
        self._ledger = Ledger()
        self._is_synced = False
        self._binding: set[PodUID] = set()
        self._warned: set[PodUID] = set()

    @property
    def ledger(self) -> Ledger:
        """The state; for reading."""
        return self._ledger

    @property
    def is_synced(self) -> bool:
        """Whether nodes and pods have been listed and applied."""
        return self._is_synced

    def take_in(self, event: Event) -> None:
        """Apply what the cluster shows."""
        self._ledger.apply(event)

    def mark_synced(self) -> None:
        """Start to answer: every node and pod that there is has been taken in."""
        self._is_synced = True

    def filter(self, args: ExtenderArgs) -> FilterDecision:
        """Judge the pod on every candidate. Changes nothing.

        Raises:
            NotSynced: The state is not complete yet.
        """
        self._check_synced()
        self._warn_once(args.pod)
        fleet, node_names = self._candidates(args)
        own = self._ledger.holding(args.pod.uid)
        nominated = self._nominated(fleet, args.pod)
        return filter_nodes(fleet, args.pod, node_names, own, nominated)

    def prioritize(self, args: ExtenderArgs) -> list[tuple[NodeName, int]]:
        """Score every candidate. Changes nothing.

        Raises:
            NotSynced: The state is not complete yet.
        """
        self._check_synced()
        fleet, node_names = self._candidates(args)
        own = self._ledger.holding(args.pod.uid)
        return score_nodes(fleet, args.pod, node_names, own)

    def judge(self, pod: Pod, node_name: NodeName) -> NodeVerdict | None:
        """Tell with numbers why the pod does not fit on a node; None where it does."""
        fleet, own = self._ledger.fleet, self._ledger.holding(pod.uid)
        verdict = judge_node(fleet, pod, node_name, own, self._nominated(fleet, pod))
        if verdict is None or verdict.problem is not None:
            return verdict
        return replace(verdict, problem=self._why_no_card_counts(node_name))

    def _nominated(self, fleet: Fleet, pod: Pod) -> list[Holding]:
        return nominated_holdings(fleet, self._ledger.nominated_before(pod))

    def _why_no_card_counts(self, node_name: NodeName) -> str | None:
        node = self._ledger.nodes.get(node_name)
        if node is None:
            return "no such node"
        if node.inventory_problem is not None:
            return node.inventory_problem
        if node.devices is None:
            return f"no annotation {self._kind.register_annotation}"
        if not node.devices:
            return f"annotation {self._kind.register_annotation} lists no card"
        if not node.allocatable_slots:
            return f"allocatable {self._kind.count_resource} is 0: no live plugin"
        return None

    async def bind(self, args: BindingArgs) -> str:
        """Commit the pod to a node: the only verb that changes anything.

        Returns:
            What went wrong, for kube-scheduler's log and event; empty on success, and
            also where the pod is already bound to this node.

        Raises:
            NotSynced: The state is not complete yet.
        """
        self._check_synced()
        if args.uid in self._binding:
            return "another bind of this pod is under way"
        self._binding.add(args.uid)
        try:
            problem = await self._bind(args)
        except ClusterError as error:
            problem = str(error)
        finally:
            self._binding.discard(args.uid)
        if problem:
            _log.warning("bind of %s refused: %s", _described(args), problem)
        return problem

    async def _bind(self, args: BindingArgs) -> str:
        pod = await self._pod_to_bind(args)
        if pod.node_name == args.node_name and pod.uid == args.uid:
            return ""
        problem = _why_unbindable(pod, args)
        if problem is not None:
            return problem
        if not pod.request.asks_for_devices:
            await self._write(_binding(args))
            return ""
        own = self._ledger.holding(pod.uid)
        allocation = choose_devices(self._ledger.fleet, pod, args.node_name, own)
        if allocation is None:
            return self._why_not(pod, args.node_name)
        await self._commit(pod, args, allocation)
        return ""

    async def _pod_to_bind(self, args: BindingArgs) -> Pod:
        pod = self._ledger.pods.get(args.uid)
        if pod is None:
            pod = await self._cluster.read_pod(args.namespace, args.name)
        return pod

    async def _commit(
        self, pod: Pod, args: BindingArgs, allocation: Allocation
    ) -> None:
        self._ledger.apply(Reserved(pod, args.node_name, allocation))
        annotations = allocation_annotations(
            self._kind, args.node_name, allocation, int(self._unix_seconds())
        )
        labels = allocation_labels(args.node_name)
        try:
            await self._write(_binding(args, annotations, labels))
        except ClusterError:
            self._ledger.apply(Unreserved(pod.uid))
            raise

    async def _write(self, binding: Binding) -> None:
        await self._cluster.bind(binding)
        _log.info("bound %s", _described(binding))

    def _why_not(self, pod: Pod, node_name: NodeName) -> str:
        verdict = self.judge(pod, node_name)
        reasons = verdict.reasons if verdict else ()
        return f"no longer fits: {', '.join(reason.value for reason in reasons)}"

    def _candidates(self, args: ExtenderArgs) -> tuple[Fleet, Sequence[NodeName]]:
        """Give the cards to judge by, and the names in question.

        Nodes that come as objects are judged by the inventory they bring and the
        usage that the ledger has on them.
        """
        if args.nodes is None:
            return self._ledger.fleet, args.node_names or []
        nodes = [decode_node(item, self._kind) for item in args.nodes.values()]
        return self._ledger.fleet_of(nodes), list(args.nodes)

    def _check_synced(self) -> None:
        if not self._is_synced:
            raise NotSynced("nodes and pods have not been listed yet; try again")

    def _warn_once(self, pod: Pod) -> None:
        if not pod.warnings or pod.uid in self._warned:
            return
        if len(self._warned) >= _WARNED_PODS_KEPT:
            self._warned.clear()
        self._warned.add(pod.uid)
        for warning in pod.warnings:
            _log.warning("pod %s: %s", pod.full_name, warning)


def _why_unbindable(pod: Pod, args: BindingArgs) -> str | None:
    """Tell why no node at all will do; None where one may."""
    if pod.uid != args.uid:
        return f"the pod of this name has uid {pod.uid}"
    if (pod.namespace, pod.name) != (args.namespace, args.name):
        return f"the pod of this uid is {pod.full_name}"
    if pod.node_name is not None:
        return f"the pod is already bound to {pod.node_name}"
    return pod.request_problem


def _described(of: BindingArgs | Binding) -> str:
    return f"{of.namespace}/{of.name} (uid {of.uid}) to {of.node_name}"


def _binding(
    args: BindingArgs,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Binding:
    return Binding(
        args.namespace,
        args.name,
        args.uid,
        args.node_name,
        annotations or {},
        labels or {},
    )
