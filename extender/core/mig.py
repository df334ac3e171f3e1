"""Cards in MIG mode: what each can be cut into, and where there is room for it.

Such a card has slices. Each profile that it offers takes some of them, at one of the
places that the driver allows; an instance is a profile at a place. Two instances never
share a slice, and none is moved.

What is held of a card is a set of slices, of which there are few: so for each set it is
worked out once which instance comes next, and many cards are looked up at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.arrays import Int32s, Int64s

MIG_MODE: Final = "mig"
"""Mode word of a card that is cut into instances as pods come and go."""

MIG_SLICES: Final = 16
"""More than any card has: 12 is the most so far. Tables have an entry per set."""

_FROM_THE_END: Final = ("1g.", "3g.")
"""Profiles that go to the highest place that is free, so that large ones stay whole."""

NO_INSTANCE: Final = -1


@dataclass(frozen=True, slots=True)
class MigPlacement:
    """The slices that an instance takes: `size` of them, from `start` on."""

    start: int
    size: int

    @property
    def bits(self) -> int:
        """Give one bit per slice.

        Example:
            >>> bin(MigPlacement(start=4, size=2).bits)
            '0b110000'
        """
        return ((1 << self.size) - 1) << self.start


@dataclass(frozen=True, slots=True)
class MigInstance:
    """A part of a card, cut out for one container and its own until the pod ends."""

    profile: str
    placement: MigPlacement


@dataclass(frozen=True, slots=True)
class MigProfile:
    """A kind of instance that a card can be cut into.

    Attributes:
        name: As NVIDIA writes it, such as ``1g.5gb``.
        memory_mib: Of one instance.
        core_percent: Of the card's compute, for one instance.
        slice_count: Orders profiles of equal memory.
        placements: Where an instance may be.
    """

    name: str
    memory_mib: int
    core_percent: int
    slice_count: int
    placements: tuple[MigPlacement, ...]


MigProfiles = tuple[MigProfile, ...]


def instances_in_order(
    profiles: Sequence[MigProfile],
) -> list[tuple[MigProfile, MigPlacement]]:
    """List every instance of a card, the one to prefer first.

    The profile with the least memory comes first, then the one with the fewest slices.
    Profiles called ``1g.`` and ``3g.`` go to the highest place, others to the lowest.

    Source: HAMi v2.10, which takes the first that has room and enough memory.

    Example:
        >>> small = MigProfile("1g.5gb", 4864, 15, 1, (MigPlacement(0, 1),
        ...     MigPlacement(1, 1)))
        >>> [place.start for _, place in instances_in_order([small])]
        [1, 0]
    """
    return [
        (profile, placement)
        for profile in sorted(profiles, key=lambda p: (p.memory_mib, p.slice_count))
        for placement in sorted(
            profile.placements,
            key=lambda place: place.start,
            reverse=profile.name.startswith(_FROM_THE_END),
        )
    ]


class MigTable:
    """All that cards of one kind can be cut into, as a table over what is held.

    Attributes:
        instances: In order of preference.
        bits: int64 (K,); the slices of each.
        memory_mib: int64 (K,); of each.
        core_percent: int64 (K,); of each.
        largest_mib: The most memory that one instance has; 0 without any.
    """

    def __init__(self, profiles: MigProfiles) -> None:
        self.instances = instances_in_order(profiles)
        self.bits = _int64s([place.bits for _, place in self.instances])
        self.memory_mib = _int64s([one.memory_mib for one, _ in self.instances])
        self.core_percent = _int64s([one.core_percent for one, _ in self.instances])
        self.largest_mib = int(self.memory_mib.max(initial=0))
        ends = [place.start + place.size for _, place in self.instances]
        self._set_count = 1 << max(ends, default=0)
        self._next: dict[bytes, Int64s] = {}

    def next_instances(
        self, held: Int64s, memory_mib: int, core_percent: int
    ) -> Int64s:
        """Choose an instance with enough memory and compute beside what is held.

        Args:
            held: int64 (C,); the slices that are held of each card, as bits.
            memory_mib: What is asked, at least.
            core_percent: What is asked, at least.

        Returns:
            int64 (C,); number of the instance, or `NO_INSTANCE`.
        """
        is_enough = self.memory_mib >= memory_mib
        is_enough &= self.core_percent >= core_percent
        key = is_enough.tobytes()
        by_held = self._next.get(key)
        if by_held is None:
            by_held = self._next[key] = self._worked_out(is_enough.nonzero()[0])
        found: Int64s = by_held[held & (self._set_count - 1)]
        return found

    def _worked_out(self, numbers: Int64s) -> Int64s:
        """Give, for every set of slices, the first of some instances with room."""
        every_set = np.arange(self._set_count)
        first = np.full(self._set_count, NO_INSTANCE, np.int64)
        for number in reversed(numbers.tolist()):
            first[every_set & self.bits[number] == 0] = number
        return first


class MigTables:
    """The tables of all kinds of card, by number from 1; 0 is not in MIG mode."""

    def __init__(self) -> None:
        self.by_code: list[MigTable] = [MigTable(())]
        self._code_of: dict[MigProfiles, int] = {}

    def code(self, profiles: MigProfiles) -> int:
        """Give the number of a kind of card; one that is new gets the next."""
        code = self._code_of.get(profiles)
        if code is None:
            code = self._code_of[profiles] = len(self.by_code)
            self.by_code.append(MigTable(profiles))
        return code

    def largest_mib(self, codes: Int32s) -> Int64s:
        """Give the most memory that one instance of each card has."""
        return _int64s([table.largest_mib for table in self.by_code])[codes]


@dataclass(frozen=True, slots=True)
class MigOffers:
    """The instance that each card would give to one request; all int64 (W, N).

    Attributes:
        numbers: Among the instances of the card's table; `NO_INSTANCE` where there is
            none, or the card is not in MIG mode.
        bits: Its slices; 0 where there is none, as in the others.
        memory_mib: Its memory.
        core_percent: Its compute.
    """

    numbers: Int64s
    bits: Int64s
    memory_mib: Int64s
    core_percent: Int64s


def mig_offers(
    tables: MigTables,
    codes: Int32s,
    held: Int64s,
    *,
    memory_mib: Int64s,
    free_mib: Int64s,
    core_percent: int,
) -> MigOffers:
    """Look up what each card would give.

    Args:
        tables: Of all kinds of card.
        codes: int32 (W, N); each card's kind, 0 where it is not in MIG mode.
        held: int64 (W, N); the slices that are held, as bits.
        memory_mib: int64 (W, N); what is asked of each.
        free_mib: int64 (W, N); what the card has left by its own count.
        core_percent: What is asked of each.
    """
    numbers = np.full(codes.shape, NO_INSTANCE, np.int64)
    bits, memory, cores = (np.zeros(codes.shape, np.int64) for _ in range(3))
    for code in np.unique(codes[codes > 0]).tolist():
        table = tables.by_code[code]
        of_kind = codes == code
        for asked in np.unique(memory_mib[of_kind]).tolist():
            at = of_kind & (memory_mib == asked)
            found = table.next_instances(held[at], asked, core_percent)
            is_some = found != NO_INSTANCE
            is_some[is_some] = table.memory_mib[found[is_some]] <= free_mib[at][is_some]
            found = np.where(is_some, found, NO_INSTANCE)
            numbers[at] = found
            at[at] = is_some
            bits[at] = table.bits[found[is_some]]
            memory[at] = table.memory_mib[found[is_some]]
            cores[at] = table.core_percent[found[is_some]]
    return MigOffers(numbers, bits, memory, cores)


def held_slices(counts: Int32s) -> Int64s:
    """Tell which slices are held, as bits.

    Args:
        counts: int32 (`MIG_SLICES`, W, N); how many instances hold each slice.

    Returns:
        int64 (W, N).
    """
    weights = 1 << np.arange(len(counts), dtype=np.int64)
    held: Int64s = np.tensordot(weights, (counts > 0).astype(np.int64), axes=1)
    return held


def _int64s(values: Sequence[int]) -> Int64s:
    return np.array(values, np.int64)
