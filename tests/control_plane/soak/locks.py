"""The locks of all nodes, and which of them a Binding was written under.

A bind that is tried again takes the lock anew, with another value. What was free while
it had the lock before counts no more, but for a Binding that was on its way then: the
process that sent it was killed, and it came late. A bound pod tells the second in which
its bind wrote the Binding, and a lock's value the moment in which it was taken; a retry
begins in a later second, since kube-scheduler waits for one.
"""

from dataclasses import dataclass
from datetime import datetime

from tests.builders import Json
from tests.control_plane.plugin import BIND_TIME


@dataclass(frozen=True, slots=True)
class _Taken:
    """A value that a lock got.

    Attributes:
        second: Of its own time.
        revision: Of the write.
    """

    second: int
    revision: int


class Locks:
    """Follows the locks of all nodes; a pod is named as ``default/p``."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._taken: dict[tuple[str, str], list[_Taken]] = {}

    def see(self, node_name: str, value: str, revision: int) -> None:
        """Take note of a node's lock; its value is empty without one."""
        if value == self._values.get(node_name, ""):
            return
        self._values[node_name] = value
        if value:
            taken = _Taken(_second_of(value), revision)
            key = (node_name, self.owner_of(node_name))
            self._taken.setdefault(key, []).append(taken)

    def owner_of(self, node_name: str) -> str:
        """Name the pod that has a node's lock; empty without one."""
        return "/".join(self._values.get(node_name, "").split(",")[1:])

    def taken_for(self, bound: Json, name: str) -> int | None:
        """Give the revision of the lock under which a pod's Binding was written.

        Returns:
            The last one that its bind can have had; None where there was none.
        """
        taken = self._taken.get((bound["spec"]["nodeName"], name), [])
        text = bound["metadata"].get("annotations", {}).get(BIND_TIME)
        latest = taken if text is None else [x for x in taken if x.second <= int(text)]
        return latest[-1].revision if latest else None

    def forget(self, name: str) -> None:
        """Drop a pod that is gone; another of its name is another pod."""
        self._taken = {key: each for key, each in self._taken.items() if key[1] != name}


def _second_of(value: str) -> int:
    return int(datetime.fromisoformat(value.partition(",")[0]).timestamp())
