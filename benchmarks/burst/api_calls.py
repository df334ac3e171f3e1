"""How often an extender calls the API server, by the server's own audit log.

The log has one line for every request of the extender's user, written before its
answer is complete, so a count is exact. A watch has its line when it ends.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import orjson
import yaml

from tests.control_plane.plane import User

_READS: Final = {"get", "list", "watch"}
_POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {"level": "Metadata", "users": [str(User.EXTENDER)]},
        {"level": "None"},
    ],
}


@dataclass(frozen=True, slots=True)
class Call:
    """What became of all calls of one kind.

    Attributes:
        count: How many there were.
        mean_ms: Of the time from the request's arrival until its answer, inside the
            server: the way there, and waiting in the extender, are not in it.
    """

    count: int
    mean_ms: float


Calls = Mapping[str, Call]
"""By verb and resource, such as ``patch nodes``; a refused one has its status."""


class CallLog:
    """The audit log of a control plane that is started with `flags`."""

    def __init__(self, folder: Path) -> None:
        self._policy = folder / "audit-policy.yaml"
        self._log = folder / "audit.jsonl"
        self._read_from = 0

    def flags(self) -> list[str]:
        """Write the policy, and give what kube-apiserver needs to follow it."""
        self._policy.write_text(yaml.safe_dump(_POLICY))
        return [
            f"--audit-policy-file={self._policy}",
            f"--audit-log-path={self._log}",
            "--audit-log-mode=blocking",
        ]

    def forget(self) -> None:
        """Leave out what was called until now."""
        self._read_from = self._log.stat().st_size if self._log.exists() else 0

    def calls(self) -> Calls:
        """Count calls, and tell how long they took."""
        if not self._log.exists():
            return {}
        took_ms: dict[str, list[float]] = defaultdict(list)
        with self._log.open("rb") as log:
            log.seek(self._read_from)
            for line in log:
                event = orjson.loads(line)
                took_ms[_call(event)].append(_milliseconds(event))
        return {
            name: Call(len(each), sum(each) / len(each))
            for name, each in sorted(took_ms.items())
        }


def writes(calls: Calls) -> int:
    """Sum the writes but for Events, refused ones included."""
    return sum(call.count for call in calls.values()) - reads(calls) - events(calls)


def reads(calls: Calls) -> int:
    """Sum the reads."""
    return sum(call.count for name, call in calls.items() if name.split()[0] in _READS)


def events(calls: Calls) -> int:
    """Sum the writes of Events."""
    return sum(
        call.count
        for name, call in calls.items()
        if name.split()[0] not in _READS and name.split()[1] == "events"
    )


def _milliseconds(event: dict[str, Any]) -> float:
    arrived, answered = (
        datetime.fromisoformat(event[key])
        for key in ("requestReceivedTimestamp", "stageTimestamp")
    )
    return (answered - arrived).total_seconds() * 1e3


def _call(event: dict[str, Any]) -> str:
    about = event.get("objectRef", {})
    parts = (about.get("resource"), about.get("subresource"))
    resource = "/".join(part for part in parts if part) or event["requestURI"]
    code = event.get("responseStatus", {}).get("code", 0)
    refused = f" ({code})" if code >= HTTPStatus.BAD_REQUEST else ""
    return f"{event['verb']} {resource}{refused}"
