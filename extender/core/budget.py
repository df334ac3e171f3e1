"""How many steps the search for an assignment of cards may take, and what it took.

A step is one set of cards that is tried for one container. Steps are counted, never
timed, so that the same question has the same answer on any machine.
"""

from dataclasses import dataclass
from typing import Final

STEPS_PER_NODE: Final = 300
"""All assignments of 4 containers to 4 cards take fewer: 1 + 6 + 36 + 216 tries."""

STEPS_PER_QUESTION: Final = 600
"""Over all nodes of one question: twice what one node may take, since the first may be
searched as it is and empty. So every question decides some. They take about 3 ms."""

ONE_NODE_TIMES: Final = 50
"""Who asks about one node alone may take so many times the steps."""


class OutOfSteps(Exception):
    """The search on one node took more steps than it may; nothing is decided."""


@dataclass(slots=True)
class SearchCounts:
    """What all searches took since the start.

    Attributes:
        steps: Sets of cards that were tried.
        nodes: Nodes, equal ones counted once a question, that were searched.
        exhausted: Nodes that were not decided, since the steps ran out.
    """

    steps: int = 0
    nodes: int = 0
    exhausted: int = 0


@dataclass(slots=True)
class StepBudget:
    """What is left of the steps of one question.

    Attributes:
        per_node: Steps that any one node may take.
        left: Steps that all nodes together may still take.
        counts: Where steps are counted.
    """

    per_node: int
    left: int
    counts: SearchCounts

    @classmethod
    def of_many(cls, counts: SearchCounts) -> "StepBudget":
        """Give what filter may take over all nodes."""
        return cls(STEPS_PER_NODE, STEPS_PER_QUESTION, counts)

    @classmethod
    def of_one(cls, counts: SearchCounts) -> "StepBudget":
        """Give what may be taken where only one node is in question."""
        steps = STEPS_PER_NODE * ONE_NODE_TIMES
        return cls(steps, steps, counts)

    def set_aside(self) -> int:
        """Keep half of what is left for later; whoever does adds it again."""
        kept = max(self.left, 0) // 2
        self.left -= kept
        return kept

    def take(self, steps: int) -> None:
        """Count steps that were taken."""
        self.left -= steps
        self.counts.steps += steps
