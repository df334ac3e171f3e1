"""Fit a pod on many nodes at once.

Sidecars and apps are placed one after another on a copy of what is used. Each init is
placed on a snapshot of that copy from its moment: what is used, plus the sidecars
declared before it. The element-wise maximum of all of these is the pod's peak, per
card and per dimension, together with what others hold.

A container takes, among the cards that no rule refuses, the first ones in the
policy's order. An init takes cards first that the rest of the pod holds, so that the
pod is charged on few cards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.arrays import CORES, MEMORY, SLOTS, Codes, Int64s, Mask
from extender.core.cards import Cards
from extender.core.container import Lifetime
from extender.core.first_cards import first_in_order
from extender.core.links import linked_in_order
from extender.core.mig_placement import Asking, State, Taken, place_instances
from extender.core.needs import share_needed
from extender.core.neighbours import chosen_run, is_in_ring, run_starts
from extender.core.pod_request import ContainerRequest, PodRequest
from extender.core.policies import card_order
from extender.core.reasons import CODES, Reason
from extender.core.rules import (
    CARD_RULES,
    NODE_RULES,
    USE_RULES,
    Trial,
    first_refusals,
)

NO_CONTAINER: Final = -1

_BIT_OF_CODE: Final = np.array(
    [0, *(1 << code for code in CODES.values())], dtype=np.int64
)


@dataclass(frozen=True, slots=True)
class Placement:
    """What came of placing one pod on N nodes of W cards.

    Attributes:
        fits: bool (N,).
        chosen: Per container in start order, bool (W, N); None where the container
            asks for nothing. Meaningful only where the pod fits.
        taken: By a container's index, what it takes one after another, where some node
            has cards in MIG mode; else empty. Empty, too, where nodes were searched
            and there are several: who wants to know asks about one.
        peak: int64 (3, W, N); use with the pod placed, merged over its phases.
            Meaningful only where the pod fits.
        refused_container: int64 (N,); index in start order of the first container
            that did not fit, in the order in which they were placed; `NO_CONTAINER`
            where the pod fits or the node as a whole was refused.
        node_codes: uint8 (N,); code of the reason that refused the whole node, or of
            `Reason.TOO_FEW_CARDS` where some cards would have served, or
            `Reason.NUMA_NOT_FIT` where enough would, if they stood together.
        card_codes: uint8 (W, N); code of the reason that refused each card to that
            container; 0 for a card that would have served, and for padding.
        used_at_refusal: int64 (3, W, N); what was used when that container was
            tried. Meaningful only where a container was refused; (3, W, 0) unless
            asked for.
    """

    fits: Mask
    chosen: Sequence[Mask | None]
    taken: Mapping[int, Sequence[Taken]]
    peak: Int64s
    refused_container: Int64s
    node_codes: Codes
    card_codes: Codes
    used_at_refusal: Int64s

    def reason_bits(self, columns: Int64s) -> Int64s:
        """Collect each node's reasons: int64, one bit set per column.

        Bit `CODES[reason]` is set for every reason that refused the node, or one of
        its cards to the container that did not fit.
        """
        of_cards = _BIT_OF_CODE.take(self.card_codes[:, columns])
        bits: Int64s = np.bitwise_or.reduce(of_cards, axis=0)
        bits |= _BIT_OF_CODE.take(self.node_codes[columns])
        return bits


def place(
    cards: Cards,
    request: PodRequest,
    *,
    links: Int64s | None = None,
    plan: Mapping[int, Sequence[Int64s]] | None = None,
    keep_usage: bool = False,
) -> Placement:
    """Place a pod on every node of `cards`, each on its own.

    Args:
        cards: The nodes; not written to.
        request: At least one container asks for a device.
        links: int64 (W, W); how closely the cards are linked of the one node that
            `cards` then is. Each container gets those that are linked best.
        plan: By a container's index and for each that it takes, int64 (N,): at which
            position; for nodes with cards in MIG mode. The policy chooses nothing then.
        keep_usage: Whether `Placement.used_at_refusal` is wanted.

    Returns:
        A placement whose arrays are the caller's own.

    Cost: a handful of passes over (W, N) arrays for each container that asks.
    """
    return _Attempt(cards, request, links, plan, keep_usage=keep_usage).run()


class _Attempt:
    """One run of `place`; holds the arrays that its steps share."""

    def __init__(
        self,
        cards: Cards,
        request: PodRequest,
        links: Int64s | None,
        plan: Mapping[int, Sequence[Int64s]] | None,
        *,
        keep_usage: bool,
    ) -> None:
        self._cards = cards
        self._request = request
        self._links = links
        self._plan = plan
        self._node_codes = _node_codes(cards, request)
        self._fits: Mask = self._node_codes == 0
        self._static_codes = _static_card_codes(cards, request)
        self._is_open: Mask = cards.exists & (self._static_codes == 0)
        self._slices = cards.held_slices() if cards.has_mig else None
        self._taken: dict[int, Sequence[Taken]] = {}
        self._chosen: list[Mask | None] = [None] * len(request.containers)
        self._refused_container = np.full(cards.node_count, NO_CONTAINER, np.int64)
        self._card_codes: Codes = np.zeros(cards.exists.shape, np.uint8)
        self._keeps_usage = keep_usage
        kept_nodes = cards.node_count if keep_usage else 0
        self._used_at_refusal = cards.used[..., :kept_nodes].copy()

    def run(self) -> Placement:
        steady = self._cards.used.copy()
        held = np.zeros_like(self._cards.exists)
        snapshots: list[tuple[int, Int64s]] = []
        base: Int64s | None = None
        for index, asked in enumerate(self._request.containers):
            if not asked.count or not self._fits.any():
                continue
            if self._request.lifetimes[index] is Lifetime.INIT:
                base = steady.copy() if base is None else base
                snapshots.append((index, base))
            else:
                base = None
                held |= self._place_container(index, asked, steady, None)
        former: tuple[ContainerRequest, Int64s, Mask] | None = None
        for index, base_of_init in snapshots:
            asked = self._request.containers[index]
            is_like_former = (
                former is not None
                and former[0] == asked
                and former[1] is base_of_init
                and self._slices is None
            )
            if former is not None and is_like_former:
                # It would take the cards of its equal before it: they are held now.
                self._chosen[index] = former[2]
                continue
            snapshot = base_of_init.copy()
            if self._slices is not None:
                # Instances of all containers stand side by side, of inits too.
                np.copyto(snapshot, steady, where=self._cards.is_mig)
            chosen = self._place_container(index, asked, snapshot, held)
            former = asked, base_of_init, chosen
            held |= chosen
            np.maximum(steady, snapshot, out=steady)
        return Placement(
            fits=self._fits,
            chosen=self._chosen,
            taken=self._taken,
            peak=steady,
            refused_container=self._refused_container,
            node_codes=self._node_codes,
            card_codes=self._card_codes,
            used_at_refusal=self._used_at_refusal,
        )

    def _place_container(
        self, index: int, asked: ContainerRequest, used: Int64s, preferred: Mask | None
    ) -> Mask:
        """Choose cards for one container and add its shares to `used`."""
        if self._slices is not None:
            state = State(used, self._slices)
            return self._place_instances(index, asked, state, preferred)
        policy = self._request.device_policy
        needed = share_needed(self._cards, asked)
        trial = Trial(self._cards, used, asked, policy, needed)
        refusals = [(reason, rule(trial)) for reason, rule in USE_RULES]
        eligible = self._is_open.copy()
        for _, refused in refusals:
            if refused is not None:
                eligible &= ~refused
        is_short = np.count_nonzero(eligible, axis=0) < asked.count
        newly_refused = self._fits & is_short
        if newly_refused.any():
            self._record_refusal(index, newly_refused, refusals, used, eligible)
            self._fits &= ~is_short
        order = card_order(self._cards, used, policy)
        if policy.on_one_numa_node and asked.count > 1:
            eligible &= self._numa_nodes_with(index, refusals, used, eligible)
            first = first_in_order(order, eligible, preferred, 1)
            ranks = self._cards.numa_ranks
            eligible &= ranks == np.where(first, ranks, 0).sum(axis=0)
        if self._request.wants_neighbours and asked.count > 1:
            starts = self._run_starts(index, refusals, used, eligible)
            chosen = chosen_run(starts, preferred, asked.count)
        elif self._links is None or not self._fits[0]:
            chosen = first_in_order(order, eligible, preferred, asked.count)
        else:
            chosen = linked_in_order(
                self._links, order, eligible, preferred, asked.count
            )
        used[SLOTS] += chosen if asked.profile is None else chosen * needed.slots
        used[MEMORY] += chosen * needed.memory_mib
        used[CORES] += chosen * needed.cores
        self._chosen[index] = chosen
        return chosen

    def _place_instances(
        self,
        index: int,
        asked: ContainerRequest,
        before: State,
        preferred: Mask | None,
    ) -> Mask:
        """Do the same where some cards are in MIG mode; `before.used` is written to."""
        if preferred is None:
            preferred = np.zeros_like(self._is_open)
        policy = self._request.device_policy
        plan = None if self._plan is None else self._plan[index]
        asking = Asking(asked, policy, self._is_open, preferred, self._fits, plan)
        outcome = place_instances(self._cards, asking, before)
        refused = self._fits & ~outcome.fits
        if refused.any():
            self._keep_refusal(
                index,
                refused,
                outcome.refusals,
                outcome.has_some,
                outcome.used_at_refusal,
            )
            self._node_codes[outcome.is_parted] = CODES[Reason.NUMA_NOT_FIT]
            self._fits &= outcome.fits
        before.used[:] = outcome.after.used
        self._slices = outcome.after.slices
        self._taken[index] = outcome.taken
        chosen = np.zeros_like(self._is_open)
        for each in outcome.taken:
            chosen |= each.chosen
        self._chosen[index] = chosen
        return chosen

    def _numa_nodes_with(
        self,
        index: int,
        refusals: Sequence[tuple[Reason, Mask | None]],
        used: Int64s,
        eligible: Mask,
    ) -> Mask:
        """Find the cards whose NUMA node has enough eligible ones; bool (W, N).

        Nodes where enough cards would serve, but not on one NUMA node, are refused.
        """
        ranks = self._cards.numa_ranks
        counts = [
            np.count_nonzero(eligible & (ranks == rank), axis=0)
            for rank in range(int(ranks.max(initial=0)) + 1)
        ]
        has_enough = np.stack(counts) >= self._request.containers[index].count
        serving = np.take_along_axis(has_enough, ranks, axis=0)
        stand_together = np.any(eligible & serving, axis=0)
        self._refuse_scattered(index, ~stand_together, refusals, used, eligible)
        return serving

    def _run_starts(
        self,
        index: int,
        refusals: Sequence[tuple[Reason, Mask | None]],
        used: Int64s,
        eligible: Mask,
    ) -> Mask:
        """Find where enough eligible cards stand in a row; bool (W, N).

        Nodes where enough would serve, but not in a row, are refused.
        """
        count = self._request.containers[index].count
        starts = run_starts(eligible, is_in_ring(self._cards), count)
        stand_together = np.any(starts, axis=0)
        self._refuse_scattered(index, ~stand_together, refusals, used, eligible)
        return starts

    def _refuse_scattered(
        self,
        index: int,
        nodes: Mask,
        refusals: Sequence[tuple[Reason, Mask | None]],
        used: Int64s,
        eligible: Mask,
    ) -> None:
        """Refuse nodes where enough cards would serve, but do not stand together."""
        newly_refused = self._fits & nodes
        if newly_refused.any():
            self._record_refusal(index, newly_refused, refusals, used, eligible)
            self._node_codes[newly_refused] = CODES[Reason.NUMA_NOT_FIT]
            self._fits &= ~newly_refused

    def _record_refusal(
        self,
        index: int,
        nodes: Mask,
        refusals: Sequence[tuple[Reason, Mask | None]],
        used: Int64s,
        eligible: Mask,
    ) -> None:
        """Keep, for the masked nodes, which rule refused each card first."""
        use_codes = first_refusals(refusals, eligible.shape)
        has_some: Mask = np.count_nonzero(eligible, axis=0) > 0
        self._keep_refusal(index, nodes, use_codes, has_some, used)

    def _keep_refusal(
        self, index: int, nodes: Mask, use_codes: Codes, has_some: Mask, used: Int64s
    ) -> None:
        codes = self._static_codes + use_codes * (self._static_codes == 0)
        codes *= self._cards.exists & nodes
        self._card_codes += codes
        self._refused_container[nodes] = index
        self._node_codes[nodes & has_some] = CODES[Reason.TOO_FEW_CARDS]
        if self._keeps_usage:
            self._used_at_refusal[..., nodes] = used[..., nodes]


def open_cards(cards: Cards, request: PodRequest) -> Mask:
    """Find the cards that no rule refuses to the pod whatever their use; (W, N)."""
    is_open: Mask = cards.exists & (_static_card_codes(cards, request) == 0)
    return is_open


def _node_codes(cards: Cards, request: PodRequest) -> Codes:
    codes = np.zeros(cards.node_count, np.uint8)
    for reason, rule in NODE_RULES:
        codes[(codes == 0) & rule(cards, request)] = CODES[reason]
    return codes


def _static_card_codes(cards: Cards, request: PodRequest) -> Codes:
    codes = np.zeros(cards.exists.shape, np.uint8)
    for reason, rule in CARD_RULES:
        refused = rule(cards, request.selection)
        if refused is not None:
            codes[(codes == 0) & refused] = CODES[reason]
    return codes
