"""What the runs of a burst came to: as tables, and as JSON to keep."""

import platform
import shlex
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.burst.figures import Figures, Plan
from benchmarks.burst.processor_time import DRIVER
from benchmarks.burst.rows import PROGRAMS
from benchmarks.report import commit, machine
from tests.control_plane.binaries import VERSION

_COLUMNS: Final = {
    "exten-\nder": PROGRAMS["extender"],
    "API,\netcd": PROGRAMS["api_server"],
    "sched-\nuler": PROGRAMS["scheduler"],
    "plug-\nins": PROGRAMS["plugins"],
    "\ndriver": (DRIVER,),
}
"""Programs by the column that has their time."""


def tables(plan: Plan, figures: Sequence[Figures]) -> Iterator[Table]:
    """Lay the figures out for a terminal of 80 columns."""
    yield _rates(plan, figures)
    if any(row.pending for row in figures):
        yield _with_pending(figures)
    yield _costs(figures)
    yield _calls(figures)


def _rates(plan: Plan, figures: Sequence[Figures]) -> Table:
    burst = plan.burst
    how = [burst.shape, burst.policy]
    if burst.allocate_seconds:
        how.append(f"{1e3 * burst.allocate_seconds:.0f} ms to allocate")
    if plan.is_secure:
        how.append("ours over mTLS")
    shown = _table(
        f"burst of {burst.pods} pods ({', '.join(how)})",
        "to echo, to served: rate beside the median of the runs with echo,\n"
        "and with echo-served, where as many pods were pending\n"
        "bound: seconds from a pod's create until a watch showed it bound\n"
        "nodes used: and the fewest that would do\n"
        "refused: binds by pod, by the extender's log; tries: attempts of\n"
        "kube-scheduler by pod, those of pending pods included\n"
        f"{machine()}, Kubernetes {VERSION}",
    )
    shown.add_column("\nnodes", justify="right")
    shown.add_column("\nextender", no_wrap=True)
    for heading in ("\npods/s", "to\necho", "to\nserved", "bound\np50", "bound\np99"):
        shown.add_column(heading, justify="right")
    for heading in ("nodes\nused", "re-\nfused", "\ntries"):
        shown.add_column(heading, justify="right")
    for row in figures:
        shown.add_row(
            f"{row.nodes:,}",
            _name(row),
            f"{row.pods_per_second:.1f}",
            _share(_ratio_to("echo", row, figures)),
            _share(_ratio_to("echo-served", row, figures)),
            f"{row.bound_p50_seconds:.1f}",
            f"{row.bound_p99_seconds:.1f}",
            f"{row.nodes_used}/{row.nodes_ideal}",
            _share(row.refused_share),
            f"{row.attempts_per_pod:.1f}",
            end_section=_ends_section(row, figures),
        )
    return shown


def _with_pending(figures: Sequence[Figures]) -> Table:
    shown = _table(
        "what pods that fit nowhere cost the others",
        "to none: rate beside the median of the runs without such pods\n"
        "tries: attempts of kube-scheduler by bound pod; each asks filter of ours",
    )
    for heading in ("nodes", "pending", "pods/s", "to none", "tries"):
        shown.add_column(heading, justify="right")
    shown.add_column("extender", no_wrap=True)
    for row in figures:
        shown.add_row(
            f"{row.nodes:,}",
            f"{row.pending:,}",
            f"{row.pods_per_second:.1f}",
            _share(_ratio_to_none_pending(row, figures)),
            f"{row.attempts_per_pod:.2f}",
            row.extender,
            end_section=_ends_section(row, figures),
        )
    return shown


def _name(row: Figures) -> str:
    """Name who was asked, and beside how many pending pods, in a narrow column."""
    name = row.extender.replace("-", "-\n")
    return f"{name}\n+{row.pending:,}" if row.pending else name


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _costs(figures: Sequence[Figures]) -> Table:
    shown = _table(
        "what a pod costs, milliseconds",
        "choose: until kube-scheduler chose a node, one pod at a time\n"
        "bind: from then until bound, waiting for the node included\n"
        "extender to driver: processor time of each program, by pod\n"
        "others: processors that the rest of the machine kept busy meanwhile\n"
        "load: load average of the minute before",
    )
    shown.add_column("\nnodes", justify="right")
    shown.add_column("\nextender", no_wrap=True)
    for heading in ("\nchoose", "\nbind", *_COLUMNS, "oth-\ners", "\nload"):
        shown.add_column(heading, justify="right")
    for row in figures:
        used = row.processor_ms_per_pod
        shown.add_row(
            f"{row.nodes:,}",
            _name(row),
            f"{row.choose_ms:.1f}",
            f"{row.bind_ms:.0f}",
            *(
                f"{sum(used.get(program, 0.0) for program in programs):.1f}"
                for programs in _COLUMNS.values()
            ),
            f"{row.others_processors:.1f}",
            f"{row.load:.1f}",
            end_section=_ends_section(row, figures),
        )
    return shown


def _calls(figures: Sequence[Figures]) -> Table:
    """Show the calls of each run, which hardly differ between runs."""
    shown = _table(
        "calls of the extender to the API server, for each bound pod",
        "by the API server's audit log; milliseconds are the server's own; Events\n"
        "stand apart from the writes",
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
                _name(row),
                f"{row.writes_per_pod:.2f}",
                f"{row.reads_per_pod:.2f}",
                f"{row.events_per_pod:.2f}",
                "\n".join(
                    f"{call.count / row.pods:.2f} {name}, {call.mean_ms:.0f} ms"
                    for name, call in row.calls.items()
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


def _ratio_to(extender: str, row: Figures, figures: Sequence[Figures]) -> float | None:
    """Compare a rate with the median of another extender's runs of the same case."""
    rates = [
        other.pods_per_second
        for other in figures
        if (other.nodes, other.pending) == (row.nodes, row.pending)
        and other.extender == extender
    ]
    return row.pods_per_second / statistics.median(rates) if rates else None


def _ratio_to_none_pending(row: Figures, figures: Sequence[Figures]) -> float | None:
    """Compare a rate with the median of the extender's runs without pending pods."""
    rates = [
        other.pods_per_second
        for other in figures
        if (other.nodes, other.extender) == (row.nodes, row.extender)
        and not other.pending
    ]
    return row.pods_per_second / statistics.median(rates) if rates else None


def report(plan: Plan, figures: Sequence[Figures]) -> dict[str, object]:
    """Give the figures with all that is needed to compare them with later ones."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["python", "-m", "benchmarks.burst", *sys.argv[1:]]),
        "machine": machine(),
        "commit": commit(),
        "kubernetes": VERSION,
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in ("numpy", "aiohttp", "orjson")},
        "pods": plan.burst.pods,
        "shape": plan.burst.shape,
        "policy": plan.burst.policy,
        "allocate_seconds": plan.burst.allocate_seconds,
        "figures": [
            {
                **asdict(row),
                "ratio_to_echo": _ratio_to("echo", row, figures),
                "ratio_to_echo_served": _ratio_to("echo-served", row, figures),
                "ratio_to_none_pending": _ratio_to_none_pending(row, figures),
            }
            for row in figures
        ],
    }
