"""Which nodes are searched as one."""

from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from extender.core.bucket import Bucket
from extender.core.cards import Interned
from extender.core.container import Lifetime
from extender.core.equal_nodes import _WEIGHTS, card_fields, first_of_equal
from extender.core.node import Device, Inventory
from extender.core.pod_request import ContainerRequest
from extender.core.profiles import CardProfile, CardProfiles, ProfileWish
from extender.core.usage import Usage
from extender.verbs.filter import filter_nodes
from tests.values import GPU, N1, N2, Asked, card, fleet_of, node, pod, request


def profiles(small: int, large: int) -> CardProfiles:
    """Make profiles of 6 and 20 GB, with so many slots."""
    return (
        CardProfile("small", "0", small, 6_144, 10),
        CardProfile("large", "1", large, 20_480, 30),
    )


PLAIN: Final = card("GPU-0")
PARTED: Final = replace(PLAIN, profiles=profiles(2, 5))

DIFFERENT: Final = {
    "slots": (PLAIN, card("GPU-0", slots=9)),
    "memory": (PLAIN, card("GPU-0", memory=23_000)),
    "cores": (PLAIN, card("GPU-0", cores=99)),
    "units that go together": (PLAIN, replace(PLAIN, core_step=2)),
    "profiles": (PARTED, replace(PLAIN, profiles=profiles(2, 4))),
    "profiles, or none": (PARTED, PLAIN),
}


def groups_of(*nodes: Device) -> list[int]:
    """Group nodes of one card."""
    bucket = Bucket(1, Interned(), GPU)
    columns = [bucket.put(Inventory((each,), 10)) for each in nodes]
    cards = bucket.cards()
    fields = card_fields(cards, cards.exists, np.array(columns))
    _, group_of = first_of_equal(fields)
    found: list[int] = group_of.tolist()
    return found


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_cards_that_differ_make_other_nodes(one: Device, other: Device) -> None:
    """In anything by which a card may hold other containers."""
    assert groups_of(one, other, one) == [0, 1, 0]


def test_names_of_cards_make_no_other_nodes() -> None:
    """What is open for a pod is told besides."""
    assert groups_of(PLAIN, card("GPU-9", model="NVIDIA A30")) == [0, 0]


def test_a_way_on_one_node_is_none_on_another_with_other_profiles() -> None:
    """Both have 12 slots; two small parts and a large one fit on one of both alone.

    Card by card, the small ones are spread, and leave no card for the large one.
    """
    capacity = Usage(6, 48_000, 102)
    first, second = (
        [
            replace(card(f"GPU-{index}", index=index), capacity=capacity, profiles=each)
            for index in range(2)
        ]
        for each in (profiles(2, 5), profiles(4, 4))
    )
    fleet = fleet_of([node(N1, *first), node(N2, *second)])
    wanted = request(
        *[
            Asked(
                Lifetime.APP,
                ContainerRequest(1, 0, 0, 0, profile=ProfileWish(memory=memory)),
            )
            for memory in (6, 6, 20)
        ]
    )
    decision = filter_nodes(fleet, pod("p", wanted), [N1, N2], None)
    assert decision.fitting == [N1]


def test_nodes_are_grouped_though_numbers_for_them_were_the_same() -> None:
    """Numbers that are the same by chance cannot make one node of two."""
    first, second = _WEIGHTS[:2].tolist()
    as_signed = np.array([first, second], np.uint64).astype(np.int64).tolist()
    fields = np.array([[[as_signed[1], 0]], [[0, as_signed[0]]]], np.int64)
    groups, group_of = first_of_equal(fields)
    assert groups.tolist() == [0, 1]
    assert group_of.tolist() == [0, 1]
