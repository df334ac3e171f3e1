"""Verdicts: one node's answer told with numbers, for people.

The same placement as filter's, on one node, so that the two cannot disagree.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from extender.core.arrays import CORES, MEMORY, SLOTS
from extender.core.budget import SearchCounts, StepBudget
from extender.core.cards import Cards
from extender.core.fitting import fit
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import DeviceUUID, KindWord, NodeName
from extender.core.needs import share_needed
from extender.core.placement import NO_CONTAINER, Placement
from extender.core.pod import Pod
from extender.core.pod_request import ContainerRequest, PodRequest
from extender.core.quota_room import NO_ROOMS, QuotaRooms, Shortage
from extender.core.reasons import REASON_OF, Reason
from extender.core.usage import Usage
from extender.verbs.quota import reason_of, shortages_anywhere, shortages_on


@dataclass(frozen=True, slots=True)
class KubeletSlots:
    """Device ids: what the pod needs, what is set aside, what the node offers."""

    needed: int
    taken: int
    allocatable: int


@dataclass(frozen=True, slots=True)
class CardVerdict:
    """One card's answer to the container that did not fit.

    Attributes:
        device_uuid: The card.
        model: Its registered type.
        refused_by: The first rule that refused it; None when it would have served.
        free: What was left at that moment; negative where it is over capacity.
        needed: What the container asks of it.
        counts_units: Whether cores are units of the card, and not percent.
    """

    device_uuid: DeviceUUID
    model: str
    refused_by: Reason | None
    free: Usage
    needed: Usage
    counts_units: bool = False


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """Why a pod does not fit on one node.

    Attributes:
        node_name: The node.
        reason: What refused the node as a whole, or that too few cards passed; None
            where every card was refused for its own reason.
        is_unresolvable: Whether it would not fit either if no pod held anything
            there; the numbers are then those of the empty node.
        problem: What is wrong with the pod, where it would be refused everywhere; or
            with the node, where none of its cards counts.
        kind: Of the cards that it asks for; None where that is not the matter.
        container: Name of the container that did not fit; None for the whole pod.
        wanted_cards: How many cards that container asks for; for the whole pod, the
            most that any of its containers does.
        card_count: How many cards the node has.
        kubelet_slots: None where the node was not looked at.
        cards: One entry per card, in card order; empty where no card was asked.
        shortages: The limits of quotas that it would go beyond.
    """

    node_name: NodeName
    reason: Reason | None = None
    is_unresolvable: bool = False
    problem: str | None = None
    kind: KindWord | None = None
    container: str | None = None
    wanted_cards: int = 0
    card_count: int = 0
    kubelet_slots: KubeletSlots | None = None
    cards: tuple[CardVerdict, ...] = ()
    shortages: tuple[Shortage, ...] = ()

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Every reason, each once, in the order of the rules."""
        found = {card.refused_by for card in self.cards}
        found.add(self.reason)
        return tuple(reason for reason in Reason if reason in found)


def judge_node(
    fleet: Fleet,
    pod: Pod,
    node_name: NodeName,
    own: Holding | None,
    nominated: Sequence[Holding] = (),
    *,
    rooms: QuotaRooms = NO_ROOMS,
) -> NodeVerdict | None:
    """Tell why a pod does not fit on a node; None where it does.

    Args:
        fleet: Cards and totals.
        pod: To be placed.
        node_name: The node.
        own: What the pod itself already counts for; it is left out of the totals.
        nominated: What pods that others were evicted for will hold.
        rooms: What the quotas of its namespace leave it.
    """
    if pod.request_problem is not None:
        return NodeVerdict(node_name, is_unresolvable=True, problem=pod.request_problem)
    if rooms and (short := shortages_anywhere(fleet, pod, rooms)):
        return _short(node_name, short)
    verdicts = judge_kinds(fleet, pod, node_name, own, nominated)
    if verdicts:
        return verdicts[0]
    for request in pod.asking if rooms else ():
        room = rooms.get(request.kind)
        cards = fleet.of(request.kind).node(node_name, own, nominated)
        if room is not None and cards is not None:
            short = shortages_on(cards, request, room, fleet.searches)
            if short:
                return _short(node_name, short)
    return None


