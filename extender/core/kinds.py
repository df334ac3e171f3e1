"""Kinds of device: how each vendor names things, and its defaults."""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class ServedBy(Enum):
    """How a device plugin finds the pod that it has to serve."""

    NODE_LOCK = "node lock"
    """The plugin serves whichever pod the node's lock names, and releases it."""

    NOTHING = "nothing"
    """The plugin releases no lock: whoever takes it for the Binding gives it back."""


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
    """

    resource: str
    units_per_card: int = 1
    id_pattern: str
    slots: int = 1
    memory_resource: str | None = None
    memory_mib: int = 0
    core_percent: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One vendor's kind of device.

    The names are what users write and what the vendor's device plugin reads, so they
    are wire facts; they sit here because rules and texts name them too.

    Source: HAMi v2.10 device-config.yaml, block ``nvidia``.
    """

    type_word: str
    """Second field of every share in an allocation; the plugin searches for it. It
    also names the kind: no two kinds have the same."""

    count_resource: str
    """Resource: number of different devices for the container."""

    memory_resource: str | None = None
    """Resource: memory per device, in units of `memory_factor` MiB."""

    memory_percentage_resource: str | None = None
    """Resource: memory per device in percent of its registered memory."""

    core_resource: str | None = None
    """Resource: percent of one device, per device."""

    register_annotation: str | None = None
    """Node annotation: the inventory; None where `capacity_cards` tells it."""

    capacity_cards: CapacityCards | None = None
    """The inventory where no annotation tells it."""

    handshake_annotation: str | None = None
    """Node annotation: asks the plugin to register again; None where it does so
    unasked."""

    to_allocate_annotation: str | None = None
    """Pod annotation: the rows that the device plugin still has to serve; None where
    it reads `allocated_annotation`."""

    allocated_annotation: str
    """Pod annotation: the same rows, never changed afterwards."""

    use_type_annotation: str | None = None
    """Pod annotation: accepted card types."""

    avoid_type_annotation: str | None = None
    """Pod annotation: card types that are not accepted."""

    use_uuid_annotation: str | None = None
    """Pod annotation: accepted cards."""

    avoid_uuid_annotation: str | None = None
    """Pod annotation: cards that are not accepted."""

    links_annotation: str | None = None
    """Node annotation: how closely its cards are linked with each other."""

    numa_bind_annotation: str | None = None
    """Pod annotation: all cards of a container on one NUMA node."""

    mode_annotation: str | None = None
    """Pod annotation: accepted modes of cards."""

    mig_annotation: str | None = None
    """Pod annotation: the instances that it has of cards in MIG mode."""

    memory_factor: int = 1
    """MiB per unit of `memory_resource`; below 1 counts as 1."""

    default_memory_mib: int = 0
    """MiB for a container that names no memory; 0 is the whole device."""

    default_core_percent: int = 0
    """Percent for a container that names no cores."""

    served_by: ServedBy = ServedBy.NODE_LOCK
    """How its plugin finds the pod that it serves."""

    @property
    def resources(self) -> tuple[str, ...]:
        """Every resource by which a container asks for it; the count comes first."""
        named = (
            self.count_resource,
            self.memory_resource,
            self.memory_percentage_resource,
            self.core_resource,
        )
        return tuple([each for each in named if each is not None])


NVIDIA: Final = Kind(
    type_word="NVIDIA",
    count_resource="nvidia.com/gpu",
    memory_resource="nvidia.com/gpumem",
    memory_percentage_resource="nvidia.com/gpumem-percentage",
    core_resource="nvidia.com/gpucores",
    register_annotation="hami.io/node-nvidia-register",
    to_allocate_annotation="hami.io/vgpu-devices-to-allocate",
    allocated_annotation="hami.io/vgpu-devices-allocated",
    use_type_annotation="nvidia.com/use-gputype",
    avoid_type_annotation="nvidia.com/nouse-gputype",
    use_uuid_annotation="nvidia.com/use-gpuuuid",
    avoid_uuid_annotation="nvidia.com/nouse-gpuuuid",
    links_annotation="hami.io/node-nvidia-score",
    numa_bind_annotation="nvidia.com/numa-bind",
    mode_annotation="nvidia.com/vgpu-mode",
    mig_annotation="hami.io/vgpu-mig-allocations",
)
