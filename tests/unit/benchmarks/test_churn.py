"""The load of churn is what it says, and its figures are told right."""

from collections import Counter
from itertools import islice

import pytest

from benchmarks.api_server.events import PodLives, handshakes, watch_lines
from benchmarks.api_server.objects import plain_pod, pod_as_shown
from benchmarks.api_server.paced import Paced
from benchmarks.churn.absorbed import absorbed
from benchmarks.churn.asking import check
from benchmarks.churn.plan import Load, Plan
from benchmarks.churn.taken import Taken
from benchmarks.cluster import make_cluster
from benchmarks.connection import AnswerUnusable
from benchmarks.workloads import Section, WorkloadUnusable, load_workload
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.state.audit import audit
from extender.state.events import NodeSeen, PodGone, PodSeen, Synced
from extender.state.ledger import Ledger
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader

READER = PodReader(Kinds([NVIDIA]))
MIX = dict.fromkeys(("gpu_status", "plain_status"), 9.0) | dict.fromkeys(
    ("gpu_replaced", "plain_replaced"), 2.0
)


def _cluster() -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    items = make_cluster(20)["items"]
    nodes = [item for item in items if item["kind"] == "Node"]
    return nodes, [item for item in items if item["kind"] == "Pod"]


def _lives() -> PodLives:
    _, pods = _cluster()
    return PodLives(pods, [plain_pod(number, 20) for number in range(100)], MIX)


def test_no_event_makes_a_card_overfull() -> None:
    """The ledger takes in all of them, ends as full as it began, and adds up."""
    nodes, pods = _cluster()
    ledger = Ledger()
    for node in nodes:
        ledger.apply(NodeSeen(decode_node(node, [NVIDIA])))
    for pod in pods:
        ledger.apply(PodSeen(READER.read(pod)))
    ledger.apply(Synced())
    charged = 0
    for kind, obj in islice(_lives().changes(), 3_000):
        read = READER.read(pod_as_shown(obj))
        ledger.apply(PodGone(read.uid) if kind == "DELETED" else PodSeen(read))
        charged += ledger.holding(read.uid) is not None
    assert not ledger.overfull.causes
    assert not ledger.overfull.seen
    assert audit(ledger) == []
    assert charged > 1_000


def test_events_are_the_same_in_every_run() -> None:
    """Chance has a seed."""
    first, second = (list(islice(_lives().changes(), 500)) for _ in range(2))
    assert first == second


def test_pods_come_change_and_go() -> None:
    """Most events change a pod; as many come as go, but for those on their way."""
    kinds = Counter(kind for kind, _ in islice(_lives().changes(), 5_000))
    assert kinds["MODIFIED"] > 3 * (kinds["ADDED"] + kinds["DELETED"])
    assert abs(kinds["ADDED"] - kinds["DELETED"]) < 100


def test_versions_rise_by_one() -> None:
    """A watch that is taken up at a version gets the next one first."""
    nodes, _ = _cluster()
    lines = list(watch_lines(handshakes(nodes), 3, 50, lambda node: node))
    assert [
        b'"resourceVersion":"%d"' % n in line
        for n, line in zip((51, 52, 53), lines, strict=True)
    ] == [True] * 3


def test_a_watch_goes_on_where_it_stopped() -> None:
    """What was told before a version is not told again."""
    paced, told = Paced([b"a\n", b"b\n", b"c\n"], 50), []

    def write(chunk: bytes) -> None:
        told.append(chunk)
        raise BrokenPipeError

    paced.start(1e9)
    with pytest.raises(BrokenPipeError):
        paced.follow(51, write)
    assert told == [b"2\r\nb\n\r\n2\r\nc\n\r\n"]
    assert paced.stop() == 3
    assert paced.is_used_up


def test_what_was_listed_is_told_apart() -> None:
    """A second list would count as events, so it is an error."""
    text = 'gpu_extender_lists_total{collection="pods"} 2.0\n'
    assert absorbed('gpu_extender_watch_events_total{collection="pods"} 5.0') == {
        "pods": 5
    }
    with pytest.raises(ValueError, match=r"listed 2\.0 times"):
        absorbed(text)


def test_a_node_may_gain_room_but_not_lose_it() -> None:
    """Between two pods a card is emptier than in the cluster as it was made."""
    check(b'{"Error":"","NodeNames":["n1","n2"]}', ["n1"])
    with pytest.raises(AnswerUnusable, match="where 2 nodes fit"):
        check(b'{"Error":"","NodeNames":["n1"]}', ["n1", "n2"])


def test_a_lag_is_what_was_sent_and_not_taken_in() -> None:
    """Ratios are of all turns, the lag is the largest."""
    plan = Plan.of(load_workload("churn"), full=False)
    taken = Taken("one app", calm=[2_000_000], churn=[3_000_000])
    taken.note_events({"pods": 0}, {"pods": 100}, {"pods": 90}, 1.0)
    taken.note_events({"pods": 100}, {"pods": 200}, {"pods": 200}, 1.0)
    taken.drain_seconds = [0.5, 0.0]
    row = taken.row(plan, plan.loads[0])
    assert row.figures["lag_events"] == 10
    assert row.figures["absorbed_per_second"] == 95
    assert row.ratios["absorbed_to_sent"] == pytest.approx(0.95)
    assert row.ratios["p99_to_calm"] == pytest.approx(1.5)


def test_a_load_says_whether_its_requests_are_seen() -> None:
    """They are not, where nothing is said; a mistyped word is told."""
    loads = Plan.of(load_workload("churn"), full=False).loads
    assert [load.is_seen for load in loads] == [False, False, True]
    wrong = Section({"name": "pods", "rates": {}, "asked": "sen"}, "churn.yaml")
    with pytest.raises(WorkloadUnusable, match=r"churn\.yaml: asked is 'sen'"):
        Load.of(wrong)


def test_the_workload_is_read_both_ways() -> None:
    """What stands under full replaces what stands above; a mistyped key is told."""
    workload = load_workload("churn")
    quick, full = (Plan.of(workload, full=is_full) for is_full in (False, True))
    assert full.rounds > quick.rounds
    assert full.loads == quick.loads
    with pytest.raises(WorkloadUnusable, match="round "):
        Plan.of({**workload, "round ": 1}, full=False)
