"""ResourceQuota objects: which keys count, in which unit, and for which pods."""

from dataclasses import replace
from typing import Any

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA, Kind, MemoryNotation
from extender.core.quota_room import Quota
from extender.core.quota_scopes import QuotaTraits
from extender.errors import BadObject
from extender.wire.pods import PodReader
from extender.wire.resource_quota import read_quota
from tests.builders import Json, pod
from tests.shipped import SHIPPED

DCU = Kind(
    type_word="DCU",
    count_resource="hygon.com/dcunum",
    memory_resource="hygon.com/dcumem",
    core_resource="hygon.com/dcucores",
    allocated_annotation="hami.io/dcu-devices-allocated",
    memory_factor=256,
)
KINDS = Kinds([NVIDIA, DCU])
MEM = "limits.nvidia.com/gpumem"


def quota(hard: Json, **spec: Any) -> Quota:  # noqa: ANN401 - JSON
    """Read one."""
    obj = {
        "metadata": {"name": "q", "namespace": "t"},
        "spec": {"hard": hard, **spec},
    }
    return read_quota(obj, KINDS)


def test_limits_of_every_dimension_count() -> None:
    """Count, memory and cores; memory in MiB, by the kind's factor."""
    read = quota(
        {
            "limits.nvidia.com/gpu": "2",
            MEM: "10k",
            "limits.nvidia.com/gpucores": 150,
            "limits.hygon.com/dcumem": "4",
            "limits.cpu": "4",
            "pods": "7",
        }
    )
    assert {each.key: (each.kind, each.most) for each in read.limits} == {
        "limits.nvidia.com/gpu": ("NVIDIA", 2),
        MEM: ("NVIDIA", 10_000),
        "limits.nvidia.com/gpucores": ("NVIDIA", 150),
        "limits.hygon.com/dcumem": ("DCU", 1024),
    }
    assert read.warnings == ()


def test_gib_or_bytes() -> None:
    """A kind that has its memory written as GiB, or as bytes, has its quota so."""
    sgpu = replace(NVIDIA, memory_notation=MemoryNotation.GIB_OR_BYTES)
    for text, mib in (("4", 4096), ("512Mi", 512)):
        obj = {"metadata": {"name": "q"}, "spec": {"hard": {MEM: text}}}
        assert [each.most for each in read_quota(obj, Kinds([sgpu])).limits] == [mib]


@pytest.mark.parametrize(
    ("resource", "unit"),
    [
        ("nvidia.com/gpu", "devices"),
        ("nvidia.com/gpumem", "MiB"),
        ("nvidia.com/gpucores", "% of cores"),
        ("enflame.com/drs-gcu", "slots"),
        ("enflame.com/gcu-memory", "MiB"),
        ("mthreads.com/sgpu-core", "cores (16 a device)"),
        ("aws.amazon.com/neuroncore", "cores (2 a device)"),
    ],
)
def test_unit(resource: str, unit: str) -> None:
    """It is that of the kind's resource: not all count cores in percent."""
    obj = {"metadata": {"name": "q"}, "spec": {"hard": {f"limits.{resource}": "8"}}}
    (limit,) = read_quota(obj, Kinds(SHIPPED.values())).limits
    assert limit.unit == unit


def test_keys_of_the_api_server_are_shown() -> None:
    """They are not enforced here."""
    obj = {
        "metadata": {"name": "q"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "4"}},
        "status": {"used": {"requests.nvidia.com/gpu": "3"}},
    }
    read = read_quota(obj, KINDS)
    assert read.limits == ()
    [key] = read.shown
    assert (key.key, key.hard, key.used) == ("requests.nvidia.com/gpu", "4", "3")


@pytest.mark.parametrize("value", ["-1", "1500m", "", "many", None, {}, 1.5])
def test_an_unreadable_limit_is_neither_zero_nor_none(value: object) -> None:
    """It is kept, without a number, and said."""
    read = quota({MEM: value})
    [limit] = read.limits
    assert limit.most is None
    assert limit.problem
    assert read.warnings == (f"{MEM}: {limit.problem}",)


def test_a_percentage_is_no_limit() -> None:
    """What it comes to depends on the card; that is said."""
    read = quota({"limits.nvidia.com/gpumem-percentage": "100"})
    assert read.limits == ()
    assert "limits.nvidia.com/gpumem-percentage is not enforced" in read.warnings[0]


