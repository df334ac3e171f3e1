"""A shadow on events as a watch tells them: what it judges, and when."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName, PodUID
from extender.embedded.cluster import EmbeddedCluster
from extender.errors import ReadOnly
from extender.service import Binding, NodeLock, Turn
from extender.service.read_only import ReadOnlyCluster
from extender.service.shadow import ShadowExtender
from extender.service.shadow_report import shadow_report
from extender.settings import Settings
from extender.state.audit import audit
from extender.state.events import (
    ListTaken,
    NodeSeen,
    PodGone,
    PodSeen,
    Relisted,
)
from extender.verbs.shadow import Outcome
from extender.wire.events import EventOnPod, EventType
from extender.wire.extender_v1 import BindingArgs, ExtenderArgs
from extender.wire.pods import PodReader
from tests.builders import NodeBuilder, PodBuilder, node, pod

READER: Final = PodReader(Kinds([NVIDIA]))
ONE_CARD: Final = node("n1").gpu("GPU-a", memory=24_000)
PATIENCE: Final = Settings().shadow.patience_seconds
ASSIGNMENT: Final = Settings().shadow.assignment_seconds


class Watched:
    """A shadow, and what a test shows it."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.shadow = ShadowExtender(
            EmbeddedCluster(READER),
            READER,
            lambda: 1_700_000_000.0,
            monotonic=lambda: self.now,
        )

    def node(self, builder: NodeBuilder = ONE_CARD) -> None:
        """Show a node."""
        self.shadow.take_in(NodeSeen(self.shadow.read_node(builder.build())))

    def show(self, *builders: PodBuilder) -> None:
        """Show pods, in order."""
        for builder in builders:
            self.shadow.take_in(PodSeen(READER.read(builder.build())))

    def relist(self, *builders: PodBuilder) -> None:
        """Show pods as a list does after a watch broke."""
        self.shadow.take_in(Relisted())
        self.show(*builders)
        self.shadow.take_in(ListTaken())

    async def look(self, *, after: float = 0.0) -> None:
        """Let time pass, and look at who is pending."""
        self.now += after
        await self.shadow.look()

    @property
    def found(self) -> dict[str, int]:
        """What was counted."""
        totals = self.shadow.book.totals
        return {each.value: count for each, count in totals.items() if count}

    def held(self) -> int:
        """MiB on the only card."""
        totals = self.shadow.ledger.fleet.totals(NodeName("n1"))["NVIDIA"]
        return sum(usage.memory_mib for usage in totals.used.values())


@pytest.fixture
def watched() -> Iterator[Watched]:
    """Give a synced shadow with one card; its books are right at the end."""
    made = Watched()
    made.node()
    made.shadow.mark_synced()
    yield made
    assert audit(made.shadow.ledger) == []


def assigned(
    builder: PodBuilder, rows: str, *, to: str = "n1", at: str = "1"
) -> PodBuilder:
    """Write what HAMi's filter writes."""
    texts = {
        "hami.io/vgpu-node": to,
        "hami.io/vgpu-time": at,
        "hami.io/vgpu-devices-to-allocate": rows,
    }
    return builder.annotations(texts).holding(rows)


def refused(builder: PodBuilder, message: str = "0/1 nodes: 1 CardX") -> PodBuilder:
    """Write what kube-scheduler writes where no node is left."""
    shown = builder.condition("PodScheduled", status=False)
    (said,) = [each for each in shown.conditions if each["type"] == "PodScheduled"]
    unschedulable = {**said, "reason": "Unschedulable", "message": message}
    return replace(shown, conditions=(unschedulable,))


APP: Final = pod("app").app("a", gpu=1, gpumem=16_000)
APP_ROWS: Final = "GPU-a,NVIDIA,16000,0:;"
SIDE: Final = pod("side").sidecar("s", gpu=1, gpumem=13_000)
SIDE_AND_APP: Final = SIDE.app("a", gpu=1, gpumem=13_000)
SIDE_ROWS: Final = "GPU-a,NVIDIA,13000,0:;GPU-a,NVIDIA,13000,0:;"


def test_assignment_is_judged_once(watched: Watched) -> None:
    """Created, assigned, bound, running: one decision, with which we agree."""
    ours = assigned(APP, APP_ROWS)
    watched.show(APP, ours, ours.on("n1"), ours.on("n1").phase("Running"))
    assert watched.found == {"agrees": 1}
    assert watched.held() == 16_000


