"""Pods that count at admission though they hold nothing yet."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from extender.core.names import PodUID
from extender.core.pod import Pod

MOST_EXPECTED: Final = 10_000
"""Pods that are expected at one time. The API server creates a few hundred a second,
each of which is shown within moments; so only whoever makes requests up gets here."""


@dataclass(frozen=True, slots=True)
class _Expected:
    pod: Pod
    until: float


class Admissions:
    """Pods that were admitted and not shown yet, and those that are shown and wait.

    Nothing of this counts on cards, in filter or in bind: a pod that fits nowhere must
    not keep others waiting. Which pods are shown is the ledger's to tell.

    Invariant: a pod that waits is in the entry of its namespace, and no other is; an
    entry is never empty. Owned by the ledger; others read.
    """

    def __init__(self) -> None:
        self._expected: dict[PodUID, _Expected] = {}
        self._waiting: dict[str, dict[PodUID, Pod]] = {}

    @property
    def expected_count(self) -> int:
        """How many pods were admitted and are not shown yet."""
        return len(self._expected)

    def expected_in(self, namespace: str) -> Iterator[Pod]:
        """List the pods of a namespace that were admitted and are not shown yet."""
        for each in self._expected.values():
            if each.pod.namespace == namespace:
                yield each.pod

    def waiting_in(self, namespace: str) -> Iterator[Pod]:
        """List the pods of a namespace that are shown, and hold nothing yet."""
        yield from self._waiting.get(namespace, {}).values()

    def expect(self, pod: Pod, until: float) -> None:
        """Count a pod until it is shown, or the time is over.

        Beyond `MOST_EXPECTED` it is left out: whether it is placed is decided at bind.
        """
        if pod.uid in self._expected or len(self._expected) < MOST_EXPECTED:
            self._expected[pod.uid] = _Expected(pod, until)

    def arrive(self, pod_uid: PodUID) -> None:
        """Expect a pod no longer: it is shown, or known to be gone."""
        self._expected.pop(pod_uid, None)

    def lapse(self, now: float) -> None:
        """Drop every pod that did not come in time."""
        over = [uid for uid, each in self._expected.items() if each.until <= now]
        for uid in over:
            del self._expected[uid]

    def restate(self, pod: Pod, *, waits: bool) -> None:
        """Take in what a pod is now."""
        if waits:
            self._waiting.setdefault(pod.namespace, {})[pod.uid] = pod
        else:
            self.forget(pod)

    def forget(self, pod: Pod) -> None:
        """Take a pod out of those that are shown and wait."""
        of_namespace = self._waiting.get(pod.namespace, {})
        if of_namespace.pop(pod.uid, None) is not None and not of_namespace:
            del self._waiting[pod.namespace]
