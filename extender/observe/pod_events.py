"""Events on pods: which there are, and what they say.

A text names neither a node nor a card: those are countless, and a user of a namespace
need not know them. Equal causes have equal texts, so that they make one series.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from extender.observe.printable import printable
from extender.observe.words import BindRefusal
from extender.wire.events import EventType

SCHEDULING: Final = "FailedGPUScheduling"
BINDING: Final = "FailedGPUBinding"

_LONGEST_NOTE: Final = 1_000
"""The API server takes 1,024 bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSettings:
    """Whether Events are written, and how many at most."""

    is_written: bool = True
    """Without, nothing is kept in mind for them either. Modes that write nothing go by
    this, and by nothing else."""

    least_seconds: float = 60.0
    """Between two writes about one pod."""

    most_per_second: float = 10.0
    """Of the whole process, over time."""

    most_at_once: int = 50
    """Writes that may have been saved up while there was nothing to write."""

    most_pods: int = 5_000
    """Kept in mind; about 1 kB each. What the oldest had to be told is dropped."""

    look_seconds: float = 1.0
    """How often to look what is due."""

    finish_seconds: float = 360.0
    """A series ends once nothing was added for so long. That of client-go."""

    most_looked_for: int = 8
    """Pods that wait to be told what is missing. Others are told without it."""

    looks_per_second: float = 1.0
    """How often it is looked for what one of these is missing."""


@dataclass(frozen=True, slots=True)
class PodEvent:
    """What an Event says.

    Attributes:
        type: Normal or Warning.
        reason: One of a few words, for selectors.
        action: What was tried.
        note: The text.
        cause: What must be equal for two of them to be of one series.
        is_for_room: Whether the pod may be told besides what is missing.
    """

    type: EventType
    reason: str
    action: str
    note: str
    cause: str
    is_for_room: bool = False

    def with_missing(self, missing: str) -> str:
        """Give the text with what is missing at its end; empty where that is unknown.

        Example:
            >>> event = refused_event({"CardInsufficientMemory": 7}, {})
            >>> event.with_missing("over quota")
            '0/7 nodes fit: 7 CardInsufficientMemory; over quota'
        """
        return _cut(f"{self.note}; {missing}") if missing else self.note


_WHY_NOT_BOUND: Final[Mapping[BindRefusal, str]] = {
    BindRefusal.NO_LONGER_FITS: "the chosen node has no room for it any more",
    BindRefusal.NODE_BUSY: "the chosen node was busy with other pods for too long",
    BindRefusal.NODE_LOCKED: "the chosen node stayed locked for too long",
    BindRefusal.LEASE_TAKEN: "another extender binds pods of the namespace",
    BindRefusal.LEASE_OVER: "another extender may bind pods of the namespace",
    BindRefusal.KIND_GONE: "devices that it asks for are not configured any more",
    BindRefusal.NOT_KNOWN_YET: "what became of an earlier bind is not known yet",
    BindRefusal.API_ERROR: "the API server did not carry it out",
}
"""Of all other refusals there is nothing to tell: the pod is gone, or another, or a
bind of it is under way."""


def refused_event(
    failed: Mapping[str, int], unresolvable: Mapping[str, int]
) -> PodEvent:
    """Say that a pod fits on no node.

    Args:
        failed: How many nodes do not fit now, by the joined codes of their reasons.
        unresolvable: The same of nodes that would not fit if they were empty either.

    Example:
        >>> refused_event(
        ...     {"CardInsufficientMemory": 7}, {"CardTypeMismatch": 5}
        ... ).note
        '0/12 nodes fit: 7 CardInsufficientMemory, 5 CardTypeMismatch; 5 would not even without other pods'
    """  # noqa: E501 - the text is one
    total = sum(failed.values()) + sum(unresolvable.values())
    counts = Counter[str]()
    for texts in (failed, unresolvable):
        for text, count in texts.items():
            counts.update(dict.fromkeys(text.split(", "), count))
    told = ", ".join(f"{count} {code}" for code, count in _by_count(counts))
    hopeless = sum(unresolvable.values())
    more = f"; {hopeless} would not even without other pods" if hopeless else ""
    note = f"0/{total} nodes fit: {told}{more}"
    event = _failed(SCHEDULING, "Scheduling", note, " ".join(sorted(counts)))
    return replace(event, is_for_room=True)


def impossible_event(problem: str) -> PodEvent:
    """Say that a pod cannot be placed as it is written."""
    note = f"no node fits: {printable(problem)}"
    return _failed(SCHEDULING, "Scheduling", note, note)


def bind_event(why: BindRefusal, problem: str = "") -> PodEvent | None:
    """Say that a pod fitted, and could not be bound; None where that tells nothing.

    Args:
        why: Why.
        problem: What kube-scheduler is told. It names the node, but for where the pod
            no longer fits: there it has the codes.

    Example:
        >>> problem = "no longer fits: CardInsufficientMemory"
        >>> bind_event(BindRefusal.NO_LONGER_FITS, problem).note
        'not bound: the chosen node has no room for it any more: CardInsufficientMemory'
    """
    said = _WHY_NOT_BOUND.get(why)
    if said is None:
        return None
    if why is BindRefusal.NO_LONGER_FITS:
        said += f": {problem.partition(': ')[2]}"
    note = f"not bound: {said}"
    return _failed(BINDING, "Binding", note, note)


def _by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _failed(reason: str, action: str, note: str, cause: str) -> PodEvent:
    return PodEvent(EventType.WARNING, reason, action, _cut(note), cause)


def _cut(note: str) -> str:
    """Shorten by bytes, and never within a character."""
    return note.encode()[:_LONGEST_NOTE].decode(errors="ignore")
