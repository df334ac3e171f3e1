"""doctor: what is wrong with the cluster, and the release of locks nobody needs."""

from collections.abc import Callable, Iterable
from typing import Final

from extender.core.kind_set import Kinds
from extender.service.auditor import Auditor
from extender.service.in_turns import in_turns
from extender.service.node_locks import NodeLocks
from extender.settings import BindSettings
from extender.state.ledger_view import LedgerView
from extender.verbs.diagnosis import LockRelease
from extender.verbs.doctor.examination import (
    Consulted,
    Examination,
    examine_steps,
    in_order,
    of_audit,
)
from extender.verbs.doctor.signs import Patience, Signs

STATE: Final = Consulted("nodes, pods and quotas")
AUDIT: Final = Consulted("totals, against what the pods add up to")


class Doctor:
    """Examines what an extender knows."""

    def __init__(
        self,
        *,
        ledger: LedgerView,
        locks: NodeLocks,
        auditor: Auditor,
        kinds: Callable[[], Kinds],
        settings: BindSettings,
        unix_seconds: Callable[[], float],
    ) -> None:
        """Examine a state.

        Args:
            ledger: The state.
            locks: Of nodes, and since when they stand.
            auditor: Compares totals.
            kinds: Gives those that are scheduled.
            settings: How long a bind may last.
            unix_seconds: The clock that pods' times are compared with.
        """
        self._ledger = ledger
        self._locks = locks
        self._auditor = auditor
        self._kinds = kinds
        self._patience = Patience(
            settings.longest_bind_seconds, settings.admission_seconds
        )
        self._unix_seconds = unix_seconds

    async def examine(self) -> Examination:
        """Look at everything, in turns between which requests are answered."""
        now = self._unix_seconds()
        signs = Signs(
            self._ledger,
            self._kinds(),
            tuple(self._locks.stands.standing(self._ledger.pods.values(), now)),
            now,
            self._patience,
        )
        found = await in_turns(examine_steps(signs))
        found += of_audit(await self._auditor.audit())
        return Examination(
            in_order(found),
            (STATE, AUDIT),
            len(self._ledger.nodes),
            len(self._ledger.pods),
        )

    async def fix(self, releases: Iterable[LockRelease]) -> list[str]:
        """Release locks that are still leaked, each judged anew by the API.

        Returns:
            What was done about each, in order.
        """
        return [await self._locks.release_leaked(each) for each in releases]
