"""filter: which nodes can hold a pod, and why the others cannot."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from extender.core.arrays import Int64s
from extender.core.cards import Cards
from extender.core.fleet import Fleet, Selected
from extender.core.holding import Holding
from extender.core.model import NodeName, Pod, PodRequest
from extender.core.placement import Placement, place, place_when_empty
from extender.core.reasons import Reason, joined


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


def filter_nodes(
    fleet: Fleet,
    pod: Pod,
    node_names: Sequence[NodeName],
    own: Holding | None,
    nominated: Sequence[Holding] = (),
) -> FilterDecision:
    """Judge a pod on every node. Changes nothing.

    Args:
        fleet: Cards and totals.
        pod: To be placed.
        node_names: Candidates, each once.
        own: What the pod itself already counts for; it is left out of the totals.
        nominated: What pods that others were evicted for will hold.
    """
    if pod.request_problem is not None:
        return FilterDecision(
            unresolvable=dict.fromkeys(node_names, pod.request_problem)
        )
    if not pod.request.asks_for_devices:
        return FilterDecision(fitting=list(node_names))
    return _Sieve(fleet, pod.request, node_names).run(own, nominated)


class _Sieve:
    """One run of `filter_nodes`."""

    def __init__(
        self, fleet: Fleet, request: PodRequest, node_names: Sequence[NodeName]
    ) -> None:
        self._fleet = fleet
        self._request = request
        self._node_names = node_names
        self._is_judged = np.zeros(len(node_names), np.bool_)
        self._fits = np.zeros(len(node_names), np.bool_)
        self._decision = FilterDecision()

    def run(self, own: Holding | None, nominated: Sequence[Holding]) -> FilterDecision:
        for selected in self._fleet.select(self._node_names, own, nominated):
            self._judge(selected)
        self._refuse_unusable()
        names = self._node_names
        self._decision.fitting = (
            list(names)
            if self._fits.all()
            else [names[position] for position in np.flatnonzero(self._fits).tolist()]
        )
        return self._decision

    def _judge(self, selected: Selected) -> None:
        self._is_judged[selected.positions] = True
        placement = place(selected.cards, self._request)
        fits = placement.fits[selected.columns]
        self._fits[selected.positions] = fits
        refused = np.flatnonzero(~fits)
        if refused.size:
            columns = selected.columns[refused]
            positions = selected.positions[refused]
            self._refuse(selected.cards, placement, columns, positions)

    def _refuse(
        self, cards: Cards, placement: Placement, columns: Int64s, positions: Int64s
    ) -> None:
        cards, ideal_columns = cards.narrowed(columns)
        ideal = place_when_empty(cards, self._request)
        resolvable = ideal.fits[ideal_columns]
        self._explain(
            self._decision.failed,
            positions[resolvable],
            placement.reason_bits(columns[resolvable]),
        )
        self._explain(
            self._decision.unresolvable,
            positions[~resolvable],
            ideal.reason_bits(ideal_columns[~resolvable]),
        )

    def _explain(
        self, texts: dict[NodeName, str], positions: Int64s, bits: Int64s
    ) -> None:
        if not positions.size:
            return
        names: Iterable[NodeName] = self._node_names
        if len(positions) < len(self._node_names):
            names = map(self._node_names.__getitem__, positions.tolist())
        text_of = {each: joined(each) for each in np.unique(bits).tolist()}
        if len(text_of) == 1:
            texts.update(dict.fromkeys(names, *text_of.values()))
        else:
            reasons = map(text_of.__getitem__, bits.tolist())
            texts.update(zip(names, reasons, strict=True))

    def _refuse_unusable(self) -> None:
        for position in np.flatnonzero(~self._is_judged).tolist():
            node_name = self._node_names[position]
            reason = self._fleet.why_unusable(node_name)
            if reason is not None:
                self._decision.unresolvable[node_name] = reason.value
