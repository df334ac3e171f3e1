"""What vendors' own rules refuse, by the text that a user sees.

Nodes and pods come as the wire has them, and what is there is counted by the ledger.
"""

from dataclasses import dataclass, replace
from typing import Final

import pytest

from extender.core.company import Trait
from extender.core.kind_set import Kinds
from extender.core.names import PodUID
from extender.core.usage import Usage
from extender.state.audit import audit
from extender.state.events import PodSeen
from extender.verbs.bind import choose_devices
from extender.verbs.filter import filter_nodes
from extender.verbs.verdicts import judge_node
from extender.wire.pods import PodReader
from tests.builders import pod
from tests.shipped import SHIPPED
from tests.values import N1, N2, fleet_of, uuids
from tests.vendor_places import CLASS, QOS, SGPU, Place, amd, metax, sgpu

ONLINE: Final = {CLASS: "online"}
OFFLINE: Final = {CLASS: "offline"}
FIXED: Final = {QOS: "fixed-share"}
BURST: Final = {QOS: "burst-share"}
BEST: Final = {QOS: "best-effort"}
PLAIN: Final[dict[str, str]] = {}


@dataclass(frozen=True)
class Meets:
    """Pods that are on the only card, one that comes, and what it is told."""

    there: tuple[dict[str, str], ...]
    comes: dict[str, str]
    text: str | None = None
    cores: int = 20


MEETINGS = {
    "any policy on a free card": Meets((), FIXED),
    "the same policy": Meets((FIXED,), FIXED),
    "no policy is best-effort": Meets((PLAIN,), BEST),
    "best-effort beside none": Meets((BEST,), PLAIN),
    "another policy": Meets((FIXED,), BURST, "CardQosPolicyMismatch"),
    "none beside a policy": Meets((BURST,), PLAIN, "CardQosPolicyMismatch"),
    "whole cores beside another policy": Meets(
        (FIXED,), BURST, "CardQosPolicyMismatch", cores=100
    ),
    "offline beside offline": Meets((OFFLINE,), OFFLINE),
    "online beside offline": Meets((OFFLINE,), ONLINE),
    "online beside online": Meets((ONLINE,), ONLINE),
    "offline beside online, where it would stand still": Meets(
        (ONLINE,), OFFLINE, "CardAppClassMismatch"
    ),
    "offline beside both": Meets((OFFLINE, ONLINE), OFFLINE, "CardAppClassMismatch"),
    "online beside pods of no class": Meets((PLAIN,), ONLINE, "CardAppClassMismatch"),
    "offline beside pods of no class": Meets((PLAIN,), OFFLINE, "CardAppClassMismatch"),
    "no class beside online": Meets((ONLINE,), PLAIN, "CardAppClassMismatch"),
    "no class beside offline": Meets((OFFLINE,), PLAIN, "CardAppClassMismatch"),
    "offline with another policy": Meets(
        (OFFLINE,), {**OFFLINE, **FIXED}, "CardQosPolicyMismatch"
    ),
    "online whatever the policy there": Meets(({**OFFLINE, **FIXED},), ONLINE),
    "online whatever policy it names": Meets((OFFLINE,), {**ONLINE, **FIXED}),
    "offline, and no cores are left": Meets(
        (OFFLINE,), OFFLINE, "CardInsufficientCore", cores=90
    ),
    "online needs no cores": Meets((OFFLINE,), ONLINE, cores=90),
    "online on a card whose cores are all taken": Meets((OFFLINE,) * 5, ONLINE),
}


@pytest.mark.parametrize("case", MEETINGS.values(), ids=MEETINGS)
def test_pods_that_meet_on_a_metax_card(case: Meets) -> None:
    """By policy and class, in the words that HAMi's users know."""
    place = Place("Metax-SGPU", metax("GPU-a"))
    for number, annotations in enumerate(case.there):
        place.bind(f"there-{number}", sgpu(), annotations)
    asking = place.read("comes", sgpu(cores=case.cores), case.comes)
    assert place.why_not(asking) == case.text
    chosen = choose_devices(place.ledger.fleet, asking, N1, None)
    assert (chosen is None) is (case.text is not None)


