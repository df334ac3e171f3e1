"""An explanation as tables."""

from collections.abc import Collection, Iterator, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from extender.cli.terminal import printable
from extender.cli.usages import indented
from extender.core.names import NodeName
from extender.core.usage import NOTHING, Usage
from extender.verbs.amounts import amount_text, relief_text
from extender.verbs.explanation import (
    CardRelief,
    CardView,
    Cause,
    ContainerAsk,
    Explanation,
    HeldCard,
    Holder,
    NearMiss,
    NodeView,
    Outcome,
    PhaseNeed,
    Place,
    Return,
)
from extender.verbs.origin import Origin
from extender.verbs.pod_phases import STEADY

_NAMES_SHOWN = 3
"""Of a group, without -o wide."""


def print_explanation(
    console: Console,
    told: Explanation,
    origin: Origin,
    wanted: Collection[NodeName],
    *,
    is_wide: bool,
) -> None:
    """Print what becomes of a pod, and why.

    Args:
        console: Where.
        told: Of the pod.
        origin: Of the cluster; shown with `is_wide`.
        wanted: Nodes to be shown card by card.
        is_wide: Whether nothing is left out.
    """
    console.print(
        Text.assemble((printable(told.full_name), "bold"), ": ", _headline(told))
    )
    if is_wide:
        console.print(printable(f"  from {origin}"), soft_wrap=True)
    print_cause(console, told.cause)
    _print_problems(console, told)
    print_asks(console, told.asks, told.phases)
    _print_quota(console, told)
    if told.place is not None:
        _print_place(console, told.place)
    for card in told.holds:
        print_held(console, card, is_wide=is_wide)
    if told.nearest is not None:
        _print_miss(console, told.nearest, is_wide=is_wide)
    if told.groups and told.problem is None:
        _print_groups(console, told, is_wide=is_wide)
    for view in _in_full(told, wanted, is_wide=is_wide):
        _print_node(console, view, is_wide=is_wide)
    if not told.is_of_one_moment:
        console.print("  the cluster changed meanwhile: details may be newer")


def print_cause(console: Console, cause: Cause | None) -> None:
    """Print why a pod waits, and what to do."""
    if cause is not None:
        for word, text in (("cause", cause.text), ("note", cause.note)):
            console.print(printable(f"  {word}: {text}"), soft_wrap=True)


def _print_quota(console: Console, told: Explanation) -> None:
    for short in told.quota:
        console.print(printable(f"  over quota on every node: {short.text}"))
    if told.quota:
        count = f"{told.fits_but_for_quota} of {told.node_count}"
        console.print(f"  but for the quota it fits on {count} nodes")


def _print_problems(console: Console, told: Explanation) -> None:
    if told.problem is not None:
        console.print(printable(f"  {told.problem}"))
    for warning in told.warnings:
        console.print(printable(f"  warning: {warning}"), style="yellow")


def _headline(told: Explanation) -> tuple[str, str]:
    match told.outcome:
        case Outcome.FITS:
            fitted = f"fits on {len(told.fitting)} of {told.node_count} nodes"
            return fitted, "bold green"
        case Outcome.REFUSED:
            return f"fits on none of {told.node_count} nodes", "bold red"
        case Outcome.BOUND | Outcome.RESERVED:
            return printable(f"{told.outcome.value} on {told.node}"), "bold green"
        case _:
            return told.outcome.value, "bold"


