"""``gpu-extender completion``: what shells and kubectl need to complete commands."""

from enum import IntEnum
from typing import Final

import click
from click.shell_completion import ShellComplete, get_completion_class

SHELLS: Final = ("bash", "zsh", "fish")

_PROGRAM: Final = "gpu-extender"
COMPLETE_VARIABLE: Final = "_GPU_EXTENDER_COMPLETE"
"""By which a shell asks for completions."""

_FILES: Final = frozenset(("file", "dir"))


class Directive(IntEnum):
    """What a shell does with completions.

    Source: Cobra's ShellCompDirective.
    """

    FILES = 0
    """Completes files where there is no other completion."""

    NO_FILES = 4


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes commands, options and values in a shell.

    kubectl completes `kubectl gpu` by itself, once its own completion is installed.

    \b
    Examples:
      gpu-extender completion bash > /etc/bash_completion.d/gpu-extender
      gpu-extender completion zsh > "${fpath[1]}/_gpu-extender"
      gpu-extender completion fish > ~/.config/fish/completions/gpu-extender.fish
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    found = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    if found is None:
        raise click.UsageError(f"no completion for {shell}")
    # Not through click.echo of its own: bash's class asks for a bash to be there.
    script = ShellComplete.source(found(root, {}, _PROGRAM, COMPLETE_VARIABLE))
    click.echo(script)


def cobra_completions(
    root: click.Command, name: str, words: list[str], incomplete: str
) -> str:
    """Give completions as Cobra's shell scripts read them.

    Args:
        root: The command.
        name: Of it.
        words: After the name, that are complete.
        incomplete: The word to be completed; may be empty.

    Returns:
        One completion a line, with a tab before what it means; then the directive.
    """
    items = ShellComplete(root, {}, name, "").get_completions(words, incomplete)
    lines = [
        f"{item.value}\t{item.help}" if item.help else str(item.value)
        for item in items
        if item.type not in _FILES
    ]
    wants_files = any(item.type in _FILES for item in items)
    directive = Directive.FILES if wants_files else Directive.NO_FILES
    return "\n".join([*lines, f":{directive.value}"])
