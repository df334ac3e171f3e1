"""What shadow mode says of another scheduler's decisions."""

from collections.abc import Sequence
from dataclasses import replace

from extender.core.allocation import Allocation, UnreadableAllocation
from extender.core.holding import Holding
from extender.core.names import DeviceUUID
from extender.core.node import Node
from extender.core.pod import Placing, Pod
from extender.core.usage import Usage
from extender.verbs.shadow import (
    Judgement,
    Outcome,
    Seat,
    judge_assignment,
    judge_pending,
)
from extender.verbs.shadow_audit import Held, audit_node
from extender.verbs.shadow_cases import Cases, choice_of, gives_up
from tests.values import (
    N1,
    N2,
    app,
    card,
    fleet_of,
    held,
    init,
    node,
    pod,
    request,
    row,
    sidecar,
)

GPU_A, GPU_B = DeviceUUID("GPU-a"), DeviceUUID("GPU-b")
ONE = node(N1, card("GPU-a", memory=24_000))
TWO = node(N1, card("GPU-a", memory=24_000), card("GPU-b", memory=24_000, index=1))


def judged(
    shown: Node,
    asking: Pod,
    allocation: Allocation,
    beside: Sequence[Holding] = (),
    *,
    is_locked: bool = False,
) -> Judgement:
    """Judge what was given to a pod on a node."""
    seat = Seat(fleet_of([shown], beside), shown, beside, is_locked=is_locked)
    return judge_assignment(asking, N1, allocation, seat)


def test_the_same_cards_agree() -> None:
    """A pod without a sidecar, on the only card."""
    said = judged(ONE, pod("p", request(app(8_000))), (row(("GPU-a", 8_000, 0)),))
    assert said.outcome is Outcome.AGREES
    assert said.our_cards == ("GPU-a",)
    (figures,) = said.cards
    assert figures.ours == figures.theirs == Usage(1, 8_000)


def test_other_cards_that_would_do_are_no_alarm() -> None:
    """Spread takes the idle card; theirs has room as well."""
    beside = [held(N1, {"GPU-a": Usage(1, 4_000)}, kubelet=1)]
    asking = pod("p", request(app(8_000)))
    said = judged(TWO, asking, (row(("GPU-a", 8_000, 0)),), beside)
    assert said.outcome is Outcome.OTHER_CARDS
    assert said.our_cards == ("GPU-b",)
    assert not said.outcome.is_difference


def test_a_sidecar_that_is_not_counted_overcommits() -> None:
    """HAMi counts 13,000 where sidecar and app hold 26,000 side by side."""
    asking = pod("p", request(sidecar(13_000), app(13_000)))
    allocation = (row(("GPU-a", 13_000, 0)), row(("GPU-a", 13_000, 0)))
    said = judged(ONE, asking, allocation)
    assert said.outcome is Outcome.OVERCOMMITS
    (figures,) = said.cards
    assert (figures.ours.memory_mib, figures.theirs.memory_mib) == (26_000, 13_000)
    assert figures.phase == "steady"
    assert said.reasons == ("CardInsufficientMemory",)


def test_the_phase_of_an_init_is_named() -> None:
    """It runs beside the sidecar that is declared before it."""
    asking = pod("p", request(sidecar(6_000), init(20_000), app(1_000)))
    allocation = tuple(row(("GPU-a", mib, 0)) for mib in (6_000, 20_000, 1_000))
    said = judged(ONE, asking, allocation)
    assert said.outcome is Outcome.OVERCOMMITS
    assert said.cards[0].phase == "init c1"


def test_a_node_that_fits_otherwise_does_not_excuse_the_cards() -> None:
    """The second card is free, and both were put on the first."""
    asking = pod("p", request(sidecar(13_000), app(13_000)))
    allocation = (row(("GPU-a", 13_000, 0)), row(("GPU-a", 13_000, 0)))
    said = judged(TWO, asking, allocation)
    assert said.outcome is Outcome.OVERCOMMITS
    assert set(said.our_cards) == {"GPU-a", "GPU-b"}


def test_a_core_that_another_pod_has_is_overcommitted() -> None:
    """Where cores are told apart, as AWS Neuron's are; the numbers alone would do."""
    shown = node(N1, card("GPU-a", memory=24_000))
    taken = replace(held(N1, {"GPU-a": Usage(1, 1_000, 1)}), cores={GPU_A: 0b01})
    asking = pod("p", request(app(1_000, cores=1)))
    (share,) = row(("GPU-a", 1_000, 1))
    for cores, outcome in ((0b01, Outcome.OVERCOMMITS), (0b10, Outcome.AGREES)):
        given = ((replace(share, cores=cores),),)
        assert judged(shown, asking, given, [taken]).outcome is outcome


def test_what_others_hold_counts() -> None:
    """The pod alone would fit."""
    beside = [held(N1, {"GPU-a": Usage(1, 20_000)}, kubelet=1)]
    said = judged(
        ONE, pod("p", request(app(8_000))), (row(("GPU-a", 8_000, 0)),), beside
    )
    assert said.outcome is Outcome.OVERCOMMITS
    assert said.cards[0].others == Usage(1, 20_000)


def test_a_cordoned_card_is_refused_by_name() -> None:
    """HAMi may not have seen it yet; the other card would do."""
    cordoned = replace(card("GPU-a", memory=24_000), is_cordoned=True)
    shown = node(N1, cordoned, card("GPU-b", memory=24_000, index=1))
    said = judged(shown, pod("p", request(app(8_000))), (row(("GPU-a", 8_000, 0)),))
    assert said.outcome is Outcome.REFUSED
    assert said.reasons == ("CardCordoned",)
    assert said.our_cards == ("GPU-b",)


