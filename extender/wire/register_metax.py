"""Cards as MetaX' device plugin registers them for sharing."""

from collections.abc import Mapping
from typing import Final

import orjson

from extender.core.names import DeviceUUID
from extender.core.node import Device, Links
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

_SCORE_OF_A_LINK: Final = 10
"""Of two cards of one MetaLink; any others have none."""


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
    elements = [
        {
            **{key: element.get(theirs) for key, theirs in _THEIRS.items()},
            "index": index,
        }
        for index, element in enumerate(_elements(text, field))
    ]
    try:
        return decode_inventory(orjson.dumps(elements).decode(), field, cordoned)
    except BadAnnotation as error:
        where, _, key = error.field.rpartition(".")
        theirs = f"{where}.{_THEIRS.get(key, key)}"
        raise BadAnnotation(theirs, error.value, error.expected) from None


def decode_metax_links(text: str, field: str) -> Links:
    """Read which cards of ``metax-tech.com/node-gpu-devices`` are of one MetaLink.

    Args:
        text: A JSON list. A ``linkZone`` that is missing or 0 is no link.
        field: The annotation's name, for the error.

    Raises:
        BadAnnotation: It is no list of objects, or a zone is no whole number.

    Source: HAMi, pkg/device/metax/score.go.

    Example:
        >>> text = '[{"uuid":"a","linkZone":1},{"uuid":"b","linkZone":1},{"uuid":"c"}]'
        >>> decode_metax_links(text, "node-gpu-devices")
        {'a': {'b': 10}, 'b': {'a': 10}}
    """
    zones: dict[int, list[DeviceUUID]] = {}
    for index, element in enumerate(_elements(text, field)):
        zone, uuid = element.get("linkZone") or 0, element.get("uuid")
        if type(zone) is not int:
            raise BadAnnotation(f"{field}[{index}].linkZone", shown(zone), "a number")
        if zone > 0 and isinstance(uuid, str):
            zones.setdefault(zone, []).append(DeviceUUID(uuid))
    return {
        one: {other: _SCORE_OF_A_LINK for other in together if other != one}
        for together in zones.values()
        for one in together
    }


def _elements(text: str, field: str) -> list[Mapping[str, object]]:
    try:
        listed = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadAnnotation(field, text, f"JSON: {error}") from error
    if not isinstance(listed, list):
        raise BadAnnotation(field, shown(listed), "a list")
    for index, element in enumerate(listed):
        if not isinstance(element, dict):
            raise BadAnnotation(f"{field}[{index}]", shown(element), "an object")
    return listed
