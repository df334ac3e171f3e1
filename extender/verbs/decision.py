"""One pod's whole way: filter, the scores, the best node, and the cards there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from extender.core.allocation import Allocation
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.core.policies import Burst
from extender.core.reasons import Reason
from extender.state.ledger_view import LedgerView
from extender.verbs.bind import choose_devices
from extender.verbs.exact import Mode, choose_node
from extender.verbs.filter import FilterDecision, filter_nodes
from extender.verbs.prioritize import best_node, score_nodes


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a decision goes by besides the ledger, the fleet and the pod.

    Attributes:
        stuck: Nodes that are refused for a lock, each with the pod that keeps it.
        binds_at: As for `extender.verbs.prioritize.score_nodes`.
        expected: What pods that were sent to a node will hold there; in exact mode.
        mode: What filter returns.
        burst: What counts more where many bind at once.
    """

    stuck: tuple[tuple[NodeName, PodUID], ...] = ()
    binds_at: Mapping[NodeName, int] = field(default_factory=dict)
    expected: tuple[Holding, ...] = ()
    mode: Mode = Mode.SCORED
    burst: Burst = Burst.PACKING


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a pod.

    Attributes:
        scores: Of each node that filter returns, in the order asked.
        failed: Nodes that do not fit now, with filter's text.
        unresolvable: Nodes that never would, with filter's text.
        chosen: The best of those that fit; None without any.
        allocation: The cards that bind takes there, row by row; None where it takes
            none.
    """

    scores: Mapping[NodeName, int]
    failed: Mapping[NodeName, str]
    unresolvable: Mapping[NodeName, str]
    chosen: NodeName | None = None
    allocation: Allocation | None = None


def filtered(
    ledger: LedgerView,
    pod: Pod,
    node_names: Sequence[NodeName],
    beside: Sequence[Holding],
    *,
    fleet: Fleet,
    stuck: Collection[tuple[NodeName, PodUID]],
) -> FilterDecision:
    """Answer as filter does, but for exact mode.

    Args:
        ledger: Who holds what.
        pod: To be placed.
        node_names: Candidates.
        beside: What others will hold that counts against it.
        fleet: Cards and totals.
        stuck: As for `Circumstances`.
    """
    own, rooms = ledger.holding(pod.uid), ledger.quota_rooms(pod)
    decision = filter_nodes(fleet, pod, node_names, own, beside, rooms=rooms)
    if pod.asks_for_devices:
        locked = {node_name for node_name, uid in stuck if uid != pod.uid}
        decision.refuse(locked, Reason.NODE_LOCKED)
    return decision


def decide(
    ledger: LedgerView,
    pod: Pod,
    node_names: Sequence[NodeName],
    nominated: Sequence[Holding],
    given: Circumstances,
) -> Decision:
    """Go a pod's whole way at one moment. Changes nothing.

    Args:
        ledger: Who holds what.
        pod: To be placed.
        node_names: Candidates, each once.
        nominated: Room that is held against it.
        given: What else counts.
    """
    fleet, own = ledger.fleet, ledger.holding(pod.uid)
    answer = filtered(
        ledger, pod, node_names, nominated, fleet=fleet, stuck=given.stuck
    )
    fitting = answer.fitting
    asks = pod.asks_for_devices and pod.request_problem is None
    if given.mode is Mode.EXACT and asks and fitting:
        fitting = [
            choose_node(
                fleet,
                pod,
                fitting,
                own,
                nominated=nominated,
                expected=given.expected,
                binds_at=given.binds_at,
                burst=given.burst,
            )
        ]
    scores = score_nodes(
        fleet, pod, fitting, own, nominated, binds_at=given.binds_at, burst=given.burst
    )
    by_name = dict(zip(fitting, scores.tolist(), strict=True))
    chosen = best_node(by_name) if by_name else None
    allocation = None
    if chosen is not None and asks:
        rooms = ledger.quota_rooms(pod)
        allocation = choose_devices(fleet, pod, chosen, own, nominated, rooms=rooms)
    return Decision(by_name, answer.failed, answer.unresolvable, chosen, allocation)
