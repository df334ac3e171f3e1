"""Cards as Enflame's plugin registers them, and the profiles that they have."""

import re
from collections.abc import Mapping
from typing import Final

import orjson

from extender.core.names import MAX_INT32, DeviceUUID, NodeName
from extender.core.node import Device
from extender.core.profiles import CardProfile, CardProfiles
from extender.core.usage import Usage
from extender.errors import BadAnnotation
from extender.wire.objects import shown

_MODEL: Final = "Enflame"
_MIB_PER_GB: Final = 1024
_ALL_PERCENT: Final = 100
_PROFILE: Final = re.compile(r"([0-9]{1,4})g\.([0-9]{1,6})gb")
_NUMBER: Final = re.compile(r"[0-9]{1,10}")


def decode_drs_inventory(
    text: str, field: str, node_name: NodeName, cordoned: frozenset[DeviceUUID]
) -> tuple[Device, ...]:
    """Read ``enflame.com/gcu-drs-capacity``.

    A card has as much memory as the largest profile. Percents of cores are rounded up,
    so that all slots of a card together may have some more than 100.

    Args:
        text: A JSON object: ``devices``, each with index, minor and capacity (slots),
            and ``profiles``, numbers by name. Numbers may be texts.
        field: The annotation's name, for the error.
        node_name: Of which the cards' ids are made.
        cordoned: Cards that get no new work.

    Returns:
        The cards in order of their index.

    Raises:
        BadAnnotation: Something cannot be read, or two cards have the same index; the
            error names it. Never returns a part of the cards.

    Source: GetNodeDevices of enflame (drs) in HAMi v2.10, which takes the place for an
    index that cannot be read, and passes over profiles that cannot.

    Example:
        >>> text = '{"devices":[{"index":"0","minor":"4","capacity":6}],'
        >>> text += '"profiles":{"1g.6gb":"0","6g.40gb":"2"}}'
        >>> (card,) = decode_drs_inventory(text, "drs", NodeName("n1"), frozenset())
        >>> card.device_uuid, card.capacity
        ('n1-enflame-drs-0', Usage(slots=6, memory_mib=40960, core_percent=102))
        >>> [(each.name, each.core_percent) for each in card.profiles]
        [('1g.6gb', 17), ('6g.40gb', 100)]
    """
    try:
        told = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadAnnotation(field, text, f"JSON: {error}") from error
    if not isinstance(told, dict):
        raise BadAnnotation(field, shown(told), "an object")
    profiles = _profiles(told.get("profiles"), f"{field}.profiles")
    listed = told.get("devices")
    if not isinstance(listed, list):
        raise BadAnnotation(f"{field}.devices", shown(listed), "a list")
    memory_mib = max(each.memory_mib for each in profiles)
    percent_of_slot = _percent(1, profiles)
    cards: dict[int, Device] = {}
    for place, one in enumerate(listed):
        path = f"{field}.devices[{place}]"
        if not isinstance(one, dict):
            raise BadAnnotation(path, shown(one), "an object")
        index = _number(one, "index", path)
        slots = _number(one, "capacity", path)
        if index in cards:
            raise BadAnnotation(f"{path}.index", index, "different from the others")
        device_uuid = DeviceUUID(f"{node_name}-enflame-drs-{index}")
        cards[index] = Device(
            device_uuid=device_uuid,
            index=index,
            capacity=Usage(slots, memory_mib, slots * percent_of_slot),
            model=_MODEL,
            is_cordoned=device_uuid in cordoned,
            profiles=profiles,
            minor=str(_number(one, "minor", path, default=index)),
        )
    return tuple(cards[index] for index in sorted(cards))


def _profiles(told: object, field: str) -> CardProfiles:
    if not isinstance(told, dict) or not told:
        raise BadAnnotation(field, shown(told), "an object with a profile at least")
    amounts: list[tuple[int, int, str, str]] = []
    for name, number in told.items():
        found = _PROFILE.fullmatch(name.strip().lower())
        slots, memory_gb = (int(found[1]), int(found[2])) if found else (0, 0)
        if not slots or not memory_gb:
            expected = "a profile such as 3g.20gb: slots, and GB"
            raise BadAnnotation(field, name, expected)
        if isinstance(number, bool) or not isinstance(number, str | int):
            raise BadAnnotation(f"{field}[{name}]", shown(number), "a number")
        amounts.append((slots, memory_gb * _MIB_PER_GB, name, str(number)))
    most = max(slots for slots, _, _, _ in amounts)
    return tuple(
        CardProfile(name, number, slots, memory_mib, -(-slots * _ALL_PERCENT // most))
        for slots, memory_mib, name, number in sorted(amounts)
    )


def _percent(slots: int, profiles: CardProfiles) -> int:
    """Round up what so many slots are of the cores."""
    return -(-slots * _ALL_PERCENT // max(each.slots for each in profiles))


def _number(
    one: Mapping[str, object], key: str, path: str, *, default: int | None = None
) -> int:
    """Read a number, which may be a text; only those with a default may be missing."""
    value = one.get(key)
    if value in (None, "") and default is not None:
        return default
    text = str(value).strip() if isinstance(value, str | int) else ""
    least = 1 if key == "capacity" else 0
    if not _NUMBER.fullmatch(text) or not least <= int(text) <= MAX_INT32:
        expected = f"a number from {least} to {MAX_INT32}"
        raise BadAnnotation(f"{path}.{key}", shown(value), expected)
    return int(text)
