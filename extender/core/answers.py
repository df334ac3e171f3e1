"""What many nodes answer to one request: whether it fits, why not, and how well."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from extender.core.arrays import Int64s, Mask
from extender.core.budget import StepBudget
from extender.core.cards import Cards
from extender.core.fitting import fit_on, search_refused
from extender.core.placement import Placement, place
from extender.core.pod_request import PodRequest
from extender.core.policies import node_scores


@dataclass(frozen=True, slots=True)
class Answers:
    """One answer for each of N nodes.

    Attributes:
        fits: bool (N,).
        is_hopeless: bool (N,); it does not fit, and would not if no pod held anything
            there.
        is_cut_short: bool (N,); the search would have gone on, but others had taken the
            steps: to ask again may give another answer.
        reason_bits: int64 (N,); why it does not fit, see `Placement.reason_bits`; of
            the empty node where it is hopeless, and 0 where it fits.
        scores: int64 (N,); of the node's policy after placement; 0 where it does not
            fit.
    """

    fits: Mask
    is_hopeless: Mask
    is_cut_short: Mask
    reason_bits: Int64s
    scores: Int64s

    @classmethod
    def blank(cls, node_count: int) -> "Answers":
        """Make room; the arrays are the caller's own."""
        return cls(
            np.zeros(node_count, np.bool_),
            np.zeros(node_count, np.bool_),
            np.zeros(node_count, np.bool_),
            np.zeros(node_count, np.int64),
            np.zeros(node_count, np.int64),
        )

    def of(self, columns: Int64s) -> "Answers":
        """Copy out the answers of the nodes at `columns`."""
        return Answers(
            self.fits[columns],
            self.is_hopeless[columns],
            self.is_cut_short[columns],
            self.reason_bits[columns],
            self.scores[columns],
        )

    def put(self, columns: Int64s | Mask, others: "Answers") -> None:
        """Write other answers over those of the nodes at `columns`."""
        self.fits[columns] = others.fits
        self.is_hopeless[columns] = others.is_hopeless
        self.is_cut_short[columns] = others.is_cut_short
        self.reason_bits[columns] = others.reason_bits
        self.scores[columns] = others.scores


def merged(answers: Sequence[Answers]) -> Answers:
    """Put together what the same nodes answer to the requests of one pod.

    Args:
        answers: At least one; of different kinds of device.

    Returns:
        A node fits where it fits by each, and is hopeless where it is by any; it gives
        the reasons of those that are as bad. Its score is their mean, halves rounded
        up: each kind counts as much as another.
    """
    first, *others = answers
    if not others:
        return first
    fits = np.logical_and.reduce([each.fits for each in answers])
    is_hopeless = np.logical_or.reduce([each.is_hopeless for each in answers])
    reason_bits = np.bitwise_or.reduce(
        [
            np.where(is_hopeless & ~each.is_hopeless, 0, each.reason_bits)
            for each in answers
        ]
    )
    sums = np.sum([each.scores for each in answers], axis=0)
    scores = (2 * sums + len(answers)) // (2 * len(answers)) * fits
    is_cut_short = np.logical_or.reduce([each.is_cut_short for each in answers])
    return Answers(fits, is_hopeless, is_cut_short, reason_bits, scores)


def answer(cards: Cards, request: PodRequest, budget: StepBudget) -> Answers:
    """Judge a request on every node of `cards`, each on its own.

    Args:
        cards: The nodes; not written to.
        request: At least one container asks for a device.
        budget: For the search.

    Cost: that of `place`; again where it does not fit; and the steps of the search.
    """
    placement = place(cards, request)
    answers = Answers.blank(cards.node_count)
    refused = np.flatnonzero(~placement.fits)
    if refused.size:
        answers.put(refused, _of_refused(cards, request, placement, refused, budget))
    answers.fits[:] = placement.fits
    answers.scores[:] = node_scores(cards, placement.peak, request.node_policy)
    answers.scores[~placement.fits] = 0
    return answers


def _of_refused(
    cards: Cards,
    request: PodRequest,
    placement: Placement,
    refused: Int64s,
    budget: StepBudget,
) -> Answers:
    """Find out which refused nodes are hopeless, and search on the others.

    Nodes are much alike while they are empty, so that to search there first takes few
    steps and saves many. It leaves at least half of them to the nodes as they are.

    Returns:
        Without scores.
    """
    some, columns = cards.narrowed(refused)
    kept = budget.set_aside()
    empty = fit_on(some.at_zero_usage(), request, columns, budget)
    budget.left += kept
    is_hopeless = ~(empty.placement.fits | empty.is_undecided)[columns]
    found = search_refused(cards, request, placement, refused[~is_hopeless], budget)
    bits = np.where(
        is_hopeless,
        empty.placement.reason_bits(columns),
        placement.reason_bits(refused),
    )
    return Answers(
        fits=placement.fits[refused],
        is_hopeless=is_hopeless,
        is_cut_short=empty.is_cut_short[columns] | found.is_cut_short[refused],
        reason_bits=bits,
        scores=np.zeros(len(refused), np.int64),
    )
