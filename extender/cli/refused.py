"""A pod that fits nowhere, as JSON and as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from extender.cli.terminal import printable
from extender.cli.usages import indented, usage_json
from extender.core.quota_room import Shortage
from extender.core.reasons import Reason
from extender.embedded.scheduler import RefusedPod
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
        for number, (cards, reason, numbers) in enumerate(_lines(verdict)):
            node = verdict.node_name if number == 0 else ""
            in_numbers = printable(f"{whose if cards else ''}{numbers}")
            table.add_row(printable(node), cards, reason, in_numbers)
    console.print(indented(table))
    if any(verdict.is_unresolvable for verdict in refused.verdicts):
        console.print("  * would not fit there either if no pod held anything")


def _lines(verdict: NodeVerdict) -> Iterator[tuple[str, str, str]]:
    """Give cards concerned, reason and numbers, one line per reason."""
    mark = "*" if verdict.is_unresolvable else ""
    if verdict.reason is not None:
        yield _whole_node(verdict, verdict.reason, mark)
    for reason in Reason:
        cards = [card for card in verdict.cards if card.refused_by is reason]
        if cards:
            concerned = f"{len(cards)}/{verdict.card_count}"
            free = "in all" if verdict.is_unresolvable else "free"
            yield concerned, f"{reason.value}{mark}", _numbers(reason, cards, free)


def _whole_node(
    verdict: NodeVerdict, reason: Reason, mark: str
) -> tuple[str, str, str]:
    match reason:
        case Reason.QUOTA_NOT_FIT | Reason.QUOTA_UNREADABLE:
            numbers = "; ".join(map(str, verdict.shortages))
        case Reason.NODE_INSUFFICIENT_DEVICE:
            numbers = f"wants {verdict.wanted_cards} cards, has {verdict.card_count}"
        case Reason.TOO_FEW_CARDS:
            passed = sum(card.refused_by is None for card in verdict.cards)
            wants = f"wants {verdict.wanted_cards} cards, {passed} would serve"
            return f"{passed}/{verdict.card_count}", f"{reason.value}{mark}", wants
        case Reason.NUMA_NOT_FIT:
            numbers = f"wants {verdict.wanted_cards} cards that stand together"
        case Reason.SEARCH_EXHAUSTED:
            numbers = "not decided: too many ways to share its cards"
        case Reason.KUBELET_SLOTS_EXHAUSTED if verdict.kubelet_slots is not None:
            slots = verdict.kubelet_slots
            numbers = (
                f"needs {slots.needed} device ids, {slots.taken} of "
                f"{slots.allocatable} taken"
            )
        case _:
            numbers = verdict.problem or ""
    return "", f"{reason.value}{mark}", numbers


_WITHOUT_NUMBERS: Final = {
    Reason.CARD_NOT_HEALTHY: "its plugin calls it unhealthy",
    Reason.CARD_CORDONED: "closed to new work by hami.io/device-cordon",
    Reason.CARD_MODE_MISMATCH: "in another mode than the pod accepts",
    Reason.CARD_UUID_MISMATCH: "not among the cards that the pod accepts",
    Reason.CARD_QUARANTINED: "named by an allocation that cannot be read",
    Reason.CARD_APP_CLASS_MISMATCH: "pods of another class are there",
    Reason.CARD_QOS_POLICY_MISMATCH: "pods with another QoS policy are there",
    Reason.CARD_PROFILE_MISMATCH: "has no profile of the size that is asked",
    Reason.CARD_SLOTS_EXHAUSTED: "no slot free",
    Reason.CARD_SHARED_UNEQUALLY: "shared by containers with another memory",
    Reason.CARD_EXCLUSIVE_CONFLICT: "in use, and one of both wants the card alone",
    Reason.CARD_COMPUTE_EXHAUSTED: "names no cores, and none is left",
}


def _numbers(reason: Reason, cards: Sequence[CardVerdict], free: str) -> str:
    match reason:
        case Reason.CARD_SLOTS_EXHAUSTED if cards[0].needed.slots > 1:
            best = max(cards, key=lambda card: card.free.slots)
            return f"needs {best.needed.slots} slots, {best.free.slots} {free}"
        case Reason.CARD_INSUFFICIENT_MEMORY:
            best = max(cards, key=lambda card: card.free.memory_mib)
            return f"needs {best.needed.memory_mib} MiB, {best.free.memory_mib} {free}"
        case Reason.CARD_INSUFFICIENT_CORE:
            best = max(cards, key=lambda card: card.free.core_percent)
            unit = "units" if best.counts_units else "%"
            return (
                f"needs {best.needed.core_percent} {unit} of cores, "
                f"{best.free.core_percent} {unit} {free}"
            )
        case Reason.CARD_MIG_TOPOLOGY_INFEASIBLE:
            needed = min(card.needed.memory_mib for card in cards)
            return f"no place for an instance of {needed} MiB{_cores(cards)}"
        case Reason.CARD_TYPE_MISMATCH:
            return f"is {', '.join(sorted({card.model for card in cards}))}"
        case _:
            return _WITHOUT_NUMBERS[reason]


def _cores(cards: Sequence[CardVerdict]) -> str:
    percent = cards[0].needed.core_percent
    return f" and {percent} % cores" if percent else ""
