"""Where a cluster that is looked at comes from, and how old the look is."""

from dataclasses import dataclass
from enum import StrEnum

from extender.verbs.durations import in_words


class OriginKind(StrEnum):
    """What told of the cluster."""

    FILES = "files"
    """What kubectl printed at some time."""

    API_SERVER = "API server"
    """Listed once, for this question."""

    EXTENDER = "extender"
    """One that serves: its own memory, with what it has reserved and expects."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a cluster that is looked at comes from.

    Attributes:
        kind: What told of it.
        where: Files, or a URL.
        age_seconds: Since the oldest of the files was written; 0 for what was asked
            for this question, None where that is not known.
    """

    kind: OriginKind
    where: tuple[str, ...]
    age_seconds: int | None = 0

    def __str__(self) -> str:
        """Tell it to people.

        Example:
            >>> print(Origin(OriginKind.FILES, ("cluster.json",), 7_300))
            files cluster.json, written 2 h ago
        """
        told = f"{self.kind} {', '.join(self.where)}"
        if not self.age_seconds:
            return told
        return f"{told}, written {in_words(self.age_seconds)} ago"
