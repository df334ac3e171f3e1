"""Frozen values of the domain as JSON and back, exactly.

Unlike `extender.wire.views`, whatever decides can be written: sets, infinity, and
fields of several types. A field that has its default is left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from math import inf
from types import NoneType, UnionType
from typing import Any, Final, NewType, TypeVar, Union, cast, get_args, get_origin
from typing import get_type_hints as hints_of

from extender.errors import MalformedBody
from extender.wire.objects import shown

_Value = TypeVar("_Value")

_Read = Callable[[object, str], Any]

_INFINITY: Final = "infinity"


def encode_value(value: Any) -> Any:  # noqa: ANN401 - any value, as JSON
    """Write a value of the domain as what JSON can say.

    Raises:
        TypeError: It is none.
    """
    write = _WRITER_OF.get(type(value))
    if write is None:
        write = _WRITER_OF[type(value)] = _writer_of(type(value))
    return write(value)


_Write = Callable[[Any], Any]


def _writer_of(of: type) -> _Write:
    """Find out once for each type how it is written."""
    writers: list[tuple[type, _Write]] = [
        (Enum, lambda value: value.value),
        (tuple, lambda value: [encode_value(each) for each in value]),
        (frozenset, lambda value: sorted(encode_value(each) for each in value)),
        (
            Mapping,
            lambda value: {str(key): encode_value(each) for key, each in value.items()},
        ),
    ]
    if is_dataclass(of):
        return _write_dataclass
    for base, write in writers:
        if issubclass(of, base):
            return write
    raise TypeError(f"{of.__name__} is no value of the domain")


_WRITER_OF: Final[dict[type, _Write]] = {
    **dict.fromkeys((NoneType, str, int, bool), lambda value: value),
    float: lambda value: _INFINITY if value == inf else value,
}


def _write_dataclass(value: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        name: encode_value(given)
        for name, default in _defaults_of(cast("Any", type(value)))
        if (given := getattr(value, name)) is not default and given != default
    }


def decode_value(of: type[_Value], value: object, field: str) -> _Value:
    """Read a value from decoded JSON.

    Args:
        of: Which.
        value: Decoded JSON.
        field: Path of the value, for the error.

    Raises:
        MalformedBody: A field is missing, unknown, or of another type.
    """
    reader: Callable[[object, str], _Value] = _reader_of(cast("Any", of))
    return reader(value, field)


_NOTHING: Final = object()
"""The default of a field that has none."""


@cache
def _defaults_of(of: Any) -> tuple[tuple[str, object], ...]:  # noqa: ANN401
    return tuple((each.name, _default(each)) for each in fields(of))


def _default(field: Field[Any]) -> object:
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    return _NOTHING


@cache
def _reader_of(of: Any) -> _Read:  # noqa: ANN401 - types are values
    while isinstance(of, NewType):
        of = of.__supertype__
    origin = get_origin(of)
    if origin is not None:
        return _generic_reader(origin, get_args(of))
    if is_dataclass(of):
        return _dataclass_reader(of)
    if issubclass(of, Enum):
        return _enum_reader(of)
    return _read_float if of is float else _checked(of, _WORD_OF[of])


_WORD_OF: Final[Mapping[type, str]] = {
    str: "a string",
    int: "a whole number",
    bool: "true or false",
    NoneType: "null",
}


def _generic_reader(origin: Any, arguments: tuple[Any, ...]) -> _Read:  # noqa: ANN401
    if origin in (Union, UnionType):
        return _union_reader(arguments)
    if origin is tuple:
        return _tuple_reader(arguments)
    if origin is frozenset:
        read_item = _reader_of(arguments[0])

        def read_set(value: object, field: str) -> frozenset[Any]:
            items = _list(value, field)
            return frozenset(
                [read_item(each, f"{field}[{n}]") for n, each in enumerate(items)]
            )

        return read_set
    read_entry = _reader_of(arguments[1])

    def read_mapping(value: object, field: str) -> dict[str, Any]:
        if type(value) is not dict:
            raise MalformedBody(field, shown(value), "an object")
        return {key: read_entry(each, f"{field}.{key}") for key, each in value.items()}

    return read_mapping


def _tuple_reader(arguments: tuple[Any, ...]) -> _Read:
    if len(arguments) == 2 and arguments[1] is Ellipsis:  # noqa: PLR2004 - tuple[X, ...]
        read_item = _reader_of(arguments[0])

        def read_many(value: object, field: str) -> tuple[Any, ...]:
            items = _list(value, field)
            return tuple(
                [read_item(each, f"{field}[{n}]") for n, each in enumerate(items)]
            )

        return read_many
    readers = [_reader_of(each) for each in arguments]

    def read_few(value: object, field: str) -> tuple[Any, ...]:
        items = _list(value, field)
        if len(items) != len(readers):
            raise MalformedBody(field, shown(value), f"a list of {len(readers)}")
        return tuple(
            read(each, f"{field}[{n}]")
            for n, (read, each) in enumerate(zip(readers, items, strict=True))
        )

    return read_few


def _union_reader(arguments: tuple[Any, ...]) -> _Read:
    """Read one of several types, which JSON tells apart by its own."""
    readers = {_json_type(each): _reader_of(each) for each in arguments}

    def read(value: object, field: str) -> Any:  # noqa: ANN401
        reader = readers.get(type(value))
        if reader is None:
            names = sorted(_JSON_WORD[each] for each in readers)
            raise MalformedBody(field, shown(value), " or ".join(names))
        return reader(value, field)

    return read


_JSON_WORD: Final[Mapping[type, str]] = {
    NoneType: "null",
    list: "a list",
    dict: "an object",
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def _json_type(of: Any) -> type:  # noqa: ANN401
    if isinstance(of, NewType):
        return _json_type(of.__supertype__)
    origin = get_origin(of) or of
    if origin in (tuple, frozenset):
        return list
    if is_dataclass(of) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return dict
    if isinstance(origin, type) and issubclass(origin, Enum):
        return str
    found: type = origin
    return found


def _list(value: object, field: str) -> list[object]:
    if type(value) is not list:
        raise MalformedBody(field, shown(value), "a list")
    return value


def _dataclass_reader(of: Any) -> _Read:  # noqa: ANN401
    hints = hints_of(of)
    # Not before it is needed: types may name each other.
    readers: dict[str, _Read] = {}
    needed = {name for name, default in _defaults_of(of) if default is _NOTHING}
    names = {each.name for each in fields(of)}

    def read(value: object, field: str) -> Any:  # noqa: ANN401
        if type(value) is not dict:
            raise MalformedBody(field, shown(value), "an object")
        given = {}
        for key, each in value.items():
            if key not in readers:
                if key not in names:
                    raise MalformedBody(f"{field}.{key}", shown(each), "no such field")
                readers[key] = _reader_of(hints[key])
            given[key] = readers[key](each, f"{field}.{key}")
        missing = needed - given.keys()
        if missing:
            raise MalformedBody(f"{field}.{min(missing)}", None, "a value")
        return of(**given)

    return read


def _enum_reader(of: type[Enum]) -> _Read:
    by_value = {each.value: each for each in of}

    def read(value: object, field: str) -> Enum:
        found = by_value.get(value) if isinstance(value, str | int) else None
        if found is None:
            known = ", ".join(str(each) for each in by_value)
            raise MalformedBody(field, shown(value), f"one of {known}")
        return found

    return read


def _read_float(value: object, field: str) -> float:
    if value == _INFINITY:
        return inf
    if type(value) not in (int, float):
        raise MalformedBody(field, shown(value), f"a number or {_INFINITY}")
    return float(value)  # type: ignore[arg-type] # as was just checked


def _checked(of: type, word: str) -> _Read:
    def read(value: object, field: str) -> Any:  # noqa: ANN401
        if type(value) is not of:
            raise MalformedBody(field, shown(value), word)
        return value

    return read
