"""The cluster in memory: what it takes in, and its part in a bind."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName, PodUID
from extender.embedded.cluster import EmbeddedCluster
from extender.errors import BadObject, Conflict, NotFound, SettingsError
from extender.service import Binding
from extender.state.events import Event, NodeSeen, PodSeen
from extender.wire.pods import PodReader
from tests.builders import Json, NodeBuilder, PodBuilder, node, pod
from tests.values import inventory_of, request_of

if TYPE_CHECKING:
    from extender.core.pod import Pod

ROWS: Final = "GPU-a,NVIDIA,8000,0:;;"
ONE_CARD = node("n1").gpu("GPU-a")
ASKING = pod("p").app("a", gpu=1, gpumem=8000).app("b")


def file_of(
    directory: Path, *shown: NodeBuilder | PodBuilder | Json, name: str = "dump.json"
) -> Path:
    """Write a dump."""
    items = [each if isinstance(each, dict) else each.build() for each in shown]
    file = directory / name
    file.write_text(json.dumps({"kind": "List", "items": items}))
    return file


def loaded(*files: Path) -> EmbeddedCluster:
    """Load a cluster."""
    cluster = EmbeddedCluster(PodReader(Kinds([NVIDIA])))
    cluster.load(files)
    return cluster


def told(cluster: EmbeddedCluster) -> list[Event]:
    """Listen, and keep what is told."""
    events: list[Event] = []
    cluster.listen(events.append)
    return events


def listed(cluster: EmbeddedCluster) -> list[Json]:
    """Give what GET /pods would, as a copy."""
    copy: list[Json] = json.loads(json.dumps(list(cluster.pod_objects())))
    return copy


def names(cluster: EmbeddedCluster) -> list[str]:
    """List namespace/name of every pod."""
    return [
        f"{each['metadata']['namespace']}/{each['metadata']['name']}"
        for each in listed(cluster)
    ]


def test_listener_hears_nodes_first_then_pods(tmp_path: Path) -> None:
    """Whoever listens late hears everything there is."""
    cluster = loaded(file_of(tmp_path, ASKING, ONE_CARD, pod("q").app("a")))
    kinds = [type(event) for event in told(cluster)]
    assert kinds == [NodeSeen, PodSeen, PodSeen]


def test_other_kinds_are_passed_over(tmp_path: Path) -> None:
    """A dump of everything is fine, also where the others are odd."""
    others: list[Json] = [
        {"kind": "Service", "metadata": {"name": "s"}},
        {"kind": "Deployment"},
        {"metadata": {"name": "without a kind"}},
        {"kind": None},
        {"kind": 7},
    ]
    cluster = loaded(file_of(tmp_path, *others, ONE_CARD, ASKING))
    assert list(cluster.nodes) == ["n1"]
    assert names(cluster) == ["default/p"]


def test_several_files_make_one_cluster(tmp_path: Path) -> None:
    """Nodes from one, pods from another."""
    nodes = file_of(tmp_path, ONE_CARD, name="nodes.json")
    pods = file_of(tmp_path, ASKING, name="pods.json")
    cluster = loaded(nodes, pods)
    assert (list(cluster.nodes), names(cluster)) == (
        ["n1"],
        ["default/p"],
    )


TWICE: dict[str, tuple[list[NodeBuilder | PodBuilder], str]] = {
    "a node": ([ONE_CARD, ONE_CARD], "node n1 is there twice"),
    "a pod": ([ASKING, ASKING.uid("other")], "pod default/p exists already"),
    "a uid": (
        [ASKING.uid("u"), pod("q").app("a").uid("u")],
        "pod default/q: uid u is taken",
    ),
}


@pytest.mark.parametrize(("shown", "problem"), TWICE.values(), ids=TWICE)
def test_duplicate_is_refused_with_its_file(
    tmp_path: Path, shown: list[NodeBuilder | PodBuilder], problem: str
) -> None:
    """Which of two counts is not ours to choose, in one file or in two."""
    first = file_of(tmp_path, shown[0], name="first.json")
    second = file_of(tmp_path, shown[1], name="second.json")
    with pytest.raises(SettingsError, match=r"second\.json") as caught:
        loaded(first, second)
    assert problem in str(caught.value)
    with pytest.raises(SettingsError, match=problem):
        loaded(file_of(tmp_path, *shown))


def test_same_name_in_two_namespaces_is_two_pods(tmp_path: Path) -> None:
    """A pod's name is unique within its namespace only."""
    other = pod("p", "other").app("a")
    cluster = loaded(file_of(tmp_path, ASKING, other))
    assert names(cluster) == ["default/p", "other/p"]


