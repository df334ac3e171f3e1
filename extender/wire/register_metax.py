"""Cards as MetaX' device plugin registers them for sharing."""

from collections.abc import Mapping
from typing import Final

import orjson

from extender.core.model import Device, DeviceUUID
from extender.errors import BadAnnotation
from extender.wire.objects import shown
from extender.wire.register import decode_inventory

_THEIRS: Final[Mapping[str, str]] = {
    "id": "uuid",
    "count": "totalDevCount",
    "devmem": "totalVRam",
    "devcore": "totalCompute",
    "type": "model",
    "numa": "numa",
    "health": "healthy",
}
"""HAMi's keys, and MetaX' for the same."""


def decode_metax_inventory(
    text: str, field: str, cordoned: frozenset[DeviceUUID]
) -> tuple[Device, ...]:
    """Read ``metax-tech.com/node-gpu-devices``.

    Args:
        text: A JSON list. A card's index is its place in it.
        field: The annotation's name, for the error.
        cordoned: Cards that get no new work.

    Raises:
        BadAnnotation: An element cannot be read; the error names it and its key.

    Source: MetaxSDeviceInfo in HAMi, pkg/device/metax/protocol.go.

    Example:
        >>> text = '[{"uuid":"GPU-m","totalDevCount":16,"totalVRam":65536,'
        >>> text += '"totalCompute":100,"model":"C500","healthy":true}]'
        >>> decode_metax_inventory(text, "node-gpu-devices", frozenset())[0].capacity
        Usage(slots=16, memory_mib=65536, core_percent=100)
    """
    try:
        listed = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadAnnotation(field, text, f"JSON: {error}") from error
    if not isinstance(listed, list):
        raise BadAnnotation(field, shown(listed), "a list")
    elements: list[dict[str, object]] = []
    for index, element in enumerate(listed):
        if not isinstance(element, dict):
            raise BadAnnotation(f"{field}[{index}]", shown(element), "an object")
        ours = {key: element.get(theirs) for key, theirs in _THEIRS.items()}
        elements.append({**ours, "index": index})
    try:
        return decode_inventory(orjson.dumps(elements).decode(), field, cordoned)
    except BadAnnotation as error:
        where, _, key = error.field.rpartition(".")
        theirs = f"{where}.{_THEIRS.get(key, key)}"
        raise BadAnnotation(theirs, error.value, error.expected) from None
