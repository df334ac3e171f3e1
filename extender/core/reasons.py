"""Reason codes: why a node or a card was refused.

The words are HAMi's where HAMi has one, since users search for them; the codes that
HAMi has no word for are marked "ours".
"""

from enum import Enum
from typing import Final


class Reason(Enum):
    """One refusal. Members stand in the order in which the rules are asked."""

    # The pod's namespace, whatever the node.
    QUOTA_NOT_FIT = "ResourceQuotaNotFit"
    """The namespace would hold more than a ResourceQuota allows."""

    QUOTA_UNREADABLE = "ResourceQuotaUnreadable"
    """Ours: a ResourceQuota limits it, and by how much cannot be read."""

    # The node as a whole.
    NODE_NOT_SELECTED = "NodeNotSelected"
    """Ours: its labels are not those of the nodes that are scheduled here."""

    NODE_UNREGISTERED = "node unregistered"
    """No inventory counts: unknown node, no register annotation, or no live plugin."""

    NODE_REGISTRATION_UNREADABLE = "NodeRegistrationUnreadable"
    """Ours: its inventory cannot be read."""

    NODE_HAS_UNREADABLE_ALLOCATION = "NodeHasUnreadableAllocation"
    """Ours: a pod there holds cards that cannot be told from its annotation."""

    NODE_INSUFFICIENT_DEVICE = "NodeInsufficientDevice"
    """A container asks for more cards than the node has."""

    KUBELET_SLOTS_EXHAUSTED = "KubeletSlotsExhausted"
    """Ours: kubelet has too few device ids left; inits keep theirs to the pod's end."""

    NODE_LOCKED = "NodeLocked"
    """Ours: a pod there has waited for its devices for longer than a bind waits."""

    # One card, whatever its use.
    CARD_NOT_HEALTHY = "CardNotHealth"
    CARD_CORDONED = "CardCordoned"
    CARD_TYPE_MISMATCH = "CardTypeMismatch"
    CARD_MODE_MISMATCH = "ModeNotFit"
    CARD_UUID_MISMATCH = "CardUuidMismatch"

    # One card, by what is held on it.
    CARD_QUARANTINED = "CardHeldByUnreadableAllocation"
    """Ours: an unreadable allocation names it, so it counts as full."""

    CARD_APP_CLASS_MISMATCH = "CardAppClassMismatch"
    """Pods there are of another application class than the pod may join: online and
    offline ones keep apart from all others, and offline ones from online ones."""

    CARD_QOS_POLICY_MISMATCH = "CardQosPolicyMismatch"
    """Pods there have another QoS policy; a card has one at a time."""

    CARD_PROFILE_MISMATCH = "CardProfileMismatch"
    """Ours: it cannot be cut into a part of the size that is asked. HAMi says
    ModeNotFit."""

    CARD_SLOTS_EXHAUSTED = "CardTimeSlicingExhausted"
    CARD_INSUFFICIENT_MEMORY = "CardInsufficientMemory"
    CARD_SHARED_UNEQUALLY = "CardSharedUnequally"
    """Ours: its containers have another size than is asked, and its vendor cuts a card
    into equal parts only. HAMi says NumaNotFit."""

    CARD_INSUFFICIENT_CORE = "CardInsufficientCore"
    CARD_EXCLUSIVE_CONFLICT = "ExclusiveDeviceAllocateConflict"
    """One of both wants the card for itself: the request, which by policy mutex or by
    all of its compute bars others, or a pod that holds it and came with mutex."""

    CARD_COMPUTE_EXHAUSTED = "CardComputeUnitsExhausted"
    """The card's compute is taken whole; a request without cores may not join."""

    CARD_MIG_TOPOLOGY_INFEASIBLE = "CardMigTopologyInfeasible"
    """In MIG mode: no profile that is large enough has a place free."""

    # Some cards passed, but too few.
    TOO_FEW_CARDS = "AllocatedCardsInsufficientRequest"

    NUMA_NOT_FIT = "NumaNotFit"
    """Enough cards passed, but no NUMA node has enough of them."""

    # Not decided.
    SEARCH_EXHAUSTED = "PlacementSearchExhausted"
    """Ours: the containers fit one by one, and in the steps that the search may take it
    found neither how they fit together nor that they do not."""


CODES: Final[dict[Reason, int]] = {
    reason: code for code, reason in enumerate(Reason, start=1)
}
"""Small number of each reason, for arrays; 0 is "not refused"."""

REASON_OF: Final[dict[int, Reason]] = {code: reason for reason, code in CODES.items()}


def joined(bits: int) -> str:
    """Join the reasons of a bit set into one text.

    kube-scheduler groups nodes by equal text, so there are no numbers in it.

    Args:
        bits: Bit `CODES[reason]` is set for each reason.

    Example:
        >>> unhealthy, cordoned = Reason.CARD_NOT_HEALTHY, Reason.CARD_CORDONED
        >>> joined(1 << CODES[unhealthy] | 1 << CODES[cordoned])
        'CardCordoned, CardNotHealth'
    """
    return ", ".join(
        sorted(reason.value for code, reason in REASON_OF.items() if bits >> code & 1)
    )
