"""Placement on many nodes at once, against one node and one device at a time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

from extender.core.allocation import Allocation, Share, UnreadableAllocation
from extender.core.cards import Cards
from extender.core.first_cards import first_in_order
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.mig import NO_INSTANCE, MigPlacement
from extender.core.names import DeviceUUID, KindWord, NodeName
from extender.core.node import Node
from extender.core.phases import container_usages
from extender.core.phases import held_slices as held_slice_counts
from extender.core.placement import NO_CONTAINER, Placement, place
from extender.core.pod import Pod
from extender.core.pod_request import ANY_DEVICE, PodRequest, Sharing
from extender.core.policies import node_scores
from extender.core.reasons import REASON_OF, Reason
from extender.core.usage import NOTHING, Usage
from extender.state.audit import audit
from extender.state.events import Event, NodeSeen, PodSeen, Reserved
from extender.state.ledger import Ledger
from extender.verbs.bind import choose_devices
from extender.verbs.filter import FilterDecision, filter_nodes
from extender.verbs.verdicts import NodeVerdict, judge_node
from tests.oracles import (
    Loaded,
    Placed,
    for_inits_only,
    kubelet_slots,
    node_score,
    place_greedily,
    timeline_effective,
)
from tests.strategies import (
    devices,
    held_slices,
    modest_requests,
    other_requests,
    pod_requests,
    pod_statuses,
    profile_nodes,
    profile_requests,
    roomy_mig_cards,
    used_amounts,
)
from tests.values import (
    GPU,
    GPUS,
    NPU,
    inventory_of,
    node,
    pod,
    scored,
    with_inventory,
)

if TYPE_CHECKING:
    from extender.core.container import ContainerUsage

_UUIDS = tuple(DeviceUUID(f"GPU-{letter}") for letter in "abcdefghi")
_OTHER_UUIDS = tuple(DeviceUUID(f"NPU-{letter}") for letter in "abcdefghi")
_UUIDS_OF = {GPU: _UUIDS, NPU: _OTHER_UUIDS}
_PLAIN = DeviceUUID("GPU-plain")
_MIXED_MODES = st.sampled_from(["mig", "hami-core"])
_CARD_COUNTS = (1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 9)


@dataclass(frozen=True)
class NodeCase:
    """A node with cards of one kind, and what is held there.

    Attributes:
        node: As registered.
        used: Per card.
        slices: Per card in MIG mode, how many instances hold each slice.
        kubelet_used: Device ids.
        quarantined: Cards that an unreadable allocation names.
        is_closed: Whether an unreadable allocation names no card.
    """

    node: Node
    used: Mapping[DeviceUUID, Usage]
    slices: Mapping[DeviceUUID, tuple[int, ...]]
    kubelet_used: int
    quarantined: frozenset[DeviceUUID]
    is_closed: bool

    @property
    def holdings(self) -> list[Holding]:
        """All that is held, as three holdings."""
        name = self.node.name
        quarantines = Holding(name, {}, quarantined=tuple(self.quarantined))
        (kind,) = self.node.inventories
        hidden = frozenset({kind}) if self.is_closed else frozenset[KindWord]()
        closure = Holding(name, {}, hides=hidden)
        slots = {kind: self.kubelet_used}
        charged = Holding(name, self.used, slots, slices=self.slices)
        return [charged, quarantines, closure]

    @property
    def emptied(self) -> "NodeCase":
        """The same node with nothing held."""
        used = dict.fromkeys(self.used, NOTHING)
        slices = dict.fromkeys(self.slices, ())
        return NodeCase(self.node, used, slices, 0, frozenset(), is_closed=False)

    def loaded(self) -> list[Loaded]:
        """As the oracle takes it."""
        return [(card, self.used[card.device_uuid]) for card in self.node.devices]

    def cut(self) -> dict[DeviceUUID, frozenset[int]]:
        """As the oracle takes it: which slices are held."""
        return {
            uuid: frozenset(slice_ for slice_, count in enumerate(counts) if count)
            for uuid, counts in self.slices.items()
        }


@st.composite
def node_cases(draw: st.DrawFn, name: NodeName, request: PodRequest) -> NodeCase:
    """Draw a node of any width; one in ten has no cards that count.

    One in four has cards in MIG mode, all of them or some.
    """
    count = draw(st.sampled_from(_CARD_COUNTS))
    modes = draw(st.sampled_from([None] * 6 + [st.just("mig"), _MIXED_MODES]))
    uuids = draw(st.permutations(_UUIDS_OF[request.kind]))
    cards = tuple(draw(devices(uuid, modes)) for uuid in uuids[:count])
    used = {card.device_uuid: draw(used_amounts(card.capacity)) for card in cards}
    slices = {card.device_uuid: draw(held_slices()) for card in cards if card.is_mig}
    kubelet_used = draw(st.integers(0, 8))
    room = draw(st.sampled_from([20, 20, 20, 20, 0, -1]))
    allocatable = kubelet_used + request.kubelet_slots + room
    quarantined: frozenset[DeviceUUID] = frozenset()
    is_closed = False
    odd = draw(st.integers(0, 11))
    if odd == 0:
        quarantined = draw(st.frozensets(st.sampled_from(list(used)), max_size=3))
    is_closed = odd == 1
    kind = request.kind
    shown = node(name, *cards, allocatable=max(allocatable, 0), kind=kind)
    if odd == 2:
        shown = draw(
            st.sampled_from(
                [
                    with_inventory(shown, kind, devices=None),
                    with_inventory(shown, kind, devices=()),
                    with_inventory(shown, kind, allocatable_slots=0),
                    with_inventory(shown, kind, problem="not JSON"),
                    with_inventory(shown, kind, devices=None, is_left_out=True),
                ]
            )
        )
    return NodeCase(shown, used, slices, kubelet_used, quarantined, is_closed)


@st.composite
def fleet_cases(
    draw: st.DrawFn, *, most_nodes: int = 4
) -> tuple[PodRequest, list[NodeCase]]:
    """Draw a pod that asks for cards, and nodes in any order of names."""
    request = draw(pod_requests().filter(lambda asked: asked.asks_for_devices))
    names = draw(st.permutations([NodeName(f"n{number}") for number in range(5)]))
    size = draw(st.integers(1, most_nodes))
    return request, [draw(node_cases(name, request)) for name in names[:size]]


Rows = tuple[tuple[tuple[DeviceUUID, frozenset[int]], ...], ...]
"""Per container the cards, each with the slices that it gets of it, sorted."""


@st.composite
def roomy_cases(draw: st.DrawFn) -> tuple[PodRequest, list[NodeCase]]:
    """Draw a pod that asks for little, and nodes with cards in MIG mode, or of both."""
    request = draw(modest_requests())
    cases = []
    for number in range(draw(st.integers(1, 3))):
        uuids = draw(st.permutations(_UUIDS))[: draw(st.integers(1, 4))]
        cards = [draw(roomy_mig_cards(uuid)) for uuid in uuids]
        if draw(st.integers(0, 3)) == 0:
            cards.append(draw(devices(_PLAIN)))
        slots = st.integers(0, 2)
        used = {card.device_uuid: Usage(draw(slots), 2_000, 30) for card in cards}
        cut = {card.device_uuid: draw(held_slices()) for card in cards if card.is_mig}
        shown = node(NodeName(f"n{number}"), *cards, allocatable=99)
        cases.append(NodeCase(shown, used, cut, 0, frozenset(), is_closed=False))
    return request, cases


@st.composite
def profiled_cases(draw: st.DrawFn) -> tuple[PodRequest, list[NodeCase]]:
    """Draw a pod that asks for profiles, and nodes whose cards have some."""
    request = draw(profile_requests().filter(lambda asked: asked.asks_for_devices))
    cases = []
    for number in range(draw(st.integers(1, 3))):
        uuids = draw(st.permutations(_UUIDS))[: draw(st.integers(1, 4))]
        loaded = draw(profile_nodes(uuids))
        used = {card.device_uuid: held for card, held in loaded}
        name = NodeName(f"n{number}")
        shown = node(name, *[card for card, _ in loaded], allocatable=99)
        cases.append(NodeCase(shown, used, {}, 0, frozenset(), is_closed=False))
    return request, cases


@dataclass(frozen=True)
class Outcome:
    """What one node answers; parts that mean nothing for it are left at None."""

    node_code: str | None = None
    rows: Rows | None = None
    peak: Mapping[DeviceUUID, Usage] | None = None
    score: int | None = None
    refused_container: int | None = None
    card_codes: Mapping[DeviceUUID, str] | None = None


def expected_outcome(case: NodeCase, request: PodRequest) -> Outcome:
    """Ask the oracle."""
    shown = inventory_of(case.node)
    if shown.is_left_out or shown.problem is not None:
        reasons = ("NodeRegistrationUnreadable", "NodeNotSelected")
        return Outcome(reasons[shown.is_left_out])
    if not shown.devices or not shown.allocatable_slots:
        return Outcome("node unregistered")
    if case.is_closed:
        return Outcome("NodeHasUnreadableAllocation")
    loaded = case.loaded()
    answer = place_greedily(
        loaded,
        shown.allocatable_slots,
        case.kubelet_used,
        request,
        slices=case.cut(),
        quarantined=case.quarantined,
    )
    if isinstance(answer, Placed):
        held = [(card, answer.peak[card.device_uuid]) for card, _ in loaded]
        return Outcome(
            rows=tuple(
                _sorted((each.device_uuid, each.slices) for each in row)
                for row in answer.pieces
            ),
            peak=dict(answer.peak),
            score=node_score(held, request.node_policy),
        )
    if answer.node_code not in (None, "NumaNotFit"):
        return Outcome(answer.node_code)
    too_few = "AllocatedCardsInsufficientRequest" if answer.has_some else None
    return Outcome(
        answer.node_code or too_few,
        refused_container=answer.container_index,
        card_codes=answer.codes,
    )


def _sorted(
    pieces: Iterable[tuple[DeviceUUID, frozenset[int]]],
) -> tuple[tuple[DeviceUUID, frozenset[int]], ...]:
    return tuple(sorted(pieces, key=lambda piece: (piece[0], sorted(piece[1]))))


def actual_outcomes(
    fleet: Fleet, names: Sequence[NodeName], request: PodRequest
) -> dict[NodeName, Outcome]:
    """Choose card by card on all nodes at once, and read each node's column."""
    found: dict[NodeName, Outcome] = {}
    for name in names:
        reason = fleet.of(request.kind).why_unusable(name)
        if reason is not None:
            found[name] = Outcome(reason.value)
    of_kind = fleet.of(request.kind)
    for number, columns, positions in of_kind._by_bucket(names):
        cards = of_kind._buckets[number].cards()
        placement = place(cards, request)
        scores = node_scores(cards, placement.peak, request.node_policy)
        for column, position in zip(columns.tolist(), positions.tolist(), strict=True):
            found[names[position]] = _outcome(
                cards, placement, column, int(scores[column])
            )
    return found


