"""What one container is given at its pod's creation, of one kind of device."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from extender.core.claims import ResourceClaim
from extender.core.kind_admission import WrittenAmounts
from extender.core.kinds import Kind
from extender.core.pod_request import ContainerRequest
from extender.core.requests import container_request
from extender.errors import BadQuantity
from extender.verbs.admission import AddEnv, ContainerToAdmit, Mutation, SetLimit

_ALL_PERCENT: Final = 100
_PLAIN_POLICY: Final = "default"


@dataclass(frozen=True, slots=True)
class Settled:
    """What a container asks for of one kind, with all that it is given.

    Attributes:
        asks: Whether it asks for devices, or tries to.
        count: How many it gets.
        mutations: How it is changed.
        problems: Why that cannot be honoured.
        warnings: What is probably not meant.
    """

    asks: bool = False
    count: int = 0
    mutations: tuple[Mutation, ...] = ()
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


_NOTHING: Final = Settled()


def settle(one: ContainerToAdmit, kind: Kind) -> Settled:
    """Give a container what it does not name itself.

    A count of 0 asks for nothing, whatever else is named.

    Args:
        one: The container.
        kind: Of device.
    """
    named = one.claims.get(kind.type_word)
    if named is None:
        return _NOTHING
    if kind.type_word in one.unreadable:
        return Settled(asks=True)  # whoever reads the pod says which, and why
    counted = _counted(named, kind)
    if counted.count == 0:
        return _NOTHING
    try:
        request = container_request(counted, kind, one.name)
    except BadQuantity as error:
        return Settled(asks=True, problems=(*_percentage(one, kind, named), str(error)))
    if not request.count:
        return _NOTHING
    given = _AMOUNTS[kind.admission.amounts](counted, request, kind)
    return Settled(
        asks=True,
        count=request.count,
        mutations=(*_limits(one, kind, named, given), *_env(one, kind)),
        problems=tuple(_percentage(one, kind, named)),
        warnings=tuple(_overruled(one, kind, named, given)),
    )


def hidden_devices(
    one: ContainerToAdmit, kinds: Iterable[Kind], asked: Iterable[Kind]
) -> Iterator[Mutation]:
    """Tell a container without devices that it has none, where a kind wants that.

    Several kinds may be hidden by one variable; a container with devices of any of
    them keeps it.

    Args:
        one: The container.
        kinds: All of them.
        asked: Those of which the container gets devices.
    """
    seen = {kind.admission.hidden_env[0] for kind in asked if kind.admission.hidden_env}
    for kind in kinds:
        hidden = kind.admission.hidden_env
        if kind.admission.overwrites_env and hidden and hidden[0] not in seen:
            seen.add(hidden[0])
            yield from _variable(one, *hidden)


def _counted(named: ResourceClaim, kind: Kind) -> ResourceClaim:
    """Give the count that is not named, or is less than there can be."""
    admission = kind.admission
    count = named.count
    if count is None and named.names_any and admission.default_count:
        count = admission.default_count
    if count is not None and 0 < count < admission.least_count:
        count = admission.least_count
    return replace(named, count=count)


def _as_named(
    claim: ResourceClaim, _request: ContainerRequest, _kind: Kind
) -> ResourceClaim:
    return claim


def _all_cores_of_whole(
    claim: ResourceClaim, _request: ContainerRequest, kind: Kind
) -> ResourceClaim:
    """Give all cores to whoever gets all memory, and names no cores.

    A kind's default memory is no whole card. HAMi gives all cores to those containers
    as well, so that two of them never share a card.
    """
    names_none = claim.memory is None and claim.percentage is None
    is_all = claim.percentage == _ALL_PERCENT and not claim.memory
    is_whole = is_all or (names_none and not kind.default_memory_mib)
    if claim.cores is not None or kind.core_resource is None or not is_whole:
        return claim
    return replace(claim, cores=kind.whole_card_cores)


def _whole_devices(
    claim: ResourceClaim, request: ContainerRequest, kind: Kind
) -> ResourceClaim:
    """Name what whole devices have together: kubelet asks the plugin for as much."""
    if request.count == 1 and claim.memory:
        return claim
    largest = kind.memory_sizes[-1].memory_mib // kind.unit_mib
    return replace(
        claim,
        memory=largest * request.count if kind.memory_resource else None,
        cores=kind.whole_card_cores * request.count if kind.core_resource else None,
    )


def _all_cores_of_several(
    claim: ResourceClaim, request: ContainerRequest, kind: Kind
) -> ResourceClaim:
    if request.count == 1 or kind.core_resource is None:
        return claim
    return replace(claim, cores=kind.whole_card_cores * request.count)


def _raised_memory(
    claim: ResourceClaim, request: ContainerRequest, kind: Kind
) -> ResourceClaim:
    """Name the memory that the container gets, where its unit can say it."""
    units, rest = divmod(request.memory_mib or 0, kind.unit_mib)
    if kind.memory_resource is None or not units or rest:
        return claim
    return replace(claim, memory=units)


_AMOUNTS: Final[
    Mapping[
        WrittenAmounts,
        Callable[[ResourceClaim, ContainerRequest, Kind], ResourceClaim],
    ]
] = MappingProxyType(
    {
        WrittenAmounts.AS_NAMED: _as_named,
        WrittenAmounts.ALL_CORES_OF_WHOLE: _all_cores_of_whole,
        WrittenAmounts.WHOLE_DEVICES: _whole_devices,
        WrittenAmounts.ALL_CORES_OF_SEVERAL: _all_cores_of_several,
        WrittenAmounts.RAISED_MEMORY: _raised_memory,
    }
)


def _changes(
    kind: Kind, named: ResourceClaim, given: ResourceClaim
) -> Iterator[tuple[str, int | None, int]]:
    """List resources whose amount changes: what is named, and what is given."""
    for resource, before, after in (
        (kind.count_resource, named.count, given.count),
        (kind.memory_resource, named.memory, given.memory),
        (kind.core_resource, named.cores, given.cores),
    ):
        if resource is not None and after is not None and after != before:
            yield resource, before, after


def _limits(
    one: ContainerToAdmit, kind: Kind, named: ResourceClaim, given: ResourceClaim
) -> Iterator[Mutation]:
    for resource, _, amount in _changes(kind, named, given):
        yield SetLimit(one.place, resource, amount)


def _overruled(
    one: ContainerToAdmit, kind: Kind, named: ResourceClaim, given: ResourceClaim
) -> Iterator[str]:
    for resource, before, amount in _changes(kind, named, given):
        if before is not None:
            yield (
                f"container {one.name!r}: {resource} {before} becomes {amount}, which "
                "is what it gets"
            )


def _percentage(
    one: ContainerToAdmit, kind: Kind, named: ResourceClaim
) -> tuple[str, ...]:
    """Refuse a percentage that filter would cut: nobody means it."""
    percentage = named.percentage
    if percentage is None or 0 <= percentage <= _ALL_PERCENT:
        return ()
    error = BadQuantity(
        f"container {one.name!r}: {kind.memory_percentage_resource}",
        percentage,
        f"from 0 to {_ALL_PERCENT}, percent of one card's memory",
    )
    return (str(error),)


def _env(one: ContainerToAdmit, kind: Kind) -> Iterator[Mutation]:
    """Give a container with devices the variables that its library reads."""
    admission = kind.admission
    priority = one.priorities.get(kind.type_word)
    if admission.priority_env and priority is not None:
        yield from _variable(one, admission.priority_env, str(priority))
    if admission.core_policy_env and admission.core_policy != _PLAIN_POLICY:
        yield from _variable(one, admission.core_policy_env, admission.core_policy)
    name = admission.container_name_env
    if name and name not in one.env:
        yield AddEnv(one.place, name, one.name)


def _variable(one: ContainerToAdmit, name: str, value: str) -> Iterator[Mutation]:
    """Add a variable, unless it has the value already. Of several the last counts."""
    if name not in one.env or one.env[name] != value:
        yield AddEnv(one.place, name, value)
