"""What a person reads of one node that refuses a pod: numbers as they were then."""

from extender.core.names import DeviceUUID
from extender.core.reasons import Reason
from extender.core.usage import Usage
from extender.verbs.verdicts import (
    CardVerdict,
    KubeletSlots,
    NodeVerdict,
    judge_node,
)
from tests.values import (
    GPU,
    IDLE_APP,
    N1,
    app,
    card,
    fleet_of,
    held,
    init,
    node,
    pod,
    request,
    sidecar,
    with_inventory,
)

A, B = card("GPU-a"), card("GPU-b", index=1, model="NVIDIA L4", is_healthy=False)


def of_card(
    uuid: str,
    refused_by: Reason | None,
    free: Usage,
    needed: Usage,
    model: str = "NVIDIA A10",
) -> CardVerdict:
    """Say what one card answers."""
    return CardVerdict(DeviceUUID(uuid), model, refused_by, free, needed)


def test_a_pod_that_fits_has_no_verdict() -> None:
    """Nor has one that asks for nothing, even on an unknown node."""
    fleet = fleet_of([node(N1, A)])
    assert judge_node(fleet, pod("p", request(app())), N1, None) is None
    assert judge_node(fleet_of([]), pod("q", request(IDLE_APP)), N1, None) is None


def test_each_card_tells_what_was_free_when_the_container_came() -> None:
    """The sidecar is placed by then; the cards are in card order."""
    fleet = fleet_of(
        [node(N1, B, A)], [held(N1, {"GPU-a": Usage(2, 4_000, 20)}, kubelet=2)]
    )
    wanted = request(sidecar(5_000, cores=30), app(15_001, cores=10))
    assert judge_node(fleet, pod("p", wanted), N1, None) == NodeVerdict(
        N1,
        kind=GPU,
        container="c1",
        wanted_cards=1,
        card_count=2,
        kubelet_slots=KubeletSlots(needed=2, taken=2, allocatable=20),
        cards=(
            of_card(
                "GPU-a",
                Reason.CARD_INSUFFICIENT_MEMORY,
                Usage(7, 15_000, 50),
                Usage(1, 15_001, 10),
            ),
            of_card(
                "GPU-b",
                Reason.CARD_NOT_HEALTHY,
                Usage(10, 24_000, 100),
                Usage(1, 15_001, 10),
                "NVIDIA L4",
            ),
        ),
    )


def test_an_init_is_told_what_its_own_phase_left() -> None:
    """The sidecar before it counts; the app, which is placed earlier, does not."""
    fleet = fleet_of([node(N1, A)], [held(N1, {"GPU-a": Usage(1, 2_000)})])
    wanted = request(sidecar(4_000), init(20_000), app(10_000))
    verdict = judge_node(fleet, pod("p", wanted), N1, None)
    assert verdict is not None
    assert (verdict.container, verdict.is_unresolvable) == ("c1", False)
    assert verdict.cards == (
        of_card(
            "GPU-a",
            Reason.CARD_INSUFFICIENT_MEMORY,
            Usage(8, 18_000, 100),
            Usage(1, 20_000, 0),
        ),
    )


def test_an_unresolvable_verdict_has_the_numbers_of_the_empty_node() -> None:
    """What is held there would not help if it went."""
    fleet = fleet_of(
        [node(N1, A)], [held(N1, {"GPU-a": Usage(1, 23_000, 5)}, kubelet=1)]
    )
    verdict = judge_node(fleet, pod("p", request(app(24_001))), N1, None)
    assert verdict == NodeVerdict(
        N1,
        is_unresolvable=True,
        kind=GPU,
        container="c0",
        wanted_cards=1,
        card_count=1,
        kubelet_slots=KubeletSlots(needed=1, taken=0, allocatable=10),
        cards=(
            of_card(
                "GPU-a",
                Reason.CARD_INSUFFICIENT_MEMORY,
                Usage(10, 24_000, 100),
                Usage(1, 24_001, 0),
            ),
        ),
    )


def test_too_few_cards_tells_which_would_have_served() -> None:
    """The reasons come in the order of the rules, each once."""
    full = {"GPU-b": Usage(10, 24_000, 100), "GPU-c": Usage(11, 25_000)}
    cards = [card(f"GPU-{letter}", index=index) for index, letter in enumerate("abc")]
    fleet = fleet_of([node(N1, *cards)], [held(N1, full)])
    verdict = judge_node(fleet, pod("p", request(app(count=2))), N1, None)
    assert verdict is not None
    assert verdict.reason is Reason.TOO_FEW_CARDS
    assert verdict.wanted_cards == 2
    assert [each.refused_by for each in verdict.cards] == [
        None,
        Reason.CARD_SLOTS_EXHAUSTED,
        Reason.CARD_SLOTS_EXHAUSTED,
    ]
    assert verdict.cards[2].free == Usage(-1, -1_000, 100)
    assert verdict.reasons == (Reason.CARD_SLOTS_EXHAUSTED, Reason.TOO_FEW_CARDS)


def test_a_percentage_is_told_in_mib_of_each_card() -> None:
    """Half of 999 is 499."""
    cards = [card("GPU-a", memory=999), card("GPU-b", index=1, memory=80_000)]
    use = {"GPU-a": Usage(1, 501), "GPU-b": Usage(1, 40_001)}
    fleet = fleet_of([node(N1, *cards)], [held(N1, use)])
    verdict = judge_node(fleet, pod("p", request(app(None, percent=50))), N1, None)
    assert verdict is not None
    assert [each.needed.memory_mib for each in verdict.cards] == [499, 40_000]


def test_a_node_that_refuses_as_a_whole_asks_no_card() -> None:
    """The verdict names the most that any container wants, and kubelet's numbers."""
    fleet = fleet_of([node(N1, A)], [held(N1, {}, kubelet=9)])
    too_wide = request(app(), app(count=3), app(count=2))
    too_many = request(app(), app())
    assert judge_node(fleet, pod("p", too_wide), N1, None) == NodeVerdict(
        N1,
        Reason.NODE_INSUFFICIENT_DEVICE,
        is_unresolvable=True,
        kind=GPU,
        wanted_cards=3,
        card_count=1,
        kubelet_slots=KubeletSlots(needed=6, taken=0, allocatable=10),
    )
    assert judge_node(fleet, pod("q", too_many), N1, None) == NodeVerdict(
        N1,
        Reason.KUBELET_SLOTS_EXHAUSTED,
        kind=GPU,
        wanted_cards=1,
        card_count=1,
        kubelet_slots=KubeletSlots(needed=2, taken=9, allocatable=10),
    )


def test_a_node_without_cards_that_count_was_not_looked_at() -> None:
    """Its verdict has the reason and no numbers."""
    unreadable = with_inventory(node(N1, A), problem="no JSON")
    asking = pod("p", request(app()))
    assert judge_node(fleet_of([unreadable]), asking, N1, None) == NodeVerdict(
        N1, Reason.NODE_REGISTRATION_UNREADABLE, is_unresolvable=True, kind=GPU
    )
    assert judge_node(fleet_of([]), asking, N1, None) == NodeVerdict(
        N1, Reason.NODE_UNREGISTERED, is_unresolvable=True, kind=GPU
    )


def test_a_pod_that_cannot_be_honoured_is_told_by_its_problem() -> None:
    """Before any node is looked at; there is no reason code then."""
    wrong = pod("p", request(app()), problem="wrong")
    verdict = judge_node(fleet_of([node(N1, A)]), wrong, N1, None)
    assert verdict == NodeVerdict(N1, is_unresolvable=True, problem="wrong")
    assert verdict.reasons == ()
