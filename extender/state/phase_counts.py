"""How often what inits needed was given back, and taken again."""

from dataclasses import dataclass

from extender.state.holdings import Footing, Standing

_BOUND = (Footing.ALLOCATED, Footing.LAST_READABLE)


@dataclass(slots=True)
class PhaseCounts:
    """Phases of init containers of pods that were seen before and after.

    Attributes:
        released: Ended, so that what only they needed is free.
        re_inflated: Count again, since the inits run again.
    """

    released: int = 0
    re_inflated: int = 0

    def note(self, before: Standing | None, after: Standing) -> None:
        """Compare what a pod counted for with what it counts for now.

        A pod that ends gives back everything, which is no phase of it.
        """
        if before is None or before.footing not in _BOUND:
            return
        change = after.released_phases - before.released_phases
        if not change or after.footing not in _BOUND:
            return
        if change > 0:
            self.released += change
        else:
            self.re_inflated -= change
