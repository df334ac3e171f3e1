"""A pod as the API shows it, reduced to what decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from extender.core.allocation import Allocation, UnreadableAllocation
from extender.core.company import NO_TRAITS, Traits
from extender.core.container import Container, Lifetime
from extender.core.names import KindWord, NodeName, PodUID
from extender.core.pod_request import PodRequest, Policy
from extender.core.pod_status import PodStatus
from extender.core.quota_scopes import PLAIN_QUOTA_TRAITS, QuotaTraits


class Release(StrEnum):
    """When a pod gives back what only its inits needed."""

    AFTER_INIT = "after-init"
    """Phase by phase, as its inits exit; taken again where they run again."""

    NEVER = "never"
    """Not while it lives, so that its inits can run again at any time."""


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
