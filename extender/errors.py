"""Every error of the project, as one tree.

::

    ExtenderError
    ├── SettingsError          a flag or a file that the operator gave
    │   └── BadDeviceConfig    a device configuration: all that is wrong in it
    ├── WireError              bytes or text from outside: field, value, expected
    │   ├── MalformedBody      a request body
    │   ├── BodyTooLarge       a request body, by its size
    │   ├── BadObject          a Pod or Node object
    │   ├── BadAnnotation      an annotation's text
    │   ├── BadSelector        a label selector
    │   └── BadQuantity        a resource quantity
    ├── StateError
    │   └── NotSynced          asked before nodes and pods were applied
    └── ClusterError           what the cluster answered to a read or a write
        ├── NotFound           no such object
        ├── Conflict           the object is not in the state the write needs
        ├── Gone               that resourceVersion is no longer served: list again
        ├── Forbidden          who we are, or what we may do, is not accepted
        ├── ReadOnly           a write that this process must not send
        ├── Rejected           the request itself is not acceptable
        └── Unreachable        not carried out: no connection, or too many requests
            └── Unanswered     sent; whether it was carried out is not known

A refusal (a pod does not fit) is an answer, not an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LONGEST_SHOWN: Final = 80
"""Of a value from outside, in characters, wherever it is shown."""

_LONGEST_TEXT: Final = 300


class ExtenderError(Exception):
    """Anything that this project raises on purpose."""


class SettingsError(ExtenderError):
    """A flag, a setting or a file given by the operator cannot be used."""


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing that is wrong in a file that the operator gave.

    Attributes:
        line: From 1.
        column: From 1.
        key: Path of the key; empty where the file as a whole is meant.
        value: What was found, as it is shown; None where the key is what is wrong.
        expected: What would have been accepted; completes "is not".

    Example:
        >>> print(ConfigProblem(7, 3, "nvidia.memoryFactor", "'x'", "a whole number"))
        line 7: nvidia.memoryFactor: 'x' is not a whole number
    """

    line: int
    column: int
    key: str
    value: str | None
    expected: str

    def __str__(self) -> str:
        if not self.key:
            where = f"line {self.line}, column {self.column}"
            return f"{where}: {self.value} is not {self.expected}"
        value = "" if self.value is None else f": {self.value}"
        return f"line {self.line}: {self.key}{value} is not {self.expected}"


class BadDeviceConfig(SettingsError):
    """A device configuration cannot be used.

    Attributes:
        source: Where it comes from.
        problems: All of them, by line.
    """

    def __init__(self, source: str, problems: Sequence[ConfigProblem]) -> None:
        super().__init__(f"{source}: {'; '.join(map(str, problems))}")
        self.source = source
        self.problems = tuple(problems)


class WireError(ExtenderError):
    """Bytes or text from outside are not what they should be.

    Attributes:
        field: Path of the field, as the sender would write it.
        value: What was found there, shortened in the message; None for nothing.
        expected: What would have been accepted.
    """

    def __init__(self, field: str, value: object, expected: str) -> None:
        where, wanted = cut(field, _LONGEST_TEXT), cut(expected, _LONGEST_TEXT)
        if value is None:
            super().__init__(f"{where}: missing or null, expected {wanted}")
        else:
            super().__init__(f"{where}: {_shown(value)} is not {wanted}")
        self.field = field
        self.value = value
        self.expected = expected


class Described(str):
    """Words about a value, for an error to show without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or digits without end
        return f"a {type(value).__name__}"
    return cut(text)


def cut(text: str, longest: int = LONGEST_SHOWN) -> str:
    """Shorten what a sender may make as long as it likes.

    Example:
        >>> cut("abcdefgh", 6)
        'abc...'
    """
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


class MalformedBody(WireError):
    """A request body cannot be used."""


class BodyTooLarge(WireError):
    """A request body is larger than what is read of it."""


class BadObject(WireError):
    """A Pod or Node object lacks a field or holds one of the wrong type."""


class BadAnnotation(WireError):
    """The text of an annotation cannot be read."""


class BadSelector(WireError):
    """The text of a label selector cannot be read."""


class BadQuantity(WireError):
    """A resource quantity cannot be read, or is out of range."""


class StateError(ExtenderError):
    """The state cannot answer."""


class NotSynced(StateError):
    """Nodes and pods have not been applied yet."""


class ClusterError(ExtenderError):
    """The cluster refused or failed a read or a write."""


class NotFound(ClusterError):
    """The object is not there."""


class Conflict(ClusterError):
    """The object is not in the state that the write needs."""


class Gone(ClusterError):
    """The resourceVersion or page asked for is no longer served: list again."""


class Forbidden(ClusterError):
    """The API server does not know us, or we lack a permission."""


class ReadOnly(ClusterError):
    """Nothing was sent: this process only watches the cluster."""


class Rejected(ClusterError):
    """The API server cannot accept the request as it is; to repeat it is no use."""


class Unreachable(ClusterError):
    """Nothing was done: there was no connection, or the server takes no more now."""


class Unanswered(Unreachable):
    """The request was sent, and no answer tells whether it was carried out."""
