"""Shadow mode: an extender that watches another scheduler, judges, and writes nothing.

What HAMi assigns counts in the ledger from then on, as it does in HAMi's own books: as
a reservation in memory until the pod is shown bound. So each decision is judged by what
was taken before it.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extender.core.allocation import UnreadableAllocation
from extender.core.holding import Holding
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.observe.loop_lag import measure_loop_lag_forever
from extender.observe.metrics import Metrics
from extender.observe.read import SHADOW_DECISIONS
from extender.observe.timing import Timing
from extender.observe.words import BindRefusal, Stage
from extender.service.cluster import Cluster
from extender.service.extender import DEFAULT_SETTINGS, Extender
from extender.service.read_only import ReadOnlyCluster
from extender.service.shadow_book import ShadowBook
from extender.service.shadow_text import told
from extender.settings import Settings
from extender.state.events import (
    Event,
    ListTaken,
    PodGone,
    PodSeen,
    Relisted,
    Reserved,
    Unreserved,
)
from extender.verbs.prioritize import best_node, score_nodes
from extender.verbs.shadow import (
    Judgement,
    Outcome,
    Seat,
    charge_by_hami,
    judge_assignment,
    judge_pending,
    others,
    summed,
)
from extender.verbs.shadow_cases import Cases, Choice, gives_up
from extender.wire.extender_v1 import BindingArgs
from extender.wire.pods import PodReader

_log = logging.getLogger(__name__)

_MOST_PER_LOOK: Final = 50
"""Pending pods judged in one look; the others are next. Each takes some milliseconds on
5,000 nodes."""


@dataclass(slots=True)
class _Waiting:
    """A pod that the other scheduler leaves pending.

    Attributes:
        fits_since: By our clock; None while it does not fit.
        holding: What it would hold, meanwhile.
        told: The outcomes that were counted for it.
        generation: Of the ledger when it was judged last.
    """

    fits_since: float | None = None
    holding: Holding | None = None
    told: frozenset[Outcome] = frozenset()
    generation: int = -1


class ShadowExtender(Extender):
    """Judges what another scheduler decides; see `Extender` for the verbs.

    filter and prioritize may be asked, as of any extender. bind answers an error. No
    method writes: not a lock, a lease, an annotation, a label or an event.
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
        """Watch a cluster; arguments as for `Extender`."""
        super().__init__(
            ReadOnlyCluster(cluster),
            reader,
            unix_seconds,
            replace(settings, events=replace(settings.events, is_written=False)),
            metrics=metrics,
            monotonic=monotonic,
        )
        self._settings = settings.shadow
        self._unix_seconds = unix_seconds
        self._monotonic = monotonic
        self._cases = Cases()
        self._is_in_list = False
        self._assigned: dict[PodUID, float] = {}
        self._waiting: dict[PodUID, _Waiting] = {}
        self.book = ShadowBook(unix_seconds(), settings.shadow.differences_kept)
        self.metrics.show(
            SHADOW_DECISIONS,
            lambda: {each.value: n for each, n in self.book.totals.items()},
        )

    async def bind(self, args: BindingArgs, timing: Timing | None = None) -> str:
        """Bind nothing, and say so."""
        self.metrics.bind_refusals.labels(BindRefusal.SHADOW).inc()
        if timing is not None:
            timing.mark(Stage.FIT)
        return (
            f"pod {args.namespace}/{args.name} is not bound: this extender runs in "
            "shadow mode and writes nothing"
        )

    async def tend_forever(self) -> None:
        """Audit, tell which cards are overfull, and judge who is left pending."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._auditor.audit_forever())
            group.create_task(self._auditor.tell_forever())
            group.create_task(self._look_forever())
            group.create_task(measure_loop_lag_forever(self.metrics))

    def take_in(self, event: Event) -> None:
        """Judge what an event decides by all that came before it, and apply it."""
        match event:
            case Relisted():
                self._is_in_list = True
            case ListTaken():
                self._is_in_list = False
            case PodSeen(pod):
                self._see(pod)
                return
            case PodGone(pod_uid):
                self._cases.forget(pod_uid)
                self._assigned.pop(pod_uid, None)
                self._waiting.pop(pod_uid, None)
            case _:
                pass
        super().take_in(event)

    def _see(self, pod: Pod) -> None:
        known = self._ledger.pods.get(pod.uid)
        choice = self._cases.new_choice(pod, known)
        if choice is not None:
            self._judge(pod, choice)
        super().take_in(PodSeen(pod))
        if choice is not None:
            self._count(pod, choice)
        elif gives_up(pod, known):
            self._drop_assignment(pod.uid)
        if pod.node_name is not None:
            self._assigned.pop(pod.uid, None)
            self._waiting.pop(pod.uid, None)
        elif pod.placing.refusal is not None and pod.waits_for_devices:
            self._waiting.setdefault(pod.uid, _Waiting())

    def _judge(self, pod: Pod, choice: Choice) -> None:
        if not self.is_synced:
            return  # it was placed before we came: audited, and not judged
        if self._is_in_list:
            self._note(pod, Judgement(Outcome.NOT_JUDGED, choice.node_name))
            return
        match choice.allocation:
            case UnreadableAllocation(problem=problem):
                judgement = Judgement(
                    Outcome.UNREADABLE, choice.node_name, problem=problem
                )
            case None:
                judgement = Judgement(
                    Outcome.WITHOUT_CARDS,
                    choice.node_name,
                    problem=pod.request_problem or "",
                )
            case allocation:
                seat = self._seat(pod, choice.node_name)
                judgement = judge_assignment(pod, choice.node_name, allocation, seat)
        self._note(pod, judgement)

    def _count(self, pod: Pod, choice: Choice) -> None:
        """Hold in memory what an unbound pod was assigned."""
        allocation = choice.allocation
        if choice.is_bound or allocation is None:
            return
        if isinstance(allocation, UnreadableAllocation):
            return
        self._ledger.apply(Reserved(pod, choice.node_name, allocation))
        until = self._monotonic() + self._settings.assignment_seconds
        self._assigned[pod.uid] = until

    def _drop_assignment(self, pod_uid: PodUID) -> None:
        self._assigned.pop(pod_uid, None)
        if self._ledger.reservation(pod_uid) is not None:
            self._ledger.apply(Unreserved(pod_uid))

    def _seat(
        self, pod: Pod, node_name: NodeName, beside: Sequence[Holding] = ()
    ) -> Seat:
        ledger = self._ledger
        stuck = {name for name, uid in self._stuck() if uid != pod.uid}
        theirs = [
            charge_by_hami(each, standing.charged_by[-1])
            for each in ledger.pods_on(node_name)
            if each.uid != pod.uid
            and (standing := ledger.standing(each.uid)) is not None
            and standing.charged_by
        ]
        return Seat(
            fleet=ledger.fleet,
            node=ledger.nodes.get(node_name),
            beside=others(ledger.holders_on(node_name), pod.uid),
            beside_theirs=summed(theirs),
            own=ledger.holding(pod.uid),
            nominated=[*self._nominated.held_against(pod), *beside],
            rooms=ledger.quota_rooms(pod),
            is_locked=node_name in stuck,
        )

    async def _look_forever(self) -> None:
        while True:
            await asyncio.sleep(self._settings.look_seconds)
            await self.look()

    async def look(self) -> None:
        """Drop assignments that came to nothing, and judge who is left pending."""
        now = self._monotonic()
        for pod_uid, until in list(self._assigned.items()):
            if until <= now:
                self._drop_assignment(pod_uid)
        for pod_uid in list(self._waiting)[:_MOST_PER_LOOK]:
            waiting = self._waiting.pop(pod_uid, None)
            pod = self._left_pending(pod_uid)
            if waiting is None or pod is None:
                continue
            self._waiting[pod_uid] = waiting  # behind all others
            if self._ledger.reservation(pod_uid) is None:
                self._look_at(pod, waiting)
                await asyncio.sleep(0)  # events are taken in first

    def _left_pending(self, pod_uid: PodUID) -> Pod | None:
        pod = self._ledger.pods.get(pod_uid)
        if pod is None or pod.placing.refusal is None or not pod.waits_for_devices:
            return None
        return pod

    def _look_at(self, pod: Pod, waiting: _Waiting) -> None:
        now, generation = self._monotonic(), self._ledger.generation
        if waiting.fits_since is None and waiting.generation == generation:
            return  # nothing has changed
        waiting.generation = generation
        judgement = self._pending(pod)
        if judgement.outcome is not Outcome.WOULD_PLACE:
            waiting.fits_since = waiting.holding = None
        elif waiting.fits_since is None:
            waiting.fits_since, waiting.holding = now, judgement.holding
            return
        elif now - waiting.fits_since < self._settings.patience_seconds:
            return
        if judgement.outcome not in waiting.told:
            waiting.told |= {judgement.outcome}
            self._note(pod, judgement)

    def _pending(self, pod: Pod) -> Judgement:
        """Judge a pending pod; what others would be given is not given twice."""
        ledger = self._ledger
        beside = [
            each.holding
            for uid, each in self._waiting.items()
            if uid != pod.uid and each.holding is not None
        ]
        decision = self._decide(pod, ledger.fleet, tuple(ledger.nodes), beside)
        if not decision.fitting:
            return judge_pending(pod, None, None)
        held = [*self._nominated.held_against(pod), *beside]
        scores = score_nodes(ledger.fleet, pod, decision.fitting, None, held)
        score_of = dict(zip(decision.fitting, scores.tolist(), strict=True))
        node_name = best_node(score_of)
        return judge_pending(pod, node_name, self._seat(pod, node_name, beside))

    def _note(self, pod: Pod, judgement: Judgement) -> None:
        self.book.note(self._unix_seconds(), pod, judgement)
        if judgement.outcome.is_difference:
            text = told(pod, judgement)
            # One line each, whatever others wrote into it.
            shown = text if text.isprintable() else ascii(text)[1:-1]
            _log.warning("shadow: %s", shown)
