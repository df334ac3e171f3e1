"""docs/commands.md, from the commands themselves."""

import inspect
import re
from collections.abc import Iterator
from typing import Final

import click

from extender.cli.main import cli
from pages.markdown import code, one_line, page, table

_INTRODUCTION: Final = """\
Every command and option, as the command line itself tells them. What they are good \
for, with examples, is in [cli.md](cli.md)."""

_MARK: Final = "\b"
"""click's, for text that is not to be wrapped."""


def commands_page() -> str:
    """Write the page: each command's synopsis, what it does, and its options."""
    context = click.Context(cli, info_name="gpu-extender", **cli.context_settings)
    parts = [_INTRODUCTION, *_described(cli)]
    parts += ["## gpu-extender", *_synopsis(cli, context)]
    commands = [
        [code(f"gpu-extender {name}"), one_line(command.get_short_help_str(200))]
        for name, command in sorted(cli.commands.items())
    ]
    parts.append(table(["command", "does"], commands))
    for name, command in sorted(cli.commands.items()):
        parts.append(f"## gpu-extender {name}")
        of_command = click.Context(command, info_name=name, parent=context)
        parts += [*_synopsis(command, of_command), *_described(command)]
    return page("Commands", *parts)


def _synopsis(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = command.get_usage(context).removeprefix("Usage: gpu-extender ")
    yield f"Arguments: {code(' '.join(usage.split()))}"
    rows = [
        [*_names(parameter, context), one_line(getattr(parameter, "help", "") or "")]
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option)
    ]
    yield table(["option", "default", "means"], rows)


def _names(option: click.Option, context: click.Context) -> tuple[str, str]:
    names = ", ".join([*option.opts, *option.secondary_opts])
    takes = "" if option.is_flag else f" {option.make_metavar(context)}"
    many = " ..." if option.multiple else ""
    default = option.get_default(context)
    is_told = option.show_default and isinstance(default, str | int | float)
    shown = str(default).lower() if isinstance(default, bool) else str(default)
    told = code(shown) if is_told else ""
    return code(f"{names}{takes}{many}"), "required" if option.required else told


def _described(command: click.Command) -> Iterator[str]:
    """Give a command's help: paragraphs, and as it is what click must not wrap."""
    for block in re.split(r"\n\n", inspect.cleandoc(command.help or "")):
        if not block.startswith(_MARK):
            yield one_line(block)
            continue
        lines = block.removeprefix(_MARK).strip("\n").splitlines()
        if lines[0].startswith("Example"):
            example = inspect.cleandoc("\n".join(lines[1:]))
            yield f"```sh\n{example}\n```"
        else:
            yield one_line(" ".join(lines))
