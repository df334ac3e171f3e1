"""Kubernetes' own label selectors and ours take the same texts, and select the same.

Thousands of texts go through one process: good ones, good ones with a few characters
changed, and words in any order.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

import pytest

from extender.errors import BadSelector
from extender.wire.label_selector import parse_selector

Labels = Mapping[str, str]
Question = tuple[str, Sequence[Labels]]
Matches = list[bool] | None
"""One for each of the labels; None where the text is no selector."""

pytestmark = pytest.mark.timeout(900)  # a first build, on a busy machine

RANDOM_TEXTS: Final = 20_000
KEYS: Final = ("gpu", "zone", "a", "in", "notin", "example.com/pool", "x_y.z-0")
BAD_KEYS: Final = ("-a", "a-", "/a", "a/", "a/b/c", "Upper.com/a", "ä", "k" * 64, "a.")
VALUES: Final = ("on", "off", "A", "b", "in", "5", "07", "10", "x_y.z-0", "v" * 63)
BAD_VALUES: Final = ("-b", "b.", "+5", "-5", "v" * 64, "ü", "a/b", "'on'", '"on"')
NUMBERS: Final = ("0", "5", "7", "010", "9223372036854775807", "9223372036854775808")
LABEL_VALUES: Final = (*VALUES, *NUMBERS, "", "-5", "+7", "5_0", "5.0", "\u0665")
WORDS: Final = (
    *KEYS,
    *VALUES,
    *BAD_KEYS,
    *BAD_VALUES,
    *NUMBERS,
    *"=!(),<>",
    "==",
    "!=",
)
BLANKS: Final = ("", "", "", "", " ", "  ", "\t", "\n", "\r")
CHARACTERS: Final = "abin=!(),<> \t/.-_0A+ü\u00a0\x0b"

EXAMPLES: Final[tuple[str, ...]] = (
    "", " ", ",", "a,", ",a", "a,,b", "a,b", "!a", "! a", "!!a", "!a=b", "!in", "!",
    "a=b", "a==b", "a===b", "a=!b", "a!=b", "a! =b", "a!b", "a=", "a=,b", "a==", "a!=",
    "a = b", "a =b,c= d", "a=b c", "a b", "a=b,a=c", "a=in", "a=notin", "a=b=c",
    "a in (b)", "a in b", "a in", "a in (", "a in ()", "a in (,)", "a in (,b)",
    "a in (b,)", "a in (b,,c)", "a in (b c)", "a in (b", "a in b)", "a in(b)",
    "a in ( b , c ) , d", "in in (in)", "notin notin (notin)", "a in (in,notin)",
    "a notin (b)", "a notin ()", "a not in (b)", "a IN (b)", "a in (b)c", "a in ((b))",
    "a in (=)", "a in (!b)", "a>1", "a<1", "a > 1 , a < 9", "a>", "a>,b", "a>b", "a>1b",
    "a>-1", "a>+1", "a>1_0", "a>9223372036854775807", "a>9223372036854775808", "a>=1",
    "a<>1", "(a)", "a)", "=b", "a/b=c", "example.com/a", "a" * 63, "a" * 64,
    f"{'p' * 253}/a", f"{'p' * 254}/a", "a..b/c", "a-.b/c", "a\n=\r\tb", "a\u00a0=b",
    "a=b\x0b", "ä=b", "a=ä",
)  # fmt: skip

LABELS: Final[tuple[Labels, ...]] = (
    {},
    {"a": "b"},
    {"a": ""},
    {"a": "c", "b": "b"},
    {"a": "5", "d": ""},
    {"in": "in", "notin": "notin"},
    {"a": "in", "example.com/a": "x"},
)


def test_examples_select_alike(labelselectors_binary: Path) -> None:
    """Every corner of the syntax, good and bad."""
    questions = [(text, LABELS) for text in EXAMPLES]
    answers = kubernetes(labelselectors_binary, questions)
    assert dict(zip(EXAMPLES, map(ours, questions), strict=True)) == dict(
        zip(EXAMPLES, answers, strict=True)
    )


def test_random_texts_select_alike(labelselectors_binary: Path) -> None:
    """The same ones are refused, and the others select the same labels."""
    random = Random(3_14)
    questions = [
        (text_of(random, number), [labels_of(random) for _ in range(4)])
        for number in range(RANDOM_TEXTS)
    ]
    answers = kubernetes(labelselectors_binary, questions)
    for question, answer in zip(questions, answers, strict=True):
        assert ours(question) == answer, question
    found = Counter(
        match for answer in answers for match in ([None] if answer is None else answer)
    )
    # The comparison would be empty if nearly all were refused, or matched.
    assert min(found[each] for each in (None, True, False)) > RANDOM_TEXTS // 10


def text_of(random: Random, number: int) -> str:
    """Draw a good text, one that is nearly good, or words in any order."""
    match number % 3:
        case 0:
            return selector_of(random)
        case 1:
            return mutated(random, selector_of(random))
        case _:
            return "".join(
                random.choice(WORDS) + random.choice(BLANKS)
                for _ in range(random.randint(1, 5))
            )


def selector_of(random: Random) -> str:
    """Draw a selector; now and then a key or value is not one."""
    return ",".join(requirement_of(random) for _ in range(random.choice([1, 1, 2, 3])))


def requirement_of(random: Random) -> str:
    """Draw one requirement, with blanks anywhere."""
    key = random.choice(BAD_KEYS) if random.random() < 0.02 else random.choice(KEYS)
    operator = random.choice(["", "!", "=", "==", "!=", "in", "notin", "<", ">"])
    match operator:
        case "":
            words = [key]
        case "!":
            words = ["!", key]
        case "in" | "notin":
            values = [value_of(random) for _ in range(random.randint(1, 3))]
            words = [f"{key} ", operator, "(", *",".join(values).split(), ")"]
        case "<" | ">":
            words = [key, operator, random.choice(NUMBERS)]
        case _:
            words = [key, operator, value_of(random)]
    return "".join(random.choice(BLANKS) + word for word in words) + random.choice(
        BLANKS
    )


def value_of(random: Random) -> str:
    """Draw a value, often empty, seldom a bad one."""
    if random.random() < 0.02:
        return random.choice(BAD_VALUES)
    return random.choice(["", *VALUES])


def mutated(random: Random, text: str) -> str:
    """Put in, take out or replace a few characters."""
    characters = list(text)
    for _ in range(random.randint(1, 3)):
        at = random.randint(0, len(characters))
        replacement = random.choice([[], [random.choice(CHARACTERS)]])
        characters[at : at + random.randint(0, 1)] = replacement
    return "".join(characters)


def labels_of(random: Random) -> Labels:
    """Draw labels: of the keys that are asked for, about half."""
    return {key: random.choice(LABEL_VALUES) for key in KEYS if random.random() < 0.6}


def ours(question: Question) -> Matches:
    """Ask our parser."""
    text, labels = question
    try:
        selector = parse_selector(text)
    except BadSelector:
        return None
    return [selector.matches(each) for each in labels]


def kubernetes(binary: Path, questions: Iterable[Question]) -> list[Matches]:
    """Ask Kubernetes' parser."""
    asked = "".join(
        f"{json.dumps({'selector': text, 'labels': labels})}\n"
        for text, labels in questions
    )
    done = subprocess.run(
        [binary], input=asked, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]
