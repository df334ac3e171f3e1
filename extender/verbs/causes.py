"""Why a pod waits, in one sentence, and what to do, in another.

Filter gives codes, a set a node. The cause is what all of them come to: what stands in
the way where the pod came closest.
"""

import re
from collections import Counter
from collections.abc import Generator, Mapping
from typing import Final

import numpy as np

from extender.core.arrays import CORES, MEMORY
from extender.core.names import NodeName
from extender.core.needs import share_needed
from extender.core.placement import open_cards
from extender.core.pod import Pod
from extender.core.pod_request import PodRequest
from extender.core.reasons import Reason
from extender.core.rules import WHOLE_CARD_PERCENT
from extender.state.ledger_view import LedgerView
from extender.verbs.cause_texts import cause
from extender.verbs.explanation import Cause, CauseKind
from extender.verbs.filter import Refusals
from extender.verbs.relaxed import Change, change_steps

_NODES_A_STEP: Final = 512

_REASON_OF: Final = {reason.value: reason for reason in Reason}

_FIRST_OF_ALL: Final = {
    Reason.NODE_LOCKED: CauseKind.LOCKED,
    Reason.QUOTA_NOT_FIT: CauseKind.QUOTA,
    Reason.QUOTA_UNREADABLE: CauseKind.QUOTA_UNREADABLE,
}
"""The pod would fit there but for this."""

_BY_USE: Final = {
    Reason.NODE_HAS_UNREADABLE_ALLOCATION: CauseKind.UNREADABLE,
    Reason.KUBELET_SLOTS_EXHAUSTED: CauseKind.DEVICE_IDS,
    Reason.CARD_QUARANTINED: CauseKind.UNREADABLE,
    Reason.CARD_APP_CLASS_MISMATCH: CauseKind.COMPANY,
    Reason.CARD_QOS_POLICY_MISMATCH: CauseKind.COMPANY,
    Reason.CARD_SLOTS_EXHAUSTED: CauseKind.SLOTS,
    Reason.CARD_INSUFFICIENT_MEMORY: CauseKind.HELD,
    Reason.CARD_SHARED_UNEQUALLY: CauseKind.COMPANY,
    Reason.CARD_INSUFFICIENT_CORE: CauseKind.HELD,
    Reason.CARD_EXCLUSIVE_CONFLICT: CauseKind.ALONE,
    Reason.CARD_COMPUTE_EXHAUSTED: CauseKind.HELD,
    Reason.CARD_MIG_TOPOLOGY_INFEASIBLE: CauseKind.NO_INSTANCE,
}
"""Where the pod would fit if nobody held anything."""

_BY_SIZE: Final = {
    Reason.CARD_PROFILE_MISMATCH: CauseKind.NO_PROFILE,
    Reason.CARD_SLOTS_EXHAUSTED: CauseKind.TOO_MANY_CARDS,
    Reason.CARD_INSUFFICIENT_MEMORY: CauseKind.TOO_LARGE,
    Reason.CARD_INSUFFICIENT_CORE: CauseKind.TOO_LARGE,
    Reason.CARD_EXCLUSIVE_CONFLICT: CauseKind.TOO_LARGE,
    Reason.CARD_COMPUTE_EXHAUSTED: CauseKind.TOO_LARGE,
    Reason.CARD_MIG_TOPOLOGY_INFEASIBLE: CauseKind.NO_PROFILE,
    Reason.KUBELET_SLOTS_EXHAUSTED: CauseKind.DEVICE_IDS,
}
"""Where it would not fit even then."""

_BY_NUMBER: Final = {
    Reason.NUMA_NOT_FIT: CauseKind.TOGETHER,
    Reason.TOO_FEW_CARDS: CauseKind.TOGETHER,
    Reason.NODE_INSUFFICIENT_DEVICE: CauseKind.TOO_MANY_CARDS,
    Reason.SEARCH_EXHAUSTED: CauseKind.UNDECIDED,
}

_BY_CARD: Final = {
    Reason.CARD_UUID_MISMATCH: CauseKind.NO_SUCH_CARD,
    Reason.CARD_TYPE_MISMATCH: CauseKind.WRONG_MODEL,
    Reason.CARD_MODE_MISMATCH: CauseKind.WRONG_MODE,
    Reason.CARD_CORDONED: CauseKind.OUT_OF_SERVICE,
    Reason.CARD_NOT_HEALTHY: CauseKind.OUT_OF_SERVICE,
    Reason.NODE_REGISTRATION_UNREADABLE: CauseKind.UNREADABLE,
    Reason.NODE_NOT_SELECTED: CauseKind.NOT_SELECTED,
    Reason.NODE_UNREGISTERED: CauseKind.NO_CARDS,
}

_CLOSED: Final = {
    Reason.CARD_CORDONED,
    Reason.CARD_NOT_HEALTHY,
    Reason.NODE_UNREGISTERED,
}
"""What may be so for a while."""

