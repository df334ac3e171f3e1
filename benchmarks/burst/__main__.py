"""Time a burst of pods through the real kube-scheduler and API server.

The extender is measured beside two that decide nothing: echo binds with a bare Binding,
and echo-served names some card in it, too, so that the device plugins' own writes are
in its rate. Neither could be used. none is kube-scheduler on its own. Every run has a
control plane of its own, and one process in the place of all kubelets and device
plugins. Figures are printed and fail nothing, since timings are noisy. A run that does
not end as it should does.

With --pending, that many pods that fit nowhere are there first, and have been refused
once. Ours refuses them for the memory that they ask for, and kube-scheduler tries them
again whenever a pod is bound; the others do not look at memory, so there kube-scheduler
refuses them itself, for a label, and does not try them again.
"""

import argparse
import signal
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Final, TypeVar

import orjson
import pytest
from rich.console import Console

from benchmarks.burst.figures import Burst, Figures, Plan, Run
from benchmarks.burst.load import BurstFailed
from benchmarks.burst.objects import MOST_PODS_PER_NODE, SHAPES
from benchmarks.burst.programs import CONTENDERS
from benchmarks.burst.report import report, tables
from benchmarks.burst.run import run
from benchmarks.command_line import exit_on_signal, whole_number
from tests.control_plane.binaries import built

Value = TypeVar("Value")

MOST_NODES: Final = 5_000
MOST_PODS: Final = 10_000
MOST_PENDING: Final = 10_000


def main() -> None:
    """Time a burst of pods through the real kube-scheduler, beside an echo extender."""
    signal.signal(signal.SIGTERM, exit_on_signal)
    plan, kept = _read_arguments()
    notes = Console(stderr=True)
    try:
        figures = measure(plan, notes)
    except (BurstFailed, pytest.fail.Exception) as error:
        lines = [str(error), *getattr(error, "__notes__", [])]
        notes.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    shown = Console()
    for table in tables(plan, figures):
        shown.print(table)
        shown.print()
    if kept is not None:
        text = orjson.dumps(report(plan, figures), option=orjson.OPT_INDENT_2)
        kept.write_bytes(text + b"\n")


def measure(plan: Plan, notes: Console) -> list[Figures]:
    """Run the whole plan; whoever is compared takes turns, run by run."""
    binaries = built(lambda text: notes.print(text, markup=False))
    figures = []
    with notes.status("") as status:
        for node_count in plan.nodes:
            for number in range(1, plan.runs + 1):
                for pending, contender in product(plan.pending, plan.contenders):
                    one = Run(
                        node_count=node_count,
                        contender=contender,
                        pending=pending,
                        is_secure=plan.is_secure and contender.is_ours,
                        number=number,
                    )

                    def say(text: str, name: str = one.name) -> None:
                        line = f"{name}: {text}"
                        if notes.is_terminal:
                            status.update(line)
                        else:
                            notes.print(line, highlight=False)

                    figures.append(run(plan.burst, one, binaries, say))
    order = {contender.name: place for place, contender in enumerate(plan.contenders)}
    return sorted(
        figures,
        key=lambda row: (row.nodes, order[row.extender], row.pending, row.run),
    )


def _read_arguments() -> tuple[Plan, Path | None]:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.burst",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--nodes",
        type=_list_of(whole_number(MOST_NODES)),
        default=[100, 1_000],
        metavar="N,...",
        help="sizes of cluster (default: 100,1000)",
    )
    parser.add_argument(
        "--pods",
        type=whole_number(MOST_PODS),
        default=200,
        metavar="N",
        help="pods of one burst (default: 200)",
    )
    parser.add_argument(
        "--extender",
        type=_list_of(_contender),
        default=["ours", "echo"],
        metavar="NAME,...",
        help=f"of {', '.join(CONTENDERS)} (default: ours,echo)",
    )
    parser.add_argument(
        "--shape",
        choices=SHAPES,
        default="sidecar",
        help="containers of a pod, each with a share of a card (default: sidecar, "
        "which has an app, too)",
    )
    parser.add_argument(
        "--policy",
        choices=["binpack", "spread"],
        default="binpack",
        help="which nodes the pods prefer (default: binpack)",
    )
    parser.add_argument(
        "--pending",
        type=_list_of(whole_number(MOST_PENDING, least=0)),
        default=[0],
        metavar="N,...",
        help="pods that fit nowhere and were refused before the burst begins; 0,2000 "
        "compares a burst without and with 2,000 of them (default: 0)",
    )
    parser.add_argument(
        "--tls",
        action="store_true",
        help="let kube-scheduler talk to ours over TLS, with certificates of both",
    )
    parser.add_argument(
        "--runs",
        type=whole_number(100),
        default=1,
        metavar="N",
        help="runs of each (default: 1)",
    )
    parser.add_argument(
        "--limit",
        type=whole_number(3_600),
        default=300,
        metavar="S",
        help="seconds after which a burst has failed (default: 300)",
    )
    parser.add_argument(
        "--allocate-ms",
        type=whole_number(60_000, least=0),
        default=0,
        metavar="MS",
        help="how long a device plugin takes for one container (default: 0)",
    )
    parser.add_argument(
        "--logs",
        type=Path,
        metavar="DIR",
        help="keep the logs of all programs there, a folder for each run",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the figures there, too"
    )
    arguments = parser.parse_args()
    if arguments.pods > MOST_PODS_PER_NODE * min(arguments.nodes):
        parser.error(f"more than {MOST_PODS_PER_NODE} pods a node need not fit")
    burst = Burst(
        pods=arguments.pods,
        shape=arguments.shape,
        policy=arguments.policy,
        limit_seconds=arguments.limit,
        allocate_seconds=arguments.allocate_ms / 1e3,
        logs=arguments.logs and arguments.logs.absolute(),
    )
    plan = Plan(
        burst=burst,
        nodes=arguments.nodes,
        contenders=[CONTENDERS[name] for name in arguments.extender],
        pending=arguments.pending,
        is_secure=arguments.tls,
        runs=arguments.runs,
    )
    return plan, arguments.json


def _list_of(read: Callable[[str], Value]) -> Callable[[str], list[Value]]:
    """Make a reader of several values with commas between them."""
    return lambda text: [read(part) for part in text.split(",")]


def _contender(text: str) -> str:
    if text not in CONTENDERS:
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(CONTENDERS)}")
    return text


if __name__ == "__main__":
    main()
