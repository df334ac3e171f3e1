"""What a container asks for, from the whole numbers that it names."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from extender.core.claims import ResourceClaim
from extender.core.container import ContainerUsage, Lifetime
from extender.core.kinds import Kind, MemoryNotation, RequestRule
from extender.core.names import MAX_INT32, DeviceUUID
from extender.core.phases import effective_usage
from extender.core.pod_request import NO_REQUEST, ContainerRequest
from extender.core.request_rules import REQUEST_RULES, Asking
from extender.core.usage import Usage
from extender.errors import BadQuantity

MOST_CONTAINERS: Final = 256
"""Of a pod that asks for devices, inits among them. Kubernetes knows no bound but the
size of the object, which is some 7,000. Each is looked at several times while nothing
else is answered: 0.1 ms at admission, 0.3 ms in filter at 5,000 nodes."""

_MOST_PERCENT: Final = 100
_MIB_OF_8_GIB: Final = 8 * 1024

_ANY_DEVICE_ID: Final = DeviceUUID("")
"""Stands for all device ids of a node: kubelet's count does not tell them apart."""


def too_many_containers(count: int) -> str | None:
    """Tell that a pod has more containers than are looked at; None where not.

    Example:
        >>> too_many_containers(256)
        >>> too_many_containers(300)
        '300 containers are more than 256, the most of a pod that asks for devices'
    """
    if count <= MOST_CONTAINERS:
        return None
    return (
        f"{count} containers are more than {MOST_CONTAINERS}, the most of a pod that "
        "asks for devices"
    )


def container_request(
    claim: ResourceClaim, kind: Kind, container_name: str
) -> ContainerRequest:
    """Turn what a container names into what is asked of each device.

    A count of 0, or nothing named at all, asks for nothing. Memory above 0 wins over
    a percentage; with neither, the kind's default memory counts, or the whole device.
    Percentages and cores above 100 are cut to 100; a percentage of 0 or less is as
    good as none. Then the kind's own rules are asked.

    Args:
        claim: The amounts, of any size and sign.
        kind: Gives names, memory factor, defaults and rules.
        container_name: For the error.

    Raises:
        BadQuantity: An amount is out of range, or the container names memory or cores
            without a count: kubelet would never allocate that. Or a rule of the kind
            refuses it. The error names the container and the resource.

    Source: HAMi v2.10's GenerateResourceRequests, which drops the request where this
    raises.

    Example:
        >>> from extender.core.kinds import NVIDIA
        >>> container_request(ResourceClaim(count=2, memory=3000), NVIDIA, "train")
        ContainerRequest(count=2, memory_mib=3000, memory_percent=0, core_percent=0)
        >>> container_request(ResourceClaim(count=1, cores=150), NVIDIA, "train")
        ContainerRequest(count=1, memory_mib=None, memory_percent=100, core_percent=100)
    """
    names_amounts_alone = kind.amounts_alone and bool(claim.memory or claim.cores)
    if claim.count is None and not names_amounts_alone:
        if kind.amounts_alone:
            return NO_REQUEST
        _refuse_amount_without_count(claim, kind, container_name)
        return NO_REQUEST
    count = 1 if claim.count is None else claim.count
    if not 0 <= count <= MAX_INT32:
        raise BadQuantity(
            f"container {container_name!r}: {kind.count_resource}",
            count,
            f"in the range 0 to {MAX_INT32}",
        )
    if count == 0:
        return NO_REQUEST
    memory_mib, memory_percent = _memory(claim, kind, container_name)
    core_percent = _core_percent(claim, kind, container_name)
    request = ContainerRequest(count, memory_mib, memory_percent, core_percent)
    asking = Asking(claim, kind, container_name)
    for rule in kind.rules:
        request = REQUEST_RULES[rule](request, asking)
    return request


