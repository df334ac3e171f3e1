"""Two kinds of device at once, from the wire to the wire.

Cards of the first kind are A-0, A-1 and so on, those of the second B-0, B-1. What is
said of one kind alone is in the other rooms' tests.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from extender.core.allocation import Share, UnreadableAllocation
from extender.core.container import Lifetime
from extender.core.fleet import Fleet
from extender.core.kind_set import Kinds
from extender.core.names import DeviceUUID, NodeName, PodUID
from extender.core.node import Node
from extender.core.pod import Pod
from extender.core.pod_request import NO_REQUEST, ContainerRequest, PodRequest
from extender.core.reasons import Reason
from extender.core.usage import Usage
from extender.embedded.cluster import EmbeddedCluster
from extender.service import Extender
from extender.service.nominated import NominatedRoom
from extender.state.audit import audit
from extender.state.events import (
    Event,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Recount,
    Reserved,
    Synced,
)
from extender.state.holdings import Footing
from extender.state.ledger import Ledger
from extender.state.overfull import Cause
from extender.verbs.bind import choose_devices
from extender.verbs.filter import FilterDecision, filter_nodes
from extender.verbs.verdicts import judge_node
from extender.wire.allocation import allocation_annotations
from extender.wire.extender_v1 import BindingArgs
from extender.wire.nodes import decode_node
from extender.wire.plain_pods import is_plain
from extender.wire.pod_settings import release_annotations
from extender.wire.pods import PodReader
from tests.builders import Json, PodBuilder, pod
from tests.kinds import ALPHA, BETA, KINDS, READER, Asks, node_of, pod_of
from tests.values import N1, N2, N3, N4, fleet_of, held, row, scored, uuids

A_0, A_1 = DeviceUUID("A-0"), DeviceUUID("A-1")
B_0, B_1 = DeviceUUID("B-0"), DeviceUUID("B-1")
ALPHA_ROWS: Final = "hami.io/alpha-devices-allocated"
ALPHA_TO_ALLOCATE: Final = "hami.io/alpha-devices-to-allocate"
BETA_ROWS: Final = "beta.example/allocated"

BOTH: Final = Asks(alpha=1, alpha_mib=8_000, beta=1, beta_mib=4_000)
ALPHA_ONLY: Final = Asks(alpha=1, alpha_mib=8_000)
BETA_ONLY: Final = Asks(beta=1, beta_mib=4_000)


def shown(
    name: NodeName,
    alpha: dict[str, int] | None = None,
    beta: dict[str, int] | None = None,
    *,
    slots: int = 10,
) -> Node:
    """Read a node of such cards; of a kind that is None it shows nothing."""
    return decode_node(node_of(name, alpha, beta, slots=slots), KINDS)


def of_both(name: NodeName = N1) -> Node:
    """Read a node of one card of each kind."""
    return shown(name, {"A-0": 24_000}, {"B-0": 16_000})


def asking(name: str = "p", asks: Asks = BOTH) -> Pod:
    """Read a pod of one container."""
    return READER.read(pod_of(pod(name).app("a"), {"a": asks}))


def bound(
    name: str,
    asks: Asks,
    rows: dict[str, str],
    *,
    on: str = "n1",
    phase: str = "Pending",
) -> Pod:
    """Read a pod of one container that is bound with these annotations."""
    made = pod(name).app("a").on(on).annotations(rows).phase(phase)
    return READER.read(pod_of(made, {"a": asks}))


def judged(fleet: Fleet, wanted: Pod, *names: NodeName) -> FilterDecision:
    """Ask filter about nodes."""
    return filter_nodes(fleet, wanted, names or (N1,), None)


# What is read of a pod.


ARRANGED: Final = (
    pod("p").sidecar("s").init("i").sidecar("idle").app("a").app("b").app("c")
)
ARRANGED_ASKS: Final = {
    "s": Asks(beta=1, beta_mib=2_000),
    "i": Asks(alpha=2, alpha_mib=9_000),
    "a": BOTH,
    "b": Asks(alpha=1, alpha_mib=1_000),
}


def test_a_pod_has_one_request_for_each_kind_that_it_names() -> None:
    """In the order of the kinds, with an entry for each of its containers."""
    read = READER.read(pod_of(ARRANGED, ARRANGED_ASKS))
    lifetimes = (
        Lifetime.SIDECAR,
        Lifetime.INIT,
        Lifetime.SIDECAR,
        *[Lifetime.APP] * 3,
    )
    assert read.requests == (
        PodRequest(
            "Alpha",
            lifetimes,
            (
                NO_REQUEST,
                ContainerRequest(2, 9_000),
                NO_REQUEST,
                ContainerRequest(1, 8_000),
                ContainerRequest(1, 1_000),
                NO_REQUEST,
            ),
            kubelet_slots=2,
        ),
        PodRequest(
            "Beta",
            lifetimes,
            (
                ContainerRequest(1, 2_000),
                NO_REQUEST,
                NO_REQUEST,
                ContainerRequest(1, 4_000),
                NO_REQUEST,
                NO_REQUEST,
            ),
            kubelet_slots=2,
        ),
    )
    assert read.asking == read.requests
    assert read.lifetimes == lifetimes
    assert read.kubelet_slots == {"Alpha": 2, "Beta": 2}


@pytest.mark.parametrize(
    ("asks", "kinds"),
    [
        (ALPHA_ONLY, ["Alpha"]),
        (BETA_ONLY, ["Beta"]),
        (BOTH, ["Alpha", "Beta"]),
        (Asks(), []),
    ],
)
def test_a_kind_that_a_pod_does_not_name_is_no_request(
    asks: Asks, kinds: list[str]
) -> None:
    """A pod that names none has no request at all, and is not read where it matters."""
    printed = pod_of(pod("p").app("a"), {"a": asks})
    read = READER.read(printed)
    assert [each.kind for each in read.requests] == kinds
    assert read.asks_for_devices == bool(kinds)
    assert is_plain(printed, KINDS) == (not kinds)


def test_a_kind_of_which_a_pod_names_no_card_is_no_asking() -> None:
    """It has a request, by which it asks for nothing; the other one counts."""
    read = READER.read(beta_beside_no_alpha(pod("p").app("a")))
    assert [each.kind for each in read.requests] == ["Alpha", "Beta"]
    assert [each.kind for each in read.asking] == ["Beta"]
    assert read.asks_for_devices
    assert read.kubelet_slots == {"Beta": 1}
    assert judged(fleet_of([shown(N1, None, {"B-0": 16_000})]), read).fitting == [N1]


def beta_beside_no_alpha(made: PodBuilder) -> Json:
    """Print a pod whose app asks for the second kind, and for 0 of the first."""
    printed = pod_of(made, {"a": BETA_ONLY})
    printed["spec"]["containers"][0]["resources"]["limits"]["alpha.example/card"] = "0"
    return printed


@pytest.mark.parametrize("asks", [ALPHA_ONLY, BETA_ONLY, BOTH])
def test_release_is_fixed_where_an_init_asks_for_any_kind(asks: Asks) -> None:
    """The charge depends on it."""
    made = pod("p").init("i").app("a")
    annotation = {"gpu-extender/release": "after-init"}
    for others in (ALPHA_ONLY, BETA_ONLY):
        of_init = READER.read(pod_of(made, {"i": asks, "a": others}))
        assert release_annotations(of_init) == annotation
        of_app = READER.read(pod_of(made, {"a": asks}))
        assert release_annotations(of_app) == {}


def test_the_order_of_a_pods_kinds_is_that_of_all() -> None:
    """Whatever its containers name first."""
    asks = {"a": BETA_ONLY, "b": ALPHA_ONLY}
    read = READER.read(pod_of(pod("p").app("a").app("b"), asks))
    assert [each.kind for each in read.requests] == ["Alpha", "Beta"]
    turned = replace(READER, kinds=Kinds([BETA, ALPHA]))
    read = turned.read(pod_of(pod("p").app("a").app("b"), asks))
    assert [each.kind for each in read.requests] == ["Beta", "Alpha"]


def test_a_quantity_of_one_kind_that_cannot_be_honoured_refuses_the_pod() -> None:
    """It asks for nothing of the other kind either; kubelet's counts still stand."""
    printed = pod_of(pod("p").app("a").app("b"), {"a": BOTH, "b": BETA_ONLY})
    printed["spec"]["containers"][1]["resources"]["limits"]["beta.example/memory"] = "x"
    read = READER.read(printed)
    assert read.request_problem is not None
    assert "beta.example/memory" in read.request_problem
    assert not read.asks_for_devices
    assert read.kubelet_slots == {"Alpha": 1, "Beta": 2}
    fleet = fleet_of([of_both()])
    assert judged(fleet, read).unresolvable == {N1: read.request_problem}