def test_missing_namespace_and_uid_are_made_up(tmp_path: Path) -> None:
    """The namespace is default; the uid depends on the full name and nothing else."""
    bare: list[Json] = [
        {
            "kind": "Pod",
            "metadata": {"name": name, **where},
            "spec": {"containers": [{"name": "a"}]},
        }
        for name, where in (
            ("p", {}),
            ("q", {"namespace": None}),
            ("p", {"namespace": "other"}),
        )
    ]
    cluster = loaded(file_of(tmp_path, *bare))
    shown = listed(cluster)
    assert names(cluster) == ["default/p", "default/q", "other/p"]
    uids = [each["metadata"]["uid"] for each in shown]
    assert len(set(uids)) == 3
    again = loaded(file_of(tmp_path, *reversed(bare)))
    assert sorted(uids) == sorted(each["metadata"]["uid"] for each in listed(again))
    seen = [event.pod.uid for event in told(cluster) if isinstance(event, PodSeen)]
    assert seen == uids


BROKEN: dict[str, tuple[bytes, str]] = {
    "bad JSON": (b"{", "JSON"),
    "bad YAML": (b"kind: [", "YAML"),
    "a nameless node": (b"kind: Node", "metadata.name"),
    "a pod without containers": (
        b"kind: Pod\nmetadata: {name: p}",
        "spec.containers",
    ),
    "a binary": (bytes(range(256)), "YAML"),
    "a text": (b"hello", "document 1"),
}


