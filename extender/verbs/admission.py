"""What admission is asked and what it answers: values alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from extender.core.claims import ResourceClaim
from extender.core.names import KindWord


@dataclass(frozen=True, slots=True)
class ContainerPlace:
    """Where a container stands in its pod's spec.

    Attributes:
        field: ``initContainers`` or ``containers``.
        index: From 0.
    """

    field: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerToAdmit:
    """A container of a pod that is about to be created.

    Attributes:
        name: Its own.
        place: Where it stands.
        is_privileged: Whether it sees every device of its node, whatever it asks for.
        claims: The amounts that it names, for each kind of which it names any; one
            that cannot be read counts as missing.
        unreadable: Kinds of which an amount cannot be read.
        priorities: The amount of each kind's priority resource that it names.
        env: Its environment: of each name the last value, which is the one that
            counts; None where that comes from elsewhere.
        problems: Sentences about amounts that the API server would refuse.
    """

    name: str
    place: ContainerPlace
    is_privileged: bool = False
    claims: Mapping[KindWord, ResourceClaim] = field(default_factory=dict)
    unreadable: frozenset[KindWord] = frozenset()
    priorities: Mapping[KindWord, int] = field(default_factory=dict)
    env: Mapping[str, str | None] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodToAdmit:
    """A pod that is about to be created.

    Attributes:
        full_name: ``namespace/name``; a name that is not made yet ends with ``*``.
        containers: In start order. Ephemeral ones come later, and hold no devices.
        too_many_containers: That there are more than are looked at; then `containers`
            is empty.
        too_many_ask: Whether any of these names devices.
        scheduler_name: Who shall place it; the API server fills in the default.
        node_name: Where it shall run, whoever places it; empty without.
        runtime_class_name: Empty without.
        annotations: By name.
        annotations_of_bind: Those that it has though only a bind writes them.
        labels_of_bind: The same.
        opts_out: Whether it asks not to be looked at.
        is_mirror: Whether it shows a pod that a kubelet runs from a file of its own.
        warnings: Sentences about what is probably not meant.
    """

    full_name: str
    containers: tuple[ContainerToAdmit, ...]
    too_many_containers: str = ""
    too_many_ask: bool = False
    scheduler_name: str = ""
    node_name: str = ""
    runtime_class_name: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    annotations_of_bind: tuple[str, ...] = ()
    labels_of_bind: tuple[str, ...] = ()
    opts_out: bool = False
    is_mirror: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetLimit:
    """Give a container a limit; a request of the same name becomes equal to it."""

    place: ContainerPlace
    resource: str
    amount: int


@dataclass(frozen=True, slots=True)
class AddEnv:
    """Add an environment variable behind those that a container has."""

    place: ContainerPlace
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class SetScheduler:
    """Name who shall place the pod."""

    name: str


@dataclass(frozen=True, slots=True)
class SetRuntimeClass:
    """Name the pod's runtime class."""

    name: str


@dataclass(frozen=True, slots=True)
class SetAnnotation:
    """Give the pod an annotation."""

    name: str
    value: str


Mutation = SetLimit | AddEnv | SetScheduler | SetRuntimeClass | SetAnnotation


class Outcome(Enum):
    """What became of a pod at admission; the values are the metric's."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    PASSED_OVER = "passed-over"
    """It is not ours to look at."""

    REFUSED = "refused"
    """Its request cannot be honoured as it is written."""

    FORBIDDEN = "forbidden"
    """It may not run like this, whatever it asks for."""

    WITHIN_QUOTA = "within-quota"
    OVER_QUOTA = "over-quota"
    """These two are of the validating webhook."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The answer.

    Attributes:
        outcome: `Outcome.REFUSED` and `Outcome.FORBIDDEN` refuse the pod.
        text: Why, where it is refused; what else there is to say for the others.
        mutations: How it is changed, in this order; none where it is refused.
        warnings: Sentences for whoever creates it.
    """

    outcome: Outcome
    text: str = ""
    mutations: tuple[Mutation, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_allowed(self) -> bool:
        """Whether the pod may be created."""
        return self.outcome not in (Outcome.REFUSED, Outcome.FORBIDDEN)
