"""The admission webhook: bytes in, decision, bytes out. It needs no cluster."""

import logging
import time
from collections.abc import Callable
from typing import Final

from extender.errors import BadObject, MalformedBody
from extender.observe.metrics import Metrics
from extender.observe.words import Verb
from extender.service.admission_told import AdmissionTold
from extender.settings import AdmissionSettings
from extender.verbs.admission import Admitted, Outcome
from extender.verbs.admit import conclude, propose
from extender.wire.admission_pods import read_pod_to_admit, shown_name
from extender.wire.admission_review import (
    AdmissionRequest,
    decode_admission_review,
    encode_allowed,
    encode_denied,
)
from extender.wire.json_patch import JsonPatch, apply_mutations
from extender.wire.objects import JsonObject, object_at
from extender.wire.pods import PodReader

_log = logging.getLogger(__name__)

_UNREADABLE: Final = "unreadable"
_CODES: Final = {Outcome.REFUSED: 422, Outcome.FORBIDDEN: 403}
_BAD_REQUEST: Final = 400


class Admitter:
    """Answers the API server about pods that are about to be created.

    The answer depends on the pod, the kinds of device and the settings, so it is given
    before nodes and pods are known, too.
    """

    def __init__(
        self,
        reader: Callable[[], PodReader],
        settings: AdmissionSettings,
        metrics: Metrics,
    ) -> None:
        """Put it together.

        Args:
            reader: Gives what reads pods by the kinds that count now.
            settings: Whose pods are ours.
            metrics: Counts the answers.
        """
        self._reader = reader
        self._schedulers = settings.schedulers
        self._told = AdmissionTold(Verb.WEBHOOK, metrics, time.monotonic)

    def answer(self, body: bytes) -> bytes:
        """Answer one AdmissionReview, in the version in which it is asked.

        Raises:
            MalformedBody: It cannot be used.
        """
        self._told.begin()
        try:
            request = decode_admission_review(body)
        except MalformedBody as error:
            self._told.answered(_UNREADABLE, None, error.field, is_refusal=True)
            raise
        if request.pod is None:
            self._told.answered(Outcome.PASSED_OVER.value, request)
            return encode_allowed(request, [], text="no pod is created")
        try:
            admitted, patch, full_name = self._admit(request, request.pod)
        except BadObject as error:
            self._told.answered(_UNREADABLE, request, str(error), is_refusal=True)
            return encode_denied(request, _BAD_REQUEST, str(error))
        self._told.answered(
            admitted.outcome.value,
            request,
            admitted.text,
            is_refusal=not admitted.is_allowed,
        )
        if admitted.is_allowed:
            return encode_allowed(
                request, patch, text=admitted.text, warnings=admitted.warnings
            )
        text = f"pod {full_name}: {admitted.text}"
        _log.debug("refused at admission: %r", text)
        code = _CODES[admitted.outcome]
        return encode_denied(request, code, text, warnings=admitted.warnings)

    def _admit(
        self, request: AdmissionRequest, pod: JsonObject
    ) -> tuple[Admitted, JsonPatch, str]:
        """Decide; the pod is changed on the way."""
        reader = self._reader()
        asked = read_pod_to_admit(pod, request.namespace, reader.kinds)
        proposal = propose(asked, tuple(reader.kinds), self._schedulers)
        patch = apply_mutations(pod, proposal.mutations)
        changed = (
            reader.read(_named(pod, request.namespace)) if asked.containers else None
        )
        # What a namespace may hold is asked later, by `QuotaAdmitter`: only then the
        # pod has its UID, and is as all webhooks have made it.
        return conclude(proposal, changed), patch, asked.full_name


def _named(pod: JsonObject, namespace: str) -> JsonObject:
    """Give the pod as it will be: in the request's namespace, and with a name."""
    metadata = object_at(pod, "metadata", "object")
    named = {**metadata, "namespace": namespace, "name": shown_name(metadata)}
    return {**pod, "metadata": named}
