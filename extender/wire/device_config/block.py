"""One mapping of a device configuration, read key by key."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

import yaml

from extender.core.names import MAX_INT32
from extender.wire.device_config.problems import Problems

_NULL: Final = "tag:yaml.org,2002:null"
_BOOL: Final = "tag:yaml.org,2002:bool"
_TRUE: Final = frozenset({"true", "yes", "on"})

_NUMBER: Final = re.compile(r"[0-9]{1,10}")
_NAME: Final = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_RESOURCE: Final = re.compile(rf"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/{_NAME}")
_WORD: Final = re.compile(_NAME)
_OBJECT_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")

_LONGEST_RESOURCE: Final = 253 + 1 + 63
_LONGEST_OBJECT_NAME: Final = 253
_LONGEST_WORD: Final = 43
"""``<word>-devices-to-allocate`` is the name of an annotation, of 63 at most."""


class Block:
    """A mapping, and which of its keys were asked for.

    What is wrong goes to the problems; the caller gets the default and reads on, so
    that all of it is found at once. `finish` must be called in the end.
    """

    __slots__ = ("_asked", "_entries", "node", "path", "problems")

    def __init__(self, node: yaml.MappingNode, path: str, problems: Problems) -> None:
        self.node = node
        self.path = path
        self.problems = problems
        self._asked: set[str] = set()
        self._entries: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                problems.add(key_node, path or "a key", None, "a word")
                continue
            key = key_node.value
            if key in self._entries:
                line = self._entries[key][0].start_mark.line + 1
                expected = f"there once; it is at line {line} already"
                problems.add(key_node, self.key(key), None, expected)
                continue
            self._entries[key] = (key_node, value_node)

    def key(self, name: str) -> str:
        """Give the path of a key."""
        return f"{self.path}.{name}" if self.path else name

    def value(self, name: str) -> yaml.Node | None:
        """Give a key's value; None where it is missing or null."""
        self._asked.add(name)
        entry = self._entries.get(name)
        return None if entry is None or entry[1].tag == _NULL else entry[1]

    def place(self, name: str) -> tuple[yaml.Node, str]:
        """Give where a key's value stands, and its path; else those of the mapping."""
        entry = self._entries.get(name)
        return (self.node, self.path) if entry is None else (entry[1], self.key(name))

    def text(self, name: str) -> str:
        """Read a text; empty where it is missing."""
        value = self.value(name)
        if value is None:
            return ""
        if not isinstance(value, yaml.ScalarNode):
            self._wrong(value, name, "a text")
            return ""
        return str(value.value)

    def resource(self, name: str) -> str | None:
        """Read a resource's name, which must be free; None where it is empty."""
        text = self.text(name)
        value = self.value(name)
        if not text or value is None:
            return None
        if not _RESOURCE.fullmatch(text) or len(text) > _LONGEST_RESOURCE:
            self._wrong(value, name, "a resource's name, such as nvidia.com/gpu")
            return None
        self.problems.claim(value, self.key(name), text, "resource")
        return text

    def object_name(self, name: str) -> str:
        """Read the name of a Kubernetes object; empty where it is missing.

        The API server would refuse every pod that is given any other.
        """
        text = self.text(name)
        value = self.value(name)
        if not text or value is None:
            return ""
        if not _OBJECT_NAME.fullmatch(text) or len(text) > _LONGEST_OBJECT_NAME:
            self._wrong(value, name, "an object's name: a-z, 0-9, `-` and `.`")
            return ""
        return text

    def word(self, name: str, *, is_needed: bool) -> str:
        """Read a word that names a kind; empty where it is not there."""
        text = self.text(name)
        value = self.value(name)
        if not text or value is None:
            if is_needed:
                self.missing(name, "it names the kind")
            return ""
        if not _WORD.fullmatch(text) or len(text) > _LONGEST_WORD:
            expected = f"a word of letters, digits and `-_.`, {_LONGEST_WORD} at most"
            self._wrong(value, name, expected)
            return ""
        return text

    def number(
        self, name: str, *, least: int = 0, most: int = MAX_INT32, default: int = 0
    ) -> int:
        """Read a whole number; the default where it is missing."""
        value = self.value(name)
        if value is None:
            return default
        number = _whole(value, least, most)
        if number is None:
            self._wrong(value, name, f"a whole number from {least} to {most}")
            return default
        return number

    def numbers(self, name: str, *, least: int, most: int) -> tuple[int, ...]:
        """Read a whole number, or a list of some; none where it is missing."""
        value = self.value(name)
        if value is None:
            return ()
        items = value.value if isinstance(value, yaml.SequenceNode) else [value]
        read = []
        for item in items:
            number = _whole(item, least, most)
            if number is None:
                self._wrong(item, name, f"a whole number from {least} to {most}")
            else:
                read.append(number)
        return tuple(read)

    def flag(self, name: str) -> bool:
        """Read true or false; false where it is missing."""
        value = self.value(name)
        if value is None:
            return False
        if value.tag != _BOOL or not isinstance(value, yaml.ScalarNode):
            self._wrong(value, name, "true or false, without quotes")
            return False
        return value.value.lower() in _TRUE

    def choice(self, name: str, *choices: str) -> str:
        """Read one of some words; the first where it is missing or empty."""
        text = self.text(name)
        value = self.value(name)
        if not text or value is None:
            return choices[0]
        if text not in choices:
            self._wrong(value, name, f"one of {', '.join(choices)}")
            return choices[0]
        return text

    def block(self, name: str) -> "Block | None":
        """Read a mapping; None where it is missing."""
        value = self.value(name)
        if value is None:
            return None
        if not isinstance(value, yaml.MappingNode):
            self._wrong(value, name, "a mapping")
            return None
        return Block(value, self.key(name), self.problems)

    def blocks(self, name: str) -> Iterator["Block"]:
        """Read a list of mappings; none where it is missing."""
        value = self.value(name)
        if value is None:
            return
        if not isinstance(value, yaml.SequenceNode):
            self._wrong(value, name, "a list")
            return
        for index, item in enumerate(value.value):
            path = f"{self.key(name)}[{index}]"
            if isinstance(item, yaml.MappingNode):
                yield Block(item, path, self.problems)
            else:
                self.problems.add(item, path, shown(item), "a mapping")

    def skip(self, *names: str) -> None:
        """Accept keys that decide nothing here."""
        self._asked.update(names)

    def missing(self, name: str, expected: str) -> None:
        """Report a key that must be there, at the line where the mapping begins."""
        entry = self._entries.get(name)
        node = self.node if entry is None else entry[0]
        self.problems.add(node, self.key(name), None, f"there: {expected}")

    def finish(self) -> None:
        """Report every key that nobody asked for."""
        for name, (key_node, _) in self._entries.items():
            if name not in self._asked:
                close = get_close_matches(name, sorted(self._asked), n=1)
                hint = f"; do you mean {close[0]}?" if close else ""
                expected = f"a key that is known here{hint}"
                self.problems.add(key_node, self.key(name), None, expected)

    def _wrong(self, value: yaml.Node, name: str, expected: str) -> None:
        self.problems.add(value, self.key(name), shown(value), expected)


def shown(node: yaml.Node) -> str:
    """Give what an error shows of a node."""
    match node:
        case yaml.ScalarNode():
            return repr(node.value)
        case yaml.SequenceNode():
            return "a list"
        case _:
            return "a mapping"


def _whole(node: yaml.Node, least: int, most: int) -> int | None:
    text = node.value if isinstance(node, yaml.ScalarNode) else ""
    if _NUMBER.fullmatch(text) and least <= int(text) <= most:
        return int(text)
    return None
