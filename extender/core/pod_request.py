"""What a pod asks of one kind of device."""

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final

from extender.core.company import NO_TRAITS, Traits
from extender.core.container import Lifetime
from extender.core.device_policy import SPREAD_CARDS, DevicePolicy
from extender.core.names import DeviceUUID, KindWord
from extender.core.profiles import ProfileWish


class Sharing(Enum):
    """What containers that share a device must agree on."""

    BY_AMOUNT = "by amount"
    """Nothing: slots, memory and cores must do."""

    EQUALLY = "equally"
    """Each has the same memory there."""

    BY_MEMORY = "by memory"
    """Nothing: slots and memory must do. A request asks for no cores, and takes what it
    computes with from the others."""

    BY_SLOT = "by slot"
    """Nothing: slots must do, and cores where they are asked for. A request asks for
    no memory."""


@dataclass(frozen=True, slots=True)
class ContainerRequest:
    """What one container asks of each of `count` different devices.

    Attributes:
        count: Devices; 0 asks for nothing.
        memory_mib: MiB per device; None when `memory_percent` counts.
        memory_percent: Percent of the device's memory, rounded down; used only
            when `memory_mib` is None. Range 0 to 100.
        core_percent: Percent of one device, per device. Range 0 to 100.
        sharing: What others on the device must agree on.
        cores_of_card: Whether the device counts its cores in units of its own, so that
            `core_percent` is of as many as it registers.
        profile: What it asks for instead of memory and cores, where the device tells
            which parts it can be cut into; None elsewhere.
    """

    count: int = 0
    memory_mib: int | None = 0
    memory_percent: int = 0
    core_percent: int = 0
    sharing: Sharing = field(default=Sharing.BY_AMOUNT, repr=False)
    cores_of_card: bool = field(default=False, repr=False)
    profile: ProfileWish | None = field(default=None, repr=False)


NO_REQUEST: Final = ContainerRequest()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which devices a pod accepts.

    Attributes:
        use_types: Any of these must be in the type, case-insensitively. None is no
            constraint; an empty tuple matches nothing.
        avoid_types: None of these may be in the type.
        use_uuids: Accepted devices. None is no constraint; empty matches nothing.
        avoid_uuids: Devices that are not accepted.
        modes: The mode word of an accepted device is somewhere in this text, or it
            has none. None is no constraint.
        traits: What the pod is to others on the device; of kinds whose devices go by
            that.
    """

    use_types: tuple[str, ...] | None = None
    avoid_types: tuple[str, ...] = ()
    use_uuids: frozenset[DeviceUUID] | None = None
    avoid_uuids: frozenset[DeviceUUID] = frozenset()
    modes: str | None = None
    traits: Traits = NO_TRAITS


ANY_DEVICE: Final = Selection()


class Policy(StrEnum):
    """Which of several fitting nodes is preferred."""

    BINPACK = "binpack"
    SPREAD = "spread"


@dataclass(frozen=True, slots=True)
class PodRequest:
    """All that a pod asks of one kind of device.

    Attributes:
        kind: Of the devices.
        lifetimes: One per container, in start order. Of a kind whose devices are not
            given back when an init exits, an init counts as a sidecar.
        containers: One request per container, in start order.
        selection: Which devices are accepted.
        device_policy: How containers choose among the devices that would serve.
        node_policy: Which fitting node is preferred.
        kubelet_slots: Device ids that kubelet sets aside for the pod, by
            Kubernetes' own formula.
        in_software: Whether it asks for sharing in software, of a kind whose driver
            cuts devices otherwise.
        inits_return: Whether what an init holds is free once it exits.
        tells_cores_apart: Whether an allocation says which cores of a device are given,
            and not how many.
        gets_neighbours: Whether several devices of a container stand in a row.
    """

    kind: KindWord
    lifetimes: tuple[Lifetime, ...]
    containers: tuple[ContainerRequest, ...]
    selection: Selection = ANY_DEVICE
    device_policy: DevicePolicy = SPREAD_CARDS
    node_policy: Policy = Policy.BINPACK
    kubelet_slots: int = 0
    in_software: bool = False
    inits_return: bool = True
    tells_cores_apart: bool = False
    gets_neighbours: bool = False

    @property
    def asks_for_devices(self) -> bool:
        """Whether any container asks for a device."""
        return any(container.count for container in self.containers)

    @property
    def wants_neighbours(self) -> bool:
        """Whether some container gets several devices, which must stand in a row."""
        return self.gets_neighbours and any(each.count > 1 for each in self.containers)

    @property
    def inits_ask_for_devices(self) -> bool:
        """Whether any init does; else the charge is the same by either `Release`."""
        return any(
            container.count
            for lifetime, container in zip(self.lifetimes, self.containers, strict=True)
            if lifetime is Lifetime.INIT
        )
