"""The nodes of about one size, as arrays that grow by doubling."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from extender.core.arrays import (
    CORES,
    DIMENSIONS,
    MEMORY,
    SLOTS,
    Floats,
    Int32s,
    Int64s,
    Mask,
)
from extender.core.cards import Cards
from extender.core.holding import Holding
from extender.core.model import DeviceUUID, Node, Usage

MIG_MODE: Final = "mig"

_FIRST_COLUMNS: Final = 8


@dataclass(frozen=True, slots=True)
class NodeTotals:
    """What is held on one node.

    Attributes:
        used: Per card, in card order.
        quarantined: Cards that count as full.
        kubelet_slots: Device ids that kubelet has set aside.
        closures: Unreadable allocations that name no card.
    """

    used: Mapping[DeviceUUID, Usage]
    quarantined: frozenset[DeviceUUID]
    kubelet_slots: int
    closures: int


class Interned:
    """UUIDs and types as small numbers. Append-only; shared by all buckets."""

    def __init__(self) -> None:
        self.uuids: list[DeviceUUID] = [DeviceUUID("")]
        self.code_of_uuid: dict[DeviceUUID, int] = {}
        self.models: list[str] = []
        self._code_of_model: dict[str, int] = {}

    def uuid_code(self, device_uuid: DeviceUUID) -> int:
        """Give a UUID's number, from 1; 0 is padding."""
        code = self.code_of_uuid.get(device_uuid)
        if code is None:
            code = self.code_of_uuid[device_uuid] = len(self.uuids)
            self.uuids.append(device_uuid)
        return code

    def model_code(self, model: str) -> int:
        """Give a type's number, from 0."""
        code = self._code_of_model.get(model)
        if code is None:
            code = self._code_of_model[model] = len(self.models)
            self.models.append(model)
        return code


