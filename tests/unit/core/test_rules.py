"""Why a pod is refused, by the text that a user sees; nodes are asked as filter does.

Cards have 10 slots, 24,000 MiB and 100 percent unless a row says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from extender.core.holding import Holding
from extender.core.names import MAX_INT32, DeviceUUID, NodeName
from extender.core.node import Device
from extender.core.pod_request import PodRequest, Selection, Sharing
from extender.core.reasons import CODES, Reason, joined
from extender.core.usage import Usage
from extender.verbs.bind import choose_devices
from extender.verbs.filter import filter_nodes
from tests.values import (
    GPU,
    GPUS,
    IDLE_APP,
    N1,
    N2,
    N3,
    N4,
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

ONE = request(app())


@dataclass(frozen=True)
class Asked:
    """A node, a pod, and filter's text; no text where the pod fits."""

    cards: tuple[Device, ...]
    wanted: PodRequest = ONE
    use: Mapping[str, Usage] = field(default_factory=dict)
    kubelet_used: int = 0
    allocatable: int | None = None
    failed: str | None = None
    unresolvable: str | None = None


def check(case: Asked) -> None:
    """Ask filter about the one node."""
    shown = node(N1, *case.cards, allocatable=case.allocatable)
    fleet = fleet_of([shown], [held(N1, case.use, kubelet=case.kubelet_used)])
    decision = filter_nodes(fleet, pod("p", case.wanted), [N1], None)
    texts = (decision.failed.get(N1), decision.unresolvable.get(N1))
    assert texts == (case.failed, case.unresolvable)
    assert decision.fitting == ([] if any(texts) else [N1])


def picky(
    *,
    use_types: tuple[str, ...] | None = None,
    avoid_types: tuple[str, ...] = (),
    use: tuple[str, ...] | None = None,
    avoid: tuple[str, ...] = (),
    count: int = 1,
) -> PodRequest:
    """Ask for cards of some types or UUIDs only."""
    return request(
        app(count=count),
        selection=Selection(
            use_types,
            avoid_types,
            None if use is None else frozenset(map(DeviceUUID, use)),
            frozenset(map(DeviceUUID, avoid)),
        ),
    )


def sharing(how: Sharing, memory: int) -> PodRequest:
    """Ask for MiB of a card whose containers must agree."""
    asked = request(app(memory))
    return replace(asked, containers=(replace(asked.containers[0], sharing=how),))


A, B = card("GPU-a"), card("GPU-b", index=1)
TYPE, UUID = "CardTypeMismatch", "CardUuidMismatch"

CARDS = {
    "an idle card serves": Asked((A,)),
    "an unhealthy card serves nobody": Asked(
        (card("GPU-a", is_healthy=False),), unresolvable="CardNotHealth"
    ),
    "a cordoned card takes no new work": Asked(
        (card("GPU-a", is_cordoned=True),), unresolvable="CardCordoned"
    ),
    "a card in MIG mode that registers no profiles has no place for anybody": Asked(
        (card("GPU-a", mode="mig"),), unresolvable="CardMigTopologyInfeasible"
    ),
    "a card in MPS mode serves": Asked((card("GPU-a", mode="mps"),)),
    "a card without a mode serves": Asked((card("GPU-a", mode=""),)),
    "each card tells the first rule that refuses it, each text once": Asked(
        (
            card("GPU-a", is_healthy=False, is_cordoned=True),
            card("GPU-b", is_cordoned=True, mode="mig"),
            card("GPU-c", is_cordoned=True),
        ),
        unresolvable="CardCordoned, CardNotHealth",
    ),
    "one good card among bad ones serves one": Asked(
        (card("GPU-a", is_healthy=False), B)
    ),
    "health comes before use": Asked(
        (card("GPU-a", is_healthy=False),),
        use={"GPU-a": Usage(10, 24_000, 100)},
        unresolvable="CardNotHealth",
    ),
}

