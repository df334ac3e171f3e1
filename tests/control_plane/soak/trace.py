"""A log of every change, short enough to be read when something went wrong."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from tests.builders import Json
from tests.control_plane.playing import is_sidecar
from tests.control_plane.plugin import ALLOCATED, BIND_PHASE, LOCK, TO_ALLOCATE
from tests.control_plane.soak.stream import Change, Kind

_REGISTER: Final = "hami.io/node-nvidia-register"
_COUNT: Final = "nvidia.com/gpu"


class Trace:
    """Writes down what of an object changed; opened and closed by ``with``."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("w", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def see(self, change: Change) -> None:
        """Write a line."""
        tell = _of_node if change.kind is Kind.NODE else _of_pod
        before = {} if change.before is None else tell(change.before)
        after = {} if change.after is None else tell(change.after)
        told = [
            f"{key}={text}" for key, text in after.items() if text != before.get(key)
        ]
        if change.after is None:
            told = ["gone", before.get("uid", "")]
        now = datetime.now(UTC).strftime("%H:%M:%S.%f")[:-3]
        words = [now, str(change.revision), change.kind, change.name, *told]
        self._file.write(" ".join(words) + "\n")
        self._file.flush()


def _of_node(node: Json) -> Mapping[str, str]:
    texts = node["metadata"].get("annotations", {})
    return {
        "lock": texts.get(LOCK, "-"),
        "allocatable": node["status"]["allocatable"].get(_COUNT, "-"),
        "register": texts.get(_REGISTER, "-"),
    }


def _of_pod(pod: Json) -> Mapping[str, str]:
    texts = pod["metadata"].get("annotations", {})
    status = pod["status"]
    conditions = {
        one["type"]: f"{one['status']}@{one.get('lastTransitionTime')}"
        for one in status.get("conditions", [])
        if one["type"] in {"PodReadyToStartContainers", "AllContainersRestarting"}
    }
    return {
        "uid": pod["metadata"]["uid"],
        "node": pod["spec"].get("nodeName", "-"),
        "bind": texts.get(BIND_PHASE, "-"),
        "rows": texts.get(ALLOCATED, "-"),
        "left": texts.get(TO_ALLOCATE, "-"),
        "phase": status["phase"],
        "leaving": str("deletionTimestamp" in pod["metadata"]),
        **{f"{name}": text for name, text in conditions.items()},
        "inits": ",".join(
            _state_of(one, pod) for one in status.get("initContainerStatuses", [])
        ),
        "message": status.get("message", ""),
    }


def _state_of(shown: Json, pod: Json) -> str:
    sidecars = {
        init["name"]
        for init in pod["spec"].get("initContainers", [])
        if is_sidecar(init)
    }
    ((state, details),) = shown["state"].items()
    kind = "sidecar" if shown["name"] in sidecars else "init"
    return f"{kind}:{state}:{details.get('exitCode', '')}"
