"""How what a command shows is printed: as a table, a wide one, JSON or YAML."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import click
import orjson
import yaml
from rich.console import Console

from extender.cli.terminal import console, printable
from extender.verbs.origin import Origin
from extender.wire.views import view_object

_Command = TypeVar("_Command", bound=Callable[..., Any])


class Output(StrEnum):
    """What is printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_table(self) -> bool:
        """Whether people read it."""
        return self in (Output.TABLE, Output.WIDE)

    def console(self) -> Console:
        """Open standard output for a table; a wide one is not folded to fit."""
        return console(is_wide=self is Output.WIDE)


class _Outputs(click.Choice[str]):
    def get_invalid_choice_message(
        self, value: object, ctx: click.Context | None
    ) -> str:
        """Say it in lines that fit a terminal."""
        del ctx
        *others, last = self.choices
        return f"{printable(repr(value))}\nIt is {', '.join(others)} or {last}"


def output_option(command: _Command) -> _Command:
    """Add ``-o table|wide|json|yaml``; the parameter is an `Output`."""
    return click.option(
        "-o",
        "--output",
        type=_Outputs([each.value for each in Output]),
        default=Output.TABLE.value,
        show_default=True,
        callback=lambda _context, _parameter, word: Output(word),
        help="What to print; wide leaves nothing out, and folds nothing.",
    )(command)


def echo_view(view: object, origin: Origin, output: Output) -> None:
    """Print a view, and where it comes from, for programs."""
    echo_json({"source": view_object(origin), **view_object(view)}, output)


def echo_json(told: object, output: Output) -> None:
    """Print what JSON can say, in JSON or as the same in YAML."""
    if output is Output.YAML:
        click.echo(yaml.safe_dump(told, sort_keys=False, allow_unicode=True), nl=False)
    else:
        click.echo(orjson.dumps(told))
