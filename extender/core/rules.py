"""Each rule that can refuse a card, as one function from arrays to a mask.

A mask is bool (W, N), True where the rule refuses. Rules are asked in the order of
their tables; the first that refuses a card gives its reason. Padding is refused by
`Cards.exists`, never by a rule.

Source: HAMi v2.10's per-card checks; where the meaning differs, the rule says so.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.arrays import CORES, MEMORY, SLOTS, Codes, Int64s, Mask
from extender.core.cards import Cards
from extender.core.company import APP_CLASSES, QOS_POLICIES, Trait, has_any
from extender.core.device_policy import DevicePolicy
from extender.core.mig import MIG_MODE, NO_INSTANCE, MigOffers
from extender.core.names import DeviceUUID
from extender.core.needs import Needed
from extender.core.pod_request import ContainerRequest, PodRequest, Selection, Sharing
from extender.core.reasons import CODES, Reason

WHOLE_CARD_PERCENT: Final = 100


@dataclass(frozen=True, slots=True)
class Trial:
    """One container's request, tried on every card at once.

    Attributes:
        cards: The cards.
        used: int64 (3, W, N); what is held at the moment of the trial.
        request: Of one container; its count is at least 1.
        policy: Of the pod.
        needed: What one share takes of each card.
        offers: The instance that each card in MIG mode would give; None where no card
            is.
    """

    cards: Cards
    used: Int64s
    request: ContainerRequest
    policy: DevicePolicy
    needed: Needed
    offers: MigOffers | None = None


# The card, whatever its use.


def card_not_healthy(cards: Cards, _selection: Selection) -> Mask:
    """Refuse cards that their plugin calls unhealthy."""
    return cards.is_unhealthy


def card_cordoned(cards: Cards, _selection: Selection) -> Mask:
    """Refuse cards that an administrator closed to new work."""
    return cards.is_cordoned


def card_type_mismatch(cards: Cards, selection: Selection) -> Mask | None:
    """Refuse types outside the pod's selection: case-insensitive substrings."""
    if selection.use_types is None and not selection.avoid_types:
        return None
    refused = cards.interned.models.where(
        lambda model: _refuses_type(selection, model.casefold())
    )
    return refused[cards.model_codes]


def _refuses_type(selection: Selection, model: str) -> bool:
    if selection.use_types is not None and not any(
        wanted.casefold() in model for wanted in selection.use_types
    ):
        return True
    return any(avoided.casefold() in model for avoided in selection.avoid_types)


def card_mode_mismatch(cards: Cards, selection: Selection) -> Mask | None:
    """Refuse cards whose mode word is not in the pod's text; an empty one is."""
    modes = selection.modes
    if modes is None:
        return None
    return cards.interned.modes.where(lambda mode: mode not in modes)[cards.mode_codes]


def card_uuid_mismatch(cards: Cards, selection: Selection) -> Mask | None:
    """Refuse cards outside the pod's list of UUIDs; exact and case-sensitive."""
    if selection.use_uuids is None and not selection.avoid_uuids:
        return None
    refused = _is_any_of(cards, selection.avoid_uuids)
    if selection.use_uuids is not None:
        refused |= ~_is_any_of(cards, selection.use_uuids)
    return refused


def _is_any_of(cards: Cards, uuids: frozenset[DeviceUUID]) -> Mask:
    return np.isin(cards.uuid_codes, cards.interned.uuids.known(uuids))


def card_quarantined(cards: Cards, _selection: Selection) -> Mask:
    """Refuse cards that an unreadable allocation names: they count as full."""
    refused: Mask = cards.quarantines > 0
    return refused


def card_app_class_mismatch(cards: Cards, selection: Selection) -> Mask | None:
    """Refuse cards of pods of another class, of kinds whose cards go by it.

    Online and offline pods join each other's cards, except that no offline pod comes to
    an online one: it would stand still. Pods without a class keep to themselves.

    Source: HAMi v2.10's checkAppClass of metax.
    """
    traits = selection.traits
    if not traits:
        return None
    has_class = has_any(cards.trait_counts, APP_CLASSES)
    if traits.isdisjoint(APP_CLASSES):
        return has_class
    refused: Mask = (cards.used[SLOTS] > 0) & ~has_class
    if Trait.OFFLINE in traits:
        refused |= has_any(cards.trait_counts, [Trait.ONLINE])
    return refused