def test_an_unknown_card_is_refused() -> None:
    """The node does not show it."""
    said = judged(ONE, pod("p", request(app(8_000))), (row(("GPU-x", 8_000, 0)),))
    assert said.outcome is Outcome.REFUSED


def test_a_locked_node_is_refused() -> None:
    """Filter refuses it once the lock has stood for long."""
    asking = pod("p", request(app(8_000)))
    said = judged(ONE, asking, (row(("GPU-a", 8_000, 0)),), is_locked=True)
    assert said.outcome is Outcome.REFUSED
    assert said.reasons == ("NodeLocked",)


def test_an_unknown_node_is_refused() -> None:
    """It registers nothing here."""
    asking = pod("p", request(app(8_000)))
    seat = Seat(fleet_of([]), None)
    said = judge_assignment(asking, N1, (row(("GPU-a", 8_000, 0)),), seat)
    assert said.outcome is Outcome.REFUSED


def test_a_pending_pod_that_fits_is_told_with_its_charge() -> None:
    """The node and cards that we have for it."""
    said = judge_pending(pod("p", request(app(8_000))), N1, Seat(fleet_of([ONE]), ONE))
    assert said.outcome is Outcome.WOULD_PLACE
    assert (said.node_name, said.our_cards) == (N1, ("GPU-a",))
    assert said.cards[0].ours == Usage(1, 8_000)


def test_a_pending_pod_for_which_cards_are_not_the_matter_is_no_difference() -> None:
    """Its scheduler says what is: nothing that we know of."""
    refused = Placing(refusal="0/1 nodes are available: 1 Insufficient cpu.")
    asking = replace(pod("p", request(app(8_000))), placing=refused)
    said = judge_pending(asking, N1, Seat(fleet_of([ONE]), ONE))
    assert said.outcome is Outcome.OTHER_RULES
    assert not said.outcome.is_difference
    assert said.holding is None


def test_a_pending_pod_that_fits_nowhere_agrees() -> None:
    """No node is offered."""
    said = judge_pending(pod("p", request(app(8_000))), None, None)
    assert said.outcome is Outcome.BOTH_REFUSE


ROWS = (row(("GPU-a", 8_000, 0)),)
ASKING = pod("p", request(app(8_000)))
ASSIGNED = replace(ASKING, allocation=ROWS, placing=Placing(N1, at="1"))
BOUND = replace(ASKING, node_name=N1, allocation=ROWS)


def test_a_binding_that_follows_its_assignment_is_no_new_choice() -> None:
    """Nor is what the plugin writes afterwards."""
    cases = Cases()
    assert cases.new_choice(ASKING, None) is None
    assert cases.new_choice(ASSIGNED, ASKING) is not None
    assert cases.new_choice(ASSIGNED, ASSIGNED) is None
    assert cases.new_choice(BOUND, ASSIGNED) is None
    assert cases.new_choice(BOUND, BOUND) is None


def test_a_second_choice_is_judged_again() -> None:
    """Also of the same node and cards, at another time; and a Binding elsewhere."""
    cases = Cases()
    cases.new_choice(ASSIGNED, None)
    again = replace(ASSIGNED, placing=Placing(N1, at="2"))
    assert cases.new_choice(again, ASSIGNED) is not None
    elsewhere = replace(BOUND, node_name=N2)
    assert cases.new_choice(elsewhere, again) is not None


def test_a_late_view_is_no_choice() -> None:
    """A pod is never unbound again."""
    cases = Cases()
    cases.new_choice(BOUND, None)
    assert cases.new_choice(ASSIGNED, BOUND) is None


def test_what_cannot_be_read_is_a_choice_too() -> None:
    """And a Binding without any cards."""
    broken = UnreadableAllocation("text", (GPU_A,), frozenset())
    assert choice_of(replace(ASSIGNED, allocation=broken)) is not None
    assert choice_of(replace(BOUND, allocation=None)) is not None
    assert choice_of(replace(ASKING, placing=Placing(N1))) is None
    idle = replace(BOUND, requests=(), allocation=((),))
    assert choice_of(idle) is None


def test_only_a_new_refusal_takes_an_assignment_back() -> None:
    """The condition of an earlier try stays on the pod until it is bound."""
    refused = replace(ASSIGNED, placing=Placing(N1, at="1", refusal="no room"))
    assert not gives_up(refused, refused)
    assert gives_up(refused, ASSIGNED)
    assert not gives_up(ASSIGNED, refused)
    moved = replace(ASSIGNED, placing=Placing(N2, at="2", refusal="no room"))
    assert not gives_up(moved, ASSIGNED)


def test_audit_tells_both_rules_apart() -> None:
    """One pod is counted too little, another too much, on the same card."""
    side = pod("s", request(sidecar(10_000), app(10_000)), on=N1)
    rows = (row(("GPU-a", 10_000, 0)), row(("GPU-a", 10_000, 0)))
    over = pod("o", request(init(20_000), app(5_000)), on=N1)
    inits = (row(("GPU-a", 20_000, 0)), row(("GPU-a", 5_000, 0)))
    (sums,) = audit_node(
        ONE,
        [
            Held(side, held(N1, {"GPU-a": Usage(2, 20_000)}), rows),
            Held(over, held(N1, {"GPU-a": Usage(1, 5_000)}), inits),
        ],
    )
    assert (sums.ours.memory_mib, sums.theirs.memory_mib) == (25_000, 30_000)
    assert sums.needless.memory_mib == 15_000
    assert sums.uncounted == Usage(1, 10_000)
    assert sums.is_over
