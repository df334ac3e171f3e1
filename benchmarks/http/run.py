"""Run the cases: start each cluster's servers once, and ask them in turn."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Final

import orjson

from benchmarks.cluster import make_cluster
from benchmarks.connection import connect
from benchmarks.http.askers import asker, check_bound, create_pods
from benchmarks.http.asking import Asker, accept, ask_in_turn
from benchmarks.http.cases import Case, Growth, cases_in, growths_in
from benchmarks.layout import ClusterPlan
from benchmarks.parts import Say
from benchmarks.quantiles import milliseconds
from benchmarks.results import Row
from benchmarks.servers import Server, echo, extender
from benchmarks.workloads import Section

PART: Final = "http"


def measure(workload: Mapping[str, object], *, full: bool, say: Say) -> list[Row]:
    """Measure every case beside an echo server, then the growths.

    Returns:
        A row for each case, in the order of clusters, and one for each growth.

    Raises:
        WorkloadUnusable: The workload says something that cannot be measured.
        ServerFailed: A server did not start.
        AnswerUnusable: An answer is wrong.
    """
    section = Section(workload, f"{PART}.yaml")
    cases = cases_in(section, full=full)
    growths = growths_in(section, full=full)
    with tempfile.TemporaryDirectory() as folder:
        clusters = _Clusters(Path(folder))
        rows = list(_rows(cases, clusters, say))
        rows += [_growth_row(growth, clusters, say) for growth in growths]
    return rows


@dataclass(frozen=True, slots=True)
class _Clusters:
    """Files of clusters, each made once."""

    folder: Path

    def file(self, plan: ClusterPlan) -> Path:
        path = self.folder / f"{plan.nodes}-{plan.pods_per_node}-{plan.layout}.json"
        if not path.exists():
            made = make_cluster(plan.nodes, plan.pods_per_node, plan.layout)
            path.write_bytes(orjson.dumps(made))
        return path


def _rows(cases: Sequence[Case], clusters: _Clusters, say: Say) -> Iterator[Row]:
    """Group the cases by cluster; binds change it, so each gets one of its own."""
    asking = [case for case in cases if case.verb != "bind"]
    binding = [case for case in cases if case.verb == "bind"]
    for plan, together in groupby(sorted(asking, key=_order), key=_plan):
        with _servers(plan, clusters, say) as (measured, yardstick):
            for case in together:
                say(f"{PART}: {_told(case)}")
                yield _row(case, measured, yardstick)
    for case in binding:
        with _servers(case.plan, clusters, say) as (measured, yardstick):
            say(f"{PART}: {_told(case)}")
            row = _row(case, measured, yardstick)
            with connect(measured.port) as connection:
                check_bound(connection, case)
            yield row


def _order(case: Case) -> tuple[int, int, str]:
    return case.plan.nodes, case.plan.pods_per_node, case.plan.layout


def _plan(case: Case) -> ClusterPlan:
    return case.plan


def _told(case: Case) -> str:
    return ", ".join(str(value) for value in case.told().values())


@contextmanager
def _servers(
    plan: ClusterPlan, clusters: _Clusters, say: Say
) -> Iterator[tuple[Server, Server]]:
    say(f"{PART}: starting {plan.nodes:,} nodes with {plan.pods_per_node} pods each")
    with extender(clusters.file(plan)) as measured, echo() as yardstick:
        yield measured, yardstick


def _row(case: Case, measured: Server, yardstick: Server) -> Row:
    with connect(measured.port) as first, connect(yardstick.port) as second:
        if case.verb == "bind":
            create_pods(first, case)
        ours = asker(first, case, is_changed=True)
        theirs = Asker(second, ours.request, accept)
        times, echo_times = ask_in_turn(ours, theirs, case.numbers)
    figures, ratios = compared(times, echo_times, measured.resident_mib())
    return Row(
        part=PART,
        case=case.told(),
        figures=figures,
        ratios=ratios,
        limits=case.limits,
        budgets=case.budgets,
    )


def compared(
    times: Sequence[int], echo_times: Sequence[int], resident_mib: float | None
) -> tuple[dict[str, float], dict[str, float]]:
    """Give the figures and ratios of two servers that were asked in turn.

    Example:
        >>> figures, ratios = compared([4_000_000], [2_000_000], None)
        >>> ratios
        {'p50_to_echo': 2.0, 'p99_to_echo': 2.0}
    """
    figures = milliseconds(times)
    beside = milliseconds(echo_times)
    ratios = {
        f"p{percent}_to_echo": figures[f"p{percent}_ms"] / beside[f"p{percent}_ms"]
        for percent in (50, 99)
    }
    figures |= {f"echo_{name}": beside[name] for name in ("p50_ms", "p99_ms")}
    figures["requests_per_second"] = 1e9 / fmean(times)
    if resident_mib is not None:
        figures["resident_mib"] = resident_mib
    return figures, ratios


def _growth_row(growth: Growth, clusters: _Clusters, say: Say) -> Row:
    """Ask both clusters in one go, so that both meet the same machine."""
    larger, smaller = growth.larger, growth.smaller
    say(f"{PART}: growth in {growth.grows}: {_told(larger)}")
    with (
        extender(clusters.file(larger.plan)) as large,
        extender(clusters.file(smaller.plan)) as small,
        connect(large.port) as first,
        connect(small.port) as second,
    ):
        if larger.verb == "bind":
            create_pods(first, larger)
            create_pods(second, smaller)
        times, base_times = ask_in_turn(
            asker(first, larger), asker(second, smaller), larger.numbers
        )
    p50_ms = milliseconds(times)["p50_ms"]
    base_p50_ms = milliseconds(base_times)["p50_ms"]
    return Row(
        part=PART,
        case=growth.told(),
        figures={"p50_ms": p50_ms, "smaller_p50_ms": base_p50_ms},
        ratios={"p50_growth": p50_ms / base_p50_ms},
        limits=larger.limits,
    )
