"""``gpu-extender inspect``: a cluster's cards, what is charged on them and by whom."""

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

import click

from extender.cli.inspected import print_cluster, print_node, print_pod
from extender.cli.source import Question, Source, source_options
from extender.cli.terminal import printable
from extender.cli.views import Output, echo_view, output_option
from extender.core.names import NodeName
from extender.errors import ExtenderError
from extender.service import Extender
from extender.verbs.inspection import ClusterInspection, InspectedNode, InspectedPod
from extender.verbs.origin import Origin

_CLEAR: Final = "\x1b[H\x1b[2J"

_Show = Callable[[], None]


@click.command()
@click.argument("name", metavar="[NODE|NAMESPACE/POD]", required=False)
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="NAME is a pod of this namespace, and no node.",
)
@click.option(
    "--watch",
    "seconds",
    metavar="SECONDS",
    type=click.FloatRange(min=0.5, max=3_600),
    is_flag=False,
    flag_value=2.0,
    help="Look again every so many seconds (2 without a number), until Ctrl-C.",
)
@source_options
@output_option
def inspect(
    *,
    name: str | None,
    namespace: str | None,
    seconds: float | None,
    source: Source,
    output: Output,
) -> None:
    """Show cards as bars: what is charged of what there is, by whom, and until when.

    Without a name: all models and nodes, what is stranded, and how scattered the rest
    is. With a node's name: card by card, with the pods on each. With a pod's: what it
    holds in each phase of its life. Nothing is written.

    \b
    Examples:
      gpu-extender inspect --cluster config/example-cluster.yaml
      gpu-extender inspect gpu-a10-02 --cluster config/example-cluster.yaml
      gpu-extender inspect --watch --server http://127.0.0.1:8080
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    if namespace is not None and (name is None or "/" in name):
        raise click.UsageError("-n goes with a pod's name that has no namespace")
    if namespace is not None:
        name = f"{namespace}/{name}"
    show = _shower(name, source, output)
    show()
    if seconds is not None:
        _watch(show, seconds, is_screen=output.is_table and sys.stdout.isatty())


def _watch(show: _Show, seconds: float, *, is_screen: bool) -> None:
    """Show again and again; a source that does not answer for once is no end."""
    while True:
        try:
            time.sleep(seconds)
            if is_screen:
                click.echo(_CLEAR, nl=False)
            show()
        except ExtenderError as error:
            click.echo(printable(f"gpu-extender: {error}"), err=True)
        except KeyboardInterrupt:
            return


def _shower(name: str | None, source: Source, output: Output) -> _Show:
    if name is None:
        return lambda: _show_cluster(*source.ask(_CLUSTER), output)
    namespace, slash, pod = name.partition("/")
    if slash:
        return lambda: _show_pod(*source.ask(_of_pod(namespace, pod)), output)
    return lambda: _show_node(*source.ask(_of_node(NodeName(name))), output)


def _show_cluster(told: ClusterInspection, origin: Origin, output: Output) -> None:
    if output.is_table:
        print_cluster(output.console(), told, origin, is_wide=output is Output.WIDE)
    else:
        echo_view(told, origin, output)


def _show_node(told: InspectedNode, origin: Origin, output: Output) -> None:
    if output.is_table:
        print_node(output.console(), told, is_wide=output is Output.WIDE)
    else:
        echo_view(told, origin, output)


def _show_pod(told: InspectedPod, origin: Origin, output: Output) -> None:
    if output.is_table:
        print_pod(output.console(), told, is_wide=output is Output.WIDE)
    else:
        echo_view(told, origin, output)


_CLUSTER: Final = Question(
    ClusterInspection,
    lambda extender: asyncio.run(extender.inspector.inspect_cluster()),
    "/inspect",
)


def _of_node(name: NodeName) -> Question[InspectedNode]:
    def answer(extender: Extender) -> InspectedNode:
        return extender.inspector.inspect_node(name)

    return Question(InspectedNode, answer, f"/inspect/nodes/{quote(name, safe='')}")


def _of_pod(namespace: str, name: str) -> Question[InspectedPod]:
    def answer(extender: Extender) -> InspectedPod:
        return extender.inspector.inspect_pod(namespace, name)

    path = f"/inspect/pods/{quote(namespace, safe='')}/{quote(name, safe='')}"
    return Question(InspectedPod, answer, path)
