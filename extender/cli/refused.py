"""A pod that fits nowhere, as JSON and as a table."""

from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from extender.cli.terminal import printable
from extender.cli.usages import indented, usage_json
from extender.core.quota_room import Shortage
from extender.embedded.scheduler import RefusedPod
from extender.verbs.findings import findings_of
from extender.verbs.verdicts import CardVerdict, NodeVerdict


def refused_json(refused: RefusedPod) -> dict[str, object]:
    """Describe why a pod fits nowhere; docs/schedule.schema.json has the schema."""
    pod = refused.pod
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "placed": False,
        "node": None,
        "refusals": [_verdict_json(verdict) for verdict in refused.verdicts],
        "warnings": list(pod.warnings),
    }


def _verdict_json(verdict: NodeVerdict) -> dict[str, object]:
    return {
        "node": verdict.node_name,
        "reasons": [reason.value for reason in verdict.reasons],
        "unresolvable": verdict.is_unresolvable,
        "problem": verdict.problem,
        "container": verdict.container,
        "wanted_cards": verdict.wanted_cards,
        "kubelet_slots": asdict(verdict.kubelet_slots)
        if verdict.kubelet_slots
        else None,
        "cards": [_card_json(card) for card in verdict.cards],
        "quota": [_shortage_json(each) for each in verdict.shortages],
    }


def _shortage_json(shortage: Shortage) -> dict[str, object]:
    return {
        "name": shortage.quota_name,
        "key": shortage.limit.key,
        "unit": shortage.limit.unit,
        "needed": shortage.needed,
        "used": shortage.used,
        "limit": shortage.limit.most,
    }


def _card_json(card: CardVerdict) -> dict[str, object]:
    return {
        "uuid": card.device_uuid,
        "model": card.model,
        "refused_by": card.refused_by.value if card.refused_by else None,
        "free": usage_json(card.free),
        "needed": usage_json(card.needed),
    }


def print_refused(console: Console, refused: RefusedPod) -> None:
    """Print each node's reasons with numbers."""
    console.print(
        Text.assemble(
            (printable(refused.pod.full_name), "bold"),
            " -> ",
            ("fits nowhere", "bold red"),
        )
    )
    if refused.pod.request_problem is not None:
        console.print(printable(f"  {refused.pod.request_problem}"))
        return
    if not refused.verdicts:
        console.print("  the cluster has no node")
        return
    if len({verdict.shortages for verdict in refused.verdicts}) == 1:
        first = refused.verdicts[0]
        for shortage in first.shortages:
            text = f"  {shortage.reason.value} on every node: {shortage}"
            console.print(printable(text), soft_wrap=True)
        if first.shortages:
            return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("node", overflow="fold")
    table.add_column("cards", justify="right", no_wrap=True)
    table.add_column("reason", no_wrap=True)
    table.add_column("in numbers", overflow="fold")
    asking = sum(
        asked.count > 0
        for request in refused.pod.requests
        for asked in request.containers
    )
    for verdict in refused.verdicts:
        whose = f"{verdict.container}: " if asking > 1 and verdict.container else ""
        mark = "*" if verdict.is_unresolvable else ""
        for number, finding in enumerate(findings_of(verdict)):
            node = verdict.node_name if number == 0 else ""
            is_of_cards = finding.cards is not None
            in_numbers = printable(f"{whose if is_of_cards else ''}{finding.text}")
            cards = f"{finding.cards}/{finding.card_count}" if is_of_cards else ""
            reason = f"{finding.reason.value}{mark}"
            table.add_row(printable(node), cards, reason, in_numbers)
    console.print(indented(table))
    if any(verdict.is_unresolvable for verdict in refused.verdicts):
        console.print("  * would not fit there either if no pod held anything")
