"""What a snapshot holds: all that decides, and nothing else of the cluster."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from extender.core.kind_admission import NO_ADMISSION
from extender.core.kinds import Kind
from extender.core.names import NodeName, PodUID
from extender.core.node import Node
from extender.core.pod import NOT_PLACED, Pod
from extender.core.quota_room import Quota
from extender.state.copied import LedgerCopy
from extender.state.holdings import Reservation, Standing, standing_of
from extender.verbs.decision import Circumstances, Decision

FORMAT: Final = 1
"""Of the file; another one is another version of this program's."""


@dataclass(frozen=True, slots=True)
class SavedPod:
    """A pod, and what it counts for.

    Attributes:
        pod: As the API shows it, reduced to what decides.
        standing: With allocations that it was edited from; None where the rest tells
            all that it counts for, as it does of nearly every pod.
        reservation: A place that is held for it.
    """

    pod: Pod
    standing: Standing | None = None
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
        pods: All that hold devices, that room is held for, and the one in question.
        quotas: All that concern devices.
    """

    head: Head
    nodes: tuple[Node, ...]
    pods: tuple[SavedPod, ...]
    quotas: tuple[Quota, ...]


@dataclass(frozen=True, slots=True)
class SnapshotBegun:
    """A snapshot whose lists are made while it is written.

    All of it is of one moment: only its form is made later. Each list can be gone
    through once.

    Attributes:
        head: As of `Snapshot`.
        nodes: The same.
        pods: The same.
        quotas: The same.
    """

    head: Head
    nodes: Iterator[Node]
    pods: Iterator[SavedPod]
    quotas: Iterator[Quota]

    def completed(self) -> Snapshot:
        """Make the rest now."""
        return Snapshot(
            self.head, tuple(self.nodes), tuple(self.pods), tuple(self.quotas)
        )


def begun(head: Head, copy: LedgerCopy) -> SnapshotBegun:
    """Put a decision and the state of its moment together.

    What only people or other verbs read is left out: it quotes annotations and other
    texts of a cluster. So are pods that hold nothing, unless room is held for them.
    """
    return SnapshotBegun(
        replace(
            head,
            pod=_deciding(head.pod),
            kinds=tuple(replace(each, admission=NO_ADMISSION) for each in head.kinds),
        ),
        (
            replace(each, texts=None, handshakes=(), warnings=(), version="")
            for each in copy.nodes
        ),
        _saved_pods(copy, head.pod.uid),
        (replace(each, shown=(), warnings=(), unreadable="") for each in copy.quotas),
    )


def _saved_pods(copy: LedgerCopy, wanted: PodUID) -> Iterator[SavedPod]:
    for pod in copy.pods:
        uid = pod.uid
        standing, place = copy.standings.get(uid), copy.reservations.get(uid)
        counts = standing is not None and standing.holding is not None
        if not counts and pod.nominated_node is None and uid != wanted:
            continue
        told = standing_of(pod, place, None)
        yield SavedPod(_deciding(pod), None if told == standing else standing, place)


def _deciding(pod: Pod) -> Pod:
    status = pod.status
    if status.bound_at is not None:
        status = replace(status, bound_at=None)
    return replace(
        pod,
        status=status,
        warnings=(),
        leftovers=(),
        scheduler_name="",
        placing=NOT_PLACED,
    )
