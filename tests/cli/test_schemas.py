"""The documented schemas: sound, complete, and in the words of the code."""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from extender.core.container import Lifetime
from extender.core.reasons import Reason
from tests.cli.command import schema

NAMES = ["schedule", "charge", "check-config", "quota", "decision-log"]


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_sound(name: str) -> None:
    """Draft 2020-12, and every field says what it means."""
    document = schema(name).schema
    assert isinstance(document, dict)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(document)
    assert [path for path, part in _properties(document, "") if not _told(part)] == []


OPTIONAL = {
    "/$defs/pod": {"release", "error"},
    "/$defs/share": {"mig"},
    "/$defs/message": {"request_id", "exception"},
    **{
        f"/$defs/{each}": {"request_id"}
        for each in ("filter", "prioritize", "bind", "admission", "undecided")
    },
}


@pytest.mark.parametrize("name", NAMES)
def test_schema_lists_every_field(name: str) -> None:
    """No object takes fields that are not written down, or leaves one out."""
    for path, part in _objects(schema(name).schema, ""):
        if "properties" not in part or path.endswith(("/then", "/else")):
            continue
        assert part["additionalProperties"] is False, path
        optional = OPTIONAL.get(path, set())
        assert set(part["required"]) == set(part["properties"]) - optional, path


def test_schema_has_every_reason_and_lifetime() -> None:
    """A reason that is added is documented."""
    document = schema("schedule").schema
    assert isinstance(document, dict)
    definitions = document["$defs"]
    assert definitions["reason"]["enum"] == [reason.value for reason in Reason]
    lifetimes = definitions["container"]["properties"]["lifetime"]["enum"]
    assert lifetimes == [lifetime.value for lifetime in Lifetime]


def _objects(part: Any, path: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    if isinstance(part, dict):
        yield path, part
        for key, inner in part.items():
            yield from _objects(inner, f"{path}/{key}")


def _properties(part: Any, path: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    for where, each in _objects(part, path):
        if isinstance(each.get("properties"), dict) and not where.endswith(
            ("/then", "/else")
        ):
            for key, field in each["properties"].items():
                yield f"{where}/{key}", field


def _told(field: Any) -> bool:  # noqa: ANN401 - any part of a schema
    return "description" in field or "$ref" in field
