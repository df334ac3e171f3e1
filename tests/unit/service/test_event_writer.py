"""Events: one series a pod and reason, one write a minute a pod, a bounded rate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, cast

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName, PodUID
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
NODES: Final = (NodeName("n1"), NodeName("n2"))
SHORT: Final = "would fit on one node if 2048 MiB more were free on one card"
READER: Final = PodReader(Kinds([NVIDIA]))


@dataclass(slots=True)
class Told:
    """A writer on an embedded cluster, and a clock that stands still."""

    settings: EventSettings = field(default_factory=EventSettings)
    now: float = 0.0
    pods: dict[PodUID, Pod] = field(default_factory=dict)
    cluster: EmbeddedCluster = field(default_factory=lambda: EmbeddedCluster(READER))
    looked_at: list[tuple[str, Sequence[NodeName]]] = field(default_factory=list)
    missing: str | None = ""
    meanwhile: Callable[[], None] = lambda: None
    writer: EventWriter = field(init=False)

    def __post_init__(self) -> None:
        self.writer = EventWriter(
            cluster=self.cluster,
            pod_of=self.pods.get,
            look_for=self.look_for,
            reporter="gpu-extender_1",
            settings=self.settings,
            unix_seconds=lambda: 1_700_000_000 + self.now,
            monotonic=lambda: self.now,
        )

    async def look_for(self, pod: Pod, node_names: Sequence[NodeName]) -> str | None:
        """Tell what a test says is missing, after what it says happens meanwhile."""
        self.looked_at.append((pod.name, node_names))
        self.meanwhile()
        return self.missing

    def refuse(self, uid: PodUID, event: PodEvent = MEMORY) -> None:
        """Have filter refuse a pod."""
        self.writer.note(uid, event, NODES)

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


async def test_what_is_missing_ends_the_text() -> None:
    """It is looked for on the nodes that were asked about, and written at once."""
    told = Told(missing=SHORT)
    told.refuse(told.waiting("p"))
    (event,) = await told.write()
    assert event["note"] == f"{MEMORY.note}; {SHORT}"
    assert told.looked_at == [("p", NODES)]


async def test_eight_pods_wait_and_one_a_second_is_looked_at() -> None:
    """All others are told without it, right away."""
    told = Told(missing=SHORT)
    for number in range(20):
        told.refuse(told.waiting(f"p{number}"))
    events = await told.write()
    assert len(told.looked_at) == 1
    assert len(events) == 20 - 7
    assert [event["note"].endswith(SHORT) for event in events] == [True] + [False] * 12
    for second in range(2, 9):
        events = await told.write(after=1)
        assert len(told.looked_at) == second
    assert [name for name, _ in told.looked_at] == [f"p{each}" for each in range(8)]
    assert sum(event["note"].endswith(SHORT) for event in events) == 8
    assert len(events) == 20
    await told.write(after=1)
    assert len(told.looked_at) == 8


async def test_text_is_counted_up_only_while_it_is_so() -> None:
    """The same once more is a series; another amount is another Event."""
    told = Told(missing=SHORT)
    uid = told.waiting("p")
    told.refuse(uid)
    await told.write()
    told.refuse(uid)
    (series,) = await told.write(after=60)
    assert series["series"]["count"] == 2
    told.missing = SHORT.replace("2048", "512")
    told.refuse(uid)
    _, other = await told.write(after=60)
    assert other["note"].endswith("512 MiB more were free on one card")
    assert "series" not in other
    assert len(told.looked_at) == 3


async def test_text_is_not_counted_up_unseen() -> None:
    """Where there was no turn to look: after the next refusal."""
    told = Told(EventSettings(most_looked_for=1), missing=SHORT)
    uid, other = told.waiting("p"), told.waiting("other")
    told.refuse(uid)
    (event,) = await told.write()
    told.refuse(other)
    told.refuse(uid)
    told.writer._line.leave(uid)
    assert event in await told.write(after=61)
    told.refuse(uid)
    events = await told.write(after=1)
    assert [each.get("series", {}).get("count") for each in events] == [3, None]


async def test_pod_that_lacks_nothing_any_more_is_told_nothing() -> None:
    """kube-scheduler is about to ask again; what happened is not lost."""
    told = Told(missing=None)
    uid = told.waiting("p")
    told.refuse(uid)
    assert await told.write() == []
    assert await told.write(after=120) == []
    told.missing = SHORT
    told.refuse(uid)
    (event,) = await told.write(after=1)
    assert event["series"]["count"] == 2


async def test_pod_that_is_placed_meanwhile_is_told_nothing() -> None:
    """It was bound, or is gone, while it was looked at."""
    for left in (None, pod("p").app("a", gpu=1).on("n1").build()):
        told = Told(missing=SHORT)
        uid = told.waiting("p")

        def leave(
            told: Told = told, uid: PodUID = uid, left: Json | None = left
        ) -> None:
            told.pods.pop(uid)
            if left is not None:
                told.pods[uid] = READER.read(left)

        told.meanwhile = leave
        told.refuse(uid)
        assert await told.write() == []
        assert await told.write(after=60) == []
        assert len(told.writer._line) == 0


async def test_other_refusal_meanwhile_is_looked_at_anew() -> None:
    """What was found belongs to reasons that are not those of the text."""
    told = Told(missing=SHORT)
    uid = told.waiting("p")
    told.meanwhile = lambda: told.refuse(uid, MIXED)
    told.refuse(uid)
    assert await told.write() == []
    told.meanwhile = lambda: None
    (event,) = await told.write(after=1)
    assert event["note"] == f"{MIXED.note}; {SHORT}"


async def test_other_reasons_do_not_wait_for_a_look() -> None:
    """A bind that failed is told though the refusal waits."""
    told = Told(EventSettings(looks_per_second=0.001), missing=SHORT)
    first, second = told.waiting("first"), told.waiting("second")
    told.refuse(first)
    told.refuse(second)
    told.writer.note(second, LOCKED)
    events = await told.write()
    assert [event["reason"] for event in events] == [MEMORY.reason, LOCKED.reason]


async def test_unknown_pods_do_not_keep_others_out_of_the_line() -> None:
    """Who asks is not checked."""
    told = Told(missing=SHORT)
    for number in range(20):
        told.refuse(PodUID(f"nobody-{number}"))
    told.refuse(told.waiting("p"))
    (event,) = await told.write()
    assert event["note"].endswith(SHORT)
    assert await told.write(after=31) == [event]
    assert len(told.writer._line) == 0
