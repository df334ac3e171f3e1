"""Rows as tables for a terminal of 80 columns."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from benchmarks.cells import Cell, Group, case_text, cell, groups, heading
from benchmarks.results import Row

WIDTH: Final = 80
_LEAST_CASE_WIDTH: Final = 25
_STYLES: Final = {True: "green", False: "bold red", None: ""}


def tables(rows: Iterable[Row]) -> Iterator[Table]:
    """Lay rows out; a group with too many columns is continued in further tables."""
    for group in groups(rows):
        for columns in _pages(group):
            yield _table(group, columns)


def _table(group: Group, columns: Sequence[str]) -> Table:
    shown = Table(
        title=f"{group.part}: {group.shared}" if group.shared else group.part,
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=0,
        show_edge=False,
        pad_edge=False,
    )
    shown.add_column("case", vertical="bottom", min_width=_LEAST_CASE_WIDTH)
    for name in columns:
        shown.add_column(_heading(name), justify="right", no_wrap=True)
    for row in group.rows:
        cells = [_styled(cell(row, name)) for name in columns]
        shown.add_row(case_text(row.case, group.keys), *cells)
    return shown


def _pages(group: Group) -> Iterator[list[str]]:
    """Take as many columns together as fit beside the case."""
    page: list[str] = []
    room = WIDTH - _LEAST_CASE_WIDTH - 1
    for name in group.columns:
        texts = [cell(row, name).text for row in group.rows]
        width = 1 + max(map(len, [*_heading(name).split("\n"), *texts]))
        if page and width > room:
            yield page
            page, room = [], WIDTH - _LEAST_CASE_WIDTH - 1
        page.append(name)
        room -= width
    yield page


def _heading(name: str) -> str:
    """Break a heading into lines, each about as wide as a figure."""
    words, unit = heading(name)
    return "\n".join([*words.split(), unit] if unit else words.split())


def _styled(shown: Cell) -> Text:
    return Text(shown.text, style=_STYLES[shown.is_within])
