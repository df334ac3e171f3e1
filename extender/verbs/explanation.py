"""What is told of a pod: where it fits, where not and why, who holds what, and when.

Views: plain values, which become JSON by their fields' names. Reasons are codes of
`extender.core.reasons`.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from extender.core.container import Lifetime
from extender.core.names import DeviceUUID, KindWord, NodeName, PodUID
from extender.core.quota_room import Shortage
from extender.core.reasons import Reason
from extender.core.usage import Usage
from extender.verbs.findings import Finding


class Outcome(StrEnum):
    """What becomes of a pod."""

    FITS = "fits"
    REFUSED = "refused"
    """On every node."""

    BOUND = "bound"
    RESERVED = "reserved"
    """Its bind is under way."""

    ENDED = "ended"
    NO_DEVICES = "asks for no device"


class CauseKind(StrEnum):
    """What stands in the way of a pod that waits."""

    BAD_REQUEST = "bad request"
    TOO_LARGE = "too large"
    NO_PROFILE = "no profile"
    TOO_MANY_CARDS = "too many cards"
    WRONG_MODEL = "wrong model"
    WRONG_MODE = "wrong mode"
    NO_SUCH_CARD = "no such card"
    NO_CARDS = "no cards"
    NOT_SELECTED = "nodes not selected"
    OUT_OF_SERVICE = "out of service"
    SILENT_PLUGIN = "silent plugin"
    UNREADABLE = "unreadable"
    HELD = "held by others"
    SCATTERED = "scattered"
    SLOTS = "slots used up"
    DEVICE_IDS = "device ids used up"
    ALONE = "wants to be alone"
    KEPT_OUT = "kept out"
    COMPANY = "other company"
    NO_INSTANCE = "no instance"
    TOGETHER = "not together"
    QUOTA = "quota"
    QUOTA_UNREADABLE = "quota unreadable"
    LOCKED = "locked"
    UNDECIDED = "undecided"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a pod waits.

    Attributes:
        kind: In a word.
        text: In a sentence.
        note: What to do.
    """

    kind: CauseKind
    text: str
    note: str


@dataclass(frozen=True, slots=True)
class ContainerAsk:
    """What one container asks of one kind of device.

    Attributes:
        container: Its name.
        lifetime: When it runs.
        kind: Of the devices.
        cards: How many different ones.
        memory_mib: Of each; None where a percentage counts.
        memory_percent: Of each card's memory, where `memory_mib` is None.
        core_percent: Of each.
    """

    container: str
    lifetime: Lifetime
    kind: KindWord
    cards: int
    memory_mib: int | None
    memory_percent: int
    core_percent: int


@dataclass(frozen=True, slots=True)
class PhaseNeed:
    """What the containers of one phase ask for together, of one kind.

    Attributes:
        name: The init with the sidecars beside it, or the steady phase.
        kind: Of the devices.
        slots: Shares.
        memory_mib: On all cards together; percentages apart.
        memory_percent: Added up over cards, of those that name a percentage.
        core_percent: Added up over cards.
        binds: Whether no other phase needs more of anything: then the pod is charged
            for this one. Where several phases each need most of something, all of these
            bind.
    """

    name: str
    kind: KindWord
    slots: int
    memory_mib: int
    memory_percent: int
    core_percent: int
    binds: bool


@dataclass(frozen=True, slots=True)
class Return:
    """What comes back, and when.

    Attributes:
        when: Completes "returns when": an init exits, or the pod ends.
        amount: Of the card.
    """

    when: str
    amount: Usage


@dataclass(frozen=True, slots=True)
class Holder:
    """A pod that counts on a card.

    Attributes:
        pod: ``namespace/name``.
        pod_uid: Its UID.
        why: Why it counts: allocated, reserved, nominated and so on.
        status: Its phase in the API.
        runs: Which phase of its life counts now.
        held: What it is charged there.
        returns: What comes back of it, in order; its sum is `held`.
    """

    pod: str
    pod_uid: PodUID
    why: str
    status: str
    runs: str
    held: Usage
    returns: tuple[Return, ...] = ()


