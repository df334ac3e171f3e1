"""Nominations: room that kube-scheduler made for a pod by evicting others.

Such a pod is still unbound and waits for its victims to go. kube-scheduler's own
filters count it on its node, but tell extenders nothing of it; so it is counted here,
against pods of equal or lower priority.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from extender.core.allocation import Allocation
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import NodeName
from extender.core.phases import container_usages, effective_usage, held_slices
from extender.core.pod import Pod
from extender.verbs.bind import expected_devices


@dataclass(frozen=True, slots=True)
class Nomination:
    """What a nominated pod will hold."""

    pod: Pod
    holding: Holding

    def holds_against(self, other: Pod) -> bool:
        """Whether `other` has to leave this room: room is held against equals too."""
        return self.pod.uid != other.uid and self.pod.priority >= other.priority


def nominations(
    fleet: Fleet, node_name: NodeName, nominated: Iterable[Pod]
) -> list[Nomination]:
    """Decide which cards pods nominated to a node will get, the most important first.

    Where a pod does not fit yet, since its victims are still there, it is counted on
    the cards that it would get on the empty node: these then show more than they have,
    and are refused to others until the victims are gone.

    Args:
        fleet: Cards and totals.
        node_name: The node.
        nominated: Unbound pods that are nominated to it, and ask for devices.
    """
    found: list[Nomination] = []
    held: list[Holding] = []
    for pod in sorted(nominated, key=lambda pod: (-pod.priority, pod.full_name)):
        allocation = expected_devices(fleet, pod, node_name, held)
        if allocation is not None:
            holding = expected_holding(pod, node_name, allocation)
            held.append(holding)
            found.append(Nomination(pod, holding))
    return found


def expected_holding(pod: Pod, node_name: NodeName, allocation: Allocation) -> Holding:
    """Tell what a pod will hold once it is bound with this allocation."""
    charge = effective_usage(container_usages(pod.lifetimes, allocation))
    return Holding(
        node_name,
        charge,
        pod.kubelet_slots,
        is_exclusive=pod.is_exclusive,
        slices=held_slices([allocation]),
        traits=pod.traits,
    )
