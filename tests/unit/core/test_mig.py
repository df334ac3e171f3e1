"""Instances of cards in MIG mode, by what a user would see; most cards are an A100."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from extender.core.allocation import Share
from extender.core.device_policy import BINPACK_CARDS, SPREAD_CARDS, DevicePolicy
from extender.core.holding import Holding
from extender.core.mig import MIG_SLICES, MigPlacement, MigProfile, MigTable
from extender.core.names import DeviceUUID
from extender.core.node import Device
from extender.core.pod_request import PodRequest, Selection
from extender.core.usage import NOTHING, Usage
from extender.verbs.bind import choose_devices
from extender.verbs.filter import filter_nodes
from extender.wire.device_policies import on_one_numa_node
from tests.values import (
    N1,
    a100,
    app,
    card,
    fleet_of,
    held,
    init,
    instance,
    node,
    pod,
    request,
    sidecar,
    totals_of,
    with_inventory,
)

Got = tuple[str, str, int]
"""Card, profile and first slice."""


@dataclass(frozen=True)
class Placing:
    """A node, a pod, and the instances that each of its containers gets."""

    wanted: PodRequest
    expected: Sequence[Sequence[Got]]
    cards: tuple[Device, ...] = (a100("GPU-a"),)
    slices: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


A, B = a100("GPU-a"), a100("GPU-b", index=1)
PLAIN = card("GPU-p", index=2)

PLACINGS = {
    "the smallest profile that is enough": Placing(
        request(app(4_000)), [[("GPU-a", "1g.5gb", 6)]]
    ),
    "exactly a profile's memory": Placing(
        request(app(4_864)), [[("GPU-a", "1g.5gb", 6)]]
    ),
    "one MiB more takes the next": Placing(
        request(app(4_865)), [[("GPU-a", "2g.10gb", 0)]]
    ),
    "enough compute counts as well": Placing(
        request(app(1_000, cores=30)), [[("GPU-a", "3g.20gb", 4)]]
    ),
    "1g goes to the highest place that is free": Placing(
        request(app(1_000)),
        [[("GPU-a", "1g.5gb", 4)]],
        slices={"GPU-a": (0, 0, 0, 0, 0, 1, 1)},
    ),
    "2g goes to the lowest": Placing(
        request(app(9_000)),
        [[("GPU-a", "2g.10gb", 2)]],
        slices={"GPU-a": (0, 1)},
    ),
    "3g goes to the highest": Placing(
        request(app(12_000)), [[("GPU-a", "3g.20gb", 4)]]
    ),
    "another profile where the first has no place": Placing(
        request(app(1_000)),
        [[("GPU-a", "1g.5gb+me", 4)]],
        cards=(
            card(
                "GPU-a",
                mode="mig",
                profiles=(
                    MigProfile("1g.5gb", 2_000, 15, 1, (MigPlacement(0, 1),)),
                    MigProfile("1g.5gb+me", 2_000, 15, 1, (MigPlacement(4, 1),)),
                ),
            ),
        ),
        slices={"GPU-a": (1,)},
    ),
    "a percentage is one of the largest instance": Placing(
        request(app(None, percent=50)), [[("GPU-a", "3g.20gb", 4)]]
    ),
    "no memory named: the whole card, as one instance": Placing(
        request(app(None, percent=100)), [[("GPU-a", "7g.40gb", 0)]]
    ),
    "two instances of one card": Placing(
        request(app(4_000, count=2)),
        [[("GPU-a", "1g.5gb", 6), ("GPU-a", "1g.5gb", 5)]],
    ),
    "more instances than cards": Placing(
        request(app(4_000, count=7)),
        [[("GPU-a", "1g.5gb", start) for start in (6, 5, 4, 3, 2, 1, 0)]],
    ),
    "spread takes them from different cards": Placing(
        request(app(4_000, count=2)),
        [[("GPU-a", "1g.5gb", 6), ("GPU-b", "1g.5gb", 6)]],
        cards=(A, B),
    ),
    "binpack takes them from one": Placing(
        request(app(4_000, count=2), cards=BINPACK_CARDS),
        [[("GPU-a", "1g.5gb", 6), ("GPU-a", "1g.5gb", 5)]],
        cards=(A, B),
    ),
    "mutex takes one of each card": Placing(
        request(app(4_000, count=2), cards=DevicePolicy(is_exclusive=True)),
        [[("GPU-a", "1g.5gb", 6), ("GPU-b", "1g.5gb", 6)]],
        cards=(A, B),
    ),
    "containers stand side by side, inits too": Placing(
        request(init(9_000), init(9_000), sidecar(4_000), app(9_000)),
        [
            [("GPU-a", "2g.10gb", 2)],
            [("GPU-a", "2g.10gb", 4)],
            [("GPU-a", "1g.5gb", 6)],
            [("GPU-a", "2g.10gb", 0)],
        ],
    ),
    "all at one NUMA node": Placing(
        request(app(12_000, count=2), cards=on_one_numa_node(SPREAD_CARDS)),
        [[("GPU-b", "3g.20gb", 4), ("GPU-b", "3g.20gb", 0)]],
        cards=(a100("GPU-a"), a100("GPU-b", index=1, numa=1)),
    ),
    "of two NUMA nodes, the one with enough": Placing(
        request(app(12_000, count=2), cards=on_one_numa_node(SPREAD_CARDS)),
        [[("GPU-a", "3g.20gb", 4), ("GPU-a", "3g.20gb", 0)]],
        cards=(a100("GPU-a"), a100("GPU-b", index=1, numa=1)),
        slices={"GPU-b": (1,)},
    ),
    "a card that is not in MIG mode is taken once": Placing(
        request(app(4_000, count=3), cards=BINPACK_CARDS),
        [[("GPU-a", "1g.5gb", 6), ("GPU-a", "1g.5gb", 5), ("GPU-p", "", -1)]],
        cards=(a100("GPU-a", slots=2), PLAIN),
    ),
    "only cards in MIG mode, where that is asked": Placing(
        request(app(4_000, count=2), selection=Selection(modes="mig")),
        [[("GPU-a", "1g.5gb", 6), ("GPU-a", "1g.5gb", 5)]],
        cards=(A, PLAIN),
    ),
}


@pytest.mark.parametrize("case", PLACINGS.values(), ids=PLACINGS)
def test_containers_get(case: Placing) -> None:
    """The rows carry what the profiles have, not what was asked."""
    fleet = fleet_of([node(N1, *case.cards)], [holding(case.cards, case.slices)])
    allocation = choose_devices(fleet, pod("p", case.wanted), N1, None)
    assert allocation is not None
    assert [[got(share) for share in row] for row in allocation] == case.expected
    profiles = {each.name: each for one in case.cards for each in one.mig_profiles}
    for share in (share for row in allocation for share in row if share.instance):
        assert share.instance is not None
        profile = profiles[share.instance.profile]
        assert share.memory_mib == profile.memory_mib
        assert share.core_percent == profile.core_percent


def got(share: Share) -> Got:
    """Tell an instance, or a whole card."""
    if share.instance is None:
        return share.device_uuid, "", -1
    return share.device_uuid, share.instance.profile, share.instance.placement.start


def holding(
    cards: Sequence[Device],
    slices: Mapping[str, tuple[int, ...]],
    used: Usage = NOTHING,
) -> Holding:
    """Hold slices of some cards in MIG mode."""
    assert {each.device_uuid for each in cards} >= slices.keys()
    return held(N1, dict.fromkeys(slices, used), slices=slices)


@dataclass(frozen=True)
class Refusing:
    """A node, a pod, and filter's text; the second where it is hopeless."""

    wanted: PodRequest
    failed: str | None = None
    unresolvable: str | None = None
    cards: tuple[Device, ...] = (A,)
    slices: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    used: Usage = NOTHING


