"""How a pod wants its cards chosen, as users write it."""

from typing import Final

import pytest

from extender.core.device_policy import (
    BINPACK_CARDS,
    SPREAD_CARDS,
    CardKey,
    DevicePolicy,
    Weights,
)
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.wire.pods import PodReader
from tests.builders import pod
from tests.values import request_of

POLICY: Final = "hami.io/gpu-scheduler-policy"
WEIGHTS: Final = "hami.io/device-scoring-weights"
NUMA_BIND: Final = "nvidia.com/numa-bind"

READER: Final = PodReader(Kinds([NVIDIA]))
MOST, LEAST, HIGHEST, LOWEST = (
    CardKey.MOST_USED,
    CardKey.LEAST_USED,
    CardKey.HIGHEST_NUMA,
    CardKey.LOWEST_NUMA,
)

POLICIES: Final = {
    "spread": SPREAD_CARDS,
    "binpack": BINPACK_CARDS,
    "mutex": DevicePolicy((LEAST,), is_exclusive=True),
    "numa": DevicePolicy((HIGHEST,)),
    "numa,binpack": DevicePolicy((HIGHEST, MOST)),
    " binpack , numa ": DevicePolicy((MOST, HIGHEST)),
    "mutex,binpack": DevicePolicy((MOST,), is_exclusive=True),
    "mutex,mutex": DevicePolicy((LEAST,), is_exclusive=True),
    "spread,binpack,numa,numa": DevicePolicy((LEAST, HIGHEST)),
    "topology-aware": DevicePolicy((LEAST,), is_topology_aware=True),
    "topology-aware,binpack": DevicePolicy((MOST,), is_topology_aware=True),
}
BOUND: Final = {
    "binpack": DevicePolicy((LOWEST, MOST), on_one_numa_node=True),
    "spread": DevicePolicy((HIGHEST, LEAST), on_one_numa_node=True),
    "mutex": DevicePolicy((HIGHEST, LEAST), is_exclusive=True, on_one_numa_node=True),
    "numa": DevicePolicy((HIGHEST,), on_one_numa_node=True),
    "binpack,numa": DevicePolicy((HIGHEST, MOST), on_one_numa_node=True),
    "binpack,spread": DevicePolicy((HIGHEST, MOST), on_one_numa_node=True),
}


def read(
    texts: dict[str, str], default: DevicePolicy = SPREAD_CARDS
) -> tuple[DevicePolicy, tuple[str, ...]]:
    """Read a pod with these annotations: its policy, and its warnings."""
    shown = pod("p").app("a", gpu=1).annotations(texts).build()
    made = PodReader(Kinds([NVIDIA]), default).read(shown)
    assert made.request_problem is None
    return request_of(made).device_policy, made.warnings


@pytest.mark.parametrize(("text", "policy"), POLICIES.items())
def test_policy(text: str, policy: DevicePolicy) -> None:
    """One word, or a list of keys from left to right."""
    assert read({POLICY: text}, BINPACK_CARDS) == (policy, ())


@pytest.mark.parametrize(("text", "policy"), BOUND.items())
@pytest.mark.parametrize("value", ["1", "t", "T", "true", "True", "TRUE"])
def test_numa_bind(text: str, policy: DevicePolicy, value: str) -> None:
    """NUMA nodes one after another, and by the policy within each."""
    assert read({POLICY: text, NUMA_BIND: value}) == (policy, ())


@pytest.mark.parametrize("value", ["", "0", "f", "F", "false", "False", "FALSE"])
def test_numa_bind_that_is_off(value: str) -> None:
    """As Go reads a boolean."""
    assert read({NUMA_BIND: value}) == (SPREAD_CARDS, ())


@pytest.mark.parametrize("value", ["yes", "tRUE", " true", "on"])
def test_numa_bind_that_is_neither(value: str) -> None:
    """Off, as HAMi has it; but it says so."""
    policy, (warning,) = read({NUMA_BIND: value})
    assert policy == SPREAD_CARDS
    assert warning == f"{NUMA_BIND}: {value!r} is neither true nor false; it is off"


def test_empty_policy_is_none() -> None:
    """What a template writes where nobody set a value."""
    assert read({POLICY: ""}, BINPACK_CARDS) == (BINPACK_CARDS, ())