@dataclass(frozen=True, slots=True)
class CardView:
    """A card, for a pod that would like some of it.

    Attributes:
        device_uuid: Its UUID.
        index: That its node gives it.
        model: Its type.
        kind: Of device.
        capacity: What it has.
        free: What is left now; negative where more is held than there is.
        needed: What the container asks that did not fit; None where none was refused
            there.
        beside: What other containers of the pod would hold at that moment.
        refused_by: The first rule that refused it.
        holders: Who holds the rest.
        counts_units: Whether cores are units of the card, and not percent.
    """

    device_uuid: DeviceUUID
    index: int
    model: str
    kind: KindWord
    capacity: Usage
    free: Usage
    needed: Usage | None = None
    beside: Usage = Usage()  # noqa: RUF009 - frozen
    refused_by: Reason | None = None
    holders: tuple[Holder, ...] = ()
    counts_units: bool = False


@dataclass(frozen=True, slots=True)
class LockView:
    """A node's lock that is held.

    Attributes:
        holder: ``namespace/name`` of the pod that it names; None where it names none.
        refuses: Whether it has stood so long that filter refuses the node.
    """

    holder: str | None
    refuses: bool = False


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node's answer in full.

    Attributes:
        node: Its name.
        fits: Whether filter returns it.
        is_unresolvable: Whether it would not fit either if no pod held anything there.
        reasons: Filter's codes.
        findings: The same with numbers; on an unresolvable node those of the empty one.
        problem: What is wrong with the node or the pod, where it is that.
        container: The first container that did not fit.
        phase: In which phase of the pod's life.
        cards: All that could serve, with who holds them.
        lock: None while nobody holds it.
        expected: Pods that were sent there a moment ago, and are not at their bind yet.
        note: What else there is to say.
    """

    node: NodeName
    fits: bool
    is_unresolvable: bool = False
    reasons: tuple[Reason, ...] = ()
    findings: tuple[Finding, ...] = ()
    problem: str | None = None
    container: str | None = None
    phase: str | None = None
    cards: tuple[CardView, ...] = ()
    lock: LockView | None = None
    expected: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that refuse a pod for the same reasons.

    Attributes:
        reasons: Filter's codes; empty where the pod's request is what is wrong.
        text: As filter writes them.
        is_unresolvable: As `NodeView` has it.
        nodes: All of them.
        nearest: The one that lacks least, as far as that can be told quickly; it is
            explained in full.
    """

    reasons: tuple[Reason, ...]
    text: str
    is_unresolvable: bool
    nodes: tuple[NodeName, ...]
    nearest: NodeName


@dataclass(frozen=True, slots=True)
class CardRelief:
    """What must become free of one kind of device on one node.

    Attributes:
        kind: Of device.
        cards: Which; empty where only device ids are short.
        indices: The same by the numbers that the node gives them.
        amount: On each of them.
        device_ids: Of kubelet's.
        counts_units: Whether cores are units of the card, and not percent.
    """

    kind: KindWord
    cards: tuple[DeviceUUID, ...]
    indices: tuple[int, ...]
    amount: Usage
    device_ids: int = 0
    counts_units: bool = False


@dataclass(frozen=True, slots=True)
class NearMiss:
    """The node where least is missing.

    Attributes:
        node: Its name.
        reliefs: What must become free there, kind by kind; less is not enough.
        cost: The same as a share of what the cards have, added up.
        is_of_empty: Whether it is missing even if no pod holds anything there: then the
            card is too small, and nothing that becomes free helps.
        is_nearest: Whether all nodes were compared; False where there were too many of
            which it could not be told quickly that they lack more.
    """

    node: NodeName
    reliefs: tuple[CardRelief, ...]
    cost: float
    is_of_empty: bool = False
    is_nearest: bool = True


@dataclass(frozen=True, slots=True)
class PlacedShare:
    """One container's share of one card."""

    container: str
    lifetime: Lifetime
    kind: KindWord
    device_uuid: DeviceUUID
    index: int
    memory_mib: int
    core_percent: int
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class ScoreTerms:
    """How a node's score of one kind comes about.

    Attributes:
        kind: Of device.
        policy: Which nodes are preferred.
        slots: Part of the node's slots that is in use with the pod there.
        memory: The same of memory.
        cores: The same of cores.
        score: 1 to 10.
    """

    kind: KindWord
    policy: str
    slots: float
    memory: float
    cores: float
    score: int


