"""Rows and runs of the benchmarks, as tests need them."""

from benchmarks.record import Record
from benchmarks.results import Limit, Row

AT_MOST_8 = {"p50_to_echo": Limit(most=8.0)}


def row(ratio: float | None = 2.0, nodes: int = 1_000, **case: str | int) -> Row:
    """Make a row of the part http."""
    return Row(
        part="http",
        case={"verb": "filter", "nodes": nodes, **case},
        figures={"p50_ms": 1.5, "resident_mib": 130.0},
        ratios={} if ratio is None else {"p50_to_echo": ratio},
        limits=AT_MOST_8,
        budgets={"p50_ms": Limit(most=2.0)},
    )


def record(*rows: Row, is_full: bool = False, **failures: str) -> Record:
    """Make a run of some rows, which was to measure http and what failed."""
    return Record(
        date="2026-01-01T00:00:00+00:00",
        command="python -m benchmarks",
        machine="2 x Processor, Linux",
        versions={"python": "3.11.7"},
        commit="0123456",
        rows=rows,
        failures=failures,
        parts=["http", *failures],
        is_full=is_full,
    )
