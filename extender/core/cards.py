"""Some nodes' cards as arrays."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from extender.core.arrays import (
    CORES,
    DIMENSIONS,
    MEMORY,
    SLOTS,
    Floats,
    Int32s,
    Int64s,
    Mask,
)
from extender.core.company import counted
from extender.core.holding import Holding
from extender.core.mig import MIG_SLICES, MigTable, MigTables, held_slices
from extender.core.names import DeviceUUID, KindWord
from extender.core.profiles import CardProfiles

_COPY_BELOW: Final = 2
"""Copy nodes out when fewer than one in so many is judged."""

_PER_DIMENSION: Final = {"capacity": np.int64, "used": np.int64, "divisors": np.float64}
_PER_CARD: Final = {
    "exists": np.bool_,
    "is_unhealthy": np.bool_,
    "is_cordoned": np.bool_,
    "quarantines": np.int32,
    "exclusive_pods": np.int32,
    "trait_counts": np.int64,
    "numa_ranks": np.int32,
    "mode_codes": np.int32,
    "model_codes": np.int32,
    "uuid_codes": np.int32,
    "mig_codes": np.int32,
    "core_steps": np.int32,
    "profile_codes": np.int32,
}
_PER_NODE: Final = {
    "card_counts": np.int64,
    "allocatable_slots": np.int64,
    "kubelet_slots": np.int64,
    "closures": np.int32,
}
_PER_SLICE: Final = {"slice_counts": np.int32}
_ARRAYS: Final = (*_PER_DIMENSION, *_PER_CARD, *_PER_NODE, *_PER_SLICE)
_USE: Final = (
    "used",
    "quarantines",
    "exclusive_pods",
    "trait_counts",
    "kubelet_slots",
    "closures",
    "slice_counts",
)

_Array = npt.NDArray[Any]
_Word = TypeVar("_Word", bound=Hashable)


class Words(Generic[_Word]):
    """Words as small numbers, from 1; 0 is padding. Append-only."""

    def __init__(self, padding: _Word) -> None:
        self.by_code: list[_Word] = [padding]
        self._code_of: dict[_Word, int] = {}

    @property
    def has_words(self) -> bool:
        """Whether there is any besides padding."""
        return len(self.by_code) > 1

    def code(self, word: _Word) -> int:
        """Give a word's number; one that is new gets the next."""
        code = self._code_of.get(word)
        if code is None:
            code = self._code_of[word] = len(self.by_code)
            self.by_code.append(word)
        return code

    def known(self, words: Iterable[_Word]) -> list[int]:
        """Give the numbers of those words that have one."""
        return [self._code_of[word] for word in words if word in self._code_of]

    def where(self, predicate: Callable[[_Word], bool]) -> Mask:
        """Ask of each word; bool, by number."""
        return np.array([predicate(word) for word in self.by_code], np.bool_)


class Interned:
    """UUIDs, types, modes and tables by small numbers; shared by all of a fleet."""

    def __init__(self) -> None:
        self.uuids = Words(DeviceUUID(""))
        self.models = Words("")
        self.modes = Words("")
        self.mig_tables = MigTables()
        self.profiles = Words[CardProfiles](())


@dataclass(frozen=True, slots=True)
class Change:
    """A holding that is added (`sign` 1) or taken back (-1).

    Attributes:
        column: The node's place.
        positions: The places of its cards.
        holding: Of one pod; devices that are not in `positions` are left out.
        sign: 1 or -1.
        kind: Of the cards.
    """

    column: int
    positions: Mapping[DeviceUUID, int]
    holding: Holding
    sign: int
    kind: KindWord


