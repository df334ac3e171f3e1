"""A difference that shadow mode found, as one line for people."""

from collections.abc import Iterator

from extender.core.names import DeviceUUID
from extender.core.pod import Pod
from extender.core.reasons import Reason
from extender.core.usage import Usage
from extender.verbs.shadow import CardFigures, Judgement, Outcome
from extender.verbs.verdicts import NodeVerdict


def told(pod: Pod, judgement: Judgement) -> str:
    """Tell who differs, on what, and by which numbers."""
    where = f"{pod.full_name} on {judgement.node_name}"
    match judgement.outcome:
        case Outcome.OVERCOMMITS:
            over = [card for card in judgement.cards if card.phase is not None]
            numbers = "; ".join(map(_overcommitted, over))
            return f"overcommits: {where}: {numbers}"
        case Outcome.REFUSED:
            reasons = ", ".join(judgement.reasons)
            return f"refused: {where}: {reasons}{_numbers(judgement)}"
        case Outcome.WOULD_PLACE:
            cards = "; ".join(
                f"{card.device_uuid} charged {card.ours}" for card in judgement.cards
            )
            said = pod.placing.refusal or "nothing"
            return f"would-place: {where}: {cards}; its scheduler says: {said}"
        case Outcome.WITHOUT_CARDS:
            why = judgement.problem or "it asks for cards and has no allocation"
            return f"without-cards: {where}: {why}"
        case _:
            return f"{judgement.outcome.value}: {where}: {judgement.problem}"


def _overcommitted(card: CardFigures) -> str:
    held = card.others + card.ours
    numbers = [
        f"{total} of {there} {unit} (others {beside}, this pod {own}; HAMi counts "
        f"{beside_theirs} and {own_theirs})"
        for unit, total, there, beside, own, beside_theirs, own_theirs in zip(
            ("slots", "MiB", "% of cores"),
            *map(
                _amounts,
                (
                    held,
                    card.capacity,
                    card.others,
                    card.ours,
                    card.others_theirs,
                    card.theirs,
                ),
            ),
            strict=True,
        )
        if total > there
    ]
    parts = ", ".join(numbers) or "parts of it that others hold"
    return f"card {card.device_uuid} holds {parts} in phase {card.phase}"


def _amounts(usage: Usage) -> tuple[int, int, int]:
    return usage.slots, usage.memory_mib, usage.core_percent


def _numbers(judgement: Judgement) -> str:
    verdict = judgement.verdict
    if verdict is None:
        return ""
    given = frozenset(card.device_uuid for card in judgement.cards)
    parts = [*_of_cards(verdict, given), *map(str, verdict.shortages)]
    if verdict.problem is not None:
        parts.append(verdict.problem)
    if verdict.reason is Reason.KUBELET_SLOTS_EXHAUSTED and verdict.kubelet_slots:
        slots = verdict.kubelet_slots
        parts.append(
            f"needs {slots.needed} device ids, {slots.taken} of {slots.allocatable} "
            "taken"
        )
    return "".join(f"; {part}" for part in parts)


def _of_cards(verdict: NodeVerdict, given: frozenset[DeviceUUID]) -> Iterator[str]:
    for card in verdict.cards:
        if card.device_uuid in given and card.refused_by is not None:
            yield (
                f"card {card.device_uuid}: {card.refused_by.value}, needs "
                f"{card.needed}, free {card.free}"
            )
