"""Exact mode: which of the fitting nodes filter chooses."""

from collections.abc import Mapping, Sequence
from typing import Final

import pytest

from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName
from extender.core.policies import Burst
from extender.core.usage import Usage
from extender.verbs.exact import choose_node
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from tests.builders import PodBuilder, node, pod
from tests.values import held

NAMES: Final = ("n1", "n2", "n3")
GIB: Final = 1024
PACKED: Final = pod("p").app("a", gpu=1, gpumem=8 * GIB)
SPREAD: Final = PACKED.annotations({"hami.io/node-scheduler-policy": "spread"})


def chosen(
    wanted: PodBuilder,
    used_gib: Mapping[str, int],
    expected: Sequence[tuple[str, int]] = (),
    binds_at: Mapping[str, int] | None = None,
    burst: Burst = Burst.PACKING,
) -> str:
    """Choose among three nodes of one card of 24 GiB, with so much of each in use."""
    fleet = Fleet()
    for name in NAMES:
        shown = node(name).gpu("GPU-a", memory=24 * GIB).build()
        holdings = [holding(name, used_gib[name])] if used_gib.get(name) else []
        fleet.put(decode_node(shown, [NVIDIA]), holdings)
    return choose_node(
        fleet,
        PodReader(Kinds([NVIDIA])).read(wanted.build()),
        [NodeName(name) for name in NAMES if used_gib.get(name, 0) <= 16],
        None,
        expected=[holding(name, gib) for name, gib in expected],
        binds_at={NodeName(name): count for name, count in (binds_at or {}).items()},
        burst=burst,
    )


def holding(name: str, gib: int) -> Holding:
    """Hold memory on the card of a node."""
    return held(NodeName(name), {"GPU-a": Usage(1, gib * GIB, 0)}, kubelet=1)


CHOSEN: dict[str, tuple[str, PodBuilder, dict[str, int], list[tuple[str, int]]]] = {
    "equal nodes: the first name": ("n1", PACKED, {}, []),
    "binpack: the fullest": ("n2", PACKED, {"n1": 4, "n2": 12}, []),
    "spread: the emptiest": ("n3", SPREAD, {"n1": 4, "n2": 12}, []),
    "a full node is no candidate": ("n1", PACKED, {"n2": 20}, []),
    "expected room comes last": ("n2", PACKED, {"n1": 12}, [("n1", 12)]),
    "room beside what is expected": ("n1", PACKED, {"n1": 8}, [("n1", 8)]),
    "spread goes round what is expected": ("n2", SPREAD, {}, [("n1", 8)]),
    "all room is expected: the best all the same": (
        "n2",
        PACKED,
        {"n2": 16},
        [("n1", 20), ("n2", 8), ("n3", 20)],
    ),
    "expected on a node that is gone": ("n1", PACKED, {}, [("n9", 8)]),
}


@pytest.mark.parametrize(
    ("best", "wanted", "used_gib", "expected"), CHOSEN.values(), ids=CHOSEN
)
def test_best_node_is_chosen(
    best: str,
    wanted: PodBuilder,
    used_gib: dict[str, int],
    expected: list[tuple[str, int]],
) -> None:
    """By the score that prioritize would give, then by name."""
    assert chosen(wanted, used_gib, expected) == best


def test_nodes_where_a_bind_waits_come_later() -> None:
    """As they do for prioritize, and an expected pod is a bind that comes first."""
    locked = {"n1": 1}
    assert chosen(PACKED, {}, binds_at=locked) == "n2"
    assert chosen(PACKED, {"n1": 12}, binds_at=locked) == "n1"
    throughput = Burst.THROUGHPUT
    assert chosen(PACKED, {"n1": 12}, binds_at=locked, burst=throughput) == "n2"
    assert chosen(PACKED, {"n1": 8}, [("n1", 1)], burst=throughput) == "n2"
