"""The nodes of about one size, as arrays that grow by doubling."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from extender.core.answers import Answers
from extender.core.arrays import CORES, Int32s, Int64s
from extender.core.budget import StepBudget
from extender.core.cards import Cards, Change, Interned
from extender.core.holding import Holding
from extender.core.names import DeviceUUID, KindWord
from extender.core.node import Inventory
from extender.core.pod_request import PodRequest
from extender.core.remembered import RememberedAnswers
from extender.core.usage import Usage

_FIRST_COLUMNS: Final = 8


@dataclass(frozen=True, slots=True)
class NodeTotals:
    """What is held on one node.

    Attributes:
        used: Per card, in card order.
        quarantined: Cards that count as full.
        kubelet_slots: Device ids that kubelet has set aside.
        closures: Unreadable allocations that name no card of the node.
        held_exclusively: Cards that nobody may join.
        trait_counts: Of each card that a pod with traits holds, how many have which;
            see `extender.core.company`.
        slices: Of each card in MIG mode that instances are held of, how many hold each
            slice, up to the last that is held.
        cores: How many pods hold each core of devices of which these are told apart;
            see `extender.core.core_bits`.
    """

    used: Mapping[DeviceUUID, Usage]
    quarantined: frozenset[DeviceUUID]
    kubelet_slots: int
    closures: int
    held_exclusively: frozenset[DeviceUUID] = frozenset()
    slices: Mapping[DeviceUUID, tuple[int, ...]] = field(default_factory=dict)
    trait_counts: Mapping[DeviceUUID, int] = field(default_factory=dict)
    cores: Mapping[tuple[DeviceUUID, int], int] = field(default_factory=dict)


class Bucket:
    """Nodes with up to `width` cards each; one column a node.

    A freed column keeps no cards and no totals, and is used again by the next node.
    """

    def __init__(
        self, width: int, interned: Interned, kind: KindWord, *, has_mig: bool = False
    ) -> None:
        """Make room for some nodes.

        Args:
            width: The most cards of a node.
            interned: Of the fleet.
            kind: Of the cards.
            has_mig: Whether cards may be in MIG mode.
        """
        self.width = width
        self._kind = kind
        self._has_mig = has_mig
        self._interned = interned
        self._column_count = 0
        self._free_columns: list[int] = []
        self._positions: list[Mapping[DeviceUUID, int]] = []
        self._cards = Cards.blank(width, _FIRST_COLUMNS, interned, has_mig=has_mig)
        self._remembered = RememberedAnswers()

    def put(self, inventory: Inventory) -> int:
        """Give a node a column, with nothing held there.

        Args:
            inventory: Usable, with 1 to `width` devices.
        """
        devices = inventory.devices or ()
        column = self._take_column()
        self._remembered.note_change(column)
        cards = self._cards
        ordered = sorted(devices, key=lambda card: (card.index, card.device_uuid))
        numa_nodes = sorted({device.numa_node for device in devices})
        for position, device in enumerate(ordered):
            at = (position, column)
            size = device.capacity
            capacity = (size.slots, size.memory_mib, size.core_percent)
            cards.capacity[:, position, column] = capacity
            cards.divisors[:, position, column] = capacity if all(capacity) else np.inf
            cards.exists[at] = True
            cards.is_unhealthy[at] = not device.is_healthy
            cards.is_cordoned[at] = device.is_cordoned
            cards.core_steps[at] = device.core_step
            cards.numa_ranks[at] = numa_nodes.index(device.numa_node)
            cards.mode_codes[at] = self._interned.modes.code(device.mode)
            cards.model_codes[at] = self._interned.models.code(device.model)
            cards.uuid_codes[at] = self._interned.uuids.code(device.device_uuid)
            if device.is_mig:
                code = self._interned.mig_tables.code(device.mig_profiles)
                cards.mig_codes[at] = code
            if device.profiles:
                cards.profile_codes[at] = self._interned.profiles.code(device.profiles)
        cards.card_counts[column] = len(ordered)
        cards.allocatable_slots[column] = inventory.allocatable_slots
        self._positions[column] = {
            device.device_uuid: position for position, device in enumerate(ordered)
        }
        return column

    def free(self, column: int) -> None:
        """Empty a column for the next node."""
        self._remembered.note_change(column)
        blank = self._blank(1).arrays()
        for name, array in self._cards.arrays().items():
            array[..., column] = blank[name][..., 0]
        self._positions[column] = {}
        self._free_columns.append(column)

    def count(self, column: int, holding: Holding, sign: int) -> None:
        """Add (`sign` 1) or take back (-1) a holding; devices not here are left out."""
        if self._concerns(column, holding):
            self._remembered.note_change(column)
            self._cards.apply(self.change(column, holding, sign))

    def _concerns(self, column: int, holding: Holding) -> bool:
        """Tell whether a holding has to do with a node's cards of this kind."""
        positions = self._positions[column]
        named = (holding.charge, holding.released, holding.quarantined)
        return (
            self._kind in holding.kubelet_slots
            or self._kind in holding.hides
            or any(uuid in positions for uuids in named for uuid in uuids)
        )

    def change(self, column: int, holding: Holding, sign: int) -> Change:
        """Describe a holding that is added (`sign` 1) or taken back on a node."""
        return Change(column, self._positions[column], holding, sign, self._kind)

    def change_of(self, column: int) -> int:
        """Number the latest change of one node."""
        return self._remembered.change_of(column)

    def answers(
        self, columns: Int64s, request: PodRequest, budget: StepBudget
    ) -> Answers:
        """Judge a request on the nodes at `columns`; the answers are the caller's own.

        Cost: see `RememberedAnswers.of`.
        """
        return self._remembered.of(self.cards(), columns, request, budget)

    def cards(self) -> Cards:
        """See all columns, read-only; the view follows later changes."""
        return self._cards.first_nodes(self._column_count)

    def positions(self, column: int) -> Mapping[DeviceUUID, int]:
        """Tell where each card of one node stands."""
        return self._positions[column]

    def is_overfull(self, column: int) -> bool:
        """Tell whether more is held on any card of a node than it has."""
        cards = self._cards
        is_over = cards.used[..., column] > cards.capacity[..., column]
        if self._has_mig:
            # Percents of instances are rounded up: seven of one card make 105.
            is_over[CORES] &= cards.mig_codes[:, column] == 0
            if (cards.slice_counts[..., column] > 1).any():
                return True
        return bool(is_over.any())

    def totals_at(self, column: int) -> NodeTotals:
        """Read what is held on one node."""
        cards, positions = self._cards, self._positions[column]
        return NodeTotals(
            used={
                device_uuid: Usage(*cards.used[:, position, column].tolist())
                for device_uuid, position in positions.items()
            },
            quarantined=_where(cards.quarantines[:, column], positions),
            held_exclusively=_where(cards.exclusive_pods[:, column], positions),
            kubelet_slots=int(cards.kubelet_slots[column]),
            closures=int(cards.closures[column]),
            slices=self._slices_at(column) if self._has_mig else {},
            trait_counts={
                device_uuid: int(count)
                for device_uuid, position in positions.items()
                if (count := cards.trait_counts[position, column])
            },
        )

    def _slices_at(self, column: int) -> dict[DeviceUUID, tuple[int, ...]]:
        found: dict[DeviceUUID, tuple[int, ...]] = {}
        for device_uuid, position in self._positions[column].items():
            counts = self._cards.slice_counts[:, position, column]
            held = np.flatnonzero(counts)
            if held.size:
                found[device_uuid] = tuple(counts[: held[-1] + 1].tolist())
        return found

    def _take_column(self) -> int:
        if self._free_columns:
            return self._free_columns.pop()
        if self._column_count == self._cards.node_count:
            self._grow()
        self._column_count += 1
        self._positions.append({})
        return self._column_count - 1

    def _blank(self, node_count: int) -> Cards:
        return Cards.blank(
            self.width, node_count, self._interned, has_mig=self._has_mig
        )

    def _grow(self) -> None:
        """Double the room; existing nodes keep their columns."""
        size = self._column_count
        larger = self._blank(2 * size)
        kept = self._cards.arrays()
        for name, array in larger.arrays().items():
            array[..., :size] = kept[name]
        self._cards = larger


def _where(
    counts: Int32s, positions: Mapping[DeviceUUID, int]
) -> frozenset[DeviceUUID]:
    """Name the cards whose count is not 0; int32 (W,)."""
    return frozenset(
        device_uuid for device_uuid, position in positions.items() if counts[position]
    )
