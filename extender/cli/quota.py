"""``gpu-extender quota``: what namespaces hold, and what their quotas allow."""

import logging
from collections.abc import Iterator

import click
from rich.console import Console
from rich.table import Table

from extender.cli.source import Source, local_source_options
from extender.cli.terminal import printable
from extender.cli.views import Output, echo_json, output_option
from extender.core.quota_room import LimitUse, Quota, ShownKey
from extender.state.quotas import Quotas


@click.command()
@local_source_options
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="Only this one; otherwise every namespace with a quota of devices.",
)
@output_option
def quota(*, source: Source, namespace: str | None, output: Output) -> None:
    """Show what each ResourceQuota allows of devices, and what is used of it.

    A key limits.RESOURCE is enforced here: its use is what the pods that the object
    counts are charged now. A key requests.RESOURCE is the API server's, and shown as
    that has it: it never falls while a pod lives.

    \b
    Example:
      kubectl get nodes,pods,resourcequotas -A -o json > /tmp/cluster.json
      gpu-extender quota --cluster /tmp/cluster.json
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    logging.basicConfig(level=logging.ERROR)  # warnings stand beside their quota
    quotas = source.world().extender.ledger.quotas
    chosen = [
        each
        for each in quotas
        if namespace in (None, each.namespace)
        and (each.limits or each.shown or each.warnings or each.unreadable)
    ]
    if output.is_table:
        _print(output.console(), chosen, quotas)
    else:
        shown = [_quota_json(each, quotas) for each in chosen]
        echo_json({"quotas": shown}, output)


def _quota_json(quota: Quota, quotas: Quotas) -> dict[str, object]:
    return {
        "namespace": quota.namespace,
        "name": quota.name,
        "scopes": [_scope_text(quota, number) for number in range(len(quota.scopes))],
        "limits": [_use_json(use) for use in quotas.uses(quota)],
        "requests": [
            {"key": key.key, "used": key.used or None, "limit": key.hard}
            for key in quota.shown
        ],
        "warnings": list(quota.warnings),
        "unreadable": quota.unreadable or None,
    }


def _use_json(use: LimitUse) -> dict[str, object]:
    return {
        "key": use.limit.key,
        "unit": use.limit.unit,
        "used": use.known_use,
        "limit": use.limit.most,
    }


def _scope_text(quota: Quota, number: int) -> str:
    scope = quota.scopes[number]
    values = f" {', '.join(sorted(scope.values))}" if scope.values else ""
    operator = f" {scope.operator.value}" if values else ""
    return f"{scope.scope.value}{operator}{values}"


def _print(console: Console, chosen: list[Quota], quotas: Quotas) -> None:
    if not chosen:
        console.print("no quota of devices")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("namespace", overflow="fold")
    table.add_column("quota", overflow="fold")
    table.add_column("key", overflow="fold")
    table.add_column("used", justify="right", no_wrap=True)
    table.add_column("limit", justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for each in chosen:
        names = printable(each.namespace), printable(each.name)
        for number, line in enumerate(_lines(each, quotas)):
            shown = names if number == 0 else ("", "")
            table.add_row(*shown, *line)
    console.print(table)
    for each in chosen:
        for number in range(len(each.scopes)):
            text = f"{each.namespace}/{each.name} counts: {_scope_text(each, number)}"
            console.print(printable(text))
        for warning in _warnings(each):
            text = f"{each.namespace}/{each.name}: {warning}"
            console.print(printable(f"warning: {text}"), style="yellow")
    if any(each.shown for each in chosen):
        console.print("* counted and enforced by kube-apiserver, in its own units")


def _warnings(quota: Quota) -> Iterator[str]:
    if quota.unreadable:
        yield f"cannot be read: {quota.unreadable}"
    yield from quota.warnings


def _lines(quota: Quota, quotas: Quotas) -> Iterator[tuple[str, str, str, str]]:
    for use in quotas.uses(quota):
        most = "unreadable" if use.limit.most is None else str(use.limit.most)
        used = "unknown" if use.known_use is None else str(use.known_use)
        yield printable(use.limit.key), used, most, use.limit.unit
    for key in quota.shown:
        yield _shown_line(key)


def _shown_line(key: ShownKey) -> tuple[str, str, str, str]:
    return printable(f"{key.key}*"), printable(key.used or "-"), printable(key.hard), ""
