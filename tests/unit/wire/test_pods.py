"""Pod objects, besides their settings and their status."""

from copy import deepcopy
from typing import Any

import pytest

from extender.core.allocation import Share, UnreadableAllocation
from extender.core.container import Container, Lifetime
from extender.core.device_policy import BINPACK_CARDS
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import DeviceUUID, NodeName, PodUID
from extender.core.pod import Pod, Release
from extender.core.pod_request import NO_REQUEST, ContainerRequest, PodRequest, Policy
from extender.core.quota_scopes import QuotaTraits
from extender.errors import BadObject
from extender.wire.pods import PodReader
from tests.builders import pod
from tests.values import request_of

READER = PodReader(Kinds([NVIDIA]))


def test_pod_reads_as() -> None:
    """Names, containers in start order, requests, and kubelet's count."""
    shown = (
        pod("trainer", "research")
        .uid("uid-1")
        .sidecar("cache", gpu=1, gpumem="2k")
        .init("warm-up", gpu=4, gpumem=20_000)
        .app("train", gpu=2, percentage=50, cores=30)
        .app("log")
        .build()
    )
    lifetimes = (Lifetime.SIDECAR, Lifetime.INIT, Lifetime.APP, Lifetime.APP)
    names = ("cache", "warm-up", "train", "log")
    assert READER.read(shown) == Pod(
        uid=PodUID("uid-1"),
        namespace="research",
        name="trainer",
        node_name=None,
        containers=tuple(map(Container, names, lifetimes)),
        requests=(
            PodRequest(
                kind="NVIDIA",
                lifetimes=lifetimes,
                containers=(
                    ContainerRequest(1, 2000, 0, 0),
                    ContainerRequest(4, 20_000, 0, 0),
                    ContainerRequest(2, None, 50, 30),
                    NO_REQUEST,
                ),
                kubelet_slots=5,
            ),
        ),
        quota_traits=QuotaTraits(is_best_effort=True),
    )


def test_absent_fields_have_defaults() -> None:
    """A file need not say what the API server would fill in."""
    shown = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}]}}
    assert READER.read(shown) == Pod(
        uid=PodUID(""),
        namespace="default",
        name="p",
        node_name=None,
        containers=(Container("a", Lifetime.APP),),
        quota_traits=QuotaTraits(is_best_effort=True),
    )


def test_reader_gives_its_own_settings() -> None:
    """Cluster-wide defaults count where a pod names none."""
    reader = PodReader(Kinds([NVIDIA]), BINPACK_CARDS, Policy.SPREAD, Release.NEVER)
    read = reader.read(pod("p").app("a", gpu=1).build())
    request = request_of(read)
    assert (request.device_policy, request.node_policy) == (BINPACK_CARDS, "spread")
    assert read.release == "never"


def test_only_always_makes_a_sidecar() -> None:
    """Any other restartPolicy of an init container is an init's."""
    shown = pod("p").init("i").app("a").build()
    for policy in (None, "Never", "OnFailure", "always", 7):
        shown["spec"]["initContainers"][0]["restartPolicy"] = policy
        assert READER.read(shown).containers[0] == Container("i", Lifetime.INIT)


def test_bound_pod_shows_what_it_holds() -> None:
    """Rows are given to the containers that ask."""
    rows = "GPU-a,NVIDIA,3000,30:;"
    shown = pod("p").init("i").app("a", gpu=1).on("n1").holding(rows).build()
    read = READER.read(shown)
    assert read.node_name == NodeName("n1")
    assert read.allocation == ((), (Share(DeviceUUID("GPU-a"), 3000, 30, "NVIDIA"),))


def test_case_26_unreadable_allocation_is_not_nothing() -> None:
    """It keeps what it names."""
    shown = pod("p").app("a", gpu=1).on("n1").holding("GPU-a,NVIDIA,abc,0:;").build()
    assert READER.read(shown).allocation == UnreadableAllocation(
        "hami.io/vgpu-devices-allocated[0][0].memory: "
        "'abc' is not a number from 0 to 2147483647",
        (DeviceUUID("GPU-a"),),
        frozenset({"NVIDIA"}),
    )


