"""How a node's cards are linked, as its device plugin registers it."""

from typing import Final

import orjson

from extender.core.names import DeviceUUID
from extender.core.node import Links
from extender.errors import BadAnnotation
from extender.wire.objects import shown

_HIGHEST: Final = 2**28
"""No link scores more than some thousands."""


def decode_links(text: str, field: str) -> Links:
    """Read the scores of pairs of cards: ``[{"uuid": "a", "score": {"b": 120}}]``.

    Args:
        text: A JSON list with an element per card.
        field: The annotation's name, for the error.

    Raises:
        BadAnnotation: It cannot be read; the error names the element and its key.
    """
    try:
        elements = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadAnnotation(field, text, f"JSON: {error}") from error
    if not isinstance(elements, list):
        raise BadAnnotation(field, shown(elements), "a list")
    links: dict[DeviceUUID, dict[DeviceUUID, int]] = {}
    for number, element in enumerate(elements):
        where = f"{field}[{number}]"
        if not isinstance(element, dict):
            raise BadAnnotation(where, shown(element), "an object")
        uuid = element.get("uuid")
        if not isinstance(uuid, str) or not uuid:
            raise BadAnnotation(f"{where}.uuid", shown(uuid), "a card's id")
        links[DeviceUUID(uuid)] = _scores(element.get("score"), f"{where}.score")
    return links


def _scores(value: object, field: str) -> dict[DeviceUUID, int]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadAnnotation(field, shown(value), "an object")
    scores: dict[DeviceUUID, int] = {}
    for uuid, score in value.items():
        if type(score) is not int or not 0 <= score < _HIGHEST:
            wanted = f"a whole number from 0 to {_HIGHEST - 1}"
            raise BadAnnotation(f"{field}[{uuid}]", shown(score), wanted)
        scores[DeviceUUID(uuid)] = score
    return scores