def test_settings_of_one_kind_steer_that_kind_only() -> None:
    """A list of cards to use would match none of the other."""
    made = pod("p").app("a").annotations({"alpha.example/use": "A-1"})
    read = READER.read(pod_of(made, {"a": BOTH}))
    fleet = fleet_of([shown(N1, {"A-0": 24_000, "A-1": 24_000}, {"B-0": 16_000})])
    assert uuids(choose_devices(fleet, read, N1, None)) == [["A-1", "B-0"]]


# What is read of a node.


def test_a_node_has_an_inventory_of_each_kind_that_it_shows() -> None:
    """Devices are listed kind by kind; what it does not show it does not have."""
    read = of_both()
    assert {
        kind: each.allocatable_slots for kind, each in read.inventories.items()
    } == {
        "Alpha": 10,
        "Beta": 10,
    }
    assert [device.device_uuid for device in read.devices] == [A_0, B_0]
    assert list(shown(N1, None, {"B-0": 1}).inventories) == ["Beta"]
    assert shown(N1).inventories == {}


def test_a_register_that_cannot_be_read_refuses_its_kind_only() -> None:
    """The cards of the other count."""
    printed = node_of("n1", {"A-0": 24_000}, {"B-0": 16_000})
    printed["metadata"]["annotations"]["beta.example/register"] = "{"
    read = decode_node(printed, KINDS)
    assert read.is_usable
    assert [device.device_uuid for device in read.usable_devices] == [A_0]
    fleet = fleet_of([read])
    assert judged(fleet, asking(asks=ALPHA_ONLY)).fitting == [N1]
    unreadable = {N1: "NodeRegistrationUnreadable"}
    assert judged(fleet, asking(asks=BETA_ONLY)).unresolvable == unreadable
    assert judged(fleet, asking()).unresolvable == unreadable


def test_a_silent_plugin_takes_only_its_own_cards_away() -> None:
    """They are registered, and do not count."""
    printed = node_of("n1", {"A-0": 24_000}, {"B-0": 16_000})
    printed["status"]["allocatable"]["beta.example/card"] = "0"
    read = decode_node(printed, KINDS)
    assert [device.device_uuid for device in read.devices] == [A_0, B_0]
    assert [device.device_uuid for device in read.usable_devices] == [A_0]
    fleet = fleet_of([read])
    assert judged(fleet, asking(asks=ALPHA_ONLY)).fitting == [N1]
    unregistered = {N1: "node unregistered"}
    assert judged(fleet, asking(asks=BETA_ONLY)).unresolvable == unregistered


def test_an_id_under_two_kinds_is_refused_by_name_for_both() -> None:
    """Whose card it is could not be told by it; a third kind is not concerned."""
    gamma = replace(
        BETA,
        type_word="Gamma",
        count_resource="gamma.example/card",
        memory_resource=None,
        register_annotation="gamma.example/register",
        allocated_annotation="gamma.example/allocated",
    )
    printed = node_of("n1", {"A-0": 1, "X": 1}, {"B-0": 1, "X": 1})
    texts = printed["metadata"]["annotations"]
    texts["gamma.example/register"] = texts["beta.example/register"].replace("X", "G")
    texts["gamma.example/register"] = texts["gamma.example/register"].replace("B-", "C")
    printed["status"]["allocatable"]["gamma.example/card"] = "20"
    read = decode_node(printed, [ALPHA, BETA, gamma])
    told = {kind: each.problem for kind, each in read.inventories.items()}
    assert told.pop("Gamma") is None
    for kind, problem in told.items():
        assert problem is not None
        assert kind in problem
        assert "'X'" in problem
    fleet = fleet_of([read, of_both(N2)])
    for asks in (ALPHA_ONLY, BETA_ONLY, BOTH):
        decision = judged(fleet, asking(asks=asks), N1, N2)
        assert decision.unresolvable == {N1: "NodeRegistrationUnreadable"}
        assert decision.fitting == [N2]


