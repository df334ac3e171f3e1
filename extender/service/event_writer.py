"""Events on pods: noted by the verbs, and written beside them, a few a second."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.errors import Conflict, ExtenderError, NotFound, Unreachable
from extender.observe.pod_events import SCHEDULING, EventSettings, PodEvent
from extender.service.cluster import Cluster
from extender.service.event_series import EventSeries, Series, ToldPod
from extender.service.missing_line import MissingLine
from extender.service.token_bucket import TokenBucket
from extender.wire.events import EventOnPod, event_name

LookFor = Callable[[Pod, Sequence[NodeName]], Awaitable[str | None]]
"""Tells in one line what a pod lacks that was refused on these nodes; empty where that
is not known, None where it lacks nothing any more."""

_log = logging.getLogger(__name__)

_UNKNOWN_SECONDS: Final = 30.0
"""How long a pod may be unknown that somebody asks about: our watch may be late."""

_PAUSE_SECONDS: Final = 5.0
"""After a write that did not reach the API server, or that it took too many of."""


class EventWriter:
    """Tells pods why they wait.

    No verb waits for it: what is noted is a few steps in memory. What cannot be written
    is dropped and counted; it is noted anew when kube-scheduler asks again.
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        pod_of: Callable[[PodUID], Pod | None],
        look_for: LookFor,
        reporter: str,
        settings: EventSettings,
        unix_seconds: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        """Put it together.

        Args:
            cluster: Where Events are written.
            pod_of: Gives a pod as the cluster shows it; of others nothing is told.
            look_for: Looks for what a pod lacks; others are answered meanwhile.
            reporter: Names this process; no node's name.
            settings: Whether to write at all, and how much.
            unix_seconds: The clock for the times that are written.
            monotonic: The clock for waiting.
        """
        self._cluster = cluster
        self._pod_of = pod_of
        self._look_for = look_for
        self._reporter = reporter
        self._settings = settings
        self._unix_seconds = unix_seconds
        self._monotonic = monotonic
        self._series = EventSeries(settings)
        self._bucket = TokenBucket(
            per_second=settings.most_per_second,
            most=settings.most_at_once,
            now=monotonic(),
        )
        self._line = MissingLine(settings.most_looked_for, self._ready_at)
        self._looks = TokenBucket(
            per_second=settings.looks_per_second, most=1, now=monotonic()
        )
        self._pause_until = 0.0
        self._was_failing = False
        self.written = 0
        self.failed = 0

    @property
    def is_written(self) -> bool:
        """Whether Events are written; else there is no need to make any."""
        return self._settings.is_written

    @property
    def dropped(self) -> int:
        """Events that came to nothing: too many pods, or the API server said no."""
        return self._series.dropped + self.failed

    def note(
        self,
        pod_uid: PodUID,
        event: PodEvent,
        node_names: Sequence[NodeName] = (),
    ) -> None:
        """Have a pod told of something, soon.

        Args:
            pod_uid: Which.
            event: What.
            node_names: Where it was refused, so that it can be told what is missing.
        """
        if not self._settings.is_written:
            return
        self._series.note(pod_uid, event, self._monotonic(), self._unix_seconds())
        if event.is_for_room and node_names:
            self._line.join(pod_uid, node_names)

    async def write_forever(self) -> None:
        """Write, until cancelled, what is due."""
        while True:
            await asyncio.sleep(self._settings.look_seconds)
            await self.write()

    async def write(self) -> None:
        """Write what is due, once, as far as the rate allows; the rest later."""
        await self._look_closely()
        due = self._series.due(self._monotonic(), self._waits_for_a_look)
        for told, series in list(due):
            now = self._monotonic()
            if now < self._pause_until:
                return
            pod = self._pod_of(told.uid)
            if pod is None or pod.node_name is not None:
                if pod is not None or self._is_old(series):
                    self._forget(told.uid)
                continue
            if not self._bucket.take(now):
                return
            await self._write(pod, told, series)

    async def _look_closely(self) -> None:
        """Tell the first one that waits for it what is missing."""
        now = self._monotonic()
        if now < self._pause_until or not self._line or not self._looks.take(now):
            return
        taken = self._line.take(now)
        if taken is None:
            return
        pod_uid, node_names = taken
        told, pod = self._series.of(pod_uid), self._unbound(pod_uid)
        series = None if told is None else told.series.get(SCHEDULING)
        if told is None or pod is None or series is None or not series.is_for_room:
            return
        missing = await self._look_for(pod, node_names)
        pod = self._unbound(pod_uid)
        if pod is None or told.series.get(SCHEDULING) is not series:
            return  # what was found is about another refusal
        if missing is None:
            self._series.pass_over(told, series)
        elif self._bucket.take(self._monotonic()):
            series = self._series.tell_missing(told, series, missing)
            await self._write(pod, told, series)

    def _waits_for_a_look(self, told: ToldPod, series: Series) -> bool:
        """Whether it must be known first what is missing, or that it still is."""
        if not series.is_for_room or self._unbound(told.uid) is None:
            return False
        return told.uid in self._line or bool(series.missing)

    def _ready_at(self, pod_uid: PodUID) -> float:
        """Tell when a pod may be told something; one that is not shown comes last."""
        told = self._series.of(pod_uid)
        if told is None or self._unbound(pod_uid) is None:
            return math.inf
        return told.not_before

    def _unbound(self, pod_uid: PodUID) -> Pod | None:
        pod = self._pod_of(pod_uid)
        return pod if pod is not None and pod.node_name is None else None

    def _forget(self, pod_uid: PodUID) -> None:
        self._series.forget(pod_uid)
        self._line.leave(pod_uid)

    def _is_old(self, series: Series) -> bool:
        """Whether our watch would have shown the pod by now, if there were one."""
        return self._unix_seconds() - series.last_seen > _UNKNOWN_SECONDS

    async def _write(self, pod: Pod, told: ToldPod, series: Series) -> None:
        count = series.count
        try:
            await self._send(pod, series)
        except ExtenderError as error:
            self.failed += 1
            self._warn(error)
            if isinstance(error, Unreachable):
                self._pause_until = self._monotonic() + _PAUSE_SECONDS
            if isinstance(error, NotFound | Conflict):
                # It has expired, or another has its name: begin anew.
                series.name = ""
        else:
            self.written += 1
            self._was_failing = False
        self._series.wrote(told, series, count, self._monotonic())

    async def _send(self, pod: Pod, series: Series) -> None:
        if series.name:
            await self._cluster.count_event(self._shown(pod, series, series.name))
            return
        name = event_name(pod.name, self._unix_seconds())
        await self._cluster.create_event(self._shown(pod, series, name))
        series.name = name

    def _shown(self, pod: Pod, series: Series, name: str) -> EventOnPod:
        event = series.event
        return EventOnPod(
            name=name,
            namespace=pod.namespace,
            pod_name=pod.name,
            pod_uid=pod.uid,
            type=event.type,
            reason=event.reason,
            action=event.action,
            note=series.note,
            reporter=self._reporter,
            first_seen=series.first_seen,
            last_seen=series.last_seen,
            count=series.count,
        )

    def _warn(self, error: ExtenderError) -> None:
        """Log the first of a row of failures; the metrics count them all."""
        level = logging.DEBUG if self._was_failing else logging.WARNING
        _log.log(level, "an Event is not written: %s", error)
        self._was_failing = True