INFEASIBLE = "CardMigTopologyInfeasible"
TOO_FEW = "AllocatedCardsInsufficientRequest"

REFUSALS = {
    "case 60 C: all places are taken, though memory is left": Refusing(
        request(app(1_000)),
        INFEASIBLE,
        cards=(a100("GPU-a", slots=10),),
        slices={"GPU-a": (1,) * 7},
        used=Usage(7, 7 * 4_864, 105),
    ),
    "free slices that are no place": Refusing(
        request(app(12_000)), INFEASIBLE, slices={"GPU-a": (1, 0, 0, 0, 0, 0, 1)}
    ),
    "more memory than any instance has": Refusing(
        request(app(40_500)), unresolvable=INFEASIBLE
    ),
    "more compute than any instance has": Refusing(
        request(app(1_000, cores=50)),
        unresolvable=INFEASIBLE,
        cards=(replace(A, mig_profiles=A.mig_profiles[:3]),),
    ),
    "more memory than the card has": Refusing(
        request(app(41_000)), unresolvable="CardInsufficientMemory"
    ),
    "a card that registers no profiles": Refusing(
        request(app(1_000)),
        unresolvable=INFEASIBLE,
        cards=(replace(A, mig_profiles=()),),
    ),
    "the same, for a percentage": Refusing(
        request(app(None, percent=100)),
        unresolvable=INFEASIBLE,
        cards=(replace(A, mig_profiles=()),),
    ),
    "some instances, but too few": Refusing(
        request(app(9_000, count=4)), unresolvable=f"{TOO_FEW}, {INFEASIBLE}"
    ),
    "no slots left": Refusing(
        request(app(1_000)),
        "CardTimeSlicingExhausted",
        slices={"GPU-a": (1,)},
        used=Usage(7),
    ),
    "all compute of a card in use": Refusing(
        request(app(1_000, cores=100)),
        "ExclusiveDeviceAllocateConflict",
        slices={"GPU-a": (1,)},
        used=Usage(1, 4_864, 15),
    ),
    "instances of an init and an app that do not fit side by side": Refusing(
        request(init(30_000), app(30_000)), unresolvable="CardInsufficientMemory"
    ),
    "not in the mode that is asked": Refusing(
        request(app(1_000), selection=Selection(modes="hami-core")),
        unresolvable="ModeNotFit",
    ),
    "more cards than there are, where instances are not accepted": Refusing(
        request(app(1_000, count=2), selection=Selection(modes="hami-core")),
        unresolvable="NodeInsufficientDevice",
    ),
    "enough, but not at one NUMA node": Refusing(
        request(app(12_000, count=2), cards=on_one_numa_node(SPREAD_CARDS)),
        "NumaNotFit",
        cards=(a100("GPU-a"), a100("GPU-b", index=1, numa=1)),
        slices={"GPU-a": (1,), "GPU-b": (1,)},
    ),
    "a million instances": Refusing(
        request(app(1_000, count=2**31 - 1)),
        unresolvable="KubeletSlotsExhausted",
    ),
}


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS)
def test_filter_tells(case: Refusing) -> None:
    """Each claim of the table holds."""
    taken = holding(case.cards, case.slices, case.used)
    fleet = fleet_of([node(N1, *case.cards)], [taken])
    decision = filter_nodes(fleet, pod("p", case.wanted), [N1], None)
    texts = (decision.failed.get(N1), decision.unresolvable.get(N1))
    assert texts == (case.failed, case.unresolvable)


