"""shadow: what we would have decided where another scheduler decides, and why.

Nothing here changes anything; every answer is of the totals that it is given.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain

from extender.core.allocation import Allocation
from extender.core.container import Lifetime
from extender.core.core_bits import held_cores
from extender.core.fleet import Fleet
from extender.core.hami_charge import hami_charge, is_shrunk, rows_as_written
from extender.core.holding import Holding
from extender.core.names import DeviceUUID, NodeName, PodUID
from extender.core.node import Node
from extender.core.phases import container_usages, phases
from extender.core.pod import Pod
from extender.core.quota_room import NO_ROOMS, QuotaRooms
from extender.core.reasons import Reason
from extender.core.usage import NOTHING, Charge, Usage
from extender.state.overfull import overfull_cards
from extender.verbs.bind import choose_devices
from extender.verbs.filter import filter_nodes
from extender.verbs.nominations import expected_holding
from extender.verbs.verdicts import NodeVerdict, judge_node


class Outcome(StrEnum):
    """How a decision of theirs compares with ours."""

    AGREES = "agrees"
    """We would offer the node, and give the same cards."""

    OTHER_CARDS = "other-cards"
    """We would offer the node and give other cards; theirs would do as well."""

    OVERCOMMITS = "overcommits"
    """With this pod, a card holds more than it has, in some phase."""

    REFUSED = "refused"
    """We would not offer the node, or not those cards, for another reason."""

    UNREADABLE = "unreadable"
    """What they wrote of the cards cannot be read."""

    WITHOUT_CARDS = "without-cards"
    """A pod that asks for cards was bound without any."""

    WOULD_PLACE = "would-place"
    """They leave it pending, and we have a node for it."""

    OTHER_RULES = "other-rules"
    """They leave it pending for what is no rule of cards, such as CPU or a taint."""

    BOTH_REFUSE = "both-refuse"
    """They leave it pending, and so would we."""

    NOT_JUDGED = "not-judged"
    """Assigned while the watch was down: what was free then is not known."""

    @property
    def is_difference(self) -> bool:
        """Whether somebody should look at it."""
        return self not in _ALIKE


_ALIKE = frozenset(
    {
        Outcome.AGREES,
        Outcome.OTHER_CARDS,
        Outcome.OTHER_RULES,
        Outcome.BOTH_REFUSE,
        Outcome.NOT_JUDGED,
    }
)

_OF_CARDS = (
    *("Card", "Device", "NumaNotFit", "ModeNotFit", "ResourceQuotaNotFit"),
    *("node unregistered", "node usage unavailable"),
)
"""In what HAMi v2.10 says of a node that it refuses, one of these."""

_EXTENDED_RESOURCE = re.compile(r"Insufficient [^\s,]+/[^\s,]+")
"""What kube-scheduler says of one whose count it looks at itself."""


@dataclass(frozen=True, slots=True)
class CardFigures:
    """One card that a judged pod was given, or would be.

    Attributes:
        device_uuid: The card.
        capacity: What there is.
        others: What all others on it are charged by us.
        others_theirs: The same by HAMi's rule.
        ours: What we charge this pod.
        theirs: The same by HAMi's rule.
        phase: The first phase of the pod in which the card holds too much, told by the
            init that runs in it, ``steady`` for the last; None where it never does.
    """

    device_uuid: DeviceUUID
    capacity: Usage
    others: Usage
    others_theirs: Usage
    ours: Usage
    theirs: Usage
    phase: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What we say of one decision.

    Attributes:
        outcome: How it compares.
        node_name: Where they put it; where they did not, where we would.
        cards: Of theirs; where they gave none, of ours.
        our_cards: That we would have given there; empty where we would not.
        reasons: Codes of our refusal.
        verdict: Our refusal in numbers.
        problem: What cannot be read.
        holding: What a pending pod would hold.
    """

    outcome: Outcome
    node_name: NodeName | None = None
    cards: tuple[CardFigures, ...] = ()
    our_cards: tuple[DeviceUUID, ...] = ()
    reasons: tuple[str, ...] = ()
    verdict: NodeVerdict | None = None
    problem: str = ""
    holding: Holding | None = None


