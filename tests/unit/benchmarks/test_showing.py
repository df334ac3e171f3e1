"""Tables fit a terminal, plots repeat byte by byte, and pages take figures."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.cells import cell, groups, number
from benchmarks.markdown import report
from benchmarks.plots import write_plots
from benchmarks.report_docs import BEGIN, END, with_figures
from benchmarks.results import Case, Limit, Row
from benchmarks.tables import WIDTH, tables
from tests.unit.benchmarks.builders import record, row


def wide_row(number: int) -> Row:
    """Make a row with more figures than fit beside each other."""
    return Row(
        part="burst",
        case={"extender": f"echo with a name of some length {number}", "nodes": number},
        figures={f"figure_{index}_per_second": 10.0**index for index in range(12)},
        ratios={"rate_to_echo": 0.5},
        limits={"rate_to_echo": Limit(least=0.7)},
    )


def test_tables_fit_80_columns_and_lose_nothing() -> None:
    """Columns that find no room are in a further table of the same rows."""
    console = Console(file=io.StringIO(), width=WIDTH, force_terminal=False)
    made = list(tables([wide_row(1), wide_row(2)]))
    for table in made:
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()

    assert all(len(line) <= WIDTH for line in lines)
    assert "…" not in console.file.getvalue()
    shown = sum(len(table.columns) - 1 for table in made)
    assert shown == 13
    for index in range(12):
        assert number(10.0**index) in console.file.getvalue()


def test_what_is_common_to_all_cases_is_told_once() -> None:
    """Only keys that differ are in the rows."""
    (group,) = groups([row(nodes=100, cards="8"), row(nodes=1_000, cards="8")])

    assert group.keys == ["nodes"]
    assert group.shared == "filter, cards 8"


def test_rows_with_other_keys_are_another_table() -> None:
    """Cases of different kinds are not mixed."""
    assert [len(group.rows) for group in groups([row(), row(), row(grows="x")])] == [
        2,
        1,
    ]


@pytest.mark.parametrize(
    ("limit", "text", "is_within"),
    [
        (Limit(most=3.0), "2.50≤3", True),
        (Limit(most=2.0), "2.50>2", False),
        (Limit(least=2.0), "2.50≥2", True),
        (Limit(least=3.0), "2.50<3", False),
        (Limit(least=2.0, most=3.0), "2.50≤3", True),
        (Limit(least=2.6, most=3.0), "2.50<2.60", False),
        (Limit(least=1.0, most=2.0), "2.50>2", False),
    ],
)
def test_a_ratio_is_shown_with_its_limit(
    limit: Limit, text: str, is_within: object
) -> None:
    """The end that counts is named, and whether it is kept."""
    shown = cell(
        Row(part="p", case={}, figures={}, ratios={"r": 2.5}, limits={"r": limit}), "r"
    )

    assert (shown.text, shown.is_within) == (text, is_within)


def test_a_report_tells_budgets_and_limits() -> None:
    """Met and missed, kept and broken, and a part without rows."""
    text = report(record(row(9.0), churn="it ended\nwith a log"), ["budgets"], "plots/")

    assert "| 1.50 | at most 2 | met |" in text
    assert "* http: verb filter, nodes 1000: p50_to_echo is 9, but at most 8" in text
    assert "**9>8**" in text
    assert "**churn has failed**, so rows are missing: it ended\n" in text
    assert "](plots/budgets.svg)" in text


def test_a_budget_may_be_a_lower_bound_of_a_ratio() -> None:
    """It is told like any other, before the limit; what was not measured missed it."""
    limits = {"rate_to_echo": Limit(least=0.4)}
    budgets = {"rate_to_echo": Limit(least=0.7), "refused_share": Limit(most=0.01)}
    burst = Row(
        part="burst",
        case={"nodes": 1_000},
        figures={},
        ratios={"rate_to_echo": 0.5},
        limits=limits,
        budgets=budgets,
    )
    text = report(record(burst), [])

    assert "| rate to echo | 0.500 | at least 0.7 | **missed** |" in text
    assert "| refused share | - | at most 0.01 | **missed** |" in text
    assert "**0.500<0.700**" in text
    assert "All are kept." in text


def test_the_same_rows_are_drawn_as_the_same_bytes(tmp_path: Path) -> None:
    """A plot changes in the repository only where a figure did."""
    http: Case = {"pods_per_node": 8, "cards": "8", "asked": "never"}
    rows = [
        Row(
            part="http",
            case={"verb": "filter", "nodes": nodes, "pod": pod, **http},
            figures={"p50_ms": 1.0, "p99_ms": 2.0, "echo_p50_ms": 0.5},
            budgets={"p50_ms": Limit(most=2.0), "p99_ms": Limit(least=99.0)},
        )
        for nodes in (100, 1_000)
        for pod in ("one app", "sidecar + init + app")
    ]
    rows.append(replace(wide_row(1), part="micro"))
    for extender in ("echo", "ours"):
        case: Case = {"nodes": 100, "pods": 500, "extender": extender}
        for pending in ({}, {"pending": 2_000}):
            figures = {"pods_per_second": 50.0}
            rows.append(Row(part="burst", case={**case, **pending}, figures=figures))
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()

    names = write_plots(rows, first)
    write_plots(rows, second)

    assert names == ["budgets", "http-nodes", "http-pods", "burst", "micro"]
    for name in names:
        for ending in ("svg", "png"):
            drawn = (first / f"{name}.{ending}").read_bytes()
            assert drawn == (second / f"{name}.{ending}").read_bytes()


def test_no_rows_draw_nothing(tmp_path: Path) -> None:
    """A run in which every part failed still gets its report."""
    assert write_plots([], tmp_path) == []


def test_figures_are_put_between_the_markers() -> None:
    """What people wrote around them stays, however often it is done."""
    page = f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n"

    once = with_figures(page, "new\n")

    assert once == f"before\n\n{BEGIN}\n\nnew\n\n{END}\n\nafter\n"
    assert with_figures(once, "new\n") == once
    with pytest.raises(ValueError, match="substring not found"):
        with_figures("a page without them", "new\n")
