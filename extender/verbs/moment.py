"""The state by which one pod is explained, as filter sees it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import KindWord, NodeName
from extender.core.node import Device
from extender.core.pod import Pod
from extender.core.policies import Burst
from extender.core.quota_room import NO_ROOMS, QuotaRooms
from extender.core.reasons import Reason
from extender.state.ledger_view import LedgerView
from extender.verbs.explanation import LockView
from extender.verbs.filter import FilterDecision
from extender.verbs.nominations import Nomination
from extender.verbs.verdicts import NodeVerdict

_REASON_OF: Mapping[str, Reason] = {reason.value: reason for reason in Reason}


@dataclass(frozen=True, slots=True)
class Moment:
    """What filter was asked, what it answered, and the rest of what it goes by.

    Attributes:
        ledger: The state.
        pod: In question.
        node_names: All nodes.
        decision: Filter's own answer on them.
        nominated: Room held against the pod.
        rooms: What the quotas of its namespace leave it.
        locks: Of the nodes whose lock is held.
        expected: Pods that are expected on a node, by UID's name and what they will
            hold; in exact mode only.
        is_exact: Whether filter itself chooses the node.
        binds_at: As for `extender.verbs.prioritize.score_nodes`.
        burst: The same.
        with_problem: Adds to a verdict why no card of its node counts.
    """

    ledger: LedgerView
    pod: Pod
    node_names: tuple[NodeName, ...]
    decision: FilterDecision
    nominated: Sequence[Nomination] = ()
    rooms: QuotaRooms = field(default_factory=lambda: NO_ROOMS)
    locks: Mapping[NodeName, LockView] = field(default_factory=dict)
    expected: Sequence[tuple[str, Holding]] = ()
    is_exact: bool = False
    binds_at: Mapping[NodeName, int] = field(default_factory=dict)
    burst: Burst = Burst.PACKING
    with_problem: Callable[[NodeVerdict], NodeVerdict] = lambda verdict: verdict

    @property
    def fleet(self) -> Fleet:
        """The arrays."""
        return self.ledger.fleet

    @property
    def own(self) -> Holding | None:
        """What the pod itself already counts for."""
        return self.ledger.holding(self.pod.uid)

    @property
    def beside(self) -> list[Holding]:
        """What nominated pods will hold."""
        return [each.holding for each in self.nominated]

    def refusal_on(self, node_name: NodeName) -> str | None:
        """Give filter's text; None where the pod fits."""
        decision = self.decision
        return decision.unresolvable.get(node_name) or decision.failed.get(node_name)

    def reasons_in(self, text: str) -> tuple[Reason, ...]:
        """Take the codes of filter's text apart; a sentence has none."""
        if self.pod.request_problem is not None:
            return ()
        return tuple(_REASON_OF[each] for each in text.split(", "))

    def devices_on(self, node_name: NodeName, kind: KindWord) -> Sequence[Device]:
        """List the devices that a node registers of a kind."""
        node = self.ledger.nodes.get(node_name)
        inventory = node.inventories.get(kind) if node else None
        return (inventory.devices if inventory else None) or ()