def test_sidecar_overcommits_in_words(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    """The log tells the numbers of both."""
    watched.show(SIDE_AND_APP, assigned(SIDE_AND_APP, SIDE_ROWS))
    assert watched.found == {"overcommits": 1}
    (said,) = [each for each in caplog.messages if each.startswith("shadow")]
    assert said == (
        "shadow: overcommits: default/side on n1: card GPU-a holds 26000 of 24000 MiB "
        "(others 0, this pod 26000; HAMi counts 0 and 13000) in phase steady"
    )


def test_what_is_assigned_counts_for_the_next(watched: Watched) -> None:
    """As in HAMi's own books, before the Binding is there."""
    other = pod("other").app("a", gpu=1, gpumem=16_000)
    watched.show(assigned(APP, APP_ROWS), assigned(other, APP_ROWS))
    assert watched.found == {"agrees": 1, "overcommits": 1}


def test_each_is_judged_on_what_was_before_it(watched: Watched) -> None:
    """A pod that ends just before makes room, one that ends just after does not."""
    running = assigned(APP, APP_ROWS).on("n1").phase("Running")
    before, after = (
        assigned(pod(name).app("a", gpu=1, gpumem=16_000), APP_ROWS)
        for name in ("before", "after")
    )
    watched.show(running, before, running.phase("Succeeded"))
    assert watched.found == {"agrees": 1, "overcommits": 1}
    watched.shadow.take_in(PodGone(PodUID(before.pod_uid)))
    watched.show(after)
    assert watched.found == {"agrees": 2, "overcommits": 1}


def test_what_was_there_before_us_is_only_audited() -> None:
    """The first list shows no order of decisions."""
    early = Watched()
    early.node()
    bound = assigned(SIDE_AND_APP, SIDE_ROWS).on("n1")
    early.relist(bound, assigned(APP, APP_ROWS))
    early.shadow.mark_synced()
    early.show(bound.phase("Running"), assigned(APP, APP_ROWS).on("n1"))
    assert early.found == {}
    assert early.held() == 42_000


def test_what_came_while_the_watch_was_down_is_not_judged(watched: Watched) -> None:
    """But what follows the list is."""
    watched.relist(assigned(APP, APP_ROWS).on("n1"))
    assert watched.found == {"not-judged": 1}
    watched.show(assigned(SIDE_AND_APP, SIDE_ROWS))
    assert watched.found == {"not-judged": 1, "overcommits": 1}


def test_without_and_with_unreadable_cards(watched: Watched) -> None:
    """The default scheduler took one pod; the rows of the other are garbage."""
    watched.show(APP.on("n1"), assigned(SIDE_AND_APP, "GPU-a,NVIDIA,x,0:;"))
    assert watched.found == {"without-cards": 1, "unreadable": 1}


async def test_pending_pod_that_fits_is_told_after_patience(watched: Watched) -> None:
    """The other scheduler needs a moment to try again."""
    watched.show(APP, refused(APP))
    await watched.look()
    await watched.look(after=PATIENCE - 1)
    assert watched.found == {}
    await watched.look(after=1)
    await watched.look(after=PATIENCE)
    assert watched.found == {"would-place": 1}
    (found,) = watched.shadow.book.newest_first()
    assert found.judgement.node_name == "n1"
    assert found.judgement.cards[0].ours.memory_mib == 16_000


async def test_pending_pod_that_is_placed_in_time_is_no_difference(
    watched: Watched,
) -> None:
    """It is judged as any other assignment."""
    watched.show(APP, refused(APP))
    await watched.look()
    watched.show(assigned(refused(APP), APP_ROWS))
    await watched.look(after=PATIENCE)
    assert watched.found == {"agrees": 1}


async def test_room_is_not_promised_to_two(watched: Watched) -> None:
    """Of two pending pods the card has room for one."""
    other = pod("other").app("a", gpu=1, gpumem=16_000)
    watched.show(refused(APP), refused(other))
    await watched.look()
    await watched.look(after=PATIENCE)
    assert watched.found == {"would-place": 1, "both-refuse": 1}


async def test_memory_that_hami_never_gives_back_is_found(watched: Watched) -> None:
    """A running sidecar keeps the peak of an init there, and a pod waits for ever."""
    rows = "GPU-a,NVIDIA,1000,0:;GPU-a,NVIDIA,20000,0:;GPU-a,NVIDIA,1000,0:;"
    long = pod("long").sidecar("s", gpu=1, gpumem=1_000)
    long = long.init("i", gpu=1, gpumem=20_000).app("a", gpu=1, gpumem=1_000)
    starting = assigned(long, rows).on("n1").running("s").running("i")
    watched.show(starting, refused(APP))
    await watched.look()
    assert watched.found == {"agrees": 1, "both-refuse": 1}
    watched.show(starting.exited("i").running("a").phase("Running"))
    await watched.look()
    await watched.look(after=PATIENCE)
    assert watched.found == {"agrees": 1, "both-refuse": 1, "would-place": 1}
    report = await shadow_report(watched.shadow)
    assert report["cards"]["memory_mib"] == {
        "capacity": 24_000,
        "ours": 2_000,
        "hami": 20_000,
        "needless": 18_000,
        "uncounted": 0,
    }
    assert [each["node"] for each in report["nodes"]] == ["n1"]


async def test_assignment_that_comes_to_nothing_is_dropped(watched: Watched) -> None:
    """By time, or once the scheduler finds no node any more."""
    watched.show(assigned(APP, APP_ROWS))
    await watched.look(after=ASSIGNMENT - 1)
    assert watched.held() == 16_000
    await watched.look(after=1)
    assert watched.held() == 0
    watched.show(assigned(APP, APP_ROWS, at="2"))
    assert watched.held() == 16_000
    watched.show(refused(assigned(APP, APP_ROWS, at="2")))
    assert watched.held() == 0
    assert watched.found == {"agrees": 2}


async def test_report_is_bounded(watched: Watched) -> None:
    """The last differences are kept, and the rest is counted."""
    kept = Settings().shadow.differences_kept
    for number in range(kept + 3):
        name = f"p{number}"
        shown = pod(name).app("a", gpu=1, gpumem=30_000)
        watched.show(assigned(shown, "GPU-a,NVIDIA,30000,0:;"))
        watched.shadow.take_in(PodGone(PodUID(shown.pod_uid)))
    report = await shadow_report(watched.shadow)
    assert len(report["differences"]) == kept
    assert report["differences_left_off"] == 3
    assert report["differences"][0]["name"] == f"p{kept + 2}"
    assert report["decisions"]["overcommits"] == kept + 3


def test_metrics_count_every_outcome(watched: Watched) -> None:
    """Also those that have not come up."""
    watched.show(assigned(APP, APP_ROWS))
    text = watched.shadow.metrics.exposition().decode()
    for outcome in Outcome:
        count = 1.0 if outcome is Outcome.AGREES else 0.0
        line = f'gpu_extender_shadow_decisions_total{{outcome="{outcome.value}"}}'
        assert f"{line} {count}" in text


async def test_verbs_answer_and_bind_does_not(watched: Watched) -> None:
    """Filter is answered as ever; bind says why not."""
    asked = ExtenderArgs(READER.read(APP.build()), (NodeName("n1"),), None)
    assert watched.shadow.filter(asked).fitting == ["n1"]
    args = BindingArgs("app", "default", PodUID(APP.pod_uid), NodeName("n1"))
    assert "shadow mode" in await watched.shadow.bind(args)
    assert watched.held() == 0


WRITES: Final[Mapping[str, str]] = {
    "bind": "the Binding of pod default/app",
    "touch": "a touch of pod default/app",
    "annotate_node": "annotations a/b of node n1",
    "take_lock": "the lock of node n1",
    "release_lock": "the release of the lock of node n1",
    "write_turn": "the lease of namespace default",
    "create_event": "an Event on pod default/app",
    "count_event": "an Event on pod default/app",
}


@pytest.mark.parametrize("write", WRITES)
async def test_every_write_of_the_port_is_an_error(write: str) -> None:
    """It names what was to be written."""
    port = ReadOnlyCluster(EmbeddedCluster(READER))
    read, n1 = READER.read(APP.build()), NodeName("n1")
    told = EventOnPod(
        name="e",
        namespace="default",
        pod_name="app",
        pod_uid=read.uid,
        type=EventType.WARNING,
        reason="r",
        action="a",
        note="n",
        reporter="gpu-extender_1",
        first_seen=0.0,
        last_seen=0.0,
        count=1,
    )
    writes: Mapping[str, Callable[[], Awaitable[object]]] = {
        "bind": lambda: port.bind(Binding("default", "app", read.uid, n1)),
        "touch": lambda: port.touch(read),
        "annotate_node": lambda: port.annotate_node(n1, {"a/b": ""}),
        "take_lock": lambda: port.take_lock(n1, "v", NodeLock(None, "1")),
        "release_lock": lambda: port.release_lock(n1, "v"),
        "write_turn": lambda: port.write_turn("default", Turn(), None),
        "create_event": lambda: port.create_event(told),
        "count_event": lambda: port.count_event(told),
    }
    with pytest.raises(ReadOnly, match="shadow mode writes nothing") as said:
        await writes[write]()
    assert str(said.value).startswith(WRITES[write])


def test_no_event_is_kept_in_mind() -> None:
    """What filter refuses is told to who asks, and to nobody else."""
    shadow = ShadowExtender(EmbeddedCluster(READER), READER, lambda: 0.0)
    assert not shadow._events.is_written
