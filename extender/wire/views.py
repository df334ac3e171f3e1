"""Views as JSON and back: what is computed for people, wherever it was computed.

A view is a frozen dataclass of texts, numbers, enums, tuples, mappings by text and
other views. Its fields are the JSON's keys, so that a view which a running extender
computed is read as the same view again.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

import orjson

from extender.errors import MalformedBody
from extender.wire.objects import JsonObject, shown

_View = TypeVar("_View")


def encode_view(view: object) -> bytes:
    """Write a view as one JSON object."""
    return orjson.dumps(view)


def view_object(view: object) -> JsonObject:
    """Give a view as a decoded JSON object."""
    found: JsonObject = orjson.loads(encode_view(view))
    return found


def decode_view(of: type[_View], value: object, field: str = "answer") -> _View:
    """Read a view from decoded JSON.

    Keys that it does not have are passed over: another version may tell more.

    Args:
        of: Which view.
        value: Decoded JSON.
        field: Path of the value, for the error.

    Raises:
        MalformedBody: A field is missing, or of another type.
    """
    read: _View = _read(of, value, field)
    return read


def _read(of: Any, value: object, field: str) -> Any:  # noqa: ANN401 - types are values
    of = of.__supertype__ if isinstance(of, NewType) else of
    origin = get_origin(of)
    if origin is not None:
        return _read_generic(origin, get_args(of), value, field)
    if is_dataclass(of):
        return _read_dataclass(of, _checked(value, dict, "an object", field), field)
    if issubclass(of, Enum):
        return _read_enum(of, value, field)
    if of is float and type(value) is int:
        return float(value)
    return _checked(value, of, _WORD_OF[of], field)


def _read_generic(
    origin: Any,  # noqa: ANN401
    arguments: tuple[Any, ...],
    value: object,
    field: str,
) -> Any:  # noqa: ANN401
    if origin in (Union, UnionType):
        return _read_one_of(arguments, value, field)
    if origin is tuple:
        items = _checked(value, list, "a list", field)
        return tuple(
            _read(arguments[0], item, f"{field}[{index}]")
            for index, item in enumerate(items)
        )
    entries = _checked(value, dict, "an object", field)
    return {
        key: _read(arguments[1], item, f"{field}.{key}")
        for key, item in entries.items()
    }


_WORD_OF: Mapping[type, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def _read_one_of(options: tuple[Any, ...], value: object, field: str) -> Any:  # noqa: ANN401
    if value is None and NoneType in options:
        return None
    [of] = [each for each in options if each is not NoneType]
    return _read(of, value, field)


def _read_dataclass(of: Any, value: JsonObject, field: str) -> Any:  # noqa: ANN401
    hints = get_type_hints(of)
    found = {}
    for each in fields(of):
        if each.name in value:
            path = f"{field}.{each.name}"
            found[each.name] = _read(hints[each.name], value[each.name], path)
        elif not _has_default(each):
            raise MalformedBody(f"{field}.{each.name}", None, "a value")
    make: Callable[..., Any] = of
    return make(**found)


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _read_enum(of: type[Enum], value: object, field: str) -> Enum:
    try:
        return of(value)
    except ValueError:
        known = ", ".join(str(each.value) for each in of)
        raise MalformedBody(field, shown(value), f"one of {known}") from None


def _checked(value: object, of: type, word: str, field: str) -> Any:  # noqa: ANN401
    if type(value) is not of:
        raise MalformedBody(field, shown(value), word)
    return value