def _outcome(cards: Cards, placement: Placement, column: int, score: int) -> Outcome:
    uuid_at = {
        position: cards.interned.uuids.by_code[cards.uuid_codes[position, column]]
        for position in range(int(cards.card_counts[column]))
    }
    if placement.fits[column]:
        return Outcome(
            rows=tuple(
                _sorted(_pieces(cards, placement, index, column))
                for index in range(len(placement.chosen))
            ),
            peak={
                uuid: Usage(*placement.peak[:, position, column].tolist())
                for position, uuid in uuid_at.items()
            },
            score=score,
        )
    node_reason = REASON_OF.get(int(placement.node_codes[column]))
    node_code = node_reason.value if node_reason else None
    refused_container = int(placement.refused_container[column])
    if refused_container == NO_CONTAINER:
        return Outcome(node_code)
    codes = {
        uuid: int(placement.card_codes[position, column])
        for position, uuid in uuid_at.items()
    }
    return Outcome(
        node_code,
        refused_container=refused_container,
        card_codes={
            uuid: REASON_OF[code].value for uuid, code in codes.items() if code
        },
    )


def _pieces(
    cards: Cards, placement: Placement, index: int, column: int
) -> Iterator[tuple[DeviceUUID, frozenset[int]]]:
    chosen = placement.chosen[index]
    if chosen is None:
        return
    if index not in placement.taken:
        for position in chosen[:, column].nonzero()[0].tolist():
            yield cards.device_uuid(position, column), frozenset()
        return
    for each in placement.taken[index]:
        (position,) = each.chosen[:, column].nonzero()[0].tolist()
        number = int(each.numbers[position, column])
        slices: frozenset[int] = frozenset()
        if number != NO_INSTANCE:
            _, place = cards.mig_table(position, column).instances[number]
            slices = _slices(place)
        yield cards.device_uuid(position, column), slices


