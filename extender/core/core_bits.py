"""Which cores of a device each container gets, where a plugin is told that by bits.

A fit counts cores, as it counts percents: that decides whether a pod fits, and what it
is charged. Which ones they are is decided last, from those that others hold. What is
counted is then what is held, at any moment of the pod's life:

- Sidecars and apps live together in the end: each gets cores of its own.
- An init gets cores that no sidecar declared before it has: first those of apps and of
  later sidecars, which do not live yet; then those that inits alone use, always the
  same in the same order.

So the cores of a pod are as many as the largest phase has; and once some inits are
over, as many as the largest of the others.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from extender.core.allocation import Allocation, Row
from extender.core.container import Lifetime
from extender.core.holding import Holding
from extender.core.names import DeviceUUID

CoresOf = Mapping[DeviceUUID, int]
"""Cores of each device, as bits."""


class HeldCores:
    """Who holds which cores of one node's devices, as counts of pods per core."""

    def __init__(self, holdings: Iterable[tuple[Holding, int]] = ()) -> None:
        self._counts: Counter[tuple[DeviceUUID, int]] = Counter()
        for holding, sign in holdings:
            self.count(holding, sign)

    def count(self, holding: Holding, sign: int) -> None:
        """Add (`sign` 1) or take back (-1) what a pod holds."""
        for device_uuid, bits in holding.cores.items():
            for core in range(bits.bit_length()):
                if bits >> core & 1:
                    self._counts[device_uuid, core] += sign

    def copy(self) -> "HeldCores":
        """Copy it out."""
        copied = HeldCores()
        copied._counts.update(self._counts)
        return copied

    @property
    def holders(self) -> Mapping[tuple[DeviceUUID, int], int]:
        """How many pods hold each core that any does."""
        return {core: count for core, count in self._counts.items() if count}

    @property
    def twice(self) -> frozenset[DeviceUUID]:
        """Devices of which two pods hold the same core."""
        return frozenset(
            device_uuid for (device_uuid, _), count in self.holders.items() if count > 1
        )

    @property
    def bits(self) -> CoresOf:
        """The cores of each device that any pod holds."""
        found: dict[DeviceUUID, int] = {}
        for device_uuid, core in self.holders:
            found[device_uuid] = found.get(device_uuid, 0) | 1 << core
        return found


def with_cores(
    allocation: Allocation,
    lifetimes: Sequence[Lifetime],
    held: CoresOf,
    cores_per_device: int,
) -> Allocation | None:
    """Decide which cores each share has.

    Args:
        allocation: Its shares say how many cores they have, and it fits beside what
            others hold.
        lifetimes: One per container, in start order.
        held: By other pods.
        cores_per_device: How many there are of each.

    Returns:
        The same with cores; None where fewer are free than are needed.

    Example:
        >>> from extender.core.allocation import Share
        >>> device = DeviceUUID("a")
        >>> row = (Share(device, 0, 1, "AWSNeuron"),)
        >>> lifetimes = [Lifetime.INIT, Lifetime.SIDECAR, Lifetime.APP]
        >>> given = with_cores((row, row, row), lifetimes, {device: 0b001}, 3)
        >>> [share.cores for (share,) in given]
        [2, 2, 4]
    """
    named = dict.fromkeys(
        share.device_uuid for share in chain.from_iterable(allocation)
    )
    bits_of: dict[DeviceUUID, list[int]] = {}
    for device_uuid in named:
        counts = [_count(row, device_uuid) for row in allocation]
        free = _cores(((1 << cores_per_device) - 1) & ~held.get(device_uuid, 0))
        bits = _of_device(counts, lifetimes, free)
        if bits is None:
            return None
        bits_of[device_uuid] = bits
    return tuple(
        tuple(replace(each, cores=bits_of[each.device_uuid][index]) for each in row)
        for index, row in enumerate(allocation)
    )


def _count(row: Row, device_uuid: DeviceUUID) -> int:
    return sum(share.core_percent for share in row if share.device_uuid == device_uuid)


def _cores(bits: int) -> list[int]:
    """List the cores of a set, each as one bit."""
    return [1 << core for core in range(bits.bit_length()) if bits >> core & 1]


def _of_device(
    counts: Sequence[int], lifetimes: Sequence[Lifetime], free: Sequence[int]
) -> list[int] | None:
    """Decide which of one device's free cores each container has, as bits."""
    bits = [0] * len(counts)
    taken = 0
    for index, count in enumerate(counts):
        if lifetimes[index] is not Lifetime.INIT:
            bits[index] = sum(free[taken : taken + count])
            taken += count
    is_enough = taken <= len(free)
    sidecars = 0
    for index, count in enumerate(counts):
        if lifetimes[index] is Lifetime.SIDECAR:
            sidecars |= bits[index]
        elif lifetimes[index] is Lifetime.INIT:
            beside = [core for core in free if not core & sidecars]
            is_enough &= count <= len(beside)
            bits[index] = sum(beside[:count])
    return bits if is_enough else None


def held_cores(
    lifetimes: Sequence[Lifetime], allocation: Allocation, released_inits: int
) -> dict[DeviceUUID, int]:
    """Tell which cores of each device a pod can still hold, as bits.

    Args:
        lifetimes: One per container, in start order.
        allocation: One row per container.
        released_inits: How many inits, counted from the first, have no phase any more.

    Returns:
        Nothing for devices of which no cores are told apart.
    """
    found: dict[DeviceUUID, int] = {}
    inits = 0
    for lifetime, row in zip(lifetimes, allocation, strict=True):
        inits += lifetime is Lifetime.INIT
        is_over = lifetime is Lifetime.INIT and inits <= released_inits
        for share in row:
            if share.cores and not (is_over and not share.is_kept):
                found[share.device_uuid] = found.get(share.device_uuid, 0) | share.cores
    return found