def devices_named(claim: ResourceClaim, kind: Kind) -> int:
    """Count the devices that a container gets, whatever else is wrong with its claim.

    An allocation has so many of them for it.

    Example:
        >>> from extender.core.kinds import NVIDIA
        >>> devices_named(ResourceClaim(count=2, cores=-1), NVIDIA)
        2
    """
    count = claim.count or 0
    if RequestRule.PROFILE in kind.rules:
        amounts = (claim.memory, claim.cores)
        named = amounts if claim.count is None else (claim.count,)
        return int(any(each is not None and each > 0 for each in named))
    if RequestRule.COUNT_OR_CORES in kind.rules and claim.count is None:
        cores = claim.cores or 0
        count = max(cores // kind.whole_card_cores, int(cores > 0))
    return count if 0 < count <= MAX_INT32 else 0


def _refuse_amount_without_count(
    claim: ResourceClaim, kind: Kind, container_name: str
) -> None:
    for resource, amount in _named(claim, kind):
        if amount is not None:
            raise BadQuantity(
                f"container {container_name!r}: {resource}",
                amount,
                f"allowed without {kind.count_resource}, the number of cards",
            )


def _named(
    claim: ResourceClaim, kind: Kind
) -> tuple[tuple[str | None, int | None], ...]:
    return (
        (kind.count_resource, claim.count),
        (kind.memory_resource, claim.memory),
        (kind.memory_percentage_resource, claim.percentage),
        (kind.core_resource, claim.cores),
    )


def _memory(
    claim: ResourceClaim, kind: Kind, container_name: str
) -> tuple[int | None, int]:
    """Give MiB, or None and the percentage that counts instead."""
    factor = kind.unit_mib
    memory = claim.memory or 0
    if not 0 <= memory <= MAX_INT32 // factor:
        bare = kind.memory_notation is MemoryNotation.GIB_OR_BYTES
        of_8_gib = 8 if bare else -(-_MIB_OF_8_GIB // factor)
        raise BadQuantity(
            f"container {container_name!r}: {kind.memory_resource}",
            memory,
            f"in the range 0 to {MAX_INT32 // factor}; the unit is {kind.memory_unit}, "
            f"so 8 GiB is written {of_8_gib}",
        )
    if memory > 0:
        return memory * factor, 0
    if claim.percentage is not None and claim.percentage > 0:
        return None, min(claim.percentage, _MOST_PERCENT)
    if kind.default_memory_mib:
        return kind.default_memory_mib, 0
    return None, _MOST_PERCENT


def _core_percent(claim: ResourceClaim, kind: Kind, container_name: str) -> int:
    if claim.cores is None:
        return min(kind.default_core_percent, kind.whole_card_cores)
    if claim.cores < 0:
        raise BadQuantity(
            f"container {container_name!r}: {kind.core_resource}",
            claim.cores,
            "0 or more",
        )
    return min(claim.cores, kind.whole_card_cores)


def kubelet_slots(lifetimes: Sequence[Lifetime], counts: Sequence[int]) -> int:
    """Count the device ids that kubelet sets aside for a pod.

    Kubernetes' formula for any extended resource is the accounting rule with one
    device that stands for all; finished inits keep their part to the pod's end.

    Args:
        lifetimes: One per container, in start order.
        counts: Devices that each container asks for; as many as `lifetimes`.

    Example:
        >>> kubelet_slots([Lifetime.INIT, Lifetime.SIDECAR, Lifetime.APP], [4, 1, 2])
        4
        >>> kubelet_slots([Lifetime.SIDECAR, Lifetime.INIT, Lifetime.APP], [1, 4, 2])
        5
    """
    if not any(counts):
        return 0
    return _kubelet_slots(tuple(lifetimes), tuple(counts))


@lru_cache(maxsize=1024)  # a cluster has few shapes of pods, and many pods of each
def _kubelet_slots(lifetimes: tuple[Lifetime, ...], counts: tuple[int, ...]) -> int:
    usages = [
        ContainerUsage(lifetime, {_ANY_DEVICE_ID: Usage(count)})
        for lifetime, count in zip(lifetimes, counts, strict=True)
    ]
    return effective_usage(usages)[_ANY_DEVICE_ID].slots
