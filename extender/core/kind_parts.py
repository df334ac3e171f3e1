"""Sizes and cards by which a kind of device is described."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemorySize:
    """A part of a device that its driver can cut.

    Attributes:
        name: What the plugin calls it; may be empty.
        memory_mib: Of it.
    """

    name: str
    memory_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityCards:
    """Cards that no annotation registers: the node's capacity tells how many there are.

    Attributes:
        resource: Whose capacity is counted.
        units_per_card: Of `resource`.
        id_pattern: ``str.format`` with ``node`` and ``index``; a card's id.
        slots: Containers that share a card.
        memory_resource: Whose capacity, in units of the kind's memory factor, the
            cards share equally; None where `memory_mib` counts.
        memory_mib: Of each card.
        core_percent: Of each card.
        core_resource: Whose capacity has to be as many as `core_percent` of all cards;
            None where it need not be named.
        numa_nodes: Over which the cards are spread, in order of their index.
    """

    resource: str
    units_per_card: int = 1
    id_pattern: str
    slots: int = 1
    memory_resource: str | None = None
    memory_mib: int = 0
    core_percent: int = 100
    core_resource: str | None = None
    numa_nodes: int = 1

    @property
    def resources(self) -> tuple[str, ...]:
        """What of the node's capacity is read."""
        named = (self.resource, self.memory_resource, self.core_resource)
        return tuple([each for each in named if each is not None])
