"""What a pod got, read back from its annotations and worked out anew.

It reads the protocol by itself, and lets the oracle do the sums: nothing here is what
the extender decided with. It is strict: what it cannot read fails the test.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson

from extender.core.container import ContainerUsage, Lifetime
from extender.core.names import DeviceUUID
from extender.core.pod_request import ContainerRequest
from extender.core.pod_status import (
    ContainerStatus,
    PodPhase,
    PodStatus,
    RunState,
    SandboxReadiness,
)
from extender.core.usage import Usage
from tests.builders import Json
from tests.control_plane.judging import containers_of, name_of
from tests.control_plane.playing import is_sidecar
from tests.control_plane.plugin import (
    ALLOCATED,
    BIND_PHASE,
    BIND_TIME,
    TO_ALLOCATE,
    VGPU_NODE,
    Device,
    parse_row,
    rows_of,
)
from tests.oracles import Totals, kubelet_slots, timeline_charge

VGPU_TIME: Final = "hami.io/vgpu-time"
_REGISTER: Final = "hami.io/node-nvidia-register"
_COUNT: Final = "nvidia.com/gpu"
_LONGEST_LABEL: Final = 63
_STATES: Final = {
    "waiting": RunState.WAITING,
    "running": RunState.RUNNING,
    "terminated": RunState.TERMINATED,
}
_SANDBOX: Final = {"True": SandboxReadiness.READY, "False": SandboxReadiness.NOT_READY}


@dataclass(frozen=True, slots=True)
class Card:
    """One card as its node registers it."""

    uuid: DeviceUUID
    capacity: Usage
    is_open: bool
    """Whether it is healthy and takes new work."""


Rows = list[tuple[Device, ...]]
"""What each container holds, in start order."""


def cards_of(node: Json) -> dict[DeviceUUID, Card]:
    """Read what a node registers."""
    texts = node["metadata"]["annotations"]
    closed = texts.get("hami.io/device-cordon", "").split(",")
    return {
        DeviceUUID(card["id"]): Card(
            DeviceUUID(card["id"]),
            Usage(card.get("count", 0), card.get("devmem", 0), card.get("devcore", 0)),
            is_open=card.get("health", False) and card["id"] not in closed,
        )
        for card in orjson.loads(texts[_REGISTER])
    }


def checked_rows(pod: Json, node: Json) -> Rows:
    """Hold what a bound pod holds against what each of its containers asked for.

    Args:
        pod: As the API shows it.
        node: The node that it is bound to.

    Raises:
        AssertionError: It got something else, or its annotations say something else.
    """
    metadata, name = pod["metadata"], name_of(pod)
    texts, labels = metadata["annotations"], metadata.get("labels", {})
    node_name = node["metadata"]["name"]
    assert pod["spec"]["nodeName"] == node_name, name
    assert texts[VGPU_NODE] == node_name, name
    shown_by = node_name if len(node_name) <= _LONGEST_LABEL else None
    assert labels.get(VGPU_NODE) == shown_by, name
    assert texts[VGPU_TIME].isdecimal(), name
    assert texts[BIND_TIME].isdecimal(), name
    assert texts[BIND_PHASE] in {"allocating", "success"}, name
    rows = rows_held(pod)
    left = rows_of(texts[TO_ALLOCATE])
    assert len(left) == len(rows), name
    # What is still to be served is what was allocated.
    written = rows_of(texts[ALLOCATED])
    assert all(row in {"", whole} for row, whole in zip(left, written, strict=True))
    cards = cards_of(node)
    for container, row in zip(containers_of(pod), rows, strict=True):
        _check_row(f"{name}, {container['name']}", container, row, cards)
    return rows


def _check_row(
    where: str,
    container: Json,
    row: tuple[Device, ...],
    cards: Mapping[DeviceUUID, Card],
) -> None:
    asked = _limits(container)
    uuids = [DeviceUUID(device.uuid) for device in row]
    assert len(row) == asked.get(_COUNT, 0), where
    assert len(uuids) == len(set(uuids)), f"{where}: a card twice"
    assert set(uuids) <= cards.keys(), f"{where}: no such card"
    for device, uuid in zip(row, uuids, strict=True):
        card = cards[uuid]
        assert card.is_open, f"{where}: {uuid} takes no work"
        assert device.memory_mib == _memory_due(asked, card) > 0, where
        assert device.cores_percent == asked.get("nvidia.com/gpucores", 0), where


def _memory_due(asked: Mapping[str, int], card: Card) -> int:
    if memory := asked.get("nvidia.com/gpumem", 0):
        return memory
    percent = asked.get("nvidia.com/gpumem-percentage", 100)
    return card.capacity.memory_mib * percent // 100


def rows_held(pod: Json) -> Rows:
    """Read which devices each container of a pod holds."""
    rows = rows_of(pod["metadata"]["annotations"].get(ALLOCATED))
    assert len(rows) == len(containers_of(pod)), f"{name_of(pod)}: {rows}"
    return [parse_row(row) if row else () for row in rows]


def charge_of(pod: Json) -> Totals:
    """Work out what a bound pod is charged now, per card; nothing without rows."""
    if ALLOCATED not in pod["metadata"].get("annotations", {}):
        return {}
    usages = [
        ContainerUsage(lifetime, _held(row))
        for lifetime, row in zip(_lifetimes(pod), rows_held(pod), strict=True)
    ]
    return timeline_charge(usages, status_of(pod))


def slots_of(pod: Json) -> int:
    """Work out how many device ids kubelet keeps for a pod."""
    if pod["status"]["phase"] in {"Succeeded", "Failed"}:
        return 0
    counts = [_limits(container).get(_COUNT, 0) for container in containers_of(pod)]
    asked = [ContainerRequest(count) for count in counts]
    return kubelet_slots(_lifetimes(pod), asked)


def excesses_of(node: Json, pods: Iterable[Json]) -> list[str]:
    """List what the pods of a node hold together beyond what it has.

    Args:
        node: With cards, or without.
        pods: All that are bound to it.
    """
    cards = cards_of(node) if _REGISTER in node["metadata"]["annotations"] else {}
    used: Totals = {}
    slots = 0
    for pod in pods:
        slots += slots_of(pod)
        for uuid, charge in charge_of(pod).items():
            used[uuid] = used.get(uuid, Usage()) + charge
    excesses = [
        f"{uuid}: {held} of {capacity}"
        for uuid, held in used.items()
        if held.largest(capacity := _capacity(cards, uuid)) != capacity
    ]
    allocatable = int(node["status"]["allocatable"].get(_COUNT, 0))
    if slots > allocatable:
        excesses.append(f"device ids: {slots} of {allocatable}")
    return excesses


def _capacity(cards: Mapping[DeviceUUID, Card], uuid: DeviceUUID) -> Usage:
    return cards[uuid].capacity if uuid in cards else Usage()


def status_of(pod: Json) -> PodStatus:
    """Read what a charge depends on besides the rows."""
    status, names = pod["status"], [one["name"] for one in containers_of(pod)]
    shown = {
        one["name"]: one
        for kind in ("initContainerStatuses", "containerStatuses")
        for one in status.get(kind, [])
    }
    conditions = {one["type"]: one for one in status.get("conditions", [])}
    sandbox = conditions.get("PodReadyToStartContainers")
    restarting = conditions.get("AllContainersRestarting", {"status": None})
    return PodStatus(
        phase=PodPhase(status["phase"]),
        containers=tuple(_container_status(shown.get(name)) for name in names),
        sandbox=_SANDBOX[sandbox["status"]] if sandbox else SandboxReadiness.NOT_SHOWN,
        sandbox_changed_at=_moment(sandbox["lastTransitionTime"]) if sandbox else None,
        is_restarting_all=restarting["status"] == "True",
        restarted_all_at=_moment(restarting["lastTransitionTime"])
        if restarting["status"] == "False"
        else None,
        is_terminating="deletionTimestamp" in pod["metadata"],
    )


def _container_status(shown: Json | None) -> ContainerStatus:
    if shown is None:
        return ContainerStatus()
    ((state, details),) = shown["state"].items()
    if state != "terminated":
        return ContainerStatus(_STATES[state])
    return ContainerStatus(
        _STATES[state], details["exitCode"], _moment(details["finishedAt"])
    )


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _lifetimes(pod: Json) -> list[Lifetime]:
    inits = pod["spec"].get("initContainers", [])
    return [
        *(Lifetime.SIDECAR if is_sidecar(init) else Lifetime.INIT for init in inits),
        *(Lifetime.APP for _ in pod["spec"]["containers"]),
    ]


def _limits(container: Json) -> dict[str, int]:
    limits = container.get("resources", {}).get("limits", {})
    return {name: _whole(text) for name, text in limits.items() if "nvidia.com" in name}


def _whole(text: str) -> int:
    """Read a whole number as the apiserver writes it: 2000 as ``2k``."""
    for suffix, factor in (("k", 1_000), ("M", 1_000_000)):
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) * factor
    return int(text)


def _held(row: tuple[Device, ...]) -> dict[DeviceUUID, Usage]:
    return {
        DeviceUUID(device.uuid): Usage(1, device.memory_mib, device.cores_percent)
        for device in row
    }
