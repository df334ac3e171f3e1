"""A cluster, a node or a pod as tables with bars."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from extender.cli.bars import bar
from extender.cli.explained import (
    holder_text,
    plain_table,
    print_asks,
    print_held,
)
from extender.cli.terminal import printable
from extender.cli.usages import indented
from extender.verbs.inspection import (
    ClusterInspection,
    DeviceIds,
    InspectedCard,
    InspectedNode,
    InspectedPod,
    ModelSummary,
    NodeSummary,
    StrayHolder,
)
from extender.verbs.origin import Origin

_BAR = 10
_SHORT_BAR = 5


def print_cluster(
    console: Console, told: ClusterInspection, origin: Origin, *, is_wide: bool
) -> None:
    """Print models, nodes, and what is scattered; with `is_wide` each card besides."""
    pods = told.pods
    with_cards, bare = len(told.nodes), told.bare_nodes
    counted = f"{with_cards} nodes with devices, {bare} without"
    waits = f"{pods.bound} hold some, {pods.reserved} are being bound, "
    console.print(f"{counted}; pods: {waits}{pods.waiting} wait")
    if is_wide:
        console.print(printable(f"from {origin}"), soft_wrap=True)
    if told.models:
        _print_models(console, told.models)
    if told.nodes:
        _print_nodes(console, told.nodes)
    if is_wide:
        for node in told.in_full:
            console.print()
            print_node(console, node, is_wide=True)
    if not told.is_of_one_moment:
        console.print("the cluster changed meanwhile: nodes may be of later moments")


def _print_models(console: Console, models: Sequence[ModelSummary]) -> None:
    table = plain_table(
        "model",
        "cards",
        "unused",
        "memory",
        "charged MiB",
        "most free",
        right=("cards", "unused", "charged MiB", "most free"),
    )
    for each in models:
        charged, there = each.charged.memory_mib, each.capacity.memory_mib
        table.add_row(
            printable(each.model),
            str(each.cards),
            str(each.untouched_cards),
            bar(charged, there, _BAR),
            f"{charged}/{there}",
            str(each.largest_free_mib),
        )
    console.print(indented(table))
    for each in models:
        for lost in each.stranded:
            told = f"{lost.memory_mib} MiB stranded on {lost.cards} {each.model}"
            line = Text(printable(f"{told}: {lost.reason.value}"))
            console.print(Padding(line, (0, 0, 0, 4), expand=False))
    shaped = [each for each in models if each.shapes]
    if shaped:
        _print_shapes(console, shaped)


def _print_shapes(console: Console, models: Sequence[ModelSummary]) -> None:
    console.print("  more containers that would get a card, by part of its memory")
    heads = [f"{shape.percent} %" for shape in models[0].shapes]
    table = plain_table("model", *heads, right=heads)
    for each in models:
        table.add_row(
            printable(each.model), *[str(shape.count) for shape in each.shapes]
        )
    console.print(indented(table))


def _print_nodes(console: Console, nodes: Sequence[NodeSummary]) -> None:
    table = plain_table(
        "node",
        "cards",
        "memory",
        "charged MiB",
        "cores",
        "slots",
        "pods",
        "closed",
        right=("cards", "charged MiB", "slots", "pods", "closed"),
    )
    for each in nodes:
        charged, there = each.charged, each.capacity
        table.add_row(
            printable(each.node),
            str(sum(model.cards for model in each.models)),
            bar(charged.memory_mib, there.memory_mib, _BAR),
            f"{charged.memory_mib}/{there.memory_mib}",
            bar(charged.core_percent, there.core_percent, _SHORT_BAR),
            f"{charged.slots}/{there.slots}",
            str(each.pods),
            str(each.closed_cards),
        )
    console.print(indented(table))
    for each in nodes:
        for problem in each.problems:
            line = Text(printable(f"{each.node}: {problem}"), "yellow")
            console.print(Padding(line, (0, 0, 0, 4), expand=False))


def print_node(console: Console, told: InspectedNode, *, is_wide: bool) -> None:
    """Print a node card by card, with who holds each."""
    summary = told.summary
    models = ", ".join(f"{each.cards} {each.model}" for each in summary.models)
    ids = "".join(f", {_ids(each)}" for each in told.device_ids)
    head = f": {models or 'no devices'}; pods: {summary.pods}{ids}"
    console.print(Text.assemble((printable(summary.node), "bold"), printable(head)))
    for problem in summary.problems:
        console.print(printable(f"  {problem}"), style="yellow")
    if told.lock is not None:
        whose = told.lock.holder or "somebody"
        refuses = ", so long that it refuses others" if told.lock.refuses else ""
        console.print(printable(f"  locked for {whose}{refuses}"))
    for pod in told.nominated:
        console.print(printable(f"  others were evicted for {pod}, which waits"))
    for card in told.cards:
        _print_card(console, card, is_wide=is_wide)
    for stray in told.elsewhere:
        _print_line(console, _stray(stray), 2)


def _ids(ids: DeviceIds) -> str:
    return f"{ids.taken}/{ids.allocatable} {ids.kind} device ids"


def _print_card(console: Console, card: InspectedCard, *, is_wide: bool) -> None:
    charged, there = card.charged, card.capacity
    unit = "cores" if card.counts_units else "% cores"
    console.print(
        Text.assemble(
            f"  card {card.index:<2} ",
            bar(charged.memory_mib, there.memory_mib, _BAR),
            f" {charged.memory_mib:>6}/{there.memory_mib:<6} MiB  ",
            bar(charged.core_percent, there.core_percent, _SHORT_BAR),
            f" {charged.core_percent:>3}/{there.core_percent:<3} {unit}  ",
            bar(charged.slots, there.slots, _SHORT_BAR),
            f" {charged.slots:>2}/{there.slots:<2} slots",
        )
    )
    for line in _under(card, is_wide=is_wide):
        _print_line(console, line, 10)


def _print_line(console: Console, line: str, indent: int) -> None:
    console.print(Padding(printable(line), (0, 0, 0, indent), expand=False))


def _under(card: InspectedCard, *, is_wide: bool) -> Iterator[str]:
    if is_wide:
        mode = f", {card.mode}" if card.mode else ""
        yield f"{card.model} {card.device_uuid}{mode}"
    if card.closed_by is not None:
        lost = f", {card.stranded_mib} MiB stranded" if card.stranded_mib else ""
        yield f"closed: {card.closed_by.value}{lost}"
    for holder in card.holders:
        yield holder_text(holder, counts_units=card.counts_units)


def _stray(stray: StrayHolder) -> str:
    told = holder_text(stray.holder, counts_units=False)
    return f"{stray.device_uuid}, which the node does not show: {told}"


def print_pod(console: Console, told: InspectedPod, *, is_wide: bool) -> None:
    """Print what a pod asks for, what it holds, and what comes back when."""
    where = f" on {told.node}" if told.node else ""
    runs = f", {told.runs}" if told.runs else ""
    head = f": {told.standing}{where} ({told.status}{runs})"
    console.print(Text.assemble((printable(told.full_name), "bold"), printable(head)))
    if told.problem is not None:
        console.print(printable(f"  {told.problem}"), style="yellow")
    for warning in told.warnings:
        console.print(printable(f"  warning: {warning}"), style="yellow")
    print_asks(console, told.asks, told.phases)
    for card in told.holds:
        print_held(console, card, is_wide=is_wide)
    if not told.holds and told.standing == "holds nothing":
        console.print(
            printable(f"  why it waits: gpu-extender explain {told.full_name}")
        )
