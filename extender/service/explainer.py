"""explain: what filter would answer for a pod now, told in full; nothing changes."""

from collections.abc import Callable, Container, Generator, Iterable, Sequence
from dataclasses import replace
from typing import Final

from extender.core.holding import Holding
from extender.core.names import NodeName, PodUID
from extender.core.node import Node
from extender.core.pod import Pod
from extender.core.policies import Burst
from extender.errors import NotFound
from extender.service.exact import ExactPlaces
from extender.service.in_turns import in_turns
from extender.service.node_locks import NodeLocks
from extender.service.nominated import NominatedRoom
from extender.state.ledger_view import LedgerView
from extender.verbs.explain import (
    as_new,
    explain_placed,
    explain_steps,
    is_to_be_placed,
)
from extender.verbs.explanation import Explanation, LockView
from extender.verbs.filter import FilterDecision
from extender.verbs.missing import (
    FOR_AN_EVENT,
    Missing,
    is_still_missing,
    missing_steps,
)
from extender.verbs.moment import Moment
from extender.verbs.verdicts import NodeVerdict
from extender.wire.lock import decode_lock

_NODES_A_STEP: Final = 256
"""Of those that a pod is judged on for its Event."""


class Explainer:
    """Explains pods, in turns between which requests are answered."""

    def __init__(
        self,
        *,
        ledger: LedgerView,
        locks: NodeLocks,
        nominated: NominatedRoom,
        exact: ExactPlaces | None,
        burst: Burst,
        decide: Callable[[Pod, Sequence[NodeName]], FilterDecision],
        stuck: Callable[[], Iterable[tuple[NodeName, PodUID]]],
        with_problem: Callable[[NodeVerdict], NodeVerdict],
    ) -> None:
        """Explain what an extender decides.

        Args:
            ledger: The state.
            locks: Of nodes, and the binds at them.
            nominated: Room that is held for others.
            exact: Where filter chose places, in exact mode.
            burst: What counts more where many bind at once.
            decide: Filter's answer, without what filter notes of it.
            stuck: Nodes that are refused for a lock, and whose pod keeps it.
            with_problem: Adds to a verdict why no card of its node counts.
        """
        self._ledger = ledger
        self._locks = locks
        self._nominated = nominated
        self._exact = exact
        self._burst = burst
        self._decide = decide
        self._stuck = stuck
        self._with_problem = with_problem

    async def explain_named(
        self, namespace: str, name: str, wanted: Sequence[NodeName] = ()
    ) -> Explanation:
        """Explain a pod of the cluster.

        Args:
            namespace: Of the pod.
            name: The same.
            wanted: Nodes to be explained in full besides.

        Raises:
            NotFound: There is none, or it asks for no device: of others nothing is
                kept.
        """
        for pod in self._ledger.pods.values():
            if pod.name == name and pod.namespace == namespace:
                return await self.explain(pod, wanted)
        raise NotFound(
            f"pod {namespace}/{name} is not known: there is none of this name, or it "
            "asks for no device"
        )

    async def explain_manifest(
        self, pod: Pod, wanted: Sequence[NodeName] = ()
    ) -> Explanation:
        """Explain a pod as if it were created now; where it is bound does not count.

        Args:
            pod: As the manifest has it. Where a pod of its UID is known, what that
                holds is left out, as ever.
            wanted: As for `explain_named`.
        """
        new = as_new(pod)
        if not new.asks_for_devices and new.request_problem is None:
            return explain_placed(new, None, None)
        return await in_turns(self._steps(new, wanted))

    async def explain(self, pod: Pod, wanted: Sequence[NodeName] = ()) -> Explanation:
        """Explain a pod as it stands: what it holds, or where it would go, or why not.

        Args:
            pod: As the cluster shows it.
            wanted: As for `explain_named`.

        Cost: that of one filter, a few milliseconds for each node that is explained in
        full, and some more for the nearest miss.
        """
        standing = self._ledger.standing(pod.uid)
        if not is_to_be_placed(pod, standing):
            holding = standing.holding if standing else None
            name = holding.node_name if holding else pod.node_name
            node = None if name is None else self._ledger.nodes.get(name)
            return explain_placed(pod, standing, node)
        return await in_turns(self._steps(pod, wanted))

    async def missing(self, pod: Pod, node_names: Sequence[NodeName]) -> Missing | None:
        """Tell what a pod lacks that filter refused, as `explain` does, only shorter.

        Args:
            pod: As the cluster shows it.
            node_names: That kube-scheduler asked about: on others it may not be placed.

        Returns:
            None where it fits by now. What changed while it was looked at is left out.
        """
        return await in_turns(self._missing_steps(pod, node_names))

    def _missing_steps(
        self, pod: Pod, node_names: Sequence[NodeName]
    ) -> Generator[None, None, Missing | None]:
        decision = FilterDecision()
        for start in range(0, len(node_names), _NODES_A_STEP):
            part = self._decide(pod, [*node_names[start : start + _NODES_A_STEP]])
            if part.fitting:
                # Filter searches fewer ways to share a node's cards where it is asked
                # about more nodes: it may refuse all the same.
                fits = bool(self._decide(pod, [*node_names]).fitting)
                return None if fits else Missing()
            decision.failed.update(part.failed)
            decision.unresolvable.update(part.unresolvable)
            yield
        moment = Moment(
            ledger=self._ledger,
            pod=pod,
            node_names=tuple(node_names),
            decision=decision,
            nominated=self._nominated.nominations_against(pod),
            rooms=self._ledger.quota_rooms(pod),
        )
        missing = yield from missing_steps(moment, effort=FOR_AN_EVENT)
        names = [missing.nearest.node] if missing.nearest is not None else []
        now = self._decide(pod, names)
        if now.fitting:
            return None
        is_so = is_still_missing(
            missing,
            moment,
            self._ledger.quota_rooms(pod),
            self._nominated.nominations_against(pod),
            now,
        )
        return missing if is_so else Missing()

    def _steps(
        self, pod: Pod, wanted: Sequence[NodeName]
    ) -> Generator[None, None, Explanation]:
        generation = self._ledger.generation
        told = yield from explain_steps(self._moment(pod), wanted)
        is_same = self._ledger.generation == generation
        return replace(told, generation=generation, is_of_one_moment=is_same)

    def _moment(self, pod: Pod) -> Moment:
        names = tuple(sorted(self._ledger.nodes))
        return Moment(
            ledger=self._ledger,
            pod=pod,
            node_names=names,
            # A list: tuples of names are kept by the fleet, for those who ask again.
            decision=self._decide(pod, [*names]),
            nominated=self._nominated.nominations_against(pod),
            rooms=self._ledger.quota_rooms(pod),
            locks=self._lock_views(pod),
            expected=self._expected(pod),
            is_exact=self._exact is not None,
            binds_at=self._locks.binds_at(),
            burst=self._burst,
            with_problem=self._with_problem,
        )

    def _lock_views(self, pod: Pod) -> dict[NodeName, LockView]:
        stuck = {name for name, pod_uid in self._stuck() if pod_uid != pod.uid}
        seen = ((each, lock_of(each, stuck)) for each in self._ledger.nodes.values())
        return {node.name: lock for node, lock in seen if lock is not None}

    def _expected(self, pod: Pod) -> list[tuple[str, Holding]]:
        if self._exact is None:
            return []
        pods = self._ledger.pods
        return [
            (pods[pod_uid].full_name if pod_uid in pods else pod_uid, holding)
            for pod_uid, holding in self._exact.expected(pod.uid).items()
        ]


def lock_of(node: Node, stuck: Container[NodeName]) -> LockView | None:
    """Tell of a node's lock; None while nobody holds it.

    Args:
        node: Of the cluster.
        stuck: Nodes that are refused for their lock.
    """
    if node.lock is None and not node.own_locks:
        return None
    owner = None if node.lock is None else decode_lock(node.lock)
    holder = None if owner is None else f"{owner.namespace}/{owner.name}"
    return LockView(holder, refuses=node.name in stuck)
