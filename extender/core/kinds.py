"""Kinds of device: how each vendor names things, its defaults and its rules by name."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from extender.core.kind_admission import NO_ADMISSION, Admission, WrittenAmounts
from extender.core.kind_parts import CapacityCards, MemorySize


class ServedBy(Enum):
    """How a device plugin finds the pod that it has to serve."""

    NODE_LOCK = "node lock"
    """The plugin serves whichever pod the node's lock names, and releases it."""

    OWN_LOCK = "own lock"
    """The plugin serves the only pod that `Kind.assigned_annotations` calls unserved,
    and fails where there are two. It releases `Kind.own_lock_annotation`, and not the
    common lock: whoever took that gives it back once the pod is served."""

    NOTHING = "nothing"
    """The plugin releases no lock: whoever takes it for the Binding gives it back."""


class RequestRule(Enum):
    """What a vendor demands of a request; `extender.core.request_rules` has them."""

    COUNT_LISTED = "count listed"
    """Only the counts of `Kind.counts`."""

    COUNT_EVEN = "count even"
    """Two devices are one module."""

    COUNT_ALONE = "count alone"
    """Devices are counted; memory and cores are not."""

    WHOLE_CARDS = "whole cards"
    """A container gets all of each device."""

    SEVERAL_WHOLE = "several whole"
    """A container with several devices gets all of each; memory and cores that it
    names are those of all its devices together."""

    SEVERAL_ALL_CORES = "several all cores"
    """A container with several devices gets all cores of each."""

    SEVERAL_NOT_SLICED = "several not sliced"
    """A container with several devices cannot name less than all memory of each."""

    MEMORY_LISTED = "memory listed"
    """A container with one device names one of `Kind.memory_sizes`, or gets all."""

    MEMORY_RAISED = "memory raised"
    """Memory is raised to the next of `Kind.memory_sizes`, above them to the whole
    device."""

    CORES_BY_MEMORY = "cores by memory"
    """Cores are the same part of the device as memory is."""

    CORES_IN_SOFTWARE = "cores in software"
    """Cores can be named only where the pod asks for sharing in software."""

    CORES_OF_CARD = "cores of card"
    """Cores are 1 to 100 percent of what the device registers, in its own units."""

    CLASS_ON_ONE_CARD = "class on one card"
    """A container of a pod with an application class gets one device."""

    ONLINE_WITHOUT_CORES = "online without cores"
    """A pod of class online takes no cores, and needs none to be free."""

    COUNT_OR_CORES = "count or cores"
    """A container names devices, and gets them whole, or cores; memory is not
    counted."""

    PROFILE = "profile"
    """A container names slots of one device, or memory and cores, and gets the profile
    that has them."""

    SHARED_EQUALLY = "shared equally"
    """Containers on one device have the same memory."""


_NO_MEMORY: Final = frozenset((RequestRule.COUNT_ALONE, RequestRule.COUNT_OR_CORES))


class SideAnnotations(Enum):
    """What a vendor's plugin reads besides rows; `extender.wire.side_annotations`."""

    CAMBRICON = "cambricon"
    ASCEND = "ascend"
    MTHREADS = "mthreads"
    METAX_SGPU = "metax sgpu"
    KUNLUN = "kunlun"
    AWS_NEURON = "aws neuron"
    ENFLAME_DRS = "enflame drs"


class RegisterForm(Enum):
    """How a register annotation is written."""

    HAMI = "hami"
    """HAMi's JSON, or its older text with a colon after each card."""

    METAX = "metax"
    """MetaX' own JSON."""

    ENFLAME_DRS = "enflame drs"
    """Enflame's own JSON: cards, and the profiles that all of them have."""


