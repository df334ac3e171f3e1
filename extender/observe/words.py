"""The words that labels are made of: closed sets, so that their number is bounded."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from extender.core.reasons import Reason


class Verb(StrEnum):
    """What was asked."""

    FILTER = "filter"
    PRIORITIZE = "prioritize"
    BIND = "bind"
    WEBHOOK = "webhook"
    VALIDATE = "validate"


class VerbOutcome(StrEnum):
    """How a request ended."""

    FITS = "fits"
    """At least one node can hold the pod."""

    FITS_NOWHERE = "fits-nowhere"
    NO_DEVICES = "no-devices"
    """The pod asks for none: every node will do."""

    SCORED = "scored"
    BOUND = "bound"
    REFUSED = "refused"
    ANSWERED = "answered"
    """The API server got its answer, yes or no."""

    NOT_SYNCED = "not-synced"
    """Nodes, pods and quotas were not listed yet."""

    UNREADABLE = "unreadable"
    """The request could not be used."""

    CUT_OFF = "cut-off"
    """Its body did not come in time, or the client went away."""

    FAULT = "fault"
    """A fault of ours; the log has it."""


_ENDS: Final = (VerbOutcome.UNREADABLE, VerbOutcome.CUT_OFF, VerbOutcome.FAULT)

OUTCOMES_OF: Final[Mapping[Verb, tuple[VerbOutcome, ...]]] = {
    Verb.FILTER: (
        VerbOutcome.FITS,
        VerbOutcome.FITS_NOWHERE,
        VerbOutcome.NO_DEVICES,
        VerbOutcome.NOT_SYNCED,
        *_ENDS,
    ),
    Verb.PRIORITIZE: (VerbOutcome.SCORED, VerbOutcome.NOT_SYNCED, *_ENDS),
    Verb.BIND: (
        VerbOutcome.BOUND,
        VerbOutcome.REFUSED,
        VerbOutcome.NOT_SYNCED,
        *_ENDS,
    ),
    Verb.WEBHOOK: (VerbOutcome.ANSWERED, *_ENDS),
    Verb.VALIDATE: (VerbOutcome.ANSWERED, *_ENDS),
}
"""What can become of each."""


class Stage(StrEnum):
    """Where the time of a request goes."""

    WAIT = "wait"
    """For its body; a bind besides for the lease of its namespace, its node's turn and
    lock, and for pods to be known up to that lock."""

    DECODE = "decode"
    """From bytes to our types."""

    FIT = "fit"
    """Deciding. Of a webhook all of its answer, which is made in one step."""

    COMMIT = "commit"
    """Writing the Binding, and reading back and undoing where that failed."""

    ENCODE = "encode"
    """From our types to bytes."""


STAGES_OF: Final[Mapping[Verb, tuple[Stage, ...]]] = {
    Verb.FILTER: (Stage.WAIT, Stage.DECODE, Stage.FIT, Stage.ENCODE),
    Verb.PRIORITIZE: (Stage.WAIT, Stage.DECODE, Stage.FIT, Stage.ENCODE),
    Verb.BIND: (Stage.WAIT, Stage.DECODE, Stage.FIT, Stage.COMMIT, Stage.ENCODE),
    Verb.WEBHOOK: (Stage.WAIT, Stage.FIT),
    Verb.VALIDATE: (Stage.WAIT, Stage.FIT),
}
"""Which of them each has."""


class NodeAnswer(StrEnum):
    """What filter says of one node."""

    FITS = "fits"
    FAILED = "failed"
    """Not now."""

    UNRESOLVABLE = "unresolvable"
    """Not either if no pod held anything there."""


REQUEST_UNUSABLE: Final = "RequestUnusable"
"""Instead of a reason code: the pod's request cannot be honoured on any node."""

FIT_REASONS: Final = (*(reason.value for reason in Reason), REQUEST_UNUSABLE)
"""Why filter refuses a node."""


class BindRefusal(StrEnum):
    """Why a bind is refused."""

    NOT_SYNCED = "not-synced"
    OTHER_POD = "other-pod"
    """The name or the UID is another pod's."""

    BOUND_ELSEWHERE = "bound-elsewhere"
    UNDER_WAY = "under-way"
    """Another bind of the pod is."""

    NOT_KNOWN_YET = "not-known-yet"
    """What became of an earlier bind, whose answer was lost."""

    REQUEST_UNUSABLE = "request-unusable"
    DELETED = "deleted"
    NO_LONGER_FITS = "no-longer-fits"
    LEASE_TAKEN = "lease-taken"
    """Another extender binds pods of the namespace."""

    LEASE_OVER = "lease-over"
    NODE_LOCKED = "node-locked"
    """Its lock stayed with another pod."""

    NODE_BUSY = "node-busy"
    """Binds that came before, or a pod that waits for its devices."""

    KIND_GONE = "kind-gone"
    """The device configuration changed meanwhile."""

    API_ERROR = "api-error"
    """The API server refused a request, or did not answer."""

    SHADOW = "shadow"
    """In shadow mode nothing is bound."""

    FAULT = "fault"


class WaitOutcome(StrEnum):
    """How a wait for something that others hold ended."""

    TAKEN = "taken"
    TIMED_OUT = "timed-out"
    FAILED = "failed"
    """The API server refused a request, or did not answer."""


class ApiOutcome(StrEnum):
    """How the API server answered."""

    OK = "ok"
    NOT_FOUND = "not-found"
    CONFLICT = "conflict"
    GONE = "gone"
    FORBIDDEN = "forbidden"
    REJECTED = "rejected"
    UNREACHABLE = "unreachable"
    """No connection, or it asks to come back later."""

    UNANSWERED = "unanswered"
    """No answer in time, or one of 500 and above."""


class Certificate(StrEnum):
    """Which certificates have an end."""

    SERVED = "served"
    CLIENT_CA = "client-ca"


COLLECTIONS: Final = ("nodes", "pods", "resourcequotas")
"""What is listed and watched."""
