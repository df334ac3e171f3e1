"""admit, by quota: whether a namespace has room for one more pod.

Filter and bind count what is reserved and bound. Here pods count as well that wait for
a place, or were admitted a moment ago: else a burst would be admitted on the same room.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from extender.core.fleet import Fleet
from extender.core.pod import Pod
from extender.core.quota_room import QuotaRooms, Shortage
from extender.core.usage import NOTHING
from extender.state.quotas import Sums
from extender.verbs.admit import Schedulers
from extender.verbs.quota import charge_at_admission

_MOST_TOLD: Final = 10
"""Limits that are told of a pod."""


def judged_by_quota(pod: Pod, schedulers: Schedulers) -> bool:
    """Tell whether quotas can keep a pod out at admission, or count it there.

    Others are left to filter: pods that ask for nothing, or for what cannot be
    honoured, that name their node, or a scheduler that does not ask us.
    """
    return pod.waits_for_devices and schedulers.owns(pod.scheduler_name)


def waiting_sums(fleet: Fleet, pods: Iterable[Pod], schedulers: Schedulers) -> Sums:
    """Sum what pods that hold nothing yet will be charged at least.

    Cost: one charge per pod. Where all pods come by admission, there are no more than
    the limits have room for.
    """
    by_traits: Sums = {}
    for pod in pods:
        if judged_by_quota(pod, schedulers):
            sums = by_traits.setdefault(pod.quota_traits, {})
            for kind, charge in charge_at_admission(fleet, pod).items():
                sums[kind] = sums.get(kind, NOTHING) + charge
    return by_traits


def shortages_at_admission(fleet: Fleet, pod: Pod, rooms: QuotaRooms) -> list[Shortage]:
    """List the limits that a pod would go beyond, whichever node it goes to.

    Args:
        fleet: Its cards; what is held on them does not matter.
        pod: To be admitted.
        rooms: What the quotas leave it, pods that wait counted.
    """
    charges = charge_at_admission(fleet, pod)
    return [
        shortage
        for kind, room in rooms.items()
        for shortage in room.shortages(charges.get(kind, NOTHING))
    ]


def counts_at_admission(fleet: Fleet, pod: Pod, rooms: QuotaRooms) -> bool:
    """Tell whether a pod takes any of what is limited."""
    charges = charge_at_admission(fleet, pod)
    return any(
        use.limit.dimension.of(charges.get(kind, NOTHING)) > 0
        for kind, room in rooms.items()
        for use in room.uses
    )


def told(shortages: Sequence[Shortage]) -> str:
    """Tell whoever creates the pod what is short, and what can be done."""
    named = "; ".join(str(each) for each in shortages[:_MOST_TOLD])
    rest = len(shortages) - _MOST_TOLD
    more = f"; and {rest} more" if rest > 0 else ""
    return (
        f"exceeding resource quota: {named}{more}. Ask for less, delete pods of the "
        "namespace, or have the quota raised"
    )
