"""What a run of the benchmark came to: as a table, and as JSON to keep."""

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from os import cpu_count
from pathlib import Path
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.cluster import PODS_PER_NODE

BUDGETS_MS: Final = {1_000: (2.0, 6.0), 5_000: (5.0, 15.0)}
"""p50 and p99 by nodes, of two cores shared with everything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one shape on one size of cluster came to."""

    nodes: int
    pods: int
    shape: str
    p50_ms: float
    p99_ms: float
    echo_p50_ms: float
    echo_p99_ms: float
    ratio_p50: float
    resident_mib: float | None
    ready_seconds: float
    budget_met: bool | None
    """None where there is no budget for this size, or nothing of ours to judge."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure.

    Attributes:
        requests: Timed questions of each shape, to each server.
        is_echo_only: A second echo server stands in for the extender, which shows
            how far two equal servers differ here.
    """

    nodes: Sequence[int]
    requests: int
    is_echo_only: bool


def table(plan: Plan, figures: Sequence[Figures]) -> Table:
    """Lay the figures out for a terminal of 80 columns."""
    standing_in = " (an echo server in the extender's place)" * plan.is_echo_only
    shown = Table(
        title=f"filter over HTTP, milliseconds{standing_in}",
        caption=f"{plan.requests} requests a row and server, "
        f"{PODS_PER_NODE} GPU pods a node\n{machine()}",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
        pad_edge=False,
    )
    shown.add_column("\nnodes", justify="right")
    shown.add_column("\nshape", no_wrap=True)
    for heading in ("\np50", "\np99", "echo\np50", "echo\np99", "\nratio"):
        shown.add_column(heading, justify="right")
    shown.add_column("budget\np50/p99", no_wrap=True)
    for heading in ("\nMiB", "\nstart"):
        shown.add_column(heading, justify="right")
    for row in figures:
        shown.add_row(
            f"{row.nodes:,}",
            row.shape,
            f"{row.p50_ms:.2f}",
            f"{row.p99_ms:.2f}",
            f"{row.echo_p50_ms:.2f}",
            f"{row.echo_p99_ms:.2f}",
            f"{row.ratio_p50:.2f}",
            _budget_cell(row),
            "-" if row.resident_mib is None else f"{row.resident_mib:.0f}",
            f"{row.ready_seconds:.1f} s",
            end_section=row.shape == figures[-1].shape,
        )
    return shown


def _budget_cell(row: Figures) -> str:
    if row.budget_met is None:
        return "-"
    p50, p99 = BUDGETS_MS[row.nodes]
    verdict = "[green]met[/]" if row.budget_met else "[red]missed[/]"
    return f"{p50:g}/{p99:g} {verdict}"


def report(plan: Plan, figures: Sequence[Figures]) -> dict[str, object]:
    """Give the figures with all that is needed to compare them with later ones."""
    command = ["python", "-m", "benchmarks.filter_http"]
    command += ["--nodes", *map(str, plan.nodes), "--requests", str(plan.requests)]
    if plan.is_echo_only:
        command.append("--echo-only")
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join([*command, "-o", "json"]),
        "machine": machine(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in ("numpy", "aiohttp", "orjson")},
        "figures": [asdict(row) for row in figures],
    }


def machine() -> str:
    """Name the processor and its count, never the host."""
    processor = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            processor = line.partition(":")[2].strip()
            break
    return f"{cpu_count()} x {processor}, {platform.system()}"