def _slices(place: MigPlacement) -> frozenset[int]:
    return frozenset(range(place.start, place.start + place.size))


def fleet_of(cases: Sequence[NodeCase]) -> Fleet:
    """Put every node with what is held there."""
    fleet = Fleet()
    for case in cases:
        fleet.put(case.node, case.holdings)
    return fleet


@given(fleet_cases() | roomy_cases() | profiled_cases(), st.data())
def test_all_nodes_at_once_are_judged_as_each_alone(
    drawn: tuple[PodRequest, list[NodeCase]], data: st.DataObject
) -> None:
    """Same fit, cards, peak, score, refused container and codes as the oracle's."""
    request, cases = drawn
    asked_for = data.draw(st.permutations(cases), label="asked for, in this order")
    asked_for = asked_for[: data.draw(st.integers(1, len(cases)))]
    names = [case.node.name for case in asked_for]
    expected = {case.node.name: expected_outcome(case, request) for case in asked_for}
    for outcome in expected.values():
        event(f"node code: {outcome.node_code}; fits: {outcome.rows is not None}")
    assert actual_outcomes(fleet_of(cases), names, request) == expected


@given(fleet_cases() | roomy_cases() | profiled_cases(), st.data())
def test_the_verbs_agree_with_each_other(
    drawn: tuple[PodRequest, list[NodeCase]], data: st.DataObject
) -> None:
    """Filter, prioritize, bind and the verdicts give one answer for each node."""
    request, cases = drawn
    fleet, asking = fleet_of(cases), pod("p", request)
    asked_for = data.draw(st.permutations(cases), label="asked for, in this order")
    names = [case.node.name for case in asked_for]
    decision = filter_nodes(fleet, asking, names, None)
    refused = decision.failed | decision.unresolvable
    outcomes = actual_outcomes(fleet, names, request)
    assert len(decision.fitting) + len(decision.failed) + len(
        decision.unresolvable
    ) == len(names)
    fits = set(decision.fitting)
    assert decision.fitting == [name for name in names if name in fits]
    assert [name for name in names if name in refused] == [
        name for name in names if name not in fits
    ]
    scores = dict(scored(fleet, asking, names, None))
    for name in names:
        allocation = choose_devices(fleet, asking, name, None)
        verdict = judge_node(fleet, asking, name, None)
        outcome = outcomes[name]
        if refused.get(name) == Reason.SEARCH_EXHAUSTED.value:
            continue  # the others take more steps, and may decide
        assert (allocation is not None) == (name in fits)
        assert (verdict is None) == (name in fits)
        assert (scores[name] > 0) == (name in fits)
        if outcome.rows is not None:
            assert scores[name] == outcome.score
            _assert_no_worse(allocation, outcome.rows, request)
        if verdict is not None:
            assert (
                ", ".join(sorted(reason.value for reason in verdict.reasons))
                == refused[name]
            )
            assert verdict.is_unresolvable == (name in decision.unresolvable)


