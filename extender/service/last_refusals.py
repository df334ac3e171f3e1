"""Why filter last refused each pod everywhere: in few words, and in a sentence."""

from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from extender.core.names import PodUID
from extender.core.pod import Pod
from extender.state.ledger import Ledger
from extender.verbs.causes import cause_steps
from extender.verbs.filter import Refusals

ReasonCounts = tuple[tuple[str, int], ...]
"""Reason codes, with how many nodes gave each; the most frequent first."""

_MOST_SHOWN: Final = 3

_MOST_AT_ONCE: Final = 16
"""Causes that are worked out in one go; the others in the next."""


@dataclass(slots=True)
class LastRefusal:
    """The latest refusal of one pod.

    Attributes:
        counts: What is shown of its codes.
        refusals: All that filter said.
        cause: What they come to, once somebody looked.
        is_looked_at: Whether somebody did.
    """

    counts: ReasonCounts
    refusals: Refusals
    cause: str = ""
    is_looked_at: bool = False


class LastRefusals:
    """The latest refusal of each pod that the ledger knows, until it is gone.

    Others are not kept: who asks is not checked, so there could be any number.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._latest: dict[PodUID, LastRefusal] = {}

    def note(self, pod_uid: PodUID, refusals: Refusals) -> None:
        """Note that filter refused a pod on every node."""
        if pod_uid not in self._ledger.pods:
            return
        counts: Counter[str] = Counter()
        for texts in (refusals.failed, refusals.unresolvable):
            _add(counts, texts)
        latest = tuple(counts.most_common(_MOST_SHOWN))
        known = self._latest.get(pod_uid)
        if known is None or known.counts != latest:
            self._latest[pod_uid] = LastRefusal(latest, refusals)
            self._ledger.note_pod(pod_uid)

    def drop(self, pod_uid: PodUID) -> None:
        """Forget a pod: it fits now, or is gone."""
        if self._latest.pop(pod_uid, None) is not None:
            self._ledger.note_pod(pod_uid)

    def of(self, pod_uid: PodUID) -> ReasonCounts:
        """Give a pod's latest refusal; empty where none is known."""
        known = self._latest.get(pod_uid)
        return known.counts if known is not None else ()

    def cause_of(self, pod_uid: PodUID) -> str:
        """Give what a pod's latest refusal comes to; empty where nobody looked yet."""
        known = self._latest.get(pod_uid)
        return known.cause if known is not None else ""

    def look_steps(self, pod_uids: Iterable[PodUID]) -> Generator[None, None, None]:
        """Work out causes that are not known yet, in steps of some milliseconds.

        Once a refusal, and once for all pods that ask and are refused alike. Of too
        many the rest is noted as changed, so that whoever shows them comes back.
        """
        found: dict[object, str] = {}
        for pod_uid in pod_uids:
            known, pod = self._latest.get(pod_uid), self._ledger.pods.get(pod_uid)
            if known is None or pod is None or known.is_looked_at:
                continue
            key = _key(pod, known.refusals)
            if key not in found:
                if len(found) >= _MOST_AT_ONCE:
                    self._ledger.note_pod(pod_uid)
                    continue
                why = yield from cause_steps(self._ledger, pod, known.refusals)
                found[key] = why.text if why is not None else ""
            known.cause, known.is_looked_at = found[key], True


def _add(counts: Counter[str], texts: Mapping[str, int]) -> None:
    for text, count in texts.items():
        for reason in text.split(", "):
            counts[reason] += count


def _key(pod: Pod, refusals: Refusals) -> object:
    texts = (refusals.failed, refusals.unresolvable)
    return pod.requests, *(frozenset(each.items()) for each in texts)
