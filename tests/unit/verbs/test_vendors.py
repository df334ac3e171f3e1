"""From a vendor's node and a pod to the rows that its plugin gets, and back."""

from typing import Any

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import Kind
from extender.core.model import Node, NodeName, Pod
from extender.verbs.bind import choose_devices
from extender.wire.allocation import encode_allocation, read_allocation
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from tests.builders import pod
from tests.shipped import SHIPPED
from tests.values import fleet_of
from tests.vendors import ROWS


@pytest.mark.parametrize(
    ("word", "capacity", "annotations", "limits", "expected"), ROWS.values(), ids=ROWS
)
def test_rows_say_what_is_given(
    word: str,
    capacity: dict[str, int],
    annotations: dict[str, str],
    limits: dict[str, int],
    expected: str,
) -> None:
    """In the vendor's words and units; and they read back as what was given."""
    kind = SHIPPED[word]
    shown = node(kind, capacity, annotations)
    allocation = choose_devices(
        fleet_of([shown]),
        asking(kind, limits),
        NodeName("n1"),
        None,
    )
    assert allocation is not None
    models = {device.device_uuid: device.model for device in shown.devices}
    text = encode_allocation(allocation, kind, models)
    assert text == expected
    counts = [len(row) for row in allocation]
    back = read_allocation(text, counts, kind)
    assert back == allocation


def node(kind: Kind, capacity: dict[str, int], annotations: dict[str, str]) -> Node:
    """Show node ``n1``; all that it has can be asked for."""
    shown: dict[str, Any] = {
        "metadata": {"name": "n1", "annotations": annotations},
        "status": {"capacity": capacity, "allocatable": capacity},
    }
    return decode_node(shown, [kind])


def asking(kind: Kind, limits: dict[str, int]) -> Pod:
    """Show a pod with one container."""
    shown = pod("p").app("a").build()
    shown["spec"]["containers"][0]["resources"] = {"limits": limits}
    return PodReader(Kinds([kind])).read(shown)
