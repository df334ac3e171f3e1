"""The words of the domain as frozen values. Units are in the names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final, NewType, Self

from extender.core.company import NO_TRAITS, Traits
from extender.core.device_policy import SPREAD_CARDS, DevicePolicy
from extender.core.mig import MIG_MODE, MigInstance, MigProfiles
from extender.core.profiles import CardProfiles, ProfileWish
from extender.core.quota_scopes import PLAIN_QUOTA_TRAITS, QuotaTraits

KindWord = str
"""`Kind.type_word`, which names a kind of device."""

NodeName = NewType("NodeName", str)
DeviceUUID = NewType("DeviceUUID", str)
PodUID = NewType("PodUID", str)

MAX_INT32: Final = 2**31 - 1
"""Largest number that HAMi's readers accept in an annotation or a request."""


class Lifetime(Enum):
    """When a container holds its devices.

    Source: KEP-753. The position in ``initContainers`` says nothing about it; only
    ``restartPolicy: Always`` does.
    """

    INIT = "init"
    """Runs alone, beside the sidecars declared before it, and exits."""

    SIDECAR = "sidecar"
    """Starts in its turn and runs until the pod ends."""

    APP = "app"
    """Runs from the last init's exit until the pod ends."""


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


@dataclass(frozen=True, slots=True)
class ContainerUsage:
    """What one container holds per device, and when.

    Attributes:
        lifetime: When it runs.
        held: What it holds while it runs.
        kept: What it holds from the pod's start to its end, whenever it runs.
    """

    lifetime: Lifetime
    held: Mapping[DeviceUUID, Usage]
    kept: Mapping[DeviceUUID, Usage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod's spec."""

    name: str
    lifetime: Lifetime


class RunState(Enum):
    """Where a container stands, by its status."""

    UNKNOWN = "unknown"
    WAITING = "waiting"
    RUNNING = "running"
    TERMINATED = "terminated"


@dataclass(frozen=True, slots=True)
class ContainerStatus:
    """What the API shows of one container.

    Attributes:
        run_state: Its present state.
        exit_code: Of the present state, when terminated.
        finished_at: Unix seconds of the present state, when terminated and readable.
        has_started: Whether it ran at any time, as far as the API shows.
    """

    run_state: RunState = RunState.UNKNOWN
    exit_code: int | None = None
    finished_at: float | None = None
    has_started: bool = False


NO_STATUS: Final = ContainerStatus()


class SandboxReadiness(Enum):
    """Condition PodReadyToStartContainers."""

    NOT_SHOWN = "not shown"
    READY = "ready"
    NOT_READY = "not ready"
    """False, Unknown, or a value that cannot be read."""


class PodPhase(StrEnum):
    """``status.phase``; anything else is read as UNKNOWN."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class PodStatus:
    """What the charge depends on besides allocation and release.

    Attributes:
        phase: The pod's phase.
        containers: One status per container, in start order; may be shorter than
            the spec, and a missing one is unknown.
        sandbox: Whether the sandbox is up.
        sandbox_changed_at: Unix seconds at which `sandbox` last changed; None when
            not shown or not readable.
        is_restarting_all: Condition AllContainersRestarting is True.
        restarted_all_at: Unix seconds at which that condition became False, infinity
            when that cannot be read; None when it is not shown False.
        is_terminating: The pod has a deletionTimestamp.
    """

    phase: PodPhase = PodPhase.PENDING
    containers: tuple[ContainerStatus, ...] = ()
    sandbox: SandboxReadiness = SandboxReadiness.NOT_SHOWN
    sandbox_changed_at: float | None = None
    is_restarting_all: bool = False
    restarted_all_at: float | None = None
    is_terminating: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether the pod's containers have ended for good."""
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)

    def of(self, index: int) -> ContainerStatus:
        """Give the status of the container at `index` in start order."""
        return self.containers[index] if index < len(self.containers) else NO_STATUS


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


class Release(StrEnum):
    """When a pod gives back what only its inits needed."""

    AFTER_INIT = "after-init"
    """Phase by phase, as its inits exit; taken again where they run again."""

    NEVER = "never"
    """Not while it lives, so that its inits can run again at any time."""


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


