"""What the bursts are made of, and what their figures come to."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from benchmarks.burst.api import Json
from benchmarks.burst.api_calls import CallLog, events, reads, writes
from benchmarks.burst.figures import Burst, Figures
from benchmarks.burst.objects import (
    MOST_PODS_PER_NODE,
    NAMESPACE,
    SHAPES,
    TOO_MUCH_MIB,
    fewest_nodes,
    nodes,
    pending_pods,
)
from benchmarks.burst.part import quick, read_groups
from benchmarks.burst.rows import Measured, rows
from benchmarks.burst.scheduler_metrics import SchedulerMetrics
from benchmarks.results import Limit
from benchmarks.workloads import WorkloadUnusable, load_workload

FIGURES: Final = Figures(
    nodes=100,
    extender="ours",
    run=1,
    pods=500,
    pending=0,
    is_secure=False,
    seconds=10.0,
    pods_per_second=50.0,
    create_seconds=1.0,
    bound_p50_seconds=4.0,
    bound_p99_seconds=9.0,
    running_seconds=11.0,
    nodes_used=26,
    nodes_ideal=13,
    most_on_a_node=40,
    attempts={"scheduled": 500, "unschedulable": 250},
    attempts_per_pod=1.5,
    refused_binds=5,
    refused_share=0.01,
    releases={},
    choose_ms=5.0,
    bind_ms=50.0,
    calls={},
    writes_per_pod=2.0,
    reads_per_pod=1.0,
    events_per_pod=0.0,
    processor_ms_per_pod={"extender": 5.0, "kube-apiserver": 8.0, "etcd": 1.0},
    others_processors=0.0,
    load=0.5,
)


def ratios_of(*figures: Figures) -> list[Mapping[str, float]]:
    """Lay runs out, and give each one's ratios."""
    measured = [Measured(each, {}) for each in figures]
    return [row.ratios for row in rows(Burst(pods=500), measured)]


def test_plain_run_is_compared_with_those_that_decide_nothing() -> None:
    """By rate; whatever else a run is held to is there as well."""
    ours, echo = ratios_of(
        FIGURES,
        replace(
            FIGURES,
            extender="echo",
            pods_per_second=100.0,
            refused_share=None,
            calls={},
        ),
    )
    assert ours == {"nodes_to_ideal": 2.0, "refused_share": 0.01, "rate_to_echo": 0.5}
    assert echo == {"nodes_to_ideal": 2.0}


def test_until_pods_run_is_compared_with_an_echo_that_plugins_serve() -> None:
    """Only such pods ask as much of the plugins and of the API server as ours."""
    served = replace(FIGURES, extender="echo-served", running_seconds=8.0)
    ours, itself = ratios_of(replace(FIGURES, running_seconds=10.0), served)
    assert ours["running_rate_to_echo_served"] == 0.8
    assert "running_rate_to_echo_served" not in itself


def test_pending_and_tls_are_compared_with_the_plain_run_of_the_same() -> None:
    """Not with an echo, which had no such pods to refuse."""
    _, _, pending, secure = ratios_of(
        FIGURES,
        replace(FIGURES, extender="echo", pods_per_second=100.0),
        replace(FIGURES, pending=2_000, pods_per_second=40.0),
        replace(FIGURES, is_secure=True, pods_per_second=45.0),
    )
    assert pending["rate_to_no_pending"] == 0.8
    assert secure["rate_to_plain_http"] == 0.9
    assert "rate_to_echo" not in {*pending, *secure}


def test_limit_on_a_ratio_that_is_missing_is_broken() -> None:
    """A burst without its plain run tells nothing about what pending pods cost."""
    limits = {"rate_to_no_pending": Limit(least=0.5)}
    (row,) = rows(Burst(pods=500), [Measured(replace(FIGURES, pending=9), limits)])
    assert len(list(row.broken_limits())) == 1