@dataclass(frozen=True, slots=True)
class RankedNode:
    """A node that fits, and how good it is."""

    node: NodeName
    score: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pod would go by our own scores.

    Attributes:
        node: The best one; of equal ones the first by name.
        score: 0 to 10, with what is taken off for binds ahead.
        terms: How it comes about; the score before is their mean.
        binds_ahead: Binds that would come first there.
        shares: The cards that it would get.
        ranking: The best nodes, this one first.
    """

    node: NodeName
    score: int
    terms: tuple[ScoreTerms, ...]
    binds_ahead: int
    shares: tuple[PlacedShare, ...]
    ranking: tuple[RankedNode, ...]


@dataclass(frozen=True, slots=True)
class PhaseHeld:
    """What one phase of a pod's life holds of a card.

    Attributes:
        name: Of the phase.
        held: In it.
        is_over: Whether it counts no more.
    """

    name: str
    held: Usage
    is_over: bool


@dataclass(frozen=True, slots=True)
class HeldCard:
    """A card that the pod itself holds.

    Attributes:
        device_uuid: Its UUID.
        index: That its node gives it; None for a card that the node does not show.
        model: Its type; empty as above.
        phases: What each phase of the pod holds of it.
        now: What it is charged.
        returns: What comes back of that, in order.
    """

    device_uuid: DeviceUUID
    index: int | None
    model: str
    phases: tuple[PhaseHeld, ...]
    now: Usage
    returns: tuple[Return, ...]


@dataclass(frozen=True, slots=True)
class QuotaShort:
    """A limit of a quota that the pod would go beyond; see `Shortage`."""

    quota: str
    key: str
    unit: str
    needed: int
    used: int
    limit: int | None
    text: str

    @classmethod
    def of(cls, short: Shortage) -> Self:
        """Tell of one as people read it."""
        return cls(
            short.quota_name,
            short.limit.key,
            short.limit.unit,
            short.needed,
            short.used,
            short.limit.most,
            str(short),
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that is told of one pod.

    Attributes:
        namespace: Of the pod.
        name: The same.
        uid: Empty for a manifest that has none.
        outcome: What becomes of it.
        node: Where it is bound or reserved; None elsewhere.
        cause: Why it waits; None where it does not, or that is not known.
        problem: What is wrong with its request, or with its allocation.
        warnings: Settings of it that were read as the default.
        asks: What its containers ask for.
        phases: The same by phases of its life.
        node_count: How many nodes were asked.
        fitting: Filter's, in the order of the nodes.
        groups: The others, resolvable ones first, then the larger ones.
        nodes: In full: all of a small cluster, else those that groups name, and those
            that were asked for.
        nearest: What is missing least; None where it fits, or no room would help.
        place: Where it would go; None where it does not fit.
        holds: The cards that it holds.
        quota: Limits of its namespace that it would go beyond wherever it goes.
        fits_but_for_quota: On how many nodes it would fit otherwise.
        generation: Of the state, when filter was asked.
        is_of_one_moment: Whether that was the same to the end: else the details may be
            of a later moment than filter's answer.
    """

    namespace: str
    name: str
    uid: PodUID
    outcome: Outcome
    node: NodeName | None = None
    cause: Cause | None = None
    problem: str | None = None
    warnings: tuple[str, ...] = ()
    asks: tuple[ContainerAsk, ...] = ()
    phases: tuple[PhaseNeed, ...] = ()
    node_count: int = 0
    fitting: tuple[NodeName, ...] = ()
    groups: tuple[NodeGroup, ...] = ()
    nodes: tuple[NodeView, ...] = ()
    nearest: NearMiss | None = None
    place: Place | None = None
    holds: tuple[HeldCard, ...] = ()
    quota: tuple[QuotaShort, ...] = field(default=())
    fits_but_for_quota: int = 0
    generation: int = 0
    is_of_one_moment: bool = True

    @property
    def full_name(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"