SELECTIONS = {
    "a type is matched as a part, in any case": Asked(
        (A,), picky(use_types=("nvidia a1",))
    ),
    "any of several types will do": Asked((A,), picky(use_types=("H100", "A10"))),
    "another type does not": Asked((A,), picky(use_types=("H100",)), unresolvable=TYPE),
    "an empty list of types matches nothing": Asked(
        (A,), picky(use_types=()), unresolvable=TYPE
    ),
    "an avoided type is refused in any case": Asked(
        (A,), picky(avoid_types=("a10",)), unresolvable=TYPE
    ),
    "to avoid wins over to use": Asked(
        (A,), picky(use_types=("A10",), avoid_types=("NVIDIA",)), unresolvable=TYPE
    ),
    "avoiding another type refuses nothing": Asked((A,), picky(avoid_types=("H100",))),
    "a named card serves": Asked((A, B), picky(use=("GPU-b",))),
    "a card that is not named does not": Asked(
        (A,), picky(use=("GPU-b",)), unresolvable=UUID
    ),
    "an empty list of cards matches nothing": Asked(
        (A,), picky(use=()), unresolvable=UUID
    ),
    "UUIDs are whole": Asked((A,), picky(use=("GPU-",)), unresolvable=UUID),
    "UUIDs have their case": Asked((A,), picky(use=("gpu-a",)), unresolvable=UUID),
    "an avoided card does not serve": Asked(
        (A,), picky(avoid=("GPU-a",)), unresolvable=UUID
    ),
    "to avoid a card wins over to use it": Asked(
        (A, B), picky(use=("GPU-a",), avoid=("GPU-a",)), unresolvable=UUID
    ),
    "avoiding an unknown card refuses nothing": Asked((A,), picky(avoid=("GPU-z",))),
    "the type is asked before the UUID": Asked(
        (A,), picky(use_types=("H100",), use=("GPU-z",)), unresolvable=TYPE
    ),
    "one named card is not two": Asked(
        (A, B),
        picky(use=("GPU-a",), count=2),
        unresolvable=f"AllocatedCardsInsufficientRequest, {UUID}",
    ),
}

MEMORY = "CardInsufficientMemory"

