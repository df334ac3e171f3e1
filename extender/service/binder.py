"""The commit of a bind: reserve, take the node's lock, fit again, write once."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from extender.core.allocation import Allocation
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.kind_set import Kinds
from extender.core.kinds import ServedBy
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.errors import Conflict, ExtenderError, NotFound
from extender.observe.metrics import Metrics
from extender.observe.timing import Timing
from extender.observe.waiting import Waiting
from extender.observe.words import BindRefusal, Stage
from extender.service.bind_checks import (
    binding_of,
    why_another,
    why_not_again,
    why_unbindable,
)
from extender.service.cluster import Cluster
from extender.service.node_locks import Kept, NodeLocks, Taken, Wanted
from extender.service.nominated import NominatedRoom
from extender.service.quota_turns import QuotaTurns
from extender.service.refused import Refused, why_refused
from extender.service.sent import SentBindings, described, is_bound
from extender.settings import BindSettings
from extender.state.events import Reserved, Unreserved
from extender.state.ledger import Ledger
from extender.verbs.bind import choose_devices
from extender.verbs.verdicts import judge_node
from extender.wire.allocation import allocation_labels
from extender.wire.binding import binding_annotations
from extender.wire.extender_v1 import BindingArgs

_log = logging.getLogger(__name__)

_SETTLE_PERIOD_SECONDS: Final = 1.0

_BOUND_MEANWHILE: Final = Conflict("the pod was bound meanwhile")


class Binder:
    """Binds one pod at a time to each node.

    A reservation stands from the first fit until an event shows the pod bound. It is
    undone only where the Binding was never sent, or the pod was read and is not bound.
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        ledger: Ledger,
        locks: NodeLocks,
        turns: QuotaTurns,
        nominated: NominatedRoom,
        kinds: Kinds,
        settings: BindSettings,
        metrics: Metrics,
        unix_seconds: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._ledger = ledger
        self._locks = locks
        self._turns = turns
        self._nominated = nominated
        self.kinds = kinds
        self._settings = settings
        self._metrics = metrics
        self._unix_seconds = unix_seconds
        self._monotonic = monotonic
        self._tasks: dict[PodUID, asyncio.Task[str]] = {}
        self._timings: dict[PodUID, Timing] = {}
        self._sent = SentBindings(
            cluster=cluster,
            ledger=ledger,
            locks=locks,
            settings=settings,
            metrics=metrics,
            monotonic=monotonic,
        )

    async def bind(self, args: BindingArgs, timing: Timing) -> str:
        """Bind a pod; gives what went wrong, empty on success.

        The bind is ours, not the caller's: one who goes away must not leave a write
        half done, and open the way for a second one.
        """
        if args.uid in self._tasks:
            return self._refused_at_once(
                BindRefusal.UNDER_WAY, "another bind of this pod is under way"
            )
        if self._sent.is_open(args.uid):
            return self._refused_at_once(
                BindRefusal.NOT_KNOWN_YET,
                "what became of an earlier bind of this pod is not known yet",
            )
        self._timings[args.uid] = timing
        task = asyncio.create_task(self._bind_to_the_end(args))
        self._tasks[args.uid] = task
        return await asyncio.shield(task)

    async def finish(self) -> None:
        """Wait until every bind that was begun has ended."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    def _refused_at_once(self, why: BindRefusal, text: str) -> str:
        self._metrics.bind_refusals.labels(why).inc()
        return Refused(why, text)

    async def _bind_to_the_end(self, args: BindingArgs) -> str:
        why = BindRefusal.FAULT
        try:
            problem = await self._bind(args)
            why = why_refused(problem)
        except ExtenderError as error:
            why = BindRefusal.API_ERROR
            problem = Refused(why, str(error))
        except Exception:
            self._metrics.bind_refusals.labels(why).inc()
            raise
        finally:
            self._timings.pop(args.uid).mark(Stage.COMMIT)
            del self._tasks[args.uid]
        self._metrics.binds.labels("refused" if problem else "bound").inc()
        if problem:
            self._metrics.bind_refusals.labels(why).inc()
            # The decision log has this, too, with the request's id.
            _log.debug("bind of %s refused: %s", described(args), problem)
        return problem

    async def _bind(self, args: BindingArgs) -> str:
        pod = await self._pod_to_bind(args)
        self._timings[args.uid].mark(Stage.WAIT)
        problem = why_another(pod, args)
        if problem is not None:
            return problem
        bound_to = pod.node_name or self._sent.node_of(pod.uid)
        if bound_to is not None:
            return why_not_again(bound_to, args)
        problem = why_unbindable(pod)
        if problem is not None:
            return problem
        if not pod.asks_for_devices:
            return await self._bind_plainly(args)
        fleet, own = self._ledger.fleet, self._ledger.holding(pod.uid)
        allocation = self._choose(fleet, pod, args.node_name, own)
        if allocation is None:
            return self._why_not(fleet, pod, args.node_name, own)
        self._ledger.apply(Reserved(pod, args.node_name, allocation))
        self._timings[args.uid].mark(Stage.FIT)
        try:
            return await self._commit_in_quota_turn(pod, args)
        finally:
            if not self._sent.holds(args.uid):
                self._ledger.apply(Unreserved(args.uid))

    def show_bound(self, pod: Pod) -> None:
        """Take note that an event shows a pod bound."""
        self._sent.show_bound(pod)

    def is_open_in(self, namespace: str) -> bool:
        """Tell whether a bind has ended, and nobody knows yet what became of it."""
        return any(uid not in self._tasks for uid in self._sent.open_in(namespace))

    async def _pod_to_bind(self, args: BindingArgs) -> Pod:
        pod = self._ledger.pods.get(args.uid)
        if pod is not None:
            return pod
        read = await self._cluster.read_pod(args.namespace, args.name)
        # What was seen in the meantime is at least as new as what was read.
        return self._ledger.pods.get(args.uid, read)

    async def _bind_plainly(self, args: BindingArgs) -> str:
        try:
            await self._cluster.bind(binding_of(args))
        except ExtenderError as error:
            try:
                pod = await self._cluster.read_pod(args.namespace, args.name)
            except ExtenderError:
                return str(error)
            return "" if is_bound(pod, args) else str(error)
        _log.debug("bound %s", described(args))
        return ""

    async def _commit_in_quota_turn(self, pod: Pod, args: BindingArgs) -> str:
        """Commit while no other extender binds pods under the same quotas."""
        deadline = self._monotonic() + self._settings.lock_wait_seconds
        if not self._ledger.quotas.limits_any(pod.namespace):
            return await self._commit_in_turn(pod, args, deadline)
        with Waiting(self._metrics.turn_wait_seconds) as waiting:
            async with self._turns.turn(pod.namespace, deadline) as has_turn:
                waiting.over(is_taken=has_turn)
                self._timings[args.uid].mark(Stage.WAIT)
                if not has_turn:
                    return Refused(
                        BindRefusal.LEASE_TAKEN,
                        f"another extender binds pods of namespace {pod.namespace}",
                    )
                return await self._commit_in_turn(pod, args, deadline)

    async def _commit_in_turn(
        self, pod: Pod, args: BindingArgs, deadline: float
    ) -> str:
        with Waiting(self._metrics.lock_wait_seconds) as waiting:
            async with self._locks.turn(args.node_name, deadline) as has_turn:
                if has_turn:
                    return await self._commit_with_lock(pod, args, deadline, waiting)
                waiting.over(is_taken=False)
                self._timings[args.uid].mark(Stage.WAIT)
                return Refused(
                    BindRefusal.NODE_BUSY,
                    f"node {args.node_name} is busy with binds that came before",
                )

    async def _commit_with_lock(
        self, pod: Pod, args: BindingArgs, deadline: float, waiting: Waiting
    ) -> str:
        """Commit once the node's lock is ours and nobody there is unserved."""
        node_name, timing = args.node_name, self._timings[args.uid]
        while True:
            wanted = Wanted(
                pod, self._own_locks(pod), lambda: self._blocker(args, None)
            )
            lock = await self._locks.take(wanted, node_name, deadline)
            waiting.over(is_taken=isinstance(lock, Taken))
            timing.mark(Stage.WAIT)
            if isinstance(lock, Kept):
                return Refused(
                    BindRefusal.NODE_LOCKED, f"node {node_name} is locked: {lock.why}"
                )
            blocker = await self._commit(pod, args, lock, deadline)
            if not isinstance(blocker, Pod):
                return blocker
            if not await self._is_served(blocker, node_name, deadline):
                waiting.over(is_taken=False)
                timing.mark(Stage.WAIT)
                return Refused(
                    BindRefusal.NODE_BUSY,
                    f"node {node_name} is busy: pod {blocker.full_name} waits for its "
                    "devices",
                )

    async def _commit(
        self, pod: Pod, args: BindingArgs, lock: Taken, deadline: float
    ) -> str | Pod:
        """Fit on what is bound there now, and bind; the node's lock is ours.

        Returns:
            What went wrong, empty on success; or the pod that must be served first.
        """
        is_ours_to_release = True
        try:
            await self._turns.keep(pod.namespace)
            left_seconds = max(0.0, deadline - self._monotonic())
            listed = await self._cluster.pods_on(
                args.node_name, lock.version, left_seconds
            )
            self._timings[args.uid].mark(Stage.WAIT)
            blocker = self._blocker(args, listed)
            if blocker is not None:
                return blocker
            shown = self._ledger.pods.get(args.uid)
            if shown is None:
                return Refused(
                    BindRefusal.DELETED, f"pod {pod.full_name} was deleted meanwhile"
                )
            if shown.node_name is not None:
                is_ours_to_release = False
                problem = await self._sent.after_failure(
                    args, lock.value, _BOUND_MEANWHILE
                )
                return Refused(BindRefusal.BOUND_ELSEWHERE, problem) if problem else ""
            fleet, own = self._ledger.fleet, self._ledger.holding(args.uid)
            if listed is not None:
                fleet = self._ledger.fleet_as_listed(args.node_name, listed, args.uid)
                own = None
            allocation = self._choose(fleet, shown, args.node_name, own)
            if allocation is None:
                return self._why_not(fleet, shown, args.node_name, own)
            unsent = self._why_not_send(shown)
            if unsent is not None:
                return unsent
            self._ledger.apply(Reserved(shown, args.node_name, allocation))
            self._timings[args.uid].mark(Stage.FIT)
            is_ours_to_release = False
            return await self._write(shown, args, allocation, lock.value)
        finally:
            if is_ours_to_release:
                await self._locks.release(args.node_name, lock.value)

    def _why_not_send(self, pod: Pod) -> str | None:
        """Tell why no Binding may be sent, though the pod fits; None where it may."""
        for request in pod.asking:
            if request.kind not in self.kinds.by_word:
                return Refused(
                    BindRefusal.KIND_GONE,
                    f"devices of kind {request.kind} are not configured any more",
                )
        namespace = pod.namespace
        is_limited = self._ledger.quotas.limits_any(namespace)
        if is_limited and not self._turns.may_send(namespace):
            return Refused(
                BindRefusal.LEASE_OVER,
                f"the lease of namespace {namespace} ran out, or there was none yet",
            )
        return None

    def _blocker(self, args: BindingArgs, listed: list[Pod] | None) -> Pod | None:
        """Give a pod that the node's plugin still has to serve.

        It would hand out the rows of the pod that the lock names to either of two.
        """
        pods = self._ledger.pods_on(args.node_name) if listed is None else listed
        for pod in pods:
            is_there = pod.node_name == args.node_name
            if is_there and pod.is_unserved and pod.uid != args.uid:
                return pod
        return None

    def _own_locks(self, pod: Pod) -> frozenset[str]:
        """Name the locks that its kinds have besides the common one."""
        kinds = [self.kinds.by_word.get(request.kind) for request in pod.asking]
        names = [kind.own_lock_annotation for kind in kinds if kind is not None]
        return frozenset(name for name in names if name is not None)

    def _choose(
        self, fleet: Fleet, pod: Pod, node_name: NodeName, own: Holding | None
    ) -> Allocation | None:
        nominated = self._nominated.held_against(pod)
        rooms = self._ledger.quota_rooms(pod)
        return choose_devices(fleet, pod, node_name, own, nominated, rooms=rooms)

    async def _is_served(
        self, blocker: Pod, node_name: NodeName, deadline: float
    ) -> bool:
        """Wait, without the lock, until a pod that came before is served."""
        while await self._locks.wait(node_name, deadline):
            try:
                there = await self._cluster.read_pod(blocker.namespace, blocker.name)
            except NotFound:
                return True
            if there.uid != blocker.uid or not there.is_unserved:
                return True
        return False

    async def _write(
        self, pod: Pod, args: BindingArgs, allocation: Allocation, lock_value: str
    ) -> str:
        node = self._ledger.nodes.get(args.node_name)
        # The kinds may be others once the Binding is answered.
        asked = [self.kinds[request.kind] for request in pod.asking]
        annotations = binding_annotations(
            pod,
            self.kinds.by_word,
            node_name=args.node_name,
            devices=node.devices if node is not None else (),
            allocation=allocation,
            unix_seconds=self._unix_seconds(),
        )
        binding = binding_of(args, annotations, allocation_labels(args.node_name))
        self._sent.note(args, lock_value, is_answered=False)
        try:
            await self._cluster.bind(binding, lambda: self._why_not_send(pod) is None)
        except ExtenderError as error:
            problem = await self._sent.after_failure(args, lock_value, error)
            if problem:
                return problem
            _log.info("found bound: %s", described(args))
        else:
            self._sent.note(args, lock_value, is_answered=True)
            _log.debug("bound %s", described(args))
            if all(kind.served_by is ServedBy.NOTHING for kind in asked):
                await self._locks.release(args.node_name, lock_value)
        return ""

    async def settle_forever(self) -> None:
        """Settle, until cancelled, the Bindings that no event has shown in time."""
        while True:
            await asyncio.sleep(_SETTLE_PERIOD_SECONDS)
            await self.settle()

    async def settle(self) -> None:
        """Settle what is due, once, and give back locks that were left."""
        await self._sent.settle(self._tasks)
        await self._locks.tidy(self._needs_lock, self._is_selected)

    def _needs_lock(self, uid: PodUID, node_name: NodeName) -> bool:
        if uid in self._tasks or self._ledger.reservation(uid) is not None:
            return True
        pod = self._ledger.pods.get(uid)
        return pod is not None and pod.node_name == node_name and pod.is_unserved

    def _is_selected(self, node_name: NodeName) -> bool:
        node = self._ledger.nodes.get(node_name)
        return node is None or not node.is_left_out

    def _why_not(
        self, fleet: Fleet, pod: Pod, node_name: NodeName, own: Holding | None
    ) -> str:
        verdict = judge_node(
            fleet,
            pod,
            node_name,
            own,
            self._nominated.held_against(pod),
            rooms=self._ledger.quota_rooms(pod),
        )
        reasons = verdict.reasons if verdict else ()
        self._timings[pod.uid].mark(Stage.FIT)
        return Refused(
            BindRefusal.NO_LONGER_FITS,
            f"no longer fits: {', '.join(reason.value for reason in reasons)}",
        )
