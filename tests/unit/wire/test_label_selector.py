"""Label selectors: which nodes they select, and what is wrong with those that do not.

What is taken, and what it selects, is held against Kubernetes' own parser in
tests/contract/test_label_selectors.py.
"""

import pytest

from extender.errors import BadSelector
from extender.wire.label_selector import EVERYTHING, parse_selector

GPU_NODE = {"gpu": "on", "zone": "a", "cards": "8", "spot": ""}

SELECTED = {
    "HAMi's form": ("gpu=on", True),
    "several of HAMi's": ("gpu=on,zone=a", True),
    "one of which does not hold": ("gpu=on,zone=b", False),
    "written with two": ("gpu==on", True),
    "another value": ("gpu!=on", False),
    "another value of a label that is not there": ("tier!=prod", True),
    "one of a list": ("zone in (a, b)", True),
    "none of a list": ("zone notin (b, c)", True),
    "none of a list, and not there": ("tier notin (prod)", True),
    "a label that is there": ("gpu", True),
    "an empty one is there": ("spot", True),
    "a label that is not there": ("!tier", True),
    "a label that should not be there": ("!gpu", False),
    "an empty value": ("spot=", True),
    "more than": ("cards>4", True),
    "less than": ("cards<8", False),
    "no number": ("gpu>0", False),
    "nothing": ("", True),
    "blanks": ("  \t", True),
}


@pytest.mark.parametrize(("text", "is_selected"), SELECTED.values(), ids=SELECTED)
def test_node_is_selected(text: str, is_selected: bool) -> None:  # noqa: FBT001
    """By its labels, as kubectl -l would."""
    assert parse_selector(text).matches(GPU_NODE) is is_selected


REFUSED = {
    "a key that is none": ("-gpu=on", "character 1: '-gpu' is not a key"),
    "a value that is none": ("gpu=on,zone=a/b", "character 13: 'a/b' is not a value"),
    "a comma too many": ("gpu=on,", "character 8: the end is not a key"),
    "two without a comma": ("gpu=on zone=a", "character 8: 'zone' is not `,` or the"),
    "no operator": ("gpu on", "character 5: 'on' is not `,`, `=`, `==`"),
    "in capitals": ("gpu IN (on)", "character 5: 'IN' is not `,`, `=`, `==`"),
    "no list": ("gpu in on", "character 8: 'on' is not `(`"),
    "a list without an end": ("gpu in (on", "character 11: the end is not `,` or `)`"),
    "not and is": ("!gpu=on", "character 5: '=' is not `,` or the end"),
    "no number": ("cards>many", "character 7: 'many' is not a whole number"),
    "quotes": ('"gpu=on"', "character 1: '\"gpu' is not a key"),
}


@pytest.mark.parametrize(("text", "problem"), REFUSED.values(), ids=REFUSED)
def test_bad_selector_says_where(text: str, problem: str) -> None:
    """The first character that is wrong, what stands there, and what should."""
    with pytest.raises(BadSelector) as refused:
        parse_selector(text)
    assert str(refused.value).startswith(problem)


def test_keys_are_those_that_decide() -> None:
    """Other labels of a node need not be read."""
    assert parse_selector("gpu=on,!spot,zone in (a)").keys == {"gpu", "spot", "zone"}
    assert EVERYTHING.keys == frozenset()
