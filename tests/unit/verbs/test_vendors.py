"""From a vendor's node and a pod to the rows that its plugin gets, and back."""

from typing import Any

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import Kind
from extender.core.names import NodeName
from extender.core.node import Node
from extender.core.quota import allocation_charges
from extender.verbs.bind import choose_devices
from extender.verbs.quota import charge_at_admission
from extender.wire.binding import binding_annotations
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
    shown, coming = node(kind, capacity, annotations), asking(kind, limits)
    pending = PodReader(Kinds([kind])).read(coming)
    allocation = choose_devices(fleet_of([shown]), pending, NodeName("n1"), None)
    assert allocation is not None
    written = binding_annotations(
        pending,
        {word: kind},
        node_name=NodeName("n1"),
        devices=shown.devices,
        allocation=allocation,
        unix_seconds=1_790_000_000.5,
    )
    assert written[kind.allocated_annotation] == expected
    coming["metadata"]["annotations"] = written
    assert PodReader(Kinds([kind])).read(coming).allocation == allocation


@pytest.mark.parametrize(
    ("word", "capacity", "annotations", "limits", "expected"), ROWS.values(), ids=ROWS
)
def test_a_quota_counts_a_pod_alike_before_and_after(
    word: str,
    capacity: dict[str, int],
    annotations: dict[str, str],
    limits: dict[str, int],
    expected: str,
) -> None:
    """At admission by what it asks, and by its rows once it is bound.

    All cards of these nodes are alike.
    """
    kind = SHIPPED[word]
    fleet = fleet_of([node(kind, capacity, annotations)])
    pending = PodReader(Kinds([kind])).read(asking(kind, limits))
    allocation = choose_devices(fleet, pending, NodeName("n1"), None)
    assert allocation is not None, expected
    given = allocation_charges(pending.lifetimes, allocation, pending.requests)
    assert charge_at_admission(fleet, pending) == given


def node(kind: Kind, capacity: dict[str, int], annotations: dict[str, str]) -> Node:
    """Show node ``n1``; all that it has can be asked for."""
    shown: dict[str, Any] = {
        "metadata": {"name": "n1", "annotations": annotations},
        "status": {"capacity": capacity, "allocatable": capacity},
    }
    return decode_node(shown, [kind])


def asking(kind: Kind, limits: dict[str, int]) -> dict[str, Any]:
    """Show a pod with one container."""
    shown = pod("p").app("a").build()
    shown["spec"]["containers"][0]["resources"] = {"limits": limits}
    return shown
