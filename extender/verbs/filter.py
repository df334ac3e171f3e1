"""filter: which nodes can hold a pod, and why the others cannot."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from extender.core.answers import Answers
from extender.core.arrays import Int64s, Mask
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import NodeName
from extender.core.pod import Pod
from extender.core.quota_room import NO_ROOMS, QuotaRooms
from extender.core.reasons import Reason, joined
from extender.verbs.quota import over_quota, reason_of, shortages_anywhere


@dataclass(frozen=True, slots=True)
class Refusals:
    """How many nodes were refused by each text, which may join several reasons.

    Attributes:
        failed: For now.
        unresolvable: Also if no pod held anything there.
    """

    failed: Counter[str]
    unresolvable: Counter[str]


@dataclass(slots=True)
class FilterDecision:
    """The answer for each node that was asked about.

    Attributes:
        fitting: In the order asked.
        failed: Does not fit now; the text says why.
        unresolvable: Would not fit either if no pod held anything there, or is not
            registered; the text says why.
    """

    fitting: list[NodeName] = field(default_factory=list)
    failed: dict[NodeName, str] = field(default_factory=dict)
    unresolvable: dict[NodeName, str] = field(default_factory=dict)

    def refuse(self, node_names: Collection[NodeName], reason: Reason) -> None:
        """Refuse nodes for now, though their cards would do."""
        refused = set(node_names).intersection(self.fitting)
        if refused:
            self.fitting = [name for name in self.fitting if name not in refused]
            self.failed.update(dict.fromkeys(sorted(refused), reason.value))

    def count_refusals(self) -> Refusals:
        """Count nodes by text; about 0.03 us each."""
        return Refusals(
            Counter(self.failed.values()), Counter(self.unresolvable.values())
        )


def filter_nodes(
    fleet: Fleet,
    pod: Pod,
    node_names: Sequence[NodeName],
    own: Holding | None,
    nominated: Sequence[Holding] = (),
    *,
    rooms: QuotaRooms = NO_ROOMS,
) -> FilterDecision:
    """Judge a pod on every node. Changes nothing.

    Where its namespace has no room for it on any node, none is looked at: all refuse it
    for now, also those that could never hold it.

    Args:
        fleet: Cards and totals.
        pod: To be placed.
        node_names: Candidates, each once.
        own: What the pod itself already counts for; it is left out of the totals.
        nominated: What pods that others were evicted for will hold.
        rooms: What the quotas of its namespace leave it.
    """
    if pod.request_problem is not None:
        return FilterDecision(
            unresolvable=dict.fromkeys(node_names, pod.request_problem)
        )
    if not pod.asks_for_devices:
        return FilterDecision(fitting=list(node_names))
    if rooms and (short := shortages_anywhere(fleet, pod, rooms)):
        return FilterDecision(failed=dict.fromkeys(node_names, reason_of(short).value))
    answers = fleet.answers(node_names, pod.asking, own, nominated)
    decision = _decision(answers, node_names)
    if rooms and decision.fitting:
        over = over_quota(fleet, pod, decision.fitting, own, nominated, rooms=rooms)
        for reason in set(over.values()):
            decision.refuse([name for name in over if over[name] is reason], reason)
    return decision


def _decision(answers: Answers, node_names: Sequence[NodeName]) -> FilterDecision:
    if answers.fits.all():
        return FilterDecision(fitting=list(node_names))
    is_failed = ~answers.fits & ~answers.is_hopeless
    return FilterDecision(
        _named(node_names, answers.fits),
        _explained(node_names, is_failed, answers.reason_bits),
        _explained(node_names, answers.is_hopeless, answers.reason_bits),
    )


def _named(node_names: Sequence[NodeName], mask: Mask) -> list[NodeName]:
    return list(map(node_names.__getitem__, np.flatnonzero(mask).tolist()))


def _explained(
    node_names: Sequence[NodeName], mask: Mask, reason_bits: Int64s
) -> dict[NodeName, str]:
    names: Sequence[NodeName] = node_names
    if not mask.all():
        names, reason_bits = _named(node_names, mask), reason_bits[mask]
    text_of = {each: joined(each) for each in np.unique(reason_bits).tolist()}
    if len(text_of) == 1:
        return dict.fromkeys(names, *text_of.values())
    return dict(zip(names, map(text_of.__getitem__, reason_bits.tolist()), strict=True))
