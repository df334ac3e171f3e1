"""Where room appeared, for those who were refused before."""

from collections.abc import Hashable
from typing import Generic, TypeVar

_Place = TypeVar("_Place", bound=Hashable)


class Freed(Generic[_Place]):
    """Where something was given back, each place with its last time.

    A place is a node, or a namespace with a quota.

    Time is the ledger's generation. What is noted may be no more room at all, such as
    a charge that changed on another card; that nothing is missed is what counts.
    """

    def __init__(self) -> None:
        self._last: dict[_Place, int] = {}

    def note(self, place: _Place, generation: int) -> None:
        """Note that a place may have more room from this generation on."""
        self._last.pop(place, None)  # so that the latest always comes last
        self._last[place] = generation

    def forget(self, place: _Place) -> None:
        """Drop a place that is gone."""
        self._last.pop(place, None)

    def since(self, generation: int) -> list[_Place]:
        """List places noted after a generation, the latest first.

        Cost: as many steps as there are such places.
        """
        found = []
        for place, noted in reversed(self._last.items()):
            if noted <= generation:
                break
            found.append(place)
        return found
