"""Where filter itself chose a node for pods that are not at their bind yet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.core.policies import Burst
from extender.service.node_locks import NodeLocks
from extender.state.ledger_view import LedgerView
from extender.verbs.bind import choose_devices
from extender.verbs.exact import choose_node
from extender.verbs.nominations import expected_holding

EXPECTED_SECONDS: Final = 5.0
"""How long a pod is expected at the node that filter chose. kube-scheduler asks for the
bind within milliseconds, unless it waits for volumes or gives the pod up."""


@dataclass(frozen=True, slots=True)
class _Expected:
    holding: Holding
    until: float


class ExactPlaces:
    """Chooses nodes, and lets those that it chose a moment ago come last for others.

    Such an expectation ends with the pod's bind, whose reservation counts instead, or
    by time. It is no charge: it refuses nothing.
    """

    def __init__(
        self,
        ledger: LedgerView,
        locks: NodeLocks,
        burst: Burst,
        monotonic: Callable[[], float],
    ) -> None:
        self._ledger = ledger
        self._locks = locks
        self._burst = burst
        self._monotonic = monotonic
        self._expected: dict[PodUID, _Expected] = {}

    def choose(
        self,
        fleet: Fleet,
        pod: Pod,
        node_names: Sequence[NodeName],
        nominated: Sequence[Holding],
    ) -> NodeName:
        """Choose one of the nodes that a pod fits on, and expect it there."""
        self.forget(pod.uid)
        own, expected = self._ledger.holding(pod.uid), self._others()
        chosen = choose_node(
            fleet,
            pod,
            node_names,
            own,
            nominated=nominated,
            expected=expected,
            binds_at=self._locks.binds_at(),
            burst=self._burst,
        )
        beside = [*nominated, *expected]
        allocation = choose_devices(fleet, pod, chosen, own, beside) or choose_devices(
            fleet, pod, chosen, own, nominated
        )
        if allocation is not None:
            holding = expected_holding(pod, chosen, allocation)
            until = self._monotonic() + EXPECTED_SECONDS
            self._expected[pod.uid] = _Expected(holding, until)
        return chosen

    def forget(self, pod_uid: PodUID) -> None:
        """Expect a pod nowhere: its bind is answered, it is gone, or asked about."""
        self._expected.pop(pod_uid, None)

    def expected(self, without: PodUID) -> dict[PodUID, Holding]:
        """Tell which other pods are expected where, and what they will hold there."""
        self._others()
        return {
            pod_uid: each.holding
            for pod_uid, each in self._expected.items()
            if pod_uid != without
        }

    def _others(self) -> list[Holding]:
        """List what is expected and not counted yet; forget what is over."""
        now = self._monotonic()
        for pod_uid, expected in list(self._expected.items()):
            if expected.until <= now or self._ledger.holding(pod_uid) is not None:
                del self._expected[pod_uid]
        return [each.holding for each in self._expected.values()]
