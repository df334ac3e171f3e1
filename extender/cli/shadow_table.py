"""What shadow mode has found, as tables."""

from typing import Any

from rich.console import Console
from rich.table import Table

from extender.cli.terminal import printable
from extender.cli.usages import indented

MEANINGS = {
    "agrees": "same node and cards",
    "other-cards": "same node; other cards, as good",
    "overcommits": "a card holds more than it has",
    "refused": "we would refuse that node or card",
    "unreadable": "the allocation cannot be read",
    "without-cards": "bound without any card",
    "would-place": "left pending; we have a node",
    "other-rules": "left pending for CPU, taints or such",
    "both-refuse": "left pending, by us too",
    "not-judged": "came while the watch was down",
}


def print_shadow(console: Console, report: dict[str, Any]) -> None:
    """Print totals, then both rules' figures, then the last differences."""
    console.print(printable(f"shadow since {report['since']}"))
    totals = _table("decision", "times", "meaning")
    for outcome, count in report["decisions"].items():
        totals.add_row(printable(outcome), str(count), MEANINGS.get(outcome, ""))
    console.print(indented(totals))
    cards, memory = report["cards"], report["cards"]["memory_mib"]
    console.print(
        f"{cards['count']} cards, {cards['overcommitted']} hold more than they have"
    )
    console.print(
        f"MiB in all: ours {memory['ours']}, HAMi {memory['hami']} of "
        f"{memory['capacity']}; held by HAMi needlessly {memory['needless']}, not "
        f"counted by HAMi {memory['uncounted']}",
        soft_wrap=True,
    )
    if report["nodes"]:
        _print_nodes(console, report)
    for card in report["overcommitted_cards"]:
        ours, capacity = card["ours"], card["capacity"]
        console.print(
            printable(
                f"overcommitted: {card['node']}, card {card['device']}: "
                f"{ours['memory_mib']} of {capacity['memory_mib']} MiB, "
                f"{ours['core_percent']} of {capacity['core_percent']} % of cores, "
                f"{ours['slots']} of {capacity['slots']} slots"
            ),
            soft_wrap=True,
        )
    _print_left_off(console, report["overcommitted_cards_left_off"], "cards")
    if report["differences"]:
        console.print("differences, newest first")
    for each in report["differences"]:
        console.print(printable(f"    {each['at']}  {each['text']}"), soft_wrap=True)
    _print_left_off(console, report["differences_left_off"], "differences")


def _print_nodes(console: Console, report: dict[str, Any]) -> None:
    table = _table("node", "capacity MiB", "ours", "HAMi", "needless", "not counted")
    for each in report["nodes"]:
        memory = each["memory_mib"]
        table.add_row(
            printable(each["node"]),
            *(
                str(memory[key])
                for key in ("capacity", "ours", "hami", "needless", "uncounted")
            ),
        )
    console.print(indented(table))
    _print_left_off(console, report["nodes_left_off"], "nodes")


def _print_left_off(console: Console, count: int, what: str) -> None:
    if count:
        console.print(f"    and {count} {what} more")


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(first, overflow="fold")
    for name in others:
        is_text = name == "meaning"
        table.add_column(name, justify="left" if is_text else "right")
    return table
