"""Annotations whose names are nearly ones that count."""

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.wire.annotation_names import misnamed_annotations
from extender.wire.owned_annotations import owned_annotations
from tests.shipped import SHIPPED

MISNAMED = "nvidia.com/use-gputypes"


def told_behind(names: list[str]) -> list[str]:
    """Give what is said of a pod whose last annotation has a typo."""
    annotations = dict.fromkeys([*names, MISNAMED], "A10")
    return list(misnamed_annotations(annotations, Kinds([NVIDIA])))


def test_few_annotations_are_all_compared() -> None:
    """Those that count, and those too long to be meant, take nobody's place."""
    others = [f"example.com/{number}" for number in range(49)]
    known = ["nvidia.com/use-gputype", "hami.io/gpu-scheduler-policy"]
    (warning,) = told_behind([*others, *known, "x" * 81])
    assert MISNAMED in warning


def test_very_many_annotations_hold_up_nobody() -> None:
    """A pod may bring ten thousand; to compare each would take seconds."""
    assert told_behind([f"example.com/{number}" for number in range(50)]) == []


def test_names_of_others_are_no_typos() -> None:
    """What vendors' plugins and device plugins write besides; and what is refused."""
    names = [
        "huawei.com/npu-core",
        "huawei.com/schedule_policy",
        "metax-tech.com/gpu-topology-losses",
        "metax-tech.com/gpu-topology-scores",
        *(name for kind in SHIPPED.values() for name in owned_annotations(kind)),
    ]
    for name in names:
        assert list(misnamed_annotations({name: "x"}, Kinds(SHIPPED.values()))) == []