USE = {
    "the last slot serves": Asked((A,), use={"GPU-a": Usage(9)}),
    "without a slot left nobody is served": Asked(
        (A,), use={"GPU-a": Usage(10)}, failed="CardTimeSlicingExhausted"
    ),
    "more slots held than offered is no room": Asked(
        (A,), use={"GPU-a": Usage(11)}, failed="CardTimeSlicingExhausted"
    ),
    "a card that offers no slot is hopeless": Asked(
        (card("GPU-a", slots=0), card("GPU-b", slots=0)),
        allocatable=5,
        unresolvable="CardTimeSlicingExhausted",
    ),
    "the last MiB serves": Asked((A,), use={"GPU-a": Usage(1, 23_000)}),
    "one MiB too few does not": Asked(
        (A,), use={"GPU-a": Usage(1, 23_001)}, failed=MEMORY
    ),
    "more than the card has is hopeless": Asked(
        (A,), request(app(24_001)), unresolvable=MEMORY
    ),
    "no memory named is the whole card": Asked(
        (A,), request(app(None, percent=100)), use={"GPU-a": Usage(1, 1)}, failed=MEMORY
    ),
    "a percentage is of each card: it fits the small one": Asked(
        (card("GPU-a", memory=80_000), card("GPU-b", memory=16_000)),
        request(app(None, percent=50)),
        use={"GPU-a": Usage(1, 40_001), "GPU-b": Usage(1, 8_000)},
    ),
    "a percentage is of each card: both are too full": Asked(
        (card("GPU-a", memory=80_000), card("GPU-b", memory=16_000)),
        request(app(None, percent=50)),
        use={"GPU-a": Usage(1, 40_001), "GPU-b": Usage(1, 8_001)},
        failed=MEMORY,
    ),
    "a percentage is rounded down": Asked(
        (card("GPU-a", memory=999),),
        request(app(None, percent=50)),
        use={"GPU-a": Usage(1, 500)},
    ),
    "a percentage that rounds down to nothing is refused": Asked(
        (card("GPU-a", memory=99),), request(app(None, percent=1)), unresolvable=MEMORY
    ),
    "all of a card without memory is refused": Asked(
        (card("GPU-a", memory=0),), request(app(None, percent=100)), unresolvable=MEMORY
    ),
    "a need of 0 MiB is refused": Asked((A,), request(app(0)), unresolvable=MEMORY),
    "a kind that counts no memory needs none": Asked(
        (card("GPU-a", memory=0, cores=0),), sharing(Sharing.BY_SLOT, 0)
    ),
    "its slots count": Asked(
        (card("GPU-a", memory=0, cores=0, slots=1),),
        sharing(Sharing.BY_SLOT, 0),
        use={"GPU-a": Usage(1)},
        failed="CardTimeSlicingExhausted",
    ),
    "equals share a card": Asked(
        (A,), sharing(Sharing.EQUALLY, 6_000), use={"GPU-a": Usage(2, 12_000)}
    ),
    "who is no equal does not join them": Asked(
        (A,),
        sharing(Sharing.EQUALLY, 6_000),
        use={"GPU-a": Usage(1, 12_000)},
        failed="CardSharedUnequally",
    ),
    "the last percent serves": Asked(
        (A,), request(app(cores=30)), use={"GPU-a": Usage(1, 1, 70)}
    ),
    "one percent too few does not": Asked(
        (A,),
        request(app(cores=30)),
        use={"GPU-a": Usage(1, 1, 71)},
        failed="CardInsufficientCore",
    ),
    "all compute of an idle card serves": Asked((A,), request(app(cores=100))),
    "all compute of a card in use is a conflict": Asked(
        (A,),
        request(app(cores=100)),
        use={"GPU-a": Usage(1, 1)},
        failed="ExclusiveDeviceAllocateConflict",
    ),
    "99 percent of a card in use is no conflict": Asked(
        (A,), request(app(cores=99)), use={"GPU-a": Usage(1, 1)}
    ),
    "100 percent of a card that offers 200 is a share like others": Asked(
        (card("GPU-a", cores=200),),
        request(app(cores=100)),
        use={"GPU-a": Usage(1, 1, 100)},
    ),
    "no cores may not join a card whose compute is taken whole": Asked(
        (A,), use={"GPU-a": Usage(1, 1, 100)}, failed="CardComputeUnitsExhausted"
    ),
    "no cores may not join a card over its compute": Asked(
        (A,), use={"GPU-a": Usage(1, 1, 101)}, failed="CardInsufficientCore"
    ),
    "no cores may join while a percent is left": Asked(
        (A,), use={"GPU-a": Usage(1, 1, 99)}
    ),
    "no cores may join a card that counts no compute": Asked(
        (card("GPU-a", cores=0),), use={"GPU-a": Usage(1, 1)}
    ),
    "a card that counts no compute gives none": Asked(
        (card("GPU-a", cores=0),),
        request(app(cores=1)),
        unresolvable="CardInsufficientCore",
    ),
    "slots are asked before memory and cores": Asked(
        (A,),
        request(app(cores=30)),
        use={"GPU-a": Usage(10, 24_000, 100)},
        failed="CardTimeSlicingExhausted",
    ),
    "memory is asked before cores": Asked(
        (A,),
        request(app(cores=30)),
        use={"GPU-a": Usage(1, 24_000, 100)},
        failed=MEMORY,
    ),
}

TOO_FEW = "AllocatedCardsInsufficientRequest"

