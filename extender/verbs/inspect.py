"""inspect: what a cluster has, what is charged on it, and by whom; nothing changes."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Final

from extender.core.allocation import UnreadableAllocation
from extender.core.kind_set import Kinds
from extender.core.names import NodeName
from extender.core.node import Node
from extender.core.pod import Pod
from extender.core.usage import NOTHING
from extender.state.holdings import Footing
from extender.state.ledger_view import LedgerView
from extender.verbs.explanation import LockView
from extender.verbs.holders import held_cards, holders_on, phase_that_runs
from extender.verbs.inspect_cards import ClosedBy, cards_on, closed_by
from extender.verbs.inspect_models import ModelSums
from extender.verbs.inspection import (
    ClusterInspection,
    DeviceIds,
    InspectedCard,
    InspectedNode,
    InspectedPod,
    ModelCount,
    NodeSummary,
    PodCounts,
    StrayHolder,
)
from extender.verbs.pod_phases import asks_of, phase_needs

SMALL_CLUSTER: Final = 32
"""Up to so many nodes with devices, each is told in full."""

_NODES_A_STEP: Final = 16
_PODS_A_STEP: Final = 2_000
"""Each some milliseconds."""


def inspect_cluster_steps(
    ledger: LedgerView,
    kinds: Kinds,
    wanted: Sequence[NodeName] = (),
    lock_of: Callable[[Node], LockView | None] = lambda _node: None,
) -> Generator[None, None, ClusterInspection]:
    """Tell what a cluster has, in steps of some milliseconds.

    Args:
        ledger: The state.
        kinds: Those that are scheduled.
        wanted: Nodes to be told in full besides.
        lock_of: Tells of a node's lock.

    Cost: O(cards + holdings) of all.
    """
    generation = ledger.generation
    names = sorted(ledger.places())
    models, summaries = ModelSums(), list[NodeSummary]()
    for start in range(0, len(names), _NODES_A_STEP):
        chunk = names[start : start + _NODES_A_STEP]
        closed = closed_by(ledger, kinds, chunk)
        for name in chunk:
            cards = list(cards_on(ledger, kinds, name, closed))
            summary = _summary(ledger, kinds, name, cards)
            ids = {each.kind: each for each in _device_ids(ledger, kinds, name)}
            for kind in kinds:
                of_kind = [card for card in cards if card.kind == kind.type_word]
                if of_kind:
                    models.add_node(of_kind, ids.get(kind.type_word), kind)
            if cards or summary.pods or summary.problems:
                summaries.append(summary)
        yield
    shown = [each.node for each in summaries]
    in_full = [name for name in wanted if name in ledger.nodes]
    if len(shown) <= SMALL_CLUSTER:
        in_full += shown
    nodes: list[InspectedNode] = []
    for name in dict.fromkeys(in_full):
        nodes.append(inspect_node(ledger, kinds, name, lock_of))
        yield
    pods = yield from _pod_count_steps(ledger)
    return ClusterInspection(
        models.summaries(),
        tuple(summaries),
        len(names) - len(shown),
        pods,
        tuple(nodes),
        generation,
        ledger.generation == generation,
    )


def inspect_node(
    ledger: LedgerView,
    kinds: Kinds,
    name: NodeName,
    lock_of: Callable[[Node], LockView | None] = lambda _node: None,
) -> InspectedNode:
    """Tell of one node in full.

    Args:
        ledger: The state.
        kinds: Those that are scheduled.
        name: Of a node that is known, or on which something is held.
        lock_of: Tells of its lock.

    Cost: O(phases x shares) of the pods there.
    """
    closed: ClosedBy = closed_by(ledger, kinds, [name])
    holders = holders_on(ledger, name)
    plain = list(cards_on(ledger, kinds, name, closed))
    cards = [replace(card, holders=holders.get(card.device_uuid, ())) for card in plain]
    shown = {card.device_uuid for card in cards}
    node = ledger.nodes.get(name)
    return InspectedNode(
        _summary(ledger, kinds, name, plain),
        tuple(cards),
        tuple(_device_ids(ledger, kinds, name)),
        tuple(
            StrayHolder(uuid, holder)
            for uuid, of_card in holders.items()
            if uuid not in shown
            for holder in of_card
        ),
        lock_of(node) if node is not None else None,
        tuple(
            sorted(
                pod.full_name
                for pod in ledger.nominated()
                if pod.nominated_node == name
            )
        ),
        ledger.generation,
    )


def inspect_pod(ledger: LedgerView, pod: Pod) -> InspectedPod:
    """Tell what one pod asks for and holds.

    Args:
        ledger: The state.
        pod: Of it.
    """
    standing = ledger.standing(pod.uid)
    holding = standing.holding if standing else None
    name = holding.node_name if holding else pod.node_name
    status = pod.status.phase.value
    is_readable = pod.request_problem is None
    problem = pod.request_problem
    if isinstance(pod.allocation, UnreadableAllocation):
        problem = pod.allocation.problem
    return InspectedPod(
        pod.namespace,
        pod.name,
        pod.uid,
        name,
        f"{status}, terminating" if pod.status.is_terminating else status,
        (standing.footing if standing else Footing.NOTHING).value,
        phase_that_runs(pod, standing) if standing and holding else "",
        tuple(asks_of(pod)) if is_readable else (),
        phase_needs(pod) if is_readable else (),
        tuple(held_cards(pod, standing, ledger.nodes.get(name) if name else None))
        if standing
        else (),
        problem,
        pod.warnings,
        ledger.generation,
    )


def _summary(
    ledger: LedgerView, kinds: Kinds, name: NodeName, cards: Sequence[InspectedCard]
) -> NodeSummary:
    counts: dict[tuple[str, str], int] = {}
    capacity, charged = NOTHING, NOTHING
    for card in cards:
        key = card.kind, card.model
        counts[key] = counts.get(key, 0) + 1
        capacity, charged = capacity + card.capacity, charged + card.charged
    return NodeSummary(
        name,
        tuple(ModelCount(*key, count) for key, count in counts.items()),
        capacity,
        charged,
        sum(card.closed_by is not None for card in cards),
        sum(card.stranded_mib for card in cards),
        len(ledger.holders_on(name)),
        tuple(node_problems(ledger, kinds, name)),
        any(card.counts_units for card in cards),
    )


def node_problems(ledger: LedgerView, kinds: Kinds, name: NodeName) -> Iterator[str]:
    """Tell what is wrong with a node, and why cards of it do not count."""
    node = ledger.nodes.get(name)
    if node is None:
        yield "the API does not show this node, but pods hold devices there"
        return
    for kind in kinds:
        inventory = node.inventories.get(kind.type_word)
        if inventory is None or inventory.is_left_out:
            continue
        if inventory.problem is not None:
            yield f"{kind.type_word}: {inventory.problem}"
        elif inventory.devices and not inventory.allocatable_slots:
            told = f"allocatable {kind.count_resource} is 0: no live plugin"
            yield f"{kind.type_word}: {told}"
    yield from node.warnings


def _device_ids(
    ledger: LedgerView, kinds: Kinds, name: NodeName
) -> Iterator[DeviceIds]:
    node = ledger.nodes.get(name)
    totals = ledger.fleet.totals(name)
    for kind in kinds:
        word = kind.type_word
        if node is not None and word in totals:
            allocatable = node.inventories[word].allocatable_slots
            yield DeviceIds(word, totals[word].kubelet_slots, allocatable)


def _pod_count_steps(ledger: LedgerView) -> Generator[None, None, PodCounts]:
    waiting = reserved = bound = 0
    for number, pod in enumerate([*ledger.pods.values()], start=1):
        standing = ledger.standing(pod.uid)
        footing = standing.footing if standing else Footing.NOTHING
        if footing is Footing.RESERVED:
            reserved += 1
        elif footing is not Footing.NOTHING:
            bound += 1
        elif pod.waits_for_devices:
            waiting += 1
        if number % _PODS_A_STEP == 0:
            yield
    return PodCounts(waiting, reserved, bound)