def _assert_no_worse(
    allocation: Allocation | None, rows: Rows, request: PodRequest
) -> None:
    """See that cards are as chosen card by card, or that fewer are for inits only."""
    chosen = _cards_of(allocation)
    assert chosen is not None
    if chosen != rows:
        fewer, those = (
            for_inits_only(
                [[uuid for uuid, _ in row] for row in each], request.lifetimes
            )
            for each in (chosen, rows)
        )
        assert fewer < those


def _cards_of(allocation: Allocation | None) -> Rows | None:
    if allocation is None:
        return None
    return tuple(
        _sorted(
            (
                share.device_uuid,
                _slices(share.instance.placement) if share.instance else frozenset(),
            )
            for share in row
        )
        for row in allocation
    )


@given(fleet_cases() | roomy_cases() | profiled_cases())
def test_the_reasons_are_those_that_choosing_card_by_card_met(
    drawn: tuple[PodRequest, list[NodeCase]],
) -> None:
    """On the empty node where it is unresolvable; on the others as they are."""
    request, cases = drawn
    names = [case.node.name for case in cases]
    decision = filter_nodes(fleet_of(cases), pod("p", request), names, None)
    for case in cases:
        name = case.node.name
        ideal, actual = (
            expected_outcome(each, request) for each in (case.emptied, case)
        )
        if name in decision.unresolvable:
            assert decision.unresolvable[name] == _text(ideal)
        elif decision.failed.get(name, "") != Reason.SEARCH_EXHAUSTED.value:
            assert decision.failed.get(name, _text(actual)) == _text(actual)
        if actual.rows is not None:
            assert name in decision.fitting
        if ideal.rows is not None:
            assert name not in decision.unresolvable


