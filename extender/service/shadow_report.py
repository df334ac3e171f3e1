"""What shadow mode has found, as one bounded document."""

import asyncio
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from extender.core.node import Node
from extender.core.usage import NOTHING, Usage
from extender.service.shadow import ShadowExtender
from extender.service.shadow_book import Difference
from extender.service.shadow_text import told
from extender.state.ledger_view import LedgerView
from extender.verbs.shadow import CardFigures
from extender.verbs.shadow_audit import CardSums, Held, audit_node

_NODES_SHOWN: Final = 50
"""Those on which the two rules differ most."""

_CARDS_SHOWN: Final = 100


async def shadow_report(shadow: ShadowExtender) -> dict[str, Any]:
    """Describe totals, the last differences, and how both rules charge the cards now.

    Requests are answered between nodes. Cost: O(pods).
    """
    ledger, book = shadow.ledger, shadow.book
    audited: list[tuple[str, list[CardSums]]] = []
    for node in list(ledger.nodes.values()):
        if cards := audit_node(node, _held_on(ledger, node)):
            audited.append((node.name, cards))
        await asyncio.sleep(0)
    over = [
        {"node": name, **_card_sums(card)}
        for name, cards in audited
        for card in cards
        if card.is_over
    ]
    everything = [card for _, cards in audited for card in cards]
    differing = [each for each in audited if _weight(each[1])]
    differing.sort(key=lambda each: (-_weight(each[1]), each[0]))
    return {
        "since": _moment(book.started_at),
        "synced": shadow.is_synced,
        "decisions": {each.value: count for each, count in book.totals.items()},
        "differences": [_difference(each) for each in book.newest_first()],
        "differences_left_off": book.left_off,
        "cards": {**_sums(everything), "count": len(everything)},
        "overcommitted_cards": over[:_CARDS_SHOWN],
        "overcommitted_cards_left_off": max(0, len(over) - _CARDS_SHOWN),
        "nodes": [
            {"node": name, **_sums(cards)} for name, cards in differing[:_NODES_SHOWN]
        ],
        "nodes_left_off": max(0, len(differing) - _NODES_SHOWN),
    }


def _held_on(ledger: LedgerView, node: Node) -> list[Held]:
    found = []
    for pod_uid, holding in ledger.holders_on(node.name).items():
        standing = ledger.standing(pod_uid)
        charged_by = standing.charged_by if standing else ()
        allocation = charged_by[-1] if charged_by else None
        found.append(Held(ledger.pods[pod_uid], holding, allocation))
    return found


def _weight(cards: list[CardSums]) -> int:
    """Count what the rules differ by: MiB, or 1 where only slots or cores do."""
    mib = sum(card.needless.memory_mib + card.uncounted.memory_mib for card in cards)
    differs = any(
        card.is_over or card.needless != NOTHING or card.uncounted != NOTHING
        for card in cards
    )
    return mib or int(differs)


def _sums(cards: list[CardSums]) -> dict[str, Any]:
    return {
        "overcommitted": sum(card.is_over for card in cards),
        "memory_mib": {
            "capacity": sum(card.capacity.memory_mib for card in cards),
            "ours": sum(card.ours.memory_mib for card in cards),
            "hami": sum(card.theirs.memory_mib for card in cards),
            "needless": sum(card.needless.memory_mib for card in cards),
            "uncounted": sum(card.uncounted.memory_mib for card in cards),
        },
    }


def _card_sums(card: CardSums) -> dict[str, Any]:
    return {
        "device": card.device_uuid,
        "capacity": _usage(card.capacity),
        "ours": _usage(card.ours),
        "hami": _usage(card.theirs),
    }


def _difference(found: Difference) -> dict[str, Any]:
    pod, judgement = found.pod, found.judgement
    verdict = judgement.verdict
    return {
        "at": _moment(found.at),
        "outcome": judgement.outcome.value,
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "scheduler": pod.scheduler_name,
        "node": judgement.node_name,
        "reasons": list(judgement.reasons),
        "problem": judgement.problem,
        "scheduler_says": pod.placing.refusal,
        "cards": [_figures(card) for card in judgement.cards],
        "our_cards": list(judgement.our_cards),
        "refused_cards": [
            {
                "device": card.device_uuid,
                "refused_by": card.refused_by.value if card.refused_by else None,
                "free": _usage(card.free),
                "needed": _usage(card.needed),
            }
            for card in (verdict.cards if verdict else ())
        ],
        "text": told(pod, judgement),
    }


def _figures(card: CardFigures) -> dict[str, Any]:
    return {
        "device": card.device_uuid,
        "phase": card.phase,
        "capacity": _usage(card.capacity),
        "others": _usage(card.others),
        "others_hami": _usage(card.others_theirs),
        "ours": _usage(card.ours),
        "hami": _usage(card.theirs),
    }


def _usage(usage: Usage) -> dict[str, int]:
    return asdict(usage)


def _moment(unix_seconds: float) -> str:
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="seconds")
