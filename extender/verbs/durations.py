"""Durations for people: one unit, rounded down."""

from typing import Final

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


def in_words(seconds: float) -> str:
    """Tell a duration.

    Example:
        >>> in_words(59.9), in_words(7_300)
        ('59 s', '2 h')
    """
    whole = int(seconds)
    for size, unit in _UNITS:
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"
