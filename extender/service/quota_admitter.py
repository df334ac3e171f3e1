"""The validating webhook: has the namespace room for this pod? Bytes in, bytes out."""

import logging
from collections.abc import Callable
from typing import Final

from extender.core.pod import Pod
from extender.errors import BadObject, MalformedBody
from extender.observe.metrics import Metrics
from extender.observe.words import Verb
from extender.service.admission_told import AdmissionTold
from extender.settings import AdmissionSettings
from extender.state.events import Expected, Lapsed
from extender.state.ledger import Ledger
from extender.verbs.admission import Outcome
from extender.verbs.admit_quota import (
    counts_at_admission,
    judged_by_quota,
    shortages_at_admission,
    told,
    waiting_sums,
)
from extender.wire.admission_review import (
    AdmissionRequest,
    check_uid,
    decode_admission_review,
    encode_allowed,
    encode_denied,
)
from extender.wire.objects import JsonObject, object_at
from extender.wire.pods import PodReader

_log = logging.getLogger(__name__)

_UNREADABLE: Final = "unreadable"
_FORBIDDEN: Final = 403
_BAD_REQUEST: Final = 400
_NOT_SYNCED: Final = "quotas are not listed yet; they count when the pod is bound"


class QuotaAdmitter:
    """Answers the API server, after all changes, whether a pod's quotas have room.

    A pod that is admitted is expected for a moment, by its UID: until the API shows it,
    it counts for those that are admitted after it. From then on it counts as waiting,
    which every replica sees. Whatever is answered here, bind decides.
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        reader: Callable[[], PodReader],
        is_synced: Callable[[], bool],
        settings: AdmissionSettings,
        metrics: Metrics,
        monotonic: Callable[[], float],
    ) -> None:
        """Put it together.

        Args:
            ledger: Quotas, and what is used of them; told of admitted pods.
            reader: Gives what reads pods by the kinds that count now.
            is_synced: Tells whether nodes, pods and quotas are known.
            settings: Whose pods are ours, and how long one is expected.
            metrics: Counts the answers.
            monotonic: The clock for waiting.
        """
        self._ledger = ledger
        self._reader = reader
        self._is_synced = is_synced
        self._schedulers = settings.schedulers
        self._expected_seconds = settings.expected_seconds
        self._told = AdmissionTold(Verb.VALIDATE, metrics, monotonic)
        self._monotonic = monotonic

    def answer(self, body: bytes) -> bytes:
        """Answer one AdmissionReview, in the version in which it is asked.

        Raises:
            MalformedBody: It cannot be used.
        """
        self._told.begin()
        try:
            request = decode_admission_review(body)
            if request.pod is not None:
                check_uid(request.pod)
        except MalformedBody as error:
            self._told.answered(_UNREADABLE, None, error.field, is_refusal=True)
            raise
        if request.pod is None:
            return self._pass_over(request, "no pod is created")
        try:
            pod = self._reader().read(_placed(request.pod, request.namespace))
        except BadObject as error:
            self._told.answered(_UNREADABLE, request, str(error), is_refusal=True)
            return encode_denied(request, _BAD_REQUEST, str(error))
        if not judged_by_quota(pod, self._schedulers):
            return self._pass_over(request, "its quotas are not looked at here")
        if not self._is_synced():
            return self._pass_over(request, _NOT_SYNCED)
        return self._judge(request, pod)

    def expected(self) -> int:
        """Count the pods that were admitted and may still come."""
        self._ledger.apply(Lapsed(self._monotonic()))
        return self._ledger.expected_count

    def _judge(self, request: AdmissionRequest, pod: Pod) -> bytes:
        """Decide, and record it in the same step: no other answer comes between."""
        ledger, now = self._ledger, self._monotonic()
        if not ledger.quotas.limits_any(pod.namespace):
            self._told.answered(Outcome.WITHIN_QUOTA.value, request)
            return encode_allowed(request, [])
        ledger.apply(Lapsed(now))
        others = (one for one in ledger.waiting_in(pod.namespace) if one.uid != pod.uid)
        waiting = waiting_sums(ledger.fleet, others, self._schedulers)
        rooms = ledger.quota_rooms(pod, waiting)
        shortages = shortages_at_admission(ledger.fleet, pod, rooms)
        if shortages:
            text = f"pod {pod.full_name}: {told(shortages)}"
            self._told.answered(
                Outcome.OVER_QUOTA.value, request, told(shortages), is_refusal=True
            )
            _log.debug("refused at admission: %r", text)
            return encode_denied(request, _FORBIDDEN, text)
        if not request.is_dry_run and counts_at_admission(ledger.fleet, pod, rooms):
            ledger.apply(Expected(pod, now + self._expected_seconds))
        self._told.answered(Outcome.WITHIN_QUOTA.value, request)
        return encode_allowed(request, [])

    def _pass_over(self, request: AdmissionRequest, text: str) -> bytes:
        self._told.answered(Outcome.PASSED_OVER.value, request, text)
        return encode_allowed(request, [], text=text)


def _placed(pod: JsonObject, namespace: str) -> JsonObject:
    """Give the pod with the request's namespace, which the object may lack."""
    metadata = object_at(pod, "metadata", "object")
    return {**pod, "metadata": {**metadata, "namespace": namespace}}