def _text(*outcomes: Outcome) -> str:
    codes = {code for each in outcomes for code in (each.card_codes or {}).values()}
    codes |= {each.node_code for each in outcomes if each.node_code is not None}
    return ", ".join(sorted(codes))


@given(fleet_cases() | roomy_cases() | profiled_cases())
def test_no_placement_exceeds_a_card_in_any_phase(
    drawn: tuple[PodRequest, list[NodeCase]],
) -> None:
    """What is held there and what the pod ever holds stay within each capacity.

    A dimension of which the pod takes nothing may have been over before.
    """
    request, cases = drawn
    fleet = fleet_of(cases)
    for case in cases:
        allocation = choose_devices(fleet, pod("p", request), case.node.name, None)
        if allocation is None:
            continue
        containers: Sequence[ContainerUsage] = container_usages(
            request.lifetimes, allocation
        )
        by_slot = any(one.sharing is Sharing.BY_SLOT for one in request.containers)
        capacity = {card.device_uuid: card.capacity for card in case.node.devices}
        for uuid, added in timeline_effective(containers).items():
            free = capacity[uuid] - case.used[uuid]
            assert added.slots <= free.slots
            if added.memory_mib:
                assert added.memory_mib <= free.memory_mib
            else:
                assert by_slot
            is_mig = uuid in case.slices  # there, percents are rounded up
            has_cores = added.core_percent in range(max(free.core_percent, 0) + 1)
            assert is_mig or has_cores
        for uuid, counts in held_slice_counts([allocation]).items():
            assert set(counts) <= {0, 1}
            taken = {number for number, count in enumerate(counts) if count}
            assert taken.isdisjoint(case.cut()[uuid])


