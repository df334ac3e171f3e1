"""Nodes come, change and go; what is held on them stays with whoever keeps it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from extender.core.bucket import Bucket, NodeTotals
from extender.core.cards import Cards, Interned
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import DeviceUUID, NodeName
from extender.core.placement import place
from extender.core.reasons import Reason
from extender.core.usage import Usage
from tests.values import (
    GPU,
    GPUS,
    N1,
    N2,
    N3,
    a100,
    app,
    card,
    fleet_of,
    held,
    inventory_of,
    node,
    request,
    totals_of,
    with_inventory,
)

A, B = card("GPU-a"), card("GPU-b", index=1)
GPU_A, GPU_B, GPU_Z = DeviceUUID("GPU-a"), DeviceUUID("GPU-b"), DeviceUUID("GPU-z")
NOTHING_HELD = NodeTotals({GPU_A: Usage()}, frozenset(), 0, 0)


def names(count: int) -> list[NodeName]:
    """Name many nodes."""
    return [NodeName(f"node-{number}") for number in range(count)]


def cards_of(
    fleet: Fleet,
    name: NodeName,
    without: Holding | None = None,
    beside: Sequence[Holding] = (),
) -> Cards:
    """See the cards of a node that has some."""
    cards = fleet.of(GPU).node(name, without, beside)
    assert cards is not None
    return cards


def uuids_of(cards: Cards) -> list[DeviceUUID]:
    """Name the cards of the first node, in their order."""
    return [cards.device_uuid(at, 0) for at in range(int(cards.card_counts[0]))]


def test_what_is_added_is_summed_by_card_and_taken_back_whole() -> None:
    """Slots, MiB, percent and device ids."""
    fleet = fleet_of([node(N1, A, B)])
    first = held(N1, {"GPU-a": Usage(1, 2_000, 30)}, kubelet=2)
    fleet.add(first)
    fleet.add(held(N1, {"GPU-a": Usage(2, 1_000, 5), "GPU-b": Usage(1)}, kubelet=1))
    both = {GPU_A: Usage(3, 3_000, 35), GPU_B: Usage(1)}
    assert totals_of(fleet, N1) == NodeTotals(both, frozenset(), 3, 0)
    fleet.subtract(first)
    rest = {GPU_A: Usage(2, 1_000, 5), GPU_B: Usage(1)}
    assert totals_of(fleet, N1) == NodeTotals(rest, frozenset(), 1, 0)


def test_a_card_that_the_node_does_not_show_counts_nowhere() -> None:
    """Device ids count all the same, and taking it back lowers nothing."""
    fleet = fleet_of([node(N1, A)])
    elsewhere = held(N1, {"GPU-z": Usage(1, 5_000)}, kubelet=1)
    fleet.add(elsewhere)
    assert totals_of(fleet, N1) == replace(NOTHING_HELD, kubelet_slots=1)
    fleet.subtract(elsewhere)
    assert totals_of(fleet, N1) == NOTHING_HELD


def test_a_holding_on_an_unknown_node_counts_nowhere() -> None:
    """Neither there nor on any other node."""
    fleet = fleet_of([node(N1, A)])
    fleet.add(held(N2, {"GPU-a": Usage(1, 5_000)}))
    assert totals_of(fleet, N2) is None
    assert totals_of(fleet, N1) == NOTHING_HELD


def test_the_same_uuid_on_two_nodes_is_two_cards() -> None:
    """Each has its own totals."""
    fleet = fleet_of([node(N1, A), node(N2, A)], [held(N1, {"GPU-a": Usage(1)})])
    assert totals_of(fleet, N1) == replace(NOTHING_HELD, used={GPU_A: Usage(1)})
    assert totals_of(fleet, N2) == NOTHING_HELD


def test_quarantines_are_counted_so_two_need_two_mendings() -> None:
    """A card is free again when the last of them is gone."""
    fleet = fleet_of([node(N1, A)])
    one = Holding(N1, {}, quarantined=(GPU_A, GPU_Z))
    other = Holding(N1, {}, quarantined=(GPU_A,), hides=GPUS)
    fleet.add(one)
    fleet.add(other)
    fleet.subtract(one)
    assert totals_of(fleet, N1) == replace(NOTHING_HELD, quarantined=frozenset({GPU_A}))
    fleet.subtract(other)
    assert totals_of(fleet, N1) == NOTHING_HELD


@pytest.mark.parametrize(
    ("named", "hides", "closures"),
    [
        ((), True, 1),
        ((GPU_Z,), True, 1),
        ((GPU_Z, GPU_A), True, 0),
        ((), False, 0),
        ((GPU_Z,), False, 0),
    ],
)
def test_a_node_is_closed_where_hidden_devices_are_named_by_none_of_its_cards(
    named: tuple[DeviceUUID, ...], closures: int, *, hides: bool
) -> None:
    """Named by nothing, or by cards that the node does not have."""
    fleet = fleet_of([node(N1, A)])
    holding = Holding(N1, {}, quarantined=named, hides=GPUS if hides else frozenset())
    fleet.add(holding)
    totals = totals_of(fleet, N1)
    assert totals is not None
    assert totals.closures == closures
    fleet.subtract(holding)
    assert totals_of(fleet, N1) == NOTHING_HELD


def test_a_node_that_is_put_again_has_what_is_passed_and_nothing_else() -> None:
    """Its former totals do not stay, its former cards neither."""
    fleet = fleet_of([node(N1, A)], [held(N1, {"GPU-a": Usage(1, 5_000)}, kubelet=1)])
    fleet.put(node(N1, B), [held(N1, {"GPU-b": Usage(2)}, kubelet=2)])
    assert totals_of(fleet, N1) == NodeTotals({GPU_B: Usage(2)}, frozenset(), 2, 0)


def test_a_freed_column_is_used_again_with_nothing_left_in_it() -> None:
    """Another node takes the place of one that is gone; all of it is new."""
    sick = card("GPU-s", is_healthy=False, is_cordoned=True, mode="mig", model="Old")
    fleet = fleet_of(
        [node(N1, sick, a100("GPU-t", index=1)), node(N2, A, a100("GPU-b", index=1))],
        [
            held(N1, {"GPU-s": Usage(5, 5_000, 50)}, kubelet=5),
            held(N1, {"GPU-t": Usage(1)}, slices={"GPU-t": (0, 2, 1)}),
            Holding(N1, {}, quarantined=(DeviceUUID("GPU-s"),)),
            Holding(N1, {}, hides=GPUS),
        ],
    )
    fleet.remove(N1)
    fleet.put(node(N3, card("GPU-c"), a100("GPU-d", index=1)), [])
    cards = cards_of(fleet, N3)
    (bucket,) = fleet.of(GPU)._buckets
    assert bucket.cards().node_count == 2
    assert totals_of(fleet, N3) == NodeTotals(
        {DeviceUUID("GPU-c"): Usage(), DeviceUUID("GPU-d"): Usage()}, frozenset(), 0, 0
    )
    assert not (cards.is_unhealthy | cards.is_cordoned).any()
    assert cards.is_mig[:, 0].tolist() == [False, True]
    assert not cards.held_slices().any()
    assert [
        cards.interned.models.by_code[code] for code in cards.model_codes[:, 0]
    ] == ["NVIDIA A10", "NVIDIA A100-SXM4-40GB"]
    assert cards.allocatable_slots.tolist() == [17]


def test_an_empty_column_has_no_cards() -> None:
    """It is judged with the others, quietly, and never asked for."""
    fleet = fleet_of([node(N1, A), node(N2, B)])
    fleet.remove(N1)
    (bucket,) = fleet.of(GPU)._buckets
    cards = bucket.cards()
    assert not cards.exists[:, 0].any()
    assert cards.card_counts[0] == 0
    assert cards.capacity[..., 0].sum() == 0
    assert place(cards, request(app())).fits.tolist() == [False, True]


def test_a_freed_column_tells_of_no_card() -> None:
    """Nothing can be counted there any more."""
    bucket = Bucket(1, Interned(), GPU)
    column = bucket.put(inventory_of(node(N1, A)))
    bucket.free(column)
    bucket.count(column, held(N1, {"GPU-a": Usage(1)}), 1)
    assert bucket.totals_at(column) == NodeTotals({}, frozenset(), 0, 0)
    assert not bucket.cards().used.any()


def test_buckets_grow_and_keep_what_they_have() -> None:
    """A hundred nodes of one card, each with its own totals."""
    fleet = Fleet()
    for number, name in enumerate(names(100)):
        holding = held(name, {"GPU-a": Usage(1, number)}, kubelet=number)
        fleet.put(node(name, card("GPU-a", memory=number + 1)), [holding])
    for number, name in enumerate(names(100)):
        totals = NodeTotals({GPU_A: Usage(1, number)}, frozenset(), number, 0)
        assert totals_of(fleet, name) == totals
    sizes = [cards_of(fleet, name).capacity[1, 0, 0] for name in names(100)]
    assert sizes == [number + 1 for number in range(100)]


@pytest.mark.parametrize(
    ("card_count", "width"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (64, 64)]
)
def test_nodes_are_padded_to_the_next_power_of_two(card_count: int, width: int) -> None:
    """So that one wide node costs the others nothing."""
    cards = [card(f"GPU-{index}", index=index) for index in range(card_count)]
    exists = cards_of(fleet_of([node(N1, *cards)]), N1).exists
    assert exists.shape == (width, 1)
    assert exists.sum() == card_count


def test_nodes_of_other_widths_each_have_their_own_cards() -> None:
    """In two buckets; an unknown node has none."""
    fleet = fleet_of([node(N1, A), node(N2, A, B), node(N3, B)])
    found = [uuids_of(cards_of(fleet, name)) for name in (N1, N2, N3)]
    assert found == [[GPU_A], [GPU_A, GPU_B], [GPU_B]]
    assert fleet.of(GPU).node(NodeName("n9")) is None


@pytest.mark.parametrize("asked", [1, 4, 5, 10])
def test_few_of_many_nodes_are_copied_out(asked: int) -> None:
    """Up to half of them; from half on, all are judged where they stand."""
    fleet = fleet_of([node(name, A) for name in names(10)])
    for number, name in enumerate(names(10)):
        fleet.add(held(name, {"GPU-a": Usage(1, number)}))
    (bucket,) = fleet.of(GPU)._buckets
    wanted = np.arange(10)[::-1][:asked]
    cards, columns = bucket.cards().narrowed(wanted)
    assert cards.used[1, 0, columns].tolist() == wanted.tolist()
    assert cards.node_count == (asked if asked < 5 else 10)


def test_a_holding_is_left_out_on_its_node_only() -> None:
    """And the fleet itself stays as it is."""
    own = Holding(
        N1, {GPU_A: Usage(1, 5_000, 10)}, {GPU: 3}, quarantined=(GPU_B,), hides=GPUS
    )
    fleet = fleet_of([node(N1, A, B), node(N2, A, B), node(N3, A)], [own])
    fleet.add(held(N2, {"GPU-a": Usage(1, 7_000)}))
    before = [totals_of(fleet, name) for name in (N1, N2, N3)]
    seen = [cards_of(fleet, name, own) for name in (N1, N2, N3)]
    assert [cards.used[1].sum() for cards in seen] == [0, 7_000, 0]
    assert [cards.kubelet_slots[0] for cards in seen] == [0, 0, 0]
    assert not any(cards.quarantines.any() for cards in seen)
    assert [totals_of(fleet, name) for name in (N1, N2, N3)] == before


def test_what_is_seen_of_a_bucket_cannot_be_written() -> None:
    """The fleet alone changes its totals."""
    (bucket,) = fleet_of([node(N1, A)]).of(GPU)._buckets
    for array in bucket.cards().arrays().values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_what_is_written_into_a_copy_stays_there() -> None:
    """The cards of one node are the caller's own."""
    fleet = fleet_of([node(N1, A)])
    for array in cards_of(fleet, N1).arrays().values():
        array[...] = 1
    assert totals_of(fleet, N1) == NOTHING_HELD


