"""Node objects."""

from typing import Any

import pytest

from extender.core.kinds import NVIDIA
from extender.core.names import DeviceUUID, NodeName
from extender.core.node import Device, Inventory, Node
from extender.core.usage import Usage
from extender.errors import BadObject
from extender.wire.nodes import decode_node
from tests.builders import node
from tests.values import inventory_of

REGISTER = "hami.io/node-nvidia-register"
CORDON = "hami.io/device-cordon"


def card(uuid: str, index: int, *, is_cordoned: bool = False) -> Device:
    """Make a card as the builder registers it."""
    return Device(
        DeviceUUID(uuid),
        index,
        Usage(10, 24_000, 100),
        "NVIDIA A10",
        is_cordoned=is_cordoned,
        mode="hami-core",
    )


def showing(
    devices: tuple[Device, ...] | None,
    allocatable_slots: int,
    problem: str | None = None,
) -> Node:
    """Make a node that shows this of the only kind."""
    inventory = Inventory(devices, allocatable_slots, problem)
    return Node(NodeName("n1"), {"NVIDIA": inventory})


def test_node_registers_its_cards() -> None:
    """Inventory, cordons and allocatable come together."""
    shown = node("n1").gpu("GPU-a").gpu("GPU-b").build()
    shown["metadata"]["annotations"][CORDON] = " GPU-b , ,GPU-gone"
    expected = (card("GPU-a", 0), card("GPU-b", 1, is_cordoned=True))
    assert decode_node(shown, [NVIDIA]) == showing(expected, 20)


def test_missing_annotation_is_no_inventory() -> None:
    """Case 98: allocatable alone registers nothing, and is no problem either."""
    shown = node("n1").allocatable(10).build()
    assert decode_node(shown, [NVIDIA]) == showing(None, 10)


def test_missing_allocatable_is_zero() -> None:
    """Cards whose plugin is gone do not count."""
    shown = node("n1").gpu("GPU-a").build()
    del shown["status"]["allocatable"]["nvidia.com/gpu"]
    read = decode_node(shown, [NVIDIA])
    assert read == showing((card("GPU-a", 0),), 0)
    assert not read.is_usable


def test_bare_node_is_read() -> None:
    """A node may show its name and nothing else."""
    shown = {"metadata": {"name": "n1"}}
    assert decode_node(shown, [NVIDIA]) == Node(NodeName("n1"))


def test_unreadable_inventory_refuses_this_node() -> None:
    """The problem names the annotation and what is wrong with it."""
    shown = node("n1").gpu("GPU-a").annotations({REGISTER: "[{}]"}).build()
    expected = "a non-empty id without `,:;` and blanks"
    problem = f"{REGISTER}[0].id: missing or null, expected {expected}"
    read = decode_node(shown, [NVIDIA])
    assert read == showing(None, 10, f"{problem} at its ends")
    assert not read.is_usable


ALLOCATABLE = {
    "a fraction": "1500m",
    "a text": "many",
    "a negative number": "-1",
    "more than 32 bits": "2147483648",
    "null": None,
}


@pytest.mark.parametrize("value", ALLOCATABLE.values(), ids=ALLOCATABLE)
def test_unreadable_allocatable_is_a_problem(value: object) -> None:
    """It is not read as zero without a word."""
    shown = node("n1").gpu("GPU-a").build()
    shown["status"]["allocatable"]["nvidia.com/gpu"] = value
    read = inventory_of(decode_node(shown, [NVIDIA]))
    assert read.devices == (card("GPU-a", 0),)
    assert read.allocatable_slots == 0
    assert str(read.problem).startswith("status.allocatable[nvidia.com/gpu]: ")


def test_all_problems_are_named() -> None:
    """Whoever mends the node sees the whole list."""
    shown = node("n1").gpu("GPU-a").annotations({REGISTER: "{"}).build()
    shown["status"] = 7
    problem = str(inventory_of(decode_node(shown, [NVIDIA])).problem)
    assert REGISTER in problem
    assert "; node.status: 7 is not an object" in problem


WRONG_TYPES: dict[str, tuple[dict[str, Any], str]] = {
    "annotations": ({"annotations": []}, "metadata.annotations: "),
    "the register": (
        {"annotations": {REGISTER: 7}},
        f"metadata.annotations[{REGISTER}]: 7 is not a string",
    ),
    "the cordons": (
        {"annotations": {REGISTER: "[]", CORDON: ["GPU-a"]}},
        f"metadata.annotations[{CORDON}]: a list is not a string",
    ),
}


@pytest.mark.parametrize(("metadata", "problem"), WRONG_TYPES.values(), ids=WRONG_TYPES)
def test_wrong_type_is_a_problem(metadata: dict[str, Any], problem: str) -> None:
    """A node that has a name is never lost."""
    read = inventory_of(decode_node({"metadata": {"name": "n1", **metadata}}, [NVIDIA]))
    assert read.devices is None
    assert str(read.problem).startswith(problem)


NAMELESS: dict[str, tuple[object, str]] = {
    "no object": ([], "node"),
    "no metadata": ({}, "metadata.name"),
    "no name": ({"metadata": {}}, "metadata.name"),
    "an empty name": ({"metadata": {"name": ""}}, "metadata.name"),
    "a name that is no text": ({"metadata": {"name": 7}}, "metadata.name"),
    "metadata that is no object": ({"metadata": 7}, "node.metadata"),
}


@pytest.mark.parametrize(("shown", "named"), NAMELESS.values(), ids=NAMELESS)
def test_node_without_a_name_is_refused(shown: object, named: str) -> None:
    """Nobody could say which node it is."""
    with pytest.raises(BadObject) as refused:
        decode_node(shown, [NVIDIA])
    assert refused.value.field == named
