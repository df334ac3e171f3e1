"""Whether a burst ended as it should: a fast wrong result says nothing."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import orjson

from benchmarks.burst.api import Json
from benchmarks.burst.load import BurstFailed
from benchmarks.burst.programs import Contender

_REGISTER = "hami.io/node-nvidia-register"
_ALLOCATED = "hami.io/vgpu-devices-allocated"
_TO_ALLOCATE = "hami.io/vgpu-devices-to-allocate"
_BIND_PHASE = "hami.io/bind-phase"
_VGPU_NODE = "hami.io/vgpu-node"
_LOCK = "hami.io/mutex.lock"
_SHOWN = 5

Amounts = Counter[str]
"""Slots, MiB and percent of one card."""


def check(contender: Contender, pods: Sequence[Json], nodes: Sequence[Json]) -> None:
    """Hold what the API server shows against what must be.

    Args:
        contender: Who placed the pods.
        pods: All of the burst.
        nodes: All of the cluster.

    Raises:
        BurstFailed: The message names what is wrong.
    """
    wrongs = list(_wrongs(contender, pods, nodes))
    if wrongs:
        more = f"\n... and {len(wrongs) - _SHOWN} more" * (len(wrongs) > _SHOWN)
        raise BurstFailed("\n".join(wrongs[:_SHOWN]) + more)


def _wrongs(
    contender: Contender, pods: Sequence[Json], nodes: Sequence[Json]
) -> Iterator[str]:
    for pod in pods:
        if not pod["spec"].get("nodeName"):
            yield f"{_name(pod)} is not bound"
        elif contender.allocates:
            yield from _wrongs_of(pod)
            if contender.is_ours:
                yield from _misread(pod)
        elif _ALLOCATED in _texts(pod):
            yield f"{_name(pod)} has an allocation that nobody should have made"
    for node in nodes:
        if _LOCK in _texts(node):
            yield f"{_name(node)} is still locked: {_texts(node)[_LOCK]}"
    if contender.is_ours:
        yield from _overfull(pods, nodes)


def _wrongs_of(pod: Json) -> Iterator[str]:
    """Tell where a pod was not served."""
    texts = _texts(pod)
    if texts.get(_VGPU_NODE) != pod["spec"]["nodeName"]:
        yield f"{_name(pod)}: {_VGPU_NODE} is {texts.get(_VGPU_NODE)}"
    if texts.get(_BIND_PHASE) != "success":
        yield f"{_name(pod)}: {_BIND_PHASE} is {texts.get(_BIND_PHASE)}"
    if texts.get(_TO_ALLOCATE, "").strip(";"):
        yield f"{_name(pod)}: left to allocate: {texts[_TO_ALLOCATE]}"


def _misread(pod: Json) -> Iterator[str]:
    """Hold what a pod got against what its spec asks for."""
    asked = [
        (int(limits["nvidia.com/gpu"]), int(limits["nvidia.com/gpumem"]))
        for limits in _limits(pod)
    ]
    given = [
        (len({uuid for uuid, _, _ in row}), min(row, default=("", 0, 0))[1])
        for row in _rows(pod)
    ]
    if asked != given:
        yield f"{_name(pod)} asked for {asked} and was given {given}"


def _overfull(pods: Sequence[Json], nodes: Sequence[Json]) -> Iterator[str]:
    """Add up what all rows hold: sidecars and apps run side by side."""
    held: dict[tuple[str, str], Amounts] = defaultdict(Counter)
    for pod in pods:
        for row in _rows(pod):
            for uuid, mib, percent in row:
                amounts = {"slots": 1, "MiB": mib, "percent": percent}
                held[pod["spec"]["nodeName"], uuid].update(amounts)
    offered = {
        (node["metadata"]["name"], card["id"]): card
        for node in nodes
        for card in orjson.loads(_texts(node)[_REGISTER])
    }
    for (node_name, uuid), amounts in held.items():
        card = offered.get((node_name, uuid))
        if card is None:
            yield f"{node_name} has no card {uuid}"
            continue
        limits = {"slots": "count", "MiB": "devmem", "percent": "devcore"}
        for dimension, key in limits.items():
            if amounts[dimension] > card[key]:
                over = f"{amounts[dimension]} of {card[key]} {dimension}"
                yield f"{node_name}: card {uuid} holds {over}"


def _rows(pod: Json) -> list[list[tuple[str, int, int]]]:
    """Read which cards each container has: UUID, MiB and percent."""
    text: str = _texts(pod).get(_ALLOCATED, "")
    return [
        [
            (uuid, int(mib), int(percent))
            for uuid, _, mib, percent in (
                device.split(",") for device in row.split(":") if device
            )
        ]
        for row in text.split(";")[:-1]
    ]


def _limits(pod: Json) -> list[dict[str, str]]:
    spec = pod["spec"]
    containers = [*spec.get("initContainers", []), *spec["containers"]]
    return [container["resources"]["limits"] for container in containers]


def _texts(shown: Json) -> dict[str, str]:
    texts: dict[str, str] = shown["metadata"].get("annotations", {})
    return texts


def _name(shown: Json) -> str:
    return str(shown["metadata"]["name"])
