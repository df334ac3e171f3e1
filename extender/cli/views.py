"""How a view is printed: as a table, a wide one, JSON or YAML."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import click
import orjson
import yaml

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


def view_output_option(command: _Command) -> _Command:
    """Add ``-o table|wide|json|yaml``; the parameter is an `Output`."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([each.value for each in Output]),
        default=Output.TABLE.value,
        show_default=True,
        callback=lambda _context, _parameter, word: Output(word),
        help="What to print; wide leaves nothing out.",
    )(command)


def echo_view(view: object, origin: Origin, output: Output) -> None:
    """Print a view, and where it comes from, for programs."""
    told = {"source": view_object(origin), **view_object(view)}
    if output is Output.YAML:
        click.echo(yaml.safe_dump(told, sort_keys=False, allow_unicode=True), nl=False)
    else:
        click.echo(orjson.dumps(told))
