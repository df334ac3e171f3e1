"""Place one container on nodes that have cards in MIG mode.

There a container's count is one of instances, of which a card may give several. They
are taken one after another, each beside those before it, from the first card in the
policy's order as its use then is. So spreading takes another card where it can, and
packing the same. Other cards of such a node are taken once at most, as elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from extender.core.arrays import CORES, MEMORY, SLOTS, Codes, Floats, Int64s, Mask
from extender.core.cards import Cards
from extender.core.device_policy import DevicePolicy
from extender.core.mig import mig_offers
from extender.core.needs import share_needed
from extender.core.pod_request import ContainerRequest
from extender.core.policies import card_order
from extender.core.rules import (
    USE_RULES,
    Trial,
    first_refusals,
)


@dataclass(frozen=True, slots=True)
class Taken:
    """One card, or one instance of it, that a container takes on each node.

    Attributes:
        chosen: bool (W, N); at most one card a node.
        numbers: int64 (W, N); of the instance among those of the card's table, or
            `extender.core.mig.NO_INSTANCE` for a whole card.
    """

    chosen: Mask
    numbers: Int64s


@dataclass(frozen=True, slots=True)
class State:
    """What is held at some moment; the arrays are not written to.

    Attributes:
        used: int64 (3, W, N).
        slices: int64 (W, N); the slices that are held, as bits.
    """

    used: Int64s
    slices: Int64s


@dataclass(frozen=True, slots=True)
class Asking:
    """A container that is to be placed.

    Attributes:
        request: Its count is at least 1.
        policy: Of the pod.
        is_open: bool (W, N); cards that no rule of the card itself refuses.
        preferred: bool (W, N); cards that go before all others.
        nodes: bool (N,); those on which it is to be placed.
        plan: Per turn, int64 (N,): the position that it takes on each node; None where
            the policy chooses.
    """

    request: ContainerRequest
    policy: DevicePolicy
    is_open: Mask
    preferred: Mask
    nodes: Mask
    plan: Sequence[Int64s] | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """What each card would give a container next.

    Attributes:
        refusals: uint8 (W, N); code of the rule of `USE_RULES` by which a card gives
            nothing; 0 where it does.
        shares: int64 (3, W, N); what the container would hold of it.
        bits: int64 (W, N); the slices that would be cut out.
        numbers: int64 (W, N); as `Taken.numbers`.
    """

    refusals: Codes
    shares: Int64s
    bits: Int64s
    numbers: Int64s


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of placing one container.

    Attributes:
        fits: bool (N,); a part of the nodes that were asked.
        taken: In the order of taking.
        after: What is held then. Meaningful only where it fits.
        refusals: uint8 (W, N); of nodes where it does not fit, the code of the rule of
            `USE_RULES` by which each card gives nothing more; 0 elsewhere.
        used_at_refusal: int64 (3, W, N); what is held at that moment. Meaningful only
            where it does not fit.
        has_some: bool (N,); some cards or instances could be had, but too few.
        is_parted: bool (N,); enough could, but not at one NUMA node.
    """

    fits: Mask
    taken: Sequence[Taken]
    after: State
    refusals: Codes
    used_at_refusal: Int64s
    has_some: Mask
    is_parted: Mask


def place_instances(cards: Cards, asking: Asking, before: State) -> Outcome:
    """Place a container on every node that is asked, each on its own.

    Cost: that of one container on plain cards for each that is taken; and again for
    each NUMA node, where all must be at one.
    """
    outcome = _taken(cards, asking, before)
    may_part = not asking.policy.on_one_numa_node or asking.request.count == 1
    if may_part or asking.plan is not None:
        return outcome
    return _at_one_numa_node(cards, asking, before, outcome)


