"""``gpu-extender check-config``: what a device configuration says, or is wrong in."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from extender.cli.options import read_input
from extender.cli.terminal import printable
from extender.cli.views import Output, echo_json, output_option
from extender.core.kinds import Kind, ServedBy
from extender.errors import BadDeviceConfig, ConfigProblem
from extender.wire.device_config import read_device_config


@click.command("check-config")
@click.argument("file", type=click.Path(path_type=Path))
@output_option
def check_config(file: Path, output: Output) -> None:
    """Check a device configuration, HAMi's device-config.yaml.

    Lists the kinds of device that FILE describes. Everything that is wrong is
    reported at once, by line and key, and makes the exit code 1. - is standard
    input.

    \b
    Example:
      gpu-extender check-config config/device-config.yaml
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    kinds: Sequence[Kind] = ()
    problems: Sequence[ConfigProblem] = ()
    try:
        kinds = read_device_config(read_input(file), str(file))
    except BadDeviceConfig as error:
        problems = error.problems
    if not output.is_table:
        described = {
            "kinds": [_as_json(kind) for kind in kinds],
            "problems": [asdict(problem) for problem in problems],
        }
        echo_json(described, output)
    elif problems:
        for problem in problems:
            click.echo(printable(str(problem)))
        count = len(problems)
        click.echo(printable(f"{count} problem{'s'[: count > 1]} in {file}"))
    else:
        _print_kinds(output.console(), kinds)
    if problems:
        sys.exit(1)


def _as_json(kind: Kind) -> dict[str, object]:
    return {
        "word": kind.type_word,
        "count_resource": kind.count_resource,
        "memory_resource": kind.memory_resource,
        "memory_unit": _memory_unit(kind),
        "memory_percentage_resource": kind.memory_percentage_resource,
        "core_resource": kind.core_resource,
        "cards_from": _cards_from(kind),
        "lock": _lock(kind),
        "rules": [rule.value for rule in kind.rules],
        "inits_return": kind.inits_return,
    }


def _memory_unit(kind: Kind) -> str | None:
    return kind.memory_unit if kind.memory_resource else None


def _cards_from(kind: Kind) -> str:
    return "annotation" if kind.capacity_cards is None else "capacity"


def _lock(kind: Kind) -> str:
    if kind.own_lock_annotation is not None:
        return "own"
    return "node" if kind.served_by is ServedBy.NODE_LOCK else "none"


def _print_kinds(console: Console, kinds: Sequence[Kind]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("kind", no_wrap=True)
    table.add_column("count, and memory in its unit")
    table.add_column("cards from")
    table.add_column("lock")
    for kind in kinds:
        resources = [kind.count_resource]
        if kind.memory_resource is not None:
            resources.append(f"{kind.memory_resource}, {kind.memory_unit}")
        table.add_row(
            kind.type_word, "\n".join(resources), _cards_from(kind), _lock(kind)
        )
    console.print(table)
    count = len(kinds)
    console.print(f"\n{count} kind{'s'[: count > 1]} of device; nothing is wrong")
