"""What every part of the benchmarks comes to: rows of figures, and limits on ratios.

A figure tells about one machine on one day. A ratio compares two figures of one run,
so it can be compared between machines, and only ratios are held to limits.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

Case = Mapping[str, str | int]
"""What tells a row from the others of its part, such as nodes and shape."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What a ratio must not be below, or above; None is no limit."""

    least: float | None = None
    most: float | None = None

    def __str__(self) -> str:
        """Tell it to people.

        Example:
            >>> print(Limit(most=2.0))
            at most 2
        """
        ends = (("at least", self.least), ("at most", self.most))
        return ", ".join(f"{word} {end:g}" for word, end in ends if end is not None)

    def is_kept_by(self, ratio: float) -> bool:
        """Tell whether a ratio is within the limit; one that is no number is not."""
        return (
            not math.isnan(ratio)
            and (self.least is None or ratio >= self.least)
            and (self.most is None or ratio <= self.most)
        )

    def share_used_by(self, value: float) -> float:
        """Tell how much of the room to the nearer end is used: above 1, it is beyond.

        Example:
            >>> Limit(most=4.0).share_used_by(3.0), Limit(least=0.6).share_used_by(0.3)
            (0.75, 2.0)
        """
        shares = [0.0]
        if self.most is not None:
            shares.append(_ratio(value, self.most))
        if self.least is not None:
            shares.append(_ratio(self.least, value))
        return max(shares)


def _ratio(above: float, below: float) -> float:
    if below > 0:
        return above / below
    return math.inf if above > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one case of one part came to.

    Attributes:
        part: ``micro``, ``http``, ``burst``, ``churn`` or ``start``.
        case: Which case of it.
        figures: By name with its unit, such as ``p50_ms``; NaN is never written.
        ratios: By name, such as ``p50_to_echo``; of figures of one run.
        limits: Of some of the ratios, from the workload's file.
        budgets: Of some of the figures and ratios, from the design; told, not held.
    """

    part: str
    case: Case
    figures: Mapping[str, float]
    ratios: Mapping[str, float] = field(default_factory=dict)
    limits: Mapping[str, Limit] = field(default_factory=dict)
    budgets: Mapping[str, Limit] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """One line that tells the row from all others, in a baseline as well.

        Example:
            >>> Row(part="http", case={"verb": "filter", "nodes": 100}, figures={}).name
            'http: verb filter, nodes 100'
        """
        told = ", ".join(f"{key} {value}" for key, value in self.case.items())
        return f"{self.part}: {told}"

    def value(self, name: str) -> float | None:
        """Give a ratio or a figure by its name; None where it was not measured."""
        return self.ratios.get(name, self.figures.get(name))

    def broken_limits(self) -> Iterator[str]:
        """Tell which ratios are beyond their limit, or are missing."""
        for name, limit in self.limits.items():
            ratio = self.ratios.get(name, math.nan)
            if not limit.is_kept_by(ratio):
                yield f"{self.name}: {name} is {ratio:.3g}, but {limit}"

    def missed_budgets(self) -> Iterator[str]:
        """Tell which figures and ratios miss their budget, or are missing."""
        for name, budget in self.budgets.items():
            value = self.value(name)
            if value is None:
                yield f"{self.name}: {name} was not measured; its budget is {budget}"
            elif not budget.is_kept_by(value):
                yield f"{self.name}: {name} is {value:.3g}; its budget is {budget}"


REGRESSION: Final = 1.5
"""A ratio this many times worse than the baseline's is a regression. Ratios of two
runs on one quiet machine differ by up to a third."""


def regressions(
    rows: Iterable[Row], baseline: Sequence[Row], factor: float = REGRESSION
) -> Iterator[str]:
    """Tell which ratios have become worse than in an earlier run.

    Which way is worse follows from the limit: a ratio with none is not compared.

    Args:
        rows: Of now.
        baseline: Of an earlier run; cases that only one of the two has are left out.
        factor: How much worse counts.

    Example:
        >>> def row(ratio: float) -> Row:
        ...     return Row(
        ...         part="http",
        ...         case={"nodes": 100},
        ...         figures={},
        ...         ratios={"p50_to_echo": ratio},
        ...         limits={"p50_to_echo": Limit(most=9.0)},
        ...     )
        >>> list(regressions([row(4.0)], [row(2.0)]))
        ['http: nodes 100: p50_to_echo is 4, in the baseline 2']
        >>> list(regressions([row(2.5)], [row(2.0)]))
        []
    """
    earlier = {row.name: row for row in baseline}
    for row in rows:
        before = earlier.get(row.name)
        if before is None:
            continue
        for name, limit in row.limits.items():
            now, then = row.ratios.get(name), before.ratios.get(name)
            if now is None or then is None:
                continue
            is_worse = (limit.most is not None and now > then * factor) or (
                limit.least is not None and now < then / factor
            )
            if is_worse:
                yield f"{row.name}: {name} is {now:.3g}, in the baseline {then:.3g}"
