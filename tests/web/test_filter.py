"""filter: which nodes can hold a pod, told without changing anything."""

import asyncio

from tests.builders import node, pod
from tests.web.conftest import Serve
from tests.web.scheduler import Filtered

ROOMY = node("n1").gpu("GPU-a").gpu("GPU-b")
SMALL = node("n2").gpu("GPU-c", memory=4000)
FULL = node("n3").gpu("GPU-d")
FILLER = pod("filler").app("a", gpu=1, gpumem=24_000).on("n3").phase("Running")
FILLER = FILLER.holding("GPU-d,NVIDIA,24000,0:;")
PLAIN = node("n4")
ASKING = pod("p").app("a", gpu=1, gpumem=8000)


async def test_names_come_back_by_name(serve: Serve) -> None:
    """Every candidate that fits is named; full and hopeless nodes say why."""
    scheduler = await serve(ROOMY, SMALL, FULL, PLAIN, FILLER)
    assert await scheduler.filter(ASKING, ["n4", "n3", "n2", "n1"]) == Filtered(
        nodes=None,
        node_names=["n1"],
        failed={"n3": "CardInsufficientMemory"},
        unresolvable={"n2": "CardInsufficientMemory", "n4": "node unregistered"},
        error="",
    )


async def test_nodes_come_back_as_they_came(serve: Serve) -> None:
    """Objects are echoed with all that they hold, also what means nothing to us."""
    scheduler = await serve(ROOMY, SMALL, FULL, FILLER)
    roomy = ROOMY.build()
    del roomy["kind"], roomy["apiVersion"]
    roomy["spec"]["taints"] = [{"key": "ünïcode", "effect": None, "n": 1.5}]
    roomy["status"]["images"] = [{"names": [], "sizeBytes": 2**53 + 1}]
    sent = [FULL.build(), roomy, SMALL.build()]
    assert await scheduler.filter(ASKING, nodes=sent) == Filtered(
        nodes=[roomy],
        node_names=None,
        failed={"n3": "CardInsufficientMemory"},
        unresolvable={"n2": "CardInsufficientMemory"},
        error="",
    )


async def test_sent_nodes_are_judged_by_their_own_inventory(serve: Serve) -> None:
    """Usage is the ledger's, cards are those of the request, and nothing is kept."""
    scheduler = await serve(FULL, FILLER)
    grown = FULL.gpu("GPU-new")
    unheard = node("n9").gpu("GPU-x")
    before = await scheduler.state()
    filtered = await scheduler.filter(
        ASKING, nodes=[grown.build(), unheard.build(), FULL.build()]
    )
    # n3 was sent twice: the first object counts, and is answered once.
    names = [each["metadata"]["name"] for each in filtered.nodes or []]
    assert names == ["n3", "n9"]
    assert await scheduler.state() == before


async def test_unknown_node_is_unregistered(serve: Serve) -> None:
    """A name that the cluster does not have refuses that node and no other."""
    scheduler = await serve(ROOMY)
    filtered = await scheduler.filter(ASKING, ["n1", "ghost"])
    assert filtered.node_names == ["n1"]
    assert filtered.unresolvable == {"ghost": "node unregistered"}


async def test_each_name_is_answered_once(serve: Serve) -> None:
    """kube-scheduler keeps duplicates, so none is sent back."""
    scheduler = await serve(ROOMY, SMALL)
    filtered = await scheduler.filter(ASKING, ["n1", "n2", "n1", "n2", "n1"])
    assert filtered.node_names == ["n1"]
    assert list(filtered.unresolvable) == ["n2"]


async def test_no_candidate_is_no_error(serve: Serve) -> None:
    """Case 103: an empty list is answered by an empty list, and reserves nothing."""
    scheduler = await serve(ROOMY)
    before = await scheduler.state()
    assert await scheduler.filter(ASKING, []) == Filtered(None, [], {}, {}, "")
    assert await scheduler.filter(ASKING, nodes=[]) == Filtered([], None, {}, {}, "")
    assert await scheduler.state() == before


async def test_pod_without_devices_fits_everywhere(serve: Serve) -> None:
    """Whatever the node, known or not: it is none of our business."""
    scheduler = await serve(ROOMY, FULL, PLAIN, FILLER)
    names = ["n4", "n3", "n1", "ghost"]
    filtered = await scheduler.filter(pod("cpu").app("a"), names)
    assert filtered == Filtered(None, names, {}, {}, "")
    objects = [PLAIN.build(), FULL.build()]
    filtered = await scheduler.filter(pod("cpu").app("a"), nodes=objects)
    assert [each["metadata"]["name"] for each in filtered.nodes or []] == ["n4", "n3"]


async def test_equal_reasons_are_equal_texts(serve: Serve) -> None:
    """kube-scheduler groups nodes by text: no names, no numbers, sorted codes."""
    sick = [
        node(f"sick-{index}").gpu(f"GPU-{index}", health=False).gpu(f"GPU-{index}b")
        for index in range(3)
    ]
    cordoned = [each.cordon(f"GPU-{index}b") for index, each in enumerate(sick)]
    scheduler = await serve(*cordoned)
    filtered = await scheduler.filter(ASKING)
    assert set(filtered.unresolvable.values()) == {"CardCordoned, CardNotHealth"}


async def test_too_few_cards_now_may_be_enough_later(serve: Serve) -> None:
    """What the empty node could hold is failed; what it could not is unresolvable."""
    scheduler = await serve(node("n3").gpu("GPU-d").gpu("GPU-e"), FILLER)
    two = await scheduler.filter(pod("p").app("a", gpu=2, gpumem=8000))
    assert two.failed == {
        "n3": "AllocatedCardsInsufficientRequest, CardInsufficientMemory"
    }
    three = await scheduler.filter(pod("p").app("a", gpu=3, gpumem=8000))
    assert three.unresolvable == {"n3": "NodeInsufficientDevice"}


async def test_filter_changes_nothing(serve: Serve) -> None:
    """Many filters, known and unknown pods, one by one and at once: same answers."""
    scheduler = await serve(ROOMY, SMALL, FULL, PLAIN, FILLER, ASKING)
    before = await scheduler.state()
    first = await scheduler.filter(ASKING)
    many = [
        pod(f"p{index}").app("a", gpu=2, percentage=100, cores=100)
        for index in range(20)
    ]
    await asyncio.gather(*[scheduler.filter(each) for each in [*many, ASKING]])
    assert await scheduler.filter(ASKING) == first
    assert await scheduler.state() == before


async def test_names_count_where_both_lists_are_sent(serve: Serve) -> None:
    """NodeNames wins, as in kube-scheduler's own reading of an answer."""
    scheduler = await serve(ROOMY, SMALL)
    filtered = await scheduler.filter(ASKING, ["n1"], [SMALL.build()])
    assert filtered == Filtered(None, ["n1"], {}, {}, "")


async def test_a_pod_is_judged_without_its_own_charge(serve: Serve) -> None:
    """A repeated filter of a pod that is bound does not count it against itself."""
    scheduler = await serve(FULL, FILLER)
    assert (await scheduler.filter(FILLER)).node_names == ["n3"]
    other = pod("other").app("a", gpu=1, gpumem=24_000)
    assert (await scheduler.filter(other)).node_names == []
