"""Telling how the admission webhooks answer: a count, and a line in the log."""

from collections.abc import Callable

from extender.observe.decision_log import Decision, PodName, is_told, tell
from extender.observe.metrics import Metrics
from extender.observe.words import Verb
from extender.wire.admission_review import AdmissionRequest


class AdmissionTold:
    """Told of each answer of one webhook; an answer is found in one step."""

    def __init__(
        self, verb: Verb, metrics: Metrics, monotonic: Callable[[], float]
    ) -> None:
        self._verb = verb
        self._metrics = metrics
        self._monotonic = monotonic
        self._began = 0.0

    def begin(self) -> None:
        """Take the time: a question is there."""
        self._began = self._monotonic()

    def answered(
        self,
        outcome: str,
        request: AdmissionRequest | None,
        problem: str = "",
        *,
        is_refusal: bool = False,
    ) -> None:
        """Tell how a question was answered.

        Args:
            outcome: One word of a closed set.
            request: None where it could not be read.
            problem: Why the pod is refused, or what a person should know.
            is_refusal: Whether it is.
        """
        self._metrics.admissions.labels(outcome).inc()
        if not is_told(is_refusal=is_refusal):
            return
        tell(
            Decision(
                self._verb,
                _named(request),
                outcome,
                is_refusal=is_refusal,
                generation=None,
                duration_seconds=self._monotonic() - self._began,
                problem=problem,
            )
        )


def _named(request: AdmissionRequest | None) -> PodName:
    """Name a pod by what the review has of it; a name may be made up only later."""
    if request is None:
        return PodName.of("", "", "")
    metadata = (request.pod or {}).get("metadata")
    texts = metadata if isinstance(metadata, dict) else {}
    name, made_from, uid = (
        value if isinstance(value := texts.get(key), str) else ""
        for key in ("name", "generateName", "uid")
    )
    return PodName.of(request.namespace, name or made_from, uid)