NODES = {
    "two cards of two": Asked((A, B), request(app(count=2))),
    "two cards of a node that has one": Asked(
        (A,), request(app(count=2)), unresolvable="NodeInsufficientDevice"
    ),
    "one container of several asks for more cards than there are": Asked(
        (A, B), request(app(), app(count=3)), unresolvable="NodeInsufficientDevice"
    ),
    "more cards than memory could ever list": Asked(
        (A,),
        request(app(count=MAX_INT32)),
        unresolvable="NodeInsufficientDevice",
    ),
    "the containers together may ask for more than there are": Asked(
        (A, B), request(app(count=2), app(count=2))
    ),
    "one of two cards is full": Asked(
        (A, B),
        request(app(count=2)),
        use={"GPU-b": Usage(10)},
        failed=f"{TOO_FEW}, CardTimeSlicingExhausted",
    ),
    "both cards are full: no word of too few": Asked(
        (A, B),
        request(app(count=2)),
        use={"GPU-a": Usage(10), "GPU-b": Usage(10)},
        failed="CardTimeSlicingExhausted",
    ),
    "kubelet has the last device id": Asked((A,), kubelet_used=9),
    "kubelet has no device id left": Asked(
        (A,), kubelet_used=10, failed="KubeletSlotsExhausted"
    ),
    "kubelet offers fewer than the cards do": Asked(
        (A,), kubelet_used=3, allocatable=3, failed="KubeletSlotsExhausted"
    ),
    "kubelet will never offer enough": Asked(
        (A, B),
        request(app(count=2)),
        allocatable=1,
        unresolvable="KubeletSlotsExhausted",
    ),
    "kubelet counts the largest init, not the sum": Asked(
        (A, B), request(init(count=2), init(count=2), app()), kubelet_used=18
    ),
    "kubelet counts a sidecar beside the init behind it": Asked(
        (A, B),
        request(sidecar(), init(count=2), app()),
        kubelet_used=18,
        failed="KubeletSlotsExhausted",
    ),
    "too few cards are told before kubelet's ids": Asked(
        (A,),
        request(app(count=2)),
        kubelet_used=10,
        unresolvable="NodeInsufficientDevice",
    ),
}

TABLES = CARDS | SELECTIONS | USE | NODES


@pytest.mark.timeout(20)
@pytest.mark.parametrize("case", TABLES.values(), ids=TABLES)
def test_filter_tells_what_is_in_the_way(case: Asked) -> None:
    """Each claim of the tables holds."""
    check(case)


# Containers of one pod in each other's way.

PODS = {
    "two apps fill a card together": Asked((A,), request(app(12_000), app(12_000))),
    "two apps are too much together": Asked(
        (A,), request(app(12_000), app(12_001)), unresolvable=MEMORY
    ),
    "an init and an app take turns": Asked((A,), request(init(24_000), app(24_000))),
    "an init runs beside the sidecar before it": Asked(
        (A,), request(sidecar(1), init(24_000), app(1)), unresolvable=MEMORY
    ),
    "an init runs without the sidecar behind it": Asked(
        (A,), request(init(24_000), sidecar(1), app(1))
    ),
    "an init runs beside every sidecar before it": Asked(
        (A,),
        request(sidecar(1_000), init(), sidecar(4_000), init(19_001), app()),
        unresolvable=MEMORY,
    ),
    "an earlier init is in no later one's way": Asked(
        (A,), request(sidecar(1_000), init(), sidecar(4_000), init(19_000), app())
    ),
    "inits take turns": Asked((A,), request(init(24_000), init(24_000), app(1))),
    "a sidecar runs beside the apps": Asked(
        (A,), request(sidecar(12_001), app(12_000)), unresolvable=MEMORY
    ),
    "an init that wants all compute may not run beside a sidecar": Asked(
        (A,),
        request(sidecar(), init(cores=100), app()),
        unresolvable="ExclusiveDeviceAllocateConflict",
    ),
    "an init that wants all compute may run before the rest": Asked(
        (A,), request(init(cores=100), sidecar(), app())
    ),
    "two apps that want all compute need two cards": Asked(
        (A, B), request(app(cores=100), app(cores=100))
    ),
    "an app without cores needs another card than one that wants all": Asked(
        (A,),
        request(app(cores=100), app()),
        unresolvable="CardComputeUnitsExhausted",
    ),
    "a container that asks for nothing is in nobody's way": Asked(
        (A,), request(IDLE_APP, app(24_000), IDLE_APP)
    ),
    "each app takes a slot": Asked(
        (card("GPU-a", slots=2),),
        request(app(), app(), app()),
        allocatable=10,
        unresolvable="CardTimeSlicingExhausted",
    ),
    "three containers fill one card exactly": Asked(
        (card("GPU-a", memory=49_152),), request(app(32_768), app(10_240), app(6_144))
    ),
    "three containers are too much for one card": Asked(
        (card("GPU-a", memory=46_068),),
        request(app(32_768), app(10_240), app(6_144)),
        unresolvable=MEMORY,
    ),
    "three containers find room on two cards": Asked(
        (card("GPU-a", memory=46_068), card("GPU-b", memory=46_068)),
        request(app(32_768), app(10_240), app(6_144)),
    ),
}


