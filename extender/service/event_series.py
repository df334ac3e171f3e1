"""What each pod is to be told by Events, until it is written: bounded, and no I/O."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from extender.core.names import PodUID
from extender.observe.pod_events import EventSettings, PodEvent


@dataclass(slots=True)
class Series:
    """One Event, and how often it happened.

    Attributes:
        event: What it says.
        first_seen: In Unix seconds.
        last_seen: In Unix seconds.
        count: How often it happened.
        name: Of the Event object; empty until it is created.
        told: How often the object says that it happened.
        missing: What the text tells of what the pod lacks; empty where nothing.
    """

    event: PodEvent
    first_seen: float
    last_seen: float
    count: int = 1
    name: str = ""
    told: int = 0
    missing: str = ""

    @property
    def note(self) -> str:
        """The whole text."""
        return self.event.with_missing(self.missing)

    @property
    def is_for_room(self) -> bool:
        """Whether the pod may be told what is missing, and something is to be told."""
        return self.event.is_for_room and self.is_due

    @property
    def is_due(self) -> bool:
        """Whether something is to be written."""
        return self.count > self.told


@dataclass(slots=True)
class ToldPod:
    """A pod with one series for each event reason.

    Attributes:
        uid: Its UID.
        not_before: When the next write may be, on the monotonic clock.
        series: By event reason, the one that is to be written first at the front.
    """

    uid: PodUID
    not_before: float
    series: dict[str, Series] = field(default_factory=dict)


class EventSeries:
    """All pods that Events are about, the one that waits for longest first."""

    def __init__(self, settings: EventSettings) -> None:
        self._settings = settings
        self._pods: dict[PodUID, ToldPod] = {}
        self._due: dict[PodUID, None] = {}
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._pods)

    def note(
        self, pod_uid: PodUID, event: PodEvent, now: float, unix_seconds: float
    ) -> None:
        """Count that something happened to a pod.

        It goes on with the series of its reason and cause, or begins one anew. The
        pod that was noted first is forgotten where there are too many.
        """
        pod = self._pods.get(pod_uid)
        if pod is None:
            if len(self._pods) >= self._settings.most_pods:
                self._evict()
            pod = self._pods[pod_uid] = ToldPod(pod_uid, now)
        series = pod.series.get(event.reason)
        if (
            series is None
            or series.event.cause != event.cause
            or unix_seconds - series.last_seen > self._settings.finish_seconds
        ):
            pod.series[event.reason] = Series(event, unix_seconds, unix_seconds)
        else:
            series.count += 1
            series.last_seen = unix_seconds
        self._due.setdefault(pod_uid)

    def of(self, pod_uid: PodUID) -> ToldPod | None:
        """Give a pod that something was noted of."""
        return self._pods.get(pod_uid)

    def due(
        self, now: float, is_held: Callable[[ToldPod, Series], bool]
    ) -> Iterator[tuple[ToldPod, Series]]:
        """Give what may be written now; nothing may be noted or dropped meanwhile.

        Of each pod at most one; whoever writes it calls `wrote` after the last one.

        Args:
            now: On the monotonic clock.
            is_held: Tells what is not to be written yet.
        """
        for uid in list(self._due):
            pod = self._pods.get(uid)
            if pod is None or pod.not_before > now:
                continue
            for series in pod.series.values():
                if series.is_due and not is_held(pod, series):
                    yield pod, series
                    break

    def tell_missing(self, pod: ToldPod, series: Series, missing: str) -> Series:
        """Have a series tell what the pod lacks; gives the one that is to be written.

        A text that was written cannot be changed, so that another begins a series anew.
        """
        if series.missing == missing:
            return series
        if not series.name:
            series.missing = missing
            return series
        moment, count = series.last_seen, series.count - series.told
        anew = Series(series.event, moment, moment, count, missing=missing)
        pod.series[series.event.reason] = anew
        return anew

    def pass_over(self, pod: ToldPod, series: Series) -> None:
        """Take a series for told: what it tells is not so any more."""
        series.told = series.count
        if not any(each.is_due for each in pod.series.values()):
            self._due.pop(pod.uid, None)

    def wrote(self, pod: ToldPod, series: Series, count: int, now: float) -> None:
        """Take note that a write was tried, whatever became of it.

        Args:
            pod: Whose.
            series: What was written.
            count: The count that was written; there may be more by now.
            now: On the monotonic clock.
        """
        series.told = count
        pod.not_before = now + self._settings.least_seconds
        self._due.pop(pod.uid, None)
        reason = series.event.reason
        if pod.series.get(reason) is series:
            # The pod's other reasons come first the next time.
            pod.series[reason] = pod.series.pop(reason)
        if pod.uid in self._pods and any(each.is_due for each in pod.series.values()):
            self._due[pod.uid] = None

    def forget(self, pod_uid: PodUID) -> None:
        """Forget a pod: it is gone, or bound."""
        self._pods.pop(pod_uid, None)
        self._due.pop(pod_uid, None)

    def _evict(self) -> None:
        oldest = next((uid for uid in self._pods if uid not in self._due), None)
        if oldest is None:
            oldest = next(iter(self._pods))
            self.dropped += 1
        self.forget(oldest)
