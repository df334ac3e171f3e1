"""A node's cards, as its device plugin registers them."""

from collections.abc import Mapping
from typing import Final

import orjson

from extender.core.mig import MIG_MODE
from extender.core.names import MAX_INT32, DeviceUUID
from extender.core.node import Device
from extender.core.usage import Usage
from extender.errors import BadAnnotation
from extender.wire.kind_annotations import IN_SOFTWARE
from extender.wire.mig import read_mig_profiles
from extender.wire.objects import shown

_SEPARATORS: Final = frozenset(",:;")
"""An id that holds one could not be written into an allocation."""

_SHORT_FORM: Final = ("id", "count", "devmem", "devcore", "type", "numa", "health")
_LONG_FORM: Final = (*_SHORT_FORM, "index", "mode")


_NO_NUMA_NODE: Final = -1
"""How Linux tells that a device is at none; its like stand together."""

_BOOLEANS: Final[dict[str, bool]] = {
    **dict.fromkeys(("1", "t", "T", "true", "True", "TRUE"), True),
    **dict.fromkeys(("0", "f", "F", "false", "False", "FALSE"), False),
}
"""As Go's strconv.ParseBool."""

_CORE_STEP: Final = "cuPerWGP"
"""Compute units per workgroup processor, which is masked as a whole."""

_LONGEST_NUMBER: Final = len(str(MAX_INT32))


def decode_inventory(
    text: str, field: str, cordoned: frozenset[DeviceUUID]
) -> tuple[Device, ...]:
    """Read a register annotation.

    Args:
        text: A JSON list, or one of the older forms ``id,count,mem,core,type,numa,
            health[,index,mode]:`` per card. Zero values may be missing in JSON, so a
            card without ``health`` is unhealthy. Keys that decide nothing here are not
            looked at.
        field: The annotation's name, for the error.
        cordoned: Cards that get no new work.

    Returns:
        The cards in order of (index, UUID); none for an empty list.

    Raises:
        BadAnnotation: An element cannot be read, or two have the same id; the error
            names the element and its key. Never returns a part of the list.

    Source: DecodeNodeDevices and UnMarshalNodeDevices of HAMi v2.10.
    """
    stripped = text.lstrip()
    is_json = stripped.startswith(("[", "{")) or ":" not in stripped
    elements = _json_elements(text, field) if is_json else _text_elements(text, field)
    devices: dict[DeviceUUID, Device] = {}
    for number, element in enumerate(elements):
        device = _device(element, f"{field}[{number}]", cordoned)
        if device.device_uuid in devices:
            raise BadAnnotation(
                f"{field}[{number}].id", device.device_uuid, "different from the others"
            )
        devices[device.device_uuid] = device
    return tuple(
        sorted(devices.values(), key=lambda card: (card.index, card.device_uuid))
    )


def _json_elements(text: str, field: str) -> list[Mapping[str, object]]:
    try:
        elements = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadAnnotation(field, text, f"JSON: {error}") from error
    if not isinstance(elements, list):
        raise BadAnnotation(field, shown(elements), "a list")
    for number, element in enumerate(elements):
        if not isinstance(element, dict):
            raise BadAnnotation(f"{field}[{number}]", shown(element), "an object")
    return elements


def _text_elements(text: str, field: str) -> list[Mapping[str, object]]:
    pieces = text.strip().split(":")
    if not pieces[-1]:
        pieces.pop()
    return [
        _text_element(piece, f"{field}[{number}]")
        for number, piece in enumerate(pieces)
    ]


def _text_element(piece: str, field: str) -> Mapping[str, object]:
    """Give a card of the older forms the shape that it would have in JSON."""
    values = piece.split(",")
    if len(values) == len(_SHORT_FORM):
        values += ["0", IN_SOFTWARE]
    if len(values) != len(_LONG_FORM):
        raise BadAnnotation(field, piece, "a card of 7 or 9 fields")
    element: dict[str, object] = dict(zip(_LONG_FORM, values, strict=True))
    for key in ("index", "count", "devmem", "devcore"):
        element[key] = _decimal(str(element[key]), f"{field}.{key}")
    numa = str(element["numa"])
    is_unknown = numa == str(_NO_NUMA_NODE)
    element["numa"] = _NO_NUMA_NODE if is_unknown else _decimal(numa, f"{field}.numa")
    health = str(element["health"])
    if health not in _BOOLEANS:
        raise BadAnnotation(f"{field}.health", health, "true or false")
    element["health"] = _BOOLEANS[health]
    return element


def _decimal(text: str, field: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > _LONGEST_NUMBER:
        raise BadAnnotation(field, text, f"a number from 0 to {MAX_INT32}")
    return int(text)


def _device(
    element: Mapping[str, object], field: str, cordoned: frozenset[DeviceUUID]
) -> Device:
    device_uuid = DeviceUUID(_identity(element.get("id"), f"{field}.id"))
    mode = _text(element.get("mode"), f"{field}.mode")
    profiles = element.get("migProfiles") if mode == MIG_MODE else None
    return Device(
        device_uuid=device_uuid,
        index=_number(element.get("index"), f"{field}.index"),
        capacity=Usage(
            slots=_number(element.get("count"), f"{field}.count"),
            memory_mib=_number(element.get("devmem"), f"{field}.devmem"),
            core_percent=_number(element.get("devcore"), f"{field}.devcore"),
        ),
        model=_text(element.get("type"), f"{field}.type"),
        is_healthy=_flag(element.get("health"), f"{field}.health"),
        is_cordoned=device_uuid in cordoned,
        mode=mode,
        numa_node=_numa_node(element.get("numa"), f"{field}.numa"),
        mig_profiles=read_mig_profiles(profiles, f"{field}.migProfiles"),
        core_step=_core_step(element.get("custominfo"), f"{field}.custominfo"),
    )


def _core_step(value: object, field: str) -> int:
    """Read what AMD's plugin tells of its cards; others put there what they like."""
    told = value.get(_CORE_STEP) if isinstance(value, dict) else None
    return max(1, _number(told, f"{field}.{_CORE_STEP}"))


def _identity(value: object, field: str) -> str:
    if (
        not isinstance(value, str)
        or not value
        or value != value.strip()
        or not _SEPARATORS.isdisjoint(value)
    ):
        expected = "a non-empty id without `,:;` and blanks at its ends"
        raise BadAnnotation(field, shown(value), expected)
    return value


def _number(value: object, field: str) -> int:
    if value is None:
        return 0
    if type(value) is not int or not 0 <= value <= MAX_INT32:
        expected = f"a whole number from 0 to {MAX_INT32}"
        raise BadAnnotation(field, shown(value), expected)
    return value


def _numa_node(value: object, field: str) -> int:
    return _NO_NUMA_NODE if value == _NO_NUMA_NODE else _number(value, field)


def _text(value: object, field: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadAnnotation(field, shown(value), "a string")
    return value


def _flag(value: object, field: str) -> bool:
    if value is None:
        return False
    if not isinstance(value, bool):
        raise BadAnnotation(field, shown(value), "true or false")
    return value
