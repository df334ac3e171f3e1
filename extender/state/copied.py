"""The state of one moment, for who reads on while events come."""

from collections.abc import Mapping
from dataclasses import dataclass

from extender.core.names import PodUID
from extender.core.node import Node
from extender.core.pod import Pod
from extender.core.quota_room import Quota
from extender.state.holdings import Reservation, Standing


@dataclass(frozen=True, slots=True)
class LedgerCopy:
    """A ledger's values at one moment; they never change.

    Attributes:
        nodes: In the order in which they were first seen.
        pods: In the order of arrival.
        standings: What each counts for.
        reservations: Places that are held for pods.
        quotas: Of all namespaces.
        generation: How many events had been applied.
    """

    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    standings: Mapping[PodUID, Standing]
    reservations: Mapping[PodUID, Reservation]
    quotas: tuple[Quota, ...]
    generation: int
