"""What can happen to the state. Events may repeat."""

from dataclasses import dataclass

from extender.core.allocation import Allocation
from extender.core.names import NodeName, PodUID
from extender.core.node import Node
from extender.core.pod import Pod
from extender.core.quota_room import Quota
from extender.state.holdings import Reservation, Standing


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """The API shows this node, new or changed."""

    node: Node


@dataclass(frozen=True, slots=True)
class NodeGone:
    """The API no longer has this node."""

    node_name: NodeName


@dataclass(frozen=True, slots=True)
class PodSeen:
    """The API shows this pod, new or changed."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class PodGone:
    """The API no longer has this pod."""

    pod_uid: PodUID


@dataclass(frozen=True, slots=True)
class Relisted:
    """A list of all pods follows, newer than all before: what it shows is there.

    Also a UID that was gone, such as after the API was restored from a backup.
    """


@dataclass(frozen=True, slots=True)
class Remembered:
    """A pod as another ledger had it, with what it counted for there.

    Attributes:
        pod: As the API showed it.
        standing: What it counted for; None where the rest tells all of that.
        reservation: Its place, where that was not shown.
    """

    pod: Pod
    standing: Standing | None
    reservation: Reservation | None


@dataclass(frozen=True, slots=True)
class ListTaken:
    """The list that `Relisted` began has been applied; what follows comes in order."""


@dataclass(frozen=True, slots=True)
class QuotaSeen:
    """The API shows this quota, new or changed."""

    quota: Quota


@dataclass(frozen=True, slots=True)
class QuotaGone:
    """The API no longer has this quota."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Reserved:
    """A place was chosen for an unbound pod, and its Binding is about to be sent."""

    pod: Pod
    node_name: NodeName
    allocation: Allocation


@dataclass(frozen=True, slots=True)
class Unreserved:
    """The Binding was refused: the pod is unbound, and holds nothing."""

    pod_uid: PodUID


@dataclass(frozen=True, slots=True)
class Expected:
    """A pod was admitted, and is about to be created: it counts at admission.

    Attributes:
        pod: As it will be.
        until: When it counts no longer if the API has not shown it, in seconds of the
            clock of `Lapsed`.
    """

    pod: Pod
    until: float


@dataclass(frozen=True, slots=True)
class Lapsed:
    """Time has passed: pods that were expected until now are not coming."""

    now: float


@dataclass(frozen=True, slots=True)
class Synced:
    """All that the API shows has been seen once: what comes from now on is new."""


@dataclass(frozen=True, slots=True)
class Recount:
    """The audit found a difference: work out every total from the pods again."""


Event = (
    NodeSeen
    | NodeGone
    | PodSeen
    | PodGone
    | Relisted
    | Remembered
    | ListTaken
    | QuotaSeen
    | QuotaGone
    | Reserved
    | Unreserved
    | Expected
    | Lapsed
    | Synced
    | Recount
)
