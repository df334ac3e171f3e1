"""How a step is measured, and told as a row of figures.

The steps run in a process of pytest. All that the rows need goes through
pytest-benchmark's JSON, as ``extra_info`` of each benchmark.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.results import Case, Limit, Row


@dataclass(frozen=True, slots=True)
class Against:
    """What a step is compared with.

    Attributes:
        ratio: Name of the ratio.
        case: Of the other row.
        times: How much larger the own case is; the ratio is per unit of it.
    """

    ratio: str
    case: Case
    times: float = 1.0


class Measured:
    """Measures one step, by pytest-benchmark's fixture."""

    def __init__(self, benchmark: BenchmarkFixture) -> None:
        self._benchmark = benchmark

    def __call__(
        self,
        case: Case,
        step: Callable[[], object],
        against: Against | None = None,
        *,
        steps_per_call: int = 1,
        counts: Mapping[str, int] | None = None,
    ) -> None:
        """Measure.

        Args:
            case: Tells the row from all others.
            step: Can be done again and again.
            against: Another row; None where there is nothing to compare with.
            steps_per_call: Where one call does several, such as there and back.
            counts: Figures of one call that are no times, by name.
        """
        said: dict[str, object] = {
            "case": dict(case),
            "steps_per_call": steps_per_call,
        }
        if counts is not None:
            said["counts"] = dict(counts)
        if against is not None and dict(against.case) != dict(case):
            said["against"] = asdict(against)
        self._benchmark.extra_info.update(said)
        self._benchmark(step)


_STATISTICS: Final = {"median": "median_us", "mean": "mean_us", "min": "least_us"}


Limits = Mapping[str, Mapping[str, Limit]]
"""By the ratio's name: on each step that has it, by `step_of`."""


def step_of(case: Case) -> str:
    """Name a step, whatever its size.

    Example:
        >>> step_of({"step": "place", "pod": "one app", "nodes": 1000})
        'place, one app'
    """
    return ", ".join(value for value in case.values() if isinstance(value, str))


def rows_of(report: Mapping[str, Any], limits: Limits) -> list[Row]:
    """Read rows from pytest-benchmark's JSON.

    Args:
        report: The whole document.
        limits: Each row is held to those of the ratios it has.

    Raises:
        KeyError: A step is compared with one that was not measured.
    """
    figures = {
        _key(one["extra_info"]["case"]): _figures(one) for one in report["benchmarks"]
    }
    return [_row(one["extra_info"], figures, limits) for one in report["benchmarks"]]


def _row(
    said: Mapping[str, Any],
    figures: "Mapping[_Key, Mapping[str, float]]",
    limits: Limits,
) -> Row:
    own = figures[_key(said["case"])]
    ratios = {}
    step = step_of(said["case"])
    if "against" in said:
        against = Against(**said["against"])
        other = figures[_key(against.case)]
        ratios[against.ratio] = own["median_us"] / other["median_us"] / against.times
    return Row(
        part="micro",
        case=said["case"],
        figures=own,
        ratios=ratios,
        limits={
            name: limits[name][step] for name in ratios if step in limits.get(name, {})
        },
    )


def _figures(one: Mapping[str, Any]) -> dict[str, float]:
    said = one["extra_info"]
    steps = said["steps_per_call"]
    times = {
        figure: one["stats"][name] * 1e6 / steps for name, figure in _STATISTICS.items()
    }
    return times | {
        name: float(count) for name, count in said.get("counts", {}).items()
    }


_Key = frozenset[tuple[str, object]]
"""A case in any order."""


def _key(case: Mapping[str, object]) -> _Key:
    return frozenset(case.items())
