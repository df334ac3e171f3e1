"""Each row of docs/threat-model.md is tied to tests that exist."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
NAMED: Final = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
ROW: Final = re.compile(r"^\| [STRIDE, ]+ \|.*\|$", re.MULTILINE)


def rows(text: str) -> list[str]:
    """List the threats of a part of the page."""
    return ROW.findall(text)


def defined_in(file: Path) -> set[str]:
    """Name the tests that a file defines."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        each.name
        for each in tree.body
        if isinstance(each, functions) and each.name.startswith("test_")
    }


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED.findall(PAGE))))
def test_test_of_a_threat_exists(file: str, name: str) -> None:
    """By the name that the page gives."""
    assert (ROOT / file).is_file()
    assert name in defined_in(ROOT / file)


def test_every_threat_has_a_test() -> None:
    """None stands there without."""
    assert len(rows(PAGE)) > 20
    assert [row for row in rows(PAGE) if not NAMED.search(row)] == []


def test_all_six_kinds_are_looked_at() -> None:
    """Spoofing to elevation of privilege."""
    kinds = {kind for row in rows(PAGE) for kind in row.split("|")[1].strip(" ")}
    assert kinds >= set("STRIDE")
