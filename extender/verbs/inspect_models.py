"""All cards of one model together: what is charged, what is free, and how scattered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.kinds import Kind
from extender.core.mig import MIG_MODE
from extender.core.names import KindWord
from extender.core.reasons import Reason
from extender.core.usage import NOTHING, Usage
from extender.verbs.inspection import (
    DeviceIds,
    InspectedCard,
    ModelSummary,
    ShapeRoom,
    Stranded,
)

SHAPES: Final = (100, 50, 25, 10)
"""Percent of a card's memory by which it is shown how scattered free memory is."""


def cuts_to_measure(kind: Kind) -> bool:
    """Tell whether a container of a kind may ask for any part of a card's memory."""
    return not kind.rules and not kind.memory_sizes


def room_for(card: InspectedCard, percent: int) -> int:
    """Tell how many more containers with so much of a card's memory it would serve.

    Args:
        card: Not in MIG mode, of a kind that cuts memory to measure.
        percent: Of its memory, rounded down as filter does; no cores are asked.
    """
    needed = card.capacity.memory_mib * percent // 100
    if card.closed_by is not None or needed == 0:
        return 0
    free_slots = card.capacity.slots - card.charged.slots
    return max(min(card.free_mib // needed, free_slots), 0)


@dataclass(slots=True)
class _Sum:
    nodes: int = 0
    cards: int = 0
    capacity: Usage = NOTHING
    charged: Usage = NOTHING
    untouched: int = 0
    free_mib: int = 0
    largest_mib: int = 0
    stranded: dict[Reason, tuple[int, int]] = field(default_factory=dict)
    rooms: dict[int, int] = field(default_factory=dict)
    counts_units: bool = False

    def add(self, card: InspectedCard) -> None:
        self.cards += 1
        self.capacity += card.capacity
        self.charged += card.charged
        self.counts_units |= card.counts_units
        if card.closed_by is None:
            self.untouched += card.charged == NOTHING
            self.free_mib += card.free_mib
            self.largest_mib = max(self.largest_mib, card.free_mib)
        elif card.stranded_mib:
            cards, memory_mib = self.stranded.get(card.closed_by, (0, 0))
            self.stranded[card.closed_by] = (cards + 1, memory_mib + card.stranded_mib)


class ModelSums:
    """Adds up cards, node by node."""

    def __init__(self) -> None:
        self._sums: dict[tuple[KindWord, str], _Sum] = {}

    def add_node(
        self, cards: Sequence[InspectedCard], ids: DeviceIds | None, kind: Kind
    ) -> None:
        """Add a node's cards of one kind.

        Args:
            cards: All of that kind.
            ids: Of kubelet; None where they do not count.
            kind: Of the cards.
        """
        by_model: dict[str, list[InspectedCard]] = {}
        for card in cards:
            by_model.setdefault(card.model, []).append(card)
        for model, of_model in by_model.items():
            found = self._sums.setdefault((kind.type_word, model), _Sum())
            found.nodes += 1
            for card in of_model:
                found.add(card)
            # Where a node has several models, they share its device ids: each is told
            # what it could get alone.
            if cuts_to_measure(kind) and all(
                each.mode != MIG_MODE for each in of_model
            ):
                left = max(ids.allocatable - ids.taken, 0) if ids else 0
                for percent in SHAPES:
                    room = sum(room_for(card, percent) for card in of_model)
                    found.rooms[percent] = found.rooms.get(percent, 0) + min(room, left)

    def summaries(self) -> tuple[ModelSummary, ...]:
        """Give the sums, kind by kind, those with most cards first."""
        kinds = list(dict.fromkeys(kind for kind, _ in self._sums))
        listed = sorted(
            self._sums.items(),
            key=lambda each: (kinds.index(each[0][0]), -each[1].cards, each[0][1]),
        )
        return tuple(_summary(kind, model, found) for (kind, model), found in listed)


def _summary(kind: KindWord, model: str, found: _Sum) -> ModelSummary:
    stranded = [Stranded(reason, *each) for reason, each in found.stranded.items()]
    stranded.sort(key=lambda each: (-each.memory_mib, each.reason.value))
    return ModelSummary(
        kind,
        model,
        found.nodes,
        found.cards,
        found.capacity,
        found.charged,
        found.untouched,
        found.free_mib,
        found.largest_mib,
        tuple(stranded),
        tuple(ShapeRoom(percent, count) for percent, count in found.rooms.items()),
        counts_units=found.counts_units,
    )
