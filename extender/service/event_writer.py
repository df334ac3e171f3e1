"""Events on pods: noted by the verbs, and written beside them, a few a second."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from extender.core.names import PodUID
from extender.core.pod import Pod
from extender.errors import Conflict, ExtenderError, NotFound, Unreachable
from extender.observe.pod_events import EventSettings, PodEvent
from extender.service.cluster import Cluster
from extender.service.event_series import EventSeries, Series, ToldPod
from extender.service.token_bucket import TokenBucket
from extender.wire.events import EventOnPod, event_name

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
        reporter: str,
        settings: EventSettings,
        unix_seconds: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        """Put it together.

        Args:
            cluster: Where Events are written.
            pod_of: Gives a pod as the cluster shows it; of others nothing is told.
            reporter: Names this process; no node's name.
            settings: Whether to write at all, and how much.
            unix_seconds: The clock for the times that are written.
            monotonic: The clock for waiting.
        """
        self._cluster = cluster
        self._pod_of = pod_of
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

    def note(self, pod_uid: PodUID, event: PodEvent) -> None:
        """Have a pod told of something, soon."""
        if self._settings.is_written:
            self._series.note(pod_uid, event, self._monotonic(), self._unix_seconds())

    async def write_forever(self) -> None:
        """Write, until cancelled, what is due."""
        while True:
            await asyncio.sleep(self._settings.look_seconds)
            await self.write()

    async def write(self) -> None:
        """Write what is due, once, as far as the rate allows; the rest later."""
        for told, series in list(self._series.due(self._monotonic())):
            now = self._monotonic()
            if now < self._pause_until:
                return
            pod = self._pod_of(told.uid)
            if pod is None or pod.node_name is not None:
                if pod is not None or self._is_old(series):
                    self._series.forget(told.uid)
                continue
            if not self._bucket.take(now):
                return
            await self._write(pod, told, series)

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
            note=event.note,
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
