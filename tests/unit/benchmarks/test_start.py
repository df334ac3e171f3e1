"""What is listed at a start is whole, and its figures are told right."""

import gzip
from dataclasses import replace

import orjson
import pytest

from benchmarks.api_server.objects import node_as_shown, pod_as_shown
from benchmarks.api_server.pages import pages_of
from benchmarks.books import Memory
from benchmarks.cluster import make_cluster
from benchmarks.results import Limit
from benchmarks.start.plan import Plan, Size
from benchmarks.start.run import Started, more_resident, row_of
from benchmarks.workloads import WorkloadUnusable, load_workload
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader


@pytest.mark.parametrize(
    ("count", "sizes"), [(0, [0]), (2, [2]), (3, [3]), (4, [3, 1]), (6, [3, 3])]
)
def test_pages_lead_from_one_to_the_next(count: int, sizes: list[int]) -> None:
    """Every object comes once, and the last page says that it is the last."""
    items = [b'{"n":%d}' % number for number in range(count)]
    pages = pages_of(items, 3, 7)
    more, found, lengths = "", [], []
    while True:
        page = orjson.loads(pages[more].plain)
        found += page["items"]
        lengths.append(len(page["items"]))
        more = page["metadata"].get("continue", "")
        assert page["metadata"]["resourceVersion"] == "7"
        if not more:
            break
    assert found == [{"n": number} for number in range(count)]
    assert lengths == sizes


def test_large_pages_are_compressed_as_well() -> None:
    """kube-apiserver does so for whoever takes gzip."""
    large, small = (
        pages_of([b'"%b"' % (b"a" * size)], 1, 7)[""] for size in (200_000, 100)
    )
    assert large.compressed is not None
    assert gzip.decompress(large.compressed) == large.plain
    assert small.compressed is None


def test_objects_grow_in_size_and_not_in_meaning() -> None:
    """What the extender reads of an object is the same as before."""
    node, pod, *_ = make_cluster(1)["items"]
    shown_node = orjson.loads(orjson.dumps(node_as_shown(node)))
    shown_pod = orjson.loads(orjson.dumps(pod_as_shown(pod)))
    reader = PodReader(Kinds([NVIDIA]))
    assert decode_node(shown_node, [NVIDIA]) == decode_node(node, [NVIDIA])
    read, plain = reader.read(shown_pod), reader.read(pod)
    # As an API server shows it, it asks for CPU as well, and was bound at some time;
    # only quotas look at the one, and the doctor at the other.
    status = replace(read.status, bound_at=plain.status.bound_at)
    assert replace(read, quota_traits=plain.quota_traits, status=status) == plain
    assert len(orjson.dumps(shown_node)) > 5 * len(orjson.dumps(node))
    assert len(orjson.dumps(shown_pod)) > 3 * len(orjson.dumps(pod))


def test_a_plain_pod_is_what_the_size_without_any_lacks() -> None:
    """Bytes a pod are the difference of two sizes' medians, over the pods."""
    plan = Plan.of(load_workload("start"), full=False)
    starts = [
        Started(4.0, 3.0, Memory(resident, 120.0), 1.5)
        for resident in (110.0, 109.0, 111.0)
    ]
    budgets = {"bytes_per_plain_pod_at_most": Limit(most=100)}
    size = Size(10, 8, 1024 * 1024, budgets)
    row = row_of(plan, size, starts, resident_without=[100.0, 101.0, 99.0])
    assert row.figures["bytes_per_plain_pod_at_most"] == pytest.approx(10.0)
    assert row.figures["resident_spread_mib"] == pytest.approx(2.0)
    assert row.ratios == {"processor_to_reading": 2.0}
    assert row.budgets == budgets


@pytest.mark.parametrize("resident", [[95.0, 98.0], [101.0, 98.0], [100.0, 103.0]])
def test_no_difference_is_told_that_cannot_be_seen(resident: list[float]) -> None:
    """Least of all a negative one: equal starts differ by as much."""
    assert more_resident(resident, [100.0, 100.5]) == pytest.approx(3.0)


def test_one_start_of_each_size_is_not_enough() -> None:
    """Nothing would be known of how far apart two of them are."""
    workload = {**load_workload("start"), "runs": 1}
    with pytest.raises(WorkloadUnusable, match=r"start\.yaml: runs is 1, but must be"):
        Plan.of(workload, full=False)


def test_the_workload_is_read_both_ways() -> None:
    """What stands under full replaces what stands above."""
    workload = load_workload("start")
    assert Plan.of(workload, full=True).runs > Plan.of(workload, full=False).runs