def test_another_metax_card_is_found() -> None:
    """A policy keeps a pod off a card, not off the node."""
    place = Place("Metax-SGPU", metax("GPU-a", "GPU-b"))
    assert place.bind("p1", sgpu(), {**FIXED, **_PACKING}) == ["GPU-a"]
    assert place.bind("p2", sgpu(), {**BURST, **_PACKING}) == ["GPU-b"]
    assert place.bind("p3", sgpu(), {**FIXED, **_PACKING}) == ["GPU-a"]


_PACKING = {"hami.io/gpu-scheduler-policy": "binpack"}


def test_a_metax_policy_ends_with_its_pods() -> None:
    """A card that is free again takes any; eviction would help, and the pod is told."""
    place = Place("Metax-SGPU", metax("GPU-a"))
    place.bind("p1", sgpu(), FIXED)
    asking = place.read("p2", sgpu(), BURST)
    decision = filter_nodes(place.ledger.fleet, asking, [N1], None)
    assert N1 in decision.failed
    assert N1 not in decision.unresolvable
    place.end("p1")
    assert place.why_not(asking) is None


_UID = PodUID("p1")


def test_a_metax_pod_that_is_edited_is_what_it_was_and_what_it_is() -> None:
    """Its card goes by the policy that it was given; nobody joins until it ends."""
    place = Place("Metax-SGPU", metax("GPU-a"))
    place.bind("p1", sgpu(), FIXED)
    shown = place.ledger.pods[_UID]
    (asked,) = shown.requests
    burst = replace(asked.selection, traits=frozenset((Trait.BURST_SHARE,)))
    edited = replace(shown, requests=(replace(asked, selection=burst),))
    place.ledger.apply(PodSeen(edited))
    assert audit(place.ledger) == []
    for annotations in (FIXED, BURST):
        asking = place.read("p2", sgpu(), annotations)
        assert place.why_not(asking) == "CardQosPolicyMismatch"
    place.end("p1")
    assert place.why_not(place.read("p2", sgpu(), BEST)) is None


def test_a_metax_pod_is_judged_without_itself() -> None:
    """It is asked about again while its place is reserved for it."""
    place = Place("Metax-SGPU", metax("GPU-a"))
    place.bind("p1", sgpu(), ONLINE)
    own = place.ledger.holding(_UID)
    asking = place.read("p1", sgpu(), OFFLINE)
    assert filter_nodes(place.ledger.fleet, asking, [N1], own).fitting == [N1]


def test_two_containers_of_a_metax_pod_share_a_card() -> None:
    """A pod does not keep itself off a card."""
    place = Place("Metax-SGPU", metax("GPU-a"))
    made = pod("p").app("a").app("b").annotations(OFFLINE).build()
    for container in made["spec"]["containers"]:
        container["resources"] = {"limits": sgpu()}
    asking = place.reader.read(made)
    chosen = choose_devices(place.ledger.fleet, asking, N1, None)
    assert uuids(chosen) == [["GPU-a"], ["GPU-a"]]


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, ["GPU-a", "GPU-b"]),
        ({f"{SGPU}/sgpu-topology-aware": "false"}, ["GPU-a", "GPU-b"]),
        ({f"{SGPU}/sgpu-topology-aware": "true"}, ["GPU-a", "GPU-c"]),
    ],
)
def test_metax_cards_of_one_link_are_taken_where_asked(
    annotations: dict[str, str], expected: list[str]
) -> None:
    """By annotation; without it, in the order of the policy."""
    zones = {"GPU-a": 1, "GPU-b": 2, "GPU-c": 1}
    place = Place("Metax-SGPU", metax("GPU-a", "GPU-b", "GPU-c", zones=zones))
    assert place.bind("p", {f"{SGPU}/sgpu": 2}, annotations) == expected


def part(percent: int | None = None, *, count: int = 1) -> dict[str, object]:
    """Ask for a part of an AMD card."""
    cores = {} if percent is None else {"amd.com/gpucores": percent}
    return {"amd.com/gpu": count, "amd.com/gpumem": 1024, **cores}