# Pods that ask for two kinds.


@dataclass(frozen=True)
class BothKinds:
    """What a pod asks of two kinds, and nodes that have cards of both, or of one.

    Attributes:
        requests: Of the same containers.
        cases: By name, what each node shows of the kinds, and what is held there; None
            where it shows nothing of the second kind.
    """

    requests: tuple[PodRequest, PodRequest]
    cases: Mapping[NodeName, tuple[NodeCase, NodeCase | None]]

    def fleet(self) -> Fleet:
        """Put every node with what is held there, by pods that hold of both kinds."""
        fleet = Fleet()
        for one, other in self.cases.values():
            if other is None:
                fleet.put(one.node, one.holdings)
            else:
                pairs = zip(one.holdings, other.holdings, strict=True)
                both = [_held_together(*pair) for pair in pairs]
                fleet.put(beside(one.node, other.node), both)
        return fleet


def _held_together(one: Holding, other: Holding) -> Holding:
    return Holding(
        one.node_name,
        {**one.charge, **other.charge},
        {**one.kubelet_slots, **other.kubelet_slots},
        quarantined=one.quarantined + other.quarantined,
        hides=one.hides | other.hides,
        slices={**one.slices, **other.slices},
    )


@st.composite
def cases_of_both(draw: st.DrawFn) -> BothKinds:
    """Draw a pod that asks for both kinds; one node in eight has only the first.

    Half of the pods ask for little, since few others fit by both.
    """
    request, cases = draw(fleet_cases(most_nodes=3))
    other = draw(other_requests(request).filter(lambda asked: asked.asks_for_devices))
    if draw(st.booleans()):
        request, other = _for_little(request), _for_little(other)
    return BothKinds(
        (request, other),
        {
            case.node.name: (
                case,
                draw(node_cases(case.node.name, other))
                if draw(st.integers(0, 7))
                else None,
            )
            for case in cases
        },
    )


def _for_little(request: PodRequest) -> PodRequest:
    """Ask for one card at most in each container, of any, and for a part of it."""
    asked = tuple(
        replace(
            each,
            count=min(each.count, 1),
            memory_mib=each.memory_mib and min(each.memory_mib, 2_000),
            memory_percent=min(each.memory_percent, 10),
            core_percent=min(each.core_percent, 10),
        )
        for each in request.containers
    )
    slots = kubelet_slots(request.lifetimes, asked)
    return replace(request, containers=asked, selection=ANY_DEVICE, kubelet_slots=slots)


@given(cases_of_both())
def test_two_kinds_are_judged_as_each_alone(drawn: BothKinds) -> None:
    """It fits where both fit, is hopeless where either is, and gets cards of each.

    The text has the reasons of those that are as bad, and the score is the mean.
    """
    fleet = drawn.fleet()
    asking, *alone = (
        pod("p", *requests)
        for requests in (drawn.requests, *((each,) for each in drawn.requests))
    )
    for name in drawn.cases:
        told = [filter_nodes(fleet, each, [name], None) for each in alone]
        hopeless = [each.unresolvable[name] for each in told if each.unresolvable]
        failed = [each.failed[name] for each in told if each.failed]
        if Reason.SEARCH_EXHAUSTED.value in failed:
            return  # both kinds have the steps of one
        own = [fleet_of([] if case is None else [case]) for case in drawn.cases[name]]
        assert told == [
            filter_nodes(of_kind, each, [name], None)
            for of_kind, each in zip(own, alone, strict=True)
        ]
        event(f"refused by {len(failed)}; hopeless by {len(hopeless)}")
        decision = filter_nodes(fleet, asking, [name], None)
        allocation = choose_devices(fleet, asking, name, None)
        verdict = judge_node(fleet, asking, name, None)
        ((_, score),) = scored(fleet, asking, [name], None)
        if not hopeless and not failed:
            assert decision.fitting == [name]
            assert verdict is None
            rows = [
                _cards_of(choose_devices(fleet, each, name, None)) or ()
                for each in alone
            ]
            assert _cards_of(allocation) == tuple(
                _sorted((*one, *other)) for one, other in zip(*rows, strict=True)
            )
            scores = [scored(fleet, each, [name], None)[0][1] for each in alone]
            assert score == (sum(scores) + 1) // 2
            continue
        texts = decision.unresolvable if hopeless else decision.failed
        codes = {code for text in hopeless or failed for code in text.split(", ")}
        assert texts[name] == ", ".join(sorted(codes))
        assert (allocation, score) == (None, 0)
        assert verdict is not None
        assert verdict.is_unresolvable == bool(hopeless)
        reasons = sorted(reason.value for reason in verdict.reasons)
        assert ", ".join(reasons) == (hopeless or failed)[0]


