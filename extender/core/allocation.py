"""What each container of a pod holds on which device."""

from dataclasses import dataclass

from extender.core.mig import MigInstance
from extender.core.names import DeviceUUID, KindWord


@dataclass(frozen=True, slots=True)
class Share:
    """One container's hold on one device.

    Attributes:
        device_uuid: The device.
        memory_mib: MiB.
        core_percent: Percent of the device.
        kind: Of the device.
        is_kept: Whether it is held until the pod ends, whichever container runs: of a
            kind that gives back nothing earlier.
        instance: The part of the device that it is; None where it is no part of its
            own, as on every device that is not in MIG mode.
        slots: That it takes there; more than one of a profile alone.
        cores: Which cores of the device it has, as bits, of a kind that tells them
            apart; then `core_percent` is how many. Else 0.
    """

    device_uuid: DeviceUUID
    memory_mib: int
    core_percent: int
    kind: KindWord
    is_kept: bool = False
    instance: MigInstance | None = None
    slots: int = 1
    cores: int = 0


Row = tuple[Share, ...]
"""The shares of one container, kind by kind, in the order in which it sees them."""

Allocation = tuple[Row, ...]
"""One row per container in start order; a container without devices has ``()``."""


@dataclass(frozen=True, slots=True)
class UnreadableAllocation:
    """An allocation that is there but cannot be trusted.

    Attributes:
        problem: What is wrong with it, for the person who mends it.
        named: Devices that its text names, as far as that can be told.
        kinds: Of the devices that it may be about.
    """

    problem: str
    named: tuple[DeviceUUID, ...]
    kinds: frozenset[KindWord]