def _at_one_numa_node(
    cards: Cards, asking: Asking, before: State, anywhere: Outcome
) -> Outcome:
    """Take all at the first NUMA node, in the policy's order, that has enough."""
    ranks = cards.numa_ranks
    each = [
        _taken(cards, _only(asking, anywhere.fits, ranks == rank), before).fits
        for rank in range(int(ranks.max(initial=0)) + 1)
    ]
    serving = np.take_along_axis(np.stack(each), ranks, axis=0)
    refusals = _offered(cards, asking, before).refusals
    open_now = asking.is_open & (refusals == 0)
    order = card_order(cards, before.used, asking.policy)
    first = _first(order, open_now & serving, asking.preferred)
    rank_of_node = np.where(first, ranks, 0).sum(axis=0)
    is_parted = anywhere.fits & ~first.any(axis=0)
    there = _only(asking, anywhere.fits & ~is_parted, ranks == rank_of_node)
    outcome = _taken(cards, there, before)
    return Outcome(
        fits=outcome.fits,
        taken=outcome.taken,
        after=outcome.after,
        refusals=np.where(is_parted, refusals, anywhere.refusals),
        used_at_refusal=np.where(is_parted, before.used, anywhere.used_at_refusal),
        has_some=anywhere.has_some,
        is_parted=is_parted,
    )


def _only(asking: Asking, nodes: Mask, cards: Mask) -> Asking:
    return Asking(
        asking.request, asking.policy, asking.is_open & cards, asking.preferred, nodes
    )


def _taken(cards: Cards, asking: Asking, before: State) -> Outcome:
    """Take one after another, until every node has enough or has no more."""
    state = State(before.used.copy(), before.slices.copy())
    fits = asking.nodes.copy()
    refusals: Codes = np.zeros(cards.exists.shape, np.uint8)
    used_at_refusal = before.used.copy()
    has_some = np.zeros_like(fits)
    whole = np.zeros_like(cards.exists)  # cards that are taken and give nothing more
    taken: list[Taken] = []
    for turn in range(asking.request.count):
        if not fits.any():
            break
        offer = _offered(cards, asking, state)
        refused = offer.refusals * ~whole
        eligible = asking.is_open & (refused == 0) & ~whole
        if asking.plan is not None:
            eligible &= np.arange(len(eligible))[:, np.newaxis] == asking.plan[turn]
        is_short = fits & ~eligible.any(axis=0)
        if is_short.any():
            refusals += refused * is_short
            used_at_refusal[..., is_short] = state.used[..., is_short]
            has_some |= is_short & bool(taken)
            fits &= ~is_short
        order = card_order(cards, state.used, asking.policy)
        chosen = _first(order, eligible, asking.preferred) & fits
        taken.append(_take(offer, chosen, state))
        whole |= chosen & ~cards.is_mig
    return Outcome(
        fits, taken, state, refusals, used_at_refusal, has_some, np.zeros_like(fits)
    )


def _offered(cards: Cards, asking: Asking, state: State) -> Offer:
    return offered(cards, asking.request, asking.policy, state)


def offered(
    cards: Cards, request: ContainerRequest, policy: DevicePolicy, state: State
) -> Offer:
    """Tell what every card would give a container next."""
    needed = share_needed(cards, request)
    offers = mig_offers(
        cards.interned.mig_tables,
        cards.mig_codes,
        state.slices,
        memory_mib=needed.memory_mib,
        free_mib=cards.capacity[MEMORY] - state.used[MEMORY],
        core_percent=request.core_percent,
    )
    trial = Trial(cards, state.used, request, policy, needed, offers)
    answers = [(reason, rule(trial)) for reason, rule in USE_RULES]
    is_mig = cards.is_mig
    shares = np.empty_like(cards.capacity)
    shares[SLOTS] = needed.slots
    shares[MEMORY] = np.where(is_mig, offers.memory_mib, needed.memory_mib)
    shares[CORES] = np.where(is_mig, offers.core_percent, needed.cores)
    return Offer(
        refusals=first_refusals(answers, cards.exists.shape),
        shares=shares,
        bits=offers.bits,
        numbers=offers.numbers,
    )


def _take(offer: Offer, chosen: Mask, state: State) -> Taken:
    """Add to `state`, which is the caller's own, what is taken."""
    state.used[:] += offer.shares * chosen
    np.bitwise_or(state.slices, offer.bits, out=state.slices, where=chosen)
    return Taken(chosen, offer.numbers)


def _first(order: Floats, eligible: Mask, preferred: Mask) -> Mask:
    """Choose the first eligible card of each node, if it has one; bool (W, N)."""
    best = eligible & preferred
    pool = best | (eligible & ~best.any(axis=0))
    at = np.where(pool, order, np.inf).argmin(axis=0)
    chosen = np.zeros_like(eligible)
    np.put_along_axis(chosen, at[np.newaxis], values=True, axis=0)
    return chosen & eligible
