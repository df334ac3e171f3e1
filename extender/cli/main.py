"""The command ``gpu-extender``."""

import sys

import click

from extender.cli.certificate import certificate
from extender.cli.charge import charge
from extender.cli.check_config import check_config
from extender.cli.doctor import doctor
from extender.cli.explain import explain
from extender.cli.health import health
from extender.cli.inspect import inspect
from extender.cli.quota import quota
from extender.cli.schedule import schedule
from extender.cli.serve import serve
from extender.cli.shadow_report import shadow_report_command
from extender.cli.terminal import printable
from extender.cli.what_if import what_if
from extender.errors import ExtenderError

EXIT_UNUSABLE_INPUT = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gpu-extender")
def cli() -> None:
    """Share GPUs between pods by slots, memory and cores.

    \b
    Exit codes: 0 all well, 1 the answer is no (a pod was not placed, an
    allocation cannot be read, a device configuration is wrong, a server does
    not answer), 2 the input cannot be used.
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped


cli.add_command(serve)
cli.add_command(schedule)
cli.add_command(explain)
cli.add_command(inspect)
cli.add_command(what_if)
cli.add_command(doctor)
cli.add_command(charge)
cli.add_command(quota)
cli.add_command(check_config)
cli.add_command(certificate)
cli.add_command(health)
cli.add_command(shadow_report_command)


def main() -> None:
    """Run the command line; errors of ours become one line and exit code 2."""
    try:
        cli()
    except ExtenderError as error:
        click.echo(printable(f"gpu-extender: {error}"), err=True)
        sys.exit(EXIT_UNUSABLE_INPUT)
    except (OSError, UnicodeEncodeError) as error:
        click.echo(f"gpu-extender: cannot write the output: {error}", err=True)
        sys.exit(EXIT_UNUSABLE_INPUT)