def test_bad_request_leaves_the_allocation_readable() -> None:
    """A pod that was bound by others keeps its rows, by the counts it names."""
    shown = pod("p").app("a", gpu=1, gpumem="8Gi").on("n1")
    read = READER.read(shown.holding("GPU-a,NVIDIA,3000,0:;").build())
    assert read.request_problem is not None
    assert read.allocation == ((Share(DeviceUUID("GPU-a"), 3000, 0, "NVIDIA"),),)


def test_no_allocation() -> None:
    """A pod that was placed by somebody else has no such annotation."""
    shown = pod("p").app("a", gpu=1).on("n1")
    assert READER.read(shown.build()).allocation is None


@pytest.mark.parametrize("text", ["", ";"])
def test_allocation_emptied_by_somebody_is_not_none(text: str) -> None:
    """What the pod holds cannot be told from it any more."""
    shown = pod("p").app("a", gpu=1).on("n1").holding(text)
    assert isinstance(READER.read(shown.build()).allocation, UnreadableAllocation)


def changed(path: tuple[str | int, ...], value: object) -> object:
    """Put a value anywhere into a good pod."""
    shown: Any = deepcopy(pod("p").init("i", gpu=1).app("a", gpu=1).build())
    if not path:
        return value
    target = shown
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return shown


LIMITS = ("spec", "containers", 0, "resources", "limits")

BAD_STRUCTURE: dict[str, tuple[tuple[str | int, ...], object, str]] = {
    "no object": ((), [], "pod"),
    "null": ((), None, "pod"),
    "metadata": (("metadata",), 7, "pod.metadata"),
    "no name": (("metadata", "name"), None, "metadata.name"),
    "empty name": (("metadata", "name"), "", "metadata.name"),
    "name": (("metadata", "name"), 7, "metadata.name"),
    "namespace": (("metadata", "namespace"), 7, "metadata.namespace"),
    "uid": (("metadata", "uid"), [], "metadata.uid"),
    "annotations": (("metadata", "annotations"), "a", "metadata.annotations"),
    "annotation": (("metadata", "annotations"), {"a": 1}, "metadata.annotations[a]"),
    "null annotation": (
        ("metadata", "annotations"),
        {"a": None},
        "metadata.annotations[a]",
    ),
    "spec": (("spec",), "a", "pod.spec"),
    "no spec": (("spec",), None, "spec.containers"),
    "nodeName": (("spec", "nodeName"), 7, "spec.nodeName"),
    "containers": (("spec", "containers"), {}, "spec.containers"),
    "no containers": (("spec", "containers"), [], "spec.containers"),
    "null containers": (("spec", "containers"), None, "spec.containers"),
    "container": (("spec", "containers"), ["a"], "spec.containers[0]"),
    "nameless": (("spec", "containers"), [{}], "spec.containers[0].name"),
    "inits": (("spec", "initContainers"), "i", "spec.initContainers"),
    "init": (("spec", "initContainers"), [None], "spec.initContainers[0]"),
    "nameless init": (
        ("spec", "initContainers", 0, "name"),
        "",
        "spec.initContainers[0].name",
    ),
    "resources": (LIMITS[:-1], 7, "spec.containers[0].resources"),
    "limits": (LIMITS, [], "spec.containers[0].resources.limits"),
    "requests": (
        (*LIMITS[:-1], "requests"),
        "x",
        "spec.containers[0].resources.requests",
    ),
}


@pytest.mark.parametrize(
    ("path", "value", "named"), BAD_STRUCTURE.values(), ids=BAD_STRUCTURE
)
def test_what_is_no_pod_is_refused(
    path: tuple[str | int, ...], value: object, named: str
) -> None:
    """The error names the field."""
    with pytest.raises(BadObject) as refused:
        READER.read(changed(path, value))
    assert refused.value.field == named


def test_what_only_a_bind_writes_is_left_over() -> None:
    """An unbound pod's is emptied at its bind: also the vendor's, and unknown rows."""
    texts = {
        "hami.io/vgpu-devices-allocated": "GPU-a,NVIDIA,1,0:;",
        "hami.io/tpu-devices-to-allocate": "x",
        "gpu-extender/exclusive": "true",
        "gpu-extender/release": "never",
        "nvidia.com/use-gputype": "A100",
    }
    shown = pod("p").app("a", gpu=1).annotations(texts)
    left = READER.read(shown.build()).leftovers
    assert left == tuple(sorted(texts)[:1] + sorted(texts)[2:4])
    assert READER.read(shown.on("n1").build()).leftovers == ()