@dataclass(frozen=True, slots=True)
class Cards:
    """Cards of N nodes, padded to W cards a node.

    Cards of a node stand in order of (index, UUID), so that the first of equal cards
    is the one to prefer. The node axis is the last of every array.

    Attributes:
        capacity: int64 (3, W, N); slots, MiB, percent.
        divisors: float64 (3, W, N); the capacity, or infinity in all dimensions of a
            card that has none in some: its use ratios are all 0.
        used: int64 (3, W, N); what pods are charged; may exceed the capacity.
        exists: bool (W, N); False is padding.
        is_unhealthy: bool (W, N).
        is_cordoned: bool (W, N).
        quarantines: int32 (W, N); unreadable allocations that name the card.
        exclusive_pods: int32 (W, N); pods that hold the card and let nobody join.
        trait_counts: int64 (W, N); pods that hold the card, by what they are to others;
            see `extender.core.company`.
        numa_ranks: int32 (W, N); place of the card's NUMA node among its node's, from
            0, in the order of their numbers.
        mode_codes: int32 (W, N); number of the interned mode.
        model_codes: int32 (W, N); number of the interned type.
        uuid_codes: int32 (W, N); number of the interned UUID.
        mig_codes: int32 (W, N); number of the interned table of instances; 0 for a card
            that is not in MIG mode.
        core_steps: int32 (W, N); units of cores that are handed out together; 1 in
            padding.
        profile_codes: int32 (W, N); number of the interned profiles; 0 for a card that
            has none.
        card_counts: int64 (N,).
        allocatable_slots: int64 (N,); kubelet's device ids.
        kubelet_slots: int64 (N,); device ids that kubelet has set aside.
        closures: int32 (N,); unreadable allocations that name no card of the node.
        slice_counts: int32 (`MIG_SLICES`, W, N); how many instances hold each slice; or
            (0, W, N) where no node has cards in MIG mode, so that these cost others
            nothing.
        interned: UUIDs, types and modes by number; 0 is padding.
    """

    capacity: Int64s
    divisors: Floats
    used: Int64s
    exists: Mask
    is_unhealthy: Mask
    is_cordoned: Mask
    quarantines: Int32s
    exclusive_pods: Int32s
    trait_counts: Int64s
    numa_ranks: Int32s
    mode_codes: Int32s
    model_codes: Int32s
    uuid_codes: Int32s
    mig_codes: Int32s
    core_steps: Int32s
    profile_codes: Int32s
    card_counts: Int64s
    allocatable_slots: Int64s
    kubelet_slots: Int64s
    closures: Int32s
    slice_counts: Int32s
    interned: Interned

    @classmethod
    def blank(
        cls, width: int, node_count: int, interned: Interned, *, has_mig: bool = False
    ) -> "Cards":
        """Make room for nodes; every array is the caller's own."""
        slices = MIG_SLICES if has_mig else 0
        shapes = (
            (_PER_DIMENSION, (DIMENSIONS, width, node_count)),
            (_PER_CARD, (width, node_count)),
            (_PER_NODE, (node_count,)),
            (_PER_SLICE, (slices, width, node_count)),
        )
        arrays: dict[str, Any] = {
            name: np.zeros(shape, dtype)
            for layout, shape in shapes
            for name, dtype in layout.items()
        }
        arrays["divisors"][:] = np.inf
        arrays["core_steps"][:] = 1
        return cls(**arrays, interned=interned)

    @property
    def node_count(self) -> int:
        """N."""
        return int(self.exists.shape[1])

    @property
    def has_mig(self) -> bool:
        """Whether there is room for cards in MIG mode."""
        return len(self.slice_counts) > 0

    @property
    def is_mig(self) -> Mask:
        """Which cards are in MIG mode; bool (W, N)."""
        found: Mask = self.mig_codes > 0
        return found

    def held_slices(self) -> Int64s:
        """Tell which slices are held, as bits; int64 (W, N)."""
        return held_slices(self.slice_counts)

    def mig_table(self, position: int, column: int) -> MigTable:
        """Give what one card can be cut into."""
        code = int(self.mig_codes[position, column])
        return self.interned.mig_tables.by_code[code]

    def device_uuid(self, position: int, column: int) -> DeviceUUID:
        """Give one card's UUID."""
        return self.interned.uuids.by_code[int(self.uuid_codes[position, column])]

    def model(self, position: int, column: int) -> str:
        """Give one card's registered type."""
        return self.interned.models.by_code[int(self.model_codes[position, column])]

    def arrays(self) -> Mapping[str, _Array]:
        """List every array by its name."""
        return {name: getattr(self, name) for name in _ARRAYS}

    def of_nodes(self, columns: Int64s) -> "Cards":
        """Copy out the nodes at `columns`."""
        return self._mapped(_ARRAYS, lambda array: array[..., columns])

    def first_nodes(self, count: int) -> "Cards":
        """See the first `count` nodes, read-only; the view follows later changes."""
        return self._mapped(_ARRAYS, lambda array: _read_only(array[..., :count]))

    def at_zero_usage(self) -> "Cards":
        """See the same cards as if no pod held anything."""
        return self._mapped(_USE, np.zeros_like)

    def changed(self, changes: Sequence[Change]) -> "Cards":
        """See the same cards after some changes of what is held."""
        seen = self._mapped(_USE, np.copy)
        for change in changes:
            seen.apply(change)
        return seen

    def single(self, positions: Int64s, columns: Int64s) -> "Cards":
        """Copy single cards out, each as a node of its own."""
        arrays: dict[str, Any] = {
            name: array[..., columns] for name, array in self.arrays().items()
        }
        for name in (*_PER_DIMENSION, *_PER_CARD):
            picked = getattr(self, name)[..., positions, columns]
            arrays[name] = picked[..., np.newaxis, :]
        return replace(self, **arrays)

    def repeated(self, times: int) -> "Cards":
        """Copy nodes of one card out as nodes of so many equal ones."""
        return self._mapped(
            [*_PER_DIMENSION, *_PER_CARD],
            lambda array: np.repeat(array, times, axis=-2),
        )

    def narrowed(self, columns: Int64s) -> tuple["Cards", Int64s]:
        """Make it cheap to judge the nodes at `columns`.

        Returns:
            Cards with at least these nodes, and their columns there: copied out where
            they are few, or else as they are, since copying would cost more.
        """
        if len(columns) * _COPY_BELOW >= self.node_count:
            return self, columns
        return self.of_nodes(columns), np.arange(len(columns))

    def apply(self, change: Change) -> None:
        """Write one change into the arrays; only for their owner."""
        column, positions, sign = change.column, change.positions, change.sign
        traits = counted(change.holding.traits)
        for device_uuid, usage in change.holding.charge.items():
            position = positions.get(device_uuid)
            if position is not None:
                self.used[SLOTS, position, column] += sign * usage.slots
                self.used[MEMORY, position, column] += sign * usage.memory_mib
                self.used[CORES, position, column] += sign * usage.core_percent
                if change.holding.is_exclusive and usage.slots:
                    self.exclusive_pods[position, column] += sign
                if traits and usage.slots:
                    self.trait_counts[position, column] += sign * traits
        if self.has_mig or change.holding.slices:
            self._apply_instances(change)
        slots = change.holding.kubelet_slots.get(change.kind, 0)
        self.kubelet_slots[column] += sign * slots
        if change.holding.hides or change.holding.quarantined:
            self._apply_unreadable(change)

    def _apply_instances(self, change: Change) -> None:
        """Count slices; a card whose mode the pod mistakes counts as full."""
        holding, column, sign = change.holding, change.column, change.sign
        for device_uuid in {**holding.charge, **dict.fromkeys(holding.released)}:
            position = change.positions.get(device_uuid)
            if position is None:
                continue
            is_mig = bool(self.mig_codes[position, column])
            if holding.mistakes(device_uuid, is_mig=is_mig):
                self.quarantines[position, column] += sign
            elif is_mig:
                counts = np.array(holding.slices[device_uuid], np.int32)
                self.slice_counts[: len(counts), position, column] += sign * counts

    def _apply_unreadable(self, change: Change) -> None:
        holding, positions = change.holding, change.positions
        named = [positions[uuid] for uuid in holding.quarantined if uuid in positions]
        for position in named:
            self.quarantines[position, change.column] += change.sign
        if change.kind in holding.hides and not named:
            self.closures[change.column] += change.sign

    def _mapped(
        self, names: Sequence[str], change: Callable[[_Array], _Array]
    ) -> "Cards":
        arrays: dict[str, Any] = {name: change(getattr(self, name)) for name in names}
        return replace(self, **arrays)


def _read_only(array: _Array) -> _Array:
    array.flags.writeable = False
    return array
