"""One node's answer in full: each card with what is needed, free, and who holds it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from extender.core.arrays import CORES, MEMORY, SLOTS, Int64s
from extender.core.names import NodeName
from extender.core.pod_request import PodRequest
from extender.core.reasons import Reason
from extender.core.usage import Usage
from extender.verbs.explanation import CardView, NodeView
from extender.verbs.findings import Finding, findings_of
from extender.verbs.holders import holders_on
from extender.verbs.moment import Moment
from extender.verbs.pod_phases import phase_of
from extender.verbs.verdicts import NodeVerdict, judge_kinds, judge_node

_LONGER_SEARCH = (
    "a longer search, as bind makes it, finds that it fits: the order in which "
    "containers take cards matters there"
)


def node_view(moment: Moment, name: NodeName) -> NodeView:
    """Explain one node.

    Cost: that of a verdict, and O(phases x shares) of the pods there.
    """
    text = moment.refusal_on(name)
    reasons = () if text is None else moment.reasons_in(text)
    verdicts = [] if text is None else _verdicts(moment, name)
    refused = next((each for each in verdicts if each.container is not None), None)
    problems = [each.problem for each in verdicts if each.problem]
    lock = moment.locks.get(name)
    findings = [each for verdict in verdicts for each in findings_of(verdict)]
    note = ""
    if Reason.NODE_LOCKED in reasons:
        holder = lock.holder if lock else None
        told = f"the device plugin has not served {holder or 'its pod'} yet"
        findings.append(Finding(Reason.NODE_LOCKED, told))
    elif text is not None and not verdicts:
        note = _LONGER_SEARCH
    return NodeView(
        name,
        fits=text is None,
        is_unresolvable=name in moment.decision.unresolvable,
        reasons=reasons,
        findings=tuple(findings),
        problem=problems[0] if problems else None,
        container=refused.container if refused else None,
        phase=_phase(moment, refused) if refused else None,
        cards=tuple(_cards(moment, name, verdicts)),
        lock=lock,
        expected=tuple(
            pod for pod, holding in moment.expected if holding.node_name == name
        ),
        note=note,
    )


def _verdicts(moment: Moment, name: NodeName) -> list[NodeVerdict]:
    """Judge a node by each kind; those of which filter tells come first and alone."""
    fleet, pod, own, beside = moment.fleet, moment.pod, moment.own, moment.beside
    verdict = judge_node(fleet, pod, name, own, beside, rooms=moment.rooms)
    if verdict is None or verdict.problem is not None or verdict.shortages:
        return [verdict] if verdict is not None else []
    verdicts = judge_kinds(fleet, pod, name, own, beside)
    worst = verdicts[0].is_unresolvable
    told = [each for each in verdicts if each.is_unresolvable == worst]
    return [moment.with_problem(each) for each in told]


def _phase(moment: Moment, verdict: NodeVerdict) -> str | None:
    pod = moment.pod
    names = [container.name for container in pod.containers]
    if verdict.container is None:
        return None
    index = names.index(verdict.container)
    for request in pod.asking:
        if request.kind == verdict.kind:
            return phase_of(pod, request, index)
    return None


def _cards(
    moment: Moment, name: NodeName, verdicts: Sequence[NodeVerdict]
) -> Iterator[CardView]:
    holders = holders_on(moment.ledger, name, moment.nominated)
    verdict_of = {verdict.kind: verdict for verdict in verdicts}
    for request in moment.pod.asking:
        for view in _cards_of(moment, name, request, verdict_of.get(request.kind)):
            yield replace(view, holders=holders.get(view.device_uuid, ()))


def _cards_of(
    moment: Moment, name: NodeName, request: PodRequest, verdict: NodeVerdict | None
) -> Iterator[CardView]:
    of_kind = moment.fleet.of(request.kind)
    cards = of_kind.node(name, moment.own, moment.beside)
    if cards is None:
        return
    devices = moment.devices_on(name, request.kind)
    index_of = {device.device_uuid: device.index for device in devices}
    judged = verdict.cards if verdict is not None else ()
    counts_units = request.tells_cores_apart or any(
        each.cores_of_card for each in request.containers
    )
    for position in range(int(cards.card_counts[0])):
        uuid = cards.device_uuid(position, 0)
        capacity = _usage(cards.capacity, position)
        free = capacity - _usage(cards.used, position)
        plain = CardView(
            uuid,
            index_of.get(uuid, 0),
            cards.model(position, 0),
            request.kind,
            capacity,
            free,
            counts_units=counts_units,
        )
        if verdict is None or not judged:
            yield plain
            continue
        card = judged[position]
        before = capacity if verdict.is_unresolvable else free
        yield replace(
            plain,
            needed=card.needed,
            beside=before - card.free,
            refused_by=card.refused_by,
        )


def _usage(amounts: Int64s, position: int) -> Usage:
    at = amounts[:, position, 0]
    return Usage(int(at[SLOTS]), int(at[MEMORY]), int(at[CORES]))
