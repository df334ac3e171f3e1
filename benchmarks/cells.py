"""How figures are written, on the terminal as in the documentation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from benchmarks.results import Case, Limit, Row

_UNITS: Final[Mapping[str, str]] = {
    "per_second": "/s",
    "seconds": "s",
    "ms": "ms",
    "us": "µs",
    "ns": "ns",
    "mib": "MiB",
    "bytes": "B",
    "percent": "%",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure or ratio of a row.

    Attributes:
        text: The number, and its bound where it has one, such as ``1.82≤2``.
        is_within: Whether it keeps the bound; None without one.
    """

    text: str
    is_within: bool | None = None


def heading(name: str) -> tuple[str, str]:
    """Split a figure's name into words and unit.

    Example:
        >>> heading("echo_p50_ms"), heading("pods_per_second"), heading("p50_to_echo")
        (('echo p50', 'ms'), ('pods', '/s'), ('p50 to echo', ''))
    """
    for suffix, unit in _UNITS.items():
        if name.endswith(f"_{suffix}"):
            return name.removesuffix(f"_{suffix}").replace("_", " "), unit
    return name.replace("_", " "), ""


def number(value: float) -> str:
    """Write a number by three digits that count.

    Example:
        >>> [number(value) for value in (0.01234, 1.234, 12.34, 123.4, 12345.6, 0, 8)]
        ['0.0123', '1.23', '12.3', '123', '12,346', '0', '8']
    """
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:#.3g}"


def cell(row: Row, name: str) -> Cell:
    """Write a ratio or a figure with its budget, or else with its limit."""
    bound = row.budgets.get(name) or row.limits.get(name)
    return bounded(row.value(name), bound)


def bounded(value: float | None, limit: Limit | None) -> Cell:
    """Write a value, and the end of its bound that counts.

    Args:
        value: None where it was not measured, which keeps no bound.
        limit: The bound; None without one.
    """
    if value is None:
        return Cell("-", is_within=None if limit is None else False)
    if limit is None:
        return Cell(number(value))
    is_within = limit.is_kept_by(value)
    if limit.least is not None and (limit.most is None or value < limit.least):
        sign, bound = "≥" if is_within else "<", limit.least
    else:
        sign, bound = "≤" if is_within else ">", limit.most or 0.0
    return Cell(f"{number(value)}{sign}{number(bound)}", is_within)


def case_text(case: Case, keys: Iterable[str]) -> str:
    """Tell the case by some of its keys; a word speaks for itself, a number does not.

    Example:
        >>> case = {"verb": "filter", "nodes": 5000, "cards": "8"}
        >>> case_text(case, ["verb", "nodes"]), case_text(case, ["cards"])
        ('filter, nodes 5,000', 'cards 8')
    """
    told = []
    for key in keys:
        value = case[key]
        if isinstance(value, int):
            told.append(f"{key.replace('_', ' ')} {value:,}")
        elif value[:1].isdigit():
            told.append(f"{key.replace('_', ' ')} {value}")
        else:
            told.append(value)
    return ", ".join(told)


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of one part whose cases have the same keys: one table.

    Attributes:
        part: Of all of them.
        rows: In their order.
        keys: Keys of the cases whose values differ between rows.
        shared: What the cases have in common, as text.
        columns: Ratios, then figures; not every row need have each.
    """

    part: str
    rows: Sequence[Row]
    keys: Sequence[str]
    shared: str
    columns: Sequence[str]


def groups(rows: Iterable[Row]) -> list[Group]:
    """Sort rows into tables, in their order."""
    return [
        _group(part, list(together))
        for (part, _), together in groupby(
            rows, key=lambda row: (row.part, tuple(row.case))
        )
    ]


def _group(part: str, rows: Sequence[Row]) -> Group:
    first = rows[0].case
    differing = [
        key for key in first if any(row.case[key] != first[key] for row in rows)
    ] or list(first)
    columns = dict.fromkeys(name for row in rows for name in row.ratios)
    columns |= dict.fromkeys(name for row in rows for name in row.limits)
    columns |= dict.fromkeys(name for row in rows for name in row.figures)
    return Group(
        part=part,
        rows=rows,
        keys=differing,
        shared=case_text(first, [key for key in first if key not in differing]),
        columns=list(columns),
    )
