"""The sentences of causes: what stands in the way of a pod, and what to do.

The only home of each. None names a node, a card or another pod.
"""

from collections.abc import Mapping
from typing import Final

from extender.verbs.explanation import Cause, CauseKind

_TEXTS: Final[Mapping[CauseKind, tuple[str, str]]] = {
    CauseKind.BAD_REQUEST: (
        "its request cannot be honoured as it is written",
        "mend the pod: it is refused on every node, whatever is free",
    ),
    CauseKind.TOO_LARGE: (
        "it asks for more than any card has that it may use",
        "ask for less, or add larger cards; nothing that ends helps",
    ),
    CauseKind.NO_PROFILE: (
        "no card that it may use can be cut into a part as large as it asks for",
        "ask for what a profile of these cards has",
    ),
    CauseKind.TOO_MANY_CARDS: (
        "it asks for more cards, or shares of cards, than any node has",
        "ask for fewer, or for more containers with fewer each",
    ),
    CauseKind.WRONG_MODEL: (
        "no node has a card of a model that it accepts",
        "name another model in its annotation, or add such cards",
    ),
    CauseKind.WRONG_MODE: (
        "no card is in a mode that it accepts",
        "name the mode that the cards are in, or leave its annotation out",
    ),
    CauseKind.NO_SUCH_CARD: (
        "no node has a card that it names by UUID",
        "mend the UUIDs in its annotation: they are exact and case-sensitive",
    ),
    CauseKind.NO_CARDS: (
        "no node has cards of its kind that count",
        "see whether the device plugins run, and register their cards",
    ),
    CauseKind.NOT_SELECTED: (
        "no node is one of those that are scheduled here",
        "label the nodes, or change --node-label-selector",
    ),
    CauseKind.OUT_OF_SERVICE: (
        "the cards that could serve it are cordoned or unhealthy",
        "end the cordon, or see to the card and its device plugin",
    ),
    CauseKind.SILENT_PLUGIN: (
        "the nodes that could hold it have no live device plugin",
        "see whether the device plugin runs there",
    ),
    CauseKind.UNREADABLE: (
        "what its nodes register, or what a pod holds there, cannot be read",
        "gpu-extender doctor names it, and says what to do",
    ),
    CauseKind.HELD: (
        "other pods hold the room that it needs",
        "wait for pods to end, or ask for less",
    ),
    CauseKind.SCATTERED: (
        "a node has enough free in total, but not on single cards",
        "ask for less of each card, or wait for pods to end",
    ),
    CauseKind.SLOTS: (
        "the cards serve as many containers as they may, whatever memory is free",
        "wait for pods to end, or raise the split count of the device plugin",
    ),
    CauseKind.DEVICE_IDS: (
        "kubelet has too few device ids left: inits keep theirs to the pod's end",
        "wait for pods to end, or raise the split count of the device plugin",
    ),
    CauseKind.ALONE: (
        "it wants a card for itself, and other pods are on all that it may use",
        "wait for an idle card, ask for less than all cores, or leave mutex out",
    ),
    CauseKind.KEPT_OUT: (
        "pods that want their cards for themselves hold all that it may use",
        "wait for these to end",
    ),
    CauseKind.COMPANY: (
        "the pods on the cards that it may use do not share with it",
        "wait for an idle card, or ask for what those pods have",
    ),
    CauseKind.NO_INSTANCE: (
        "no card in MIG mode has a place free for an instance of that size",
        "wait for pods on such cards to end, or ask for a smaller profile",
    ),
    CauseKind.TOGETHER: (
        "enough cards would serve, but not together on one node or NUMA node",
        "ask for fewer cards, leave numa-bind out, or wait",
    ),
    CauseKind.QUOTA: (
        "a quota of its namespace has no room for it",
        "wait for pods of the namespace to end, ask for less, or raise the quota",
    ),
    CauseKind.QUOTA_UNREADABLE: (
        "a quota of its namespace cannot be read",
        "mend the quota; gpu-extender quota names it",
    ),
    CauseKind.LOCKED: (
        "the node that has room is locked: a pod there waits for its device plugin",
        "see to that pod and to the plugin; the node's hami.io/mutex.lock names it",
    ),
    CauseKind.UNDECIDED: (
        "it could not be decided in time how its containers share the cards",
        "ask with gpu-extender schedule; declare the largest container first",
    ),
    CauseKind.ELSEWHERE: (
        "its devices would fit; kube-scheduler keeps it from there for other reasons",
        "mind taints, selectors, CPU and memory",
    ),
}


def cause(kind: CauseKind, problem: str = "", said: str = "") -> Cause:
    """Put a cause in words.

    Args:
        kind: Of the cause.
        problem: What is wrong with the pod, where it is that.
        said: What kube-scheduler has written of it, where that tells more.
    """
    text, note = _TEXTS[kind]
    if problem:
        text = f"{text}: {problem}"
    if said:
        note = f"{note}; kube-scheduler says: {said}"
    return Cause(kind, text, note)
