"""What is counted and timed as it happens."""

from dataclasses import replace
from typing import Final

from extender.observe.spec import Label, MetricSpec, counter, gauge, seconds
from extender.observe.words import (
    COLLECTIONS,
    FIT_REASONS,
    OUTCOMES_OF,
    STAGES_OF,
    ApiOutcome,
    BindRefusal,
    Certificate,
    NodeAnswer,
    Verb,
    VerbOutcome,
    WaitOutcome,
)
from extender.verbs.admission import Outcome

REQUEST_SECONDS: Final = (
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
)
LAG_SECONDS: Final = (0.005, *REQUEST_SECONDS[4:])
WAIT_SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0)

_COLLECTION: Final = Label("collection", COLLECTIONS)
_WAITED: Final = Label("outcome", tuple(WaitOutcome))

VERB_REQUESTS: Final = replace(
    counter(
        "verb_requests_total",
        "Requests that were answered, by what was asked and how it ended.",
        Label("verb", tuple(Verb)),
        Label("outcome", tuple(VerbOutcome)),
        look_when="`fault`: a fault of ours, which the log has. `unreadable`: somebody "
        "else than kube-scheduler or the API server asks",
    ),
    label_sets=tuple(
        (verb.value, outcome.value)
        for verb, outcomes in OUTCOMES_OF.items()
        for outcome in outcomes
    ),
)
VERB_SECONDS: Final = seconds(
    "verb_duration_seconds",
    "From the headers of a request to its answer's last byte being made.",
    REQUEST_SECONDS,
    Label("verb", tuple(Verb)),
    look_when="filter's upper end passes kube-scheduler's httpTimeout: pods fail",
)
STAGE_SECONDS: Final = seconds(
    "stage_duration_seconds",
    "Time of a request by what it went into; the stages of one add up to it.",
    REQUEST_SECONDS,
    Label("verb", tuple(Verb)),
    Label("stage", ("wait", "decode", "fit", "commit", "encode")),
    label_sets=tuple(
        (verb.value, stage.value)
        for verb, stages in STAGES_OF.items()
        for stage in stages
    ),
)
FIT_NODES: Final = counter(
    "fit_nodes_total",
    "Nodes that filter judged for pods that ask for devices, by its answer.",
    Label("answer", tuple(NodeAnswer)),
)
FIT_REFUSALS: Final = counter(
    "fit_refusals_total",
    "Nodes that filter refused, by reason; one with several counts under each.",
    Label("reason", FIT_REASONS),
    look_when="of [reasons.md](reasons.md), which one is behind pods that wait",
)
BINDS: Final = counter(
    "binds_total",
    "Binds by outcome.",
    Label("outcome", ("bound", "refused")),
)
BIND_REFUSALS: Final = counter(
    "bind_refusals_total",
    "Binds that were refused, by reason.",
    Label("reason", tuple(BindRefusal)),
    look_when="`api-error`, `node-locked` or `lease-taken` are more than a few",
)
LOCK_WAIT_SECONDS: Final = seconds(
    "lock_wait_seconds",
    "How long a bind waited for its node's turn and lock, by how that ended.",
    WAIT_SECONDS,
    _WAITED,
    look_when="`timed-out`: a device plugin does not serve its pod",
)
TURN_WAIT_SECONDS: Final = seconds(
    "quota_turn_wait_seconds",
    "How long a bind waited for the lease of a namespace with a quota.",
    WAIT_SECONDS,
    _WAITED,
    look_when="`timed-out`: another extender keeps the lease",
)
AUDITS: Final = counter(
    "audits_total",
    "Times that all totals were recomputed from the pods.",
    look_when="it stands still for ten minutes",
)
AUDIT_DIFFERENCES: Final = counter(
    "audit_differences_total",
    "Pods and nodes whose totals were not what the pods add up to.",
    look_when="not 0: a fault of ours",
)
LISTS: Final = counter(
    "lists_total",
    "Whole lists read from the API server.",
    _COLLECTION,
    look_when="it goes on rising: watches do not last",
)
WATCH_EVENTS: Final = counter(
    "watch_events_total",
    "Events that watches told, bookmarks apart.",
    _COLLECTION,
)
WATCH_LAG_SECONDS: Final = seconds(
    "watch_lag_seconds",
    "From the API server's answer to a Binding until the watch shows the pod bound.",
    LAG_SECONDS,
    look_when="its upper end grows: events come late, and pods are refused for room "
    "that is free",
)
ADMISSIONS: Final = counter(
    "admissions_total",
    "Answers to the API server about new pods, by outcome.",
    Label("outcome", (*(outcome.value for outcome in Outcome), "unreadable")),
    look_when="`unreadable` rises: something else than the API server asks",
)
WOKEN_PODS: Final = counter(
    "woken_pods_total",
    "Refused pods that were touched so that kube-scheduler tries them again.",
)
DEVICE_CONFIG_READS: Final = counter(
    "device_config_reads_total",
    "Changes of the device-config file, by whether they were taken.",
    Label("outcome", ("taken", "refused")),
    look_when="`refused`: the log has the problems; the former kinds stay",
)
API_REQUESTS: Final = counter(
    "api_requests_total",
    "Requests to the API server, by how they ended; watches apart.",
    Label("method", ("GET", "POST", "PATCH")),
    Label("outcome", tuple(ApiOutcome)),
    look_when="`unanswered`, `unreachable` or `forbidden` rise",
)
LOOP_LAG_SECONDS: Final = seconds(
    "event_loop_lag_seconds",
    "How late the event loop came back to a timer of a quarter second.",
    LAG_SECONDS,
    look_when="its upper end passes 0.25 s: everything waits; the machine is too busy",
)
CERTIFICATE_END: Final = gauge(
    "certificate_expiry_timestamp_seconds",
    "When a certificate in use ends: ours, and of the client CAs the first that does.",
    Label("certificate", tuple(Certificate)),
    unit="Unix seconds",
    look_when="it is days ahead: without a new one, nobody is answered any more",
)

COUNTED: Final[tuple[MetricSpec, ...]] = (
    VERB_REQUESTS,
    VERB_SECONDS,
    STAGE_SECONDS,
    FIT_NODES,
    FIT_REFUSALS,
    BINDS,
    BIND_REFUSALS,
    LOCK_WAIT_SECONDS,
    TURN_WAIT_SECONDS,
    AUDITS,
    AUDIT_DIFFERENCES,
    LISTS,
    WATCH_EVENTS,
    WATCH_LAG_SECONDS,
    ADMISSIONS,
    WOKEN_PODS,
    DEVICE_CONFIG_READS,
    API_REQUESTS,
    LOOP_LAG_SECONDS,
    CERTIFICATE_END,
)