def plain_table(*columns: str, right: Collection[str] = ()) -> Table:
    """Make a table without lines; long cells are folded."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(
            name, justify="right" if name in right else "left", overflow="fold"
        )
    return table


def print_asks(
    console: Console, asks: Sequence[ContainerAsk], phases: Sequence[PhaseNeed]
) -> None:
    """Print what containers ask for, and the phases that bind."""
    if not asks:
        return
    table = plain_table(
        "container",
        "lifetime",
        "cards",
        "memory each",
        "cores % each",
        right=("cards", "memory each", "cores % each"),
    )
    for ask in asks:
        memory = f"{ask.memory_percent} %"
        if ask.memory_mib is not None:
            memory = f"{ask.memory_mib} MiB"
        table.add_row(
            printable(ask.container),
            ask.lifetime.value,
            str(ask.cards),
            memory,
            str(ask.core_percent),
        )
    console.print(indented(table))
    if len(phases) > 1:
        for need in phases:
            if need.binds:
                console.print(
                    printable(f"  largest phase: {need.name}, {_amount(need)}")
                )


def _amount(need: PhaseNeed) -> str:
    amount = Usage(need.slots, need.memory_mib, need.core_percent)
    percent = f", {need.memory_percent} % of memory" if need.memory_percent else ""
    return f"{amount_text(amount)}{percent} on all its cards"


def _print_place(console: Console, place: Place) -> None:
    waits = f", behind {place.binds_ahead} binds" if place.binds_ahead else ""
    where = f"  would go to {place.node}: score {place.score} of 10{waits}"
    console.print(printable(where))
    for term in place.terms:
        parts = ", ".join(
            f"{name} {ratio:.0%}"
            for name, ratio in (
                ("slots", term.slots),
                ("memory", term.memory),
                ("cores", term.cores),
            )
        )
        console.print(f"    {term.policy}: {parts} in use with it, {term.score} of 10")
    table = plain_table(
        "container", "card", "memory MiB", "cores %", right=("memory MiB", "cores %")
    )
    for share in place.shares:
        cut = f" {share.instance}" if share.instance else ""
        table.add_row(
            printable(share.container),
            printable(f"{share.index}{cut}"),
            str(share.memory_mib),
            str(share.core_percent),
        )
    console.print(indented(table))
    if others := place.ranking[1:]:
        listed = ", ".join(f"{each.node} {each.score}" for each in others)
        console.print(printable(f"  next: {listed}"))


def print_held(console: Console, card: HeldCard, *, is_wide: bool) -> None:
    """Print a card that a pod holds, phase by phase."""
    name = f"card {card.index}" if card.index is not None else card.device_uuid
    uuid = f" {card.device_uuid}" if is_wide else ""
    console.print(printable(f"  {name} {card.model}{uuid}"))
    table = plain_table(
        "phase", "slots", "MiB", "cores %", right=("slots", "MiB", "cores %")
    )
    for phase in card.phases:
        over = " (over)" if phase.is_over else ""
        table.add_row(printable(f"{phase.name}{over}"), *_figures(phase.held))
    table.add_row("charged now", *_figures(card.now), style="bold")
    console.print(indented(table))
    if len(card.returns) > 1:
        console.print(printable(f"    {_returns(card.now, card.returns)}"))


def _figures(usage: Usage) -> tuple[str, str, str]:
    return str(usage.slots), str(usage.memory_mib), str(usage.core_percent)


def _print_miss(console: Console, miss: NearMiss, *, is_wide: bool) -> None:
    told = " and ".join(_relief(each, miss, is_wide=is_wide) for each in miss.reliefs)
    nearest = "nearest miss" if miss.is_nearest else "a near miss, of many"
    text = f"  {nearest}: would fit on {miss.node} if {told}"
    console.print(printable(text))


def _relief(relief: CardRelief, miss: NearMiss, *, is_wide: bool) -> str:
    names = ", ".join(map(str, relief.indices))
    if is_wide:
        names = f"{names} ({', '.join(relief.cards)})"
    several = len(relief.cards) > 1
    cards = f"each of cards {names}" if several else f"card {names}"
    return relief_text(relief, is_of_empty=miss.is_of_empty, cards=cards)


def _print_groups(console: Console, told: Explanation, *, is_wide: bool) -> None:
    views = {view.node: view for view in told.nodes}
    table = plain_table("nodes", "reasons", "in numbers")
    for group in told.groups:
        mark = "*" if group.is_unresolvable else ""
        names = [*group.nodes]
        shown = names if is_wide else names[:_NAMES_SHOWN]
        more = len(names) - len(shown)
        listed = "\n".join(shown) + (f"\nand {more} more" if more else "")
        table.add_row(
            printable_lines(listed),
            printable_lines("\n".join(f"{each.value}{mark}" for each in group.reasons)),
            printable_lines(_in_numbers(views.get(group.nearest), len(names))),
        )
    console.print(Padding(table, (0, 0, 0, 2), expand=False))
    if any(group.is_unresolvable for group in told.groups):
        console.print("  * would not fit there either if no pod held anything")


def printable_lines(text: str) -> str:
    """Write control characters out, but for the ends of lines, which are ours."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _in_numbers(view: NodeView | None, node_count: int) -> str:
    if view is None:
        return ""
    found = [
        f"{each.cards}/{each.card_count} {each.text}"
        if each.cards is not None
        else each.text
        for each in view.findings
    ]
    if view.note:
        found.append(view.note)
    if node_count > 1:
        found.insert(0, f"{view.node}:")
    return "\n".join(found)


