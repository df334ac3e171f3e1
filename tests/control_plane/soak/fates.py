"""What is to become of each pod of the soak, by its number and nothing else."""

from dataclasses import dataclass
from enum import Enum, auto
from random import Random
from typing import Final, Self

from tests.builders import Json, PodBuilder
from tests.control_plane.soak.shapes import SHAPES, Shape

NUMBER: Final = "soak/number"
"""The annotation by which a pod tells which one it is."""

_IMPATIENT: Final = 0.4
"""How many pods are deleted where they are unbound for long."""

_PATIENCE_SECONDS: Final = (15.0, 60.0)
_RUN_SECONDS: Final = (0.0, 20.0)
_TIDY_SECONDS: Final = (2.0, 8.0)
"""How long finished pods stay, as a Job's do."""

_NAME_AGAIN: Final = 0.3
"""How many pods are followed by another one of the same name."""


class End(Enum):
    """How a pod that was bound comes to its end."""

    BY_ITSELF = auto()
    BEFORE_SERVED = auto()
    """Deleted with force between its bind and its first device."""

    FORCED = auto()
    """Deleted with force while it starts or runs."""

    GRACEFUL = auto()
    """Deleted with grace while it starts or runs."""


_ENDS: Final = {
    End.BY_ITSELF: 84,
    End.BEFORE_SERVED: 4,
    End.FORCED: 6,
    End.GRACEFUL: 6,
}


@dataclass(frozen=True, slots=True)
class Fate:
    """What is drawn for one pod."""

    shape: Shape
    patience_seconds: float | None
    """After which it is deleted, if it is not bound."""

    end: End
    run_seconds: float
    """After which it is deleted, if its end is to come by deletion."""

    tidy_seconds: float
    name_again: bool

    @classmethod
    def of(cls, seed: int, number: int) -> Self:
        """Draw; the same for the same two numbers."""
        random = Random(f"{seed} pod {number}")
        weights = [shape.weight for shape in SHAPES.values()]
        (shape,) = random.choices([*SHAPES.values()], weights)
        is_patient = random.random() >= _IMPATIENT
        patience = random.uniform(*_PATIENCE_SECONDS)
        (end,) = random.choices([*_ENDS], [*_ENDS.values()])
        return cls(
            shape=shape,
            patience_seconds=None if is_patient else patience,
            end=end,
            run_seconds=random.uniform(*_RUN_SECONDS),
            tidy_seconds=random.uniform(*_TIDY_SECONDS),
            name_again=random.random() < _NAME_AGAIN,
        )

    def builder(self, name: str, number: int) -> PodBuilder:
        """Describe the pod."""
        return self.shape.builder(name).annotations({NUMBER: str(number)})


def number_of(shown: Json) -> int:
    """Tell which pod of the soak this is."""
    return int(shown["metadata"]["annotations"][NUMBER])
