"""Plots of a run, the same bytes for the same figures."""

import math
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.cells import Group, case_text, groups, heading, number
from benchmarks.results import Row

_OURS: Final = "#2f6db3"
_TAIL: Final = "#a9c6e8"
_ECHO: Final = "#555555"
_MISSED: Final = "#c0392b"
_WIDTH_INCHES: Final = 7.5
_BAR_INCHES: Final = 0.28
_LABEL_WIDTH: Final = 62
_LONGEST_SHARE: Final = 3.0


def write_plots(rows: Sequence[Row], folder: Path) -> list[str]:
    """Draw what the rows allow, each as PNG and as SVG.

    Returns:
        The files' names without their endings.
    """
    names = []
    # Identifiers in an SVG are random without a salt.
    with mpl.rc_context({"svg.hashsalt": "benchmarks", "font.size": 9}):
        for name, figure in _figures(rows):
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
            names.append(name)
    return names


def _figures(rows: Sequence[Row]) -> Iterator[tuple[str, Figure]]:
    if any(row.budgets for row in rows):
        yield "budgets", _budgets([row for row in rows if row.budgets])
    by_nodes = [row for row in rows if _is_of_nodes(row)]
    if by_nodes:
        yield "http-nodes", _nodes(by_nodes)
    by_pod = [row for row in rows if _is_of_pod(row)]
    if by_pod:
        yield "http-pods", _pods(by_pod)
    bursts = [row for row in rows if row.part == "burst"]
    if bursts:
        yield "burst", _bursts(bursts)
    drawn = {"http", "burst"}
    for group in groups(rows):
        if group.part not in drawn:
            drawn.add(group.part)
            yield group.part, _first_figure(group)


def _budgets(rows: Sequence[Row]) -> Figure:
    """Show each figure as a share of its budget; far beyond it, the bar is cut."""
    measured = [
        (_wrapped(row, name), budget.share_used_by(value))
        for row in rows
        for name, budget in row.budgets.items()
        if (value := row.value(name)) is not None
    ]
    labels = [label for label, _ in measured]
    shares = [share for _, share in measured]
    figure, axes = _bars_of(len(shares), inches=0.36)
    colours = [_OURS if share <= 1 else _MISSED for share in shares]
    _bars(axes, labels, shares, colours, longest=_LONGEST_SHARE)
    axes.axvline(1.0, color=_ECHO, linewidth=1)
    axes.set_xlabel("share of the budget: left of the line is met")
    return figure


def _wrapped(row: Row, name: str) -> str:
    told = f"{row.part}: {case_text(row.case, row.case)}: {' '.join(heading(name))}"
    return textwrap.fill(told, _LABEL_WIDTH)


def _is_of_nodes(row: Row) -> bool:
    case = row.case
    return (
        row.part == "http"
        and "growth" not in case
        and case["pod"] == "sidecar + init + app"
        and case["cards"] == "8"
        and case["pods_per_node"] == 8
    )


def _nodes(rows: Sequence[Row]) -> Figure:
    """Show how each verb grows with the cluster, beside the echo server."""
    lines: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for row in rows:
        nodes = int(row.case["nodes"])
        line = f"{row.case['verb']}, {row.case['asked']}"
        lines[line][nodes] = row.figures["p50_ms"]
        if line == "filter, never":
            lines["echo of filter"][nodes] = row.figures["echo_p50_ms"]
    figure = Figure(figsize=(_WIDTH_INCHES, 4.0), layout="constrained")
    axes = figure.subplots()
    for line, points in lines.items():
        is_echo = line.startswith("echo")
        axes.plot(
            sorted(points),
            [points[nodes] for nodes in sorted(points)],
            marker="o",
            color=_ECHO if is_echo else None,
            linestyle="--" if is_echo else "-",
            label=line,
        )
    axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel="p50, ms")
    nodes_shown = sorted({nodes for points in lines.values() for nodes in points})
    axes.set_xticks(nodes_shown, [f"{nodes:,}" for nodes in nodes_shown], minor=False)
    axes.minorticks_off()
    axes.set_title("sidecar + init + app; 8 cards and 8 GPU pods a node", fontsize=9)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