def test_a_closure_is_left_out_on_its_node_only() -> None:
    """The node is open for the pod that closes it, and for nobody else."""
    own = Holding(N1, {}, hides=GPUS)
    fleet = fleet_of([node(N1, A), node(N2, A)], [own])
    without = [cards_of(fleet, name, own).closures.tolist() for name in (N1, N2)]
    unchanged = [cards_of(fleet, name).closures.tolist() for name in (N1, N2)]
    assert (without, unchanged) == ([[0], [0]], [[1], [0]])


def test_holdings_are_counted_besides_for_one_question_only() -> None:
    """Together with one that is left out; on unknown nodes they count nowhere."""
    own = held(N1, {"GPU-a": Usage(1, 5_000)})
    fleet = fleet_of([node(N1, A), node(N2, A)], [own])
    coming = [
        held(N1, {"GPU-a": Usage(1, 100)}),
        held(N1, {"GPU-a": Usage(1, 10)}),
        held(N2, {"GPU-a": Usage(1, 1)}),
        held(N3, {"GPU-a": Usage(1, 9_000)}),
    ]
    before = [totals_of(fleet, name) for name in (N1, N2)]
    seen = [cards_of(fleet, name, own, coming) for name in (N1, N2)]
    assert [cards.used[1, 0].tolist() for cards in seen] == [[110], [1]]
    assert fleet.of(GPU).node(N3, own, coming) is None
    assert [totals_of(fleet, name) for name in (N1, N2)] == before