@dataclass(frozen=True, slots=True)
class Seat:
    """A node as a pod is judged on it, the pod itself apart.

    Attributes:
        fleet: Cards and totals of all nodes.
        node: The node; None where it is not known.
        beside: What each other pod holds there, by our rule.
        beside_theirs: What they hold by HAMi's rule, summed.
        own: What the pod itself already counts for.
        nominated: What pods that others were evicted for will hold; it is kept free,
            and overcommits nothing.
        rooms: What the quotas of its namespace leave it.
        is_locked: Whether filter refuses the node for its lock.
    """

    fleet: Fleet
    node: Node | None
    beside: Sequence[Holding] = ()
    beside_theirs: Charge | None = None
    own: Holding | None = None
    nominated: Sequence[Holding] = ()
    rooms: QuotaRooms = field(default_factory=lambda: NO_ROOMS)
    is_locked: bool = False


def judge_assignment(
    pod: Pod, node_name: NodeName, allocation: Allocation, seat: Seat
) -> Judgement:
    """Judge a node and cards that another scheduler chose.

    Legal are cards that filter would accept if the pod asked for just these, and that
    hold no more than they have in any phase, with the rows as they were written.
    """
    holding = replace(
        expected_holding(pod, node_name, allocation),
        cores=held_cores(pod.lifetimes, allocation, 0),
    )
    held = [*seat.beside, holding]
    over = {} if seat.node is None else overfull_cards(seat.node, held)
    over = {uuid: figures for uuid, figures in over.items() if uuid in holding.charge}
    cards = _figures(pod, allocation, holding, seat, over)
    decision = filter_nodes(
        seat.fleet, pod, [node_name], seat.own, seat.nominated, rooms=seat.rooms
    )
    fits = bool(decision.fitting) and not seat.is_locked
    chosen = _chosen(pod, node_name, seat) if fits else None
    ours = _cards_of(chosen) if chosen is not None else ()
    theirs = _cards_of(allocation)
    verdict = None
    if not decision.fitting:
        verdict = _judged(pod, node_name, seat)
    elif over or set(ours) != set(theirs):
        verdict = _judged(_asking_for(pod, allocation), node_name, seat)
    reasons = _codes(verdict)
    if over:
        outcome = Outcome.OVERCOMMITS
    elif seat.is_locked:
        outcome, reasons = Outcome.REFUSED, (*reasons, Reason.NODE_LOCKED.value)
    elif verdict is not None or not fits:
        outcome = Outcome.REFUSED
    else:
        outcome = Outcome.AGREES if set(ours) == set(theirs) else Outcome.OTHER_CARDS
    return Judgement(outcome, node_name, cards, ours, reasons, verdict)


def judge_pending(pod: Pod, node_name: NodeName | None, seat: Seat | None) -> Judgement:
    """Judge a pod that another scheduler leaves pending.

    Args:
        pod: Unbound; asks for cards.
        node_name: The best of the nodes that filter offers; None where it offers none.
        seat: Of that node.
    """
    if node_name is None or seat is None:
        return Judgement(Outcome.BOTH_REFUSE)
    allocation = _chosen(pod, node_name, seat)
    if allocation is None:
        return Judgement(Outcome.BOTH_REFUSE)
    if not is_about_cards(pod.placing.refusal or ""):
        return Judgement(Outcome.OTHER_RULES, node_name)
    holding = expected_holding(pod, node_name, allocation)
    cards = _figures(pod, allocation, holding, seat, {})
    ours = _cards_of(allocation)
    return Judgement(Outcome.WOULD_PLACE, node_name, cards, ours, holding=holding)


def is_about_cards(refusal: str) -> bool:
    """Tell whether cards are among the reasons for which no node was found.

    Where nothing is said, they may be.

    Example:
        >>> is_about_cards("0/2 nodes are available: 2 1/1 CardInsufficientMemory.")
        True
        >>> is_about_cards("0/2 nodes are available: 2 Insufficient cpu.")
        False
        >>> is_about_cards("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
        True
    """
    if not refusal:
        return True
    return any(word in refusal for word in _OF_CARDS) or bool(
        _EXTENDED_RESOURCE.search(refusal)
    )


