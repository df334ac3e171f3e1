"""Time filter over HTTP, beside a server that decides nothing.

Both servers are asked in turn, on one keep-alive connection each, so that whatever
else the machine does falls on both. Figures are printed and judged against the
budgets; they fail nothing, since timings are noisy. A wrong answer does.
"""

import argparse
import gc
import math
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import orjson
from rich.console import Console
from rich.progress import Progress

from benchmarks.cluster import PODS_PER_NODE, make_cluster, node_name
from benchmarks.command_line import exit_on_signal, whole_number
from benchmarks.connection import AnswerUnusable, connect, post
from benchmarks.report import BUDGETS_MS, Figures, Plan, report, table
from benchmarks.servers import Server, ServerFailed, echo, extender
from benchmarks.shapes import MOST_QUESTIONS, SHAPES, Shape, filter_body

WARM_UPS: Final = 3
MOST_NODES: Final = 20_000


def main() -> None:
    """Time filter over HTTP on clusters of several sizes, beside an echo server."""
    signal.signal(signal.SIGTERM, exit_on_signal)
    plan, is_json = _read_arguments()
    notes = Console(stderr=True)
    try:
        figures = measure(plan, notes)
    except (ServerFailed, AnswerUnusable) as error:
        lines = [str(error), *getattr(error, "__notes__", [])]
        notes.print("\n".join(lines), markup=False, highlight=False)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    if is_json:
        print(orjson.dumps(report(plan, figures), option=orjson.OPT_INDENT_2).decode())
    else:
        Console().print(table(plan, figures))


def measure(plan: Plan, notes: Console) -> list[Figures]:
    """Run the whole plan; every server that it starts has ended when it returns."""
    figures = []
    with (
        Progress(console=notes, transient=True, disable=not notes.is_terminal) as bar,
        tempfile.TemporaryDirectory() as folder,
    ):
        task = bar.add_task("", total=len(plan.nodes) * len(SHAPES))
        for node_count in plan.nodes:
            bar.update(task, description=f"{node_count:,} nodes: starting")
            with (
                _measured_server(plan, Path(folder), node_count) as measured,
                echo() as yardstick,
            ):
                for shape in SHAPES:
                    bar.update(task, description=f"{node_count:,} nodes: {shape.name}")
                    row = _compare(plan, node_count, shape, measured, yardstick)
                    figures.append(row)
                    bar.advance(task)
    return figures


def _measured_server(
    plan: Plan, folder: Path, node_count: int
) -> AbstractContextManager[Server]:
    if plan.is_echo_only:
        return echo()
    return extender(_write_cluster(folder, node_count))


def _write_cluster(folder: Path, node_count: int) -> Path:
    path = folder / f"cluster-{node_count}.json"
    path.write_bytes(orjson.dumps(make_cluster(node_count)))
    return path


def _compare(
    plan: Plan, node_count: int, shape: Shape, measured: Server, yardstick: Server
) -> Figures:
    node_names = [node_name(number) for number in range(node_count)]
    fitting = node_names if shape.fits or plan.is_echo_only else []
    ours: list[int] = []
    theirs: list[int] = []
    with connect(measured.port) as to_measured, connect(yardstick.port) as to_yardstick:
        gc.disable()
        try:
            for number in range(WARM_UPS + plan.requests):
                request = post("/filter", filter_body(shape, number, node_names))
                # Each goes first every other time: the second finds warmer caches.
                if number % 2:
                    theirs.append(to_yardstick.ask(request)[0])
                elapsed, answer = to_measured.ask(request)
                if not number % 2:
                    theirs.append(to_yardstick.ask(request)[0])
                ours.append(elapsed)
                _check(answer, fitting, shape)
        finally:
            gc.enable()
    p50, p99 = _quantiles(ours[WARM_UPS:])
    echo_p50, echo_p99 = _quantiles(theirs[WARM_UPS:])
    budget = None if plan.is_echo_only else BUDGETS_MS.get(node_count)
    return Figures(
        nodes=node_count,
        pods=node_count * PODS_PER_NODE,
        shape=shape.name,
        p50_ms=p50,
        p99_ms=p99,
        echo_p50_ms=echo_p50,
        echo_p99_ms=echo_p99,
        ratio_p50=p50 / echo_p50,
        resident_mib=measured.resident_mib(),
        ready_seconds=measured.ready_seconds,
        budget_met=None if budget is None else p50 <= budget[0] and p99 <= budget[1],
    )


def _check(body: bytes, fitting: Sequence[str], shape: Shape) -> None:
    """Refuse a wrong answer: that it came fast says nothing."""
    answer = orjson.loads(body)
    if answer.get("Error") or sorted(answer.get("NodeNames") or []) != fitting:
        raise AnswerUnusable(f"wrong answer to {shape.name}: {body[:500]!r}")


def _quantiles(nanoseconds: Sequence[int]) -> tuple[float, float]:
    """Give p50 and p99 in milliseconds, by nearest rank."""
    ranked = sorted(nanoseconds)
    p50, p99 = (ranked[math.ceil(len(ranked) * q) - 1] / 1e6 for q in (0.5, 0.99))
    return p50, p99


def _read_arguments() -> tuple[Plan, bool]:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.filter_http", description=main.__doc__
    )
    parser.add_argument(
        "--nodes",
        type=whole_number(MOST_NODES),
        nargs="+",
        default=[100, 1_000, 5_000],
        metavar="N",
        help="sizes of cluster (default: 100 1000 5000)",
    )
    parser.add_argument(
        "--requests",
        type=whole_number(MOST_QUESTIONS - WARM_UPS),
        default=200,
        metavar="N",
        help="timed requests of each shape to each server (default: 200)",
    )
    parser.add_argument(
        "--echo-only",
        action="store_true",
        help="put a second echo server in the extender's place: the driver's own noise",
    )
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    plan = Plan(arguments.nodes, arguments.requests, arguments.echo_only)
    return plan, arguments.output == "json"


if __name__ == "__main__":
    main()
