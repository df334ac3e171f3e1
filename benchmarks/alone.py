"""Run one part by itself: ``python -m benchmarks.<part>``."""

import argparse
import signal
import sys

from rich.console import Console

from benchmarks.command_line import exit_on_signal
from benchmarks.connection import AnswerUnusable
from benchmarks.parts import run_part
from benchmarks.servers import ServerFailed
from benchmarks.tables import tables
from benchmarks.workloads import WorkloadUnusable


def run_alone(part: str) -> None:
    """Run a part, print its rows, and tell which limits they break.

    Nothing fails by a figure, since timings are noisy; what cannot be measured does.
    """
    signal.signal(signal.SIGTERM, exit_on_signal)
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{part}",
        description=f"Run what benchmarks/workloads/{part}.yaml says.",
    )
    parser.add_argument("--full", action="store_true", help="every case")
    is_full = parser.parse_args().full
    notes, shown = Console(stderr=True), Console()
    try:
        rows = run_part(
            part, full=is_full, say=lambda text: notes.print(text, markup=False)
        )
    except (ServerFailed, AnswerUnusable, WorkloadUnusable) as error:
        lines = [str(error), *getattr(error, "__notes__", [])]
        notes.print("\n".join(lines), markup=False, highlight=False)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    for table in tables(rows):
        shown.print(table)
        shown.print()
    for row in rows:
        for broken in row.broken_limits():
            shown.print(broken, markup=False)
