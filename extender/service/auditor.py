"""The audit on a timer and on demand, and what cards hold too much, told once."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from extender.core.names import DeviceUUID, NodeName
from extender.observe.metrics import Metrics
from extender.state.audit import Difference, audit_slices
from extender.state.events import Recount
from extender.state.ledger import Ledger
from extender.state.overfull import Cause

_log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 1.0
"""How often to look for cards that became overfull."""


class Auditor:
    """Finds out whether what is recorded is what the pods add up to.

    A difference is a fault of ours. It is counted and logged with both figures, every
    total is worked out anew at once, and all is listed again from the API.
    """

    def __init__(
        self,
        ledger: Ledger,
        metrics: Metrics,
        list_again: Callable[[], None],
        every_seconds: float,
    ) -> None:
        """Audit a ledger.

        Args:
            ledger: Is compared and, after a difference, worked out anew.
            metrics: Counts.
            list_again: Asks for all that the API has.
            every_seconds: Between the audits of the timer.
        """
        self._ledger = ledger
        self._metrics = metrics
        self._list_again = list_again
        self._every_seconds = every_seconds
        self._told: dict[tuple[NodeName, DeviceUUID], Cause] = {}

    async def audit(self) -> list[Difference]:
        """Compare once, in steps between which requests are answered."""
        differences: list[Difference] = []
        for found in audit_slices(self._ledger):
            differences += found
            await asyncio.sleep(0)
        self._metrics.audits.inc()
        self._metrics.audit_differences.inc(len(differences))
        for each in differences:
            _log.error(
                "audit: %s is recorded as %s, its pods add up to %s; counting anew "
                "and listing again",
                each.subject,
                each.recorded,
                each.recomputed,
            )
        if differences:
            self._ledger.apply(Recount())
            self._list_again()
        return differences

    async def audit_forever(self) -> None:
        """Compare, until cancelled, again and again."""
        while True:
            await asyncio.sleep(self._every_seconds)
            await self.audit()

    async def tell_forever(self) -> None:
        """Log, until cancelled, which cards became overfull, and which no more are."""
        while True:
            self.tell()
            await asyncio.sleep(_LOOK_SECONDS)

    def tell(self) -> None:
        """Log what changed since the last time."""
        now = {
            (node_name, device_uuid): cause
            for node_name, cards in self._ledger.overfull.causes.items()
            for device_uuid, cause in cards.items()
        }
        for (node_name, device_uuid), cause in now.items():
            if self._told.get((node_name, device_uuid)) is not cause:
                self._tell_overfull(node_name, device_uuid, cause)
        for node_name, device_uuid in self._told.keys() - now.keys():
            _log.info("node %s: card %s has room again", node_name, device_uuid)
        self._told = now

    def _tell_overfull(
        self, node_name: NodeName, device_uuid: DeviceUUID, cause: Cause
    ) -> None:
        figures = self._ledger.overfull_on(node_name).get(device_uuid)
        if figures is None:
            return
        held, capacity = figures
        _log.log(
            logging.ERROR if cause is Cause.PLACED else logging.WARNING,
            "node %s: card %s holds %s of %s, cause: %s; it takes nothing new until it "
            "has room",
            node_name,
            device_uuid,
            held,
            capacity,
            cause,
        )