def test_an_id_under_two_kinds_hides_no_other_problem() -> None:
    """Whoever mends the node sees the whole list."""
    printed = node_of("n1", {"X": 1}, {"X": 1})
    printed["status"]["allocatable"]["beta.example/card"] = "many"
    problem = decode_node(printed, KINDS).inventories["Beta"].problem
    assert problem is not None
    assert "'X'" in problem
    assert "status.allocatable[beta.example/card]" in problem


# Where it fits.


@dataclass(frozen=True)
class Place:
    """A node, what is held there, and what filter says; no text where it fits."""

    alpha: dict[str, int] | None
    beta: dict[str, int] | None
    use: dict[str, Usage]
    text: str = ""
    is_hopeless: bool = False


FULL: Final = Usage(1, 24_000)
NO_SLOTS: Final = Usage(10, 0)

PLACES: Final = {
    "both are free": Place({"A-0": 24_000}, {"B-0": 16_000}, {}),
    "both have just enough left": Place(
        {"A-0": 24_000},
        {"B-0": 16_000},
        {"A-0": Usage(1, 16_000), "B-0": Usage(1, 12_000)},
    ),
    "the first is full": Place(
        {"A-0": 24_000}, {"B-0": 16_000}, {"A-0": FULL}, "CardInsufficientMemory"
    ),
    "the second is full": Place(
        {"A-0": 24_000}, {"B-0": 16_000}, {"B-0": NO_SLOTS}, "CardTimeSlicingExhausted"
    ),
    "both are full: the reasons of both": Place(
        {"A-0": 24_000},
        {"B-0": 16_000},
        {"A-0": FULL, "B-0": NO_SLOTS},
        "CardInsufficientMemory, CardTimeSlicingExhausted",
    ),
    "the first is too small, whatever is held of the second": Place(
        {"A-0": 7_999},
        {"B-0": 16_000},
        {"B-0": NO_SLOTS},
        "CardInsufficientMemory",
        is_hopeless=True,
    ),
    "the second is too small": Place(
        {"A-0": 24_000},
        {"B-0": 3_999},
        {"A-0": NO_SLOTS},
        "CardInsufficientMemory",
        is_hopeless=True,
    ),
    "there is none of the first": Place(
        None, {"B-0": 16_000}, {}, "node unregistered", is_hopeless=True
    ),
    "there is none of the second": Place(
        {"A-0": 24_000}, None, {"A-0": FULL}, "node unregistered", is_hopeless=True
    ),
    "there is nothing": Place(None, None, {}, "node unregistered", is_hopeless=True),
    "one is too small, the other not there: both are told": Place(
        {"A-0": 7_999},
        None,
        {},
        "CardInsufficientMemory, node unregistered",
        is_hopeless=True,
    ),
}

