"""The annotations by which a pod steers its placement."""

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import DeviceUUID
from extender.core.pod import Release
from extender.core.pod_request import ANY_DEVICE, Policy, Selection
from extender.wire.pod_settings import release_annotations
from extender.wire.pods import PodReader
from tests.builders import PodBuilder, pod
from tests.values import request_of

USE_TYPE = "nvidia.com/use-gputype"
AVOID_TYPE = "nvidia.com/nouse-gputype"
USE_UUID = "nvidia.com/use-gpuuuid"
AVOID_UUID = "nvidia.com/nouse-gpuuuid"
DEVICE_POLICY = "hami.io/gpu-scheduler-policy"
NODE_POLICY = "hami.io/node-scheduler-policy"
NUMA_BIND = "nvidia.com/numa-bind"
VGPU_MODE = "nvidia.com/vgpu-mode"
WEIGHTS = "hami.io/device-scoring-weights"
RELEASE = "gpu-extender/release"

READER = PodReader(Kinds([NVIDIA]))


def uuids(*names: str) -> frozenset[DeviceUUID]:
    """Name cards."""
    return frozenset(map(DeviceUUID, names))


SELECTIONS = {
    "no annotation": ({}, ANY_DEVICE),
    "types to use, trimmed": (
        {USE_TYPE: " A10 ,A100"},
        Selection(use_types=("A10", "A100")),
    ),
    "types to avoid": ({AVOID_TYPE: "P4,,V100"}, Selection(avoid_types=("P4", "V100"))),
    "cards to use": (
        {USE_UUID: "GPU-a, GPU-b,GPU-a"},
        Selection(use_uuids=uuids("GPU-a", "GPU-b")),
    ),
    "cards to avoid": ({AVOID_UUID: "GPU-a"}, Selection(avoid_uuids=uuids("GPU-a"))),
    "all at once": (
        {USE_TYPE: "A", AVOID_TYPE: "B", USE_UUID: "c", AVOID_UUID: "d"},
        Selection(("A",), ("B",), uuids("c"), uuids("d")),
    ),
    "empty values are no constraint": (
        {USE_TYPE: "", AVOID_TYPE: "", USE_UUID: "", AVOID_UUID: ""},
        ANY_DEVICE,
    ),
    "an empty value beside another": (
        {USE_TYPE: "", USE_UUID: "GPU-a"},
        Selection(use_uuids=uuids("GPU-a")),
    ),
    "only commas in use match nothing": (
        {USE_TYPE: ",,", USE_UUID: ","},
        Selection(use_types=(), use_uuids=uuids()),
    ),
    "only blanks in use match nothing": (
        {USE_TYPE: " "},
        Selection(use_types=()),
    ),
    "only commas in avoid avoid nothing": (
        {AVOID_TYPE: ",", AVOID_UUID: " , "},
        ANY_DEVICE,
    ),
}


@pytest.mark.parametrize(("texts", "expected"), SELECTIONS.values(), ids=SELECTIONS)
def test_pod_accepts(texts: dict[str, str], expected: Selection) -> None:
    """Lists are trimmed, and empty elements are none."""
    shown = pod("p").app("a", gpu=1).annotations(texts).build()
    read = READER.read(shown)
    assert request_of(read).selection == expected
    assert read.warnings == ()


def test_unconstrained_pods_share_one_selection() -> None:
    """Thousands of pods do not hold thousands of them."""
    read = READER.read(pod("p").app("a", gpu=1).build())
    assert request_of(read).selection is ANY_DEVICE


@pytest.mark.parametrize("policy", list(Policy))
def test_known_node_policy_is_honoured(policy: Policy) -> None:
    """By its word."""
    read = READER.read(
        pod("p").app("a", gpu=1).annotations({NODE_POLICY: policy}).build()
    )
    assert request_of(read).node_policy is policy
    assert read.warnings == ()


