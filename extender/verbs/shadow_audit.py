"""What is held on a node by our rule and by HAMi's, card by card."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from extender.core.allocation import Allocation
from extender.core.hami_charge import excess
from extender.core.holding import Holding
from extender.core.names import DeviceUUID
from extender.core.node import Node
from extender.core.pod import Pod
from extender.core.usage import NOTHING, Charge, Usage
from extender.state.overfull import overfull_cards
from extender.verbs.shadow import charge_by_hami, summed


@dataclass(frozen=True, slots=True)
class CardSums:
    """One card, by both rules.

    Attributes:
        device_uuid: The card.
        capacity: What there is.
        ours: What the pods on it are charged by us.
        theirs: The same by HAMi's rule.
        needless: What HAMi holds above that, summed pod by pod: nobody can use it.
        uncounted: What it does not count, summed pod by pod: it may be given out twice.
        is_over: Whether more is held than there is, by our rule.
    """

    device_uuid: DeviceUUID
    capacity: Usage
    ours: Usage
    theirs: Usage
    needless: Usage
    uncounted: Usage
    is_over: bool


@dataclass(frozen=True, slots=True)
class Held:
    """One pod on a node: what we charge it, and its allocation, if it can be read."""

    pod: Pod
    holding: Holding
    allocation: Allocation | None

    @property
    def theirs(self) -> Charge:
        """What HAMi charges it; one whose allocation it cannot read, nothing."""
        if self.allocation is None:
            return {}
        return charge_by_hami(self.pod, self.allocation)


def audit_node(node: Node, held: Iterable[Held]) -> list[CardSums]:
    """Sum what pods hold of each card of a node, by both rules.

    Cost: O(cards + shares).
    """
    held = list(held)
    of_pods = [(each.holding.charge, each.theirs) for each in held]
    ours = summed(charge for charge, _ in of_pods)
    theirs = summed(charge for _, charge in of_pods)
    needless = summed(excess(hami, own) for own, hami in of_pods)
    uncounted = summed(excess(own, hami) for own, hami in of_pods)
    over = overfull_cards(node, [each.holding for each in held])

    def of(figures: Mapping[DeviceUUID, Usage], device_uuid: DeviceUUID) -> Usage:
        return figures.get(device_uuid, NOTHING)

    return [
        CardSums(
            device.device_uuid,
            device.capacity,
            of(ours, device.device_uuid),
            of(theirs, device.device_uuid),
            of(needless, device.device_uuid),
            of(uncounted, device.device_uuid),
            device.device_uuid in over,
        )
        for device in node.devices
    ]