def card_qos_policy_mismatch(cards: Cards, selection: Selection) -> Mask | None:
    """Refuse cards of pods with another QoS policy; online pods have none.

    Source: HAMi v2.10's checkDeviceQos of metax, which goes by what the card says that
    its policy is; that comes late, and is kept in memory until then. Here it is what
    the pods there say.
    """
    policy = selection.traits.intersection(QOS_POLICIES)
    if not policy:
        return None
    return has_any(cards.trait_counts, policy.symmetric_difference(QOS_POLICIES))


def card_held_exclusively(cards: Cards, _selection: Selection) -> Mask:
    """Refuse cards that a pod holds which came with policy mutex.

    Source: HAMi keeps only such a pod from joining others, and not others from joining
    it (https://github.com/Project-HAMi/HAMi/issues/3038).
    """
    refused: Mask = cards.exclusive_pods > 0
    return refused


# The card, by what is held on it, and by what it can be cut into.


def card_profile_mismatch(trial: Trial) -> Mask | None:
    """Refuse cards that have no profile as it is wished.

    Source: HAMi's Fit of enflame, which says ModeNotFit of the node.
    """
    if trial.request.profile is None:
        return None
    refused: Mask = trial.needed.slots == 0
    return refused


def card_slots_exhausted(trial: Trial) -> Mask:
    """Refuse cards that already serve as many containers as they may."""
    used, capacity = trial.used[SLOTS], trial.cards.capacity[SLOTS]
    refused: Mask = used >= capacity
    if trial.request.profile is not None:
        refused |= used + trial.needed.slots > capacity
    return refused


def card_in_use(trial: Trial) -> Mask | None:
    """Refuse cards that any container holds when the policy is mutex."""
    if not trial.policy.is_exclusive:
        return None
    refused: Mask = trial.used[SLOTS] > 0
    return refused


def card_insufficient_memory(trial: Trial) -> Mask | None:
    """Refuse cards with too little memory left.

    A need of 0 is refused too: in an allocation it would mean "no limit". It arises
    from a percentage of a card that registers no memory, or so little that the
    percentage rounds down to nothing. Kinds whose memory is not counted need none.
    """
    if trial.request.sharing is Sharing.BY_SLOT:
        return None
    free = trial.cards.capacity[MEMORY] - trial.used[MEMORY]
    refused: Mask = (free < trial.needed.memory_mib) | (trial.needed.memory_mib <= 0)
    return refused


def card_shared_unequally(trial: Trial) -> Mask | None:
    """Refuse cards whose containers have another memory than is asked, of some kinds.

    Source: HAMi v2.10's FitVXPU, which compares with the mean of those there.
    """
    if trial.request.sharing is not Sharing.EQUALLY:
        return None
    equal = trial.used[SLOTS] * trial.needed.memory_mib
    refused: Mask = trial.used[MEMORY] != equal
    return refused


def card_insufficient_core(trial: Trial) -> Mask | None:
    """Refuse cards with too little compute left."""
    if trial.request.sharing is Sharing.BY_MEMORY:
        return None
    free = trial.cards.capacity[CORES] - trial.used[CORES]
    refused: Mask = free < trial.needed.cores
    return _unless_mig(trial.cards, refused)


def card_exclusive_conflict(trial: Trial) -> Mask | None:
    """Refuse cards in use when the request wants all compute of a plain card."""
    if trial.request.core_percent != WHOLE_CARD_PERCENT:
        return None
    is_plain = trial.cards.capacity[CORES] == WHOLE_CARD_PERCENT
    refused: Mask = is_plain & (trial.used[SLOTS] > 0)
    return refused


def card_compute_exhausted(trial: Trial) -> Mask | None:
    """Refuse cards whose compute is taken whole when the request names no cores."""
    asked = trial.request
    if asked.core_percent or asked.profile or asked.sharing is Sharing.BY_MEMORY:
        return None
    capacity = trial.cards.capacity[CORES]
    refused: Mask = (capacity > 0) & (trial.used[CORES] >= capacity)
    return _unless_mig(trial.cards, refused)


def _unless_mig(cards: Cards, refused: Mask) -> Mask:
    """Refuse no card in MIG mode: an instance has compute of its own.

    What instances have adds up to more than the card, since percents are rounded up.
    """
    return refused & ~cards.is_mig if cards.has_mig else refused


