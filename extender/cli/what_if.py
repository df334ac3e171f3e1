"""``gpu-extender what-if``: how many more of a pod would fit, and what would help."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Final

import click
import orjson
from rich.console import Console
from rich.text import Text

from extender.cli.explain import one_pod
from extender.cli.explained import plain_table, printable_lines
from extender.cli.source import Question, Source, source_options
from extender.cli.terminal import printable
from extender.cli.usages import indented
from extender.cli.views import Output, echo_view, output_option
from extender.service import Extender
from extender.verbs.origin import Origin
from extender.verbs.supposition import (
    MOST_REPLICAS,
    AddedNodes,
    Ended,
    Supposition,
    WhatIf,
)
from extender.wire.objects import JsonObject
from extender.wire.what_if import check_supposition, encode_what_if

_ADDED: Final = re.compile(r"(.+?)(?:=([0-9]{1,9}))?")
_NODES_SHOWN: Final = 12
"""Without -o wide."""


@click.command("what-if")
@click.option(
    "-f",
    "--filename",
    "file",
    metavar="POD",
    required=True,
    type=click.Path(path_type=Path),
    help="A manifest of one pod, JSON or YAML; - is standard input.",
)
@click.option(
    "--replicas",
    metavar="N",
    type=click.IntRange(1, MOST_REPLICAS),
    help="How many are wanted. Default: as many as fit.",
)
@click.option(
    "--add-nodes",
    "added",
    metavar="TYPE[=N]",
    multiple=True,
    help="Suppose N more nodes; without =N, only tell how many would be needed. TYPE "
    "is a node's name, to be copied without its pods, or a card model and how many, "
    "such as 'NVIDIA A10x4'. May be given several times.",
)
@click.option(
    "--without",
    metavar="[NAMESPACE/]POD",
    multiple=True,
    help="Suppose that this pod is not there. May be given several times; the "
    "namespace is that of -f unless given.",
)
@source_options
@output_option
def what_if(
    *,
    file: Path,
    replicas: int | None,
    added: tuple[str, ...],
    without: tuple[str, ...],
    source: Source,
    output: Output,
) -> None:
    """Tell how many more of a pod would fit, what stops them, and what would help.

    Places replicas one after another on a copy of the state, as filter, the scores and
    bind would. GPU rules and quotas only: taints, CPU and all else that kube-scheduler
    looks at are left out. Nothing is changed. The exit code is 1 where fewer fit than
    are wanted, or none.

    \b
    Examples:
      gpu-extender what-if -f config/pods/whole-card.yaml \\
        --cluster config/example-cluster.yaml
      gpu-extender what-if -f config/pods/whole-card.yaml --replicas 40 \\
        --add-nodes gpu-a10-01=2 --server http://127.0.0.1:8080
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    manifest = one_pod(file)
    supposed = Supposition(
        replicas,
        tuple(map(_added, added)),
        tuple(_full_name(name, manifest) for name in without),
    )
    check_supposition(supposed)
    told, origin = source.ask(_question(manifest, supposed))
    if output.is_table:
        _print(output.console(), told, origin, is_wide=output is Output.WIDE)
    else:
        echo_view(told, origin, output)
    if told.fits < (told.wanted or 1):
        sys.exit(1)


def _added(text: str) -> AddedNodes:
    found = _ADDED.fullmatch(text)
    if found is None or "=" in found[1]:
        raise click.BadParameter(
            f"{text!r}\nIt is TYPE or TYPE=N", param_hint="--add-nodes"
        )
    return AddedNodes(found[1], int(found[2] or 0))


def _full_name(name: str, manifest: JsonObject) -> str:
    if "/" in name:
        return name
    metadata = manifest.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    return f"{namespace or 'default'}/{name}"


def _question(manifest: JsonObject, supposed: Supposition) -> Question[WhatIf]:
    def answer(extender: Extender) -> WhatIf:
        pod = extender.reader.read(manifest)
        return asyncio.run(extender.planner.what_if(pod, supposed))

    body = orjson.dumps(encode_what_if(manifest, supposed))
    return Question(WhatIf, answer, "/what-if", body)


def _print(console: Console, told: WhatIf, origin: Origin, *, is_wide: bool) -> None:
    console.print(
        Text.assemble((printable(told.full_name), "bold"), ": ", _headline(told))
    )
    if is_wide:
        console.print(printable(f"  from {origin}"), soft_wrap=True)
    for each in told.added:
        console.print(printable(f"  with {each.count} more nodes like {each.type}"))
    for name in told.without:
        console.print(printable(f"  without {name}"))
    if told.problem is not None:
        console.print(printable(f"  {told.problem}"))
    for warning in told.warnings:
        console.print(printable(f"  warning: {warning}"), style="yellow")
    _print_nodes(console, told, is_wide=is_wide)
    _print_limits(console, told)
    _print_needed(console, told)


def _headline(told: WhatIf) -> tuple[str, str]:
    nodes = f"on {told.node_count} nodes"
    if told.wanted is None:
        style = "bold green" if told.fits else "bold red"
        at_least = "at least " if told.ended in _CUT_SHORT else ""
        return f"{at_least}{told.fits} more fit {nodes}", style
    style = "bold green" if told.fits >= told.wanted else "bold red"
    return f"{told.fits} of {told.wanted} fit {nodes}", style


_CUT_SHORT: Final = (Ended.MOST_REPLICAS, Ended.TIME)


def _print_nodes(console: Console, told: WhatIf, *, is_wide: bool) -> None:
    if not told.nodes:
        return
    table = plain_table("node", "pods", right=("pods",))
    shown = told.nodes if is_wide else told.nodes[:_NODES_SHOWN]
    for each in shown:
        table.add_row(printable(each.node), str(each.pods))
    console.print(indented(table))
    more = len(told.nodes) - len(shown)
    if more:
        console.print(f"    and {more} more nodes")


def _print_limits(console: Console, told: WhatIf) -> None:
    if told.ended is Ended.ALL_FIT or told.problem is not None:
        return
    console.print(f"  then: {told.ended.value}")
    for short in told.quota:
        console.print(printable(f"    {short.text}"))
    if not told.limits:
        return
    table = plain_table("nodes", "reasons", "in numbers", right=("nodes",))
    for group in told.limits:
        mark = "*" if group.is_unresolvable else ""
        numbers = [
            f"{each.cards}/{each.card_count} {each.text}"
            if each.cards is not None
            else each.text
            for each in group.findings
        ]
        table.add_row(
            str(group.nodes),
            printable_lines("\n".join(f"{each.value}{mark}" for each in group.reasons)),
            printable_lines("\n".join([f"{group.example}:", *filter(None, numbers)])),
        )
    console.print(indented(table))
    if any(group.is_unresolvable for group in told.limits):
        console.print("    * would not fit there either if no pod held anything")


def _print_needed(console: Console, told: WhatIf) -> None:
    if not told.needed:
        return
    left = (told.wanted or 0) - told.fits
    if any(each.nodes is not None for each in told.needed):
        console.print(f"  for the {left} that are left, any one of these would do")
    else:
        console.print(f"  for the {left} that are left, no number of these would do")
    table = plain_table(
        "more nodes", "like", "pods on each", right=("more nodes", "pods on each")
    )
    for each in told.needed:
        count = "none" if each.nodes is None else str(each.nodes)
        why = f" ({each.why_not})" if each.why_not else ""
        table.add_row(count, printable(f"{each.type}{why}"), str(each.per_node))
    console.print(indented(table))
