"""An amount of slots, memory and cores. Units are in the names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from extender.core.names import DeviceUUID


@dataclass(frozen=True, slots=True)
class Usage:
    """An amount held on one device, or the capacity of one.

    Attributes:
        slots: Containers.
        memory_mib: MiB.
        core_percent: Percent of one device.
    """

    slots: int = 0
    memory_mib: int = 0
    core_percent: int = 0

    def __str__(self) -> str:
        """Tell it to people.

        Example:
            >>> print(Usage(2, 20_000, 30))
            2 slots, 20000 MiB, 30 % of cores
        """
        return (
            f"{self.slots} slots, {self.memory_mib} MiB, {self.core_percent} % of cores"
        )

    def __add__(self, other: Self) -> "Usage":
        return Usage(
            self.slots + other.slots,
            self.memory_mib + other.memory_mib,
            self.core_percent + other.core_percent,
        )

    def __sub__(self, other: Self) -> "Usage":
        return Usage(
            self.slots - other.slots,
            self.memory_mib - other.memory_mib,
            self.core_percent - other.core_percent,
        )

    def largest(self, other: Self) -> "Usage":
        """Take the maximum of each dimension on its own.

        Example:
            >>> Usage(1, 20_000, 0).largest(Usage(2, 12_000, 30))
            Usage(slots=2, memory_mib=20000, core_percent=30)
        """
        return Usage(
            max(self.slots, other.slots),
            max(self.memory_mib, other.memory_mib),
            max(self.core_percent, other.core_percent),
        )

    def smallest(self, other: Self) -> "Usage":
        """Take the minimum of each dimension on its own.

        Example:
            >>> Usage(1, 20_000, 0).smallest(Usage(2, 12_000, 30))
            Usage(slots=1, memory_mib=12000, core_percent=0)
        """
        return Usage(
            min(self.slots, other.slots),
            min(self.memory_mib, other.memory_mib),
            min(self.core_percent, other.core_percent),
        )

    def exceeds(self, capacity: Self) -> bool:
        """Tell whether any dimension is more than there is."""
        return (
            self.slots > capacity.slots
            or self.memory_mib > capacity.memory_mib
            or self.core_percent > capacity.core_percent
        )


NOTHING: Final = Usage()
Charge = Mapping[DeviceUUID, Usage]
"""What a pod is charged on each device that it names."""
