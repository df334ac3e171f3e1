"""The validating webhook over a ledger: whom it lets in, and what it counts."""

import json
from dataclasses import dataclass, field, replace
from typing import Final

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName, PodUID
from extender.errors import MalformedBody
from extender.observe.metrics import Metrics
from extender.service.quota_admitter import QuotaAdmitter
from extender.settings import AdmissionSettings
from extender.state.admissions import MOST_EXPECTED
from extender.state.events import (
    NodeSeen,
    PodGone,
    PodSeen,
    QuotaSeen,
    Reserved,
    Unreserved,
)
from extender.state.ledger import Ledger
from extender.verbs.bind import choose_devices
from extender.wire.label_selector import EVERYTHING
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from extender.wire.resource_quota import read_quota
from tests.admission import OURS, V1BETA1, Answered, read_answer, review
from tests.builders import Json, PodBuilder, node, pod, resource_quota

KINDS: Final = Kinds([NVIDIA])
READER: Final = PodReader(KINDS)
MEM: Final = "limits.nvidia.com/gpumem"
CORES: Final = "limits.nvidia.com/gpucores"
COUNT: Final = "limits.nvidia.com/gpu"
SECONDS: Final = AdmissionSettings().expected_seconds


@dataclass
class Door:
    """The webhook, the ledger behind it, and a clock that stands."""

    ledger: Ledger = field(default_factory=Ledger)
    metrics: Metrics = field(default_factory=Metrics)
    now: float = 100.0
    is_synced: bool = True

    def __post_init__(self) -> None:
        self.admitter = QuotaAdmitter(
            ledger=self.ledger,
            reader=lambda: READER,
            is_synced=lambda: self.is_synced,
            settings=AdmissionSettings(),
            metrics=self.metrics,
            monotonic=lambda: self.now,
        )

    def limit(self, key: str, most: object, name: str = "q", **spec: object) -> None:
        """Show a quota of namespace t."""
        shown = resource_quota(name, "t", hard={key: str(most)}, **spec)
        self.ledger.apply(QuotaSeen(read_quota(shown, KINDS)))

    def ask(
        self, shown: PodBuilder | Json, *, dry: bool = False, version: str = "v1"
    ) -> Answered:
        """Put a pod to it, as it would be written."""
        asked = review(
            ours(shown) if isinstance(shown, PodBuilder) else shown,
            namespace="t",
            version=V1BETA1 if version == "v1beta1" else "admission.k8s.io/v1",
        )
        asked["request"]["dryRun"] = dry
        answer = read_answer(asked, self.admitter.answer(json.dumps(asked).encode()))
        assert answer.patch == []
        return answer

    def admits(self, shown: PodBuilder, *, dry: bool = False) -> bool:
        """Whether it may be created."""
        return self.ask(shown, dry=dry).allowed

    def show(self, shown: PodBuilder) -> None:
        """Let the watch show a pod."""
        self.ledger.apply(PodSeen(READER.read(ours(shown))))

    def lose(self, shown: PodBuilder) -> None:
        """Let the watch show that it is gone."""
        self.ledger.apply(PodGone(PodUID(shown.pod_uid)))

    def reserve(self, shown: PodBuilder) -> None:
        """Reserve for a pod as bind does."""
        wanted = READER.read(ours(shown))
        rooms = self.ledger.quota_rooms(wanted)
        n1 = NodeName("n1")
        rows = choose_devices(self.ledger.fleet, wanted, n1, None, rooms=rooms)
        assert rows is not None
        self.ledger.apply(Reserved(wanted, n1, rows))

    def count(self, outcome: str) -> int:
        """How many answers had this outcome."""
        return int(self.metrics.admissions.labels(outcome)._value.get())


def ours(shown: PodBuilder, **spec: object) -> Json:
    """Print a pod as the API server sends it to validating webhooks."""
    body = shown.build()
    body["spec"] = {"schedulerName": OURS, **body["spec"], **spec}
    return body


def asking(name: str, **asks: int) -> PodBuilder:
    """Give a pod of one container on one card, in namespace t."""
    return pod(name, "t").app("a", **{"gpu": 1, **asks})


