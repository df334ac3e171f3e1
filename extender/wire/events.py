"""Event objects of ``events.k8s.io/v1``, as Kubernetes' own recorder writes them.

An Event is created once. When the same happens again it becomes a series, and only that
is patched: the API server lets nothing else of an Event change.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from extender.wire.objects import JsonObject

EVENT_GROUP: Final = "events.k8s.io"
EVENT_VERSION: Final = "v1"

REPORTER: Final = "gpu-extender"

_LONGEST_PREFIX: Final = 230
"""An object's name has at most 253 characters; the rest is the time, in hex."""

_NANOSECONDS: Final = 1_000_000_000


class EventType(StrEnum):
    """How much an Event matters."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class EventOnPod:
    """One Event, as it is to be now.

    Attributes:
        name: Of the Event.
        namespace: Of the pod, and so of the Event.
        pod_name: The pod.
        pod_uid: Its UID.
        type: Normal or Warning.
        reason: One word.
        action: What was tried.
        note: At most 1,024 bytes.
        reporter: Which of our processes; no node's name.
        first_seen: When it happened first, in Unix seconds.
        last_seen: When it happened last.
        count: How often, at least 1.
    """

    name: str
    namespace: str
    pod_name: str
    pod_uid: str
    type: EventType
    reason: str
    action: str
    note: str
    reporter: str
    first_seen: float
    last_seen: float
    count: int


def event_name(pod_name: str, unix_seconds: float) -> str:
    """Make up an Event's name, as client-go does.

    Example:
        >>> event_name("p", 1.5)
        'p.59682f00'
    """
    prefix = pod_name[:_LONGEST_PREFIX].rstrip("-.")
    return f"{prefix}.{round(unix_seconds * _NANOSECONDS):x}"


def encode_event(event: EventOnPod) -> JsonObject:
    """Give the object to create."""
    obj: JsonObject = {
        "apiVersion": f"{EVENT_GROUP}/{EVENT_VERSION}",
        "kind": "Event",
        "metadata": {"name": event.name, "namespace": event.namespace},
        "type": event.type.value,
        "reason": event.reason,
        "action": event.action,
        "note": event.note,
        "eventTime": _micro_time(event.first_seen),
        "reportingController": REPORTER,
        "reportingInstance": event.reporter,
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": event.namespace,
            "name": event.pod_name,
            "uid": event.pod_uid,
        },
    }
    return {**obj, **encode_series(event)} if event.count > 1 else obj


def encode_series(event: EventOnPod) -> JsonObject:
    """Give the patch that makes an Event tell of all times until now."""
    last = _micro_time(event.last_seen)
    return {"series": {"count": event.count, "lastObservedTime": last}}


def _micro_time(unix_seconds: float) -> str:
    moment = datetime.fromtimestamp(unix_seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
