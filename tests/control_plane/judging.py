"""What can be wrong with an Allocate that the device plugin served without complaint.

The real plugin does not know for which pod it was asked, nor whether a card exists: it
would hand out the wrong card in silence.
"""

from typing import Final

import orjson

from tests.builders import Json
from tests.control_plane.plugin import ALLOCATED, VGPU_NODE, Served, rows_of

_REGISTER: Final = "hami.io/node-nvidia-register"


def wrongs_of(
    served: Served, pod: Json, container: Json, node: Json, *, needs_lock: bool
) -> list[str]:
    """Tell what is wrong.

    Args:
        served: Whom the plugin served, and with what.
        pod: Whom kubelet was admitting.
        container: For which of its containers kubelet asked.
        node: Registers the cards that exist.
        needs_lock: Whether the node's lock must have named the pod.
    """
    metadata = served.pod["metadata"]
    texts = metadata["annotations"]
    allocated = rows_of(texts.get(ALLOCATED, ";"))
    expected = containers_of(pod).index(container)
    uuids = [device.uuid for device in served.devices]
    claims = {
        f"{name_of(served.pod)} was served in its place": (
            metadata["uid"] == pod["metadata"]["uid"]
        ),
        f"row {served.container} was served to container {expected}": (
            served.container == expected
        ),
        "no lock named it": served.by_lock or not needs_lock,
        f"no such cards here: {uuids}": set(uuids) <= _cards_of(node),
        f"a card twice in a row: {uuids}": len(uuids) == len(set(uuids)),
        "memory 0 is no limit at all": all(
            device.memory_mib for device in served.devices
        ),
        f"{VGPU_NODE} is {texts.get(VGPU_NODE)}": (
            texts.get(VGPU_NODE) == node["metadata"]["name"]
        ),
        f"{ALLOCATED} has not the row {served.row}": (
            served.row in allocated[served.container : served.container + 1]
        ),
    }
    return [f"{name_of(pod)}: {wrong}" for wrong, holds in claims.items() if not holds]


def containers_of(pod: Json) -> list[Json]:
    """Give every container as rows count them: init containers first."""
    spec = pod["spec"]
    return [*spec.get("initContainers", []), *spec["containers"]]


def name_of(pod: Json) -> str:
    """Name a pod in a message."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _cards_of(node: Json) -> set[str]:
    registered = node["metadata"].get("annotations", {}).get(_REGISTER, "[]")
    return {card["id"] for card in orjson.loads(registered)}