PLAIN = QuotaTraits()
DEADLINE = QuotaTraits(has_deadline=True)
BEST_EFFORT = QuotaTraits(is_best_effort=True)
HIGH = QuotaTraits(priority_class="high")


def expression(scope: str, operator: str, *values: str) -> Json:
    """Write a scope selector with one expression."""
    one = {"scopeName": scope, "operator": operator, "values": list(values)}
    return {"scopeSelector": {"matchExpressions": [one]}}


@pytest.mark.parametrize(
    ("spec", "counted"),
    [
        ({}, [PLAIN, DEADLINE, BEST_EFFORT, HIGH]),
        ({"scopes": ["Terminating"]}, [DEADLINE]),
        ({"scopes": ["NotTerminating"]}, [PLAIN, BEST_EFFORT, HIGH]),
        ({"scopes": ["BestEffort"]}, [BEST_EFFORT]),
        ({"scopes": ["NotBestEffort"]}, [PLAIN, DEADLINE, HIGH]),
        ({"scopes": ["PriorityClass"]}, [HIGH]),
        ({"scopes": ["Terminating", "NotBestEffort"]}, [DEADLINE]),
        (expression("PriorityClass", "In", "low", "high"), [HIGH]),
        (expression("PriorityClass", "In", "low"), []),
        (
            expression("PriorityClass", "NotIn", "high"),
            [PLAIN, DEADLINE, BEST_EFFORT],
        ),
        (expression("PriorityClass", "Exists"), [HIGH]),
        (
            expression("PriorityClass", "DoesNotExist"),
            [PLAIN, DEADLINE, BEST_EFFORT],
        ),
        (expression("Terminating", "Exists"), [DEADLINE]),
        ({"scopes": ["Unheard"]}, [PLAIN, DEADLINE, BEST_EFFORT, HIGH]),
    ],
)
def test_scopes(spec: Json, counted: list[QuotaTraits]) -> None:
    """A pod must be in each scope; one that is not known leaves none out."""
    read = quota({MEM: "1"}, **spec)
    traits = [PLAIN, DEADLINE, BEST_EFFORT, HIGH]
    assert [each for each in traits if read.matches(each)] == counted


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        ([], "resourcequota"),
        ({"metadata": {}}, "metadata.name"),
        ({"metadata": {"name": "q"}, "spec": {"hard": []}}, "spec.hard"),
        ({"metadata": {"name": "q"}, "spec": {"scopes": "x"}}, "spec.scopes"),
        (
            {"metadata": {"name": "q"}, "spec": expression("Terminating", "Near")},
            "spec.scopeSelector.matchExpressions[0].operator",
        ),
    ],
)
def test_no_quota_at_all(obj: object, field: str) -> None:
    """The error names the field."""
    with pytest.raises(BadObject) as caught:
        read_quota(obj, KINDS)
    assert caught.value.field == field


def traits_of(change: Json, **limits: str) -> QuotaTraits:
    """Read a pod whose spec is changed."""
    obj = pod("p").app("a", gpu=1).build()
    obj["spec"].update(change)
    obj["spec"]["containers"][0]["resources"]["limits"].update(limits)
    return PodReader(KINDS).read(obj).quota_traits


def test_what_scopes_look_at() -> None:
    """Deadline, QoS class and priority class."""
    assert traits_of({}) == BEST_EFFORT
    assert traits_of({}, cpu="0", memory="0.0Gi") == BEST_EFFORT
    assert traits_of({}, cpu="100m") == PLAIN
    assert traits_of({"resources": {"requests": {"memory": "1Gi"}}}) == PLAIN
    assert traits_of({"activeDeadlineSeconds": 0}, cpu="1") == DEADLINE
    assert traits_of({"activeDeadlineSeconds": None}, cpu="1") == PLAIN
    assert traits_of({"priorityClassName": "high"}, cpu="1") == HIGH


def test_the_qos_class_of_the_status_counts() -> None:
    """The API server wrote it when the pod was made."""
    obj = pod("p").app("a", gpu=1).build()
    obj["status"]["qosClass"] = "Burstable"
    assert PodReader(KINDS).read(obj).quota_traits == PLAIN
