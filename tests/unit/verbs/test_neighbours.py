"""Several AWS Neuron devices of a container stand in a row."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import pytest

from extender.core.holding import Holding
from extender.core.kind_set import Kinds
from extender.core.names import DeviceUUID, NodeName
from extender.core.pod import Pod
from extender.core.usage import Usage
from extender.verbs.bind import choose_devices
from extender.verbs.filter import filter_nodes
from extender.verbs.verdicts import judge_node
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from tests.builders import pod
from tests.shipped import SHIPPED
from tests.values import fleet_of

NEURON: Final = SHIPPED["AWSNeuron"]
N1: Final = NodeName("n1")
DEVICES: Final = "aws.amazon.com/neuron"
CORES: Final = "aws.amazon.com/neuroncore"
ONE_CORE: Final = Usage(1, 0, 1)

Case = tuple[str, int, Collection[int], Mapping[str, int], list[int] | str]
"""Instance type, how many devices, which of them have a core in use, what is asked; and
the devices that are given, or why none are."""

CASES: Final[dict[str, Case]] = {
    "a ring: any that stand in a row": ("inf2.48xlarge", 4, [0], {DEVICES: 2}, [1, 2]),
    "a ring: not round the end": (
        "inf2.48xlarge",
        4,
        [1, 2],
        {DEVICES: 2},
        "NumaNotFit",
    ),
    "a ring: three": ("inf2.48xlarge", 4, [0], {DEVICES: 3}, [1, 2, 3]),
    "blocks: four that begin at a fourth": (
        "trn1.32xlarge",
        16,
        [1],
        {DEVICES: 4},
        [4, 5, 6, 7],
    ),
    "blocks: not across": ("trn1.32xlarge", 8, [0, 7], {DEVICES: 4}, "NumaNotFit"),
    "blocks: eight": ("trn1.32xlarge", 16, [3], {DEVICES: 8}, [*range(8, 16)]),
    "blocks: two never": ("trn1.32xlarge", 16, [], {DEVICES: 2}, "NumaNotFit"),
    "one device is its own neighbour": ("trn1.2xlarge", 2, [0], {DEVICES: 1}, [1]),
    "cores of several devices": ("inf2.24xlarge", 6, [0], {CORES: 6}, [1, 2, 3]),
    "a core beside another": ("trn1.32xlarge", 2, [0], {CORES: 1}, [0]),
    "more than there are": (
        "inf2.48xlarge",
        2,
        [],
        {DEVICES: 4},
        "NodeInsufficientDevice",
    ),
    "none is free": (
        "inf2.48xlarge",
        2,
        [0, 1],
        {DEVICES: 2},
        "CardInsufficientCore",
    ),
}


def asking(limits: Mapping[str, int]) -> Pod:
    """Read a pod of one container."""
    shown = pod("p").app("a").build()
    shown["spec"]["containers"][0]["resources"] = {"limits": limits}
    return PodReader(Kinds([NEURON])).read(shown)


@pytest.mark.parametrize(
    ("instance", "count", "taken", "limits", "expected"), CASES.values(), ids=CASES
)
def test_devices_are_neighbours(
    instance: str,
    count: int,
    taken: Collection[int],
    limits: Mapping[str, int],
    expected: list[int] | str,
) -> None:
    """As the instance type tells; filter, bind and the verdict say the same."""
    capacity = {DEVICES: count, CORES: 2 * count}
    shown: dict[str, Any] = {
        "metadata": {
            "name": N1,
            "labels": {"node.kubernetes.io/instance-type": instance},
        },
        "status": {"capacity": capacity, "allocatable": capacity},
    }
    uuids = [DeviceUUID(f"n1-AWSNeuron-{index}") for index in range(count)]
    used = {uuids[index]: ONE_CORE for index in taken}
    held = Holding(N1, used, cores=dict.fromkeys(used, 1))
    fleet, coming = fleet_of([decode_node(shown, [NEURON])], [held]), asking(limits)
    chosen = choose_devices(fleet, coming, N1, None)
    verdict = judge_node(fleet, coming, N1, None)
    decision = filter_nodes(fleet, coming, [N1], None)
    assert (chosen is None) == (verdict is not None) == (not decision.fitting)
    if verdict is not None:
        reasons = [reason.value for reason in verdict.reasons]
        assert expected in reasons
    else:
        assert chosen is not None
        given = [uuids.index(share.device_uuid) for share in chosen[0]]
        assert given == expected
        assert not any(
            share.cores & 0b01 for share in chosen[0] if share.device_uuid in used
        )


def test_other_rows_are_searched_where_the_first_ones_leave_none() -> None:
    """Of 7 devices without the third, 1, 2 and 3 fit as 3, (0, 1) and (4, 5, 6)."""
    amounts = {DEVICES: "7", CORES: "14"}
    node = decode_node(
        {
            "metadata": {
                "name": N1,
                "labels": {"node.kubernetes.io/instance-type": "inf2.48xlarge"},
                "annotations": {"hami.io/device-cordon": "n1-AWSNeuron-2"},
            },
            "status": {"capacity": amounts, "allocatable": amounts},
        },
        [NEURON],
    )
    made = pod("p").app("a").app("b").app("c").build()
    for container, cores in zip(made["spec"]["containers"], (2, 4, 6), strict=True):
        container["resources"] = {"limits": {CORES: str(cores)}}
    wanted = PodReader(Kinds([NEURON])).read(made)
    fleet = fleet_of([node])
    decision = filter_nodes(fleet, wanted, [N1], None)
    assert decision.fitting == [N1]
    assert judge_node(fleet, wanted, N1, None) is None
    allocation = choose_devices(fleet, wanted, N1, None)
    assert allocation is not None
    places = [
        [int(share.device_uuid.rpartition("-")[2]) for share in row]
        for row in allocation
    ]
    assert places == [[3], [0, 1], [4, 5, 6]]