def test_amd_percents_are_units_of_each_card() -> None:
    """Of 304 and of 96 units, one pod; what is held is told in units."""
    place = Place("AMD", amd(304, 96))
    assert place.bind("p", part(25, count=2), {}) == ["gpu-0", "gpu-1"]
    holding = place.ledger.holding(PodUID("p"))
    assert holding is not None
    assert holding.charge == {"gpu-0": Usage(1, 1024, 76), "gpu-1": Usage(1, 1024, 24)}


def test_amd_pods_share_a_cards_units_to_the_last() -> None:
    """33 % of 96 units are 31; three leave 3, which is enough for 4 %, not for 5 %."""
    place = Place("AMD", amd(96))
    for number in range(3):
        place.bind(f"p{number}", part(33), {})
    assert place.why_not(place.read("q", part(5), {})) == "CardInsufficientCore"
    assert place.why_not(place.read("q", part(4), {})) is None


def test_amd_pod_gets_one_unit_at_least() -> None:
    """A row of 0 would mean no limit."""
    place = Place("AMD", amd(40))
    place.bind("p", part(1), {})
    holding = place.ledger.holding(PodUID("p"))
    assert holding is not None
    assert holding.charge == {"gpu-0": Usage(1, 1024, 1)}


@pytest.mark.parametrize(
    ("units", "percent", "held"),
    [(32, 10, 4), (32, 25, 8), (32, 1, 2), (32, 100, 32), (31, 100, 31), (2, 50, 2)],
)
def test_amd_units_that_go_together(units: int, percent: int, held: int) -> None:
    """Its plugin hands out pairs, so that an odd number is raised to the next."""
    place = Place("AMD", amd(units, together=2))
    place.bind("p", part(percent), {})
    holding = place.ledger.holding(PodUID("p"))
    assert holding is not None
    assert holding.charge == {"gpu-0": Usage(1, 1024, held)}


def test_amd_nodes_are_told_apart_by_units_that_go_together() -> None:
    """Else a search that found a way on one node would take it for the other's, too.

    Half of 10 units is 5, or 6 where three go together: then two halves are too much.
    """
    single, threes = amd(10, 10, 10), replace(amd(10, 10, 10, together=3), name=N2)
    fleet = fleet_of([single, threes])
    made = pod("p").app("a").app("b").app("c").app("d").build()
    asks = (part(50), part(50), part(80), part(80))
    for container, limits in zip(made["spec"]["containers"], asks, strict=True):
        container["resources"] = {"limits": limits}
    asking = PodReader(Kinds([SHIPPED["AMD"]])).read(made)
    decision = filter_nodes(fleet, asking, [N1, N2], None)
    assert decision.fitting == [N1]


def test_amd_pod_that_names_no_cores_wants_all() -> None:
    """So it joins nobody."""
    place = Place("AMD", amd(304))
    place.bind("p", part(1), {})
    asking = place.read("q", part(), {})
    assert place.why_not(asking) == "CardInsufficientCore"
    verdict = judge_node(place.ledger.fleet, asking, N1, None)
    assert verdict is not None
    (card,) = verdict.cards
    assert (card.needed.core_percent, card.free.core_percent) == (304, 301)
    assert card.counts_units


AMD_CHOICES = {
    "a type in any case": ({"amd.com/use-gputype": "mi300x"}, None),
    "another type": ({"amd.com/use-gputype": "MI250"}, "CardTypeMismatch"),
    "a type to avoid": ({"amd.com/nouse-gputype": "MI300"}, "CardTypeMismatch"),
    "a card": ({"amd.com/use-gpu-uuid": "gpu-0"}, None),
    "another card": ({"amd.com/use-gpu-uuid": "gpu-7"}, "CardUuidMismatch"),
    "a card to avoid": ({"amd.com/nouse-gpu-uuid": "gpu-0"}, "CardUuidMismatch"),
}


@pytest.mark.parametrize(("annotations", "text"), AMD_CHOICES.values(), ids=AMD_CHOICES)
def test_amd_cards_are_chosen_by_type_and_id(
    annotations: dict[str, str], text: str | None
) -> None:
    """By the model that the card registers."""
    place = Place("AMD", amd(304))
    assert place.why_not(place.read("p", part(10), annotations)) == text
