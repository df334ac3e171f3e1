"""What the runs of a burst came to: as tables, and as JSON to keep."""

import platform
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.burst.figures import Figures, Plan
from benchmarks.burst.processor_time import DRIVER
from benchmarks.report import machine
from tests.control_plane.binaries import VERSION

_COLUMNS: Final = {
    "extender": ("extender", "benchmarks.burst.binding_echo"),
    "api\nserver": ("kube-apiserver",),
    "\netcd": ("etcd",),
    "sched-\nuler": ("kube-scheduler",),
    "plug-\nins": ("benchmarks.burst.plugins",),
    "\ndriver": (DRIVER,),
}
"""Programs by the column that has their time."""


def tables(plan: Plan, figures: Sequence[Figures]) -> Iterator[Table]:
    """Lay the figures out for a terminal of 80 columns."""
    yield _rates(plan, figures)
    yield _costs(figures)
    yield _calls(figures)


def _rates(plan: Plan, figures: Sequence[Figures]) -> Table:
    shown = _table(
        f"burst of {plan.pods} pods ({plan.shape}, {plan.policy})",
        "bound: seconds from a pod's create until a watch showed it bound\n"
        "to echo: rate beside the median of the echo extender's runs\n"
        "refused: binds, by the extender's log; failed: attempts of kube-scheduler\n"
        "that ended otherwise than scheduled\n"
        "others: processors that the rest of the machine kept busy meanwhile\n"
        f"{machine()}, Kubernetes {VERSION}",
    )
    shown.add_column("\nnodes", justify="right")
    shown.add_column("\nextender", no_wrap=True)
    for heading in ("\npods/s", "to\necho", "bound\np50", "bound\np99", "nodes\nused"):
        shown.add_column(heading, justify="right")
    for heading in ("re-\nfused", "\nfailed", "\nothers", "\nload"):
        shown.add_column(heading, justify="right")
    for row in figures:
        failed = sum(n for how, n in row.attempts.items() if how != "scheduled")
        ratio = _ratio_to_echo(row, figures)
        shown.add_row(
            f"{row.nodes:,}",
            row.extender,
            f"{row.pods_per_second:.1f}",
            "-" if ratio is None else f"{ratio:.0%}",
            f"{row.bound_p50_seconds:.2f}",
            f"{row.bound_p99_seconds:.2f}",
            str(row.nodes_used),
            "-" if row.refused_binds is None else str(row.refused_binds),
            str(failed),
            f"{row.others_processors:.2f}",
            f"{row.load:.1f}",
            end_section=_ends_section(row, figures),
        )
    return shown


def _costs(figures: Sequence[Figures]) -> Table:
    shown = _table(
        "what a pod costs, milliseconds",
        "choose: until kube-scheduler chose a node, one pod at a time\n"
        "bind: from then until bound, waiting for the node included\n"
        "the others: processor time of each program, by pod",
    )
    shown.add_column("\nnodes", justify="right")
    shown.add_column("\nextender", no_wrap=True)
    for heading in ("\nchoose", "\nbind", *_COLUMNS):
        shown.add_column(heading, justify="right")
    for row in figures:
        used = row.processor_ms_per_pod
        shown.add_row(
            f"{row.nodes:,}",
            row.extender,
            f"{row.choose_ms:.1f}",
            f"{row.bind_ms:.0f}",
            *(
                f"{sum(used.get(program, 0.0) for program in programs):.1f}"
                for programs in _COLUMNS.values()
            ),
            end_section=_ends_section(row, figures),
        )
    return shown


def _calls(figures: Sequence[Figures]) -> Table:
    """Show the calls of each run, which hardly differ between runs."""
    shown = _table(
        "calls of the extender to the API server, for each bound pod",
        "counted by the API server's audit log; Events stand apart from the writes",
    )
    shown.add_column("nodes", justify="right")
    shown.add_column("extender", no_wrap=True)
    for heading in ("writes", "reads", "Events"):
        shown.add_column(heading, justify="right")
    shown.add_column("calls")
    for row in figures:
        if row.calls:
            shown.add_row(
                f"{row.nodes:,}",
                row.extender,
                f"{row.writes_per_pod:.2f}",
                f"{row.reads_per_pod:.2f}",
                f"{row.events_per_pod:.2f}",
                "\n".join(
                    f"{count / row.pods:.2f} {call}"
                    for call, count in row.calls.items()
                ),
                end_section=True,
            )
    return shown


def _table(title: str, caption: str) -> Table:
    return Table(
        title=title,
        caption=caption,
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
        pad_edge=False,
    )


def _ends_section(row: Figures, figures: Sequence[Figures]) -> bool:
    following = figures[figures.index(row) + 1 :]
    return bool(following) and following[0].nodes != row.nodes


def _ratio_to_echo(row: Figures, figures: Sequence[Figures]) -> float | None:
    rates = [
        other.pods_per_second
        for other in figures
        if other.nodes == row.nodes and other.extender == "echo"
    ]
    return row.pods_per_second / statistics.median(rates) if rates else None


def report(plan: Plan, figures: Sequence[Figures]) -> dict[str, object]:
    """Give the figures with all that is needed to compare them with later ones."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["python", "-m", "benchmarks.burst", *sys.argv[1:]]),
        "machine": machine(),
        "commit": _commit(),
        "kubernetes": VERSION,
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in ("numpy", "aiohttp", "orjson")},
        "pods": plan.pods,
        "shape": plan.shape,
        "policy": plan.policy,
        "allocate_seconds": plan.allocate_seconds,
        "figures": [
            {**asdict(row), "ratio_to_echo": _ratio_to_echo(row, figures)}
            for row in figures
        ],
    }


def _commit() -> str | None:
    """Name the commit that was measured; None where this is no checkout."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        said = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return said.stdout.decode().strip()