@pytest.mark.parametrize("text", [" ", "Binpack", "pack", "binpack,pack", "numa,"])
def test_unknown_policy_is_the_default_with_a_warning(text: str) -> None:
    """Never silently something else; one word of a list spoils it."""
    policy, (warning,) = read({POLICY: text}, BINPACK_CARDS)
    assert policy == BINPACK_CARDS
    assert warning == (
        f"{POLICY}: {text!r} is not one or more of binpack, spread, numa, mutex, "
        "topology-aware; the default is used"
    )


@pytest.mark.parametrize(
    "text",
    ["slot=1,core=2,memory=3", "memory=3, slot = 1 ,core=2", "core=2,memory=3,slot=1"],
)
def test_weights(text: str) -> None:
    """All three, in any order."""
    policy, warnings = read({WEIGHTS: text, POLICY: "binpack"})
    weights = Weights(slots=1, memory=3, cores=2)
    assert (policy, warnings) == (DevicePolicy((MOST,), weights=weights), ())


def test_weights_of_the_cluster() -> None:
    """They count for pods that name none, also for those that name a policy."""
    weights = Weights(slots=0, memory=1, cores=0)
    default = DevicePolicy((LEAST,), weights=weights)
    policy, _ = read({POLICY: "binpack"}, default)
    assert policy == DevicePolicy((MOST,), weights=weights)


UNREADABLE: Final = [
    "",
    "slot=1",
    "slot=1,core=1",
    "slot=1,core=1,memory=1,",
    "slot=1,core=1,memory=1,slot=1",
    "slot=1,slot=1,memory=1",
    "slot=0,core=0,memory=0",
    "slot=-1,core=1,memory=1",
    "slot=1.5,core=1,memory=1",
    "slot=1,core=1,mem=1",
    "slot=1000000,core=1,memory=1",
    "slot=1 2,core=1,memory=1",
    "slot=\N{ARABIC-INDIC DIGIT ONE},core=1,memory=1",
]


@pytest.mark.parametrize("text", UNREADABLE)
def test_weights_that_cannot_be_read(text: str) -> None:
    """Such a pod is refused, with the name and the text, if it asks for cards."""
    texts = {WEIGHTS: text}
    made = READER.read(pod("p").app("a", gpu=1).annotations(texts).build())
    assert made.request_problem is not None
    assert WEIGHTS in made.request_problem
    assert "slot=A,core=B,memory=C" in made.request_problem
    assert not request_of(made).asks_for_devices
    assert request_of(made).kubelet_slots == 1
    plain = READER.read(pod("p").app("a").annotations(texts).build())
    assert plain.request_problem is None


NOTED: Final = {"gpu-extender/exclusive": "true"}
ALONE: Final = {
    "its policy says so": ({POLICY: "mutex"}, True),
    "bind noted it": (NOTED, True),
    "bind noted it, and the policy was edited": ({**NOTED, POLICY: "binpack"}, True),
    "bind noted it, and the weights were edited": ({**NOTED, WEIGHTS: "?"}, True),
    "its policy says so, and the weights cannot be read": (
        {POLICY: "mutex", WEIGHTS: "?"},
        True,
    ),
    "nothing says so": ({}, False),
    "it says something else": ({"gpu-extender/exclusive": "yes"}, False),
}


@pytest.mark.parametrize(("texts", "is_alone"), ALONE.values(), ids=ALONE)
def test_bound_pod_holds_its_cards_alone(
    texts: dict[str, str], *, is_alone: bool
) -> None:
    """Whatever the cluster's default is now; an unbound pod goes by that."""
    for default in (SPREAD_CARDS, DevicePolicy(is_exclusive=True)):
        shown = pod("p").app("a", gpu=1).annotations(texts)
        reader = PodReader(Kinds([NVIDIA]), default)
        bound = reader.read(shown.on("n1").build())
        assert request_of(bound).device_policy.is_exclusive is is_alone
    unbound = PodReader(Kinds([NVIDIA]), DevicePolicy(is_exclusive=True)).read(
        pod("p").app("a", gpu=1).annotations(NOTED).build()
    )
    assert request_of(unbound).device_policy.is_exclusive
    forged = READER.read(pod("p").app("a", gpu=1).annotations(NOTED).build())
    assert not request_of(forged).device_policy.is_exclusive
