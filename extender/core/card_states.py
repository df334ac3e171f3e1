"""What each kind of card says to each container, whatever part of a pod it holds.

The search asks the rules the same question again and again. So they are asked once,
for all cards that differ and for every part of the pod that a card can come to hold,
in a few vector operations; then an answer is one look-up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Final

import numpy as np

from extender.core.arrays import CORES, MEMORY, SLOTS, Int64s, Mask
from extender.core.cards import Cards
from extender.core.container import Lifetime
from extender.core.needs import share_needed
from extender.core.neighbours import is_in_ring
from extender.core.pod_request import ContainerRequest, PodRequest
from extender.core.policies import card_order
from extender.core.rules import Trial, passing

_CELLS_PER_STEP: Final = 500
"""Answers that cost as much as one step of the search."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One container that asks for cards.

    Attributes:
        index: In start order among all of the pod.
        bit: Of its answer; equal requests share one.
        count: Cards.
        stride: What a card's state rises by when it holds the container; 0 for an
            init, which holds it only while it runs.
        is_init: Whether it is one.
    """

    index: int
    bit: int
    count: int
    stride: int
    is_init: bool


class Wants:
    """A pod's containers that ask for cards, in start order, and what they add up to.

    A card's state is one whole number that tells how many of each distinct request it
    holds of the pod's sidecars and apps: the digits of a number of mixed radix. State
    0 is the card before the pod comes.

    Example:
        Two apps of 8 GiB and a sidecar of 2 GiB, in the order sidecar, app, app: a card
        has 2 * 3 = 6 states. The sidecar adds 1 and each app 2, so that state 5 is
        the card that holds all three.
    """

    def __init__(self, request: PodRequest) -> None:
        self.request = request
        asking = [
            (index, asked, lifetime is Lifetime.INIT)
            for index, (asked, lifetime) in enumerate(
                zip(request.containers, request.lifetimes, strict=True)
            )
            if asked.count
        ]
        on_one = [_of_one_card(asked) for _, asked, _ in asking]
        self.distinct = list(dict.fromkeys(on_one))
        steady = [
            one for one, (_, _, init) in zip(on_one, asking, strict=True) if not init
        ]
        self.totals = [steady.count(each) for each in self.distinct]
        self.strides = [
            prod(total + 1 for total in self.totals[:place])
            for place in range(len(self.totals))
        ]
        self.state_count = prod(total + 1 for total in self.totals)
        place_of = {each: place for place, each in enumerate(self.distinct)}
        self.containers = [
            Wanted(
                index,
                1 << place_of[_of_one_card(asked)],
                asked.count,
                0 if init else self.strides[place_of[_of_one_card(asked)]],
                init,
            )
            for index, asked, init in asking
        ]

    @cached_property
    def held(self) -> Int64s:
        """How many of each request are held: int64 (R, S), by request and state."""
        states = np.arange(self.state_count)
        digits = [
            states // stride % (total + 1)
            for stride, total in zip(self.strides, self.totals, strict=True)
        ]
        return np.array(digits, np.int64).reshape(len(self.distinct), -1)

    @cached_property
    def weights(self) -> Int64s:
        """Sizes by which containers are compared: int64 (4, R).

        Any would do, see `CardStates.most_held`. These are one each, MiB, percent of
        memory and percent of cores.
        """
        sizes = [
            (1, each.memory_mib or 0, each.memory_percent, each.core_percent)
            for each in self.distinct
        ]
        return np.array(sizes, np.int64).T

    @cached_property
    def weight_wanted(self) -> list[int]:
        """What sidecars and apps weigh on all of their cards together, per weight."""
        counts = np.zeros(len(self.distinct), np.int64)
        for one in self.containers:
            if not one.is_init:
                counts[one.bit.bit_length() - 1] += one.count
        weights: list[int] = (self.weights @ counts).tolist()
        return weights

    def cells_of(self, kinds: int) -> int:
        """Count the answers that the rules give for so many kinds of card."""
        return kinds * self.state_count * len(self.distinct)

    def steps_of(self, kinds: int) -> int:
        """Tell how many steps it counts as to ask the rules for so many kinds."""
        return self.cells_of(kinds) // _CELLS_PER_STEP


def _of_one_card(asked: ContainerRequest) -> ContainerRequest:
    """Leave out the number of cards: no rule of a card looks at it."""
    return replace(asked, count=1)


class CardStates:
    """The rules' answers, by code: kind of card times number of states, plus state.

    Attributes:
        allowed: Bit by bit, which containers a card would serve in that state.
        order: By the pod's policy; the lowest is tried first.
        pod_mib: MiB of the pod that a card holds in that state.
        needed_mib: By the place of a container's bit, and kind: MiB that it needs.
        numa_ranks: By kind, not by code.
        is_in_ring: By kind; told only where cards must stand in a row.
        most_held: Per weight and kind; the most that a card of the kind can come to
            hold of the pod's sidecars and apps. They do not fit on a node whose cards
            together hold less than these weigh: true of any weights.
    """

    def __init__(self, wants: Wants) -> None:
        self.wants = wants
        self.allowed: list[int] = []
        self.order: list[float] = []
        self.pod_mib: list[int] = []
        self.needed_mib: list[list[int]] = [[] for _ in wants.distinct]
        self.numa_ranks: list[int] = []
        self.is_in_ring: list[bool] = []
        self.most_held: list[list[int]] = [[] for _ in wants.weights]
        self._used: list[Int64s] = []

    def used(self, code: int) -> Int64s:
        """Tell what is held on a card: int64 (3,)."""
        kind, state = divmod(code, self.wants.state_count)
        return self._used[kind][:, state]

    def add(self, cards: Cards, is_open: Mask) -> None:
        """Ask the rules about new kinds of card.

        Args:
            cards: One of each new kind, each in a column of its own.
            is_open: bool (D,); whether no rule refuses it whatever its use.
        """
        wants, policy = self.wants, self.wants.request.device_policy
        seen = cards.repeated(wants.state_count)
        used = seen.used
        allowed = np.zeros(seen.exists.shape, np.int64)
        needs = [share_needed(seen, asked) for asked in wants.distinct]
        for held, needed in zip(wants.held[..., np.newaxis], needs, strict=True):
            used[SLOTS] += held * needed.slots
            used[MEMORY] += held * needed.memory_mib
            used[CORES] += held * needed.cores
        all_open = np.broadcast_to(is_open, seen.exists.shape)
        for place, (asked, needed) in enumerate(
            zip(wants.distinct, needs, strict=True)
        ):
            trial = Trial(seen, used, asked, policy, needed)
            allowed |= passing(trial, all_open).astype(np.int64) << place
        self.allowed += allowed.T.ravel().tolist()
        self.order += card_order(seen, used, policy).T.ravel().tolist()
        self.pod_mib += (used[MEMORY] - used[MEMORY, 0]).T.ravel().tolist()
        for of_one, needed in zip(self.needed_mib, needs, strict=True):
            of_one.extend(needed.memory_mib[0].tolist())
        self.numa_ranks += cards.numa_ranks[0].tolist()
        if wants.request.wants_neighbours:
            self.is_in_ring += is_in_ring(cards).tolist()
        self._used += list(np.moveaxis(used, 2, 0))
        self._note_most_held(allowed)

    def _note_most_held(self, allowed: Int64s) -> None:
        """Walk over the states that a card can come to, container by container."""
        can_be = np.zeros(allowed.shape, np.bool_)
        can_be[0] = True
        for one in self.wants.containers:
            if not one.is_init:
                before = can_be[: -one.stride] & (allowed[: -one.stride] & one.bit > 0)
                can_be[one.stride :] |= before
        weighed = self.wants.weights @ self.wants.held
        for most_held, weight in zip(self.most_held, weighed, strict=True):
            most = np.where(can_be, weight[:, np.newaxis], 0).max(axis=0)
            most_held.extend(most.tolist())

    def may_hold_all(self, kinds: Sequence[int]) -> bool:
        """Tell whether cards of these kinds could hold the sidecars and apps by weight.

        False is certain; True is not.
        """
        return all(
            sum(map(most.__getitem__, kinds)) >= wanted
            for most, wanted in zip(
                self.most_held, self.wants.weight_wanted, strict=True
            )
        )
