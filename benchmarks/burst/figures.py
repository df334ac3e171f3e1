"""What is measured of a burst, and the figures that it comes to."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from benchmarks.burst.api_calls import Calls, events, reads, writes
from benchmarks.burst.load import Times
from benchmarks.burst.objects import fewest_nodes
from benchmarks.burst.processor_time import ProcessorTime
from benchmarks.burst.programs import Contender
from benchmarks.burst.scheduler_metrics import SchedulerMetrics
from benchmarks.quantiles import quantile

_REFUSED: Final = re.compile(rb"bind of .* refused: ")
_RELEASE: Final = re.compile(r"^(released|left|conflict)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """What happens in a run, whoever is asked.

    Attributes:
        pods: Pods of the burst.
        shape: Which containers a pod has; see `benchmarks.burst.objects.SHAPES`.
        policy: Which nodes the pods prefer.
        limit_seconds: Until all pods must be bound, and again until all run.
        allocate_seconds: How long a device plugin takes for one container.
        logs: Where the logs of all programs are kept; None for nowhere.
    """

    pods: int
    shape: str = "sidecar"
    policy: str = "binpack"
    limit_seconds: float = 300.0
    allocate_seconds: float = 0.0
    logs: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure, of one burst.

    Attributes:
        burst: The burst.
        nodes: Sizes of cluster.
        contenders: Who is asked by kube-scheduler.
        pending: Pods that fit nowhere, and were refused before the burst begins.
        is_secure: Whether kube-scheduler talks to ours over mutual TLS.
        runs: Of each size with each contender and number of pending pods.
    """

    burst: Burst
    nodes: Sequence[int]
    contenders: Sequence[Contender]
    pending: Sequence[int]
    is_secure: bool
    runs: int


@dataclass(frozen=True, slots=True)
class Run:
    """One of the runs of a plan.

    Attributes:
        node_count: Nodes.
        contender: Who is asked by kube-scheduler.
        pending: As `Plan`, of which it is one.
        is_secure: Whether the contender serves mutual TLS: only ours can.
        number: From 1, of those that differ in nothing else.
    """

    node_count: int
    contender: Contender
    pending: int = 0
    is_secure: bool = False
    number: int = 1

    @property
    def name(self) -> str:
        """What tells it from the other runs of a plan."""
        parts = [f"{self.node_count:,} nodes", self.contender.name]
        if self.is_secure:
            parts.append("mTLS")
        if self.pending:
            parts.append(f"{self.pending:,} pending")
        return ", ".join([*parts, f"run {self.number}"])


@dataclass(frozen=True, slots=True)
class Measured:
    """What was seen of one run.

    Attributes:
        times: When pods were created and bound, and where.
        used: Processor time from the first create until the last pod was bound.
        metrics: Of kube-scheduler, from the first create until the last was bound.
        running_seconds: From the first create until all pods ran.
        calls: Of the extender to the API server, until all pods ran; a watch counts
            once it has ended.
        load: Load average of the last minute, before anything was started.
    """

    times: Times
    used: ProcessorTime
    metrics: SchedulerMetrics
    running_seconds: float
    calls: Calls
    load: float


@dataclass(frozen=True, slots=True)
class Said:
    """What the logs of the programs say of a run.

    Attributes:
        refused_binds: Of the extender; None where it does not log them.
        releases: What came of the plugins' releases of locks, by how often; see
            `benchmarks.burst.plugins`.
    """

    refused_binds: int | None
    releases: Mapping[str, int]

    @classmethod
    def read(cls, folder: Path, contender: Contender) -> Self:
        """Read the logs, of programs that have ended."""
        releases = Counter(_RELEASE.findall((folder / "plugins.log").read_text()))
        refused = None
        if contender.is_ours:
            log = (folder / "extender.log").read_bytes()
            refused = len(_REFUSED.findall(log))
        return cls(refused, dict(releases))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one run came to.

    Attributes:
        seconds: From the first create until the last pod was bound.
        create_seconds: From the first create until the last.
        bound_p50_seconds: Of the pods' times from create until bound, as a watch saw.
        running_seconds: From the first create until all pods ran.
        pending: As `Run`.
        is_secure: As `Run`.
        nodes_used: Different nodes that got a pod.
        nodes_ideal: The fewest that the burst could use.
        most_on_a_node: Pods of the node that got most.
        attempts: Of kube-scheduler until the last pod was bound, by result; those of
            pending pods are among them.
        attempts_per_pod: All of them, by bound pod. Each asks filter once, but where
            kube-scheduler itself leaves no node.
        refused_binds: As `Said`.
        refused_share: The same by bound pod.
        releases: As `Said`.
        choose_ms: Mean time in which kube-scheduler chose a node, one pod at a time.
        bind_ms: Mean time from then until bound, waiting for the node included.
        calls: As `Measured`.
        processor_ms_per_pod: By program.
        others_processors: Processors that the rest of the machine kept busy.
        load: As `Measured`.
    """

    nodes: int
    extender: str
    run: int
    pods: int
    pending: int
    is_secure: bool
    seconds: float
    pods_per_second: float
    create_seconds: float
    bound_p50_seconds: float
    bound_p99_seconds: float
    running_seconds: float
    nodes_used: int
    nodes_ideal: int
    most_on_a_node: int
    attempts: Mapping[str, int]
    attempts_per_pod: float
    refused_binds: int | None
    refused_share: float | None
    releases: Mapping[str, int]
    choose_ms: float
    bind_ms: float
    calls: Calls
    writes_per_pod: float
    reads_per_pod: float
    events_per_pod: float
    processor_ms_per_pod: Mapping[str, float]
    others_processors: float
    load: float


def figures_of(burst: Burst, one: Run, measured: Measured, said: Said) -> Figures:
    """Reckon the figures of a run."""
    times, used, calls = measured.times, measured.used, measured.calls
    count = len(times.bound)
    waits = times.seconds_to_bound()
    on_each = Counter(times.on_node.values())
    choose_ms = measured.metrics.choose_ms()
    attempts = measured.metrics.attempts()
    refused = said.refused_binds
    return Figures(
        nodes=one.node_count,
        extender=one.contender.name,
        run=one.number,
        pods=count,
        pending=one.pending,
        is_secure=one.is_secure,
        seconds=times.seconds,
        pods_per_second=count / times.seconds,
        create_seconds=max(times.created.values()) - min(times.created.values()),
        bound_p50_seconds=quantile(waits, 0.5),
        bound_p99_seconds=quantile(waits, 0.99),
        running_seconds=measured.running_seconds,
        nodes_used=len(on_each),
        nodes_ideal=fewest_nodes(count, burst.shape),
        most_on_a_node=max(on_each.values()),
        attempts=attempts,
        attempts_per_pod=sum(attempts.values()) / count,
        refused_binds=refused,
        refused_share=None if refused is None else refused / count,
        releases=said.releases,
        choose_ms=choose_ms,
        bind_ms=measured.metrics.attempt_ms() - choose_ms,
        calls=calls,
        writes_per_pod=writes(calls) / count,
        reads_per_pod=reads(calls) / count,
        events_per_pod=events(calls) / count,
        processor_ms_per_pod={
            program: 1e3 * seconds / count
            for program, seconds in sorted(used.by_program.items())
        },
        others_processors=used.others / times.seconds,
        load=measured.load,
    )
