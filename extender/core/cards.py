"""A read-only view of some nodes' cards, as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from extender.core.arrays import DIMENSIONS, Floats, Int32s, Int64s, Mask
from extender.core.model import DeviceUUID

_COPY_BELOW: Final = 2
"""Copy nodes out when fewer than one in so many is judged."""


@dataclass(frozen=True, slots=True)
class Cards:
    """Cards of N nodes, padded to W cards a node.

    Cards of a node stand in order of (index, UUID), so that the first of equal cards
    is the one to prefer. Owned by the fleet: read, never write; `fresh_usage` gives
    the copy that a placement works on.

    Attributes:
        capacity: int64 (3, W, N); slots, MiB, percent.
        divisors: float64 (3, W, N); the capacity, or infinity in all dimensions of a
            card that has none in some: its use ratios are all 0.
        used: int64 (3, W, N); what pods are charged; may exceed the capacity.
        exists: bool (W, N); False is padding.
        is_unhealthy: bool (W, N).
        is_cordoned: bool (W, N).
        is_mig: bool (W, N); the card is in MIG mode.
        quarantines: int32 (W, N); unreadable allocations that name the card.
        model_codes: int32 (W, N); index into `models`.
        models: Registered types.
        card_counts: int64 (N,).
        allocatable_slots: int64 (N,); kubelet's device ids.
        kubelet_slots: int64 (N,); device ids that kubelet has set aside.
        closures: int32 (N,); unreadable allocations that name no card of the node.
        uuid_codes: int32 (W, N); index into `uuids`; 0 is padding.
        uuids: Every UUID that the fleet has seen; shared, append-only.
        code_of_uuid: The reverse of `uuids`; shared, append-only.
    """

    capacity: Int64s
    divisors: Floats
    used: Int64s
    exists: Mask
    is_unhealthy: Mask
    is_cordoned: Mask
    is_mig: Mask
    quarantines: Int32s
    model_codes: Int32s
    models: Sequence[str]
    card_counts: Int64s
    allocatable_slots: Int64s
    kubelet_slots: Int64s
    closures: Int32s
    uuid_codes: Int32s
    uuids: Sequence[DeviceUUID]
    code_of_uuid: Mapping[DeviceUUID, int]

    @property
    def width(self) -> int:
        """W, the cards that the arrays have room for on each node."""
        return int(self.exists.shape[0])

    @property
    def node_count(self) -> int:
        """N."""
        return int(self.exists.shape[1])

    def fresh_usage(self) -> Int64s:
        """Copy `used`, for a placement to add to."""
        return self.used.copy()

    def at_zero_usage(self) -> "Cards":
        """See the same cards as if no pod held anything."""
        return replace(
            self,
            used=np.zeros((DIMENSIONS, self.width, self.node_count), np.int64),
            quarantines=np.zeros_like(self.quarantines),
            kubelet_slots=np.zeros_like(self.kubelet_slots),
            closures=np.zeros_like(self.closures),
        )

    def narrowed(self, columns: Int64s) -> tuple["Cards", Int64s]:
        """Make it cheap to judge the nodes at `columns`.

        Returns:
            Cards with at least these nodes, and their columns there: copied out where
            they are few, or else as they are, since copying would cost more.
        """
        if len(columns) * _COPY_BELOW >= self.node_count:
            return self, columns
        return self.of_nodes(columns), np.arange(len(columns))

    def of_nodes(self, columns: Int64s) -> "Cards":
        """Copy out the nodes at `columns`."""
        return Cards(
            capacity=self.capacity[..., columns],
            divisors=self.divisors[..., columns],
            used=self.used[..., columns],
            exists=self.exists[:, columns],
            is_unhealthy=self.is_unhealthy[:, columns],
            is_cordoned=self.is_cordoned[:, columns],
            is_mig=self.is_mig[:, columns],
            quarantines=self.quarantines[:, columns],
            model_codes=self.model_codes[:, columns],
            models=self.models,
            card_counts=self.card_counts[columns],
            allocatable_slots=self.allocatable_slots[columns],
            kubelet_slots=self.kubelet_slots[columns],
            closures=self.closures[columns],
            uuid_codes=self.uuid_codes[:, columns],
            uuids=self.uuids,
            code_of_uuid=self.code_of_uuid,
        )
