"""From the amounts that a container names to what is asked of each device."""

from dataclasses import replace

import pytest

from extender.core.claims import ResourceClaim
from extender.core.container import Lifetime
from extender.core.kinds import NVIDIA, Kind
from extender.core.names import MAX_INT32
from extender.core.pod_request import NO_REQUEST, ContainerRequest
from extender.core.requests import container_request
from extender.core.requests import kubelet_slots as slots
from extender.errors import BadQuantity

THOUSANDS = replace(NVIDIA, memory_factor=1000)
WITH_DEFAULTS = replace(
    NVIDIA, memory_factor=1000, default_memory_mib=4096, default_core_percent=20
)


def mib(memory_mib: int, *, count: int = 1, cores: int = 0) -> ContainerRequest:
    """Ask for MiB."""
    return ContainerRequest(count, memory_mib, 0, cores)


def percent(memory_percent: int, *, count: int = 1, cores: int = 0) -> ContainerRequest:
    """Ask for a part of each device."""
    return ContainerRequest(count, None, memory_percent, cores)


ASKED = {
    "nothing named asks for nothing": (ResourceClaim(), NVIDIA, NO_REQUEST),
    "a count of 0 asks for nothing": (ResourceClaim(0), NVIDIA, NO_REQUEST),
    "nor does it with memory": (ResourceClaim(0, memory=3000), NVIDIA, NO_REQUEST),
    "a count alone is whole devices": (ResourceClaim(2), NVIDIA, percent(100, count=2)),
    "memory is in MiB": (ResourceClaim(1, memory=3000), NVIDIA, mib(3000)),
    "memory is times the factor": (ResourceClaim(1, memory=3), THOUSANDS, mib(3000)),
    "a factor below 1 counts as 1": (
        ResourceClaim(1, memory=3),
        replace(NVIDIA, memory_factor=0),
        mib(3),
    ),
    "the largest memory passes": (
        ResourceClaim(1, memory=MAX_INT32),
        NVIDIA,
        mib(MAX_INT32),
    ),
    "the largest memory with a factor passes": (
        ResourceClaim(1, memory=2_147_483),
        THOUSANDS,
        mib(2_147_483_000),
    ),
    "a percentage counts without memory": (
        ResourceClaim(1, percentage=50),
        NVIDIA,
        percent(50),
    ),
    "memory wins over a percentage": (
        ResourceClaim(1, memory=3000, percentage=50),
        NVIDIA,
        mib(3000),
    ),
    "memory 0 leaves the percentage": (
        ResourceClaim(1, memory=0, percentage=50),
        NVIDIA,
        percent(50),
    ),
    "memory 0 alone is the whole device": (
        ResourceClaim(1, memory=0),
        NVIDIA,
        percent(100),
    ),
    "case 78: a percentage above 100 is cut": (
        ResourceClaim(1, percentage=150),
        NVIDIA,
        percent(100),
    ),
    "case 78: a negative percentage is none": (
        ResourceClaim(1, percentage=-5),
        NVIDIA,
        percent(100),
    ),
    "a percentage of 0 is none": (
        ResourceClaim(1, percentage=0),
        WITH_DEFAULTS,
        mib(4096, cores=20),
    ),
    "default memory is not multiplied": (
        ResourceClaim(1),
        WITH_DEFAULTS,
        mib(4096, cores=20),
    ),
    "cores of 0 are not the default": (
        ResourceClaim(1, cores=0),
        WITH_DEFAULTS,
        mib(4096),
    ),
    "cores above 100 are cut": (
        ResourceClaim(1, cores=10**30),
        NVIDIA,
        percent(100, cores=100),
    ),
    "default cores above 100 are cut": (
        ResourceClaim(1),
        replace(NVIDIA, default_core_percent=500),
        percent(100, cores=100),
    ),
}


@pytest.mark.parametrize(("claim", "kind", "expected"), ASKED.values(), ids=ASKED)
def test_claim_asks_for(
    claim: ResourceClaim, kind: Kind, expected: ContainerRequest
) -> None:
    """Each amount has one meaning, also where another is missing."""
    assert container_request(claim, kind, "train") == expected


REFUSED = {
    "memory without a count": (ResourceClaim(memory=3000), NVIDIA, "gpumem: 3000"),
    "memory of 0 without a count": (ResourceClaim(memory=0), NVIDIA, "gpumem: 0"),
    "a percentage without a count": (
        ResourceClaim(percentage=50),
        NVIDIA,
        "gpumem-percentage: 50",
    ),
    "cores without a count": (ResourceClaim(cores=30), NVIDIA, "gpucores: 30"),
    "a negative count": (ResourceClaim(-1), NVIDIA, "gpu: -1"),
    "a count above 32 bits": (ResourceClaim(2**31), NVIDIA, "gpu: 2147483648"),
    "negative memory": (ResourceClaim(1, memory=-1), NVIDIA, "gpumem: -1"),
    "case 75: bytes taken for MiB": (
        ResourceClaim(1, memory=5 * 2**30),
        NVIDIA,
        "gpumem: 5368709120",
    ),
    "case 76: memory that the factor takes past 32 bits": (
        ResourceClaim(1, memory=3_000_000),
        THOUSANDS,
        "gpumem: 3000000",
    ),
    "the first memory too large for the factor": (
        ResourceClaim(1, memory=2_147_484),
        THOUSANDS,
        "gpumem: 2147484",
    ),
    "bad memory though the percentage is good": (
        ResourceClaim(1, memory=-1, percentage=50),
        NVIDIA,
        "gpumem: -1",
    ),
    "negative cores": (ResourceClaim(1, cores=-1), NVIDIA, "gpucores: -1"),
}


@pytest.mark.parametrize(("claim", "kind", "named"), REFUSED.values(), ids=REFUSED)
def test_claim_is_refused_by_name(claim: ResourceClaim, kind: Kind, named: str) -> None:
    """The error names the container, the resource and the amount."""
    with pytest.raises(BadQuantity) as refused:
        container_request(claim, kind, "train")
    assert str(refused.value).startswith(f"container 'train': nvidia.com/{named} is ")


INIT, SIDECAR, APP = Lifetime.INIT, Lifetime.SIDECAR, Lifetime.APP

SLOTS = {
    "apps add up": ([APP, APP], [1, 2], 3),
    "an init and an app take turns": ([INIT, APP], [4, 2], 4),
    "a sidecar before the init runs beside it": ([SIDECAR, INIT, APP], [1, 4, 2], 5),
    "a sidecar after the init does not": ([INIT, SIDECAR, APP], [4, 1, 2], 4),
    "nothing asked is nothing": ([INIT, APP], [0, 0], 0),
    "no container at all": ([], [], 0),
}


@pytest.mark.parametrize(("lifetimes", "counts", "expected"), SLOTS.values(), ids=SLOTS)
def test_kubelet_sets_aside(
    lifetimes: list[Lifetime], counts: list[int], expected: int
) -> None:
    """The count by Kubernetes' formula."""
    assert slots(lifetimes, counts) == expected