def test_links_do_not_matter_in_mig_mode() -> None:
    """Policy topology-aware spreads there: two cards, not the same one twice."""
    links = {DeviceUUID("GPU-a"): {DeviceUUID("GPU-b"): 10}}
    fleet = fleet_of([with_inventory(node(N1, A, B), links=links)])
    linked = DevicePolicy(is_topology_aware=True)
    wanted = pod("p", request(app(4_000, count=2), cards=linked))
    allocation = choose_devices(fleet, wanted, N1, None)
    assert allocation is not None
    assert [got(share)[0] for share in allocation[0]] == ["GPU-a", "GPU-b"]


MISTAKES = {
    "slices of a card in MIG mode": (a100("GPU-a"), {"GPU-a": (0, 1)}, False),
    "no slices of a card in MIG mode": (a100("GPU-a"), {}, True),
    "slices of a plain card": (card("GPU-a"), {"GPU-a": (0, 1)}, True),
    "no slices of a plain card": (card("GPU-a"), {}, False),
}


@pytest.mark.parametrize(
    ("shown", "slices", "is_full"), MISTAKES.values(), ids=MISTAKES
)
def test_a_card_that_a_pod_takes_for_another_counts_as_full(
    shown: Device, slices: Mapping[str, tuple[int, ...]], *, is_full: bool
) -> None:
    """Whether the node comes first or the pod; and no more once the pod is gone."""
    taken = held(N1, {"GPU-a": Usage(1, 4_864, 15)}, slices=slices)
    for fleet in (fleet_of([node(N1, shown)], [taken]), fleet_of([])):
        fleet.put(node(N1, shown), [taken])
        totals = totals_of(fleet, N1)
        assert totals is not None
        assert totals.quarantined == (frozenset({"GPU-a"}) if is_full else frozenset())
        fleet.subtract(taken)
        totals = totals_of(fleet, N1)
        assert totals is not None
        assert (totals.quarantined, totals.slices) == (frozenset(), {})


