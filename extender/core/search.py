"""Search an assignment of one node's cards to a pod's containers.

To choose card by card, by the policy alone, may spoil the only card that a later
container fits on. The search tries the sets of cards of each container in the policy's
order, and goes back where a later container finds too few. So it ends at the
assignment that comes first by the policy among those that fit; where nothing has to be
taken back, that is the one that choosing alone gives.

Cards of one kind and state are interchangeable, so that only one of equal sets is
tried; and what cards are left in which state decides what the rest of the pod can do,
so that a dead end is met only once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from extender.core.budget import OutOfSteps, StepBudget
from extender.core.card_states import CardStates, Wanted
from extender.core.enough import Enough
from extender.core.neighbours import rows_among

_CODE_BITS: Final = 40
_CODE: Final = (1 << _CODE_BITS) - 1
"""Of a card's code in a path; the bits above say which inits it would have served."""

_Cards = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which cards each container takes.

    Attributes:
        cards: Per container that asks, in start order: positions on the node.
        codes: Per container that asks: all cards' codes at its turn, without it.
        last: All cards' codes with all sidecars and apps in place.
    """

    cards: Sequence[_Cards]
    codes: Sequence[Sequence[int]]
    last: Sequence[int]


class Search:
    """Searches nodes one by one, and keeps what they have in common."""

    def __init__(
        self, states: CardStates, budget: StepBudget, most_mib: int | None = None
    ) -> None:
        """Search with the rules' answers and so many steps.

        Args:
            states: The rules' answers.
            budget: Of steps.
            most_mib: What the pod may hold at one time, on all cards together.
        """
        self.states = states
        self._most_mib = most_mib
        self._budget = budget
        self._enough = Enough(states.wants.containers)
        self._dead: set[tuple[int, ...]] = set()

    def assign(self, kinds: Sequence[int]) -> Assignment | None:
        """Find the first assignment by the pod's policy.

        Args:
            kinds: Of the node's cards, by position.

        Returns:
            An assignment; None where there is none.

        Raises:
            OutOfSteps: Neither was found in the steps that one node may take.
        """
        if self._budget.left > 0 and not self.states.may_hold_all(kinds):
            self._budget.take(1)
            return None
        return self._run(kinds, self._dead)

    def assign_with_fewest_cards(
        self, kinds: Sequence[int], fewer_than: int
    ) -> Assignment | None:
        """Find the first assignment that has the fewest cards for inits only.

        Args:
            kinds: Of the node's cards, by position.
            fewer_than: How many such cards are too many.

        Returns:
            An assignment; None where there is none with fewer.

        Raises:
            OutOfSteps: As `assign`.
        """
        for most in range(fewer_than):
            found = self._run(kinds, set(), most)
            if found is not None:
                return found
        return None

    def _run(
        self,
        kinds: Sequence[int],
        dead: set[tuple[int, ...]],
        most_extra: int | None = None,
    ) -> Assignment | None:
        steps = min(self._budget.per_node, self._budget.left)
        run = _Run(self.states, kinds, self._enough, steps, self._most_mib)
        try:
            return run.assign(dead, most_extra)
        finally:
            self._budget.take(run.steps)


class _Run:
    """One walk through the assignments of one node."""

    def __init__(
        self,
        states: CardStates,
        kinds: Sequence[int],
        enough: Enough,
        most_steps: int,
        most_mib: int | None,
    ) -> None:
        self.steps = 0
        self._most_mib = most_mib
        self._kinds, self._states = kinds, states
        self._most_steps = most_steps
        self._wanted = states.wants.containers
        self._allowed = states.allowed
        self._order = states.order
        self._enough = enough
        self._first = [kind * states.wants.state_count for kind in kinds]
        self._ranks = [states.numa_ranks[kind] for kind in kinds]
        request = states.wants.request
        self._is_at_one = request.device_policy.on_one_numa_node
        self._in_rows = request.wants_neighbours
        self._is_ring = self._in_rows and states.is_in_ring[kinds[0]]
        self._chosen: list[_Cards] = [()] * len(self._wanted)
        self._before: list[list[int]] = [self._first] * (len(self._wanted) + 1)
        self._dead: set[tuple[int, ...]] = set()
        self._most_extra: int | None = None
        self._extra: frozenset[int] = frozenset()

    def assign(
        self, dead: set[tuple[int, ...]], most_extra: int | None
    ) -> Assignment | None:
        """Walk.

        Args:
            dead: States of cards from which the rest of the pod does not fit; added to.
            most_extra: How many cards there may be that only inits hold.
        """
        self._dead, self._most_extra = dead, most_extra
        return self._assignment() if self._descend(0, self._first) else None

    def _descend(self, at: int, codes: list[int]) -> bool:
        """Place the containers from `at` on; True where all of them fit."""
        self._take_step()
        self._before[at] = codes
        if self._most_mib is not None and self._left_mib(codes) < 0:
            return False
        if at == len(self._wanted):
            return self._has_few_extra(codes)
        state = (at, *sorted(codes))
        if state in self._dead:
            return False
        if self._may_serve_rest(at, codes) and self._place(at, codes):
            return True
        self._dead.add(state)
        return False

    def _take_step(self) -> None:
        if self.steps >= self._most_steps:
            raise OutOfSteps
        self.steps += 1

    def _may_serve_rest(self, at: int, codes: list[int]) -> bool:
        """Tell whether each container that is left finds enough cards by itself.

        More is held later on, and no rule allows more then.
        """
        if self._most_extra is not None:
            codes = [code & _CODE for code in codes]
        if not self._enough.is_for_all(at, map(self._allowed.__getitem__, codes)):
            return False
        return not (self._is_at_one or self._in_rows) or all(
            self._is_enough(one, self._serving(one, codes)) for one in self._wanted[at:]
        )

    def _is_enough(self, one: Wanted, serving: Sequence[int]) -> bool:
        if len(serving) < one.count:
            return False
        if self._in_rows and one.count > 1:
            return bool(self._rows(one, serving))
        if not self._is_at_one or one.count == 1:
            return True
        ranks = [self._ranks[card] for card in serving]
        return any(ranks.count(rank) >= one.count for rank in set(ranks))

    def _rows(self, one: Wanted, serving: Sequence[int]) -> list[_Cards]:
        """List the rows of neighbours among cards, the first on the node first."""
        rows = rows_among(set(serving), one.count, is_ring=self._is_ring)
        return [tuple(row) for row in rows]

    def _place(self, at: int, codes: list[int]) -> bool:
        one = self._wanted[at]
        if one.is_init:
            if self._most_mib is not None and self._cheapest(one, codes) is None:
                return False
            return self._descend(at + 1, self._marked(one, at, codes))
        for cards in self._choices(one, codes):
            after = codes.copy()
            for card in cards:
                after[card] += one.stride
            if self._descend(at + 1, after):
                self._chosen[at] = cards
                return True
        return False

    def _marked(self, one: Wanted, at: int, codes: list[int]) -> list[int]:
        """Note which cards would serve an init, where it counts later on."""
        if self._most_extra is None:
            return codes
        mark = 1 << (_CODE_BITS + at)
        return [
            code | mark if self._allowed[code & _CODE] & one.bit else code
            for code in codes
        ]

    def _choices(self, one: Wanted, codes: list[int]) -> Iterator[_Cards]:
        """List the sets of cards for one container that differ, in policy order."""
        serving = self._in_order(self._serving(one, codes), codes)
        if self._in_rows and one.count > 1:
            yield from self._rows(one, serving)
            return
        for cards in self._numa_groups(one, serving):
            alike: dict[int, list[int]] = {}
            for card in cards:
                alike.setdefault(codes[card], []).append(card)
            if one.count == 1:
                yield from ((first,) for first, *_ in alike.values())
            else:
                yield from _selections(list(alike.values()), one.count)

    def _serving(self, one: Wanted, codes: list[int]) -> list[int]:
        allowed, bit = self._allowed, one.bit
        return [card for card, code in enumerate(codes) if allowed[code & _CODE] & bit]

    def _in_order(self, cards: list[int], codes: list[int]) -> list[int]:
        """Sort by the policy; equal ones stay in card order."""
        order = self._order
        return sorted(cards, key=lambda card: order[codes[card] & _CODE])

    def _numa_groups(self, one: Wanted, cards: list[int]) -> list[list[int]]:
        """Part cards by NUMA node where all must be of one; those with enough."""
        if not self._is_at_one or one.count == 1:
            return [cards]
        ranks = dict.fromkeys(self._ranks[card] for card in cards)
        groups = [
            [card for card in cards if self._ranks[card] == each] for each in ranks
        ]
        return [group for group in groups if len(group) >= one.count]

    def _has_few_extra(self, codes: list[int]) -> bool:
        """Find few cards that, with those held anyway, serve all inits."""
        if self._most_extra is None:
            return True
        held = self._held(codes)
        others = [card for card in range(len(codes)) if card not in held]
        for size in range(self._most_extra + 1):
            for extra in combinations(self._in_order(others, codes), size):
                self._take_step()
                if self._inits_fit_on(held.union(extra)):
                    self._extra = frozenset(extra)
                    return True
        return False

    def _held(self, codes: list[int]) -> frozenset[int]:
        pairs = enumerate(zip(codes, self._first, strict=True))
        return frozenset(card for card, (code, first) in pairs if code & _CODE != first)

    def _inits_fit_on(self, cards: frozenset[int]) -> bool:
        return all(
            self._is_enough(
                one, sorted(cards.intersection(self._serving(one, self._before[at])))
            )
            for at, one in enumerate(self._wanted)
            if one.is_init
        )

    def _assignment(self) -> Assignment:
        preferred = set(self._held(self._before[-1]) | self._extra)
        codes: list[list[int]] = []
        for at, one in enumerate(self._wanted):
            before = [code & _CODE for code in self._before[at]]
            if one.is_init:
                self._chosen[at] = self._cards_of_init(one, before, preferred)
                preferred.update(self._chosen[at])
            codes.append(before)
        return Assignment(
            self._chosen, codes, [code & _CODE for code in self._before[-1]]
        )

    def _cards_of_init(
        self, one: Wanted, codes: list[int], preferred: set[int]
    ) -> _Cards:
        """Choose preferred cards alone where they do, or else those first."""
        serving = self._in_order(self._serving(one, codes), codes)
        if self._in_rows and one.count > 1:
            rows = self._rows(one, serving)
            return max(rows, key=lambda row: len(preferred.intersection(row)))
        inside = [card for card in serving if card in preferred]
        if not self._is_enough(one, inside):
            inside += [card for card in serving if card not in preferred]
        cards = tuple(self._numa_groups(one, inside)[0][: one.count])
        if self._most_mib is not None and self._costs(one, cards) > self._left_mib(
            codes
        ):
            return self._cheapest(one, codes) or cards
        return cards

    # What the pod may hold at one time. How much that is follows from the cards' codes,
    # so that a dead end is one by this, too, whichever way led to it.

    def _left_mib(self, codes: Sequence[int]) -> int:
        pod_mib = self._states.pod_mib
        held_mib = sum(pod_mib[code & _CODE] for code in codes)
        return (self._most_mib or 0) - held_mib

    def _costs(self, one: Wanted, cards: Iterable[int]) -> int:
        of_kind = self._states.needed_mib[one.bit.bit_length() - 1]
        return sum(of_kind[self._kinds[card]] for card in cards)

    def _cheapest(self, one: Wanted, codes: list[int]) -> _Cards | None:
        """Give the cards that cost an init least; None where they cost too much."""
        of_kind = self._states.needed_mib[one.bit.bit_length() - 1]
        serving = self._in_order(self._serving(one, codes), codes)
        serving.sort(key=lambda card: of_kind[self._kinds[card]])
        groups = [
            tuple(group[: one.count])
            for group in self._numa_groups(one, serving)
            if len(group) >= one.count
        ]
        cards = min(groups, key=lambda group: self._costs(one, group), default=None)
        if cards is None or self._costs(one, cards) > self._left_mib(codes):
            return None
        return cards


def _selections(groups: Sequence[list[int]], count: int) -> Iterator[_Cards]:
    """List the ways to take `count` cards from groups of equal ones; there are enough.

    Example:
        >>> list(_selections([[0, 2], [1]], 2))
        [(0, 2), (0, 1)]
    """
    if not count:
        yield ()
        return
    first, rest = groups[0], groups[1:]
    left_over = sum(map(len, rest))
    for taken in range(min(count, len(first)), max(count - left_over, 0) - 1, -1):
        for others in _selections(rest, count - taken):
            yield (*first[:taken], *others)