@dataclass(frozen=True, slots=True)
class Placing:
    """What a scheduler has written of an unbound pod's place; no charge by itself.

    Attributes:
        node_name: Where its annotations put it, as HAMi's filter writes them.
        at: When, as the scheduler spells it: another text is another choice.
        refusal: Why it is unschedulable, in the scheduler's words; None where it is not
            said to be.
    """

    node_name: NodeName | None = None
    at: str = ""
    refusal: str | None = None


NOT_PLACED: Final = Placing()


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod as the API shows it, reduced to what decides.

    Attributes:
        node_name: ``spec.nodeName``; None while unbound.
        containers: initContainers as declared, then containers.
        requests: What it asks for, kind by kind, with everything unreadable left out;
            there is none for a kind that it does not name.
        request_problem: Why the request cannot be honoured as written; such a pod
            is refused on every node by this text.
        allocation: What its annotation says it holds; None when it has none.
        status: What the charge depends on besides allocation and release.
        release: When its inits' shares are given back.
        warnings: Settings of the pod that were read as the default.
        priority: Of its class; decides which pods a nomination holds room against.
        nominated_node: Where kube-scheduler evicted others for it; None without.
        is_unserved: Whether a device plugin still has to hand out its devices: it is
            Pending, with rows to allocate or a bind that no plugin has answered, and
            nothing shows yet that kubelet has admitted it.
        leftovers: Annotations by which an unbound pod tells of an allocation: copied
            from another pod, or of a bind that failed. None of them is its own.
        quota_traits: Tell which quotas of its namespace count it.
        scheduler_name: Who shall place it; empty where it does not say.
        placing: What a scheduler has written of its place while it is unbound.
    """

    uid: PodUID
    namespace: str
    name: str
    node_name: NodeName | None
    containers: tuple[Container, ...]
    requests: tuple[PodRequest, ...] = ()
    request_problem: str | None = None
    allocation: Allocation | UnreadableAllocation | None = None
    status: PodStatus = field(default_factory=PodStatus)
    release: Release = Release.AFTER_INIT
    warnings: tuple[str, ...] = ()
    priority: int = 0
    nominated_node: NodeName | None = None
    is_unserved: bool = False
    leftovers: tuple[str, ...] = ()
    quota_traits: QuotaTraits = PLAIN_QUOTA_TRAITS
    scheduler_name: str = ""
    placing: Placing = NOT_PLACED

    @property
    def full_name(self) -> str:
        """``namespace/name``, as kubectl users write it."""
        return f"{self.namespace}/{self.name}"

    @property
    def lifetimes(self) -> tuple[Lifetime, ...]:
        """One per container, in start order."""
        return tuple([container.lifetime for container in self.containers])

    @property
    def asks_for_devices(self) -> bool:
        """Whether any container asks for a device of any kind."""
        return any(request.asks_for_devices for request in self.requests)

    @property
    def waits_for_devices(self) -> bool:
        """Whether it is still to be placed, and asks for devices that can be given."""
        return (
            self.node_name is None
            and self.asks_for_devices
            and self.request_problem is None
            and not self.status.is_finished
            and not self.status.is_terminating
        )

    @property
    def asking(self) -> tuple[PodRequest, ...]:
        """The requests by which it asks for devices."""
        return tuple([each for each in self.requests if each.asks_for_devices])

    @property
    def is_exclusive(self) -> bool:
        """Whether nobody may join it on its devices."""
        return any(each.device_policy.is_exclusive for each in self.requests)

    @property
    def traits(self) -> Traits:
        """What it is to others on its devices."""
        return NO_TRAITS.union(*[each.selection.traits for each in self.requests])

    @property
    def node_policy(self) -> Policy:
        """Which fitting node is preferred; the same for all that it asks for."""
        return self.requests[0].node_policy if self.requests else Policy.BINPACK

    @property
    def kubelet_slots(self) -> Mapping[KindWord, int]:
        """Device ids that kubelet sets aside for it, of each kind that it names."""
        return {
            each.kind: each.kubelet_slots
            for each in self.requests
            if each.kubelet_slots
        }


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
