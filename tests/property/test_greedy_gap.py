"""What the greedy choice costs, held to the numbers that are known."""

from collections.abc import Callable
from dataclasses import asdict

from tests.greedy_gap import Gap, measure


def test_the_greedy_choice_misses_as_few_fits_as_known(
    record_property: Callable[[str, object], None],
) -> None:
    """It never invents a fit. A change of these counts is a change of behaviour.

    ``python -m tests.greedy_gap`` prints them as a table.
    """
    gaps = measure()
    for policy, gap in gaps.items():
        for name, value in asdict(gap).items():
            record_property(f"greedy {policy} {name}", value)
    assert gaps == {
        "most used": Gap(cases=1_442, possible=953, missed=6, wasteful=183),
        "least used": Gap(cases=1_558, possible=1_028, missed=48, wasteful=208),
    }
