"""``gpu-extender doctor``: what is wrong, what shows it, and what to do."""

import asyncio
import sys
from pathlib import Path
from typing import Final

import click

from extender.cli.diagnosed import print_examination
from extender.cli.installed import examine_installation
from extender.cli.progress import progress
from extender.cli.source import Question, Source, source_options
from extender.cli.terminal import printable
from extender.cli.views import Output, echo_view, output_option
from extender.verbs.diagnosis import LockRelease, Severity
from extender.verbs.doctor.examination import Examination
from extender.verbs.installation.demand import demand_of
from extender.verbs.origin import Origin

EXIT_FOUND: Final = 1
EXIT_NOT_WHOLE: Final = 2

_QUESTION: Final = Question(
    Examination,
    lambda extender: asyncio.run(extender.doctor.examine()),
    "/doctor",
)


@click.command()
@click.option(
    "--fix",
    "is_to_fix",
    is_flag=True,
    help="Release locks that nobody needs, after they were shown. Needs --server or "
    "--kubeconfig.",
)
@click.option(
    "--yes", "is_agreed", is_flag=True, help="With --fix: do not ask before it."
)
@click.option(
    "--scheduler-config",
    "scheduler_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="kube-scheduler's KubeSchedulerConfiguration; - is standard input. Without "
    "it, with --kubeconfig, the one of the Deployment is looked at.",
)
@source_options
@output_option
def doctor(
    *,
    is_to_fix: bool,
    is_agreed: bool,
    scheduler_file: Path | None,
    source: Source,
    output: Output,
) -> None:
    """Find what is wrong: locks, allocations, cards, plugins, quotas, totals.

    With --kubeconfig, the installation is looked at, too: kube-scheduler's
    configuration and version, webhooks, guards, certificates.

    Each trouble is told with what shows it and what to do. Nothing is written without
    --fix.

    \b
    Exit codes: 0 nothing is wrong (notes do not count), 1 something is, 2 it
    could not be looked at everything, and nothing was found in the rest.

    \b
    Examples:
      gpu-extender doctor --cluster config/example-cluster.yaml
      gpu-extender doctor --server http://127.0.0.1:8080 -o json
      gpu-extender doctor --fix --kubeconfig ~/.kube/config
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    if is_agreed and not is_to_fix:
        raise click.UsageError("--yes goes with --fix")
    if is_to_fix and not is_agreed and not sys.stdin.isatty():
        raise click.UsageError("--fix asks before it does anything; else give --yes")
    found, origin = _examined(source, scheduler_file)
    if output.is_table:
        print_examination(
            output.console(), found, origin, is_wide=output is Output.WIDE
        )
    else:
        echo_view(found, origin, output)
    if is_to_fix:
        fixes = [each.fix for each in found.diagnoses if each.fix is not None]
        _fix(source, fixes, is_agreed=is_agreed)
    sys.exit(_exit_code(found))


def _examined(
    source: Source, scheduler_file: Path | None
) -> tuple[Examination, Origin]:
    """Examine the state, and the installation as far as there is one to look at."""
    if source.server is not None:
        if scheduler_file is not None:
            raise click.UsageError("--scheduler-config goes with another source")
        return source.ask(_QUESTION)
    world = source.world()
    extender = world.extender
    with progress("the state and the installation are examined"):
        whole = examine_installation(
            asyncio.run(extender.doctor.examine()),
            demand_of(extender.ledger, extender.reader.kinds),
            kubeconfig=source.kubeconfig,
            context=source.context,
            scheduler_file=scheduler_file,
        )
    return whole, world.origin


def _fix(source: Source, fixes: list[LockRelease], *, is_agreed: bool) -> None:
    if not fixes:
        click.echo("nothing that --fix could do", err=True)
        return
    for each in fixes:
        click.echo(printable(f"to do: {each}"), err=True)
    if not is_agreed and not click.confirm("Do it?", err=True):
        click.echo("nothing was done", err=True)
        return
    for done in source.release(fixes):
        click.echo(printable(done), err=True)


def _exit_code(found: Examination) -> int:
    if found.of(Severity.ERROR) or found.of(Severity.WARNING):
        return EXIT_FOUND
    return 0 if found.is_whole else EXIT_NOT_WHOLE
