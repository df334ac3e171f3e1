"""What the doctor found, for people."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from extender.cli.explained import plain_table
from extender.cli.terminal import printable
from extender.verbs.diagnosis import Diagnosis, Severity
from extender.verbs.doctor.examination import Examination
from extender.verbs.origin import Origin

_MOST_SHOWN: Final = 3
"""Of one code; a cluster in trouble has hundreds of the same."""

_STYLE: Final = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "yellow",
    Severity.NOTE: "dim",
}


def print_examination(
    console: Console, found: Examination, origin: Origin, *, is_wide: bool
) -> None:
    """Print a summary, then each kind of trouble; with `is_wide` each of a kind."""
    counts = [(len(found.of(severity)), severity.value) for severity in Severity]
    counted = ", ".join(f"{n} {word}{'s'[: n != 1]}" for n, word in counts)
    console.print(f"{counted}; {found.nodes} nodes and {found.pods} pods with devices")
    if is_wide:
        console.print(printable(f"from {origin}"), soft_wrap=True)
    for each in found.consulted:
        if each.problem:
            _print(console, f"not looked at: {each.what}: {each.problem}", 0, "yellow")
    groups = [(code, [*same]) for code, same in groupby(found.diagnoses, _code)]
    if not groups:
        looked_at = ", ".join(each.what for each in found.consulted if not each.problem)
        _print(console, f"nothing is wrong with {looked_at}", 0, "green")
        return
    table = plain_table("severity", "code", "places")
    for code, same in groups:
        table.add_row(same[0].severity.value, code, str(len(same)))
    console.print(table)
    for _, same in groups:
        console.print()
        _print_group(console, same, is_wide=is_wide)


def _code(diagnosis: Diagnosis) -> str:
    return diagnosis.code


def _print_group(console: Console, same: Sequence[Diagnosis], *, is_wide: bool) -> None:
    first = same[0]
    style = _STYLE[first.severity]
    console.print(
        Text.assemble((first.severity.value, style), " ", (first.code, "bold"))
    )
    shown = same if is_wide else same[:_MOST_SHOWN]
    for each in shown:
        _print(console, f"{each.about}: {each.summary}", 2)
        for line in each.evidence:
            _print(console, line, 6, "dim")
    if len(shown) < len(same):
        _print(console, f"and {len(same) - len(shown)} more (-o wide)", 2)
    _print(console, f"do: {first.remedy}", 2, "green")


def _print(console: Console, text: str, indent: int, style: str = "") -> None:
    """Wrap a text under its own indent."""
    told = Text(printable(text), style)
    console.print(Padding(told, (0, 0, 0, indent), expand=False))
