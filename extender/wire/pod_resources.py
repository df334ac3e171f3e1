"""What the containers of a pod ask for, from their limits and requests."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from extender.core.kinds import Kind
from extender.core.model import MAX_INT32, NO_REQUEST, Container, ContainerRequest
from extender.core.requests import ResourceClaim, container_request
from extender.errors import BadQuantity
from extender.wire.objects import object_at
from extender.wire.quantity import parse_whole


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
        counts: Devices that each container names, as far as that can be read: what
            kubelet and the allocation go by, whatever else is wrong.
        problem: The first quantity that cannot be honoured.
    """

    asked: tuple[ContainerRequest, ...]
    counts: tuple[int, ...]
    problem: str | None


def named_resources(declared: Iterable[DeclaredContainer]) -> set[str]:
    """List the resources that any container names.

    Raises:
        BadObject: As `read_requests`.
    """
    named: set[str] = set()
    for one in declared:
        named.update(_Amounts(one).names)
    return named


def read_requests(kind: Kind, declared: Sequence[DeclaredContainer]) -> ReadRequests:
    """Read every container's request.

    A limit counts, and a request only where there is no such limit; each resource on
    its own.

    Raises:
        BadObject: ``resources``, ``limits`` or ``requests`` is no object.
    """
    asked: list[ContainerRequest] = []
    counts: list[int] = []
    problem: str | None = None
    for one in declared:
        amounts = _Amounts(one)
        count: int | None = None
        request = NO_REQUEST
        if amounts.names_any:
            try:
                count = amounts.of(kind.count_resource)
                claim = ResourceClaim(
                    count,
                    amounts.of(kind.memory_resource),
                    amounts.of(kind.memory_percentage_resource),
                    amounts.of(kind.core_resource),
                )
                request = container_request(claim, kind, one.container.name)
            except BadQuantity as error:
                problem = problem or str(error)
        asked.append(request)
        counts.append(count if count and 0 < count <= MAX_INT32 else 0)
    return ReadRequests(tuple(asked), tuple(counts), problem)


class _Amounts:
    """The quantities of one container."""

    __slots__ = ("_limits", "_one", "_requests")

    def __init__(self, one: DeclaredContainer) -> None:
        self._one = one
        resources = object_at(one.fields, "resources", one.field)
        field = f"{one.field}.resources"
        self._limits = object_at(resources, "limits", field)
        self._requests = object_at(resources, "requests", field)

    @property
    def names(self) -> Iterable[str]:
        return (*self._limits, *self._requests)

    @property
    def names_any(self) -> bool:
        return bool(self._limits or self._requests)

    def of(self, resource: str | None) -> int | None:
        """Read one quantity; None when the container does not name the resource."""
        if resource is None:
            return None
        if resource in self._limits:
            return self._parsed(self._limits[resource], "limits", resource)
        if resource in self._requests:
            return self._parsed(self._requests[resource], "requests", resource)
        return None

    def _parsed(self, value: object, where: str, resource: str) -> int:
        try:
            return parse_whole(value, resource)
        except BadQuantity as error:
            name, field = self._one.container.name, self._one.field
            path = f"container {name!r}: {field}.resources.{where}[{resource}]"
            raise BadQuantity(path, error.value, error.expected) from None
