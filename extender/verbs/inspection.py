"""What is told of a cluster: its cards, what is charged on them, and who holds it.

Views: plain values, which become JSON by their fields' names. ``charged`` is what pods
are charged, also before they run: `extender.core.phases`. Reasons are codes of
`extender.core.reasons`.
"""

from dataclasses import dataclass

from extender.core.names import DeviceUUID, KindWord, NodeName, PodUID
from extender.core.reasons import Reason
from extender.core.usage import Usage
from extender.verbs.explanation import (
    ContainerAsk,
    HeldCard,
    Holder,
    LockView,
    PhaseNeed,
)


@dataclass(frozen=True, slots=True)
class InspectedCard:
    """One card.

    Attributes:
        device_uuid: Its UUID.
        index: That its node gives it.
        model: Its registered type.
        kind: Of device.
        mode: Its mode word; may be empty.
        capacity: What it has.
        charged: Of all pods; may be more than there is.
        closed_by: Why no further container gets anything of it, whatever it asks; None
            where one that is small enough may.
        stranded_mib: Memory that is free, and that nobody can get since it is closed.
        counts_units: Whether cores are units of the card, and not percent.
        holders: Who holds it; those that hold most come first.
    """

    device_uuid: DeviceUUID
    index: int
    model: str
    kind: KindWord
    mode: str
    capacity: Usage
    charged: Usage
    closed_by: Reason | None = None
    stranded_mib: int = 0
    counts_units: bool = False
    holders: tuple[Holder, ...] = ()

    @property
    def free_mib(self) -> int:
        """MiB that are not charged; 0 where more is charged than there is."""
        return max(self.capacity.memory_mib - self.charged.memory_mib, 0)


@dataclass(frozen=True, slots=True)
class DeviceIds:
    """Kubelet's device ids of one kind on one node.

    Attributes:
        kind: Of device.
        taken: Set aside for pods.
        allocatable: What the node offers.
    """

    kind: KindWord
    taken: int
    allocatable: int


@dataclass(frozen=True, slots=True)
class ModelCount:
    """How many cards of a model a node has."""

    kind: KindWord
    model: str
    cards: int


@dataclass(frozen=True, slots=True)
class NodeSummary:
    """One node in one line.

    Attributes:
        node: Its name.
        models: What cards it has; empty where none can be read.
        capacity: Of all its cards.
        charged: On all of them.
        closed_cards: How many take no further container.
        stranded_mib: On these.
        pods: How many hold something there.
        problems: Why cards cannot be read or do not count, and what else is wrong.
        counts_units: Whether cores of some card are units of it, and not percent.
    """

    node: NodeName
    models: tuple[ModelCount, ...]
    capacity: Usage
    charged: Usage
    closed_cards: int = 0
    stranded_mib: int = 0
    pods: int = 0
    problems: tuple[str, ...] = ()
    counts_units: bool = False


@dataclass(frozen=True, slots=True)
class InspectedNode:
    """One node in full.

    Attributes:
        summary: In one line.
        cards: In the order of their numbers, kind by kind.
        device_ids: Of kubelet, of each kind that counts.
        elsewhere: Who holds devices that the node does not show, by UUID.
        lock: None while nobody holds it.
        nominated: Pods that others were evicted for; they are not charged yet.
        generation: Of the state.
    """

    summary: NodeSummary
    cards: tuple[InspectedCard, ...]
    device_ids: tuple[DeviceIds, ...] = ()
    elsewhere: tuple["StrayHolder", ...] = ()
    lock: LockView | None = None
    nominated: tuple[str, ...] = ()
    generation: int = 0


@dataclass(frozen=True, slots=True)
class StrayHolder:
    """Who holds a device that its node does not show."""

    device_uuid: DeviceUUID
    holder: Holder


@dataclass(frozen=True, slots=True)
class Stranded:
    """Memory that is free and that nobody can get, for one reason.

    Attributes:
        reason: Why.
        cards: On how many.
        memory_mib: On all of them.
    """

    reason: Reason
    cards: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class ShapeRoom:
    """How many containers of one size would still get a card.

    Attributes:
        percent: Of a card's memory that each asks for; no cores.
        count: Of them, beside one another, each in a pod of its own.
    """

    percent: int
    count: int


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """All cards of one kind and model.

    Attributes:
        kind: Of device.
        model: The registered type.
        nodes: How many have such.
        cards: How many there are.
        capacity: Of all.
        charged: On all.
        untouched_cards: How many are open, and nobody holds anything of.
        free_mib: On cards that are open.
        largest_free_mib: The most on one of these.
        stranded: Free memory on cards that are closed, by reason; most first.
        shapes: How finely the rest is scattered; empty where the vendor does not cut
            memory to measure, or the cards are in MIG mode.
        counts_units: Whether cores are units of the card, and not percent.
    """

    kind: KindWord
    model: str
    nodes: int
    cards: int
    capacity: Usage
    charged: Usage
    untouched_cards: int
    free_mib: int
    largest_free_mib: int
    stranded: tuple[Stranded, ...] = ()
    shapes: tuple[ShapeRoom, ...] = ()
    counts_units: bool = False

    @property
    def stranded_mib(self) -> int:
        """MiB, for all reasons."""
        return sum(each.memory_mib for each in self.stranded)


@dataclass(frozen=True, slots=True)
class PodCounts:
    """How many pods that ask for devices are how far.

    Attributes:
        waiting: Without a place.
        reserved: Their bind is under way.
        bound: Hold devices on a node.
    """

    waiting: int = 0
    reserved: int = 0
    bound: int = 0


@dataclass(frozen=True, slots=True)
class ClusterInspection:
    """A cluster.

    Attributes:
        models: Kind by kind, those with most cards first.
        nodes: Those that show devices or hold some, by name.
        bare_nodes: How many others there are.
        pods: How far they are.
        in_full: All nodes of a small cluster, else those that were asked for.
        generation: Of the state, at the start.
        is_of_one_moment: Whether that was the same to the end.
    """

    models: tuple[ModelSummary, ...]
    nodes: tuple[NodeSummary, ...]
    bare_nodes: int
    pods: PodCounts
    in_full: tuple[InspectedNode, ...] = ()
    generation: int = 0
    is_of_one_moment: bool = True


@dataclass(frozen=True, slots=True)
class InspectedPod:
    """One pod: what it asks for and holds, and when that comes back.

    Attributes:
        namespace: Of the pod.
        name: The same.
        uid: The same.
        node: Where it counts; None where it counts nowhere.
        status: Its phase in the API.
        standing: Why it counts: allocated, reserved and so on.
        runs: Which phase of its life counts now; empty where no init asks for any.
        asks: What its containers ask for.
        phases: The same by phases of its life.
        holds: Its cards, phase by phase, with what returns when.
        problem: What is wrong with its request or allocation.
        warnings: Settings of it that were read as the default.
        generation: Of the state.
    """

    namespace: str
    name: str
    uid: PodUID
    node: NodeName | None
    status: str
    standing: str
    runs: str = ""
    asks: tuple[ContainerAsk, ...] = ()
    phases: tuple[PhaseNeed, ...] = ()
    holds: tuple[HeldCard, ...] = ()
    problem: str | None = None
    warnings: tuple[str, ...] = ()
    generation: int = 0

    @property
    def full_name(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"
