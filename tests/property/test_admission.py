"""Any pod through the admission webhook: the patch is right, and right once."""

from dataclasses import replace
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from extender.core.kind_set import Kinds
from extender.core.kinds import Kind
from extender.wire.pods import PodReader
from tests.admission import OURS, Answered, admitted
from tests.builders import Json
from tests.shipped import SHIPPED

KINDS: Final[list[Kind]] = [
    replace(
        kind,
        admission=replace(
            kind.admission,
            overwrites_env=True,
            core_policy="force",
            runtime_class_name="some",
        ),
    )
    for kind in SHIPPED.values()
]
READER: Final = PodReader(Kinds(KINDS))

NAMES: Final = [
    *(name for kind in KINDS for name in kind.resources),
    "nvidia.com/priority",
    "nvidia.com/gpu",
    "cpu",
]
AMOUNTS: Final = st.sampled_from(["0", "1", "2", "8", "64", "100", "5k", "-1", "1500m"])
RESOURCES: Final = st.dictionaries(st.sampled_from(NAMES), AMOUNTS, max_size=4)
MISSING: Final[st.SearchStrategy[Json | None]] = st.sampled_from([None, {}])
VARIABLES: Final = st.sampled_from(
    [
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"},
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
        {"name": "CUDA_TASK_PRIORITY", "valueFrom": {"fieldRef": {}}},
        {"name": "SOL_CONTINER_NAME"},
        {"name": "A~/B", "value": "1"},
    ]
)
ANNOTATIONS: Final = st.dictionaries(
    st.sampled_from(
        [
            "mthreads.com/request-gpu-num",
            "metax-tech.com/sgpu-qos-policy",
            "metax-tech.com/sgpu-app-class",
            "huawei.com/vnpu-mode",
            "hami.io/gpu-scheduler-policy",
            "hami.io/vgpu-node",
            "a~b/c",
        ]
    ),
    st.sampled_from(["", "1", "2", "best-effort", "offline", "hami-core"]),
    max_size=2,
)


@st.composite
def containers(draw: st.DrawFn, name: str) -> Json:
    """Draw a container, as the API server may send it."""
    shown: Json = {"name": name}
    limits = draw(RESOURCES | MISSING)
    requests = draw(MISSING | st.just(limits) | RESOURCES)
    if draw(st.booleans()):
        shown["resources"] = {"limits": limits, "requests": requests}
    elif draw(st.booleans()):
        shown["resources"] = draw(MISSING)
    if draw(st.booleans()):
        shown["env"] = draw(st.lists(VARIABLES, max_size=3) | st.none())
    if draw(st.integers(0, 9)) == 0:
        shown["securityContext"] = {"privileged": True}
    return shown


@st.composite
def pods(draw: st.DrawFn) -> Json:
    """Draw a pod that is about to be created."""
    spec: Json = {
        "containers": draw(
            st.tuples(containers("a"), containers("b")).map(list)
            | st.tuples(containers("a")).map(list)
        ),
    }
    if draw(st.booleans()):
        spec["initContainers"] = [
            {**draw(containers("i")), **draw(st.sampled_from([{}, ALWAYS]))}
        ]
    scheduler = draw(st.sampled_from([None, "", "default-scheduler", OURS, "other"]))
    if scheduler is not None:
        spec["schedulerName"] = scheduler
    metadata: Json = draw(
        st.sampled_from([{"name": "p"}, {"generateName": "p-"}, {"name": "p", "x": {}}])
    )
    annotations = draw(ANNOTATIONS | st.none())
    if annotations is not None:
        metadata = {**metadata, "annotations": annotations}
    return {"metadata": metadata, "spec": spec}


ALWAYS: Final = {"restartPolicy": "Always"}


def answered(shown: Json) -> Answered:
    """Put a pod to the webhook."""
    return admitted(shown, KINDS)


@given(pods())
def test_patch_is_applied_once(shown: Json) -> None:
    """The same pod comes again, after another webhook: nothing is left to be done."""
    first = answered(shown)
    again = answered(first.pod)
    assert again.allowed == first.allowed
    assert again.patch == []
    assert again.pod == first.pod


@given(pods())
def test_pod_that_is_taken_can_be_placed(shown: Json) -> None:
    """What is admitted to our scheduler is no request that filter refuses by name."""
    answer = answered(shown)
    if answer.allowed and answer.pod["spec"].get("schedulerName") == OURS:
        named = {**answer.pod["metadata"], "name": "p"}
        read = READER.read({**answer.pod, "metadata": named})
        assert read.request_problem is None


@given(pods())
def test_nothing_is_taken_away(shown: Json) -> None:
    """Every field is there afterwards, and only what the pages name has changed."""
    answer = answered(shown)
    if not answer.allowed:
        assert answer.text
        assert answer.code in (403, 422)
        return
    before, after = shown["spec"], answer.pod["spec"]
    for field in ("initContainers", "containers"):
        for old, new in zip(before.get(field, ()), after.get(field, ()), strict=True):
            kept = (old.get("env") or []), (new.get("env") or [])
            assert kept[1][: len(kept[0])] == kept[0]
            limits = ((old.get("resources") or {}).get("limits")) or {}
            given_limits = ((new.get("resources") or {}).get("limits")) or {}
            assert limits.keys() <= given_limits.keys()
            rest = {"env", "resources"}
            assert {k: v for k, v in old.items() if k not in rest} == {
                k: v for k, v in new.items() if k not in rest
            }
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed <= {
        "initContainers",
        "containers",
        "schedulerName",
        "runtimeClassName",
    }


@given(pods())
def test_pod_that_asks_for_nothing_keeps_its_scheduler(shown: Json) -> None:
    """Whatever else is in it; only that it has no devices may be written into it."""
    spec = shown["spec"]
    asks = [
        name
        for one in [*spec["containers"], *spec.get("initContainers", ())]
        for part in ("limits", "requests")
        for name in (one.get("resources") or {}).get(part) or {}
        if name not in ("cpu", "nvidia.com/priority")
    ]
    if not asks:
        answer = answered(shown)
        assert answer.allowed
        assert all("/env" in each["path"] for each in answer.patch)
