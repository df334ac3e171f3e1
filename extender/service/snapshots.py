"""snapshot and replay: a state with a decision, taken here and decided again there."""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from typing import Final

from extender.core.kind_set import Kinds
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.errors import NotFound
from extender.service.in_turns import in_turns
from extender.service.nominated import NominatedRoom
from extender.state.events import NodeSeen, QuotaSeen, Remembered
from extender.state.ledger import Ledger
from extender.state.ledger_view import LedgerView
from extender.verbs.decision import Circumstances, Decision, decide
from extender.verbs.explain import as_new
from extender.verbs.nominations import Nomination
from extender.verbs.snapshot.differences import cards_text, differences
from extender.verbs.snapshot.replay import Replay, steps_of
from extender.verbs.snapshot.saved import (
    FORMAT,
    Head,
    Snapshot,
    SnapshotBegun,
    begun,
)
from extender.wire.snapshots import encode_pieces

_A_STEP: Final = 32
"""Nodes and pods that are written in one step: 1 to 3 ms."""

_LOOKED_AT_A_STEP: Final = 4_000
"""Pods, by their names: 1 to 2 ms."""


class Snapshots:
    """Takes snapshots of what an extender knows and would decide."""

    def __init__(
        self,
        *,
        ledger: LedgerView,
        nominated: NominatedRoom,
        kinds: Callable[[], Kinds],
        given: Callable[[Pod], Circumstances],
        unix_seconds: Callable[[], float],
        version: str,
    ) -> None:
        """Take them of a state.

        Args:
            ledger: The state.
            nominated: Room that is held for others.
            kinds: Gives those that are scheduled.
            given: Gives what else a pod's decision goes by.
            unix_seconds: The clock.
            version: Of the program.
        """
        self._ledger = ledger
        self._nominated = nominated
        self._kinds = kinds
        self._given = given
        self._unix_seconds = unix_seconds
        self._version = version

    def take(self, pod: Pod, node_names: Sequence[NodeName] | None = None) -> Snapshot:
        """Take the state of this moment, and decide about a pod on it.

        Args:
            pod: One of the cluster, or a new one.
            node_names: The candidates; None for all nodes.

        Cost: that of `begin`, and O(nodes + pods).
        """
        return self.begin(pod, node_names).completed()

    def begin(
        self, pod: Pod, node_names: Sequence[NodeName] | None = None
    ) -> SnapshotBegun:
        """Do the same, but for the long lists, which are made while they are written.

        Cost: that of a filter, and references to all nodes and pods.
        """
        names = sorted(self._ledger.nodes) if node_names is None else [*node_names]
        given = self._given(pod)
        nominated = self._nominated.held_against(pod)
        head = Head(
            FORMAT,
            self._version,
            self._unix_seconds(),
            self._ledger.generation,
            tuple(self._kinds()),
            pod,
            tuple(names),
            given,
            decide(self._ledger, pod, names, nominated, given),
        )
        return begun(head, self._ledger.copied())

    async def begin_named(self, namespace: str, name: str) -> SnapshotBegun:
        """Begin one for a pod of the cluster.

        Raises:
            NotFound: There is none, or it asks for no device.
        """
        uid = await in_turns(self._find_steps(namespace, name))
        pod = None if uid is None else self._ledger.pods.get(uid)
        if pod is None:
            raise NotFound(
                f"pod {namespace}/{name} is not known: there is none of this name, or "
                "it asks for no device"
            )
        return self.begin(pod)

    def _find_steps(
        self, namespace: str, name: str
    ) -> Generator[None, None, PodUID | None]:
        for number, pod in enumerate(list(self._ledger.pods.values()), 1):
            if pod.name == name and pod.namespace == namespace:
                return pod.uid
            if number % _LOOKED_AT_A_STEP == 0:
                yield
        return None

    def take_named(self, namespace: str, name: str) -> Snapshot:
        """Take one for a pod of the cluster, at once.

        Raises:
            NotFound: As for `begin_named`.
        """
        return asyncio.run(self.begin_named(namespace, name)).completed()

    def begin_new(self, pod: Pod) -> SnapshotBegun:
        """Begin one for a pod as if it were created now."""
        return self.begin(as_new(pod))

    def take_new(self, pod: Pod) -> Snapshot:
        """Take the same, at once."""
        return self.begin_new(pod).completed()

    async def written(self, snapshot: SnapshotBegun) -> AsyncIterator[bytes]:
        """Write a snapshot in pieces, between which requests are answered."""
        for piece in encode_pieces(snapshot, _A_STEP):
            yield piece
            await asyncio.sleep(0)


def restored(snapshot: Snapshot) -> Ledger:
    """Bring the state of a snapshot back."""
    ledger = Ledger()
    for node in snapshot.nodes:
        ledger.apply(NodeSeen(node))
    for saved in snapshot.pods:
        ledger.apply(Remembered(saved.pod, saved.standing, saved.reservation))
    for quota in snapshot.quotas:
        ledger.apply(QuotaSeen(quota))
    return ledger


def decided(snapshot: Snapshot) -> Decision:
    """Decide again, on the state of a snapshot."""
    return _decided(snapshot, restored(snapshot))[0]


def _decided(
    snapshot: Snapshot, ledger: LedgerView
) -> tuple[Decision, list[Nomination]]:
    """Decide on its state; gives also the room that is held against the pod."""
    head = snapshot.head
    nominated = NominatedRoom(ledger).nominations_against(head.pod)
    holdings = [each.holding for each in nominated]
    return decide(ledger, head.pod, head.node_names, holdings, head.given), nominated


def replay(snapshot: Snapshot, *, is_traced: bool = False) -> Replay:
    """Decide again, on the state of a snapshot.

    Args:
        snapshot: What was decided, and on what.
        is_traced: Whether to tell it step by step.
    """
    ledger, head = restored(snapshot), snapshot.head
    now, nominated = _decided(snapshot, ledger)
    steps = steps_of(snapshot, ledger, now, nominated) if is_traced else ()
    return Replay(
        head.pod.full_name,
        head.made_by,
        len(snapshot.nodes),
        len(snapshot.pods),
        now.chosen,
        cards_text(now),
        tuple(differences(head.decision, now)),
        tuple(steps),
    )