def test_the_budget_of_the_design_is_in_the_workload() -> None:
    """In the run that it was set for: beside echo, on HTTP, with nothing pending."""
    with_budgets = [
        (each.burst, one)
        for each in read_groups(load_workload("burst"))
        for one in each.runs
        if "rate_to_echo" in one.budgets
    ]
    ((burst, one),) = with_budgets
    assert (one.run.node_count, burst.pods, burst.policy) == (1_000, 500, "binpack")
    assert one.run.contender.name == "ours"
    slow = replace(FIGURES, pods_per_second=60.0, refused_share=0.005)
    echo = replace(FIGURES, extender="echo", pods_per_second=100.0)
    served = replace(echo, extender="echo-served")
    row, *_ = rows(
        burst,
        [Measured(slow, {}, one.budgets), Measured(echo, {}), Measured(served, {})],
    )
    (missed,) = row.missed_budgets()
    assert missed.endswith("rate_to_echo is 0.6; its budget is at least 0.7")


def test_rows_are_told_apart() -> None:
    """By what is not as usual, too; two rows of one name could not be compared."""
    measured = [
        Measured(replace(FIGURES, pending=pending, is_secure=is_secure), {})
        for pending in (0, 2_000)
        for is_secure in (False, True)
    ]
    made = [
        row.name
        for seconds in (0.0, 1.0)
        for row in rows(Burst(pods=500, allocate_seconds=seconds), measured)
    ]
    assert len(set(made)) == len(made) == 8


@pytest.mark.parametrize(
    ("count", "shape", "number"),
    [(1, "app", 1), (48, "app", 1), (49, "app", 2), (40, "sidecar", 1)],
)
def test_fewest_nodes(count: int, shape: str, number: int) -> None:
    """What is left of a node that is full takes no further pod."""
    assert fewest_nodes(count, shape) == number
    assert fewest_nodes(MOST_PODS_PER_NODE, shape) == 1


