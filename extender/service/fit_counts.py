"""Counts what filter says of nodes, and why."""

from typing import Final

from prometheus_client import Counter as Metric

from extender.core.pod import Pod
from extender.observe.metrics import Metrics
from extender.observe.words import FIT_REASONS, REQUEST_UNUSABLE, NodeAnswer
from extender.verbs.filter import FilterDecision, Refusals

_TEXTS_KEPT: Final = 1_000
"""Texts whose reasons stay told apart. A few dozen come up."""


class FitCounts:
    """What all filters said since the start.

    Cost: `FilterDecision.count_refusals`; all nodes of a large cluster make 0.15 ms
    beside the milliseconds that judging them takes.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._answers = {each: metrics.fit_nodes.labels(each) for each in NodeAnswer}
        self._reasons = {
            word: metrics.fit_refusals.labels(word) for word in FIT_REASONS
        }
        self._of_text: dict[str, list[Metric]] = {}

    def count(self, pod: Pod, decision: FilterDecision, refusals: Refusals) -> None:
        """Count a decision about a pod; one that asks for no device says nothing.

        Args:
            pod: About which.
            decision: How filter answered.
            refusals: Those of the decision.
        """
        if not pod.asks_for_devices and pod.request_problem is None:
            return
        self._answers[NodeAnswer.FITS].inc(len(decision.fitting))
        self._answers[NodeAnswer.FAILED].inc(len(decision.failed))
        self._answers[NodeAnswer.UNRESOLVABLE].inc(len(decision.unresolvable))
        if pod.request_problem is not None:
            self._reasons[REQUEST_UNUSABLE].inc(len(decision.unresolvable))
            return
        for counts in (refusals.failed, refusals.unresolvable):
            for text, count in counts.items():
                for metric in self._metrics_of(text):
                    metric.inc(count)

    def _metrics_of(self, text: str) -> list[Metric]:
        """Find the counters of a text: reasons, joined by commas."""
        found = self._of_text.get(text)
        if found is None:
            found = [
                self._reasons[word]
                for word in text.split(", ")
                if word in self._reasons
            ]
            if len(self._of_text) >= _TEXTS_KEPT:
                self._of_text.clear()
            self._of_text[text] = found
        return found
