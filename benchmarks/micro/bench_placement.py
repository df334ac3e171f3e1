"""To fit a pod on all nodes at once."""

import pytest

from benchmarks.micro.hard import HARD_POD, hard_cards
from benchmarks.micro.measuring import Against, Measured
from benchmarks.micro.stage import READER, Stage
from extender.core.answers import answer
from extender.core.budget import SearchCounts, StepBudget
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


def bench_search(measured: Measured, node_count: int) -> None:
    """Answer a pod whose containers fit alone, but not as they are chosen first.

    All nodes differ, so the steps that filter may take run out.
    """
    cards = hard_cards(node_count)
    counts = SearchCounts()
    answer(cards, HARD_POD, StepBudget.of_many(counts))
    measured(
        {"step": "search", "pod": "4 apps", "nodes": node_count},
        lambda: answer(cards, HARD_POD, StepBudget.of_many(SearchCounts())),
        counts={
            "search_steps": counts.steps,
            "searched_nodes": counts.nodes,
            "exhausted_nodes": counts.exhausted,
        },
    )
