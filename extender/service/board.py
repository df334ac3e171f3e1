"""The status page's rows, kept up to date while somebody looks."""

import secrets
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.kind_set import Kinds
from extender.core.names import NodeName, PodUID
from extender.service.last_refusals import LastRefusals
from extender.state.changes import Changes
from extender.state.freed import Freed
from extender.state.ledger import Ledger
from extender.verbs.board import BoardNode, BoardPod, board_nodes, board_pod
from extender.wire.board import encode_board

_NODES_A_STEP: Final = 32
_PODS_A_STEP: Final = 500

_GONE_KEPT: Final = 10_000
"""Rows that are no more, for pages that do not know yet. One that missed more begins
anew."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one revision: a copy, so that another thread can write it.

    Attributes:
        revision: Whoever has these, and those before, has all of it. Rows may be newer;
            then they come once more with the next.
        generation: Of the state, when it was last looked at.
        nodes: By name; None for those that are gone.
        pods: By the board's own number; None for those that are gone.
    """

    revision: str
    generation: int
    nodes: Sequence[tuple[NodeName, BoardNode | None]]
    pods: Sequence[tuple[int, BoardPod | None]]

    def encode(self) -> bytes:
        """Write them as JSON."""
        head = {"revision": self.revision, "generation": self.generation}
        return encode_board(head, self.nodes, self.pods)


class Board:
    """All rows, and at which revision each changed last.

    A revision is ``epoch.number``: the number rises with each change, and another epoch
    is another process, or rows that nobody looked at for a while.

    Ownership: of the one who updates it; not thread-safe.
    """

    def __init__(
        self, ledger: Ledger, refusals: LastRefusals, kinds: Callable[[], Kinds]
    ) -> None:
        """Show a state.

        Args:
            ledger: The state; it notes what changes until `close`.
            refusals: Why pods wait.
            kinds: Gives those that are scheduled.
        """
        self._ledger = ledger
        self._refusals = refusals
        self._kinds = kinds
        self._epoch = secrets.token_hex(4)
        self._number = 0
        self._generation = 0
        self._oldest = 0
        self._nodes: dict[NodeName, BoardNode] = {}
        self._pods: dict[int, BoardPod] = {}
        self._numbers: dict[PodUID, int] = {}
        self._next = 0
        self._changed_nodes: Freed[NodeName] = Freed()
        self._changed_pods: Freed[int] = Freed()
        self._gone_nodes: dict[NodeName, int] = {}
        self._gone_pods: dict[int, int] = {}
        self._changes = Changes()
        for name in ledger.places():
            self._changes.note_node(name)
        for pod_uid in ledger.pods:
            self._changes.note_pod(pod_uid)
        ledger.tell(self._changes)

    def close(self) -> None:
        """Let the ledger note nothing any more."""
        self._ledger.tell(None)

    @property
    def revision(self) -> str:
        """That of the rows; a page that has it has all."""
        return f"{self._epoch}.{self._number}"

    def update(self) -> Generator[None, None, bool]:
        """Work out anew what changed, in steps of some milliseconds.

        Returns:
            Whether a row is another than before.
        """
        generation = self._ledger.generation
        nodes, pods = self._changes.take()
        number = self._number + 1
        has_changed = False
        names, uids = sorted(nodes), sorted(pods)
        for start in range(0, len(names), _NODES_A_STEP):
            chunk = names[start : start + _NODES_A_STEP]
            for name, row in board_nodes(self._ledger, self._kinds(), chunk):
                has_changed |= self._put_node(name, row, number)
            yield
        yield from self._refusals.look_steps(uids)
        for start in range(0, len(uids), _PODS_A_STEP):
            for pod_uid in uids[start : start + _PODS_A_STEP]:
                row_of_pod = board_pod(
                    self._ledger,
                    pod_uid,
                    self._refusals.of(pod_uid),
                    self._refusals.cause_of(pod_uid),
                )
                has_changed |= self._put_pod(pod_uid, row_of_pod, number)
            yield
        if has_changed:
            self._number = number
        self._generation = generation
        return has_changed

    def whole(self) -> Rows:
        """Copy all rows."""
        return Rows(
            self.revision,
            self._generation,
            [*self._nodes.items()],
            [*self._pods.items()],
        )

    def knows(self, revision: str) -> bool:
        """Tell whether what changed since a page's revision is still known."""
        return self._number_of(revision) is not None

    def since(self, revision: str) -> Rows:
        """Copy the rows that a page lacks.

        Raises:
            ValueError: What changed since its revision is not known (any more).
        """
        number = self._number_of(revision)
        if number is None:
            raise ValueError(f"revision {revision} is not known")
        nodes = self._changed_nodes.since(number)
        pods = self._changed_pods.since(number)
        return Rows(
            self.revision,
            self._generation,
            [(name, self._nodes.get(name)) for name in nodes],
            [(each, self._pods.get(each)) for each in pods],
        )

    def _number_of(self, revision: str) -> int | None:
        epoch, _, text = revision.partition(".")
        if epoch != self._epoch or not (text.isascii() and text.isdigit()):
            return None
        if len(text) > len(str(self._number)):
            return None
        number = int(text)
        return number if self._oldest <= number <= self._number else None

    def _put_node(self, name: NodeName, row: BoardNode | None, number: int) -> bool:
        if self._nodes.get(name) == row:
            return False
        self._changed_nodes.note(name, number)
        if row is not None:
            self._nodes[name] = row
            self._gone_nodes.pop(name, None)
            return True
        del self._nodes[name]
        self._gone_nodes[name] = number
        if len(self._gone_nodes) > _GONE_KEPT:
            oldest = next(iter(self._gone_nodes))
            self._oldest = max(self._oldest, self._gone_nodes.pop(oldest))
            self._changed_nodes.forget(oldest)
        return True

    def _put_pod(self, pod_uid: PodUID, row: BoardPod | None, number: int) -> bool:
        known = self._numbers.get(pod_uid)
        if row is None:
            return known is not None and self._drop_pod(pod_uid, known, number)
        if known is None:
            known = self._numbers[pod_uid] = self._next
            self._next += 1
        elif self._pods[known] == row:
            return False
        self._pods[known] = row
        self._changed_pods.note(known, number)
        return True

    def _drop_pod(self, pod_uid: PodUID, known: int, number: int) -> bool:
        del self._numbers[pod_uid], self._pods[known]
        self._changed_pods.note(known, number)
        self._gone_pods[known] = number
        if len(self._gone_pods) > _GONE_KEPT:
            oldest = next(iter(self._gone_pods))
            self._oldest = max(self._oldest, self._gone_pods.pop(oldest))
            self._changed_pods.forget(oldest)
        return True