def test_a_card_that_only_a_released_init_names_counts_as_full() -> None:
    """What the pod has of it is not known, and stays there until the pod ends."""
    taken = Holding(N1, {}, released=(DeviceUUID("GPU-a"),))
    totals = totals_of(fleet_of([node(N1, A)], [taken]), N1)
    assert totals is not None
    assert totals.quarantined == {"GPU-a"}


def test_slices_that_two_hold_are_counted_exactly() -> None:
    """Somebody else placed them; the card is overfull until one of both is gone."""
    one, other = (
        held(N1, {"GPU-a": Usage(1)}, slices={"GPU-a": counts})
        for counts in ((1, 1, 1, 1), (0, 0, 1))
    )
    fleet = fleet_of([node(N1, A)], [one, other])
    totals = totals_of(fleet, N1)
    assert totals is not None
    assert totals.slices == {"GPU-a": (1, 1, 2, 1)}
    assert fleet.is_overfull(N1)
    fleet.subtract(one)
    totals = totals_of(fleet, N1)
    assert totals is not None
    assert totals.slices == {"GPU-a": (0, 0, 1)}
    assert not fleet.is_overfull(N1)


def test_seven_instances_do_not_make_a_card_overfull() -> None:
    """Percents are rounded up: they add up to 105."""
    taken = held(N1, {"GPU-a": Usage(7, 7 * 4_864, 105)}, slices={"GPU-a": (1,) * 7})
    assert not fleet_of([node(N1, A)], [taken]).is_overfull(N1)


def test_a_table_covers_every_set_of_slices() -> None:
    """Of the largest card there may be: 16 slices, and no instance has two of these."""
    places = tuple(MigPlacement(start, 2) for start in range(0, MIG_SLICES, 2))
    table = MigTable((MigProfile("1g.5gb", 1_000, 10, 1, places),))
    taken = instance("1g.5gb", 14, 2).placement.bits
    every = range(0, 1 << MIG_SLICES, 4_097)
    found = table.next_instances(np.array(every, np.int64), 1_000, 0).tolist()
    for bits, number in zip(every, found, strict=True):
        free = [
            number
            for number, (_, place) in enumerate(table.instances)
            if not place.bits & bits
        ]
        assert number == (free[0] if free else -1)
    assert table.instances[0][1].bits == taken
