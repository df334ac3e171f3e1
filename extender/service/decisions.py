"""Telling of decisions: a log line for each, and Events for those that pods wait on."""

from collections.abc import Callable
from typing import Final

import numpy as np

from extender.core.arrays import Int64s
from extender.core.pod import Pod
from extender.errors import NotSynced
from extender.observe.decision_log import (
    Decision,
    FilteredNodes,
    Placed,
    PodName,
    Scores,
    cut,
    is_told,
    tell,
)
from extender.observe.pod_events import (
    bind_event,
    impossible_event,
    refused_event,
)
from extender.observe.words import Verb, VerbOutcome
from extender.service.event_writer import EventWriter
from extender.service.refused import why_refused
from extender.state.ledger_view import LedgerView
from extender.verbs.filter import FilterDecision, Refusals
from extender.wire.extender_v1 import BindingArgs, ExtenderArgs

_BOUND_OR_NOT: Final = {True: VerbOutcome.REFUSED, False: VerbOutcome.BOUND}


class Decisions:
    """Told of each answer of kube-scheduler's verbs, right after it was found.

    Counting is done here; texts are made later, and elsewhere.
    """

    def __init__(
        self, ledger: LedgerView, events: EventWriter, monotonic: Callable[[], float]
    ) -> None:
        self._ledger = ledger
        self._events = events
        self._monotonic = monotonic

    def filtered(
        self,
        args: ExtenderArgs,
        decision: FilterDecision,
        refusals: Refusals,
        began: float,
    ) -> None:
        """Tell how filter answered.

        Args:
            args: About which pod, on which nodes.
            decision: The answer.
            refusals: Those of the decision, counted.
            began: When it was asked, on the monotonic clock.
        """
        pod = args.pod
        asks = pod.asks_for_devices or pod.request_problem is not None
        is_refusal = asks and not decision.fitting
        is_noted = is_refusal and self._events.is_written
        if not is_noted and not is_told(is_refusal=is_refusal):
            return
        took = self._monotonic() - began
        failed, unresolvable = refusals.failed, refusals.unresolvable
        if is_noted and (failed or unresolvable):
            self._events.note(
                pod.uid,
                refused_event(failed, unresolvable)
                if pod.request_problem is None
                else impossible_event(pod.request_problem),
                args.candidates,
            )
        outcome = VerbOutcome.FITS_NOWHERE if is_refusal else VerbOutcome.FITS
        nodes = FilteredNodes(
            len(decision.fitting),
            failed.total(),
            unresolvable.total(),
            failed + unresolvable,
        )
        tell(
            Decision(
                Verb.FILTER,
                _named(pod),
                outcome if asks else VerbOutcome.NO_DEVICES,
                is_refusal=is_refusal,
                generation=self._ledger.generation,
                duration_seconds=took,
                detail=nodes,
            )
        )

    def scored(self, args: ExtenderArgs, scores: Int64s, began: float) -> None:
        """Tell how prioritize answered; `began` as for `filtered`."""
        if not is_told(is_refusal=False):
            return
        took = self._monotonic() - began
        counts = np.bincount(scores)
        best = cut(args.candidates[int(scores.argmax())]) if scores.size else ""
        told = {score: int(counts[score]) for score in np.flatnonzero(counts).tolist()}
        tell(
            Decision(
                Verb.PRIORITIZE,
                _named(args.pod),
                VerbOutcome.SCORED,
                is_refusal=False,
                generation=self._ledger.generation,
                duration_seconds=took,
                detail=Scores(told, best),
            )
        )

    def bound(self, args: BindingArgs, problem: str, began: float) -> None:
        """Tell how bind answered; `began` as for `filtered`."""
        pod = self._ledger.pods.get(args.uid)
        asks = pod is not None and pod.asks_for_devices
        if asks and problem:
            event = bind_event(why_refused(problem), problem)
            if event is not None:
                self._events.note(args.uid, event)
        if not is_told(is_refusal=bool(problem)):
            return
        holding = None if problem else self._ledger.holding(args.uid)
        tell(
            Decision(
                Verb.BIND,
                PodName.of(args.namespace, args.name, args.uid),
                _BOUND_OR_NOT[bool(problem)],
                is_refusal=bool(problem),
                generation=self._ledger.generation,
                duration_seconds=self._monotonic() - began,
                problem=str(problem),
                detail=Placed(cut(args.node_name), holding.charge if holding else {}),
            )
        )

    def not_synced(self, verb: Verb, pod: PodName, error: NotSynced) -> None:
        """Tell that nothing could be said yet."""
        tell(
            Decision(
                verb,
                pod,
                VerbOutcome.NOT_SYNCED,
                is_refusal=True,
                generation=self._ledger.generation,
                duration_seconds=0.0,
                problem=str(error),
            )
        )


def _named(pod: Pod) -> PodName:
    return PodName.of(pod.namespace, pod.name, pod.uid)
