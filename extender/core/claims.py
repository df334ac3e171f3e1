"""What a container names in its resources, before it means anything."""

from dataclasses import dataclass
from typing import Final

from extender.core.company import Trait


@dataclass(frozen=True, slots=True)
class ResourceClaim:
    """The amounts that a container names; None where it names none.

    Attributes:
        count: Different devices.
        memory: Per device, in units of the kind's memory factor.
        percentage: Memory per device, in percent of the device's.
        cores: Percent of one device, per device.
        shares_in_software: The pod asks for it where its kind can cut a device both
            ways; see `Kind.software_annotation`.
        app_class: The pod's, of kinds whose cards go by it; see
            `Kind.app_class_annotation`.
    """

    count: int | None = None
    memory: int | None = None
    percentage: int | None = None
    cores: int | None = None
    shares_in_software: bool = False
    app_class: Trait | None = None

    @property
    def names_any(self) -> bool:
        """Whether any amount is named, 0 too."""
        amounts = (self.count, self.memory, self.percentage, self.cores)
        return any(amount is not None for amount in amounts)


NO_CLAIM: Final = ResourceClaim()
