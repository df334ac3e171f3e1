"""The command ``gpu-extender``, which is also ``kubectl gpu``."""

import os
import sys
from collections.abc import Callable
from copy import copy
from typing import Final, NoReturn

import click
from click.shell_completion import shell_complete

from extender.cli.certificate import certificate
from extender.cli.charge import charge
from extender.cli.check_config import check_config
from extender.cli.completion import COMPLETE_VARIABLE, cobra_completions, completion
from extender.cli.doctor import doctor
from extender.cli.explain import explain
from extender.cli.health import health
from extender.cli.inspect import inspect
from extender.cli.quota import quota
from extender.cli.replay import replay
from extender.cli.schedule import schedule
from extender.cli.serve import serve
from extender.cli.shadow_report import shadow_report_command
from extender.cli.snapshot import snapshot
from extender.cli.terminal import printable
from extender.cli.what_if import what_if
from extender.errors import ExtenderError

NAME: Final = "gpu-extender"
PLUGIN_NAME: Final = "kubectl gpu"

EXIT_UNUSABLE_INPUT: Final = 2
EXIT_INTERRUPTED: Final = 130
"""128 and the number of SIGINT, as shells have it."""

EXIT_UNREAD: Final = 141
"""128 and the number of SIGPIPE: whoever read the output has seen enough."""


_HELP: Final = {"help_option_names": ["-h", "--help"]}


@click.group(context_settings=_HELP)
@click.version_option(package_name="gpu-extender")
def cli() -> None:
    """Share GPUs between pods by slots, memory and cores.

    \b
    Exit codes: 0 all well, 1 the answer is no (a pod was not placed, an
    allocation cannot be read, a device configuration is wrong, a server does
    not answer), 2 the input cannot be used.

    \b
    Examples:
      gpu-extender explain -n team my-pod
      gpu-extender inspect --watch
      gpu-extender doctor
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped


@click.group(context_settings=_HELP)
@click.version_option(package_name="gpu-extender")
def plugin() -> None:
    """See what GPUs are shared, why a pod waits, and what is wrong.

    The cluster is that of kubectl: $KUBECONFIG or ~/.kube/config, its current context
    and that one's namespace, unless a command is told otherwise. Nothing is written but
    by doctor --fix.

    \b
    Exit codes: 0 all well, 1 the answer is no (a pod fits nowhere, something
    is wrong), 2 the input cannot be used.

    \b
    Examples:
      kubectl gpu explain -n team my-pod
      kubectl gpu inspect --watch
      kubectl gpu doctor
    """  # noqa: D301 - as above


def _renamed(command: click.Command) -> click.Command:
    """Give a command whose examples are typed under the plugin's name."""
    renamed = copy(command)
    renamed.help = (command.help or "").replace(f"{NAME} ", f"{PLUGIN_NAME} ")
    return renamed


for _each in (
    explain,
    inspect,
    what_if,
    doctor,
    quota,
    charge,
    schedule,
    snapshot,
    replay,
):
    cli.add_command(_each)
    plugin.add_command(_renamed(_each))
for _each in (
    serve,
    check_config,
    certificate,
    health,
    shadow_report_command,
    completion,
):
    cli.add_command(_each)


def main() -> None:
    """Run the command line; errors of ours become one line and exit code 2."""
    _run(cli, NAME)


def kubectl_gpu() -> None:
    """Run what helps users of a cluster, as ``kubectl gpu``."""
    _run(plugin, PLUGIN_NAME)


def kubectl_complete_gpu() -> None:
    """Complete a command line of the plugin, as kubectl asks for it.

    The arguments are the words so far; what is printed are completions, and a number
    that tells whether files are meant.

    Source: kubectl's plugin handler, and Cobra's ShellCompDirective.
    """
    *words, incomplete = sys.argv[1:] or [""]
    click.echo(cobra_completions(plugin, PLUGIN_NAME, words, incomplete))


def _run(group: click.Group, name: str) -> NoReturn:
    asked = os.environ.get(COMPLETE_VARIABLE)
    if asked:
        sys.exit(shell_complete(group, {}, name, COMPLETE_VARIABLE, asked))
    try:
        # Not by click's main, which ends by code 1 where nobody reads the output.
        with group.make_context(name, sys.argv[1:]) as context:
            group.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _end_quietly(EXIT_INTERRUPTED, lambda: click.echo(err=True))
    except BrokenPipeError:
        _end_quietly(EXIT_UNREAD)
    except ExtenderError as error:
        click.echo(printable(f"{name}: {error}"), err=True)
        sys.exit(EXIT_UNUSABLE_INPUT)
    except (OSError, UnicodeEncodeError) as error:
        click.echo(f"{name}: cannot write the output: {error}", err=True)
        sys.exit(EXIT_UNUSABLE_INPUT)
    sys.exit(0)


def _end_quietly(code: int, say: Callable[[], None] = lambda: None) -> NoReturn:
    """End without a word about output that cannot be written any more."""
    try:
        say()
        sys.stdout.flush()
    except OSError:
        # Python flushes once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
