"""Rows of single steps, as they are read from pytest-benchmark's JSON."""

from typing import Any

import pytest

from benchmarks.micro.measuring import rows_of, step_of
from benchmarks.micro.run import check_limits
from benchmarks.record import BASELINE, read_record
from benchmarks.results import Limit
from benchmarks.workloads import (
    Section,
    WorkloadUnusable,
    limits_of,
    load_workload,
)


def _step(
    nodes: int,
    median_seconds: float,
    against: dict[str, object] | None = None,
    *,
    steps: int = 1,
) -> dict[str, Any]:
    said: dict[str, Any] = {
        "case": {"step": "place", "nodes": nodes},
        "steps_per_call": steps,
    }
    if against:
        said["against"] = against
    stats = {"median": median_seconds, "mean": median_seconds, "min": 1e-6}
    return {"extra_info": said, "stats": stats}


FEWEST: dict[str, object] = {
    "ratio": "per_node",
    "case": {"nodes": 1_000, "step": "place"},
    "times": 5.0,
}


def test_a_ratio_is_per_unit_of_size() -> None:
    """Five times as many nodes in five times the time is a ratio of 1."""
    report = {"benchmarks": [_step(1_000, 1e-3), _step(5_000, 5e-3, FEWEST)]}
    first, second = rows_of(report, {})
    assert first.ratios == {}
    assert second.ratios == {"per_node": pytest.approx(1.0)}
    assert second.figures["median_us"] == pytest.approx(5_000)


def test_a_row_has_the_limits_of_its_own_ratios() -> None:
    """A limit of a ratio that a row does not have would count as broken."""
    report = {"benchmarks": [_step(1_000, 1e-3), _step(5_000, 9e-3, FEWEST)]}
    limits = {
        "per_node": {"place": Limit(most=1.2), "event": Limit(most=9)},
        "to_orjson": {"place": Limit(most=8)},
    }
    first, second = rows_of(report, limits)
    assert list(first.broken_limits()) == []
    assert list(second.broken_limits()) == [
        "micro: step place, nodes 5000: per_node is 1.8, but at most 1.2"
    ]


LIMITED = {"place": {"most": 1.2}}


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (
            {"per_node": LIMITED, "per_nodes": LIMITED},
            "limits.per_nodes is {'place': {'most': 1.2}}, but must be left out; known",
        ),
        ({}, "limits.per_node is missing, but must be a mapping"),
        ({"per_node": {}}, "limits.per_node.place is missing, but must be a mapping"),
        (
            {"per_node": {**LIMITED, "places": {"most": 3}}},
            "limits.per_node.places is {'most': 3}, but must be left out; known",
        ),
    ],
)
def test_each_ratio_of_each_step_has_its_own_limit(
    limits: dict[str, object], told: str
) -> None:
    """A mistyped step is told by file, key and value; so is one that is not held."""
    report = {"benchmarks": [_step(1_000, 1e-3), _step(5_000, 5e-3, FEWEST)]}
    rows = rows_of(report, {})
    check_limits(Section({"per_node": LIMITED}, "micro.yaml", "limits"), rows)

    with pytest.raises(WorkloadUnusable) as caught:
        check_limits(Section(limits, "micro.yaml", "limits"), rows)

    assert f"micro.yaml: {told}" in str(caught.value)


def test_the_workload_limits_what_the_baseline_measured() -> None:
    """Step by step, at no more than about twice of it."""
    limits = load_workload("micro").section("limits")
    rows = [row for row in read_record(BASELINE).rows if row.part == "micro"]
    check_limits(limits, rows)

    for row in rows:
        for ratio, value in row.ratios.items():
            limit = limits_of(limits, ratio)[step_of(row.case)]
            assert 1.1 < (limit.most or 0.0) / value < 2.6, (row.name, ratio)


def test_a_call_of_two_steps_counts_as_two() -> None:
    """An event that is taken back is measured with its taking back."""
    (row,) = rows_of({"benchmarks": [_step(1_000, 4e-6, steps=2)]}, {})
    assert row.figures["median_us"] == pytest.approx(2.0)


def test_a_missing_yardstick_is_an_error() -> None:
    """A ratio to nothing must not be left out silently."""
    with pytest.raises(KeyError):
        rows_of({"benchmarks": [_step(5_000, 5e-3, FEWEST)]}, {})
