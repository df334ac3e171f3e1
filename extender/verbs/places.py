"""Where a pod would go of the nodes that it fits on, and why."""

from collections.abc import Iterator

from extender.core.budget import SearchCounts, StepBudget
from extender.core.fitting import fit
from extender.core.names import NodeName
from extender.core.policies import node_scores, use_ratios
from extender.verbs.bind import choose_devices
from extender.verbs.exact import choose_node
from extender.verbs.explanation import Place, PlacedShare, RankedNode, ScoreTerms
from extender.verbs.moment import Moment
from extender.verbs.prioritize import best_node, score_nodes

_RANKED = 5


def place_of(moment: Moment) -> Place:
    """Tell which of the fitting nodes is the best, by prioritize's scores.

    In exact mode, it is the one that filter would choose.

    Args:
        moment: The pod fits on some node.

    Cost: that of prioritize, and of the choice of cards on one node.
    """
    names = tuple(moment.decision.fitting)
    scored = score_nodes(
        moment.fleet,
        moment.pod,
        names,
        moment.own,
        moment.beside,
        binds_at=moment.binds_at,
        burst=moment.burst,
    )
    scores = dict(zip(names, scored.tolist(), strict=True))
    best = _chosen(moment, names) if moment.is_exact else best_node(scores)
    ranked = sorted(names, key=lambda name: (name != best, -scores[name], name))
    return Place(
        best,
        scores[best],
        tuple(_terms(moment, best)),
        moment.binds_at.get(best, 0),
        tuple(_shares(moment, best)),
        tuple(RankedNode(name, scores[name]) for name in ranked[:_RANKED]),
    )


def _chosen(moment: Moment, names: tuple[NodeName, ...]) -> NodeName:
    return choose_node(
        moment.fleet,
        moment.pod,
        names,
        moment.own,
        nominated=moment.beside,
        expected=[holding for _, holding in moment.expected],
        binds_at=moment.binds_at,
        burst=moment.burst,
    )


def _terms(moment: Moment, name: NodeName) -> Iterator[ScoreTerms]:
    for request in moment.pod.asking:
        cards = moment.fleet.of(request.kind).node(name, moment.own, moment.beside)
        if cards is None:
            continue
        budget = StepBudget.of_one(SearchCounts())
        peak = fit(cards, request, budget).placement.peak
        slots, memory, cores = use_ratios(cards, peak)[:, 0].tolist()
        policy = request.node_policy
        score = int(node_scores(cards, peak, policy)[0])
        yield ScoreTerms(request.kind, policy.value, slots, memory, cores, score)


def _shares(moment: Moment, name: NodeName) -> Iterator[PlacedShare]:
    pod = moment.pod
    allocation = choose_devices(
        moment.fleet, pod, name, moment.own, moment.beside, rooms=moment.rooms
    )
    index_of = {
        device.device_uuid: device.index
        for request in pod.asking
        for device in moment.devices_on(name, request.kind)
    }
    for container, row in zip(pod.containers, allocation or (), strict=False):
        for share in row:
            yield PlacedShare(
                container.name,
                container.lifetime,
                share.kind,
                share.device_uuid,
                index_of.get(share.device_uuid, 0),
                share.memory_mib,
                share.core_percent,
                share.instance.profile if share.instance else None,
            )