# With a ledger: full node objects, and a pod that holds something itself.


@st.composite
def allocations(draw: st.DrawFn, requests: Sequence[PodRequest]) -> Allocation:
    """Draw rows for a pod, on any cards: what others wrote need not fit."""
    shares = {
        request.kind: st.builds(
            Share,
            st.sampled_from(_UUIDS_OF[request.kind]),
            st.sampled_from([1_000, 8_000, 24_000]),
            st.sampled_from([0, 30, 100]),
            st.just(request.kind),
        )
        for request in requests
    }
    return tuple(
        tuple(
            draw(shares[request.kind])
            for request in requests
            for _ in range(request.containers[index].count)
        )
        for index in range(len(requests[0].containers))
    )


def unreadable_allocations() -> st.SearchStrategy[UnreadableAllocation]:
    """Draw what cannot be read, and names some cards."""
    return st.builds(
        UnreadableAllocation,
        st.just("torn"),
        st.lists(st.sampled_from(_UUIDS + _OTHER_UUIDS), max_size=2).map(tuple),
        st.sampled_from([GPUS, frozenset({NPU}), frozenset({GPU, NPU})]),
    )


@st.composite
def one_or_both(draw: st.DrawFn, request: PodRequest) -> tuple[PodRequest, ...]:
    """Draw, now and then, what the same containers ask of another kind."""
    if draw(st.integers(0, 2)):
        return (request,)
    return (request, draw(other_requests(request)))


@st.composite
def shown_pods(draw: st.DrawFn, name: str, names: Sequence[NodeName]) -> Pod:
    """Draw a pod that is bound to a known or unknown node."""
    requests = draw(one_or_both(draw(pod_requests(max_containers=3))))
    readable, unreadable = allocations(requests), unreadable_allocations()
    return pod(
        name,
        *requests,
        on=draw(st.sampled_from([*names, NodeName("elsewhere")])),
        allocation=draw(st.one_of(readable, readable, unreadable, st.none())),
        status=draw(pod_statuses(max_containers=3)),
    )


@st.composite
def ledgers(draw: st.DrawFn) -> tuple[Ledger, tuple[PodRequest, ...]]:
    """Draw a ledger of some nodes and pods, and what another pod asks."""
    request, cases = draw(fleet_cases(most_nodes=2))
    requests = draw(one_or_both(request))
    nodes = [case.node for case in cases]
    if len(requests) > 1:
        nodes = [
            beside(each, draw(node_cases(each.name, requests[1])).node)
            for each in nodes
        ]
    names = [each.name for each in nodes]
    pods = [draw(shown_pods(f"p{number}", names)) for number in range(3)]
    events: list[Event] = [NodeSeen(each) for each in nodes]
    events += [PodSeen(shown) for shown in pods]
    ledger = Ledger()
    for each in draw(st.permutations(events)):
        ledger.apply(each)
    return ledger, requests


def beside(one: Node, other: Node) -> Node:
    """Show the cards of two nodes, each of another kind, as those of one."""
    return replace(one, inventories={**one.inventories, **other.inventories})


