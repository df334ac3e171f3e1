"""How often an extender calls the API server, by the server's own audit log.

The log has one line for every request of the extender's user, written before its
answer is complete, so a count is exact. A watch has its line when it ends.
"""

from collections import Counter
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

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

    def calls(self) -> dict[str, int]:
        """Count calls such as ``patch nodes``; a refused one has its status."""
        if not self._log.exists():
            return {}
        with self._log.open("rb") as log:
            log.seek(self._read_from)
            counted = Counter(_call(line) for line in log)
        return dict(sorted(counted.items()))


def writes(calls: Mapping[str, int]) -> int:
    """Sum the writes but for Events, refused ones included."""
    return sum(calls.values()) - reads(calls) - events(calls)


def reads(calls: Mapping[str, int]) -> int:
    """Sum the reads."""
    return sum(n for call, n in calls.items() if call.split()[0] in _READS)


def events(calls: Mapping[str, int]) -> int:
    """Sum the writes of Events."""
    return sum(
        n
        for call, n in calls.items()
        if call.split()[0] not in _READS and call.split()[1] == "events"
    )


def _call(line: bytes) -> str:
    event = orjson.loads(line)
    about = event.get("objectRef", {})
    parts = (about.get("resource"), about.get("subresource"))
    resource = "/".join(part for part in parts if part) or event["requestURI"]
    code = event.get("responseStatus", {}).get("code", 0)
    refused = f" ({code})" if code >= HTTPStatus.BAD_REQUEST else ""
    return f"{event['verb']} {resource}{refused}"