def _in_full(
    told: Explanation, wanted: Collection[NodeName], *, is_wide: bool
) -> Iterator[NodeView]:
    """Choose the nodes that are shown card by card."""
    nearest = told.nearest.node if told.nearest else None
    for view in told.nodes:
        if view.cards and (is_wide or view.node in wanted or view.node == nearest):
            yield view


def _print_node(console: Console, view: NodeView, *, is_wide: bool) -> None:
    console.print()
    verdict = "fits" if view.fits else ", ".join(each.value for each in view.reasons)
    where = f" for {view.container}" if view.container else ""
    if view.phase not in (None, STEADY):
        where = f"{where}, in {view.phase}"
    console.print(
        Text.assemble((printable(view.node), "bold"), printable(f": {verdict}{where}"))
    )
    if view.lock is not None:
        whose = view.lock.holder or "somebody"
        refuses = ", so long that it refuses others" if view.lock.refuses else ""
        console.print(printable(f"  locked for {whose}{refuses}"))
    for pod in view.expected:
        console.print(printable(f"  {pod} was sent there a moment ago"))
    for card in view.cards:
        for line in _card_lines(card, is_wide=is_wide):
            indent = (0, 0, 0, _depth(line))
            console.print(Padding(printable(line.lstrip()), indent, expand=False))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _card_lines(card: CardView, *, is_wide: bool) -> Iterator[str]:
    uuid = f" {card.device_uuid}" if is_wide else ""
    unit = "cores" if card.counts_units else "% cores"
    free, capacity = card.free, card.capacity
    yield (
        f"  card {card.index} {card.model}{uuid}: {free.memory_mib}/"
        f"{capacity.memory_mib} MiB, {free.core_percent}/{capacity.core_percent} "
        f"{unit}, {free.slots}/{capacity.slots} slots free"
    )
    if card.needed is not None:
        beside = ""
        if card.beside != NOTHING:
            beside = f" beside {amount_text(card.beside)} of its other containers"
        answer = card.refused_by.value if card.refused_by else "would serve"
        needs = amount_text(card.needed, counts_units=card.counts_units)
        yield f"    {answer}: needs {needs}{beside}"
    for holder in card.holders:
        yield f"    {holder_text(holder, counts_units=card.counts_units)}"


def holder_text(holder: Holder, *, counts_units: bool) -> str:
    """Tell who holds what, in which phase, and what comes back before its end."""
    held = amount_text(holder.held, counts_units=counts_units)
    parts = [holder.status]
    if holder.why != "allocated":
        parts.append(holder.why)
    if holder.runs:
        parts.append(holder.runs)
    told = f"{holder.pod} holds {held} ({', '.join(parts)})"
    if len(holder.returns) > 1:
        told = f"{told}: {_returns(holder.held, holder.returns)}"
    return told


def _returns(held: Usage, returns: Sequence[Return]) -> str:
    """Tell what comes back before the end, and of how much."""
    return "; ".join(
        f"{_part(each.amount, held)} return when {each.when}" for each in returns[:-1]
    )


def _part(amount: Usage, held: Usage) -> str:
    """Tell an amount of each dimension that comes back, and of how much."""
    return ", ".join(
        f"{part} of {whole} {unit}"
        for part, whole, unit in (
            (amount.memory_mib, held.memory_mib, "MiB"),
            (amount.core_percent, held.core_percent, "cores"),
            (amount.slots, held.slots, "slots"),
        )
        if part
    )