@pytest.fixture
def door() -> Door:
    """Two nodes with cards of 24000 and of 80000 MiB, and no quota."""
    each = Door()
    for shown in (
        node("n1").gpu("GPU-a", memory=24_000).gpu("GPU-b", memory=24_000),
        node("n2").gpu("GPU-c", memory=80_000),
    ):
        each.ledger.apply(NodeSeen(decode_node(shown.build(), KINDS, EVERYTHING)))
    return each


TABLE: Final[dict[str, tuple[PodBuilder, str, object, str]]] = {
    "exactly the limit": (asking("p", gpumem=6_000), MEM, 6_000, ""),
    "one above": (
        asking("p", gpumem=6_000),
        MEM,
        5_999,
        "needs 6000, 0 of 5999 MiB used",
    ),
    "two cards": (
        asking("p", gpu=2, gpumem=3_000),
        MEM,
        5_999,
        "needs 6000, 0 of 5999 MiB used",
    ),
    "a percentage is of the smallest card": (
        asking("p", percentage=50),
        MEM,
        12_000,
        "",
    ),
    "and no less": (
        asking("p", percentage=50),
        MEM,
        11_999,
        "needs 12000, 0 of 11999 MiB used",
    ),
    "a percentage of a card that is named": (
        asking("p", percentage=50).annotations({"nvidia.com/use-gpuuuid": "GPU-c"}),
        MEM,
        39_999,
        "needs 40000, 0 of 39999 MiB used",
    ),
    "of a card that is not there": (
        asking("p", percentage=50).annotations({"nvidia.com/use-gpuuuid": "GPU-z"}),
        MEM,
        1,
        "",
    ),
    "a whole card": (asking("p"), MEM, 23_999, "needs 24000, 0 of 23999"),
    "an init alone": (
        pod("p", "t").init("i", gpu=1, gpumem=9_000).app("a"),
        MEM,
        8_999,
        "needs 9000, 0 of 8999",
    ),
    "init, then app: the larger": (
        pod("p", "t").init("i", gpu=1, gpumem=9_000).app("a", gpu=1, gpumem=5_000),
        MEM,
        9_000,
        "",
    ),
    "a count": (asking("p", gpu=2), COUNT, 1, "needs 2, 0 of 1 devices used"),
    "cores": (
        asking("p", gpumem=1, cores=30),
        CORES,
        29,
        "needs 30, 0 of 29 % of cores used",
    ),
    "no cores are needed": (asking("p", gpumem=1), CORES, 0, ""),
    "zero": (asking("p", gpumem=1), MEM, 0, "needs 1, 0 of 0 MiB used"),
    "an unreadable limit": (asking("p", gpumem=1), MEM, "1500m", "'1500m'"),
    "no cards": (pod("p", "t").app("a"), MEM, 0, ""),
    "a request that filter refuses": (asking("p", gpumem=-1), MEM, 0, ""),
    "another kind's key": (
        asking("p", gpumem=1),
        "limits.nvidia.com/gpumem-percentage",
        0,
        "",
    ),
}


@pytest.mark.parametrize(("shown", "key", "most", "text"), TABLE.values(), ids=TABLE)
def test_limit(
    door: Door, shown: PodBuilder, key: str, most: object, text: str
) -> None:
    """One quota, one pod, which is let in where there is no text."""
    door.limit(key, most)
    answer = door.ask(shown)
    assert answer.allowed == (not text)
    if not text:
        assert answer.code == 0
        return
    assert answer.code == 403
    assert answer.text.startswith(f"pod t/p: exceeding resource quota: quota q: {key}:")
    assert text in answer.text
    assert answer.text.endswith(
        "Ask for less, delete pods of the namespace, or have the quota raised"
    )
    assert door.count("over-quota") == 1


LEFT_ALONE: Final[dict[str, Json]] = {
    "another scheduler's": {"schedulerName": "volcano"},
    "the default scheduler's": {"schedulerName": "default-scheduler"},
    "with a node": {"nodeName": "n1"},
}