ARRANGEMENTS: Final = {
    "in one container": (pod("p").app("a"), {"a": BOTH}),
    "in two apps": (
        pod("p").app("a").app("b"),
        {"a": ALPHA_ONLY, "b": BETA_ONLY},
    ),
    "in an init and an app": (
        pod("p").init("i").app("a"),
        {"i": ALPHA_ONLY, "a": BETA_ONLY},
    ),
    "in a sidecar and an init": (
        pod("p").sidecar("s").init("i").app("a"),
        {"s": BETA_ONLY, "i": ALPHA_ONLY},
    ),
    "in each of all three": (
        pod("p").sidecar("s").init("i").app("a"),
        {
            "s": Asks(beta=1, beta_mib=1_000),
            "i": Asks(alpha=1, alpha_mib=8_000, beta=1, beta_mib=3_000),
            "a": Asks(alpha=1, alpha_mib=2_000, beta=1, beta_mib=2_000),
        },
    ),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize(
    ("made", "asks"), ARRANGEMENTS.values(), ids=list(ARRANGEMENTS)
)
def test_a_pod_fits_only_where_both_kinds_do(
    made: PodBuilder, asks: dict[str, Asks], place: Place
) -> None:
    """All verbs say so; where either can never fit, eviction would not help."""
    wanted = READER.read(pod_of(made, asks))
    fleet = fleet_of([shown(N1, place.alpha, place.beta)], [held(N1, place.use)])
    decision = judged(fleet, wanted)
    verdict = judge_node(fleet, wanted, N1, None)
    ((_, score),) = scored(fleet, wanted, [N1], None)
    allocation = choose_devices(fleet, wanted, N1, None)
    if not place.text:
        assert decision == FilterDecision(fitting=[N1])
        assert verdict is None
        assert score > 0
        assert allocation is not None
        return
    told = {N1: place.text}
    expected = ({}, told) if place.is_hopeless else (told, {})
    assert (decision.failed, decision.unresolvable) == expected
    assert verdict is not None
    assert verdict.is_unresolvable == place.is_hopeless
    assert {each.value for each in verdict.reasons} <= set(place.text.split(", "))
    assert (score, allocation) == (0, None)


def test_a_verdict_is_of_the_kind_that_is_worst() -> None:
    """Of equal ones, of the first."""
    fleet = fleet_of(
        [
            shown(N1, {"A-0": 24_000}, {"B-0": 3_999}),
            shown(N2, {"A-0": 24_000}, {"B-0": 16_000}),
            shown(N3, {"A-0": 24_000}, {"B-0": 16_000}),
        ],
        [
            held(N1, {"A-0": FULL}),
            held(N2, {"A-0": FULL, "B-0": FULL}),
            held(N3, {"B-0": FULL}),
        ],
    )
    kinds = []
    for name in (N1, N2, N3, N4):
        verdict = judge_node(fleet, asking(), name, None)
        assert verdict is not None
        kinds.append(verdict.kind)
    assert kinds == ["Beta", "Alpha", "Beta", "Alpha"]
    verdict = judge_node(fleet, asking(), N4, None)
    assert verdict is not None
    assert verdict.reason is Reason.NODE_UNREGISTERED


@pytest.mark.parametrize("alpha_mib", range(0, 24_000, 1_600))
def test_a_score_is_the_mean_of_both_kinds(alpha_mib: int) -> None:
    """Halves are rounded up; each kind counts as much as the other."""
    use = {"A-0": Usage(1, alpha_mib), "B-0": Usage(3, 9_000)}
    fleet = fleet_of([of_both()], [held(N1, use)])
    scores = []
    for asks in (ALPHA_ONLY, BETA_ONLY, BOTH):
        ((_, score),) = scored(fleet, asking(asks=asks), [N1], None)
        scores.append(score)
    alpha, beta, both = scores
    if alpha_mib > 16_000:
        assert scores == [0, beta, 0]
    else:
        assert both == (alpha + beta + 1) // 2


def test_half_a_point_is_rounded_up() -> None:
    """Of a node whose kinds differ by one, or by any odd number."""
    found = set()
    for alpha_mib in range(0, 16_001, 800):
        fleet = fleet_of([of_both()], [held(N1, {"A-0": Usage(1, alpha_mib)})])
        (alpha,), (beta,), (both,) = (
            [score for _, score in scored(fleet, asking(asks=asks), [N1], None)]
            for asks in (ALPHA_ONLY, BETA_ONLY, BOTH)
        )
        if (alpha + beta) % 2:
            assert 2 * both == alpha + beta + 1
            found.add(alpha)
    assert found


def test_kubelet_slots_are_counted_by_kind() -> None:
    """Two of two are taken of the first kind, two of ten of the second."""
    printed = node_of("n1", {"A-0": 24_000}, {"B-0": 16_000})
    printed["status"]["allocatable"]["alpha.example/card"] = "2"
    ledger = ledger_of(decode_node(printed, KINDS))
    two = {"i": Asks(alpha=2, beta=2), "a": Asks(alpha=1, beta=1)}
    holder = READER.read(pod_of(pod("holder").init("i").app("a").on("n1"), two))
    ledger.apply(PodSeen(holder))
    assert holder.kubelet_slots == {"Alpha": 2, "Beta": 2}
    totals = ledger.fleet.totals(N1)
    assert {kind: each.kubelet_slots for kind, each in totals.items()} == {
        "Alpha": 2,
        "Beta": 2,
    }
    assert judged(ledger.fleet, asking(asks=BETA_ONLY)).fitting == [N1]
    for asks in (ALPHA_ONLY, BOTH):
        decision = judged(ledger.fleet, asking(asks=asks))
        assert decision.failed == {N1: "KubeletSlotsExhausted"}


# What is written at bind, and read back.


@pytest.mark.parametrize(
    ("made", "asks"), ARRANGEMENTS.values(), ids=list(ARRANGEMENTS)
)
def test_rows_of_both_kinds_read_back_the_same(
    made: PodBuilder, asks: dict[str, Asks]
) -> None:
    """Each annotation has a row for every container, also for those of the other."""
    wanted = READER.read(pod_of(made, asks))
    allocation = choose_devices(fleet_of([of_both()]), wanted, N1, None)
    assert allocation is not None
    kinds = [KINDS[each.kind] for each in wanted.asking]
    written = allocation_annotations(kinds, N1, allocation, 1_767_225_600)
    for rows in (written[ALPHA_ROWS], written[BETA_ROWS]):
        assert rows.count(";") == len(wanted.containers)
    read = READER.read(pod_of(made.on("n1").annotations(written), asks))
    assert read.allocation == allocation


def test_rows_are_written_by_kind() -> None:
    """The kind that is served by nothing has no rows to allocate."""
    wanted = READER.read(pod_of(ARRANGED, ARRANGED_ASKS))
    fleet = fleet_of([shown(N1, {"A-0": 24_000, "A-1": 24_000}, {"B-0": 16_000})])
    allocation = choose_devices(fleet, wanted, N1, None)
    assert allocation is not None
    assert uuids(allocation) == [
        ["B-0"],
        ["A-0", "A-1"],
        [],
        ["A-0", "B-0"],
        ["A-1"],
        [],
    ]
    alpha = ";A-0,Alpha,9000,0:A-1,Alpha,9000,0:;;A-0,Alpha,8000,0:;A-1,Alpha,1000,0:;;"
    beta = "B-0,Beta,2000,0:;;;B-0,Beta,4000,0:;;;"
    common = {
        "hami.io/vgpu-node": "n1",
        "hami.io/vgpu-time": "7",
        "hami.io/bind-phase": "allocating",
        "hami.io/bind-time": "7",
    }
    of_alpha = {ALPHA_ROWS: alpha, ALPHA_TO_ALLOCATE: alpha}
    of_beta = {BETA_ROWS: beta}
    for kinds, expected in (
        (KINDS, {**common, **of_alpha, **of_beta}),
        ([ALPHA], {**common, **of_alpha}),
        ([BETA], {**common, **of_beta}),
    ):
        assert allocation_annotations(kinds, N1, allocation, 7) == expected


@pytest.mark.parametrize("text", ["", ";", ";;", ";;;;"])
def test_empty_rows_of_a_kind_that_nobody_asks_for_hold_nothing(text: str) -> None:
    """HAMi writes such for every vendor that the node has."""
    made = pod("p").app("a").app("b").on("n1")
    asks = {"b": ALPHA_ONLY}
    rows = {ALPHA_ROWS: ";A-0,Alpha,8000,0:;"}
    alone = READER.read(pod_of(made.annotations(rows), asks))
    beside = READER.read(pod_of(made.annotations({**rows, BETA_ROWS: text}), asks))
    assert beside.allocation == alone.allocation
    assert beside.allocation == ((), row(("A-0", 8_000, 0), kind="Alpha"))
    assert beside.asking == alone.asking
    ledger = ledger_of(of_both(), beside)
    assert ledger.holding(beside.uid) == ledger_of(of_both(), alone).holding(alone.uid)
    assert judged(ledger.fleet, asking()).fitting == [N1]


def test_a_pod_that_holds_only_empty_rows_of_one_kind_holds_nothing() -> None:
    """It asks for nothing, and is no plain pod all the same."""
    printed = pod_of(pod("p").app("a").on("n1").annotations({BETA_ROWS: ";"}), {})
    assert not is_plain(printed, KINDS)
    read = READER.read(printed)
    assert read.allocation == ((),)
    assert not read.asks_for_devices
    assert judged(ledger_of(of_both(), read).fleet, asking()).fitting == [N1]


# What cannot be read.


HELD_A_0: Final = "A-0,Alpha,8000,0:;"
HELD_B_0: Final = "B-0,Beta,4000,0:;"
TWO_OF_EACH: Final = shown(
    N1, {"A-0": 24_000, "A-1": 24_000}, {"B-0": 16_000, "B-1": 16_000}
)


@dataclass(frozen=True)
class Torn:
    """Annotations of a running pod that asks for both, and what comes of them.

    Attributes:
        rows: Annotations.
        quarantined: Cards that count as full.
        closed: Kinds of which the node takes no new pods.
    """

    rows: dict[str, str]
    quarantined: set[str]
    closed: set[str]


TEARS: Final = {
    "the other kind's cards are known: they count as full": Torn(
        {ALPHA_ROWS: HELD_A_0, BETA_ROWS: "B-0,Beta,x,0:;"}, {"A-0", "B-0"}, set()
    ),
    "one text names nothing: no more of its kind": Torn(
        {ALPHA_ROWS: HELD_A_0, BETA_ROWS: "garbage"}, {"A-0"}, {"Beta"}
    ),
    "the other text names nothing": Torn(
        {ALPHA_ROWS: "?", BETA_ROWS: HELD_B_0}, {"B-0"}, {"Alpha"}
    ),
    "neither names anything": Torn(
        {ALPHA_ROWS: "?", BETA_ROWS: ";;"}, set(), {"Alpha", "Beta"}
    ),
    "emptied by somebody": Torn(
        {ALPHA_ROWS: HELD_A_0, BETA_ROWS: ";"}, {"A-0"}, {"Beta"}
    ),
    "rows of a card that is of the other kind": Torn(
        {ALPHA_ROWS: HELD_A_0, BETA_ROWS: "A-1,Beta,x,0:;"}, {"A-0", "A-1"}, {"Beta"}
    ),
    "cards of another node": Torn(
        {ALPHA_ROWS: HELD_A_0, BETA_ROWS: "B-9,Beta,x,0:;"}, {"A-0"}, {"Beta"}
    ),
}


@pytest.mark.parametrize("torn", TEARS.values(), ids=TEARS)
def test_rows_of_one_kind_that_cannot_be_read(torn: Torn) -> None:
    """What all texts name counts as full; the node is closed to what may be hidden."""
    holder = bound("holder", BOTH, torn.rows, phase="Running")
    assert isinstance(holder.allocation, UnreadableAllocation)
    ledger = ledger_of(TWO_OF_EACH, holder)
    totals = ledger.fleet.totals(N1)
    assert {u for each in totals.values() for u in each.quarantined} == torn.quarantined
    assert {kind for kind, each in totals.items() if each.closures} == torn.closed
    refusals = {
        "Alpha": _refusal("Alpha", {"A-0", "A-1"}, torn),
        "Beta": _refusal("Beta", {"B-0", "B-1"}, torn),
    }
    for asks, kinds in (
        (ALPHA_ONLY, ["Alpha"]),
        (BETA_ONLY, ["Beta"]),
        (BOTH, ["Alpha", "Beta"]),
    ):
        decision = judged(ledger.fleet, asking(asks=asks))
        told = sorted({refusals[kind] for kind in kinds} - {""})
        assert decision.failed == ({N1: ", ".join(told)} if told else {})
        allocation = uuids(choose_devices(ledger.fleet, asking(asks=asks), N1, None))
        assert (allocation is None) == bool(told)
        assert torn.quarantined.isdisjoint(u for each in allocation or () for u in each)
    assert audit(ledger) == []


def _refusal(kind: str, cards: set[str], torn: Torn) -> str:
    """Tell what the node says to whoever asks for a card of one kind."""
    if kind in torn.closed:
        return "NodeHasUnreadableAllocation"
    return "CardHeldByUnreadableAllocation" if cards <= torn.quarantined else ""


def test_what_cannot_be_read_is_told_with_its_kind() -> None:
    """Both problems are told, and each annotation is named."""
    rows = {ALPHA_ROWS: "A-0,Alpha,x,0:;", BETA_ROWS: HELD_B_0}
    one = bound("one", BOTH, rows).allocation
    both = bound("both", BOTH, {**rows, BETA_ROWS: "B-0;"}).allocation
    assert isinstance(one, UnreadableAllocation)
    assert isinstance(both, UnreadableAllocation)
    assert (one.named, one.kinds) == ((A_0, B_0), frozenset({"Alpha"}))
    assert (both.named, both.kinds) == ((A_0,), frozenset({"Alpha", "Beta"}))
    assert BETA_ROWS not in one.problem
    assert ALPHA_ROWS in both.problem
    assert BETA_ROWS in both.problem


def test_garbage_of_a_kind_that_nobody_asks_for_closes_no_node() -> None:
    """No container can hold such; what the readable rows name counts as full."""
    rows = {ALPHA_ROWS: HELD_A_0, BETA_ROWS: "garbage"}
    holder = bound("holder", ALPHA_ONLY, rows, phase="Running")
    ledger = ledger_of(TWO_OF_EACH, holder)
    totals = ledger.fleet.totals(N1)
    assert not any(each.closures for each in totals.values())
    assert totals["Alpha"].quarantined == {A_0}
    assert judged(ledger.fleet, asking()).fitting == [N1]


def test_a_pod_of_which_little_can_be_read_may_hold_of_any_kind() -> None:
    """Its request is not known either; where it names no card, the node is closed."""
    printed = pod_of(pod("p").app("a").on("n1").phase("Running"), {"a": BOTH})
    printed["spec"]["containers"] = "?"
    remains = READER.read_bound_remains(printed, "torn")
    assert remains is not None
    closed = ledger_of(TWO_OF_EACH, remains)
    for asks in (ALPHA_ONLY, BETA_ONLY):
        decision = judged(closed.fleet, asking(asks=asks))
        assert decision.failed == {N1: "NodeHasUnreadableAllocation"}
    printed["metadata"]["annotations"] = {BETA_ROWS: HELD_B_0, ALPHA_ROWS: HELD_A_0}
    remains = READER.read_bound_remains(printed, "torn")
    assert remains is not None
    assert isinstance(remains.allocation, UnreadableAllocation)
    assert set(remains.allocation.named) == {A_0, B_0}
    ledger = ledger_of(TWO_OF_EACH, remains)
    assert uuids(choose_devices(ledger.fleet, asking(), N1, None)) == [["A-1", "B-1"]]
    assert audit(ledger) == []


# Who still waits for a device plugin.


SERVED: Final = {
    "rows are left to allocate": (
        BOTH,
        {ALPHA_TO_ALLOCATE: HELD_A_0, "hami.io/bind-phase": "allocating"},
        True,
    ),
    "the plugin has not answered the bind": (
        BOTH,
        {ALPHA_TO_ALLOCATE: ";", "hami.io/bind-phase": "allocating"},
        True,
    ),
    "the plugin that is served by the lock is done": (
        BOTH,
        {ALPHA_TO_ALLOCATE: ";", "hami.io/bind-phase": "success"},
        False,
    ),
    "only the kind that the lock serves": (
        ALPHA_ONLY,
        {ALPHA_TO_ALLOCATE: HELD_A_0, "hami.io/bind-phase": "allocating"},
        True,
    ),
    "only the kind that nothing serves": (
        BETA_ONLY,
        {BETA_ROWS: HELD_B_0, "hami.io/bind-phase": "allocating"},
        False,
    ),
    "nothing was bound": (BOTH, {}, False),
}


@pytest.mark.parametrize(
    ("asks", "texts", "is_unserved"), SERVED.values(), ids=list(SERVED)
)
def test_a_kind_that_nothing_serves_is_not_waited_for(
    asks: Asks, texts: dict[str, str], *, is_unserved: bool
) -> None:
    """No plugin would ever say that it is done; of another kind it does."""
    assert bound("p", asks, texts).is_unserved is is_unserved
    assert not bound("p", asks, texts, phase="Running").is_unserved


# The books.


def ledger_of(*things: Node | Pod) -> Ledger:
    """Show nodes and pods."""
    ledger = Ledger()
    for each in things:
        ledger.apply(NodeSeen(each) if isinstance(each, Node) else PodSeen(each))
    return ledger


def used(ledger: Ledger, name: NodeName = N1) -> dict[str, int]:
    """Read how many MiB are held, card by card."""
    return {
        str(device_uuid): usage.memory_mib
        for totals in ledger.fleet.totals(name).values()
        for device_uuid, usage in totals.used.items()
    }


LIFE: Final = pod("p").sidecar("s").init("i").app("a").on("n1")
LIFE_ASKS: Final = {
    "s": Asks(beta=1, beta_mib=1_000),
    "i": Asks(alpha=1, alpha_mib=20_000, beta=1, beta_mib=9_000),
    "a": Asks(alpha=1, alpha_mib=5_000, beta=1, beta_mib=2_000),
}
LIFE_ROWS: Final = {
    ALPHA_ROWS: ";A-0,Alpha,20000,0:;A-0,Alpha,5000,0:;",
    BETA_ROWS: "B-0,Beta,1000,0:;B-0,Beta,9000,0:;B-0,Beta,2000,0:;",
}


def test_each_kind_is_charged_by_its_own_phases() -> None:
    """The init's peak, and after it what sidecar and app hold, of both kinds."""
    made = LIFE.annotations(LIFE_ROWS)
    later = made.phase("Running").sandbox().exited("i").running("s").running("a")
    ledger = ledger_of(of_both())
    story: list[tuple[Event, dict[str, int]]] = [
        (PodSeen(READER.read(pod_of(made, LIFE_ASKS))), {"A-0": 20_000, "B-0": 10_000}),
        (PodSeen(READER.read(pod_of(later, LIFE_ASKS))), {"A-0": 5_000, "B-0": 3_000}),
        (Recount(), {"A-0": 5_000, "B-0": 3_000}),
        (NodeSeen(shown(N1, {"A-0": 24_000})), {"A-0": 5_000}),
        (NodeSeen(shown(N1, None, {"B-0": 16_000})), {"B-0": 3_000}),
        (NodeGone(N1), {}),
        (NodeSeen(of_both()), {"A-0": 5_000, "B-0": 3_000}),
        (PodGone(PodUID(LIFE.pod_uid)), {"A-0": 0, "B-0": 0}),
    ]
    for event, expected in story:
        ledger.apply(event)
        assert used(ledger) == expected
        assert audit(ledger) == []


def test_inits_of_a_kind_that_gives_nothing_back_are_held_to_the_end() -> None:
    """Beside the apps, from filter on, and whatever has exited."""
    kept = Kinds([replace(ALPHA, inits_return=False)])
    reader = PodReader(kept)
    made = pod("p").init("i").app("a")
    asks = {"i": Asks(alpha=1, alpha_mib=14_000), "a": Asks(alpha=1, alpha_mib=10_000)}
    wanted = reader.read(pod_of(made, asks))
    full = shown(N1, {"A-0": 24_000}, {})
    fitting = filter_nodes(fleet_of([full]), wanted, [N1], None).fitting
    less = filter_nodes(fleet_of([shown(N1, {"A-0": 23_999}, {})]), wanted, [N1], None)
    assert (fitting, less.fitting) == ([N1], [])
    allocation = choose_devices(fleet_of([full]), wanted, N1, None)
    assert allocation is not None
    (kind,) = kept
    rows = allocation_annotations([kind], N1, allocation, 0)
    running = made.on("n1").annotations(rows).phase("Running")
    running = running.exited("i").running("a")
    holder = reader.read(pod_of(running, asks))
    assert holder.allocation == allocation
    ledger = ledger_of(full, holder)
    held_there = ledger.fleet.totals(N1)["Alpha"].used[A_0]
    assert held_there == Usage(2, 24_000, held_there.core_percent)
    assert audit(ledger) == []


def test_a_reservation_holds_of_both_kinds() -> None:
    """Until the pod is shown bound, with the same rows."""
    ledger, wanted = ledger_of(of_both()), asking()
    allocation = choose_devices(ledger.fleet, wanted, N1, None)
    assert allocation is not None
    ledger.apply(Reserved(wanted, N1, allocation))
    assert used(ledger) == {"A-0": 8_000, "B-0": 4_000}
    own = ledger.holding(wanted.uid)
    assert filter_nodes(ledger.fleet, wanted, [N1], own).fitting == [N1]
    written = allocation_annotations(KINDS, N1, allocation, 7)
    ledger.apply(PodSeen(bound("p", BOTH, written)))
    standing = ledger.standing(wanted.uid)
    assert standing is not None
    assert standing.footing is Footing.ALLOCATED
    assert ledger.reservation_count == 0
    assert used(ledger) == {"A-0": 8_000, "B-0": 4_000}
    assert audit(ledger) == []


def test_a_pod_that_was_bound_by_others_takes_ids_of_both_kinds() -> None:
    """It has no rows, so no card is known to be held."""
    ledger = ledger_of(of_both(), bound("p", BOTH, {}))
    totals = ledger.fleet.totals(N1)
    assert [each.kubelet_slots for each in totals.values()] == [1, 1]
    assert used(ledger) == {"A-0": 0, "B-0": 0}
    assert audit(ledger) == []


def test_a_pod_that_wants_its_cards_alone_has_those_of_both_kinds_alone() -> None:
    """Nobody joins it on either."""
    made = pod("p").app("a").annotations({"hami.io/gpu-scheduler-policy": "mutex"})
    rows = {ALPHA_ROWS: HELD_A_0, BETA_ROWS: HELD_B_0}
    holder = READER.read(pod_of(made.on("n1").annotations(rows), {"a": BOTH}))
    ledger = ledger_of(of_both(), holder)
    for asks in (ALPHA_ONLY, BETA_ONLY, BOTH):
        decision = judged(ledger.fleet, asking(asks=asks))
        assert decision.failed == {N1: "ExclusiveDeviceAllocateConflict"}


def test_room_of_a_nominated_pod_is_kept_of_both_kinds() -> None:
    """Its victim still holds the second; a pod that asks for either has to wait."""
    ledger = ledger_of(
        of_both(), bound("victim", Asks(beta=1), {BETA_ROWS: "B-0,Beta,16000,0:;"})
    )
    ledger.apply(PodSeen(nominated(Asks(alpha=1, alpha_mib=20_000, beta=1))))
    assert kept_from(ledger, ALPHA_ONLY) == {N1: "CardInsufficientMemory"}
    assert kept_from(ledger, BETA_ONLY) == {N1: "CardInsufficientMemory"}
    assert kept_from(ledger, Asks(alpha=1, alpha_mib=4_000)) == {}


def test_room_of_a_nominated_pod_follows_cards_of_every_kind() -> None:
    """It is worked out anew when its victim leaves any of them, and not kept twice."""
    victim = bound("victim", Asks(beta=1), {BETA_ROWS: "B-0,Beta,16000,0:;"})
    ledger = ledger_of(shown(N1, {"A-0": 24_000}, {"B-0": 16_000, "B-1": 16_000}))
    for event in (
        PodSeen(victim),
        PodSeen(bound("other", Asks(beta=1), {BETA_ROWS: "B-1,Beta,16000,0:;"})),
        PodSeen(nominated(Asks(alpha=1, alpha_mib=1_000, beta=1, beta_mib=16_000))),
    ):
        ledger.apply(event)
    room = NominatedRoom(ledger)
    late = asking("late", BETA_ONLY)
    room.held_against(late)
    ledger.apply(PodGone(PodUID(pod("other").pod_uid)))
    (held_there,) = room.held_against(late)
    assert set(held_there.charge) == {A_0, B_1}


def test_room_of_a_nominated_pod_is_kept_where_its_kind_is_free() -> None:
    """On the idle card, though the victim of the other kind is still there."""
    ledger = ledger_of(
        shown(N1, {"A-0": 24_000, "A-1": 24_000}, {"B-0": 16_000}),
        bound("stays", Asks(alpha=1), {ALPHA_ROWS: "A-0,Alpha,24000,0:;"}),
        bound("victim", Asks(beta=1), {BETA_ROWS: "B-0,Beta,16000,0:;"}),
    )
    ledger.apply(PodSeen(nominated(Asks(alpha=1, alpha_mib=24_000, beta=1))))
    assert kept_from(ledger, ALPHA_ONLY) == {N1: "CardInsufficientMemory"}


def nominated(asks: Asks) -> Pod:
    """Read a pod that others were evicted for."""
    made = pod("rival").app("a").priority(10).nominated("n1")
    return READER.read(pod_of(made, {"a": asks}))


def kept_from(ledger: Ledger, asks: Asks) -> dict[NodeName, str]:
    """Ask filter for a pod that is less important, as the service does."""
    wanted = asking("late", asks)
    room = NominatedRoom(ledger).held_against(wanted)
    return filter_nodes(ledger.fleet, wanted, [N1], None, room).failed


def test_cards_of_each_kind_that_hold_too_much_are_known() -> None:
    """Each with its own cause; one kind's change is not the other's."""
    holder = bound("p", BOTH, {ALPHA_ROWS: HELD_A_0, BETA_ROWS: HELD_B_0})
    ledger = ledger_of(shown(N1, {"A-0": 24_000}, {"B-0": 3_000}), holder)
    ledger.apply(Synced())
    assert ledger.overfull.causes == {N1: {B_0: Cause.INHERITED}}
    ledger.apply(NodeSeen(shown(N1, {"A-0": 7_000}, {"B-0": 3_000})))
    causes = {A_0: Cause.SHRUNK, B_0: Cause.INHERITED}
    assert ledger.overfull.causes == {N1: causes}
    assert set(ledger.overfull_on(N1)) == {A_0, B_0}
    ledger.apply(NodeSeen(of_both()))
    assert ledger.overfull.causes == {}
    assert audit(ledger) == []


def test_a_cause_outlasts_a_silent_plugin_beside_one_that_is_not() -> None:
    """While no card of a kind counts, none of it is judged; then it is as before."""
    holder = bound("p", BOTH, {ALPHA_ROWS: HELD_A_0, BETA_ROWS: HELD_B_0})
    whole = node_of("n1", {"A-0": 24_000}, {"B-0": 3_000})
    silent = json.loads(json.dumps(whole))
    silent["status"]["allocatable"]["beta.example/card"] = "0"
    ledger = ledger_of(decode_node(whole, KINDS), holder)
    ledger.apply(Synced())
    for printed in (silent, whole):
        ledger.apply(NodeSeen(decode_node(printed, KINDS)))
        assert ledger.overfull.causes == {N1: {B_0: Cause.INHERITED}}
    assert ledger.overfull.seen == {Cause.INHERITED: 1}


# All of it together.


NO_CARD_COUNTS: Final = {
    "nothing of the second kind": (
        node_of("n1", {"A-0": 24_000}),
        "no annotation beta.example/register",
    ),
    "nothing at all": (node_of("n1"), "no annotation alpha.example/register"),
    "no card of the second kind": (
        node_of("n1", {"A-0": 24_000}, {}),
        "annotation beta.example/register lists no card",
    ),
    "a second kind without slots": (
        node_of("n1", {"A-0": 24_000}, {"B-0": 16_000}, slots=0),
        "allocatable alpha.example/card is 0: no live plugin",
    ),
    "an id under both": (
        node_of("n1", {"X": 24_000}, {"X": 16_000}),
        "Alpha: id 'X' is registered by another kind, too",
    ),
}


@pytest.mark.parametrize(
    ("printed", "problem"), NO_CARD_COUNTS.values(), ids=list(NO_CARD_COUNTS)
)
def test_a_person_is_told_of_which_kind_no_card_counts(
    printed: Json, problem: str
) -> None:
    """In the words of that kind."""
    extender = Extender(EmbeddedCluster(READER), READER, lambda: 7.0)
    extender.take_in(NodeSeen(decode_node(printed, KINDS)))
    extender.mark_synced()
    verdict = extender.judge(asking(), N1)
    assert verdict is not None
    assert verdict.problem == problem


def embedded(directory: Path, *items: Json) -> tuple[Extender, EmbeddedCluster]:
    """Start an extender on a cluster of these objects."""
    file = directory / "dump.json"
    file.write_text(json.dumps({"kind": "List", "items": items}))
    cluster = EmbeddedCluster(READER)
    cluster.load([file])
    extender = Extender(cluster, READER, lambda: 7.0)
    cluster.listen(extender.take_in)
    extender.mark_synced()
    return extender, cluster


async def test_a_pod_of_two_kinds_is_bound_and_served(tmp_path: Path) -> None:
    """Both annotations are there; only one kind had rows left to allocate."""
    printed = pod_of(ARRANGED, ARRANGED_ASKS)
    on = node_of("n1", {"A-0": 24_000, "A-1": 24_000}, {"B-0": 16_000})
    extender, cluster = embedded(tmp_path, on, printed)
    args = BindingArgs("p", "default", PodUID(ARRANGED.pod_uid), N1)
    assert await extender.bind(args) == ""
    (kept,) = cluster.pod_objects()
    kept_as_printed: Json = json.loads(json.dumps(kept))
    annotations = kept_as_printed["metadata"]["annotations"]
    assert annotations[ALPHA_ROWS].count("A-") == 4
    assert annotations[BETA_ROWS] == "B-0,Beta,2000,0:;;;B-0,Beta,4000,0:;;;"
    assert annotations[ALPHA_TO_ALLOCATE] == ";" * 6
    assert annotations["hami.io/bind-phase"] == "success"
    assert used(extender.ledger) == {"A-0": 9_000, "A-1": 9_000, "B-0": 6_000}
    assert audit(extender.ledger) == []


async def test_nothing_is_written_of_a_kind_that_is_not_asked_for(
    tmp_path: Path,
) -> None:
    """A count of 0 is as good as none."""
    printed = beta_beside_no_alpha(pod("p").app("a"))
    extender, cluster = embedded(tmp_path, node_of("n1", {}, {"B-0": 16_000}), printed)
    args = BindingArgs("p", "default", PodUID(pod("p").pod_uid), N1)
    assert await extender.bind(args) == ""
    (kept,) = cluster.pod_objects()
    text = json.dumps(kept)
    assert "B-0,Beta,4000,0:;" in text
    assert ALPHA_ROWS not in text
    assert ALPHA_TO_ALLOCATE not in text


async def test_what_a_pod_was_copied_with_is_emptied_of_every_kind(
    tmp_path: Path,
) -> None:
    """Else rows of a kind that it does not ask for would be read as its own."""
    rows = "A-9,Alpha,8000,0:;"
    printed = pod_of(
        pod("p").app("a").annotations({ALPHA_ROWS: rows, ALPHA_TO_ALLOCATE: rows}),
        {"a": BETA_ONLY},
    )
    on = node_of("n1", {"A-9": 24_000}, {"B-0": 16_000})
    extender, cluster = embedded(tmp_path, on, printed)
    args = BindingArgs("p", "default", PodUID(pod("p").pod_uid), N1)
    assert await extender.bind(args) == ""
    (kept,) = cluster.pod_objects()
    annotations = json.loads(json.dumps(kept))["metadata"]["annotations"]
    assert annotations[ALPHA_ROWS] == ""
    assert annotations[ALPHA_TO_ALLOCATE] == ""
    (there,) = extender.ledger.pods.values()
    assert there.allocation == ((Share(B_0, 4_000, 0, "Beta"),),)
    assert not there.is_unserved
    assert used(extender.ledger) == {"A-9": 0, "B-0": 4_000}
    assert audit(extender.ledger) == []


def test_a_pod_waits_for_the_plugins_of_what_it_asks_for_alone() -> None:
    """Naming 0 of a kind whose plugin goes by the lock is no asking."""
    printed = beta_beside_no_alpha(pod("p").app("a").on("n1"))
    printed["metadata"]["annotations"] = {"hami.io/bind-phase": "allocating"}
    assert not READER.read(printed).is_unserved


def test_answers_are_kept_while_cards_of_another_kind_change_hands() -> None:
    """Only what is held of the kind itself makes its nodes be judged anew."""
    ledger = ledger_of(shown(N1, {"A-0": 24_000}, {"B-0": 16_000}))
    of_alpha, of_beta = (ledger.fleet.of(word) for word in ("Alpha", "Beta"))
    before = of_alpha.change_of(N1), of_beta.change_of(N1)
    holder = bound("holder", Asks(beta=1), {BETA_ROWS: "B-0,Beta,16000,0:;"})
    ledger.apply(PodSeen(holder))
    assert of_alpha.change_of(N1) == before[0]
    assert of_beta.change_of(N1) != before[1]
