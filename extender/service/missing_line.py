"""Refused pods that wait for somebody to look closely at what they lack."""

from collections.abc import Callable, Sequence

from extender.core.names import NodeName, PodUID


class MissingLine:
    """A short line: who is asked about most often does not keep others out.

    Each keeps the nodes that kube-scheduler asked about last, since only these matter:
    a few hundred kilobytes a pod in a large cluster, so that few may wait.
    """

    def __init__(self, most: int, ready_at: Callable[[PodUID], float]) -> None:
        """Make an empty line.

        Args:
            most: Pods that wait at a time.
            ready_at: Tells when a pod may be told anything, on the monotonic clock.
        """
        self._most = most
        self._ready_at = ready_at
        self._waiting: dict[PodUID, Sequence[NodeName]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, pod_uid: PodUID) -> bool:
        return pod_uid in self._waiting

    def join(self, pod_uid: PodUID, node_names: Sequence[NodeName]) -> None:
        """Let a pod wait; where it does already, it keeps its turn.

        Of too many, the one that may be told something last is left out.
        """
        self._waiting[pod_uid] = node_names
        if len(self._waiting) > self._most:
            del self._waiting[max(reversed(self._waiting), key=self._ready_at)]

    def take(self, now: float) -> tuple[PodUID, Sequence[NodeName]] | None:
        """Give the first one that may be told something; None where there is none."""
        for pod_uid in self._waiting:
            if self._ready_at(pod_uid) <= now:
                return pod_uid, self._waiting.pop(pod_uid)
        return None

    def leave(self, pod_uid: PodUID) -> None:
        """Forget a pod: it is gone, or bound."""
        self._waiting.pop(pod_uid, None)
