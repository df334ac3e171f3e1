"""Kubernetes quantities that must be whole numbers."""

import re
from typing import Final

from extender.errors import BadQuantity
from extender.wire.objects import shown

_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9]*)(?:\.(?P<decimals>[0-9]*))?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[numkMGTPE]|[KMGTPE]i)?)"
)

_NANOS: Final = 10**9
"""Kubernetes keeps nine decimals and rounds the rest away from zero."""

_NANOS_PER_UNIT: Final[dict[str, int]] = {
    "n": 1,
    "u": 10**3,
    "m": 10**6,
    "": _NANOS,
    **{letter: 1000**power * _NANOS for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": 1024**power * _NANOS for power, letter in enumerate("KMGTPE", 1)},
}

_LARGEST_BINARY: Final = 2**63 - 1
"""Kubernetes cuts quantities with a binary suffix to this; others may be larger."""

# Kubernetes has a short cut for small numbers, and only that takes a text without any
# digit for 0.
_NO_SHORT_CUT: Final = ("Pi", "Ei")
_SMALLEST_EXPONENT: Final = -9

# No quantity that means something comes near these; they bound the work for those
# that do not.
_LONGEST_TEXT: Final = 64
_LARGEST_EXPONENT: Final = 64
_MOST_BITS: Final = 512

_SHORT: Final = 18
"""Digits that are read without looking further."""


def parse_whole(value: object, field: str) -> int:
    """Read a quantity that has no fraction.

    Args:
        value: As JSON has it: a string or a whole number.
        field: Path or name of the quantity, for the error.

    Returns:
        The exact value; its range is for the caller to check. Negative ones pass.

    Raises:
        BadQuantity: It is no quantity, has a fraction, or is absurdly long.

    Source: ParseQuantity in k8s.io/apimachinery/pkg/api/resource, to the letter: what
    is below a nano-unit rounds up, and ``"Gi"`` is 0.

    Example:
        >>> [parse_whole(text, "gpumem") for text in ("5k", "3e3", "2000m", "1Ki")]
        [5000, 3000, 2, 1024]
    """
    if isinstance(value, str):
        if value.isdigit() and value.isascii() and len(value) <= _SHORT:
            return int(value)
        return _parse_text(value, field)
    if isinstance(value, int) and not isinstance(value, bool):
        if value.bit_length() > _MOST_BITS:
            raise BadQuantity(field, "a number", "of a reasonable size")
        return value
    raise BadQuantity(field, shown(value), "a quantity")


def _parse_text(text: str, field: str) -> int:
    if len(text) > _LONGEST_TEXT:
        raise BadQuantity(field, text, f"at most {_LONGEST_TEXT} characters long")
    found = _QUANTITY.fullmatch(text)
    if found is None or not text:
        raise BadQuantity(field, text, "a quantity")
    decimals = found["decimals"] or ""
    exponent = int(found["exponent"] or 0)
    suffix = found["suffix"] or ""
    digits = found["digits"] + decimals
    if not digits and (suffix in _NO_SHORT_CUT or exponent < _SMALLEST_EXPONENT):
        raise BadQuantity(field, text, "a quantity")
    number = int(digits or 0)
    if number == 0:
        return 0
    if abs(exponent) > _LARGEST_EXPONENT:
        raise BadQuantity(field, text, "of a reasonable size")
    nanos = _scaled_up(number * _NANOS_PER_UNIT[suffix], exponent - len(decimals))
    if suffix.endswith("i"):
        nanos = min(nanos, _LARGEST_BINARY * _NANOS)
    whole, rest = divmod(nanos, _NANOS)
    if rest:
        raise BadQuantity(field, text, "a whole number")
    return -whole if found["sign"] == "-" else whole


def _scaled_up(number: int, tens: int) -> int:
    """Multiply by a power of ten; a fraction that arises rounds up."""
    factor: int = 10 ** abs(tens)
    return number * factor if tens >= 0 else -(-number // factor)
