"""What the containers of a pod ask for, from their limits and requests."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from extender.core.claims import NO_CLAIM, ResourceClaim
from extender.core.container import Container
from extender.core.kinds import Kind
from extender.core.names import MAX_INT32
from extender.core.pod_request import NO_REQUEST, ContainerRequest
from extender.core.requests import (
    container_request,
    devices_named,
    too_many_containers,
)
from extender.errors import BadQuantity
from extender.wire.kind_annotations import (
    annotation_problem,
    read_app_class,
    shares_in_software,
)
from extender.wire.memory_amounts import parse_memory
from extender.wire.objects import object_at
from extender.wire.quantity import parse_whole

_NO_ANNOTATIONS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class DeclaredContainer:
    """A container as the spec has it.

    Attributes:
        container: Its name and lifetime.
        field: Its path, such as ``spec.initContainers[0]``.
        fields: Its JSON object.
    """

    container: Container
    field: str
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ReadRequests:
    """What the containers ask for, each list in start order.

    Attributes:
        asked: What is asked; nothing by any container when there is a problem.
        counts: Devices that each container gets, as far as that can be read: what the
            allocation goes by, whatever else is wrong.
        ids: Device ids that kubelet gives each container; of most kinds as many.
        problem: The first quantity that cannot be honoured.
    """

    asked: tuple[ContainerRequest, ...]
    counts: tuple[int, ...]
    ids: tuple[int, ...]
    problem: str | None


def named_resources(declared: Iterable[DeclaredContainer]) -> set[str]:
    """List the resources that any container names.

    Raises:
        BadObject: As `read_requests`.
    """
    named: set[str] = set()
    for one in declared:
        named.update(Amounts(one).names)
    return named


def read_requests(
    kind: Kind,
    declared: Sequence[DeclaredContainer],
    annotations: Mapping[str, str] = _NO_ANNOTATIONS,
    *,
    is_bound: bool = False,
) -> ReadRequests:
    """Read every container's request.

    A limit counts, and a request only where there is no such limit; each resource on
    its own.

    Args:
        kind: Of device.
        declared: The pod's containers, in start order.
        annotations: The pod's; some kinds read requests by them.
        is_bound: Whether it has a node: then it holds what it holds, and is read
            however long it is.

    Raises:
        BadObject: ``resources``, ``limits`` or ``requests`` is no object.
    """
    too_many = too_many_containers(len(declared))
    if too_many is not None and not is_bound:
        return ReadRequests((NO_REQUEST,) * len(declared), (), (), too_many)
    asked: list[ContainerRequest] = []
    counts: list[int] = []
    ids: list[int] = []
    problem: str | None = None
    for one in declared:
        amounts = Amounts(one)
        claim = NO_CLAIM
        request = NO_REQUEST
        if amounts.names_any:
            claim, unread = amounts.claim(kind, annotations)
            try:
                if unread is not None:
                    raise unread
                request = container_request(claim, kind, one.container.name)
            except BadQuantity as error:
                problem = problem or str(error)
        asked.append(request)
        count = claim.count
        ids.append(count if count and 0 < count <= MAX_INT32 else 0)
        if kind.amounts_alone:
            counts.append(devices_named(claim, kind))
    if not kind.amounts_alone:
        counts = ids
    if problem is None and any(counts):
        problem = annotation_problem(annotations, kind)
        problem = problem or _several_containers(kind, declared, counts)
        if problem is None and kind.tells_cores_apart:
            problem = _devices_beside_cores(kind, declared, counts, ids)
    return ReadRequests(tuple(asked), tuple(counts), tuple(ids), problem)


def _several_containers(
    kind: Kind, declared: Sequence[DeclaredContainer], counts: Sequence[int]
) -> str | None:
    """Tell that more containers ask than the kind's plugin can be told of."""
    if not kind.serves_one_container:
        return None
    asking = [one for one, count in zip(declared, counts, strict=True) if count]
    if len(asking) == 1:
        return None
    names = " and ".join(repr(one.container.name) for one in asking[:2])
    resources = " and ".join(
        dict.fromkeys(_first_named(one, kind) for one in asking[:2])
    )
    return (
        f"containers {names}: both ask for {resources}, and its device "
        "plugin is told the cards of one container of a pod"
    )


