"""Recompute every node's totals from its pods, and compare."""

from collections.abc import Iterator
from dataclasses import dataclass

from extender.core.bucket import NodeTotals
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.model import NodeName
from extender.state.holdings import standing_of
from extender.state.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Difference:
    """A node whose recorded totals are not what its pods add up to."""

    node_name: NodeName
    recorded: NodeTotals | None
    recomputed: NodeTotals | None


def audit(ledger: Ledger) -> list[Difference]:
    """Compare what was kept up event by event with what the pods say now.

    Returns:
        One entry per node that differs; empty when all is well.

    Cost: O(nodes x cards + pods).
    """
    held_on: dict[NodeName, list[Holding]] = {}
    for holding in _recomputed_holdings(ledger):
        held_on.setdefault(holding.node_name, []).append(holding)
    differences = []
    for node_name, node in ledger.nodes.items():
        fresh = Fleet()
        fresh.put(node, held_on.get(node_name, []))
        recorded = ledger.fleet.totals(node_name)
        recomputed = fresh.totals(node_name)
        if recorded != recomputed:
            differences.append(Difference(node_name, recorded, recomputed))
    return differences


def _recomputed_holdings(ledger: Ledger) -> Iterator[Holding]:
    for pod_uid, pod in ledger.pods.items():
        standing = ledger.standing(pod_uid)
        earlier = standing.seen_allocations if standing else ()
        holding = standing_of(pod, ledger.reservation(pod_uid), earlier).holding
        if holding is not None:
            yield holding