def card_mig_topology_infeasible(trial: Trial) -> Mask | None:
    """Refuse cards in MIG mode that have no place for an instance that is enough.

    Enough in memory, as in HAMi, and in compute: there, a container that asks for half
    of the compute gets as little as a seventh.
    """
    if trial.offers is None:
        return None
    refused: Mask = trial.cards.is_mig & (trial.offers.numbers == NO_INSTANCE)
    return refused


CARD_RULES: Final[
    tuple[tuple[Reason, Callable[[Cards, Selection], Mask | None]], ...]
] = (
    (Reason.CARD_NOT_HEALTHY, card_not_healthy),
    (Reason.CARD_CORDONED, card_cordoned),
    (Reason.CARD_TYPE_MISMATCH, card_type_mismatch),
    (Reason.CARD_MODE_MISMATCH, card_mode_mismatch),
    (Reason.CARD_UUID_MISMATCH, card_uuid_mismatch),
    (Reason.CARD_QUARANTINED, card_quarantined),
    (Reason.CARD_APP_CLASS_MISMATCH, card_app_class_mismatch),
    (Reason.CARD_QOS_POLICY_MISMATCH, card_qos_policy_mismatch),
    (Reason.CARD_EXCLUSIVE_CONFLICT, card_held_exclusively),
)
"""Asked once per pod. None means that the rule has nothing to say."""

USE_RULES: Final[tuple[tuple[Reason, Callable[[Trial], Mask | None]], ...]] = (
    (Reason.CARD_PROFILE_MISMATCH, card_profile_mismatch),
    (Reason.CARD_SLOTS_EXHAUSTED, card_slots_exhausted),
    (Reason.CARD_EXCLUSIVE_CONFLICT, card_in_use),
    (Reason.CARD_INSUFFICIENT_MEMORY, card_insufficient_memory),
    (Reason.CARD_SHARED_UNEQUALLY, card_shared_unequally),
    (Reason.CARD_INSUFFICIENT_CORE, card_insufficient_core),
    (Reason.CARD_EXCLUSIVE_CONFLICT, card_exclusive_conflict),
    (Reason.CARD_COMPUTE_EXHAUSTED, card_compute_exhausted),
    (Reason.CARD_MIG_TOPOLOGY_INFEASIBLE, card_mig_topology_infeasible),
)
"""Asked for each container, at its moment."""


def passing(trial: Trial, is_open: Mask) -> Mask:
    """Find the cards that would serve one container.

    Args:
        trial: Of the container.
        is_open: bool (W, N); whether no rule refuses a card whatever its use.

    Returns:
        bool (W, N).
    """
    serves: Mask = is_open.copy()
    for _, rule in USE_RULES:
        refused = rule(trial)
        if refused is not None:
            serves &= ~refused
    return serves


def first_refusals(
    refusals: Iterable[tuple[Reason, Mask | None]], shape: tuple[int, ...]
) -> Codes:
    """Keep which rule refused each card first; uint8, 0 where none did."""
    codes: Codes = np.zeros(shape, np.uint8)
    for reason, refused in refusals:
        if refused is not None:
            codes += refused * (codes == 0) * np.uint8(CODES[reason])
    return codes


# The node as a whole; masks are bool (N,).


def node_has_unreadable_allocation(cards: Cards, _request: PodRequest) -> Mask:
    """Refuse nodes where it cannot be told which cards a pod holds."""
    return cards.closures > 0


def node_insufficient_device(cards: Cards, request: PodRequest) -> Mask:
    """Refuse nodes with fewer cards than some container asks for.

    Not where it may get several instances of one card.
    """
    refused = cards.card_counts < max(asked.count for asked in request.containers)
    modes = request.selection.modes
    if cards.has_mig and (modes is None or MIG_MODE in modes):
        refused &= ~cards.is_mig.any(axis=0)
    return refused


def kubelet_slots_exhausted(cards: Cards, request: PodRequest) -> Mask:
    """Refuse nodes where kubelet has too few device ids left.

    Kubelet keeps an init's ids until the pod ends, and kube-scheduler's own count
    does too, so finished inits still count here.
    """
    return cards.kubelet_slots + request.kubelet_slots > cards.allocatable_slots


NODE_RULES: Final[tuple[tuple[Reason, Callable[[Cards, PodRequest], Mask]], ...]] = (
    (Reason.NODE_HAS_UNREADABLE_ALLOCATION, node_has_unreadable_allocation),
    (Reason.NODE_INSUFFICIENT_DEVICE, node_insufficient_device),
    (Reason.KUBELET_SLOTS_EXHAUSTED, kubelet_slots_exhausted),
)
