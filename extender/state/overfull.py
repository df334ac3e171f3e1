"""Cards that bound pods hold more of than there is, each with its cause.

That may be true, and then nothing new is placed there. Only one cause is a fault.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from extender.core.core_bits import HeldCores
from extender.core.holding import Holding
from extender.core.names import DeviceUUID, NodeName
from extender.core.node import Device, Node
from extender.core.usage import NOTHING, Usage


class Cause(StrEnum):
    """What made a card hold more than it has."""

    PLACED = "placed"
    """A pod was bound there without room. A fault of whoever bound it: ours, where it
    was us."""

    RE_INFLATED = "re-inflated"
    """A pod that was there counts more than before: its inits run again, or its
    allocation or release was edited."""

    INHERITED = "inherited"
    """It was so when this process started, or when the node came."""

    SHRUNK = "shrunk"
    """The node registered less than before."""


class Overfull:
    """Which cards are overfull now, and how often each cause was seen.

    Reservations do not count: a bind that turns out not to fit is not carried out. But
    what takes the room from under one that did fit is its cause, once it is bound.
    """

    def __init__(self) -> None:
        self._causes: dict[NodeName, dict[DeviceUUID, Cause]] = {}
        self._foreseen: dict[NodeName, dict[DeviceUUID, Cause]] = {}
        self._seen: Counter[Cause] = Counter()

    @property
    def causes(self) -> Mapping[NodeName, Mapping[DeviceUUID, Cause]]:
        """What is overfull now."""
        return self._causes

    @property
    def seen(self) -> Mapping[Cause, int]:
        """How often a card became overfull, by cause, since the start."""
        return self._seen

    def is_known(self, node_name: NodeName) -> bool:
        """Tell whether a node has, or will have, overfull cards."""
        return node_name in self._causes or node_name in self._foreseen

    def judge(
        self,
        node_name: NodeName,
        overfull: Collection[DeviceUUID],
        with_reserved: Collection[DeviceUUID],
        cause: Cause,
        placed_on: Collection[DeviceUUID] = (),
    ) -> None:
        """Record what is overfull on a node after something changed there.

        Args:
            node_name: The node.
            overfull: Its cards that bound pods hold too much of.
            with_reserved: Those that are overfull once reservations are carried out.
            cause: Of those that were not overfull before.
            placed_on: Cards that a pod was just bound to; being overfull before does
                not excuse that.
        """
        known = self._causes.pop(node_name, {})
        foreseen = self._foreseen.pop(node_name, {})
        now: dict[DeviceUUID, Cause] = {}
        for device_uuid in overfull:
            is_new = device_uuid not in known or device_uuid in placed_on
            if not is_new:
                now[device_uuid] = known[device_uuid]
                continue
            own = None if device_uuid in placed_on else foreseen.get(device_uuid)
            now[device_uuid] = own or cause
            self._seen[now[device_uuid]] += 1
        if now:
            self._causes[node_name] = now
        if cause in (Cause.RE_INFLATED, Cause.SHRUNK):
            foreseen = dict.fromkeys(with_reserved, cause) | foreseen
        kept = {each: foreseen[each] for each in with_reserved if each in foreseen}
        if kept:
            self._foreseen[node_name] = kept

    def forget(self, node_name: NodeName) -> None:
        """Drop a node that is gone."""
        self._causes.pop(node_name, None)
        self._foreseen.pop(node_name, None)


def overfull_cards(
    node: Node, holdings: Iterable[Holding]
) -> dict[DeviceUUID, tuple[Usage, Usage]]:
    """List a node's cards that hold more than they register, in any dimension.

    Also those that do not count now, since their plugin is silent.

    Also those of which two pods hold the same core, where these are told apart.

    Of a card in MIG mode, a slice is held once at most, and compute is not looked at:
    percents of instances are rounded up, so that seven of one card make 105.

    Returns:
        What is held and what there is.

    Cost: O(cards + shares).
    """
    held: dict[DeviceUUID, Usage] = {}
    slices: Counter[tuple[DeviceUUID, int]] = Counter()
    cores = HeldCores()
    for holding in holdings:
        for device_uuid, usage in holding.charge.items():
            held[device_uuid] = held.get(device_uuid, NOTHING) + usage
        for device_uuid, counts in holding.slices.items():
            slices.update({(device_uuid, n): count for n, count in enumerate(counts)})
        if holding.cores:
            cores.count(holding, 1)
    cut_twice = {device_uuid for (device_uuid, _), count in slices.items() if count > 1}
    return {
        device.device_uuid: (used, device.capacity)
        for device in node.devices
        if _is_overfull(
            device,
            used := held.get(device.device_uuid, NOTHING),
            cut_twice if device.is_mig else cores.twice,
        )
    }


def _is_overfull(device: Device, used: Usage, twice: Collection[DeviceUUID]) -> bool:
    counted = Usage(used.slots, used.memory_mib) if device.is_mig else used
    return counted.exceeds(device.capacity) or device.device_uuid in twice