@dataclass(frozen=True)
class Answers:
    """What all verbs say of one pod."""

    decision: FilterDecision
    scores: list[tuple[NodeName, int]]
    chosen: list[Allocation | None]
    verdicts: list[NodeVerdict | None]


def answers(fleet: Fleet, asking: Pod, ledger: Ledger) -> Answers:
    """Ask every verb about every node."""
    own = ledger.holding(asking.uid)
    names = [*ledger.nodes, NodeName("elsewhere")]
    return Answers(
        filter_nodes(fleet, asking, names, own),
        scored(fleet, asking, names, own),
        [choose_devices(fleet, asking, name, own) for name in names],
        [judge_node(fleet, asking, name, own) for name in names],
    )


@given(ledgers(), st.data())
def test_full_node_objects_are_judged_as_their_names_and_nothing_is_recorded(
    drawn: tuple[Ledger, tuple[PodRequest, ...]], data: st.DataObject
) -> None:
    """On a cluster that is as the objects say; also for pods that hold something."""
    ledger, requests = drawn
    asking = data.draw(st.sampled_from([pod("asking", *requests), *_charged(ledger)]))
    brought = data.draw(st.permutations(list(ledger.nodes.values())), label="brought")
    by_names = answers(ledger.fleet, asking, ledger)
    assert answers(ledger.fleet_of(brought), asking, ledger) == by_names
    assert answers(ledger.fleet, asking, ledger) == by_names
    assert audit(ledger) == []


def _charged(ledger: Ledger) -> list[Pod]:
    return [shown for shown, _ in ledger.standings() if shown.asks_for_devices]


@given(ledgers(), st.data())
def test_a_pod_is_judged_as_if_it_held_nothing_itself(
    drawn: tuple[Ledger, tuple[PodRequest, ...]], data: st.DataObject
) -> None:
    """Its own charge, reservation or unreadable allocation is left out."""
    ledger, requests = drawn
    asking = pod("asking", *requests)
    before = answers(ledger.fleet, asking, ledger)
    name = data.draw(st.sampled_from(list(ledger.nodes)), label="node")
    rows = data.draw(allocations(requests), label="rows")
    unreadable = data.draw(unreadable_allocations(), label="unreadable")
    changes: list[Event] = [
        Reserved(asking, name, rows),
        PodSeen(replace(asking, node_name=name, allocation=rows)),
        PodSeen(replace(asking, node_name=name, allocation=unreadable)),
        PodSeen(replace(asking, node_name=name)),
    ]
    ledger.apply(data.draw(st.sampled_from(changes), label="change"))
    assert answers(ledger.fleet, asking, ledger) == before
    assert audit(ledger) == []
    by_objects = ledger.fleet_of(list(ledger.nodes.values()))
    assert answers(by_objects, asking, ledger) == before


@given(
    width=st.sampled_from([1, 4, 16, 64]),
    count=st.integers(1, 16),
    seed=st.integers(0, 2**32 - 1),
    has_preferred=st.booleans(),
)
def test_the_first_cards_in_order_are_those_of_a_plain_sort(
    width: int, count: int, seed: int, *, has_preferred: bool
) -> None:
    """Of few cards or many: preferred ones, then the lowest, then the first."""
    random = np.random.default_rng(seed)
    order = random.integers(-3, 3, (width, 5)).astype(np.float64)
    eligible = random.random((width, 5)) < random.random()
    preferred = random.random((width, 5)) < random.random() if has_preferred else None
    chosen = first_in_order(order, eligible, preferred, count)
    for column in range(5):
        ranked = sorted(
            (
                preferred is not None and not preferred[card, column],
                float(order[card, column]),
                card,
            )
            for card in eligible[:, column].nonzero()[0].tolist()
        )
        first = sorted(card for _, _, card in ranked[:count])
        assert chosen[:, column].nonzero()[0].tolist() == first
