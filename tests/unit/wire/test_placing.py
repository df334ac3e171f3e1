"""What another scheduler writes of an unbound pod's place."""

from dataclasses import replace
from typing import Any, Final

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName
from extender.core.pod import NOT_PLACED, Placing
from extender.wire.pods import PodReader
from tests.builders import Json, PodBuilder, pod

ASKING: Final = pod("p").app("a", gpu=1, gpumem=8_000)
CHOSEN: Final = {"hami.io/vgpu-node": "n1", "hami.io/vgpu-time": "17"}
SAID: Final = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def read(shown: PodBuilder) -> Placing:
    """Read it from the wire."""
    return PodReader(Kinds([NVIDIA])).read(shown.build()).placing


def with_condition(condition: Any) -> PodBuilder:  # noqa: ANN401 - JSON
    """Show one condition, whatever it is."""
    conditions: tuple[Json, ...] = (condition,)
    return replace(ASKING, conditions=conditions)


def test_nothing_is_written_of_a_new_pod() -> None:
    """No object is made for it."""
    assert read(ASKING) is NOT_PLACED


def test_node_and_time_of_an_assignment() -> None:
    """As HAMi's filter writes them; the time as it is spelled."""
    assert read(ASKING.annotations(CHOSEN)) == Placing(NodeName("n1"), at="17")


def test_a_bound_pod_has_its_node_and_no_placing() -> None:
    """Whatever its annotations say."""
    assert read(ASKING.annotations(CHOSEN).on("n2")) is NOT_PLACED


def test_what_the_scheduler_says_of_a_pod_that_fits_nowhere() -> None:
    """In its own words; also without any."""
    assert read(with_condition({**SAID, "message": "no"})) == Placing(refusal="no")
    assert read(with_condition(SAID)) == Placing(refusal="")


@pytest.mark.parametrize(
    "condition",
    [
        {**SAID, "status": "True"},
        {**SAID, "reason": "SchedulerError"},
        {**SAID, "reason": "SchedulingGated"},
        {**SAID, "type": "Ready"},
        "text",
        None,
    ],
    ids=str,
)
def test_other_conditions_say_nothing(condition: object) -> None:
    """A scheduler that failed, or has not tried, has not found that it fits nowhere."""
    assert read(with_condition(condition)) is NOT_PLACED
