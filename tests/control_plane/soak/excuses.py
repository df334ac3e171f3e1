"""What went wrong on a node, and what of that a pod's deletion with force explains.

The device plugin is asked for devices and not told for which pod: it serves whom the
node's lock names. A pod that is deleted with force after its bind, and before it was
served, is gone for whoever binds the next one; but its kubelet may be in the middle of
its admission, and the plugin then serves the next one's row to it. The next one finds
none left, and is refused; or it finds the row of the one after it. Whoever was served
in place of a pod that was deleted so, or in place of one of these, is excused. So is a
pod that its kubelet refused while the apiserver was away, or the node offered no ids.
Nothing else is: neither two pods of which none was deleted, nor any pod without room.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

_UNANSWERED: Final = (
    "Cannot connect",
    "Server disconnected",
    "Connection",
    "Broken pipe",
    "/api/v1/",
)
_NO_IDS: Final = "number of devices unavailable"
_LATE_SECONDS: Final = 30.0
"""How long after its cause a refusal may be told; kubelet needs the apiserver."""

Periods = Iterable[tuple[float, float]]
"""From when to when something lasted, on the monotonic clock."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that must not happen.

    Attributes:
        text: What it is.
        uids: Whom it befell; none where nothing excuses it.
    """

    text: str
    uids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A pod that failed at its admission, when that was told, and why."""

    uid: str
    node_name: str
    at: float
    text: str


class Excuses:
    """Tells what is excused.

    Args:
        deleted: UIDs of pods that were deleted with force between bind and service.
        misled: For a pod that was served in place of another: of which one.
        outages: When the apiserver was away.
        without_ids: For each node, when it offered no ids.
    """

    def __init__(
        self,
        deleted: Collection[str],
        misled: Mapping[str, str],
        outages: Periods,
        without_ids: Mapping[str, Periods],
    ) -> None:
        self._deleted = deleted
        self._misled = misled
        self._outages = outages
        self._without_ids = without_ids

    def excuse(self, wrong: Wrong) -> bool:
        """Tell whether a wrong is explained."""
        return any(map(self._is_excused, wrong.uids))

    def excuse_refusal(self, refusal: Refusal) -> bool:
        """Tell whether a refusal is explained."""
        if self._is_excused(refusal.uid):
            return True
        if _NO_IDS in refusal.text:
            periods = self._without_ids.get(refusal.node_name, [])
            return _is_in(refusal.at, periods)
        is_unanswered = any(words in refusal.text for words in _UNANSWERED)
        return is_unanswered and _is_in(refusal.at, self._outages)

    def _is_excused(self, uid: str) -> bool:
        looked_at: set[str] = set()
        while uid not in self._deleted:
            if uid in looked_at or uid not in self._misled:
                return False
            looked_at.add(uid)
            uid = self._misled[uid]
        return True


def _is_in(at: float, periods: Periods) -> bool:
    return any(since <= at <= until + _LATE_SECONDS for since, until in periods)