@pytest.mark.parametrize(("content", "problem"), BROKEN.values(), ids=BROKEN)
def test_broken_file_is_refused_by_name(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    """SettingsError with the file and what is wrong there."""
    file = tmp_path / "broken.yaml"
    file.write_bytes(content)
    with pytest.raises(SettingsError, match=r"broken\.yaml") as caught:
        loaded(file)
    assert problem in str(caught.value)


def test_missing_file_and_directory_are_refused_by_name(tmp_path: Path) -> None:
    """The system's own words."""
    with pytest.raises(SettingsError, match=r"nowhere\.yaml: No such file"):
        loaded(tmp_path / "nowhere.yaml")
    with pytest.raises(SettingsError, match="Is a directory"):
        loaded(tmp_path)


def test_node_that_cannot_be_read_refuses_itself_only(tmp_path: Path) -> None:
    """A dump of a cluster with one broken register still loads."""
    broken = (
        node("broken").gpu("GPU-x").annotations({"hami.io/node-nvidia-register": "["})
    )
    cluster = loaded(file_of(tmp_path, broken, ONE_CARD))
    assert inventory_of(cluster.nodes["broken"]).problem is not None
    assert cluster.nodes["n1"].is_usable


YAML_POD: Final = b"""
# as people write it
apiVersion: v1
kind: Pod
metadata:
  name: written
  creationTimestamp: 2026-01-01T00:00:00Z
spec:
  containers:
  - name: a
    resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 8000}}
"""


async def test_pod_is_created_from_json_and_yaml() -> None:
    """Listed at once, told at once, with what was left out made up."""
    cluster = EmbeddedCluster(PodReader(Kinds([NVIDIA])))
    events = told(cluster)
    created = await cluster.add_pod(YAML_POD)
    assert (created.full_name, request_of(created).kubelet_slots) == (
        "default/written",
        1,
    )
    await cluster.add_pod(json.dumps(ASKING.build()).encode())
    assert names(cluster) == ["default/written", "default/p"]
    assert [event.pod.name for event in events if isinstance(event, PodSeen)] == [
        "written",
        "p",
    ]


UNUSABLE: dict[str, tuple[bytes, type[Exception]]] = {
    "nothing": (b"", BadObject),
    "two pods": (YAML_POD + b"---" + YAML_POD, BadObject),
    "a node": (json.dumps(ONE_CARD.build()).encode(), BadObject),
    "a pod without kind": (b'{"metadata":{"name":"x"}}', BadObject),
    "a name that is taken": (json.dumps(ASKING.uid("z").build()).encode(), Conflict),
    "a uid that is taken": (
        json.dumps({**pod("z").app("a").uid(ASKING.pod_uid).build()}).encode(),
        Conflict,
    ),
    "labels that cannot be written on": (
        b"kind: Pod\nmetadata: {name: x, labels: [a]}\nspec: {containers: [name: a]}",
        BadObject,
    ),
}


@pytest.mark.parametrize(("content", "error"), UNUSABLE.values(), ids=UNUSABLE)
async def test_unusable_pod_is_not_created(
    tmp_path: Path, content: bytes, error: type[Exception]
) -> None:
    """Nothing is listed, nothing is told, and the next one is not disturbed."""
    cluster = loaded(file_of(tmp_path, ASKING))
    events = told(cluster)
    before = list(events)
    with pytest.raises(error):
        await cluster.add_pod(content)
    assert names(cluster) == ["default/p"]
    assert events == before
    await cluster.add_pod(YAML_POD)


def bound_by(pod_uid: str, node_name: str = "n1", rows: str | None = ROWS) -> Binding:
    """Write a Binding of pod p as bind does."""
    annotations = {"hami.io/vgpu-node": node_name}
    if rows is not None:
        annotations["hami.io/vgpu-devices-to-allocate"] = rows
        annotations["hami.io/vgpu-devices-allocated"] = rows
        annotations["hami.io/bind-phase"] = "allocating"
    return Binding(
        "default",
        "p",
        PodUID(pod_uid),
        NodeName(node_name),
        annotations,
        {"hami.io/vgpu-node": node_name},
    )


async def test_bind_plays_the_device_plugin(tmp_path: Path) -> None:
    """Rows emptied, phase success, the allocation untouched; told as one event."""
    shown = ASKING.annotations({"mine": "kept", "hami.io/vgpu-node": "stale"}).build()
    shown["metadata"]["labels"] = {"app": "kept"}
    cluster = loaded(file_of(tmp_path, ONE_CARD, shown))
    events = told(cluster)
    before = len(events)
    await cluster.bind(bound_by(ASKING.pod_uid))
    (obj,) = listed(cluster)
    assert obj["metadata"]["annotations"] == {
        "mine": "kept",
        "hami.io/vgpu-node": "n1",
        "hami.io/vgpu-devices-to-allocate": ";;",
        "hami.io/vgpu-devices-allocated": ROWS,
        "hami.io/bind-phase": "success",
    }
    assert obj["metadata"]["labels"] == {"app": "kept", "hami.io/vgpu-node": "n1"}
    assert obj["spec"]["nodeName"] == "n1"
    told_of = [event.pod for event in events[before:] if isinstance(event, PodSeen)]
    assert told_of == [await cluster.read_pod("default", "p")]
    assert told_of[0].node_name == "n1"


async def test_bind_without_rows_serves_nothing(tmp_path: Path) -> None:
    """A pod without devices has nothing for a plugin to do."""
    cluster = loaded(file_of(tmp_path, ONE_CARD, ASKING))
    await cluster.bind(bound_by(ASKING.pod_uid, rows=None))
    (obj,) = listed(cluster)
    assert obj["metadata"]["annotations"] == {"hami.io/vgpu-node": "n1"}


REFUSED: dict[str, tuple[PodBuilder, Binding, type[Exception], str]] = {
    "another uid": (ASKING, bound_by("other"), Conflict, "not other"),
    "bound already": (
        ASKING.on("n2"),
        bound_by(ASKING.pod_uid),
        Conflict,
        "already bound to n2",
    ),
    "bound to the same node": (
        ASKING.on("n1"),
        bound_by(ASKING.pod_uid),
        Conflict,
        "already bound to n1",
    ),
    "terminating": (
        ASKING.terminating(),
        bound_by(ASKING.pod_uid),
        Conflict,
        "being deleted",
    ),
    "no such node": (
        ASKING,
        bound_by(ASKING.pod_uid, "ghost"),
        NotFound,
        "node ghost does not exist",
    ),
    "no such pod": (
        pod("q").app("a"),
        bound_by(ASKING.pod_uid),
        NotFound,
        "pod default/p does not exist",
    ),
}


@pytest.mark.parametrize(
    ("shown", "binding", "error", "text"), REFUSED.values(), ids=REFUSED
)
async def test_bind_is_refused_as_the_api_server_would(
    tmp_path: Path,
    shown: PodBuilder,
    binding: Binding,
    error: type[Exception],
    text: str,
) -> None:
    """The pod stays as it is, and nobody is told anything."""
    cluster = loaded(file_of(tmp_path, ONE_CARD, shown))
    events = told(cluster)
    told_before, objects = list(events), listed(cluster)
    with pytest.raises(error, match=text):
        await cluster.bind(binding)
    assert listed(cluster) == objects
    assert events == told_before


async def test_pod_is_read_as_it_is_now(tmp_path: Path) -> None:
    """By namespace and name; one that is not there is NotFound."""
    cluster = loaded(file_of(tmp_path, ONE_CARD, ASKING))
    read: Pod = await cluster.read_pod("default", "p")
    assert (read.uid, read.node_name) == (ASKING.pod_uid, None)
    with pytest.raises(NotFound, match="other/p"):
        await cluster.read_pod("other", "p")
