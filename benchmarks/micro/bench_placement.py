"""To fit a pod on all nodes at once."""

import pytest

from benchmarks.micro.measuring import Against, Measured
from benchmarks.micro.stage import READER, Stage
from extender.core.placement import place

_STEP = "place"


@pytest.mark.parametrize(
    "shape", ["one app", "sidecar + init + app", "20 containers", "refused"]
)
def bench_place(
    measured: Measured, stage: Stage, shape: str, node_count: int, fewest_nodes: int
) -> None:
    """Place one pod; nothing is remembered at this level."""
    cards = stage.cards
    (request,) = READER.read(stage.question(shape).pod()).requests
    measured(
        {"step": _STEP, "pod": shape, "nodes": node_count},
        lambda: place(cards, request),
        Against(
            "per_node_to_fewest",
            {"step": _STEP, "pod": shape, "nodes": fewest_nodes},
            node_count / fewest_nodes,
        ),
    )
