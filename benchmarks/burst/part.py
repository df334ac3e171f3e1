"""The bursts of ``benchmarks/workloads/burst.yaml``, one after another."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from benchmarks.burst.figures import Burst, Figures, Run
from benchmarks.burst.load import BurstFailed
from benchmarks.burst.objects import MOST_PODS_PER_NODE, SHAPES
from benchmarks.burst.programs import CONTENDERS
from benchmarks.burst.rows import Measured, rows
from benchmarks.burst.run import run
from benchmarks.results import Limit, Row
from benchmarks.workloads import Section, budgets_of, limits_of
from tests.control_plane.binaries import Binaries, built

POLICIES = ("binpack", "spread")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One run of a burst.

    Attributes:
        run: Which.
        limits: What its ratios must be.
        budgets: What its ratios and figures are to be.
        is_quick: As for `Group`, of which it is one.
    """

    run: Run
    limits: Mapping[str, Limit]
    budgets: Mapping[str, Limit]
    is_quick: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that are compared with each other.

    Attributes:
        burst: What they have in common.
        runs: They take turns.
        times: How often each is run; the one with the median rate counts.
        is_quick: Whether it is run where there are minutes only.
    """

    burst: Burst
    runs: tuple[Wanted, ...]
    times: int
    is_quick: bool


def measure(workload: Mapping[str, object], *, full: bool, say: Say) -> list[Row]:
    """Run the bursts of a workload.

    Args:
        workload: As ``burst.yaml`` has it.
        full: Whether to run all, or those that are marked ``quick``.
        say: Told how far it is; the programs are built first, which takes minutes
            where that was never done.

    Raises:
        WorkloadUnusable: The workload is not as it should be.
        BurstFailed: A run did not end as it should; notes have the logs.
    """
    groups = read_groups(workload)
    if not full:
        groups = quick(groups)
    try:
        binaries = built(say)
    except pytest.fail.Exception as error:
        raise BurstFailed(str(error)) from error
    return [row for group in groups for row in _measured(group, binaries, say)]


def quick(groups: Sequence[Group]) -> list[Group]:
    """Keep what is run where there are minutes only."""
    return [
        replace(each, runs=tuple(one for one in each.runs if one.is_quick))
        for each in groups
        if each.is_quick
    ]


def _measured(group: Group, binaries: Binaries, say: Say) -> list[Row]:
    figures: dict[Run, list[Figures]] = {each.run: [] for each in group.runs}
    for _ in range(group.times):
        for one, so_far in figures.items():

            def say_of(text: str, one: Run = one) -> None:
                say(f"{group.burst.pods:,} pods, {one.name}: {text}")

            so_far.append(run(group.burst, one, binaries, say_of))
    return rows(
        group.burst,
        [
            Measured(_median(figures[each.run]), each.limits, each.budgets)
            for each in group.runs
        ],
    )


def _median(figures: list[Figures]) -> Figures:
    """Give the run that is neither the fastest nor the slowest; of two, the slower."""
    rate = statistics.median_low(each.pods_per_second for each in figures)
    return next(each for each in figures if each.pods_per_second == rate)


def read_groups(workload: Mapping[str, object]) -> list[Group]:
    """Read all bursts of a workload.

    Raises:
        WorkloadUnusable: Names the file, the key and the value.
    """
    file = "burst.yaml"
    top = workload if isinstance(workload, Section) else Section(workload, file)
    top.only("limit_seconds", "limits", "bursts")
    limit_seconds = top.number("limit_seconds")
    limits = limits_of(top)
    return [_group(each, limit_seconds, limits) for each in top.sections("bursts")]


def _group(
    section: Section, limit_seconds: float, limits: Mapping[str, Limit]
) -> Group:
    section.only(
        *("nodes", "pods", "shape", "policy", "allocate_ms", "quick", "times", "runs")
    )
    burst = Burst(
        pods=section.whole("pods", least=1),
        shape=section.text("shape", default="sidecar", choices=list(SHAPES)),
        policy=section.text("policy", default="binpack", choices=POLICIES),
        limit_seconds=limit_seconds,
        allocate_seconds=section.whole("allocate_ms", default=0) / 1e3,
    )
    node_count = section.whole("nodes", least=1)
    if burst.pods > MOST_PODS_PER_NODE * node_count:
        raise section.unusable(
            "pods", f"at most {MOST_PODS_PER_NODE} for each of {node_count} nodes"
        )
    return Group(
        burst,
        tuple(_wanted(each, node_count, limits) for each in section.sections("runs")),
        times=section.whole("times", least=1, default=1),
        is_quick=section.flag("quick", default=False),
    )


def _wanted(section: Section, node_count: int, limits: Mapping[str, Limit]) -> Wanted:
    section.only("extender", "pending", "tls", "quick", "limits", "budgets")
    contender = CONTENDERS[section.text("extender", choices=list(CONTENDERS))]
    is_secure = section.flag("tls", default=False)
    if is_secure and not contender.is_ours:
        raise section.unusable("tls", f"left out: {contender.name} has no TLS")
    one = Run(
        node_count=node_count,
        contender=contender,
        pending=section.whole("pending", default=0),
        is_secure=is_secure,
    )
    common = limits if contender.is_ours else {}
    return Wanted(
        one,
        {**common, **limits_of(section)},
        budgets_of(section),
        is_quick=section.flag("quick", default=True),
    )
