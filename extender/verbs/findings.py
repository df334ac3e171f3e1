"""What a verdict comes to, reason by reason, in words with numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.reasons import Reason
from extender.verbs.verdicts import CardVerdict, NodeVerdict


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason of one node's refusal.

    Attributes:
        reason: The code.
        text: In numbers, as far as there are some.
        cards: How many cards it is about; None for the node as a whole.
        card_count: How many the node has.
    """

    reason: Reason
    text: str
    cards: int | None = None
    card_count: int = 0


def findings_of(verdict: NodeVerdict) -> Iterator[Finding]:
    """Give one finding per reason, in the order of the rules; the node's comes first.

    A pod that is refused everywhere has none: `NodeVerdict.problem` says it all.
    """
    if verdict.reason is not None:
        yield _whole_node(verdict, verdict.reason)
    for reason in Reason:
        cards = [card for card in verdict.cards if card.refused_by is reason]
        if cards:
            free = "in all" if verdict.is_unresolvable else "free"
            text = _numbers(reason, cards, free)
            yield Finding(reason, text, len(cards), verdict.card_count)


def _whole_node(verdict: NodeVerdict, reason: Reason) -> Finding:
    match reason:
        case Reason.QUOTA_NOT_FIT | Reason.QUOTA_UNREADABLE:
            text = "; ".join(map(str, verdict.shortages))
        case Reason.NODE_INSUFFICIENT_DEVICE:
            text = f"wants {verdict.wanted_cards} cards, has {verdict.card_count}"
        case Reason.TOO_FEW_CARDS:
            passed = sum(card.refused_by is None for card in verdict.cards)
            text = f"wants {verdict.wanted_cards} cards, {passed} would serve"
            return Finding(reason, text, passed, verdict.card_count)
        case Reason.NUMA_NOT_FIT:
            text = f"wants {verdict.wanted_cards} cards that stand together"
        case Reason.SEARCH_EXHAUSTED:
            text = "not decided: too many ways to share its cards"
        case Reason.KUBELET_SLOTS_EXHAUSTED if verdict.kubelet_slots is not None:
            slots = verdict.kubelet_slots
            text = (
                f"needs {slots.needed} device ids, {slots.taken} of "
                f"{slots.allocatable} taken"
            )
        case _:
            text = verdict.problem or ""
    return Finding(reason, text)


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