@pytest.mark.parametrize("case", PODS.values(), ids=PODS)
def test_containers_of_one_pod_meet_by_their_phases(case: Asked) -> None:
    """Each claim of the table holds."""
    check(case)


# Reported by users of other schedulers.

REPORTED = {
    "the node's total would do, no card does": Asked(
        (card("GPU-a", memory=10_240), card("GPU-b", memory=10_240)),
        request(app(8_000)),
        use={"GPU-a": Usage(1, 6_000), "GPU-b": Usage(1, 6_000)},
        failed=MEMORY,
    ),
    "the larger card of two does": Asked(
        (card("GPU-a", memory=10_240), card("GPU-b", memory=20_480)),
        request(app(12_288)),
    ),
    "a third half of a card is one too many": Asked(
        (card("GPU-a", memory=24_576),),
        request(app(12_288)),
        use={"GPU-a": Usage(2, 24_576)},
        failed=MEMORY,
    ),
    "a card split three ways serves no fourth": Asked(
        (card("GPU-a", memory=15_360, slots=3),),
        use={"GPU-a": Usage(3, 3_000)},
        failed="CardTimeSlicingExhausted",
    ),
    "all of a card that somebody uses a little": Asked(
        (A,),
        request(app(None, percent=100)),
        use={"GPU-a": Usage(1, 1_000)},
        failed=MEMORY,
    ),
    "a whole card is taken: the text names memory": Asked(
        (A,),
        request(app(None, percent=100, cores=30)),
        use={"GPU-a": Usage(1, 24_000)},
        failed=MEMORY,
    ),
    "a sick card of two leaves one": Asked(
        (card("GPU-a", is_healthy=False), B),
        request(app(4_000, count=2)),
        use={"GPU-a": Usage(1, 4_000)},
        unresolvable=f"{TOO_FEW}, CardNotHealth",
    ),
    "a card that offers nothing is refused by a reason of the card": Asked(
        (card("GPU-a", memory=0, slots=0, cores=0),),
        allocatable=1,
        unresolvable="CardTimeSlicingExhausted",
    ),
}


@pytest.mark.parametrize("case", REPORTED.values(), ids=REPORTED)
def test_reported_cases_are_answered_right(case: Asked) -> None:
    """Each claim of the table holds."""
    check(case)


@pytest.mark.parametrize(
    ("selection", "fitting"),
    [
        (Selection(use_types=("H20",)), [N1, N2]),
        (Selection(use_types=("A10",), avoid_types=("A100",)), [N4]),
        (Selection(use_types=("A100", "V100")), [N3]),
        (Selection(use_types=("a100",)), [N3]),
    ],
)
def test_a_type_is_a_part_of_the_registered_one(
    selection: Selection, fitting: list[NodeName]
) -> None:
    """Asking for "H20" takes an H200 too; to avoid the longer name tells them apart."""
    models = ["NVIDIA H200", "NVIDIA H20", "NVIDIA A100-SXM4-40GB", "NVIDIA A10"]
    nodes = [
        node(name, card(f"GPU-{name}", model=model))
        for name, model in zip([N1, N2, N3, N4], models, strict=True)
    ]
    wanted = request(app(), selection=selection)
    names = [N1, N2, N3, N4]
    decision = filter_nodes(fleet_of(nodes), pod("p", wanted), names, None)
    assert decision.fitting == fitting
    assert decision.unresolvable == {
        name: "CardTypeMismatch" for name in names if name not in fitting
    }


# Unreadable allocations.


def test_a_card_that_an_unreadable_allocation_names_counts_as_full() -> None:
    """The other card of the node serves; two at once do not."""
    fleet = fleet_of([node(N1, A, B)])
    fleet.add(Holding(N1, {}, quarantined=(DeviceUUID("GPU-a"),)))
    one = filter_nodes(fleet, pod("p", ONE), [N1], None)
    two = filter_nodes(fleet, pod("q", request(app(count=2))), [N1], None)
    assert one.fitting == [N1]
    assert two.failed == {N1: f"{TOO_FEW}, CardHeldByUnreadableAllocation"}