@pytest.mark.parametrize("spec", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_pods_that_are_left_alone(door: Door, spec: Json) -> None:
    """Nothing here places them, so nothing is counted either."""
    door.limit(MEM, 0)
    answer = door.ask(ours(asking("p", gpumem=1), **spec))
    assert answer.allowed
    assert door.count("passed-over") == 1
    assert door.admitter.expected() == 0


def test_burst(door: Door) -> None:
    """Each that is admitted counts for the next, before any is shown."""
    door.limit(MEM, 5_999)
    admitted = [door.admits(asking(f"p{n}", gpumem=1_000)) for n in range(20)]
    assert admitted == [True] * 5 + [False] * 15
    assert door.admitter.expected() == 5
    text = door.ask(asking("x", gpumem=1_000)).text
    assert "5000 of 5999 MiB used, 5000 of these by pods that wait for a node" in text
    assert door.count("within-quota") == 5


def test_dry_run_takes_nothing(door: Door) -> None:
    """It is answered as if it were none."""
    door.limit(MEM, 1_000)
    for number in range(3):
        assert door.admits(asking(f"d{number}", gpumem=1_000), dry=True)
    assert door.admitter.expected() == 0
    assert door.admits(asking("p", gpumem=1_000))
    assert not door.admits(asking("d", gpumem=1), dry=True)


def test_asked_twice_it_counts_once(door: Door) -> None:
    """A pod is judged as if it were not there."""
    door.limit(MEM, 1_000)
    wanted = asking("p", gpumem=1_000)
    assert door.admits(wanted)
    assert door.admits(wanted)
    assert door.admitter.expected() == 1


def test_pod_that_does_not_come(door: Door) -> None:
    """It counts up to the deadline, and not at it."""
    door.limit(MEM, 1_000)
    assert door.admits(asking("p", gpumem=1_000))
    door.now += SECONDS - 0.1
    assert not door.admits(asking("q", gpumem=1))
    door.now += 0.1
    assert door.admits(asking("q", gpumem=1_000))
    assert not door.admits(asking("r", gpumem=1))


def test_pod_that_comes_counts_on(door: Door) -> None:
    """While it waits, however long; then by its place; and until it is gone."""
    door.limit(MEM, 1_000)
    wanted = asking("p", gpumem=1_000)
    assert door.admits(wanted)
    door.show(wanted)
    assert door.admitter.expected() == 0
    door.now += 100 * SECONDS
    assert "1000 of these" in door.ask(asking("q", gpumem=1)).text
    door.reserve(wanted)
    assert "1000 of 1000 MiB used. Ask" in door.ask(asking("q", gpumem=1)).text
    door.ledger.apply(Unreserved(PodUID(wanted.pod_uid)))
    assert "1000 of these" in door.ask(asking("q", gpumem=1)).text
    door.show(wanted.on("n1").holding("GPU-a,NVIDIA,1000,0:;"))
    assert "1000 of 1000 MiB used. Ask" in door.ask(asking("q", gpumem=1)).text
    door.lose(wanted)
    assert door.admits(asking("q", gpumem=1_000))


def test_pod_that_is_reserved_before_it_is_shown(door: Door) -> None:
    """It counts once, also where its Binding is refused."""
    door.limit(MEM, 2_000)
    wanted = asking("p", gpumem=1_000)
    assert door.admits(wanted)
    door.reserve(wanted)
    assert "1000 of 2000 MiB used. Ask" in door.ask(asking("q", gpumem=1_001)).text
    door.ledger.apply(Unreserved(PodUID(wanted.pod_uid)))
    assert "1000 of these" in door.ask(asking("q", gpumem=1_001)).text


def test_pods_that_wait_and_were_never_admitted_here(door: Door) -> None:
    """After a restart, or by another replica: the watch tells of them."""
    door.limit(MEM, 3_000)
    door.show(asking("p", gpumem=1_000))
    door.show(asking("q", gpumem=1_000))
    assert "2000 of these" in door.ask(asking("r", gpumem=1_001)).text
    body = ours(asking("s", gpumem=1_000), schedulerName="volcano")
    door.ledger.apply(PodSeen(READER.read(body)))
    door.show(asking("t", gpumem=1_000).phase("Failed"))
    door.show(pod("u", "other").app("a", gpu=1, gpumem=1_000))
    assert door.admits(asking("r", gpumem=1_000))


def test_pods_that_wait_keep_nobody_from_a_node(door: Door) -> None:
    """For filter and bind there is as much room as before."""
    door.limit(MEM, 1_000)
    assert door.admits(asking("p", gpumem=1_000))
    door.show(asking("q", gpumem=1_000))
    rooms = door.ledger.quota_rooms(READER.read(ours(asking("x", gpumem=1_000))))
    assert [use.used for room in rooms.values() for use in room.uses] == [0]


def test_each_object_counts_whom_its_scopes_say(door: Door) -> None:
    """Those that wait, too."""
    deadline = {"activeDeadlineSeconds": 60}
    door.limit(MEM, 1_000, scopes=["Terminating"])
    door.limit(MEM, 3_000, name="all")
    assert door.ask(ours(asking("p", gpumem=1_000), **deadline)).allowed
    assert not door.ask(ours(asking("q", gpumem=1_000), **deadline)).allowed
    assert door.admits(asking("q", gpumem=2_000))
    text = door.ask(ours(asking("r", gpumem=1_000), **deadline)).text
    assert "quota all: limits.nvidia.com/gpumem: needs 1000, 3000 of 3000" in text
    assert "quota q: limits.nvidia.com/gpumem: needs 1000, 1000 of 1000" in text


def test_before_all_is_listed(door: Door) -> None:
    """Pods are let in, with a word; bind keeps them within their quotas."""
    door.limit(MEM, 0)
    door.is_synced = False
    answer = door.ask(asking("p", gpumem=1))
    assert answer.allowed
    assert answer.text == "quotas are not listed yet; they count when the pod is bound"


def test_namespace_without_a_limit_keeps_nothing(door: Door) -> None:
    """Nor do pods that no limit counts."""
    assert door.admits(asking("p", gpumem=1_000))
    door.limit(CORES, 10)
    assert door.admits(asking("q", gpumem=1_000))
    door.limit(MEM, 10, scopes=["Terminating"])
    assert door.admits(asking("r", gpumem=1_000))
    assert door.admitter.expected() == 0


def test_requests_that_are_made_up_do_not_fill_the_memory(door: Door) -> None:
    """Beyond a number, pods are let in without being counted."""
    door.limit(MEM, 1_000_000)
    wanted = READER.read(ours(asking("p", gpumem=1)))
    admissions = door.ledger._admissions
    for number in range(MOST_EXPECTED):
        admissions.expect(replace(wanted, uid=PodUID(str(number))), door.now + 1)
    assert door.admits(asking("p", gpumem=1))
    assert door.admitter.expected() == MOST_EXPECTED


def test_older_version(door: Door) -> None:
    """HAMi's chart registers v1beta1."""
    door.limit(MEM, 0)
    assert not door.ask(asking("p", gpumem=1), version="v1beta1").allowed


def test_pod_without_uid(door: Door) -> None:
    """The API server gives one by then; whoever asks without is somebody else."""
    body = ours(asking("p", gpumem=1))
    del body["metadata"]["uid"]
    with pytest.raises(MalformedBody, match=r"request\.object\.metadata\.uid"):
        door.ask(body)
    assert door.count("unreadable") == 1


def test_dry_run_that_is_no_boolean(door: Door) -> None:
    """Named, and not taken for one."""
    asked = review(ours(asking("p", gpumem=1)))
    asked["request"]["dryRun"] = "yes"
    with pytest.raises(MalformedBody, match=r"request\.dryRun: 'yes' is not true or"):
        door.admitter.answer(json.dumps(asked).encode())


def test_pod_that_cannot_be_read(door: Door) -> None:
    """Refused within the answer, by its field."""
    answer = door.ask(ours(asking("p", gpumem=1), containers="x"))
    assert (answer.allowed, answer.code) == (False, 400)
    assert answer.text.startswith("spec.containers: 'x' is not a list")


def test_no_pod_is_created(door: Door) -> None:
    """Other operations are none of its business."""
    asked = review(ours(asking("p", gpumem=1)))
    asked["request"]["operation"] = "DELETE"
    answer = door.admitter.answer(json.dumps(asked).encode())
    assert read_answer(asked, answer).allowed
