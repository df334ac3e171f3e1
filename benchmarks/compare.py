"""Compare a run with the baseline: ``python -m benchmarks.compare RESULTS``."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.cells import bounded, case_text, heading, number
from benchmarks.record import (
    BASELINE,
    RESULTS,
    Record,
    RecordUnusable,
    read_record,
)
from benchmarks.results import REGRESSION, Row, regressions
from benchmarks.tables import WIDTH


def main() -> None:
    """Compare ratios with the baseline's; exits with 1 where one is worse.

    Only ratios that have a limit are compared: both figures of a ratio are of one run,
    so it can be compared between machines. Budgets are of one machine: a missed one is
    told, and fails only with --budgets.
    """
    arguments = _read_arguments()
    try:
        now = read_record(arguments.results)
        then = read_record(arguments.baseline)
    except RecordUnusable as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    console = Console()
    console = console if console.is_terminal else Console(width=WIDTH)
    console.print(_table(now.rows, then.rows))
    problems = list(problems_of(now, then, arguments.factor))
    missed = [line for row in now.rows for line in row.missed_budgets()]
    for line in [*problems, *missed]:
        console.print(line, style="bold red", highlight=False, markup=False)
    sys.exit(1 if problems or (missed and arguments.budgets) else 0)


def problems_of(now: Record, then: Record, factor: float = REGRESSION) -> Iterator[str]:
    """Tell what is wrong with a run: limits, regressions, and what has no rows.

    Args:
        now: The run.
        then: The baseline.
        factor: How many times worse a ratio may be than the baseline's.
    """
    for part, why in now.failures.items():
        yield f"{part} has failed: {why}"
    for row in now.rows:
        yield from row.broken_limits()
    yield from regressions(now.rows, then.rows, factor)
    yield from _missing(now, then)
    if not {row.name for row in now.rows} & {row.name for row in then.rows}:
        yield "no case is in both runs, so nothing was compared"


def _missing(now: Record, then: Record) -> Iterator[str]:
    """Tell what the baseline has and the run lacks, of what the run was to measure."""
    names = {row.name for row in now.rows}
    parts = {row.part for row in now.rows}
    for part in now.parts:
        earlier = [row for row in then.rows if row.part == part]
        if part in now.failures or not earlier:
            continue
        if part not in parts:
            yield f"{part} was measured, and has no rows"
        elif now.is_full or not then.is_full:
            for row in earlier:
                if row.name not in names:
                    yield f"{row.name}: is in the baseline, and was not measured"


def _table(now: Sequence[Row], then: Sequence[Row]) -> Table:
    earlier = {row.name: row for row in then}
    shown = Table(box=SIMPLE_HEAD, padding=0, show_edge=False, pad_edge=False)
    shown.add_column("case", vertical="bottom")
    shown.add_column("ratio")
    for title in ("now", "then", "now/then"):
        shown.add_column(title, justify="right", no_wrap=True)
    for row in now:
        before = earlier.get(row.name)
        for name in row.limits:
            is_now = row.ratios.get(name)
            was = before.ratios.get(name) if before is not None else None
            shown.add_row(
                f"{row.part}: {case_text(row.case, row.case)}",
                " ".join(heading(name)).strip(),
                bounded(is_now, row.limits[name]).text,
                number(was) if was is not None else "-",
                number(is_now / was) if is_now is not None and was else "-",
            )
    return shown


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare", description=main.__doc__
    )
    parser.add_argument("results", type=Path, nargs="?", default=RESULTS)
    parser.add_argument("--baseline", type=Path, default=BASELINE)
    parser.add_argument(
        "--factor",
        type=float,
        default=REGRESSION,
        help=f"how many times worse counts as worse (default: {REGRESSION})",
    )
    parser.add_argument(
        "--budgets", action="store_true", help="fail where a budget is missed, too"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
