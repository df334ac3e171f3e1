"""What the containers of a pod ask for."""

from dataclasses import replace
from typing import Any

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.pod_request import NO_REQUEST, ContainerRequest
from extender.wire.pods import PodReader
from tests.builders import pod
from tests.values import request_of

READER = PodReader(Kinds([NVIDIA]))


def mib(memory_mib: int, cores: int = 0) -> ContainerRequest:
    """Ask for MiB of one card."""
    return ContainerRequest(1, memory_mib, 0, cores)


def test_names_of_resources_are_the_kinds() -> None:
    """Another kind looks at other resources."""
    kind = replace(NVIDIA, count_resource="example.com/gpu", memory_factor=10)
    shown = pod("p").app("a", gpumem=3000).build()
    shown["spec"]["containers"][0]["resources"]["limits"]["example.com/gpu"] = 1
    assert request_of(PodReader(Kinds([kind])).read(shown)).containers == (mib(30_000),)


RESOURCES: dict[str, tuple[dict[str, Any], ContainerRequest]] = {
    "case 77: limits win": (
        {
            "requests": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"},
            "limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "4000"},
        },
        mib(4000),
    ),
    "case 77: requests count alone": (
        {"requests": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"}},
        mib(1000),
    ),
    "each resource on its own": (
        {
            "requests": {"nvidia.com/gpu": "2", "nvidia.com/gpumem": "1000"},
            "limits": {"nvidia.com/gpu": "1", "nvidia.com/gpucores": "30"},
        },
        mib(1000, cores=30),
    ),
    "a limit of 0 hides the request": (
        {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "0"}},
        NO_REQUEST,
    ),
    "JSON numbers are quantities too": (
        {"limits": {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 3000}},
        mib(3000),
    ),
    "case 75: 5k": (
        {"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "5k"}},
        mib(5000),
    ),
    "case 75: 3e3": (
        {"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3e3"}},
        mib(3000),
    ),
    "case 78: percentage above 100": (
        {"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem-percentage": "150"}},
        ContainerRequest(1, None, 100, 0),
    ),
    "case 78: negative percentage": (
        {"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem-percentage": "-5"}},
        ContainerRequest(1, None, 100, 0),
    ),
}


@pytest.mark.parametrize(("resources", "expected"), RESOURCES.values(), ids=RESOURCES)
def test_container_asks_for(
    resources: dict[str, Any], expected: ContainerRequest
) -> None:
    """Limits first, requests where there is no such limit."""
    shown = pod("p").app("a").build()
    shown["spec"]["containers"][0]["resources"] = resources
    read = READER.read(shown)
    assert read.request_problem is None
    assert request_of(read).containers == (expected,)
    assert request_of(read).kubelet_slots == expected.count


OTHERS: dict[str, dict[str, Any]] = {
    "other resources are not looked at": {
        "limits": {"cpu": "a lot", "memory": None},
        "requests": {"cpu": []},
    },
    "nulls are nothing": {"limits": None, "requests": None},
}


@pytest.mark.parametrize("resources", OTHERS.values(), ids=OTHERS)
def test_container_asks_for_nothing(resources: dict[str, Any]) -> None:
    """A pod that names none of our resources has no request."""
    shown = pod("p").app("a").build()
    shown["spec"]["containers"][0]["resources"] = resources
    read = READER.read(shown)
    assert read.request_problem is None
    assert read.requests == ()
    assert not read.asks_for_devices
    assert read.kubelet_slots == {}


LIMIT = "container 'b': spec.containers[1].resources.limits[nvidia.com/gpumem]"
ASKED = "container 'b': nvidia.com/gpumem"
IN_MIB = "; the unit is MiB, so 8 GiB is written 8192"

PROBLEMS = {
    "case 75: 1500m is not whole": (
        "1500m",
        f"{LIMIT}: '1500m' is not a whole number",
    ),
    "case 75: 5Gi is more MiB than anybody has": (
        "5Gi",
        f"{ASKED}: 5368709120 is not in the range 0 to 2147483647{IN_MIB}",
    ),
    "a text": (
        "lots",
        f"{LIMIT}: 'lots' is not a quantity",
    ),
    "null": (
        None,
        f"{LIMIT}: missing or null, expected a quantity",
    ),
}


@pytest.mark.parametrize(("memory", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_bad_quantity_refuses_the_pod_by_name(memory: object, problem: str) -> None:
    """No container of it asks for anything; kubelet's count still stands."""
    shown = pod("p").init("i", gpu=3).app("a", gpu=1).app("b", gpu=1, gpumem=1).build()
    shown["spec"]["containers"][1]["resources"]["limits"]["nvidia.com/gpumem"] = memory
    read = READER.read(shown)
    assert read.request_problem == problem
    assert request_of(read).containers == (NO_REQUEST,) * 3
    assert not request_of(read).asks_for_devices
    assert request_of(read).kubelet_slots == 3


def test_path_names_inits_and_requests_too() -> None:
    """The error says where the quantity stands."""
    shown = pod("p").init("i").app("a").build()
    shown["spec"]["initContainers"][0]["resources"] = {
        "requests": {"nvidia.com/gpu": "x"}
    }
    assert READER.read(shown).request_problem == (
        "container 'i': spec.initContainers[0].resources.requests[nvidia.com/gpu]: "
        "'x' is not a quantity"
    )


def test_first_problem_is_told() -> None:
    """One line, however many quantities are wrong and whatever a name holds."""
    shown = pod("p").app("a\nb", gpumem=3000).app("c", gpu=-1).build()
    assert READER.read(shown).request_problem == (
        r"container 'a\nb': nvidia.com/gpumem: 3000 is not allowed without "
        "nvidia.com/gpu, the number of cards"
    )


@pytest.mark.parametrize("count", ["-1", "2147483648", "0.5", "x"])
def test_unreadable_count_is_no_slot(count: str) -> None:
    """Only what can be read is counted for kubelet."""
    read = READER.read(pod("p").app("a", gpu=count).app("b", gpu=2).build())
    assert read.request_problem is not None
    assert request_of(read).kubelet_slots == 2


def test_problem_stays_short() -> None:
    """kube-scheduler is told it once per node."""
    shown = pod("p").app("a" * 100_000, gpumem=3000).build()
    problem = READER.read(shown).request_problem
    assert problem is not None
    assert len(problem) < 1000
