"""What the doctor looks at: the state, the locks that stand, and the time."""

from dataclasses import dataclass
from functools import cached_property

from extender.core.kind_set import Kinds
from extender.core.names import NodeName
from extender.core.pod import Pod
from extender.state.ledger_view import LedgerView
from extender.verbs.durations import in_words
from extender.verbs.locks import SeenLock


@dataclass(frozen=True, slots=True)
class StandingLock:
    """A node's lock, and those that some kinds have besides.

    Attributes:
        node_name: Whose.
        value: Of the common one; None where only others are held.
        seen: Whom it names, and for how long it has stood; None without `value`.
        own_seconds: For how long kinds' own locks have stood, by annotation.
    """

    node_name: NodeName
    value: str | None
    seen: SeenLock | None
    own_seconds: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Patience:
    """How long something may last before it is a trouble, in seconds.

    Attributes:
        longest_bind_seconds: No bind, and no admission of a pod, takes longer.
        admission_seconds: kubelet does not admit a pod that is gone for longer.
    """

    longest_bind_seconds: float
    admission_seconds: float


@dataclass(frozen=True)
class Signs:
    """What is examined.

    Attributes:
        ledger: The state.
        kinds: Those that are scheduled.
        locks: That stand now.
        unix_seconds: Now.
        patience: How long things may last.
    """

    ledger: LedgerView
    kinds: Kinds
    locks: tuple[StandingLock, ...]
    unix_seconds: float
    patience: Patience

    @cached_property
    def lock_of(self) -> dict[NodeName, StandingLock]:
        """The locks, by node."""
        return {lock.node_name: lock for lock in self.locks}

    def is_recent(self, pod: Pod) -> bool:
        """Whether a pod was bound so recently that it may not be ready in every way."""
        bound_at = pod.status.bound_at
        if bound_at is None:
            return False
        return self.unix_seconds - bound_at <= self.patience.longest_bind_seconds

    def bound_for(self, pod: Pod) -> str:
        """Tell people for how long a pod has been bound."""
        bound_at = pod.status.bound_at
        if bound_at is None:
            return "since when it is bound is not told"
        return f"bound for {in_words(max(self.unix_seconds - bound_at, 0.0))}"