def _first_named(one: DeclaredContainer, kind: Kind) -> str:
    """Give the resource of a kind by which a container asks; the count comes first."""
    names = set(Amounts(one).names)
    return next(name for name in kind.resources if name in names)


def _devices_beside_cores(
    kind: Kind,
    declared: Sequence[DeclaredContainer],
    counts: Sequence[int],
    ids: Sequence[int],
) -> str | None:
    """Tell that some containers name devices and others cores, of such a kind.

    Its plugin is told one list of numbers for the pod, and whether they are cores.
    """
    names_devices = {
        bool(named): one.container.name
        for one, count, named in zip(declared, counts, ids, strict=True)
        if count
    }
    if len(names_devices) == 1:
        return None
    return (
        f"container {names_devices[False]!r}: asks for {kind.core_resource}, and "
        f"container {names_devices[True]!r} for {kind.count_resource}: its device "
        "plugin is told one of both of a pod"
    )


class Amounts:
    """The quantities of one container.

    Attributes:
        limits: As JSON has them.
        requests: The same; one counts where there is no such limit.
    """

    __slots__ = ("_one", "limits", "requests")

    def __init__(self, one: DeclaredContainer) -> None:
        """Take them.

        Raises:
            BadObject: ``resources``, ``limits`` or ``requests`` is no object.
        """
        self._one = one
        resources = object_at(one.fields, "resources", one.field)
        field = f"{one.field}.resources"
        self.limits = object_at(resources, "limits", field)
        self.requests = object_at(resources, "requests", field)

    @property
    def names(self) -> Iterable[str]:
        """Give every resource that is named."""
        return (*self.limits, *self.requests)

    @property
    def names_any(self) -> bool:
        """Whether there is any."""
        return bool(self.limits or self.requests)

    def of(self, resource: str | None) -> int | None:
        """Read one quantity; None when the container does not name the resource."""
        return self._read(resource, parse_whole)

    def memory(self, kind: Kind) -> int | None:
        """Read the memory, in units of the kind's memory factor; None as above."""
        return self._read(
            kind.memory_resource, lambda value, field: parse_memory(value, kind, field)
        )

    def claim(
        self, kind: Kind, annotations: Mapping[str, str]
    ) -> tuple[ResourceClaim, BadQuantity | None]:
        """Give what is named of a kind.

        Args:
            kind: Of device.
            annotations: The pod's; some kinds read requests by them.

        Returns:
            An amount that cannot be read counts as not named; and what is wrong with
            the first of these.
        """
        first: BadQuantity | None = None
        found: list[int | None] = []
        readings: tuple[Callable[[], int | None], ...] = (
            lambda: self.of(kind.count_resource),
            lambda: self.memory(kind),
            lambda: self.of(kind.memory_percentage_resource),
            lambda: self.of(kind.core_resource),
        )
        for reading in readings:
            try:
                found.append(reading())
            except BadQuantity as error:
                found.append(None)
                first = first or error
        count, memory, percentage, cores = found
        claim = ResourceClaim(
            count,
            memory,
            percentage,
            cores,
            shares_in_software(annotations, kind),
            read_app_class(annotations, kind),
        )
        return claim, first

    def _read(
        self, resource: str | None, parse: Callable[[object, str], int]
    ) -> int | None:
        if resource is None:
            return None
        for where, named in (("limits", self.limits), ("requests", self.requests)):
            if resource in named:
                try:
                    return parse(named[resource], resource)
                except BadQuantity as error:
                    name, field = self._one.container.name, self._one.field
                    path = f"container {name!r}: {field}.resources.{where}[{resource}]"
                    raise BadQuantity(path, error.value, error.expected) from None
        return None
