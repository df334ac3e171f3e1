"""Events: one series a pod and reason, one write a minute a pod, a bounded rate."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, cast

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import PodUID
from extender.core.pod import Pod
from extender.embedded.cluster import EmbeddedCluster
from extender.observe.pod_events import (
    EventSettings,
    PodEvent,
    bind_event,
    refused_event,
)
from extender.observe.words import BindRefusal
from extender.service.event_writer import EventWriter
from extender.wire.pods import PodReader
from tests.builders import Json, pod

MEMORY: Final = refused_event({"CardInsufficientMemory": 7}, {})
MIXED: Final = refused_event({"CardInsufficientMemory": 6, "NodeLocked": 1}, {})
LOCKED: Final = cast("PodEvent", bind_event(BindRefusal.NODE_LOCKED))
READER: Final = PodReader(Kinds([NVIDIA]))


@dataclass(slots=True)
class Told:
    """A writer on an embedded cluster, and a clock that stands still."""

    settings: EventSettings = field(default_factory=EventSettings)
    now: float = 0.0
    pods: dict[PodUID, Pod] = field(default_factory=dict)
    cluster: EmbeddedCluster = field(default_factory=lambda: EmbeddedCluster(READER))
    writer: EventWriter = field(init=False)

    def __post_init__(self) -> None:
        self.writer = EventWriter(
            cluster=self.cluster,
            pod_of=self.pods.get,
            reporter="gpu-extender_1",
            settings=self.settings,
            unix_seconds=lambda: 1_700_000_000 + self.now,
            monotonic=lambda: self.now,
        )

    def waiting(self, name: str) -> PodUID:
        """Have an unbound pod."""
        read = READER.read(pod(name).app("a", gpu=1).build())
        self.pods[read.uid] = read
        return read.uid

    async def write(self, after: float = 0.0) -> list[Json]:
        """Write what is due a while later; give all Events."""
        self.now += after
        await self.writer.write()
        return [dict(event) for event in self.cluster.event_objects]


async def test_series_is_written_once_a_minute() -> None:
    """First an Event; then, a minute later, how often it happened since."""
    told = Told()
    uid = told.waiting("p")
    told.writer.note(uid, MEMORY)
    (event,) = await told.write()
    assert event["note"] == "0/7 nodes fit: 7 CardInsufficientMemory"
    assert event["regarding"]["uid"] == uid
    assert "series" not in event
    for _ in range(59):
        told.now += 1
        told.writer.note(uid, MEMORY)
        assert await told.write() == [event]
    (series,) = await told.write(after=1)
    last = "2023-11-14T22:14:19.000000Z"
    assert series == {**event, "series": {"count": 60, "lastObservedTime": last}}
    assert told.writer.written == 2


async def test_other_cause_is_another_event() -> None:
    """Since the text of an Event cannot be changed; it too has to wait its minute."""
    told = Told()
    uid = told.waiting("p")
    told.writer.note(uid, MEMORY)
    await told.write()
    told.writer.note(uid, MIXED)
    assert len(await told.write(after=59)) == 1
    events = await told.write(after=1)
    assert [event["note"] for event in events] == [MEMORY.note, MIXED.note]


async def test_two_reasons_share_the_minute() -> None:
    """The one that was not written the last time comes first."""
    told = Told()
    uid = told.waiting("p")
    for _ in range(2):
        told.writer.note(uid, MEMORY)
        told.writer.note(uid, LOCKED)
    assert len(await told.write()) == 1
    assert len(await told.write(after=59)) == 1
    told.writer.note(uid, MEMORY)
    events = await told.write(after=1)
    assert [event["reason"] for event in events] == [MEMORY.reason, LOCKED.reason]
    assert events[1]["series"]["count"] == 2


async def test_series_ends_after_a_pause() -> None:
    """As client-go's do after six minutes: then it happened anew."""
    told = Told()
    uid = told.waiting("p")
    told.writer.note(uid, MEMORY)
    await told.write()
    told.now += 361
    told.writer.note(uid, MEMORY)
    events = await told.write()
    assert [event.get("series") for event in events] == [None, None]


async def test_burst_stays_within_the_rate() -> None:
    """Of 1,000 pods, 50 are told at once and ten a second; none is lost."""
    told = Told()
    for number in range(1_000):
        told.writer.note(told.waiting(f"p{number}"), MEMORY)
    written = [len(await told.write(after=float(second > 0))) for second in range(96)]
    assert written[0] == 50
    assert {after - before for before, after in pairwise(written)} == {10}
    assert written[-1] == 1_000
    assert told.writer.dropped == 0


async def test_memory_is_bounded() -> None:
    """The oldest of too many pods is dropped, and counted."""
    told = Told(EventSettings(most_pods=10))
    for number in range(25):
        told.writer.note(told.waiting(f"p{number}"), MEMORY)
    events = await told.write()
    assert [event["regarding"]["name"] for event in events] == [
        f"p{number}" for number in range(15, 25)
    ]
    assert told.writer.dropped == 15


async def test_bound_and_unknown_pods_are_told_nothing() -> None:
    """It is over by the time that it would be written, or was never a pod."""
    told = Told()
    bound = told.waiting("bound")
    told.writer.note(bound, MEMORY)
    told.writer.note(PodUID("nobody"), MEMORY)
    obj = pod("bound").app("a", gpu=1).on("n1").build()
    told.pods[bound] = READER.read(obj)
    assert await told.write() == []
    assert await told.write(after=31) == []
    assert len(told.writer._series) == 0
    assert told.writer.dropped == 0


async def test_pod_may_be_shown_late() -> None:
    """Its watch is behind kube-scheduler's."""
    told = Told()
    uid = PodUID(pod("late").pod_uid)
    told.writer.note(uid, MEMORY)
    assert await told.write(after=5) == []
    assert told.waiting("late") == uid
    assert len(await told.write(after=5)) == 1


async def test_nothing_is_kept_where_nothing_is_written() -> None:
    """In a mode that writes nothing."""
    told = Told(EventSettings(is_written=False))
    told.writer.note(told.waiting("p"), MEMORY)
    assert await told.write() == []
    assert len(told.writer._series) == 0


@pytest.mark.parametrize("lost", ["expired", "kept"])
async def test_expired_event_is_written_anew(lost: str) -> None:
    """The API server keeps Events for an hour; the series may go on for longer."""
    told = Told()
    uid = told.waiting("p")
    told.writer.note(uid, MEMORY)
    (event,) = await told.write()
    if lost == "expired":
        told.cluster._events.clear()
    told.now += 60
    told.writer.note(uid, MEMORY)
    await told.write()
    told.writer.note(uid, MEMORY)
    (now,) = await told.write(after=60)
    assert now["series"]["count"] == 3
    assert (now["metadata"]["name"] == event["metadata"]["name"]) is (lost == "kept")
    assert told.writer.failed == (lost == "expired")
