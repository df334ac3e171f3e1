"""docs/shadow.md and the table explain every outcome."""

from pathlib import Path

from extender.cli.shadow_table import MEANINGS
from extender.verbs.shadow import Outcome
from tests.contract.test_docs import DOCS, FIRST_CELL

PAGE: Path = DOCS / "shadow.md"


def test_every_outcome_has_its_line() -> None:
    """In the order of the report."""
    page = PAGE.read_text(encoding="utf-8")
    assert [each.value for each in Outcome] == FIRST_CELL.findall(page)


def test_every_outcome_has_its_meaning() -> None:
    """A report of another version may have more."""
    assert [each.value for each in Outcome] == list(MEANINGS)
