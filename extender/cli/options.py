"""Options that several commands share."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from extender.core.model import Release
from extender.errors import SettingsError

OUTPUTS: Final = ("table", "json")

_Command = TypeVar("_Command", bound=Callable[..., Any])


def output_option(command: _Command) -> _Command:
    """Add ``-o table|json``."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(OUTPUTS),
        default="table",
        show_default=True,
        help="What to print.",
    )(command)


def release_option(command: _Command) -> _Command:
    """Add ``--release after-init|never``."""
    return click.option(
        "--release",
        type=click.Choice([each.value for each in Release]),
        default=Release.AFTER_INIT.value,
        show_default=True,
        help="For pods that do not say it themselves: what only inits needed is given "
        "back once they are over, or is kept until the pod ends.",
    )(command)


def cluster_option(command: _Command) -> _Command:
    """Add ``--cluster FILE``, which must be given."""
    return _cluster_option(command, is_required=True)


def optional_cluster_option(command: _Command) -> _Command:
    """Add ``--cluster FILE``, one of several sources."""
    return _cluster_option(command, is_required=False)


def _cluster_option(command: _Command, *, is_required: bool) -> _Command:
    return click.option(
        "--cluster",
        "cluster_files",
        metavar="FILE",
        multiple=True,
        required=is_required,
        type=click.Path(path_type=Path),
        help="Nodes and pods, as `kubectl get nodes,pods -A -o json` prints them; JSON "
        "or YAML. May be given several times.",
    )(command)


def read_input(file: Path) -> bytes:
    """Read a file; ``-`` is standard input.

    Raises:
        SettingsError: It cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except AttributeError as error:  # sys.stdin is None where it was closed
        raise SettingsError("standard input is closed") from error
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror}") from error
