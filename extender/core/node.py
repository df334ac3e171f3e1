"""A node and its devices as the API shows them, reduced to what decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from extender.core.mig import MIG_MODE, MigProfiles
from extender.core.names import DeviceUUID, KindWord, NodeName
from extender.core.profiles import CardProfiles
from extender.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Device:
    """One physical card as its node registers it.

    Attributes:
        device_uuid: Identity within the node.
        index: Position that the node gives it; orders equal devices.
        capacity: Slots, MiB and percent that it offers.
        model: Registered type, such as ``NVIDIA A10``.
        is_healthy: Whether its plugin calls it usable.
        is_cordoned: Whether an administrator closed it to new work.
        mode: Mode word, such as ``hami-core`` or ``mig``; may be empty.
        numa_node: Which of the node's NUMA nodes it is at.
        mig_profiles: What it can be cut into, in MIG mode.
        core_step: Units of cores that its plugin hands out together, where it counts
            cores in units of its own; see `ContainerRequest.cores_of_card`.
        profiles: What its driver cuts it into, where a container asks for a profile.
        minor: Of its device file, where its plugin is told that.
    """

    device_uuid: DeviceUUID
    index: int
    capacity: Usage
    model: str
    is_healthy: bool = True
    is_cordoned: bool = False
    mode: str = ""
    numa_node: int = 0
    mig_profiles: MigProfiles = ()
    core_step: int = 1
    profiles: CardProfiles = ()
    minor: str = ""

    @property
    def is_mig(self) -> bool:
        """Whether it is cut into instances as pods come and go."""
        return self.mode == MIG_MODE


Links = Mapping[DeviceUUID, Mapping[DeviceUUID, int]]
"""How closely each card is linked with others; a missing score is 0."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """A node's devices of one kind.

    Attributes:
        devices: What it registers; None when it registers nothing.
        allocatable_slots: Allocatable of the kind's count resource.
        problem: Why its devices cannot be read; None when they can.
        links: How they are linked; empty where it does not tell.
        is_left_out: Whether its node is not one of those that are scheduled here; then
            nothing of it was read.
    """

    devices: tuple[Device, ...] | None
    allocatable_slots: int
    problem: str | None = None
    links: Links = field(default_factory=dict, hash=False)
    is_left_out: bool = False

    @property
    def is_usable(self) -> bool:
        """Whether its devices count: registered, readable, and their plugin lives."""
        return (
            self.devices is not None
            and self.problem is None
            and self.allocatable_slots > 0
        )


@dataclass(frozen=True, slots=True)
class Node:
    """A node as the API shows it, reduced to what decides.

    Attributes:
        inventories: What it has of each kind; a kind that it shows nothing of has
            none.
        lock: Value of the annotation by which one pod at a time is served; None
            while nobody holds it.
        own_locks: Names and values of the annotations by which some kinds lock it
            besides, of those that are held.
        version: Of this view of it; a write that names it fails on any later one.
        warnings: What else of it cannot be read; its cards count nevertheless.
        handshakes: Names and texts of the annotations by which plugins are asked to
            register, where the node has devices of such a kind.
        is_left_out: Whether it is not one of those that are scheduled here.
        texts: What its devices were read from, by name; None where that is not told.
            Nodes with equal texts have equal devices.
    """

    name: NodeName
    inventories: Mapping[KindWord, Inventory] = field(default_factory=dict, hash=False)
    lock: str | None = None
    version: str = ""
    warnings: tuple[str, ...] = ()
    handshakes: tuple[tuple[str, str], ...] = ()
    is_left_out: bool = False
    texts: tuple[tuple[str, str], ...] | None = field(
        default=None, compare=False, repr=False
    )
    own_locks: tuple[tuple[str, str], ...] = ()

    @property
    def devices(self) -> list[Device]:
        """Every device that it registers, kind by kind."""
        return [
            device
            for inventory in self.inventories.values()
            for device in inventory.devices or ()
        ]

    @property
    def usable_devices(self) -> list[Device]:
        """Those that count, kind by kind."""
        return [
            device
            for inventory in self.inventories.values()
            if inventory.is_usable
            for device in inventory.devices or ()
        ]

    @property
    def is_usable(self) -> bool:
        """Whether devices of any kind count."""
        return any(each.is_usable for each in self.inventories.values())
