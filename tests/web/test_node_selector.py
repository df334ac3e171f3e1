"""--node-label-selector: nodes that do not match are left to others."""

from extender.settings import SchedulingSettings
from extender.wire.label_selector import parse_selector
from tests.builders import node, pod
from tests.web.conftest import Serve
from tests.web.scheduler import Filtered

GPU_ON = SchedulingSettings(node_selector=parse_selector("gpu=on"))
OURS = node("ours").gpu("GPU-a").labels(gpu="on", zone="a")
THEIRS = node("theirs").gpu("GPU-b").labels(gpu="off")
BARE = node("bare").gpu("GPU-c")
ASKING = pod("p").app("a", gpu=1, gpumem=8_000)
HOLDER = (
    pod("holder")
    .app("a", gpu=1, gpumem=20_000)
    .on("theirs")
    .holding("GPU-b,NVIDIA,20000,0:;")
    .phase("Running")
)


async def test_only_matching_nodes_are_offered(serve: Serve) -> None:
    """Of the others no card counts, and no eviction would change that."""
    scheduler = await serve(OURS, THEIRS, BARE, scheduling=GPU_ON)
    expected = Filtered(
        nodes=None,
        node_names=["ours"],
        failed={},
        unresolvable={"theirs": "NodeNotSelected", "bare": "NodeNotSelected"},
        error="",
    )
    assert await scheduler.filter(ASKING) == expected
    scores = dict(await scheduler.prioritize(ASKING))
    assert (scores["theirs"], scores["bare"]) == (0, 0)
    assert scores["ours"] > 0


async def test_sent_nodes_are_selected_by_the_labels_they_bring(serve: Serve) -> None:
    """As all of their inventory is: known or not, like the known ones or not."""
    scheduler = await serve(OURS, THEIRS, BARE, scheduling=GPU_ON)
    sent = [
        OURS.build(),
        THEIRS.build(),
        BARE.labels(gpu="on").build(),
        node("new").gpu("GPU-n").labels(gpu="on").build(),
        node("other").gpu("GPU-o").build(),
    ]
    filtered = await scheduler.filter(ASKING, nodes=sent)
    fitting = [each["metadata"]["name"] for each in filtered.nodes or []]
    assert fitting == ["ours", "bare", "new"]
    assert filtered.unresolvable == dict.fromkeys(
        ["theirs", "other"], "NodeNotSelected"
    )
    gone = [OURS.labels().build()]
    filtered = await scheduler.filter(ASKING, nodes=gone)
    assert filtered.unresolvable == {"ours": "NodeNotSelected"}


async def test_node_starts_and_stops_to_count_with_its_labels(serve: Serve) -> None:
    """At once; what pods hold there meanwhile is not lost."""
    scheduler = await serve(OURS, THEIRS, HOLDER, scheduling=GPU_ON)
    assert (await scheduler.filter(ASKING)).node_names == ["ours"]
    scheduler.see_node(OURS.labels(gpu="off"))
    scheduler.see_node(THEIRS.labels(gpu="on"))
    filtered = await scheduler.filter(ASKING)
    assert filtered.failed == {"theirs": "CardInsufficientMemory"}
    assert filtered.unresolvable == {"ours": "NodeNotSelected"}
    little = pod("little").app("a", gpu=1, gpumem=4_000)
    assert (await scheduler.filter(little)).node_names == ["theirs"]
    scheduler.see_node(THEIRS)
    scheduler.lose_pod(HOLDER)
    scheduler.see_node(THEIRS.labels(gpu="on"))
    assert (await scheduler.filter(ASKING)).node_names == ["theirs"]


async def test_no_pod_is_bound_to_a_node_that_does_not_match(serve: Serve) -> None:
    """Also where kube-scheduler was told otherwise a moment ago."""
    scheduler = await serve(OURS, ASKING, scheduling=GPU_ON)
    assert (await scheduler.filter(ASKING)).node_names == ["ours"]
    scheduler.see_node(OURS.labels())
    problem = await scheduler.bind(ASKING, "ours")
    assert problem == "no longer fits: NodeNotSelected"
    scheduler.see_node(OURS)
    assert await scheduler.bind(ASKING, "ours") == ""


async def test_label_that_cannot_be_read_refuses_its_node(serve: Serve) -> None:
    """YAML reads `gpu: on` as true: that is neither a match nor none."""
    odd = OURS.build()
    odd["metadata"]["labels"] = {"gpu": True}
    fine = node("fine").gpu("GPU-f").build()
    fine["metadata"]["labels"] = {"gpu": "on", "other": True}
    scheduler = await serve(odd, fine, scheduling=GPU_ON)
    filtered = await scheduler.filter(ASKING)
    assert filtered.node_names == ["fine"]
    assert filtered.unresolvable == {"ours": "NodeRegistrationUnreadable"}


async def test_without_selector_labels_are_not_looked_at(serve: Serve) -> None:
    """Whatever they are."""
    odd = OURS.build()
    odd["metadata"]["labels"] = [7]
    scheduler = await serve(odd, THEIRS, BARE)
    assert (await scheduler.filter(ASKING)).node_names == ["ours", "theirs", "bare"]
