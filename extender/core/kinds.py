"""Kinds of device: how each vendor names things, and its defaults."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One vendor's kind of device.

    The names are what users write and what the vendor's device plugin reads, so they
    are wire facts; they sit here because rules and texts name them too.

    Source: HAMi v2.10 device-config.yaml, block ``nvidia``.
    """

    type_word: str
    """Second field of every share in an allocation; the plugin searches for it."""

    count_resource: str
    """Resource: number of different devices for the container."""

    memory_resource: str
    """Resource: memory per device, in units of `memory_factor` MiB."""

    memory_percentage_resource: str
    """Resource: memory per device in percent of its registered memory."""

    core_resource: str
    """Resource: percent of one device, per device."""

    register_annotation: str
    """Node annotation: the inventory."""

    to_allocate_annotation: str
    """Pod annotation: the rows that the device plugin still has to serve."""

    allocated_annotation: str
    """Pod annotation: the same rows, never changed afterwards."""

    use_type_annotation: str
    """Pod annotation: accepted card types."""

    avoid_type_annotation: str
    """Pod annotation: card types that are not accepted."""

    use_uuid_annotation: str
    """Pod annotation: accepted cards."""

    avoid_uuid_annotation: str
    """Pod annotation: cards that are not accepted."""

    links_annotation: str | None = None
    """Node annotation: how closely its cards are linked with each other."""

    numa_bind_annotation: str | None = None
    """Pod annotation: all cards of a container on one NUMA node."""

    mode_annotation: str | None = None
    """Pod annotation: accepted modes of cards."""

    memory_factor: int = 1
    """MiB per unit of `memory_resource`; below 1 counts as 1."""

    default_memory_mib: int = 0
    """MiB for a container that names no memory; 0 is the whole device."""

    default_core_percent: int = 0
    """Percent for a container that names no cores."""


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
)