class MemoryNotation(Enum):
    """How a container writes an amount of memory."""

    UNITS = "units"
    """A whole number of units of the kind's memory factor."""

    GIB_OR_BYTES = "GiB or bytes"
    """A bare number is GiB, one with a suffix bytes; either becomes MiB."""

    GB_OR_MIB = "GB or MiB"
    """A whole number of GB; of MiB where it is more than twice what the largest profile
    of the card has in GB. `extender.core.profiles` tells that apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One vendor's kind of device.

    The names are what users write and what the vendor's device plugin reads, so they
    are wire facts; they sit here because rules and texts name them too.

    Source: HAMi v2.10 device-config.yaml, and its code for each vendor.
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

    register_form: RegisterForm = RegisterForm.HAMI
    """How `register_annotation` is written."""

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

    rows_name_models: bool = False
    """Whether a share's second field is its device's model instead of `type_word`."""

    side_annotations: SideAnnotations | None = None
    """Pod annotations: what the plugin reads besides rows."""

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

    software_annotation: str | None = None
    """Pod annotation: asks, by the word hami-core, for sharing in software, of a kind
    whose driver cuts devices otherwise."""

    node_software_annotation: str | None = None
    """Node annotation: whether its cards are shared in software, by true or false."""

    is_software_everywhere: bool = False
    """Whether they are where `node_software_annotation` says nothing."""

    qos_annotation: str | None = None
    """Pod annotation: how compute is shared out on its devices, which have one such
    policy at a time. Without it, and for pods of class online, see
    `extender.wire.kind_annotations.read_traits`."""

    app_class_annotation: str | None = None
    """Pod annotation: its class, by which pods keep apart from each other."""

    topology_annotation: str | None = None
    """Pod annotation: whether its devices are to be linked well, by true or false."""

    is_topology_aware: bool = False
    """Whether they are where `topology_annotation` says nothing."""

    memory_notation: MemoryNotation = MemoryNotation.UNITS
    """How a container writes its memory."""

    memory_factor: int = 1
    """MiB per unit of `memory_resource`; below 1 counts as 1."""

    default_memory_mib: int = 0
    """MiB for a container that names no memory; 0 is the whole device."""

    default_core_percent: int = 0
    """Percent for a container that names no cores."""

    rules: tuple[RequestRule, ...] = ()
    """What else holds for a request, in the order in which it is asked."""

    counts: tuple[int, ...] = ()
    """For `RequestRule.COUNT_LISTED`."""

    memory_sizes: tuple[MemorySize, ...] = ()
    """Parts that a device can be cut into, smallest first."""

    whole_card_mib: int = 0
    """What a container gets with a whole device; 0 is all that it registers."""

    most_memory_mib: int = 0
    """The most that can be named; the chip has that much, though it may offer less."""

    whole_card_cores: int = 100
    """All cores of a device, in the unit of `core_resource`."""

    amounts_alone: bool = False
    """Whether a container may name memory or cores without a count."""

    tells_cores_apart: bool = False
    """Whether rows say which cores of a device are given, as bits, and not how many."""

    gives_neighbours: bool = False
    """Whether several devices of a container stand in a row; see
    `extender.core.neighbours`."""

    ring_label: str | None = None
    """Node label: its devices form a ring where `ring_word` is in it, whatever the
    case."""

    ring_word: str = ""
    """For `ring_label`."""

    slots_annotation: str | None = None
    """Pod annotation: tells how many slots each container's share takes, where that is
    not always one."""

    serves_one_container: bool = False
    """Whether its plugin is told the cards of one container of a pod, not of each."""

    inits_return: bool = False
    """Whether an init's share is free once it exits, though its pod lives on.

    True where a library in the container keeps to the share and nothing is cut on the
    card. Where the plugin cuts a part at Allocate, or that is not known, the part
    stays until the pod ends.
    """

    served_by: ServedBy = ServedBy.NODE_LOCK
    """How its plugin finds the pod that it serves."""

    own_lock_annotation: str | None = None
    """Node annotation: a lock that schedulers take besides the common one, and its
    plugin releases; its value is a time."""

    assigned_annotations: tuple[str, ...] = ()
    """Pod annotations: false until its plugin has served the pod, and then true.
    Several where plugins do not agree on the spelling; one that is true counts."""

    admission: Admission = NO_ADMISSION
    """What its pods are given at their creation."""

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

    @property
    def counts_memory(self) -> bool:
        """Whether a share holds memory; else 0 in a row is no fault."""
        return _NO_MEMORY.isdisjoint(self.rules)

    @property
    def unit_mib(self) -> int:
        """MiB that one of `memory_resource` is."""
        return max(self.memory_factor, 1)

    @property
    def memory_unit(self) -> str:
        """What one of `memory_resource` is, for people.

        Example:
            >>> NVIDIA.memory_unit
            'MiB'
        """
        if self.memory_notation is MemoryNotation.GIB_OR_BYTES:
            return "GiB, or bytes with a suffix"
        if self.memory_notation is MemoryNotation.GB_OR_MIB:
            return "GB, or MiB where it is far above the largest profile"
        return "MiB" if self.unit_mib == 1 else f"{self.unit_mib} MiB"


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
    inits_return=True,
    admission=Admission(
        default_count=1,
        amounts=WrittenAmounts.ALL_CORES_OF_WHOLE,
        priority_resource="nvidia.com/priority",
        priority_env="CUDA_TASK_PRIORITY",
        hidden_env=("NVIDIA_VISIBLE_DEVICES", "none"),
        core_policy_env="GPU_CORE_UTILIZATION_POLICY",
    ),
)
