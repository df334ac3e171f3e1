"""A run as Markdown: what the report and the documentation show."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from benchmarks.cells import Cell, Group, bounded, case_text, cell, groups, heading
from benchmarks.record import Record
from benchmarks.results import Row

_ALT: Final[Mapping[str, str]] = {
    "budgets": "Each figure that has a budget, as a share of it",
    "burst": "Pods bound a second, by burst, beside the echo extenders",
    "http-nodes": "Median of each verb by nodes, beside the echo server",
    "http-pods": "Filter by what a pod asks for: median and p99",
}


def report(record: Record, plots: Sequence[str], folder: str = "") -> str:
    """Write a whole run: where it was made, verdicts, plots and every row.

    Args:
        record: The run.
        plots: Names of files without their ending.
        folder: Where they are, seen from the page; with a slash at its end.
    """
    blocks = [_run(record), *_failures(record)]
    blocks += _budgets(record.rows)
    blocks += _broken(record.rows)
    blocks += [
        f"![{_ALT.get(name, f'Figures of {name}')}]({folder}{name}.svg)"
        for name in plots
    ]
    for group in groups(record.rows):
        shared = f": {group.shared}" if group.shared else ""
        blocks += [f"### {group.part}{shared}", _table(group)]
    return "\n\n".join(blocks) + "\n"


def _run(record: Record) -> str:
    versions = ", ".join(f"{name} {which}" for name, which in record.versions.items())
    return _lines(
        ["run", ""],
        [
            ["machine", record.machine],
            ["date", record.date],
            ["commit", record.commit or "unknown"],
            ["command", f"`{record.command}`"],
            ["versions", versions],
        ],
    )


def _failures(record: Record) -> Iterator[str]:
    for part, why in record.failures.items():
        first_line = why.partition("\n")[0]
        yield f"**{part} has failed**, so rows are missing: {first_line}"


def _budgets(rows: Sequence[Row]) -> Iterator[str]:
    lines = [
        [
            row.part,
            case_text(row.case, row.case),
            " ".join(heading(name)).strip(),
            bounded(row.value(name), None).text,
            str(budget),
            "met" if bounded(row.value(name), budget).is_within else "**missed**",
        ]
        for row in rows
        for name, budget in row.budgets.items()
    ]
    if lines:
        yield "### Budgets"
        yield _lines(["part", "case", "figure", "measured", "budget", ""], lines)


def _broken(rows: Iterable[Row]) -> Iterator[str]:
    broken = [line for row in rows for line in row.broken_limits()]
    yield "### Limits on ratios"
    if broken:
        yield "\n".join(f"* {line}" for line in broken)
    else:
        yield "All are kept."


def _table(group: Group) -> str:
    headings = [key.replace("_", " ") for key in group.keys]
    headings += [" ".join(heading(name)).strip() for name in group.columns]
    lines = []
    for row in group.rows:
        told = [_case_cell(row.case[key]) for key in group.keys]
        lines.append([*told, *(_marked(cell(row, name)) for name in group.columns)])
    return _lines(headings, lines, numbers_from=len(group.keys))


def _case_cell(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else value


def _marked(shown: Cell) -> str:
    return f"**{shown.text}**" if shown.is_within is False else shown.text


def _lines(
    headings: Sequence[str],
    lines: Iterable[Sequence[str]],
    numbers_from: int | None = None,
) -> str:
    rules = [
        "---:" if numbers_from is not None and at >= numbers_from else "---"
        for at in range(len(headings))
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [headings, rules, *lines])