_BY_CHANGE: Final = {
    Change.SERVICE: CauseKind.OUT_OF_SERVICE,
    Change.PLUGINS: CauseKind.SILENT_PLUGIN,
    Change.CARDS: CauseKind.NO_SUCH_CARD,
    Change.MODELS: CauseKind.WRONG_MODEL,
    Change.MODES: CauseKind.WRONG_MODE,
}


def cause_steps(
    ledger: LedgerView, pod: Pod, refusals: Refusals
) -> Generator[None, None, Cause | None]:
    """Tell why a pod fits nowhere, in steps of some milliseconds.

    Args:
        ledger: The state.
        pod: To be placed.
        refusals: Filter's, all of them.

    Returns:
        None where filter was asked about no node.

    Cost: little where room would help; else up to five times that of filter.
    """
    if pod.request_problem is not None:
        return cause(CauseKind.BAD_REQUEST, pod.request_problem)
    failed = _counts(refusals.failed)
    if failed:
        kind = _first(failed, _FIRST_OF_ALL, _BY_USE, _BY_NUMBER) or CauseKind.HELD
        if kind is CauseKind.HELD:
            is_scattered = yield from _is_scattered(ledger, pod)
            kind = CauseKind.SCATTERED if is_scattered else kind
        elif kind is CauseKind.ALONE and not _wants_to_be_alone(pod):
            kind = CauseKind.KEPT_OUT
        return cause(kind)
    hopeless = _counts(refusals.unresolvable)
    if not hopeless:
        return None
    codes = set(hopeless)
    if codes & _BY_SIZE.keys():
        codes -= _BY_CARD.keys() - _CLOSED  # some cards are what the pod accepts
    change = yield from change_steps(ledger, pod.asking, codes)
    if change is not None:
        return cause(_BY_CHANGE[change])
    kind = _first(hopeless, _BY_SIZE, _BY_NUMBER, _BY_CARD) or CauseKind.HELD
    return cause(kind)


def cause_elsewhere(pod: Pod) -> Cause | None:
    """Tell why a pod waits whose devices would fit on some node.

    By what kube-scheduler has written of it, which looks at more than devices.

    Returns:
        None where it has written nothing.
    """
    said = pod.placing.refusal
    if said is None or pod.node_name is not None:
        return None
    codes = Counter(
        reason for text, reason in _REASON_OF.items() if re.search(rf"\b{text}\b", said)
    )
    kind = _first(codes, _FIRST_OF_ALL, _BY_USE, _BY_NUMBER)
    if kind is None:
        return cause(CauseKind.ELSEWHERE, said=said)
    return cause(kind, said=said)


def _counts(texts: Mapping[str, int]) -> Counter[Reason]:
    """Count nodes by reason; "too few" only where it stands alone."""
    found: Counter[Reason] = Counter()
    for text, count in texts.items():
        reasons = {_REASON_OF[each] for each in text.split(", ")}
        if reasons.intersection(_BY_USE):
            reasons.discard(Reason.TOO_FEW_CARDS)
        found.update(dict.fromkeys(reasons, count))
    return found


def _first(
    counts: Counter[Reason], *groups: Mapping[Reason, CauseKind]
) -> CauseKind | None:
    """Take the most frequent reason of the first group that has any."""
    for group in groups:
        found = [reason for reason in group if counts[reason]]
        if found:
            return group[max(found, key=counts.__getitem__)]
    return None


def _wants_to_be_alone(pod: Pod) -> bool:
    return pod.is_exclusive or any(
        asked.core_percent == WHOLE_CARD_PERCENT
        for request in pod.asking
        for asked in request.containers
    )


def _is_scattered(ledger: LedgerView, pod: Pod) -> Generator[None, None, bool]:
    """Tell whether a node has enough free, only not on single cards."""
    names = [*ledger.nodes]
    for start in range(0, len(names), _NODES_A_STEP):
        yield
        some = names[start : start + _NODES_A_STEP]
        if any(_is_scattered_on(ledger, some, request) for request in pod.asking):
            return True
    return False


def _is_scattered_on(
    ledger: LedgerView, names: list[NodeName], request: PodRequest
) -> bool:
    asked_of_all = [asked for asked in request.containers if asked.count]
    for cards, _ in ledger.fleet.of(request.kind).nodes(names):
        is_open = open_cards(cards, request)
        free = np.where(is_open, np.maximum(cards.capacity - cards.used, 0), 0)
        for asked in asked_of_all:
            needed = share_needed(cards, asked)
            amounts = ((MEMORY, needed.memory_mib), (CORES, needed.cores))
            together = [
                free[dimension].sum(axis=0) >= asked.count * amount.max(axis=0)
                for dimension, amount in amounts
            ]
            alone = is_open & (free[MEMORY] >= needed.memory_mib)
            alone &= free[CORES] >= needed.cores
            if (np.logical_and(*together) & (alone.sum(axis=0) < asked.count)).any():
                return True
    return False
