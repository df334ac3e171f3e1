"""Quantities, against what Kubernetes' own parser makes of them."""

import json
from pathlib import Path

import pytest

from extender.errors import BadQuantity
from extender.wire.quantity import parse_whole

GOLDEN = Path(__file__).parents[2] / "golden" / "quantities.json"
KUBERNETES: dict[str, int | str | None] = json.loads(GOLDEN.read_text("utf-8"))
WHOLE = {text: whole for text, whole in KUBERNETES.items() if isinstance(whole, int)}
REFUSED = [text for text in KUBERNETES if text not in WHOLE]


@pytest.mark.parametrize(("text", "expected"), WHOLE.items())
def test_whole_quantity_is_what_kubernetes_reads(text: str, expected: int) -> None:
    """Suffixes, exponents, signs, rounding and cut-offs are Kubernetes' own."""
    assert parse_whole(text, "gpumem") == expected


@pytest.mark.parametrize("text", REFUSED)
def test_fraction_or_garbage_is_refused(text: str) -> None:
    """What Kubernetes cannot read, or reads as no whole number, is no amount."""
    with pytest.raises(BadQuantity):
        parse_whole(text, "gpumem")


SUFFIXES = {
    "5k is 5000": ("5k", 5_000),
    "5Gi is in bytes, however little sense that makes": ("5Gi", 5 * 2**30),
    "3e3 is an exponent": ("3e3", 3_000),
    "3E3 is one too": ("3E3", 3_000),
    "3E is the suffix": ("3E", 3 * 10**18),
    "2000m is 2": ("2000m", 2),
    "a JSON number is taken as it is": (7, 7),
    "a negative one passes": (-7, -7),
    "zero stays zero whatever its exponent": ("0e999999999", 0),
}


@pytest.mark.parametrize(("value", "expected"), SUFFIXES.values(), ids=SUFFIXES.keys())
def test_amount_is_exact(value: object, expected: int) -> None:
    """Case 75: each suffix means what Kubernetes says."""
    assert parse_whole(value, "gpumem") == expected


NO_AMOUNTS: dict[str, object] = {
    "1500m is not whole": "1500m",
    "a boolean is no number": True,
    "a float is no quantity, even a whole one": 2.0,
    "null": None,
    "a list": [1],
    "an object": {"a": 1},
    "an exponent that would burn CPU": "1e999999999",
    "an exponent longer than Python reads": "1e" + "9" * 60,
    "a negative one": "1e-999999999",
    "more digits than Python reads": "9" * 10_000,
    "a number that is too long to print": 1 << 20_000,
}


@pytest.mark.parametrize("value", NO_AMOUNTS.values(), ids=NO_AMOUNTS.keys())
def test_no_whole_number_is_refused(value: object) -> None:
    """Case 75: what is no whole number is refused, never read as zero."""
    with pytest.raises(BadQuantity, match=r"^gpumem: "):
        parse_whole(value, "gpumem")


def test_deep_nesting_can_be_shown() -> None:
    """The error of a value that cannot even be printed is still ours."""
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(BadQuantity, match="a list is not a quantity"):
        parse_whole(nested, "gpumem")