@pytest.mark.parametrize("text", ["pack", "Binpack", "binpack,spread", " ", ""])
def test_unknown_node_policy_is_the_default_with_a_warning(text: str) -> None:
    """Never silently something else."""
    read = READER.read(
        pod("p").app("a", gpu=1).annotations({NODE_POLICY: text}).build()
    )
    assert request_of(read).node_policy is Policy.BINPACK
    assert read.warnings == (
        f"{NODE_POLICY}: {text!r} is not binpack or spread; binpack is used",
    )


@pytest.mark.parametrize("default", list(Release))
@pytest.mark.parametrize("release", list(Release))
def test_known_release_is_honoured(release: Release, default: Release) -> None:
    """Whatever the cluster's is."""
    reader = PodReader(Kinds([NVIDIA]), release=default)
    shown = pod("p").app("a", gpu=1).annotations({RELEASE: release.value})
    read = reader.read(shown.build())
    assert (read.release, read.warnings) == (release, ())


@pytest.mark.parametrize("default", list(Release))
def test_missing_release_is_the_clusters(default: Release) -> None:
    """It is no mistake to name none, bound or not."""
    reader = PodReader(Kinds([NVIDIA]), release=default)
    for shown in (pod("p").app("a", gpu=1), pod("p").app("a", gpu=1).on("n1")):
        read = reader.read(shown.build())
        assert (read.release, read.warnings) == (default, ())


@pytest.mark.parametrize("default", list(Release))
@pytest.mark.parametrize("text", ["Never", "always", "after-init,never", "true", ""])
def test_unknown_release_is_the_clusters_with_a_warning(
    text: str, default: Release
) -> None:
    """Never silently something else."""
    reader = PodReader(Kinds([NVIDIA]), release=default)
    shown = pod("p").app("a", gpu=1).annotations({RELEASE: text})
    read = reader.read(shown.build())
    assert read.release is default
    assert read.warnings == (
        f"{RELEASE}: {text!r} is not after-init or never; {default} is used",
    )


WRITTEN: dict[str, tuple[PodBuilder, bool]] = {
    "an init that asks": (pod("p").init("i", gpu=1).app("a"), True),
    "the second init asks": (
        pod("p").init("i").init("j", gpu=1, gpumem=1).app("a", gpu=1),
        True,
    ),
    "no init": (pod("p").app("a", gpu=1), False),
    "an init that asks for nothing": (pod("p").init("i").app("a", gpu=1), False),
    "an init that asks for no card": (pod("p").init("i", gpu=0).app("a", gpu=1), False),
    "only sidecars ask": (pod("p").sidecar("s", gpu=1).init("i").app("a"), False),
}


@pytest.mark.parametrize("default", list(Release))
@pytest.mark.parametrize(("shown", "is_written"), WRITTEN.values(), ids=WRITTEN)
def test_release_is_fixed_where_the_charge_depends_on_it(
    shown: PodBuilder, default: Release, *, is_written: bool
) -> None:
    """As it counts: the pod's own, else the cluster's, also where it was misspelt."""
    reader = PodReader(Kinds([NVIDIA]), release=default)
    for text, release in (
        (None, default),
        ("nevr", default),
        ("never", Release.NEVER),
        ("after-init", Release.AFTER_INIT),
    ):
        named = shown if text is None else shown.annotations({RELEASE: text})
        written = release_annotations(reader.read(named.build()))
        assert written == ({RELEASE: release.value} if is_written else {})


def test_modes() -> None:
    """A text in which the mode of a card must stand; empty is no constraint."""
    for text, modes in (("mig", "mig"), ("hami-core,mps", "hami-core,mps"), ("", None)):
        read = READER.read(
            pod("p").app("a", gpu=1).annotations({VGPU_MODE: text}).build()
        )
        assert request_of(read).selection.modes == modes


def test_warning_is_short() -> None:
    """An annotation may be a quarter of a megabyte; a warning may not."""
    texts = {DEVICE_POLICY: "x" * 250_000}
    (warning,) = READER.read(
        pod("p").app("a", gpu=1).annotations(texts).build()
    ).warnings
    assert len(warning) < 300
