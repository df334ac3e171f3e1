"""Recompute every total from the pods, and compare."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeVar

from extender.core.bucket import NodeTotals
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import KindWord, NodeName, PodUID
from extender.core.quota import QuotaCharges
from extender.state.holdings import Standing, standing_of
from extender.state.ledger_view import LedgerView
from extender.state.quotas import Charged, Quotas, Sums

_AT_A_TIME: Final = 64

Audited = Mapping[KindWord, NodeTotals] | Holding | Sums | QuotaCharges | None
"""What is compared: a node's totals, what a pod holds or is charged to its quotas, or
what all pods of a namespace are."""

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is recorded, and is not what the pods add up to.

    Attributes:
        subject: ``node``, ``pod`` or ``quota of namespace``, and its name.
        recorded: What was kept up event by event.
        recomputed: What the pods say.
    """

    subject: str
    recorded: Audited
    recomputed: Audited


def audit(ledger: LedgerView) -> list[Difference]:
    """Compare what was kept up event by event with what the pods say now.

    Returns:
        One entry per pod or node that differs; empty when all is well.

    Cost: O(nodes x cards + pods); seconds for 5,000 nodes and 40,000 pods.
    """
    return list(chain.from_iterable(audit_slices(ledger)))


def audit_slices(ledger: LedgerView) -> Iterator[list[Difference]]:
    """Do the same in steps of a few milliseconds; events may come between them.

    First each pod: does it count for what its allocation, spec and status say, and is
    it found where it counts? Then each node: do its totals add up to what is held
    there, and by nobody else? At last each namespace: are its quotas charged what its
    pods are?
    """
    for uids in _slices(list(ledger.pods)):
        yield [each for uid in uids if (each := _audit_pod(ledger, uid)) is not None]
    for names in _slices(ledger.places()):
        yield [each for name in names for each in _audit_node(ledger, name)]
    yield list(_audit_quotas(ledger))


def _slices(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), _AT_A_TIME):
        yield items[start : start + _AT_A_TIME]


def _audit_pod(ledger: LedgerView, pod_uid: PodUID) -> Difference | None:
    pod = ledger.pods.get(pod_uid)
    if pod is None:
        return None
    anew, standing = _recomputed(ledger, pod_uid), ledger.standing(pod_uid)
    recomputed = anew.holding if anew else None
    recorded = standing.holding if standing else None
    if recorded is not None:
        recorded = ledger.holders_on(recorded.node_name).get(pod_uid)
    if recorded != recomputed:
        return Difference(f"pod {pod.full_name}", recorded, recomputed)
    charged = standing.quota if standing else {}
    charges = anew.quota if anew else {}
    if charged != charges:
        return Difference(f"quota charge of pod {pod.full_name}", charged, charges)
    return None


def _recomputed(ledger: LedgerView, pod_uid: PodUID) -> Standing | None:
    pod = ledger.pods.get(pod_uid)
    if pod is None:
        return None
    former = ledger.standing(pod_uid)
    return standing_of(pod, ledger.reservation(pod_uid), former)


def _audit_quotas(ledger: LedgerView) -> Iterator[Difference]:
    """Add up in one step, of charges that were compared pod by pod.

    A few hundredths of a second for 40,000 pods; between two steps the sums of a
    namespace would change.
    """
    fresh = Quotas()
    for pod_uid, pod in ledger.pods.items():
        standing = ledger.standing(pod_uid)
        if standing is not None:
            fresh.replace(None, Charged.of(pod, standing.quota), 0)
    recorded, expected = ledger.quotas.sums, fresh.sums
    for namespace in sorted(recorded.keys() | expected.keys()):
        if recorded.get(namespace) != expected.get(namespace):
            yield Difference(
                f"quota of namespace {namespace}",
                recorded.get(namespace),
                expected.get(namespace),
            )


def _audit_node(ledger: LedgerView, node_name: NodeName) -> Iterator[Difference]:
    holders = ledger.holders_on(node_name)
    for pod_uid, holding in holders.items():
        anew = _recomputed(ledger, pod_uid)
        recomputed = anew.holding if anew else None
        if recomputed is None or recomputed.node_name != node_name:
            yield Difference(f"pod of uid {pod_uid}", holding, None)
    node = ledger.nodes.get(node_name)
    if node is None:
        return
    fresh = Fleet()
    fresh.put(node, holders.values())
    recorded, expected = ledger.fleet.totals(node_name), fresh.totals(node_name)
    if recorded != expected:
        yield Difference(f"node {node_name}", recorded, expected)
