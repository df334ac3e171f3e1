"""Why filter last refused each pod everywhere, in few words."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from extender.core.names import PodUID
from extender.state.ledger import Ledger

ReasonCounts = tuple[tuple[str, int], ...]
"""Reason codes, with how many nodes gave each; the most frequent first."""

_MOST_SHOWN: Final = 3


class LastRefusals:
    """The latest refusal of each pod that the ledger knows, until it is gone.

    Others are not kept: who asks is not checked, so there could be any number.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._counts: dict[PodUID, ReasonCounts] = {}

    def note(self, pod_uid: PodUID, texts: Mapping[str, int]) -> None:
        """Note a refusal.

        Args:
            pod_uid: Who was refused on every node.
            texts: On how many nodes each text was said: reasons, joined by commas.
        """
        if pod_uid not in self._ledger.pods:
            return
        counts: Counter[str] = Counter()
        for text, count in texts.items():
            for reason in text.split(", "):
                counts[reason] += count
        latest = tuple(counts.most_common(_MOST_SHOWN))
        if self._counts.get(pod_uid) != latest:
            self._counts[pod_uid] = latest
            self._ledger.note_pod(pod_uid)

    def drop(self, pod_uid: PodUID) -> None:
        """Forget a pod: it fits now, or is gone."""
        if self._counts.pop(pod_uid, None) is not None:
            self._ledger.note_pod(pod_uid)

    def of(self, pod_uid: PodUID) -> ReasonCounts:
        """Give a pod's latest refusal; empty where none is known."""
        return self._counts.get(pod_uid, ())