def charge_by_hami(pod: Pod, allocation: Allocation) -> dict[DeviceUUID, Usage]:
    """Charge a pod as HAMi v2.10 does now, by what it wrote and by the pod's status."""
    if pod.status.is_finished:
        return {}
    lifetimes = pod.lifetimes
    init_count = sum(each is not Lifetime.APP for each in lifetimes)
    return hami_charge(
        init_count,
        rows_as_written(allocation),
        is_shrunk=is_shrunk(lifetimes, pod.status),
    )


def summed(charges: Iterable[Charge]) -> dict[DeviceUUID, Usage]:
    """Add charges up, per device."""
    total: dict[DeviceUUID, Usage] = {}
    for charge in charges:
        for device_uuid, usage in charge.items():
            total[device_uuid] = total.get(device_uuid, NOTHING) + usage
    return total


def others(holders: Mapping[PodUID, Holding], pod_uid: PodUID) -> list[Holding]:
    """List what all but one pod hold on a node."""
    return [holding for uid, holding in holders.items() if uid != pod_uid]


def _judged(pod: Pod, node_name: NodeName, seat: Seat) -> NodeVerdict | None:
    return judge_node(
        seat.fleet, pod, node_name, seat.own, seat.nominated, rooms=seat.rooms
    )


def _chosen(pod: Pod, node_name: NodeName, seat: Seat) -> Allocation | None:
    return choose_devices(
        seat.fleet, pod, node_name, seat.own, seat.nominated, rooms=seat.rooms
    )


def _asking_for(pod: Pod, allocation: Allocation) -> Pod:
    """Let the pod accept only the cards that it was given, and of these what it did."""
    given = frozenset(_cards_of(allocation))
    requests = []
    for request in pod.requests:
        use = request.selection.use_uuids
        wanted = given if use is None else given & use
        selection = replace(request.selection, use_uuids=wanted)
        requests.append(replace(request, selection=selection))
    return replace(pod, requests=tuple(requests))


def _codes(verdict: NodeVerdict | None) -> tuple[str, ...]:
    """List the codes of a refusal, without those of cards that were not in question."""
    if verdict is None:
        return ()
    codes = [reason.value for reason in verdict.reasons]
    others_only = {Reason.CARD_UUID_MISMATCH.value, Reason.TOO_FEW_CARDS.value}
    telling = [code for code in codes if code not in others_only]
    return tuple(telling or codes)


def _cards_of(allocation: Allocation) -> tuple[DeviceUUID, ...]:
    shares = chain.from_iterable(allocation)
    return tuple(sorted({share.device_uuid for share in shares}))


def _figures(
    pod: Pod,
    allocation: Allocation,
    holding: Holding,
    seat: Seat,
    over: Mapping[DeviceUUID, tuple[Usage, Usage]],
) -> tuple[CardFigures, ...]:
    devices = {} if seat.node is None else {d.device_uuid: d for d in seat.node.devices}
    held = summed(each.charge for each in seat.beside)
    held_theirs = seat.beside_theirs or {}
    theirs = charge_by_hami(pod, allocation)
    found = []
    for device_uuid, ours in holding.charge.items():
        device = devices.get(device_uuid)
        capacity = NOTHING if device is None else device.capacity
        used = held.get(device_uuid, NOTHING)
        free = capacity - used
        found.append(
            CardFigures(
                device_uuid,
                capacity,
                used,
                held_theirs.get(device_uuid, NOTHING),
                ours,
                theirs.get(device_uuid, NOTHING),
                phase=_first_over(pod, allocation, device_uuid, free)
                if device_uuid in over
                else None,
            )
        )
    return tuple(found)


def _first_over(
    pod: Pod, allocation: Allocation, device_uuid: DeviceUUID, free: Usage
) -> str:
    """Name the first phase in which a card has too little; the last where none does.

    None does where a card is cut into instances that overlap, or where the dimensions
    peak in different phases.
    """
    for phase in phases(container_usages(pod.lifetimes, allocation)):
        if phase.held.get(device_uuid, NOTHING).exceeds(free):
            if phase.init_index is None:
                break
            return f"init {pod.containers[phase.init_index].name}"
    return "steady"
