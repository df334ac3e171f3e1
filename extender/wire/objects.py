"""Fields of decoded JSON objects, read with their path for the error."""

from collections.abc import Mapping
from typing import Final

from extender.errors import BadObject, Described

JsonObject = dict[str, object]

NO_FIELDS: Final[Mapping[str, object]] = {}


def as_object(value: object, field: str) -> JsonObject:
    """Take a value that must be an object.

    Raises:
        BadObject: It is something else, also null.
    """
    if not isinstance(value, dict):
        raise BadObject(field, shown(value), "an object")
    return value


def object_at(parent: Mapping[str, object], key: str, field: str) -> JsonObject:
    """Take an object that may be missing or null; then it is empty.

    Raises:
        BadObject: It is something else; `field` is the parent's path.
    """
    value = parent.get(key)
    return {} if value is None else as_object(value, f"{field}.{key}")


def list_at(parent: Mapping[str, object], key: str, field: str) -> list[object]:
    """Take a list that may be missing or null; then it is empty.

    Raises:
        BadObject: It is something else; `field` is the parent's path.
    """
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadObject(f"{field}.{key}", shown(value), "a list")
    return value


def name_at(parent: Mapping[str, object], key: str, field: str) -> str:
    """Take a text that must be there and not be empty.

    Raises:
        BadObject: It is missing, empty or something else.
    """
    value = parent.get(key)
    if not isinstance(value, str) or not value:
        raise BadObject(f"{field}.{key}", shown(value), "a non-empty string")
    return value


def optional_text_at(parent: Mapping[str, object], key: str, field: str) -> str:
    """Take a text that may be missing or null; then it is empty.

    Raises:
        BadObject: It is something else.
    """
    value = parent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadObject(f"{field}.{key}", shown(value), "a string")
    return value


def flag_at(
    parent: Mapping[str, object], key: str, field: str, *, default: bool = False
) -> bool:
    """Take a boolean that may be missing or null; then it is the default.

    Raises:
        BadObject: It is something else.
    """
    value = parent.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise BadObject(f"{field}.{key}", shown(value), "true or false")
    return value


def whole_at(
    parent: Mapping[str, object], key: str, field: str, *, default: int = 0
) -> int:
    """Take a whole number that may be missing or null; then it is the default.

    Raises:
        BadObject: It is something else.
    """
    value = parent.get(key)
    if value is None:
        return default
    if type(value) is not int:
        raise BadObject(f"{field}.{key}", shown(value), "a whole number")
    return value


def shown(value: object) -> object:
    """Give what an error may show of a value.

    Lists and objects become a word: an error prints its value, and to print what is
    nested as deeply as the JSON parser allows ends in a RecursionError.
    """
    if isinstance(value, dict):
        return Described("an object")
    if isinstance(value, list):
        return Described("a list")
    return value
