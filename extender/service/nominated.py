"""Room held for nominated pods, worked out once per generation of the ledger."""

from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.model import Pod
from extender.state.ledger import Ledger
from extender.verbs.nominations import Nomination, nominations


class NominatedRoom:
    """What pods that others were evicted for will hold."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._generation = -1
        self._nominations: list[Nomination] = []

    def held_against(self, pod: Pod, fleet: Fleet | None = None) -> list[Holding]:
        """List the room that `pod` has to leave.

        Args:
            pod: To be placed.
            fleet: Cards and totals, where they are not the ledger's own.
        """
        if fleet is None or fleet is self._ledger.fleet:
            found = self._of_ledger()
        else:
            found = nominations(fleet, self._ledger.nominated())
        return [each.holding for each in found if each.holds_against(pod)]

    def _of_ledger(self) -> list[Nomination]:
        if self._generation != self._ledger.generation:
            fleet = self._ledger.fleet
            self._nominations = nominations(fleet, self._ledger.nominated())
            self._generation = self._ledger.generation
        return self._nominations
