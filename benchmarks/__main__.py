"""Measure, part by part: ``python -m benchmarks``."""

import argparse
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from benchmarks.command_line import exit_on_signal
from benchmarks.markdown import report
from benchmarks.parts import PARTS, run_part
from benchmarks.plots import write_plots
from benchmarks.record import RESULTS, Record, encode_record
from benchmarks.report import commit, machine, versions
from benchmarks.results import Row
from benchmarks.tables import WIDTH, tables


def main() -> None:
    """Measure, and write tables, results.json and a report with plots.

    Figures that miss a budget or a limit are marked and fail nothing, since timings
    are noisy; python -m benchmarks.compare judges. A part that fails does.
    """
    signal.signal(signal.SIGTERM, exit_on_signal)
    arguments = _read_arguments()
    record = Record(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        command=shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]]),
        machine=machine(),
        versions=versions(),
        commit=commit(),
        rows=[],
        is_full=arguments.full,
    )
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        for part in arguments.only or PARTS:
            record = _with_part(record, part, full=arguments.full)
            # After each part, so that an hour is not lost with the last of them.
            _write(record, arguments.out)
    except KeyboardInterrupt:
        sys.exit(130)
    print(f"\nwritten to {arguments.out}: results.json, report.md, plots")
    sys.exit(1 if record.failures else 0)


def _with_part(record: Record, part: str, *, full: bool) -> Record:
    """Run one part, show its rows, and add them to the run."""
    started = time.monotonic()
    record = replace(record, parts=[*record.parts, part])

    def say(line: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - started), 60)
        print(f"{minutes:3}:{seconds:02} {line}", file=sys.stderr, flush=True)

    say(f"{part}: starting")
    try:
        rows = run_part(part, full=full, say=say)
    except Exception as error:  # noqa: BLE001 - the other parts still are to be run
        why = "\n".join([f"{type(error).__name__}: {error}", *_notes(error)])
        say(f"{part} has failed: {why}")
        return replace(record, failures={**record.failures, part: why})
    _show(rows)
    return replace(record, rows=[*record.rows, *rows])


def _notes(error: Exception) -> Sequence[str]:
    return getattr(error, "__notes__", ())


def _show(rows: Sequence[Row]) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    for table in tables(rows):
        console.print(table, end="\n\n")
    for row in rows:
        for line in row.broken_limits():
            console.print(line, style="bold red", highlight=False, markup=False)


def _write(record: Record, folder: Path) -> None:
    (folder / RESULTS.name).write_bytes(encode_record(record))
    plots = write_plots(record.rows, folder)
    text = f"# Benchmarks\n\n{report(record, plots)}"
    (folder / "report.md").write_text(text, encoding="utf-8")


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=main.__doc__
    )
    parser.add_argument(
        "--full", action="store_true", help="every case: up to an hour, not minutes"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=PARTS,
        metavar="PART",
        help=f"parts to measure, of {', '.join(PARTS)} (default: all)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=RESULTS.parent,
        metavar="DIR",
        help=f"where to write (default: {RESULTS.parent})",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
