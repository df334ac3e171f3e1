"""``gpu-extender replay``: decide again by a snapshot."""

import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from extender.cli.options import read_input
from extender.cli.progress import progress
from extender.cli.terminal import printable
from extender.cli.views import Output, echo_json, output_option
from extender.errors import MalformedBody, SettingsError
from extender.service.snapshots import replay as replay_snapshot
from extender.verbs.snapshot.replay import Replay
from extender.wire.snapshots import decode_snapshot
from extender.wire.views import view_object

_MOST_SHOWN = 20


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--trace", "is_traced", is_flag=True, help="Show step by step how it comes to that."
)
@output_option
def replay(*, file: Path, is_traced: bool, output: Output) -> None:
    """Decide again what a snapshot has, and tell whether it comes out the same.

    By the code that serves kube-scheduler. FILE is what gpu-extender snapshot wrote,
    packed or not; - is standard input. Nothing is asked of any cluster.

    \b
    Exit codes: 0 it comes out the same, 1 it does not, 2 the file cannot be used.

    \b
    Examples:
      gpu-extender replay tests/replays/sidecar-beside-init.json.gz
      gpu-extender replay tests/replays/sidecar-beside-init.json.gz --trace
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    try:
        with progress(f"{file} is decided again"):
            snapshot = decode_snapshot(read_input(file))
            found = replay_snapshot(snapshot, is_traced=is_traced)
    except MalformedBody as error:
        raise SettingsError(f"{file}: {error}") from error
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise SettingsError(
            f"{file}: nothing can be decided by this state: {type(error).__name__}: "
            f"{error}. Unless the file was changed by hand, that is a fault of ours"
        ) from error
    if output.is_table:
        _print(output.console(), found, is_wide=output is Output.WIDE)
    else:
        echo_json(view_object(found), output)
    if found.differences:
        sys.exit(1)


def _print(console: Console, found: Replay, *, is_wide: bool) -> None:
    for step in found.steps:
        console.print(printable(step), soft_wrap=True)
    told = f"{found.pod}: {found.nodes} nodes, {found.pods} pods"
    console.print(printable(f"{told}, made by {found.made_by}"))
    console.print(printable(f"  chosen: {found.chosen or 'no node'}"))
    console.print(printable(f"  cards: {found.cards}"), soft_wrap=is_wide)
    if not found.differences:
        console.print("  as in the snapshot", style="green")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    table.add_column("differs", overflow="fold")
    table.add_column("in the snapshot", overflow="fold")
    table.add_column("now", overflow="fold")
    shown = found.differences if is_wide else found.differences[:_MOST_SHOWN]
    for each in shown:
        table.add_row(*map(printable, (each.about, each.saved, each.replayed)))
    console.print(table)
    if len(shown) < len(found.differences):
        more = len(found.differences) - len(shown)
        console.print(f"  and {more} more (-o wide)")
