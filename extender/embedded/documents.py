"""Kubernetes objects in files, as kubectl prints or people write them."""

from collections.abc import Iterator
from typing import Final

import orjson
import yaml

from extender.errors import BadObject, Described
from extender.wire.objects import JsonObject, as_object, list_at

_LIST_SUFFIX: Final = "List"
_TIMESTAMP_TAG: Final = "tag:yaml.org,2002:timestamp"


class _Loader(yaml.CSafeLoader):
    """Plain values only; times stay text, as in JSON."""

    yaml_implicit_resolvers: Final = {  # type: ignore[misc]
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP_TAG]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


def objects_in(content: bytes, source: str) -> Iterator[JsonObject]:
    """Read every object of a JSON or YAML text, lists taken apart.

    Takes one object, several YAML documents, ``List``, ``PodList`` and ``NodeList``.
    Items of a list without a kind of their own get it from the list.

    Args:
        content: UTF-8 text.
        source: Where it comes from, for the error.

    Raises:
        BadObject: It is neither JSON nor YAML, or holds something else than objects.
    """
    for number, document in enumerate(_documents(content, source), start=1):
        if document is not None:
            yield from _items(as_object(document, f"{source}: document {number}"))


def _documents(content: bytes, source: str) -> list[object]:
    text = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"{", b"[")):
        try:
            return [orjson.loads(text)]
        except orjson.JSONDecodeError as error:
            raise BadObject(source, _start_of(text), f"JSON: {error}") from error
    try:
        return list(_yaml_documents(text, source))
    except _YAML_FAULTS as error:
        problem = " ".join(str(error).split()) or type(error).__name__
        raise BadObject(source, _start_of(text), f"YAML: {problem}") from error


_YAML_FAULTS: Final = (
    yaml.YAMLError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What PyYAML raises, the last ones for explicit tags on texts that do not fit them."""


def _yaml_documents(text: bytes, source: str) -> Iterator[object]:
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is None:
                continue
            _refuse_aliases(node, source)
            yield _as_json(loader.construct_document(node), source)
    finally:
        loader.dispose()


def _refuse_aliases(root: yaml.Node, source: str) -> None:
    """Refuse aliases: a few lines of them can stand for gigabytes."""
    seen: set[int] = set()
    left: list[yaml.Node] = [root]
    while left:
        node = left.pop()
        if id(node) in seen:
            raise BadObject(
                source, Described("an alias (*name)"), "taken: write it out"
            )
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            left.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            left.extend(part for pair in node.value for part in pair)


def _as_json(document: object, source: str) -> object:
    """Give a YAML document the types of JSON, so that it can be written as such."""
    try:
        return orjson.loads(orjson.dumps(document))
    except orjson.JSONEncodeError as error:
        raise BadObject(source, Described("a value"), f"JSON: {error}") from error


def _items(document: JsonObject) -> Iterator[JsonObject]:
    kind = document.get("kind")
    if not isinstance(kind, str) or not kind.endswith(_LIST_SUFFIX):
        yield document
        return
    item_kind = kind.removesuffix(_LIST_SUFFIX)
    for index, value in enumerate(list_at(document, "items", kind)):
        item = as_object(value, f"{kind}.items[{index}]")
        if item_kind and "kind" not in item:
            item = {"kind": item_kind, **item}
        yield from _items(item)


def _start_of(text: bytes) -> str:
    return text[:40].decode("utf-8", "replace")
