"""Mutations as JSON Patch, on pods that lack what they are put into."""

import copy
from typing import Final

import pytest

from extender.verbs.admission import (
    AddEnv,
    ContainerPlace,
    Mutation,
    SetAnnotation,
    SetLimit,
    SetRuntimeClass,
    SetScheduler,
)
from extender.wire.json_patch import apply_mutations
from tests.builders import Json
from tests.json_patch import patched

APP: Final = ContainerPlace("containers", 0)
INIT: Final = ContainerPlace("initContainers", 1)


def of(app: Json) -> Json:
    """Print a pod of one app."""
    return {"metadata": {}, "spec": {"containers": [app]}}


ALL_TWICE: Final[list[Mutation]] = [
    SetLimit(APP, "a.com/b", 1),
    SetLimit(APP, "a.com/c~d", 2),
    AddEnv(APP, "A", "1"),
    AddEnv(APP, "B", "2"),
    SetAnnotation("a.com/b", "1"),
    SetAnnotation("a~1/c", "2"),
    SetScheduler("s"),
    SetRuntimeClass("r"),
]
LIMITS: Final = {"a.com/b": "1", "a.com/c~d": "2"}
ENV: Final = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]

PODS: dict[str, Json] = {
    "nothing": of({}),
    "nulls": of({"resources": None, "env": None}),
    "null limits": of({"resources": {"limits": None, "requests": None}}),
    "empty": of({"resources": {"limits": {}, "requests": {}}, "env": []}),
    "no metadata": {"metadata": None, "spec": {"containers": [{}]}},
    "null annotations": {
        "metadata": {"annotations": None},
        "spec": {"containers": [{}]},
    },
}


@pytest.mark.parametrize("shown", PODS.values(), ids=PODS)
def test_what_is_missing_is_made_once(shown: Json) -> None:
    """The second of two mutations finds what the first one made."""
    before = copy.deepcopy(shown)
    changed = copy.deepcopy(shown)
    patch = apply_mutations(changed, ALL_TWICE)
    result = patched(before, patch)
    assert result == changed
    (one,) = result["spec"]["containers"]
    assert one["resources"]["limits"] == LIMITS
    assert one["env"] == ENV
    assert result["metadata"]["annotations"] == {"a.com/b": "1", "a~1/c": "2"}
    assert result["spec"]["schedulerName"] == "s"
    assert result["spec"]["runtimeClassName"] == "r"


def test_what_is_there_stays() -> None:
    """Variables come behind, other limits stay."""
    shown = of({"resources": {"limits": {"cpu": "1"}}, "env": [{"name": "X"}]})
    patch = apply_mutations(copy.deepcopy(shown), ALL_TWICE)
    (one,) = patched(shown, patch)["spec"]["containers"]
    assert one["resources"] == {"limits": {"cpu": "1", **LIMITS}}
    assert one["env"] == [{"name": "X"}, *ENV]


def test_request_follows_its_limit() -> None:
    """Kubernetes refuses one that is not equal; one that is missing it fills in."""
    requests = {"a.com/b": "7", "cpu": "1"}
    shown = of({"resources": {"limits": {"a.com/b": "7"}, "requests": requests}})
    patch = apply_mutations(copy.deepcopy(shown), ALL_TWICE)
    (one,) = patched(shown, patch)["spec"]["containers"]
    assert one["resources"]["requests"] == {"a.com/b": "1", "cpu": "1"}


def test_place_counts() -> None:
    """The second init is not the first."""
    shown: Json = {"spec": {"initContainers": [{}, {}], "containers": [{}]}}
    patch = apply_mutations(copy.deepcopy(shown), [AddEnv(INIT, "A", "1")])
    assert patched(shown, patch)["spec"]["initContainers"] == [{}, {"env": ENV[:1]}]
