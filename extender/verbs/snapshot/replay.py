"""What a replay came to, and how: for people and programs."""

from collections.abc import Iterator
from dataclasses import dataclass

from extender.core.names import NodeName
from extender.core.pod import Pod
from extender.state.ledger_view import LedgerView
from extender.verbs.decision import Decision
from extender.verbs.findings import findings_of
from extender.verbs.nominations import Nomination
from extender.verbs.pod_phases import asks_of, phase_needs
from extender.verbs.snapshot.differences import Differs, answer_on, cards_text
from extender.verbs.snapshot.saved import Head, Snapshot
from extender.verbs.verdicts import judge_node


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay came to.

    Attributes:
        pod: Its full name.
        made_by: Version of the program that made the snapshot.
        nodes: How many the state has.
        pods: The same.
        chosen: Which node was chosen now; None where none fits.
        cards: Which cards, in words.
        differences: From what was saved; none where all came out the same.
        steps: How it came to that, where that was asked for.
    """

    pod: str
    made_by: str
    nodes: int
    pods: int
    chosen: str | None
    cards: str
    differences: tuple[Differs, ...]
    steps: tuple[str, ...] = ()


def steps_of(
    snapshot: Snapshot,
    ledger: LedgerView,
    decision: Decision,
    nominated: list[Nomination],
) -> Iterator[str]:
    """Tell step by step how a decision is come to.

    Args:
        snapshot: What is decided about.
        ledger: Its state.
        decision: As it was made now.
        nominated: Room that is held against the pod.
    """
    head = snapshot.head
    pod = head.pod
    counted = f"{len(ledger.nodes)} nodes, {len(ledger.pods)} pods"
    yield f"state: {counted}, generation {head.generation}, made by {head.made_by}"
    yield f"pod {pod.full_name}, priority {pod.priority}"
    if pod.request_problem is not None:
        yield f"  cannot be honoured: {pod.request_problem}"
        return
    yield from _needs(pod)
    yield from _beside(head, nominated)
    yield "filter"
    for name in head.node_names:
        yield f"  {name}: {answer_on(decision, name)}"
        if name not in decision.scores:
            yield from _why_not(snapshot, ledger, nominated, name)
    yield f"chosen: {decision.chosen or 'no node'}"
    if decision.chosen is not None:
        yield f"cards: {cards_text(decision)}"


def _needs(pod: Pod) -> Iterator[str]:
    for ask in asks_of(pod):
        memory = f"{ask.memory_percent} %"
        if ask.memory_mib is not None:
            memory = f"{ask.memory_mib} MiB"
        yield (
            f"  {ask.lifetime.value} {ask.container} asks for {ask.cards} {ask.kind}: "
            f"{memory} of memory, {ask.core_percent} % of cores each"
        )
    for need in phase_needs(pod):
        bound = ", charged" if need.binds else ""
        yield (
            f"  phase {need.name}: {need.slots} slots, {need.memory_mib} MiB, "
            f"{need.core_percent} % of cores{bound}"
        )


def _beside(head: Head, nominated: list[Nomination]) -> Iterator[str]:
    for each in nominated:
        name = each.holding.node_name
        yield f"room is held for {each.pod.full_name} on {name}"
    for name, uid in head.given.stuck:
        yield f"node {name}: its lock is kept by the pod of uid {uid}"
    for name, binds in head.given.binds_at.items():
        yield f"node {name}: {binds} binds are at it"


def _why_not(
    snapshot: Snapshot,
    ledger: LedgerView,
    nominated: list[Nomination],
    name: NodeName,
) -> Iterator[str]:
    pod = snapshot.head.pod
    verdict = judge_node(
        ledger.fleet,
        pod,
        name,
        ledger.holding(pod.uid),
        [each.holding for each in nominated],
        rooms=ledger.quota_rooms(pod),
    )
    if verdict is None:
        return
    for finding in findings_of(verdict):
        cards = (
            "" if finding.cards is None else f"{finding.cards}/{finding.card_count} "
        )
        yield f"    {finding.reason.value}: {cards}{finding.text}"
    for card in verdict.cards:
        said = card.refused_by.value if card.refused_by else "would serve"
        yield (
            f"      card {card.device_uuid}: {said}; free {card.free}, "
            f"needed {card.needed}"
        )
