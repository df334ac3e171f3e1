"""Pods that filter refused everywhere, and the nodes that may still take them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from extender.core.arrays import Int64s
from extender.core.names import NodeName, PodUID

_MOST_REFUSALS: Final = 20_000
"""The oldest goes first. Each takes 2 kB; who asks is not checked, so there is a
bound. kube-scheduler tries every waiting pod again after five minutes anyway."""

_AT_A_TIME: Final = 500

_PLACES: Final = 1 << 14
_BITS_PER_BYTE: Final = 8


@dataclass(frozen=True, slots=True)
class _Refusal:
    """The latest refusal of one pod.

    Attributes:
        at: On the monotonic clock.
        node_bits: The nodes, by hash: there may be too many, and never too few.
    """

    at: float
    node_bits: bytes


class Refusals:
    """The latest refusal of each pod, in the order of the first ones."""

    def __init__(self) -> None:
        self._refusals: dict[PodUID, _Refusal] = {}

    def __len__(self) -> int:
        return len(self._refusals)

    def note(
        self, pod_uid: PodUID, node_names: Collection[NodeName], now: float
    ) -> None:
        """Note that a pod was refused on nodes that could hold it if they had room."""
        if pod_uid not in self._refusals and len(self._refusals) >= _MOST_REFUSALS:
            del self._refusals[next(iter(self._refusals))]
        flags = np.zeros(_PLACES, np.bool_)
        flags[_places(node_names)] = True
        bits = np.packbits(flags, bitorder="little").tobytes()
        self._refusals[pod_uid] = _Refusal(now, bits)

    def postpone(self, pod_uid: PodUID, now: float) -> None:
        """Let a pod that waits count as asked about now, if it was not since."""
        refusal = self._refusals.get(pod_uid)
        if refusal is not None and refusal.at < now:
            self._refusals[pod_uid] = replace(refusal, at=now)

    def drop(self, pod_uid: PodUID) -> None:
        """Forget a pod: it was told a place, or is gone."""
        self._refusals.pop(pod_uid, None)

    def is_older(self, pod_uid: PodUID, moment: float) -> bool:
        """Tell whether a pod waits, and was not asked about since a moment."""
        refusal = self._refusals.get(pod_uid)
        return refusal is not None and refusal.at <= moment

    def waiting_for(
        self, node_names: Sequence[NodeName], moment: float
    ) -> Iterator[list[tuple[PodUID, tuple[NodeName, ...]]]]:
        """List the pods that were refused on any of these nodes, and on which.

        In steps of a millisecond or two; refusals may come between them.

        Args:
            node_names: Where room appeared.
            moment: Pods that were asked about since are left out.

        Cost: one pass over 2 kB a refusal.
        """
        old = [uid for uid in self._refusals if self.is_older(uid, moment)]
        for start in range(0, len(old), _AT_A_TIME):
            uids = [
                uid for uid in old[start : start + _AT_A_TIME] if uid in self._refusals
            ]
            yield self._named(uids, node_names)

    def _named(
        self, uids: Sequence[PodUID], node_names: Sequence[NodeName]
    ) -> list[tuple[PodUID, tuple[NodeName, ...]]]:
        bits = np.frombuffer(
            b"".join(self._refusals[uid].node_bits for uid in uids), np.uint8
        ).reshape(len(uids), _PLACES // _BITS_PER_BYTE)
        at = _places(node_names)
        is_named = bits[:, at // _BITS_PER_BYTE] >> (at % _BITS_PER_BYTE) & 1
        names_of: dict[bytes, tuple[NodeName, ...]] = {}
        found = []
        for row in np.flatnonzero(is_named.any(axis=1)).tolist():
            key = is_named[row].tobytes()
            if key not in names_of:
                named = is_named[row].nonzero()[0].tolist()
                names_of[key] = tuple(node_names[each] for each in named)
            found.append((uids[row], names_of[key]))
        return found


def _places(node_names: Collection[NodeName]) -> Int64s:
    hashes = np.fromiter(map(hash, node_names), np.int64, len(node_names))
    places: Int64s = hashes & (_PLACES - 1)
    return places
