"""What a snapshot holds: all that decides, and nothing else of the cluster."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from extender.core.kinds import Kind
from extender.core.names import NodeName
from extender.core.node import Node
from extender.core.pod import Pod
from extender.core.quota_room import Quota
from extender.state.holdings import Reservation, Standing
from extender.state.ledger_view import LedgerView
from extender.verbs.decision import Circumstances, Decision

FORMAT: Final = 1
"""Of the file; another one is another version of this program's."""


@dataclass(frozen=True, slots=True)
class SavedPod:
    """A pod, and what it counts for.

    Attributes:
        pod: As the API shows it, reduced to what decides.
        standing: With allocations that it was edited from.
        reservation: A place that is held for it.
    """

    pod: Pod
    standing: Standing
    reservation: Reservation | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """Everything of a snapshot but its three long lists.

    Attributes:
        format: See `FORMAT`.
        made_by: Version of the program.
        taken_at: Unix seconds.
        generation: Of the state.
        kinds: Those that are scheduled.
        pod: Which is decided about, by its UID or else by its name: it may be none of
            the cluster's.
        node_names: The candidates, in the order asked.
        given: What else counts.
        decision: What was decided.
        is_anonymous: Whether names were replaced.
    """

    format: int
    made_by: str
    taken_at: float
    generation: int
    kinds: tuple[Kind, ...]
    pod: Pod
    node_names: tuple[NodeName, ...]
    given: Circumstances
    decision: Decision
    is_anonymous: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state and a decision.

    Attributes:
        head: The decision, and what it goes by.
        nodes: All that are known.
        pods: All that ask for devices or hold any.
        quotas: All that concern devices.
    """

    head: Head
    nodes: tuple[Node, ...]
    pods: tuple[SavedPod, ...]
    quotas: tuple[Quota, ...]


def saved_nodes(ledger: LedgerView) -> tuple[Node, ...]:
    """Give the nodes, without what is only kept to read them again, or for people."""
    return tuple(
        replace(node, texts=None, handshakes=(), warnings=(), version="")
        for node in ledger.nodes.values()
    )


def saved_pods(ledger: LedgerView) -> tuple[SavedPod, ...]:
    """Give every pod with what it counts for."""
    return tuple(_saved_pods(ledger))


def _saved_pods(ledger: LedgerView) -> Iterator[SavedPod]:
    for uid, pod in ledger.pods.items():
        standing = ledger.standing(uid)
        if standing is not None:
            yield SavedPod(pod, standing, ledger.reservation(uid))
