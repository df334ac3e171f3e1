"""Requests that bring whole nodes: their inventory, and what the ledger holds there."""

from typing import Final

from tests.builders import Json, NodeBuilder, node, pod
from tests.web.conftest import Serve
from tests.web.scheduler import Filtered, Scheduler

CARD: Final = node("n1").gpu("GPU-a")
OTHER: Final = node("n2").gpu("GPU-b")
HOLDER: Final = (
    pod("holder")
    .app("a", gpu=1, gpumem=20_000)
    .on("n1")
    .holding("GPU-a,NVIDIA,20000,0:;")
    .phase("Running")
)
ASKING: Final = pod("p").app("a", gpu=1, gpumem=8_000)


async def answered(scheduler: Scheduler, *sent: NodeBuilder | Json) -> Filtered:
    """Ask with whole nodes; gives names of those that fit instead of the nodes."""
    nodes = [each if isinstance(each, dict) else each.build() for each in sent]
    filtered = await scheduler.filter(ASKING, nodes=nodes)
    names = [each["metadata"]["name"] for each in filtered.nodes or []]
    return Filtered(None, names, filtered.failed, filtered.unresolvable, filtered.error)


async def test_same_answers_as_by_name(serve: Serve) -> None:
    """Where the nodes are as the cluster has them."""
    scheduler = await serve(CARD, OTHER, node("plain"), HOLDER)
    sent = [CARD, OTHER, node("plain")]
    assert await answered(scheduler, *sent) == await scheduler.filter(ASKING)


async def test_unknown_node_is_judged_by_what_it_registers(serve: Serve) -> None:
    """Nothing is held there: such as a node that an autoscaler might add."""
    scheduler = await serve(CARD, HOLDER)
    filtered = await answered(scheduler, CARD, node("new").gpu("GPU-n"), node("none"))
    assert filtered.node_names == ["new"]
    assert filtered.failed == {"n1": "CardInsufficientMemory"}
    assert filtered.unresolvable == {"none": "node unregistered"}


async def test_other_register_text_than_the_known_one(serve: Serve) -> None:
    """The sent cards count, each with what is held on its UUID."""
    scheduler = await serve(CARD, OTHER, HOLDER)
    larger = node("n1").gpu("GPU-a", memory=48_000)
    assert (await answered(scheduler, larger)).node_names == ["n1"]
    swapped = node("n1").gpu("GPU-z")
    assert (await answered(scheduler, swapped)).node_names == ["n1"]
    smaller = node("n2").gpu("GPU-b", memory=4_000)
    filtered = await answered(scheduler, CARD, smaller)
    assert filtered.failed == {"n1": "CardInsufficientMemory"}
    assert filtered.unresolvable == {"n2": "CardInsufficientMemory"}
    assert (await scheduler.filter(ASKING)).node_names == ["n2"]


async def test_what_else_of_a_node_may_differ(serve: Serve) -> None:
    """Allocatable, cordons and registration that cannot be read count as sent."""
    scheduler = await serve(CARD, OTHER)
    closed = CARD.cordon("GPU-a")
    dead = OTHER.allocatable(0)
    assert (await answered(scheduler, closed, dead)).unresolvable == {
        "n1": "CardCordoned",
        "n2": "node unregistered",
    }
    broken = CARD.annotations({"hami.io/node-nvidia-register": "[{"})
    odd = OTHER.build()
    odd["status"]["allocatable"]["nvidia.com/gpu"] = True
    assert set((await answered(scheduler, broken, odd)).unresolvable.values()) == {
        "NodeRegistrationUnreadable"
    }
    odd = OTHER.build()
    odd["metadata"]["annotations"]["hami.io/device-cordon"] = 7
    assert (await answered(scheduler, odd)).unresolvable == {
        "n2": "NodeRegistrationUnreadable"
    }


async def test_node_that_is_broken_in_the_cluster_and_mended_in_the_request(
    serve: Serve,
) -> None:
    """And two that are broken alike are the same."""
    broken = CARD.annotations({"hami.io/node-nvidia-register": "[{"})
    scheduler = await serve(broken, OTHER)
    assert (await answered(scheduler, CARD, OTHER)).node_names == ["n1", "n2"]
    assert (await answered(scheduler, broken, OTHER)).node_names == ["n2"]


async def test_node_sent_twice_counts_once(serve: Serve) -> None:
    """The first object counts, whichever of them is as the cluster has it."""
    scheduler = await serve(CARD, HOLDER)
    larger = CARD.gpu("GPU-n")
    assert (await answered(scheduler, larger, CARD)).node_names == ["n1"]
    filtered = await answered(scheduler, CARD, larger)
    assert (filtered.node_names, list(filtered.failed)) == ([], ["n1"])


async def test_scores_count_what_is_sent(serve: Serve) -> None:
    """A larger card than the known one is less used after placement."""
    scheduler = await serve(CARD, OTHER)
    larger = node("n1").gpu("GPU-a", memory=240_000)
    known = dict(await scheduler.prioritize(ASKING))
    sent = [larger.build(), OTHER.build()]
    scores = dict(await scheduler.prioritize(ASKING, nodes=sent))
    assert scores["n1"] < known["n1"]
    assert scores["n2"] == known["n2"]


async def test_room_of_nominated_pods_is_left_on_sent_nodes(serve: Serve) -> None:
    """On known nodes, changed or not."""
    waiting = pod("w").app("a", gpu=1, gpumem=20_000).nominated("n1").priority(10)
    scheduler = await serve(CARD, OTHER, waiting)
    for sent in (CARD, CARD.annotations({"hami.io/device-cordon": "GPU-none"})):
        filtered = await answered(scheduler, sent, OTHER)
        assert filtered.node_names == ["n2"]
        assert filtered.failed == {"n1": "CardInsufficientMemory"}


async def test_asking_with_nodes_changes_nothing(serve: Serve) -> None:
    """Whatever they bring, what is known stays."""
    scheduler = await serve(CARD, OTHER, HOLDER, ASKING)
    before = await scheduler.state()
    sent = [node("n1").gpu("GPU-z"), OTHER, node("new").gpu("GPU-n")]
    first = await answered(scheduler, *sent)
    assert await answered(scheduler, *sent) == first
    assert await scheduler.state() == before