def test_a_node_with_an_unreadable_allocation_that_names_no_card_takes_nobody() -> None:
    """This is told before anything else of the node; it passes when mended."""
    fleet = fleet_of([node(N1, A)])
    unreadable = Holding(N1, {}, kubelet_slots={GPU: 10}, hides=GPUS)
    fleet.add(unreadable)
    refused = filter_nodes(fleet, pod("p", ONE), [N1], None)
    fleet.subtract(unreadable)
    assert refused.failed == {N1: "NodeHasUnreadableAllocation"}
    assert filter_nodes(fleet, pod("p", ONE), [N1], None).fitting == [N1]


def test_use_is_told_behind_quarantine() -> None:
    """A card that is quarantined and full is told as quarantined."""
    fleet = fleet_of([node(N1, A)], [held(N1, {"GPU-a": Usage(10, 24_000, 100)})])
    fleet.add(Holding(N1, {}, quarantined=(DeviceUUID("GPU-a"),)))
    decision = filter_nodes(fleet, pod("p", ONE), [N1], None)
    assert decision.failed == {N1: "CardHeldByUnreadableAllocation"}


# Nodes and pods that are not judged by their cards.


def test_nodes_without_cards_that_count_are_told_apart() -> None:
    """Unknown, without cards, without a live plugin; or unreadable."""
    unreadable = with_inventory(node(N1, A), problem="no JSON")
    silent = with_inventory(node(N2, A), allocatable_slots=0)
    bare = with_inventory(node(N3), devices=None)
    fleet = fleet_of([unreadable, silent, bare])
    decision = filter_nodes(fleet, pod("p", ONE), [N1, N2, N3, N4], None)
    assert decision.unresolvable == {
        N1: "NodeRegistrationUnreadable",
        N2: "node unregistered",
        N3: "node unregistered",
        N4: "node unregistered",
    }


def test_a_pod_that_cannot_be_honoured_is_refused_everywhere_by_its_problem() -> None:
    """Also where it would fit, and on unknown nodes."""
    wrong = pod("p", ONE, problem="container 'c0': nvidia.com/gpu: is '1.5'")
    decision = filter_nodes(fleet_of([node(N1, A)]), wrong, [N1, N2], None)
    assert decision.unresolvable == dict.fromkeys([N1, N2], wrong.request_problem)


def test_a_pod_that_asks_for_nothing_fits_everywhere() -> None:
    """On full, on bare and on unknown nodes, in the order asked."""
    fleet = fleet_of([node(N1, A)], [held(N1, {"GPU-a": Usage(10)})])
    decision = filter_nodes(fleet, pod("p", request(IDLE_APP)), [N2, N1], None)
    assert decision.fitting == [N2, N1]
    assert not decision.failed
    assert not decision.unresolvable


def test_no_names_no_answers() -> None:
    """An empty list of nodes is no error."""
    decision = filter_nodes(fleet_of([node(N1, A)]), pod("p", ONE), [], None)
    assert (decision.fitting, decision.failed, decision.unresolvable) == ([], {}, {})


def test_reasons_are_joined_by_their_words() -> None:
    """Sorted, each once, and nothing for no bits."""
    bits = sum(1 << code for code in CODES.values())
    assert joined(bits) == ", ".join(sorted(reason.value for reason in Reason))
    assert joined(0) == ""


@pytest.mark.parametrize("count", [5, 40, 300])
def test_many_cards_of_a_wide_node_are_taken_in_order(count: int) -> None:
    """The least used ones first, equal ones by index; however many are wanted."""
    cards = [card(f"GPU-{index:03}", index=index) for index in range(300)]
    in_use = {f"GPU-{index:03}": Usage(1, 1_000, 10) for index in range(0, 300, 2)}
    fleet = fleet_of([node(N1, *cards)], [held(N1, in_use)])
    asking = pod("p", request(app(1_000, count=count)))
    allocation = choose_devices(fleet, asking, N1, None)
    assert allocation is not None
    idle = [f"GPU-{index:03}" for index in range(1, 300, 2)]
    busy = [f"GPU-{index:03}" for index in range(0, 300, 2)]
    taken = [share.device_uuid for share in allocation[0]]
    assert taken == sorted((idle + busy)[:count])
