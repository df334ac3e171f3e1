"""Kubernetes' label selectors, as ``kubectl -l`` takes them.

::

    selector     requirement, requirement, ...   all of them; none selects everything
    requirement  KEY                             there is such a label
                 !KEY                            there is none
                 KEY = VALUE  KEY == VALUE  KEY != VALUE
                 KEY in (VALUE, ...)  KEY notin (VALUE, ...)
                 KEY > NUMBER  KEY < NUMBER

Blanks may stand between any two words. ``!=`` and ``notin`` select what has no such
label, too. A value may be empty, also in a list: ``KEY in (a,)``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from extender.errors import BadSelector, Described

_LONGEST_NAME: Final = 63
_LONGEST_PREFIX: Final = 253
_NAME: Final = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_PREFIX: Final = re.compile(
    r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
)
_WORD: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+|\Z)")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,4000}")
_MAX_INT64: Final = 2**63 - 1

_END: Final = ""
_OTHER: Final = frozenset(("", ",", "!", "=", "==", "!=", "(", ")", "<", ">"))
"""Words that are neither keys nor values."""

_A_KEY: Final = "a key, such as gpu or example.com/gpu"
_A_VALUE: Final = "a value: at most 63 letters, digits, `-`, `_` and `.`"
_A_NUMBER: Final = "a whole number from 0 to 9223372036854775807"
_AN_OPERATOR: Final = "`,`, `=`, `==`, `!=`, `in`, `notin`, `<` or `>`"


class _Operator(Enum):
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    MISSING = "missing"
    GREATER = ">"
    LESS = "<"


_OPERATORS: Final = {
    "=": _Operator.IN,
    "==": _Operator.IN,
    "!=": _Operator.NOT_IN,
    "in": _Operator.IN,
    "notin": _Operator.NOT_IN,
    ">": _Operator.GREATER,
    "<": _Operator.LESS,
}
_OF_LISTS: Final = frozenset(("in", "notin"))
_OF_NUMBERS: Final = frozenset("<>")


@dataclass(frozen=True, slots=True)
class _Requirement:
    key: str
    operator: _Operator
    values: frozenset[str] = frozenset()
    bound: int = 0

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case _Operator.IN:
                return value in self.values
            case _Operator.NOT_IN:
                return value not in self.values
            case _Operator.EXISTS:
                return value is not None
            case _Operator.MISSING:
                return value is None
            case _Operator.GREATER:
                number = None if value is None else _int64(value)
                return number is not None and number > self.bound
            case _Operator.LESS:
                number = None if value is None else _int64(value)
                return number is not None and number < self.bound


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """What labels must be like; without requirements, any will do.

    Attributes:
        text: As it was written.
        requirements: All must be met.
    """

    text: str = ""
    requirements: tuple[_Requirement, ...] = ()

    @property
    def keys(self) -> frozenset[str]:
        """The labels that decide."""
        return frozenset(each.key for each in self.requirements)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether labels meet every requirement.

        Example:
            >>> selector = parse_selector("gpu=on, zone in (a, b), !spot")
            >>> selector.matches({"gpu": "on", "zone": "b"})
            True
            >>> selector.matches({"gpu": "on", "zone": "b", "spot": ""})
            False
        """
        return all(each.matches(labels) for each in self.requirements)


EVERYTHING: Final = LabelSelector()


def parse_selector(text: str) -> LabelSelector:
    """Read a selector.

    Raises:
        BadSelector: It is none; the error names the character from which it is not.

    Example:
        >>> parse_selector("gpu = on").matches({"gpu": "off"})
        False
        >>> parse_selector("gpu=on zone=a")
        Traceback (most recent call last):
          ...
        extender.errors.BadSelector: character 8: 'zone' is not `,` or the end

    Source: Parse of k8s.io/apimachinery/pkg/labels.
    """
    return LabelSelector(text, _Parser(text).requirements())


class _Word(NamedTuple):
    """A word of a selector; the end of the text is an empty one."""

    text: str
    at: int

    def refused(self, wanted: str) -> BadSelector:
        found = self.text or Described("the end")
        return BadSelector(f"character {self.at + 1}", found, wanted)


class _Parser:
    def __init__(self, text: str) -> None:
        self._words = _words(text)
        self._next = 0

    def requirements(self) -> tuple[_Requirement, ...]:
        found: list[_Requirement] = []
        if self._peek() == _END:
            return ()
        while True:
            found.append(self._requirement())
            word = self._take()
            if word.text == _END:
                return tuple(found)
            if word.text != ",":
                raise word.refused("`,` or the end")

    def _peek(self) -> str:
        return self._words[self._next].text

    def _take(self) -> _Word:
        word = self._words[self._next]
        self._next += 1
        return word

    def _requirement(self) -> _Requirement:
        if self._peek() == "!":
            self._take()
            return _Requirement(self._key(), _Operator.MISSING)
        key = self._key()
        if self._peek() in (_END, ","):
            return _Requirement(key, _Operator.EXISTS)
        word = self._take()
        operator = _OPERATORS.get(word.text)
        if operator is None:
            raise word.refused(_AN_OPERATOR)
        if word.text in _OF_LISTS:
            return _Requirement(key, operator, self._list())
        if word.text in _OF_NUMBERS:
            return _Requirement(key, operator, bound=self._number())
        value = self._value(ends=(_END, ","))
        return _Requirement(key, operator, frozenset((value,)))

    def _key(self) -> str:
        word = self._take()
        if word.text in _OTHER or not _is_key(word.text):
            raise word.refused(_A_KEY)
        return word.text

    def _list(self) -> frozenset[str]:
        opening = self._take()
        if opening.text != "(":
            raise opening.refused("`(`")
        values: set[str] = set()
        while True:
            values.add(self._value(ends=(",", ")")))
            word = self._take()
            if word.text == ")":
                return frozenset(values)
            if word.text != ",":
                raise word.refused("`,` or `)`")

    def _value(self, *, ends: tuple[str, str]) -> str:
        """Take a value; where an end comes at once, it is an empty one."""
        if self._peek() in ends:
            return ""
        word = self._take()
        if word.text in _OTHER or not _is_value(word.text):
            raise word.refused(_A_VALUE)
        return word.text

    def _number(self) -> int:
        word = self._take()
        number = _int64(word.text)
        if number is None or not _is_value(word.text):
            raise word.refused(_A_NUMBER)
        return number


def _words(text: str) -> list[_Word]:
    """Take a text apart; any character but blanks is a part of some word."""
    return [_Word(found[1], found.start(1)) for found in _WORD.finditer(text)]


def _is_key(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= _LONGEST_PREFIX and _PREFIX.fullmatch(prefix)):
        return False
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


def _is_value(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None


def _int64(text: str) -> int | None:
    """Read a number as Go's strconv.ParseInt does; None where it is none."""
    if _NUMBER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -_MAX_INT64 - 1 <= number <= _MAX_INT64 else None
