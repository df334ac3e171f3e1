"""What is held on each node, worked out anew from what the API shows of its pods."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from extender.core.names import DeviceUUID
from extender.core.usage import NOTHING, Usage
from tests.builders import Json
from tests.control_plane.recomputed import Card, cards_of, charge_of, slots_of
from tests.oracles import Totals

IDS: Final = "device ids"
"""What a node has besides cards: as many as are allocatable."""

_COUNT: Final = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class Held:
    """What one pod holds, or all pods of a node together."""

    cards: Totals = field(default_factory=dict)
    ids: int = 0

    def __add__(self, other: "Held") -> "Held":
        both = self.cards.keys() | other.cards.keys()
        cards = {uuid: self.on(uuid) + other.on(uuid) for uuid in both}
        return Held(cards, self.ids + other.ids)

    def on(self, uuid: DeviceUUID) -> Usage:
        """Give what is held on one card."""
        return self.cards.get(uuid, NOTHING)

    @property
    def subjects(self) -> frozenset[str]:
        """Name the cards of which something is held, and the ids."""
        return frozenset([*self.cards, *([IDS] if self.ids else [])])


def held_by(pod: Json) -> Held:
    """Work out what a bound pod holds now."""
    return Held(charge_of(pod), slots_of(pod))


class Place:
    """One node, and what is held there."""

    def __init__(self) -> None:
        self.cards: dict[DeviceUUID, Card] = {}
        """As the node registered them when that could be read last."""

        self.ids = 0
        """As many as were allocatable when there were any. A node that offers none has
        lost its plugin; the ids that were given stay given."""

        self.pods: dict[str, Held] = {}
        self.held = Held()
        self._past: list[tuple[int, Held]] = []

    def know(self, node: Json) -> None:
        """Take note of what the node offers."""
        cards = cards_of(node)
        if all(isinstance(card.capacity.memory_mib, int) for card in cards.values()):
            self.cards = cards
        self.ids = int(node["status"]["allocatable"].get(_COUNT, 0)) or self.ids

    def put(self, uid: str, held: Held | None, revision: int) -> None:
        """Take note of what a pod holds there from now on; None where it is gone."""
        if held is None:
            self.pods.pop(uid, None)
        else:
            self.pods[uid] = held
        self.held = sum(self.pods.values(), Held())
        self._past.append((revision, self.held))

    def excesses(self) -> dict[str, str]:
        """List what is held beyond what there is, by card; ids count as one."""
        return self._excesses(self.held)

    def would_have_fitted(self, pod: Held, since: int) -> bool:
        """Tell whether there was room at any moment from a revision on."""
        return any(
            not pod.subjects & self._excesses(held + pod).keys()
            for held in self._held_since(since)
        )

    def _held_since(self, since: int) -> Iterator[Held]:
        for revision, held in reversed(self._past):
            yield held
            if revision <= since:
                return
        yield Held()

    def _excesses(self, held: Held) -> dict[str, str]:
        found = {}
        for uuid, usage in held.cards.items():
            capacity = self.cards[uuid].capacity if uuid in self.cards else NOTHING
            if usage.exceeds(capacity):
                found[str(uuid)] = f"{uuid} has {capacity}, held is {usage}"
        if held.ids > self.ids:
            found[IDS] = f"there are {self.ids} {IDS}, held are {held.ids}"
        return found