def judge_kinds(
    fleet: Fleet,
    pod: Pod,
    node_name: NodeName,
    own: Holding | None,
    nominated: Sequence[Holding] = (),
) -> list[NodeVerdict]:
    """Tell by which kinds of device a pod does not fit on a node, whatever its quotas.

    Args:
        fleet: Cards and totals.
        pod: To be placed; its request can be honoured.
        node_name: The node.
        own: As for `judge_node`.
        nominated: The same.

    Returns:
        The worst first, as `extender.core.answers.merged` has it; of equal ones, that
        of the first kind.
    """
    verdicts = []
    for request in pod.asking:
        of_kind = fleet.of(request.kind)
        cards = of_kind.node(node_name, own, nominated)
        verdict = (
            _judged(node_name, pod, request, cards, fleet.searches)
            if cards is not None
            else NodeVerdict(
                node_name,
                of_kind.why_unusable(node_name),
                is_unresolvable=True,
                kind=request.kind,
            )
        )
        if verdict is not None:
            verdicts.append(verdict)
    verdicts.sort(key=lambda verdict: not verdict.is_unresolvable)
    return verdicts


def _short(node_name: NodeName, shortages: Sequence[Shortage]) -> NodeVerdict:
    return NodeVerdict(node_name, reason_of(shortages), shortages=tuple(shortages))


def _judged(
    node_name: NodeName,
    pod: Pod,
    request: PodRequest,
    cards: Cards,
    searches: SearchCounts,
) -> NodeVerdict | None:
    budget = StepBudget.of_one(searches)
    placement = fit(cards, request, budget, keep_usage=True).placement
    if placement.fits[0]:
        return None
    empty = cards.at_zero_usage()
    budget = StepBudget.of_one(searches)
    ideal = fit(empty, request, budget, keep_usage=True)
    if ideal.placement.fits[0] or ideal.is_undecided[0]:
        return _verdict(node_name, pod, request, cards, placement)
    verdict = _verdict(node_name, pod, request, empty, ideal.placement)
    return replace(verdict, is_unresolvable=True)


def _verdict(
    node_name: NodeName,
    pod: Pod,
    request: PodRequest,
    cards: Cards,
    placement: Placement,
) -> NodeVerdict:
    reason = REASON_OF.get(int(placement.node_codes[0]))
    index = int(placement.refused_container[0])
    kubelet_slots = KubeletSlots(
        needed=request.kubelet_slots,
        taken=int(cards.kubelet_slots[0]),
        allocatable=int(cards.allocatable_slots[0]),
    )
    if index == NO_CONTAINER:
        return NodeVerdict(
            node_name,
            reason,
            kind=request.kind,
            wanted_cards=max(asked.count for asked in request.containers),
            card_count=int(cards.card_counts[0]),
            kubelet_slots=kubelet_slots,
        )
    asked = request.containers[index]
    return NodeVerdict(
        node_name,
        reason,
        kind=request.kind,
        container=pod.containers[index].name,
        wanted_cards=asked.count,
        card_count=int(cards.card_counts[0]),
        kubelet_slots=kubelet_slots,
        cards=_card_verdicts(
            cards,
            placement,
            asked,
            counts_units=asked.cores_of_card or request.tells_cores_apart,
        ),
    )


def _card_verdicts(
    cards: Cards,
    placement: Placement,
    asked: ContainerRequest,
    *,
    counts_units: bool,
) -> tuple[CardVerdict, ...]:
    needed = share_needed(cards, asked)
    free = cards.capacity - placement.used_at_refusal
    return tuple(
        CardVerdict(
            cards.device_uuid(position, 0),
            cards.model(position, 0),
            REASON_OF.get(int(placement.card_codes[position, 0])),
            Usage(
                int(free[SLOTS, position, 0]),
                int(free[MEMORY, position, 0]),
                int(free[CORES, position, 0]),
            ),
            Usage(*needed.at(position, 0).tolist()),
            counts_units,
        )
        for position in range(int(cards.card_counts[0]))
    )
