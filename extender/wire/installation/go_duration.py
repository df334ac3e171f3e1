"""Durations as Go writes them: ``30s``, ``1m30s``, ``500ms``."""

import re
from typing import Final

from extender.errors import BadObject
from extender.wire.objects import shown

_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART: Final = re.compile(r"([0-9]{1,18}(?:[.][0-9]{0,18})?|[.][0-9]{1,18})([^0-9.]+)")


def duration_seconds(value: object, field: str) -> float:
    """Read a duration that is not negative, in seconds.

    Args:
        value: Of decoded JSON.
        field: Its path, for the error.

    Raises:
        BadObject: It is no such text.

    Source: time.ParseDuration of Go.

    Example:
        >>> [duration_seconds(text, "") for text in ("30s", "1m30s", "1.5h", "0")]
        [30.0, 90.0, 5400.0, 0.0]
    """
    if isinstance(value, str):
        if value.removeprefix("+") == "0":
            return 0.0
        seconds, rest = 0.0, value.removeprefix("+")
        while rest and (part := _PART.match(rest)):
            if part[2] not in _SECONDS:
                break
            seconds += float(part[1]) * _SECONDS[part[2]]
            rest = rest[part.end() :]
        if value.removeprefix("+") and not rest:
            return seconds
    raise BadObject(field, shown(value), "a duration, such as 30s")