def test_a_node_without_cards_that_count_says_why() -> None:
    """Unknown, unregistered, silent, unreadable; nothing to say of a good one."""
    fleet = fleet_of(
        [
            node(N1, A),
            with_inventory(node(N2, A), allocatable_slots=0),
            with_inventory(node(N3, A), problem="no JSON"),
        ]
    )
    assert [
        fleet.of(GPU).why_unusable(name) for name in (N1, N2, N3, NodeName("n9"))
    ] == [
        None,
        Reason.NODE_UNREGISTERED,
        Reason.NODE_REGISTRATION_UNREADABLE,
        Reason.NODE_UNREGISTERED,
    ]


def test_a_node_that_goes_is_forgotten_and_may_go_again() -> None:
    """Also one that had no cards; the reason is then that it is unknown."""
    fleet = fleet_of([node(N1, A), with_inventory(node(N2, A), problem="no JSON")])
    for name in (N1, N2, N1, N3):
        fleet.remove(name)
        assert totals_of(fleet, name) is None
        assert fleet.of(GPU).why_unusable(name) is Reason.NODE_UNREGISTERED
        assert fleet.of(GPU).node(name) is None


def test_a_node_may_lose_its_cards_and_have_them_back() -> None:
    """In between it is unregistered, and what is held there is passed again."""
    fleet, holding = fleet_of([node(N1, A)]), held(N1, {"GPU-a": Usage(1, 20_000)})
    fleet.add(holding)
    fleet.put(with_inventory(node(N1), devices=None), [holding])
    assert totals_of(fleet, N1) is None
    assert fleet.of(GPU).why_unusable(N1) is Reason.NODE_UNREGISTERED
    fleet.put(node(N1, A), [holding])
    assert totals_of(fleet, N1) == replace(NOTHING_HELD, used={GPU_A: Usage(1, 20_000)})


def test_cards_stand_by_index_then_uuid() -> None:
    """Whatever the order in which the node lists them."""
    listed = [card("GPU-c", index=1), card("GPU-b", index=2), card("GPU-a", index=2)]
    found = uuids_of(cards_of(fleet_of([node(N1, *listed)]), N1))
    assert found == ["GPU-c", "GPU-a", "GPU-b"]
