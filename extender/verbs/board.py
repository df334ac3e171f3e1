"""The rows of the status page: one a node with its cards, and one a pod.

Views of the ledger as it is, small, and equal as long as nothing of them changed.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from extender.core.kind_set import Kinds
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.core.usage import Usage
from extender.state.holdings import Footing
from extender.state.ledger_view import LedgerView
from extender.verbs.inspect import node_problems
from extender.verbs.inspect_cards import cards_on, closed_by


class CardShape(NamedTuple):
    """What many cards have in common.

    Attributes:
        kind: Of device.
        model: The registered type.
        mode: The mode word; may be empty.
        capacity: What such a card has.
        counts_units: Whether cores are units of the card, and not percent.
    """

    kind: str
    model: str
    mode: str
    capacity: Usage
    counts_units: bool


class BoardCard(NamedTuple):
    """One card.

    Attributes:
        shape: What it is.
        number: That its node gives it.
        charged: Of all pods; may be more than there is.
        closed_by: The code of why it takes no further container; empty where it may.
    """

    shape: CardShape
    number: int
    charged: Usage
    closed_by: str


class BoardNode(NamedTuple):
    """One node.

    Attributes:
        cards: In the order of their numbers, kind by kind.
        pods: How many hold something there.
        problems: Why cards cannot be read or do not count, and what else is wrong.
    """

    cards: tuple[BoardCard, ...]
    pods: int
    problems: tuple[str, ...]


class BoardPod(NamedTuple):
    """One pod that holds devices or waits for some.

    Attributes:
        namespace: Of the pod.
        name: The same.
        node: Where it counts; None while it waits.
        standing: Why it counts: allocated, reserved and so on; "waiting" while it
            waits; "unusable" where its request cannot be granted anywhere.
        problem: What is wrong with its request; empty where nothing is.
        refused_by: Codes of its latest refusal, each with the number of nodes.
        cause: What they come to; empty where that is not known yet.
    """

    namespace: str
    name: str
    node: NodeName | None
    standing: str
    problem: str
    refused_by: tuple[tuple[str, int], ...]
    cause: str = ""


WAITING = "waiting"
UNUSABLE = "unusable"


def board_nodes(
    ledger: LedgerView, kinds: Kinds, names: Sequence[NodeName]
) -> Iterator[tuple[NodeName, BoardNode | None]]:
    """Give the rows of some nodes; None for those that there is nothing to show of.

    Args:
        ledger: The state.
        kinds: Those that are scheduled.
        names: Each once; few at a time.

    Cost: O(cards + holdings) of these nodes; 20 us a card.
    """
    closed = closed_by(ledger, kinds, names)
    for name in names:
        cards = tuple(
            BoardCard(
                CardShape(
                    card.kind, card.model, card.mode, card.capacity, card.counts_units
                ),
                card.index,
                card.charged,
                "" if card.closed_by is None else card.closed_by.value,
            )
            for card in cards_on(ledger, kinds, name, closed)
        )
        pods = len(ledger.holders_on(name))
        problems = (
            tuple(node_problems(ledger, kinds, name)) if _is_shown(ledger, name) else ()
        )
        row = BoardNode(cards, pods, problems)
        yield name, row if cards or pods or problems else None


def _is_shown(ledger: LedgerView, name: NodeName) -> bool:
    return name in ledger.nodes or bool(ledger.holders_on(name))


def board_pod(
    ledger: LedgerView,
    pod_uid: PodUID,
    refused_by: tuple[tuple[str, int], ...],
    cause: str = "",
) -> BoardPod | None:
    """Give the row of a pod; None where it neither holds nor wants anything.

    Args:
        ledger: The state.
        pod_uid: Of any pod.
        refused_by: Codes of its latest refusal, each with the number of nodes.
        cause: What they come to.
    """
    pod = ledger.pods.get(pod_uid)
    if pod is None:
        return None
    standing = ledger.standing(pod_uid)
    if standing is not None and standing.holding is not None:
        where, why = standing.holding.node_name, standing.footing
        return BoardPod(pod.namespace, pod.name, where, why.value, "", ())
    if standing is not None and standing.footing is not Footing.NOTHING:
        why = standing.footing
        return BoardPod(pod.namespace, pod.name, pod.node_name, why.value, "", ())
    if pod.waits_for_devices:
        return BoardPod(pod.namespace, pod.name, None, WAITING, "", refused_by, cause)
    if _is_refused_everywhere(pod):
        problem = pod.request_problem or ""
        return BoardPod(pod.namespace, pod.name, None, UNUSABLE, problem, ())
    return None


def _is_refused_everywhere(pod: Pod) -> bool:
    return (
        pod.request_problem is not None
        and pod.node_name is None
        and not pod.status.is_finished
        and not pod.status.is_terminating
    )
