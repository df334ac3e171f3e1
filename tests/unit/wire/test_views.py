"""Views: what was written is read as the same, and else refused by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import orjson
import pytest

from extender.core.names import NodeName
from extender.core.usage import Usage
from extender.errors import MalformedBody
from extender.wire.views import decode_view, encode_view


class _Word(StrEnum):
    ONE = "one"
    TWO = "two"


@dataclass(frozen=True, slots=True)
class _Part:
    node_name: NodeName
    usage: Usage
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class _View:
    parts: tuple[_Part, ...]
    by_name: Mapping[str, _Part]
    word: _Word | None
    is_open: bool
    texts: tuple[str, ...] = ()
    told: Mapping[str, int] = field(default_factory=dict)


PART = _Part(NodeName("n1"), Usage(1, -2_048, 3), 0.5)
VIEW = _View((PART, PART), {"a": PART}, _Word.TWO, is_open=True, told={"x": 1})


def test_view_comes_back() -> None:
    """Every kind of field that views have."""
    assert decode_view(_View, orjson.loads(encode_view(VIEW))) == VIEW


def test_other_versions() -> None:
    """What is not known is passed over, and what has a default may be missing."""
    told = orjson.loads(encode_view(VIEW)) | {"new": [1]}
    del told["told"], told["texts"]
    expected = _View(VIEW.parts, VIEW.by_name, VIEW.word, is_open=True)
    assert decode_view(_View, told) == expected


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("word", "three", "answer.word: 'three' is not one of one, two"),
        ("is_open", 1, "answer.is_open: 1 is not true or false"),
        ("parts", {}, "answer.parts: an object is not a list"),
        ("parts", [{"node_name": 1}], "answer.parts[0].node_name: 1 is not a string"),
        ("by_name", {"b": None}, "answer.by_name.b: missing or null, expected an obj"),
        ("told", {"x": True}, "answer.told.x: True is not a whole number"),
        ("is_open", ..., "answer.is_open: missing or null, expected a value"),
    ],
)
def test_damaged_answer(key: str, value: object, complaint: str) -> None:
    """The field is named, and what it should be."""
    told = orjson.loads(encode_view(VIEW))
    told.pop(key) if value is ... else told.update({key: value})
    with pytest.raises(MalformedBody) as refused:
        decode_view(_View, told)
    assert complaint in str(refused.value)
