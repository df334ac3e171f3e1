"""Waking refused pods, where kube-scheduler would not ask again by itself.

kube-scheduler tries a refused pod again when something happens in the cluster. Where it
sees the event that makes room before our watch does, the pod is refused once more, and
then may wait for minutes. The same is so for room that appears without any event: a
reservation of ours that lapses. A touch of the pod makes kube-scheduler ask again.

Room in a quota is such room: kube-scheduler hears neither of ResourceQuota objects nor
of an init whose share is released; and a pod that ends on one node makes room for pods
of its namespace on all others.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from extender.core.holding import Holding
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.errors import Conflict, ExtenderError, Forbidden, NotFound, Rejected
from extender.observe.metrics import Metrics
from extender.service.cluster import Cluster
from extender.service.refusals import Refusals
from extender.settings import WakingSettings
from extender.state.ledger_view import LedgerView

_log = logging.getLogger(__name__)

PlaceOf = Callable[[Pod, Sequence[NodeName], Sequence[Holding]], Holding | None]
"""Gives what a pod would hold, by filter's rules, on one of these nodes, beside what
others will hold; None where it fits on none."""

_ROOM_KEPT_SECONDS: Final = 30.0
"""How long a woken pod's room is not offered to others, unless it is asked for
before."""


@dataclass(slots=True)
class _Room:
    """Room on a node, or in a namespace's quotas, by when it was noticed.

    Pods are woken for it from its first time on, and it is kept in mind until the pods
    that were refused before its last time had theirs.
    """

    first: float
    last: float = 0.0


@dataclass(frozen=True, slots=True)
class _Woken:
    """A pod that was touched, with the room that it was touched for."""

    holding: Holding
    until: float


class Waker:
    """Touches pods that were refused on what has become free, a few a second.

    A pod is touched once for all that was freed up to then, and again only once more
    was freed since; a touch that was not carried out is repeated.
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        ledger: LedgerView,
        place_of: PlaceOf,
        stuck_nodes: Callable[[], Collection[NodeName]],
        settings: WakingSettings,
        metrics: Metrics,
        monotonic: Callable[[], float],
    ) -> None:
        """Watch a ledger.

        Args:
            cluster: Where pods are touched.
            ledger: Tells where room appeared.
            place_of: Tells whether a pod would fit now.
            stuck_nodes: Tells which nodes filter refuses for their lock.
            settings: How patient and how busy to be.
            metrics: Counts.
            monotonic: The clock for waiting.
        """
        self._cluster = cluster
        self._ledger = ledger
        self._place_of = place_of
        self._stuck_nodes = stuck_nodes
        self._settings = settings
        self._metrics = metrics
        self._monotonic = monotonic
        self._refusals = Refusals()
        self._generation = 0
        self._stuck: frozenset[NodeName] = frozenset()
        self._rooms: dict[NodeName, _Room] = {}
        self._quota_rooms: dict[str, _Room] = {}
        self._woken: dict[PodUID, _Woken] = {}

    def refused(self, pod: Pod, node_names: Collection[NodeName]) -> None:
        """Remember that a pod waits for room, or better cards, on these nodes."""
        self._woken.pop(pod.uid, None)
        self._refusals.note(pod.uid, node_names, self._monotonic())

    def forget(self, pod_uid: PodUID) -> None:
        """Forget a pod that was told a place, is gone, or waits for nothing."""
        self._woken.pop(pod_uid, None)
        self._refusals.drop(pod_uid)

    async def look_forever(self) -> None:
        """Wake, until cancelled, whoever should be."""
        while True:
            await asyncio.sleep(self._settings.look_seconds)
            await self.look()

    async def look(self) -> None:
        """Wake whoever should be now, as far as the rate allows; the rest later."""
        now = self._monotonic()
        self._notice(now)
        moment = now - self._settings.patience_seconds
        ripe = _ripe(self._rooms, moment)
        if ripe and await self._has_woken_all(ripe, moment):
            _drop_done(self._rooms, ripe, moment)
        namespaces = _ripe(self._quota_rooms, moment)
        if namespaces:
            nodes = tuple(self._ledger.nodes)
            if await self._has_woken_all(nodes, moment, namespaces):
                _drop_done(self._quota_rooms, namespaces, moment)

    def _notice(self, now: float) -> None:
        """Note where room appeared since the last look, and which room is given up."""
        stuck = frozenset(self._stuck_nodes())
        freed = self._ledger.freed_since(self._generation)
        for namespace in self._ledger.quota_freed_since(self._generation):
            self._quota_rooms.setdefault(namespace, _Room(now)).last = now
        self._generation = self._ledger.generation
        for name in (*freed, *(self._stuck - stuck)):
            self._rooms.setdefault(name, _Room(now)).last = now
        self._stuck = stuck
        for pod_uid, woken in list(self._woken.items()):
            if woken.until <= now:
                del self._woken[pod_uid]

    async def _has_woken_all(
        self,
        rooms: Sequence[NodeName],
        moment: float,
        namespaces: Collection[str] | None = None,
    ) -> bool:
        """Touch pods that fit on these nodes now, of all namespaces or of some."""
        waiting: list[tuple[Pod, tuple[NodeName, ...]]] = []
        for found in self._refusals.waiting_for(rooms, moment):
            waiting += [
                (pod, names)
                for pod_uid, names in found
                if (pod := self._waiting(pod_uid)) is not None
                and (namespaces is None or pod.namespace in namespaces)
            ]
            await asyncio.sleep(0)  # requests are answered first
        waiting.sort(key=lambda one: -one[0].priority)
        tried: set[object] = set()
        touches_left = self._settings.most_per_look
        is_complete = True
        for pod, names in waiting:
            # What is kept for a nominated pod is kept from all others.
            # And quotas are a namespace's, and look at traits.
            kind = (
                pod.requests,
                pod.priority,
                pod.nominated_node,
                names,
                pod.namespace,
                pod.quota_traits,
            )
            if kind in tried or not self._refusals.is_older(pod.uid, moment):
                continue
            holding = self._place_of(pod, names, self._kept_room(pod.uid))
            if holding is None:
                # The next of its kind would not fit either.
                tried.add(kind)
                await asyncio.sleep(0)
            elif touches_left:
                touches_left -= 1
                is_complete &= await self._touch(pod, holding)
            else:
                return False
        return is_complete

    def _waiting(self, pod_uid: PodUID) -> Pod | None:
        """Give a pod that waits for a place; one that does not any more is dropped."""
        pod = self._ledger.pods.get(pod_uid)
        if pod is None or self._ledger.reservation(pod_uid) is not None:
            return None
        if pod.node_name or pod.status.is_finished or pod.status.is_terminating:
            self.forget(pod_uid)
            return None
        return pod

    def _kept_room(self, without: PodUID) -> list[Holding]:
        return [each.holding for uid, each in self._woken.items() if uid != without]

    async def _touch(self, pod: Pod, holding: Holding) -> bool:
        """Touch a pod; gives whether that is done with, one way or the other.

        Its room is kept from before the touch is sent: the pod may be asked about, and
        be given a place, before the answer is here.
        """
        now = self._monotonic()
        woken = self._woken[pod.uid] = _Woken(holding, now + _ROOM_KEPT_SECONDS)
        try:
            await self._cluster.touch(pod)
        except (NotFound, Conflict):
            self.forget(pod.uid)
        except (Forbidden, Rejected) as error:
            # To repeat it is no use; others may be waiting behind.
            _log.warning("pod %s cannot be woken: %s", pod.full_name, error)
            self._woken.pop(pod.uid, None)
            self._refusals.postpone(pod.uid, now)
        except ExtenderError as error:
            _log.warning("pod %s is not woken yet: %s", pod.full_name, error)
            if self._woken.get(pod.uid) is woken:
                del self._woken[pod.uid]
            return False
        else:
            _log.info("pod %s is woken: room on %s", pod.full_name, holding.node_name)
            self._metrics.woken_pods.inc()
            self._refusals.postpone(pod.uid, now)
        return True


_Place = TypeVar("_Place", NodeName, str)


def _ripe(rooms: Mapping[_Place, _Room], moment: float) -> list[_Place]:
    """List where room stood for as long as kube-scheduler is given to see it."""
    return [place for place, room in rooms.items() if room.first <= moment]


def _drop_done(
    rooms: dict[_Place, _Room], ripe: Sequence[_Place], moment: float
) -> None:
    """Forget room that everybody who was refused before its last time had."""
    for place in ripe:
        if rooms[place].last <= moment:
            del rooms[place]