class Bucket:
    """Nodes with up to `width` cards each; one column a node.

    A freed column keeps no cards and no totals, and is used again by the next node.
    """

    def __init__(self, width: int, interned: Interned) -> None:
        self._width = width
        self._interned = interned
        self._column_count = 0
        self._free_columns: list[int] = []
        self._positions: list[dict[DeviceUUID, int]] = []
        self._grow(_FIRST_COLUMNS)

    def put(self, node: Node) -> int:
        """Give a node a column, with nothing held there.

        Args:
            node: Usable, with 1 to `width` devices.
        """
        devices = node.devices or ()
        column = self._take_column()
        ordered = sorted(devices, key=lambda card: (card.index, card.device_uuid))
        for position, device in enumerate(ordered):
            capacity = _vector(device.capacity)
            self._capacity[:, position, column] = capacity
            self._divisors[:, position, column] = capacity if all(capacity) else np.inf
            self._exists[position, column] = True
            self._is_unhealthy[position, column] = not device.is_healthy
            self._is_cordoned[position, column] = device.is_cordoned
            self._is_mig[position, column] = device.mode == MIG_MODE
            self._model_codes[position, column] = self._interned.model_code(
                device.model
            )
            self._uuid_codes[position, column] = self._interned.uuid_code(
                device.device_uuid
            )
        self._card_counts[column] = len(ordered)
        self._allocatable_slots[column] = node.allocatable_slots
        self._positions[column] = {
            device.device_uuid: position for position, device in enumerate(ordered)
        }
        return column

    def free(self, column: int) -> None:
        """Empty a column for the next node."""
        for array in self._arrays():
            array[..., column] = 0
        self._divisors[..., column] = np.inf
        self._positions[column] = {}
        self._free_columns.append(column)

    def count(self, column: int, holding: Holding, sign: int) -> None:
        """Add (`sign` 1) or take back (-1) a holding; devices not here are left out."""
        positions = self._positions[column]
        for device_uuid, usage in holding.charge.items():
            position = positions.get(device_uuid)
            if position is not None:
                self._used[SLOTS, position, column] += sign * usage.slots
                self._used[MEMORY, position, column] += sign * usage.memory_mib
                self._used[CORES, position, column] += sign * usage.core_percent
        self._kubelet_slots[column] += sign * holding.kubelet_slots
        if holding.hides_devices or holding.quarantined:
            self._count_unreadable(column, holding, sign)

    def _count_unreadable(self, column: int, holding: Holding, sign: int) -> None:
        positions = self._positions[column]
        named = [positions[uuid] for uuid in holding.quarantined if uuid in positions]
        for position in named:
            self._quarantines[position, column] += sign
        if holding.hides_devices and not named:
            self._closures[column] += sign

    def cards(self) -> Cards:
        """See all columns. The view follows later changes: use it at once."""
        size = self._column_count
        return Cards(
            capacity=self._capacity[..., :size],
            divisors=self._divisors[..., :size],
            used=self._used[..., :size],
            exists=self._exists[:, :size],
            is_unhealthy=self._is_unhealthy[:, :size],
            is_cordoned=self._is_cordoned[:, :size],
            is_mig=self._is_mig[:, :size],
            quarantines=self._quarantines[:, :size],
            model_codes=self._model_codes[:, :size],
            models=self._interned.models,
            card_counts=self._card_counts[:size],
            allocatable_slots=self._allocatable_slots[:size],
            kubelet_slots=self._kubelet_slots[:size],
            closures=self._closures[:size],
            uuid_codes=self._uuid_codes[:, :size],
            uuids=self._interned.uuids,
            code_of_uuid=self._interned.code_of_uuid,
        )

    def cards_after(self, changes: Sequence[tuple[int, Holding, int]]) -> Cards:
        """See all columns as if holdings were added or taken back.

        Args:
            changes: Column, holding and sign of each, as for `count`.
        """
        for column, holding, sign in changes:
            self.count(column, holding, sign)
        cards = self.cards()
        seen = replace(
            cards,
            used=cards.used.copy(),
            quarantines=cards.quarantines.copy(),
            kubelet_slots=cards.kubelet_slots.copy(),
            closures=cards.closures.copy(),
        )
        for column, holding, sign in changes:
            self.count(column, holding, -sign)
        return seen

    def totals_at(self, column: int) -> NodeTotals:
        """Read what is held on one node."""
        positions = self._positions[column]
        return NodeTotals(
            used={
                device_uuid: Usage(*self._used[:, position, column].tolist())
                for device_uuid, position in positions.items()
            },
            quarantined=frozenset(
                device_uuid
                for device_uuid, position in positions.items()
                if self._quarantines[position, column]
            ),
            kubelet_slots=int(self._kubelet_slots[column]),
            closures=int(self._closures[column]),
        )

    def _take_column(self) -> int:
        if self._free_columns:
            return self._free_columns.pop()
        if self._column_count == self._exists.shape[1]:
            self._grow(2 * self._column_count)
        self._column_count += 1
        return self._column_count - 1

    def _grow(self, columns: int) -> None:
        """Make room for `columns` nodes; existing ones keep their places."""
        width, size = self._width, self._column_count
        old = self._arrays() if size else ()
        self._capacity: Int64s = np.zeros((DIMENSIONS, width, columns), np.int64)
        self._divisors: Floats = np.full((DIMENSIONS, width, columns), np.inf)
        self._used: Int64s = np.zeros((DIMENSIONS, width, columns), np.int64)
        self._exists: Mask = np.zeros((width, columns), np.bool_)
        self._is_unhealthy: Mask = np.zeros((width, columns), np.bool_)
        self._is_cordoned: Mask = np.zeros((width, columns), np.bool_)
        self._is_mig: Mask = np.zeros((width, columns), np.bool_)
        self._quarantines: Int32s = np.zeros((width, columns), np.int32)
        self._model_codes: Int32s = np.zeros((width, columns), np.int32)
        self._uuid_codes: Int32s = np.zeros((width, columns), np.int32)
        self._card_counts: Int64s = np.zeros(columns, np.int64)
        self._allocatable_slots: Int64s = np.zeros(columns, np.int64)
        self._kubelet_slots: Int64s = np.zeros(columns, np.int64)
        self._closures: Int32s = np.zeros(columns, np.int32)
        for new, kept in zip(self._arrays(), old, strict=bool(size)):
            new[..., :size] = kept
        self._positions.extend({} for _ in range(columns - len(self._positions)))

    def _arrays(self) -> tuple[Int64s | Int32s | Floats | Mask, ...]:
        return (
            self._capacity,
            self._divisors,
            self._used,
            self._exists,
            self._is_unhealthy,
            self._is_cordoned,
            self._is_mig,
            self._quarantines,
            self._model_codes,
            self._uuid_codes,
            self._card_counts,
            self._allocatable_slots,
            self._kubelet_slots,
            self._closures,
        )


def _vector(usage: Usage) -> tuple[int, int, int]:
    return (usage.slots, usage.memory_mib, usage.core_percent)