def _is_of_pod(row: Row) -> bool:
    case = row.case
    return (
        row.part == "http"
        and "growth" not in case
        and case["verb"] == "filter"
        and case["asked"] == "never"
        and case["pods_per_node"] == 8
    )


def _pods(rows: Sequence[Row]) -> Figure:
    """Show what filter costs by what a pod asks for, on the size with most kinds."""
    by_nodes: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        by_nodes[int(row.case["nodes"])].append(row)
    nodes, shown = max(by_nodes.items(), key=lambda entry: (len(entry[1]), entry[0]))
    labels = [case_text(row.case, ["pod", "cards"]) for row in shown]
    figure, axes = _bars_of(len(shown))
    tails = [row.figures["p99_ms"] for row in shown]
    middles = [row.figures["p50_ms"] for row in shown]
    axes.barh(range(len(tails)), tails, color=_TAIL, label="p99")
    _bars(axes, labels, middles, [_OURS] * len(shown), label="p50")
    echoes = [row.figures["echo_p50_ms"] for row in shown]
    axes.plot(
        echoes, range(len(echoes)), "|", color=_ECHO, markersize=9, label="echo p50"
    )
    axes.set_xlabel(f"filter at {nodes:,} nodes, never asked before, ms")
    axes.legend(frameon=False)
    return figure


def _bursts(rows: Sequence[Row]) -> Figure:
    """Show pods a second of each run, below the burst that it is of."""
    bursts: dict[str, list[Row]] = {}
    for row in rows:
        bursts.setdefault(case_text(row.case, _burst_keys(row)), []).append(row)
    figure, axes = _bars_of(len(rows) + len(bursts))
    places, labels, rates, colours = [], [], [], []
    title_at = 0
    for title, runs in bursts.items():
        axes.text(0, title_at, f" {title}", va="center", fontsize=8, weight="bold")
        for place, row in enumerate(runs, title_at + 1):
            places.append(place)
            labels.append(case_text(row.case, _run_keys(row)))
            rates.append(row.figures["pods_per_second"])
            is_ours = str(row.case["extender"]).startswith("ours")
            colours.append(_OURS if is_ours else _ECHO)
        title_at += 1 + len(runs)
    bars = axes.barh(places, rates, color=colours)
    axes.set_yticks(places, labels, fontsize=8)
    axes.margins(x=0.12, y=0.02)
    axes.bar_label(bars, [number(rate) for rate in rates], padding=3, fontsize=8)
    axes.set_xlabel("pods bound a second; grey are those that decide nothing")
    return figure


_RUN_KEYS: Final = ("extender", "pending", "tls")


def _run_keys(row: Row) -> list[str]:
    return [key for key in row.case if key in _RUN_KEYS]


def _burst_keys(row: Row) -> list[str]:
    return [key for key in row.case if key not in _RUN_KEYS]


def _first_figure(group: Group) -> Figure:
    """Show the first figure of each row of a part."""
    name = next(iter(group.rows[0].figures))
    shown = [row for row in group.rows if name in row.figures]
    figure, axes = _bars_of(len(shown))
    labels = [
        textwrap.fill(case_text(row.case, group.keys), _LABEL_WIDTH) for row in shown
    ]
    values = [row.figures[name] for row in shown]
    _bars(axes, labels, values, [_OURS] * len(shown))
    if min(values) > 0 and max(values) > 100 * min(values):
        axes.set_xscale("log")
    words, unit = heading(name)
    axes.set_xlabel(f"{words}, {unit}" if unit else words)
    return figure


def _bars_of(count: int, inches: float = _BAR_INCHES) -> tuple[Figure, Axes]:
    size = (_WIDTH_INCHES, 1.0 + inches * count)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _bars(
    axes: Axes,
    labels: Sequence[str],
    values: Sequence[float],
    colours: Sequence[str],
    *,
    label: str | None = None,
    longest: float = math.inf,
) -> None:
    widths = [min(value, longest) for value in values]
    bars = axes.barh(range(len(values)), widths, color=colours, label=label)
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.margins(x=0.12)
    axes.bar_label(bars, [_told(value) for value in values], padding=3, fontsize=8)


def _told(value: float) -> str:
    return number(value) if math.isfinite(value) else "∞"
