"""What the admission webhook gives to pods of other vendors."""

from dataclasses import replace
from typing import Final

import pytest

from extender.core.kinds import Kind
from tests.admission import OURS, Answered, admitted
from tests.builders import pod
from tests.shipped import SHIPPED

Amounts = dict[str, int | str]


def asked(*containers: Amounts, annotations: dict[str, str] | None = None) -> Answered:
    """Put a pod to the webhook, of apps with these limits."""
    apps = [
        {
            "name": f"app-{index}",
            "resources": {
                "limits": {name: str(amount) for name, amount in limits.items()}
            },
        }
        for index, limits in enumerate(containers)
    ]
    shown = pod("p").annotations(annotations or {})
    return admitted(shown, SHIPPED.values(), containers=apps)


GIVEN: dict[str, tuple[Amounts, Amounts]] = {
    "a slice of an MLU": (
        {"cambricon.com/vmlu": 1, "cambricon.com/mlu.smlu.vmemory": 8},
        {},
    ),
    "a DCU": ({"hygon.com/dcunum": 1}, {}),
    "a whole MThreads card": (
        {"mthreads.com/vgpu": 1},
        {"mthreads.com/sgpu-memory": 96, "mthreads.com/sgpu-core": 16},
    ),
    "a slice of an MThreads card": (
        {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-memory": 8},
        {},
    ),
    "two MThreads cards": (
        {"mthreads.com/vgpu": 2, "mthreads.com/sgpu-memory": 64},
        {"mthreads.com/sgpu-memory": 192, "mthreads.com/sgpu-core": 32},
    ),
    "one Iluvatar card": ({"iluvatar.ai/MR-V100-vgpu": 1}, {}),
    "two Iluvatar cards": (
        {"iluvatar.ai/MR-V100-vgpu": 2},
        {"iluvatar.ai/MR-V100.vCore": 200},
    ),
    "a slice of an Ascend": (
        {"huawei.com/Ascend910B4": 1, "huawei.com/Ascend910B4-memory": 5000},
        {"huawei.com/Ascend910B4-memory": 8192},
    ),
    "a whole Ascend": (
        {"huawei.com/Ascend910B4": 1},
        {"huawei.com/Ascend910B4-memory": 32768},
    ),
    "half of a module": (
        {"huawei.com/Ascend910C": 1},
        {"huawei.com/Ascend910C": 2, "huawei.com/Ascend910C-memory": 65536},
    ),
    "Neuron cores alone": ({"aws.amazon.com/neuroncore": 2}, {}),
    "a profile by memory": ({"enflame.com/gcu-memory": 20}, {}),
    "a vXPU": (
        {"kunlunxin.com/vxpu": 1, "kunlunxin.com/vxpu-memory": 20000},
        {},
    ),
}


@pytest.mark.parametrize(("named", "given"), GIVEN.values(), ids=GIVEN)
def test_limits(named: Amounts, given: Amounts) -> None:
    """What kubelet has to ask the plugin for; where that overrules, it is told."""
    answer = asked(named)
    wanted = {name: str(amount) for name, amount in {**named, **given}.items()}
    assert answer.limits == {"app-0": wanted}
    assert answer.pod["spec"]["schedulerName"] == OURS
    overruled = [name for name in given if name in named]
    assert [text.split()[2] for text in answer.warnings] == overruled


ANNOTATIONS: dict[str, tuple[Amounts, dict[str, str]]] = {
    "several MThreads cards": (
        {"mthreads.com/vgpu": 2},
        {"mthreads.com/request-gpu-num": "2"},
    ),
}


@pytest.mark.parametrize(("named", "given"), ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_annotations(named: Amounts, given: dict[str, str]) -> None:
    """They are there before the pod is placed."""
    assert asked(named).pod["metadata"]["annotations"] == given
    again = asked(named, annotations={"example.com/a": "b", **given})
    assert [each["path"] for each in again.patch if "annot" in each["path"]] == []


def test_container_name() -> None:
    """Iluvatar's library cannot find it out; one that is given is kept."""
    answer = asked({"iluvatar.ai/MR-V100-vgpu": 1}, {"hygon.com/dcunum": 1})
    assert answer.env == {"app-0": [("SOL_CONTINER_NAME", "app-0")]}


REFUSED: dict[str, tuple[tuple[Amounts, ...], str]] = {
    "memory alone": (
        ({"hygon.com/dcumem": 1000},),
        "hygon.com/dcumem: 1000 is not allowed without hygon.com/dcunum",
    ),
    "a size that is not cut": (
        ({"mthreads.com/vgpu": 1, "mthreads.com/sgpu-memory": 5},),
        "mthreads.com/sgpu-memory: 5 is not one of 2, 4, 8, 16, 32, 64, 96",
    ),
    "two containers of a plugin that serves one": (
        ({"cambricon.com/vmlu": 1}, {"cambricon.com/vmlu": 1}),
        "containers 'app-0' and 'app-1': both ask for cambricon.com/vmlu",
    ),
    "three modules' halves": (
        ({"huawei.com/Ascend910C": 3},),
        "huawei.com/Ascend910C: 3 is not even",
    ),
    "one kind that can be given, and one that cannot": (
        ({"nvidia.com/gpu": 1}, {"aws.amazon.com/neuroncore": 3}),
        "container 'app-1': aws.amazon.com/neuroncore: 3 is not 1, or a multiple of 2",
    ),
    "a profile by two names": (
        ({"enflame.com/drs-gcu": 3, "enflame.com/gcu-memory": 20},),
        "enflame.com/gcu-memory: 20 is not allowed beside enflame.com/drs-gcu",
    ),
}


@pytest.mark.parametrize(("containers", "text"), REFUSED.values(), ids=REFUSED)
def test_refused(containers: tuple[Amounts, ...], text: str) -> None:
    """Each vendor's rules hold at admission already."""
    answer = asked(*containers)
    assert not answer.allowed
    assert text in answer.text


def test_words_that_metax_does_not_know() -> None:
    """What filter would refuse is refused at once."""
    policy = {"metax-tech.com/sgpu-qos-policy": "most-effort"}
    answer = asked({"metax-tech.com/sgpu": 1}, annotations=policy)
    assert "'most-effort' is not one of best-effort, " in answer.text


def test_class_of_the_pod_counts() -> None:
    """Its containers may have one card each."""
    offline = {"metax-tech.com/sgpu-app-class": "offline"}
    assert asked({"metax-tech.com/sgpu": 1}, annotations=offline).allowed
    answer = asked({"metax-tech.com/sgpu": 2}, annotations=offline)
    assert "metax-tech.com/sgpu: 2 is not 1, all that" in answer.text


def test_amounts_of_nothing() -> None:
    """Kinds whose amounts stand alone are asked for nothing by 0 of them."""
    answer = asked({"aws.amazon.com/neuroncore": 0})
    assert answer.allowed
    assert answer.patch == []


def test_memory_that_its_unit_cannot_say() -> None:
    """It stays as it is named; what is given is raised all the same."""
    kind = replace(SHIPPED["Ascend910B4"], memory_factor=3000)
    limits = {NPU: "1", f"{NPU}-memory": "2"}
    app = {"name": "a", "resources": {"limits": limits}}
    assert admitted(pod("p"), [kind], containers=[app]).limits == {"a": limits}


NPU: Final = "huawei.com/Ascend910B4"


def hiding() -> list[Kind]:
    """Give all kinds, of which those of Ascend hide their devices from others."""
    return [
        replace(kind, admission=replace(kind.admission, overwrites_env=True))
        if kind.admission.hidden_env == ("ASCEND_VISIBLE_DEVICES", "")
        else kind
        for kind in SHIPPED.values()
    ]


def test_one_variable_of_many_kinds() -> None:
    """It is emptied where no kind is asked for that is seen by it, and once."""
    apps = [
        {"name": "npu", "resources": {"limits": {NPU: "1"}}},
        {"name": "cpu"},
    ]
    answer = admitted(pod("p"), hiding(), containers=apps)
    assert answer.env == {"cpu": [("ASCEND_VISIBLE_DEVICES", "")]}


def test_request_is_raised_with_its_limit() -> None:
    """A pod that names both gets both."""
    amounts = {NPU: "1", f"{NPU}-memory": "5000"}
    app = {"name": "a", "resources": {"limits": amounts, "requests": amounts}}
    answer = admitted(pod("p"), SHIPPED.values(), containers=[app])
    (one,) = answer.pod["spec"]["containers"]
    wanted = {NPU: "1", f"{NPU}-memory": "8192"}
    assert one["resources"] == {"limits": wanted, "requests": wanted}
