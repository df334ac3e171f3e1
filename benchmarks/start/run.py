"""Start the extender on large clusters, and look at it once it is ready."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.api_server.processes import StandIn, extender_on, stand_in
from benchmarks.books import Memory, processor_seconds
from benchmarks.results import Row
from benchmarks.start.plan import Plan, Size
from benchmarks.start.reading import reading_seconds

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Started:
    """One start.

    Attributes:
        ready_seconds: From the process's start to the first 200 of ``/readyz``.
        processor_seconds: That it used until then.
        memory: What it had then.
        reading_seconds: Of processor, for reading the same pages alone.
    """

    ready_seconds: float
    processor_seconds: float
    memory: Memory
    reading_seconds: float


def measure(
    workload: Mapping[str, object], *, full: bool, say: Callable[[str], None]
) -> list[Row]:
    """Measure every size, in the order of the file.

    Raises:
        WorkloadUnusable: The workload cannot be read.
        ServerFailed: A process did not do what it is for.
    """
    plan = Plan.of(workload, full=full)
    rows: list[Row] = []
    without: dict[tuple[int, int], list[float]] = {}
    for size in plan.sizes:
        arguments = {
            "nodes": size.nodes,
            "pods-per-node": size.gpu_pods_per_node,
            "plain-pods": size.plain_pods,
        }
        with stand_in(arguments) as api:
            starts = []
            for number in range(1, plan.runs + 1):
                say(
                    f"{size.nodes:,} nodes, {size.gpu_pods:,} GPU pods, "
                    f"{size.plain_pods:,} others: start {number}"
                )
                starts.append(_start(api))
        if not size.plain_pods:
            without[size.without_plain_pods] = _resident(starts)
        rows.append(row_of(plan, size, starts, without.get(size.without_plain_pods)))
    return rows


def _start(api: StandIn) -> Started:
    reading = reading_seconds(api)
    with extender_on(api) as server:
        process_id = server.process.pid
        return Started(
            server.ready_seconds,
            processor_seconds(process_id),
            Memory.of(process_id),
            reading,
        )


def row_of(
    plan: Plan,
    size: Size,
    starts: Sequence[Started],
    resident_without: Sequence[float] | None,
) -> Row:
    """Put the starts of one size as reports take it; the median of each figure.

    Args:
        plan: Has the limits.
        size: Of the cluster.
        starts: At least one.
        resident_without: MiB of each start of the same size without plain pods.
    """
    resident = _resident(starts)
    figures = {
        "ready_seconds": median(one.ready_seconds for one in starts),
        "processor_seconds": median(one.processor_seconds for one in starts),
        "resident_mib": median(resident),
        "resident_spread_mib": _spread(resident),
        "peak_mib": median(one.memory.peak for one in starts),
        "reading_seconds": median(one.reading_seconds for one in starts),
    }
    if size.plain_pods and resident_without is not None:
        more = more_resident(resident, resident_without)
        figures["bytes_per_plain_pod_at_most"] = more * _MIB / size.plain_pods
    reading = figures["reading_seconds"]
    return Row(
        part="start",
        case={
            "nodes": size.nodes,
            "gpu_pods": size.gpu_pods,
            "plain_pods": size.plain_pods,
        },
        figures=figures,
        ratios={"processor_to_reading": figures["processor_seconds"] / reading},
        limits=plan.limits,
        budgets=size.budgets,
    )


def more_resident(some: Sequence[float], others: Sequence[float]) -> float:
    """Tell how much more some starts hold than others, at most.

    Starts of one kind differ, too. A difference smaller than that cannot be seen, so
    what is told is never less than it.

    Example:
        >>> more_resident([120.0, 121.0, 119.0], [100.0, 101.0, 100.0])
        20.0
        >>> more_resident([99.0, 98.0, 102.0], [100.0, 101.0, 100.0])
        4.0
    """
    return max(median(some) - median(others), _spread(some), _spread(others))


def _resident(starts: Sequence[Started]) -> list[float]:
    return [one.memory.resident for one in starts]


def _spread(values: Sequence[float]) -> float:
    return max(values) - min(values)