def test_no_packing_needs_fewer_nodes() -> None:
    """A node that is full by `fewest_nodes` has no memory or no slots for one more."""
    (node,) = nodes(1)
    cards = json.loads(node["metadata"]["annotations"]["hami.io/node-nvidia-register"])
    slots = sum(card["count"] for card in cards)
    for shape, pods_on_one in (("sidecar", 40), ("app", 48)):
        asked = _asked(SHAPES[shape]())
        by_card = sum(card["devmem"] // max(asked) for card in cards)
        most = min(slots // len(asked), by_card)
        assert pods_on_one == most
        assert fewest_nodes(most, shape) == 1
        assert fewest_nodes(most + 1, shape) == 2


def test_pods_that_fit_nowhere() -> None:
    """By the memory of cards for an extender, and by a label for kube-scheduler."""
    for_ours = pending_pods(3, "binpack", "gpu-scheduler", by_extender=True)
    for_others = pending_pods(3, "binpack", "gpu-scheduler", by_extender=False)
    assert NAMESPACE not in {each["metadata"]["namespace"] for each in for_ours}
    for each in for_ours:
        assert _asked(each["spec"]) == [TOO_MUCH_MIB]
        assert "nodeSelector" not in each["spec"]
    for each in for_others:
        (label,) = each["spec"]["nodeSelector"]
        assert all(label not in node["metadata"]["labels"] for node in nodes(2))


def _asked(spec: Json) -> list[int]:
    containers = [*spec.get("initContainers", []), *spec["containers"]]
    return [
        int(each["resources"]["limits"]["nvidia.com/gpumem"]) for each in containers
    ]


METRICS: Final = """\
# HELP scheduler_pending_pods Number of pending pods
scheduler_pending_pods{queue="active"} 4
scheduler_pending_pods{queue="unschedulable"} 7
scheduler_schedule_attempts_total{profile="p",result="scheduled"} 10
scheduler_schedule_attempts_total{profile="p",result="unschedulable"} 20
scheduler_scheduling_attempt_duration_seconds_sum{profile="p",result="scheduled"} 2.5
scheduler_scheduling_attempt_duration_seconds_count{profile="p",result="scheduled"} 10
"""


def test_scheduler_metrics_since_a_moment() -> None:
    """What was counted before, such as refusals of pending pods, is left out."""
    before = SchedulerMetrics(METRICS)
    later = SchedulerMetrics(
        METRICS.replace('"scheduled"} 10', '"scheduled"} 15')
        .replace("2.5", "3.5")
        .replace('"unschedulable"} 20', '"unschedulable"} 23')
    )
    assert before.waiting_pods() == 7
    assert before.attempts() == {"scheduled": 10, "unschedulable": 20}
    assert later.since(before).attempts() == {"scheduled": 5, "unschedulable": 3}
    assert later.since(before).attempt_ms() == pytest.approx(200.0)


def test_calls_by_the_audit_log(tmp_path: Path) -> None:
    """Each kind with its count and its mean time; what was before is forgotten."""
    log = CallLog(tmp_path)
    file = tmp_path / "audit.jsonl"
    file.write_text(_line("list", "pods", 90))
    log.forget()
    with file.open("a") as appended:
        appended.write(_line("patch", "nodes", 10) + _line("patch", "nodes", 30))
        appended.write(_line("patch", "nodes", 5, code=409))
        appended.write(_line("create", "events", 1) + _line("list", "pods", 7))
    calls = log.calls()
    assert {name: (call.count, call.mean_ms) for name, call in calls.items()} == {
        "create events": (1, 1.0),
        "list pods": (1, 7.0),
        "patch nodes": (2, 20.0),
        "patch nodes (409)": (1, 5.0),
    }
    assert (writes(calls), reads(calls), events(calls)) == (3, 1, 1)


def _line(verb: str, resource: str, milliseconds: int, code: int = 200) -> str:
    event = {
        "verb": verb,
        "objectRef": {"resource": resource},
        "responseStatus": {"code": code},
        "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
        "stageTimestamp": f"2026-01-01T00:00:00.{milliseconds:03}000Z",
    }
    return json.dumps(event) + "\n"


def test_workload_has_what_is_to_be_measured() -> None:
    """Bursts of 500 and 2,000 pods at three sizes, policies, TLS, slow plugins."""
    groups = read_groups(load_workload("burst"))
    sizes = {
        (one.run.node_count, each.burst.pods) for each in groups for one in each.runs
    }
    assert sizes == {(n, pods) for n in (100, 1_000, 5_000) for pods in (500, 2_000)}
    for each in groups:
        for one in each.runs:
            if one.run.pending:
                assert one.budgets["rate_to_no_pending"].least == 0.5
                assert one.limits["rate_to_no_pending"].least
            if one.run.contender.is_ours:
                assert one.limits["writes_per_pod"].most == 3
    assert any(one.run.is_secure for each in groups for one in each.runs)
    slow = {
        (each.burst.policy, one.run.contender.name)
        for each in groups
        for one in each.runs
        if each.burst.allocate_seconds == 1.0
    }
    assert slow >= {
        ("binpack", "ours"),
        ("binpack", "ours-throughput"),
        ("spread", "ours"),
    }
    assert any(each.is_quick for each in groups)


def test_no_run_is_in_the_workload_twice() -> None:
    """Two rows of one name could not be compared with those of an earlier run."""
    groups = read_groups(load_workload("burst"))
    names = [(each.burst, one.run) for each in groups for one in each.runs]
    assert len(set(names)) == len(names)


def test_a_quick_run_takes_what_is_marked() -> None:
    """Bursts that are, and of their runs those that are not left out."""
    left_out = {**RUN, "pending": 9, "quick": False}
    marked = {**GROUP, "quick": True, "runs": [RUN, left_out]}
    groups = read_groups({"limit_seconds": 1, "bursts": [GROUP, marked]})

    (group,) = quick(groups)
    assert [one.run.pending for one in groups[1].runs] == [0, 9]
    assert [one.run.pending for one in group.runs] == [0]


RUN: Final[Json] = {"extender": "ours"}
GROUP: Final[Json] = {"nodes": 10, "pods": 20, "runs": [RUN]}

UNUSABLE: Final[dict[str, tuple[Json, str]]] = {
    "more pods than fit": (GROUP | {"pods": 400}, "at most 32 for each of 10 nodes"),
    "an unknown extender": (
        GROUP | {"runs": [{"extender": "theirs"}]},
        "bursts[0].runs[0].extender is 'theirs'",
    ),
    "TLS of one that has none": (
        GROUP | {"runs": [{"extender": "echo", "tls": True}]},
        "echo has no TLS",
    ),
    "a mistyped key": (GROUP | {"node": 3}, "bursts[0].node is 3"),
}


@pytest.mark.parametrize(("group", "said"), UNUSABLE.values(), ids=UNUSABLE)
def test_workload_that_cannot_be_used(group: Json, said: str) -> None:
    """The error names the file, the key and the value."""
    with pytest.raises(WorkloadUnusable) as refused:
        read_groups({"limit_seconds": 1, "bursts": [group]})
    assert "burst.yaml: " in str(refused.value)
    assert said in str(refused.value)
