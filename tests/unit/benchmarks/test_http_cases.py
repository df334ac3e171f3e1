"""The cases of HTTP, what fits in each, and how answers are judged."""

from pathlib import Path

import orjson
import pytest

from benchmarks.cluster import make_cluster, sent_nodes, to_create
from benchmarks.connection import AnswerUnusable, Connection
from benchmarks.http.askers import Questions, asker
from benchmarks.http.cases import Case, cases_in, growths_in
from benchmarks.http.elsewhere import new_pods, read_plan
from benchmarks.http.judging import (
    Judge,
    binds,
    filters_exactly,
    filters_nodes_exactly,
    filters_somehow,
    judge,
    scores_exactly,
    scores_somehow,
)
from benchmarks.layout import LAYOUTS, ClusterPlan
from benchmarks.results import Limit
from benchmarks.shapes import SHAPE_BY_NAME
from benchmarks.workloads import Section, WorkloadUnusable, load_workload
from extender.runtime import embed
from extender.settings import Settings
from extender.wire.extender_v1 import decode_extender_args

CASE = {
    "verb": "filter",
    "nodes": 100,
    "pods_per_node": 8,
    "pod": "one app",
    "asked": "never",
    "requests": 7,
}


def workload(*cases: dict[str, object], **more: object) -> Section:
    """Make a workload of some cases."""
    return Section({"cases": list(cases), **more}, "http.yaml")


def test_every_case_has_questions_of_its_own() -> None:
    """No question of one case was asked in another one on the same cluster."""
    prioritized = {**CASE, "verb": "prioritize"}
    elsewhere = {**CASE, "nodes": 200}
    cases = cases_in(workload(CASE, prioritized, elsewhere), full=True)

    numbers = [set(case.numbers) for case in cases]
    assert [len(each) for each in numbers] == [10, 10, 10]
    assert not numbers[0] & numbers[1]
    assert min(numbers[2]) == 0


def test_seen_asks_the_same_of_other_pods() -> None:
    """Replicas differ by name; what was never asked before differs in the request."""
    seen, never = cases_in(workload({**CASE, "asked": "seen"}, CASE), full=True)

    def asked(case: Case) -> set[str]:
        questions = Questions(case, [])
        pods = [questions[number].pod() for number in case.numbers]
        assert len({pod["metadata"]["uid"] for pod in pods}) == len(pods)
        return {str(pod["spec"]["containers"][0]["resources"]) for pod in pods}

    assert len(asked(seen)) == 1
    assert len(asked(never)) == len(never.numbers)


def test_a_quick_run_takes_what_is_marked() -> None:
    """Everything else is for a full one."""
    marked = workload({**CASE, "quick": True}, {**CASE, "nodes": 5}, growth=[])

    assert [case.plan.nodes for case in cases_in(marked, full=False)] == [100]
    assert [case.plan.nodes for case in cases_in(marked, full=True)] == [100, 5]


def test_a_case_has_its_own_limits_over_the_shared_ones() -> None:
    """A shared limit holds where the case has none of that name."""
    shared = {"p50_to_echo": {"most": 8}, "p99_to_echo": {"most": 9}}
    own = {**CASE, "limits": {"p50_to_echo": {"most": 20}}}
    (case,) = cases_in(workload(own, limits=shared), full=True)

    assert case.limits == {
        "p50_to_echo": Limit(most=20.0),
        "p99_to_echo": Limit(most=9.0),
    }


def test_a_growth_is_one_question_on_two_clusters() -> None:
    """The number that is a pair differs, and nothing else."""
    section = workload(CASE, growth=[{**CASE, "nodes": [100, 500]}])
    (growth,) = growths_in(section, full=True)

    assert growth.smaller.plan == ClusterPlan(100, 8)
    assert growth.larger.plan == ClusterPlan(500, 8)
    assert growth.told()["nodes"] == "100 to 500"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"verb": "preempt"}, "cases[0].verb is 'preempt', but must be one of filter"),
        ({"pod": "none"}, "cases[0].pod is 'none', but must be one of one app, "),
        ({"cards": "9"}, "cases[0].cards is '9', but must be one of 8, mixed"),
        ({"nodes": 20_001}, "cases[0].nodes is 20001, but must be at most 20000"),
        ({"requests": 10_000}, "cases[0].requests is 10000, but must be fewer"),
        ({"sent": "all"}, "cases[0].sent is 'all', but must be one of names, nodes"),
        (
            {"verb": "bind", "sent": "nodes"},
            "cases[0].sent is 'nodes', but must be names, but for filter",
        ),
        ({"node": 3}, "cases[0].node is 3, but must be left out; known are verb, "),
    ],
)
def test_a_mistake_in_a_case_is_told(change: dict[str, object], told: str) -> None:
    """By file, key and value."""
    with pytest.raises(WorkloadUnusable) as caught:
        cases_in(workload({**CASE, **change}), full=True)

    assert f"http.yaml: {told}" in str(caught.value)


@pytest.mark.parametrize("nodes", [100, [1, 2, 3], [100]])
def test_a_growth_without_a_pair_is_told(nodes: object) -> None:
    """Exactly one number has two values."""
    with pytest.raises(WorkloadUnusable, match=r"growth\[0\]\.nodes is .* a pair"):
        growths_in(workload(CASE, growth=[{**CASE, "nodes": nodes}]), full=True)


def test_the_workload_covers_what_is_asked_for() -> None:
    """Every verb, size, shape, mix and manner of asking is in some case."""
    section = load_workload("http")
    cases = cases_in(section, full=True)
    quick = cases_in(section, full=False)

    assert {case.verb for case in cases} == {"filter", "prioritize", "bind"}
    assert {case.plan.nodes for case in cases} == {100, 1_000, 5_000, 15_000}
    assert {case.plan.pods_per_node for case in cases} == {0, 8}
    assert {case.plan.layout for case in cases} == set(LAYOUTS)
    assert {case.shape.name for case in cases} == set(SHAPE_BY_NAME)
    assert {case.asked for case in cases} == {"never", "seen", "filtered"}
    assert {case.verb for case in quick} == {"filter", "prioritize", "bind"}
    assert {growth.grows for growth in growths_in(section, full=False)} == {
        "nodes",
        "pods_per_node",
    }
    names = [str(case.told()) for case in cases]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("pods_per_node", [0, 8])
def test_what_is_said_to_fit_is_what_the_extender_finds(
    tmp_path: Path, layout: str, pods_per_node: int
) -> None:
    """For every shape: the judge and the extender agree, with nothing in common."""
    plan = ClusterPlan(40, pods_per_node, layout)
    file = tmp_path / "cluster.json"
    file.write_bytes(orjson.dumps(make_cluster(40, pods_per_node, layout)))
    extender = embed([file], Settings()).extender
    assert read_plan(file) == plan

    for name in SHAPE_BY_NAME:
        section = workload({**CASE, "pod": name})
        (case,) = cases_in(section, full=True)
        questions = Questions(
            Case(
                verb="filter",
                plan=plan,
                shape=case.shape,
                asked="never",
                requests=1,
                first_number=0,
                limits={},
                budgets={},
            ),
            plan.node_names(),
        )
        for number in (0, 3, 9_999):
            args = decode_extender_args(questions.body(number), extender.reader)
            found = extender.filter(args).fitting
            wanted = set(questions[number].fitting())
            in_order = [node for node in questions.names(number) if node in wanted]
            assert list(found) == in_order, (name, number)


def test_whole_nodes_are_judged_like_their_names(tmp_path: Path) -> None:
    """They are those of the cluster, and the same ones fit."""
    file = tmp_path / "cluster.json"
    file.write_bytes(orjson.dumps(make_cluster(40)))
    extender = embed([file], Settings()).extender
    (case,) = cases_in(workload({**CASE, "nodes": 40, "sent": "nodes"}), full=True)
    nodes = sent_nodes(case.plan)
    questions = Questions(case, case.plan.node_names(), nodes=nodes)
    args = decode_extender_args(questions.body(3), extender.reader)
    assert args.nodes is not None
    assert list(args.nodes.values()) == [nodes[name] for name in questions.names(3)]
    decision = extender.filter(args)
    answer = {
        "Nodes": {"items": [nodes[name] for name in decision.fitting]},
        "NodeNames": None,
        "FailedNodes": decision.failed,
        "FailedAndUnresolvableNodes": decision.unresolvable,
        "Error": "",
    }
    sent, wanted = questions.names(3), questions[3].fitting()
    assert filters_nodes_exactly(orjson.dumps(answer), sent, wanted)
    none: dict[str, object] = {**answer, "Nodes": {"items": []}}
    assert not filters_nodes_exactly(orjson.dumps(none), sent, wanted)


class Answering(Connection):
    """Answers every request alike, and keeps what was asked."""

    def __init__(self, body: bytes) -> None:
        self.asked: list[bytes] = []
        self._body = body

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Answer at once."""
        self.asked.append(request)
        return 1, self._body


def node_list(request: bytes) -> list[str]:
    """Read the candidates that a request has."""
    _, _, body = request.partition(b"\r\n\r\n")
    names: list[str] = orjson.loads(body)["NodeNames"]
    return names


def paths(connection: Answering) -> list[bytes]:
    """Tell the paths that were asked, in their order."""
    return [request.split(b" ", 2)[1] for request in connection.asked]


@pytest.mark.parametrize("asked", ["never", "seen", "filtered"])
def test_no_two_questions_have_the_candidates_in_one_order(asked: str) -> None:
    """A list that a server remembers is of no use; each run sends the same lists."""
    (case,) = cases_in(workload({**CASE, "asked": asked}), full=True)
    first, again = (asker(Answering(b""), case) for _ in range(2))
    lists = [node_list(first.request(number)) for number in case.numbers]

    assert len({tuple(each) for each in lists}) == len(case.numbers)
    assert all(sorted(each) == case.plan.node_names() for each in lists)
    assert lists == [node_list(again.request(number)) for number in case.numbers]


def test_prioritize_is_sent_the_list_of_its_filter() -> None:
    """And a pod is bound in between, so that what filter found is no longer all."""
    section = workload({**CASE, "verb": "prioritize", "asked": "filtered"})
    (case,) = cases_in(section, full=True)
    connection = Answering(b'{"Error":""}')
    one = asker(connection, case, is_changed=True)
    assert one.prepare is not None
    one.prepare(4)

    assert paths(connection) == [b"/filter", b"/pods", b"/bind"]
    (filtered, _, _) = connection.asked
    assert filtered.replace(b"/filter", b"/prioritize") == one.request(4)


def test_another_node_changes_before_each_question_that_was_seen() -> None:
    """What is remembered of a request has to be refreshed."""
    (case,) = cases_in(workload({**CASE, "asked": "seen"}), full=True)
    connection = Answering(b'{"Error":""}')
    one = asker(connection, case, is_changed=True)
    assert one.prepare is not None
    for number in case.numbers:
        one.prepare(number)
    bodies = [request.partition(b"\r\n\r\n")[2] for request in connection.asked]

    assert paths(connection) == [b"/pods", b"/bind"] * len(case.numbers)
    bound = [orjson.loads(body) for body in bodies[1::2]]
    assert len({each["PodUID"] for each in bound}) == len(bound)
    assert len({each["Node"] for each in bound}) == len(bound)


def test_a_change_that_was_refused_is_told() -> None:
    """A question on a cluster that stood still would measure something else."""
    (case,) = cases_in(workload({**CASE, "asked": "seen"}), full=True)
    one = asker(Answering(b'{"Error":"no room"}'), case, is_changed=True)
    assert one.prepare is not None

    with pytest.raises(AnswerUnusable):
        one.prepare(0)


def test_nothing_changes_on_a_cluster_of_somebody_else() -> None:
    """There is no door to create a pod through."""
    (case,) = cases_in(workload({**CASE, "asked": "seen"}), full=True)
    connection = Answering(b"")
    one = asker(connection, case)
    assert one.prepare is not None
    one.prepare(0)

    assert connection.asked == []


NODES = ["a", "b", "c"]


def filter_answer(*fitting: str, **refused: str) -> bytes:
    """Write filter's answer."""
    return orjson.dumps(
        {
            "Nodes": None,
            "NodeNames": fitting,
            "FailedNodes": refused,
            "FailedAndUnresolvableNodes": None,
            "Error": "",
        }
    )


def scores_answer(**scores: int) -> bytes:
    """Write prioritize's answer."""
    return orjson.dumps(
        [{"Host": host, "Score": score} for host, score in scores.items()]
    )


@pytest.mark.parametrize(
    ("is_right", "body"),
    [
        (filters_exactly, filter_answer("a", "b", c="full")),
        (filters_somehow, filter_answer("b", c="full")),
        (scores_exactly, scores_answer(a=1, b=10, c=0)),
        (scores_somehow, scores_answer(a=3)),
        (binds, b'{"Error":""}'),
    ],
)
def test_a_right_answer_is_taken(is_right: Judge, body: bytes) -> None:
    """Where a and b of three nodes fit."""
    judge(is_right, body, NODES, ["a", "b"])


@pytest.mark.parametrize(
    ("is_right", "body"),
    [
        (filters_exactly, filter_answer("b", "a", c="full")),
        (filters_exactly, filter_answer("a", b="full", c="full")),
        (filters_exactly, filter_answer("a", "b")),
        (filters_exactly, filter_answer("a", "b", "c")),
        (filters_exactly, b'{"Error": "no"}'),
        (filters_exactly, b"[]"),
        (filters_exactly, b"not JSON"),
        (filters_somehow, filter_answer("c")),
        (filters_somehow, filter_answer()),
        (scores_exactly, scores_answer(a=1, b=10, c=1)),
        (scores_exactly, scores_answer(a=1, b=0, c=0)),
        (scores_exactly, scores_answer(a=1, b=11, c=0)),
        (scores_exactly, scores_answer(a=1, b=1)),
        (scores_somehow, scores_answer(d=1)),
        (binds, b'{"Error":"no longer fits"}'),
        (binds, b"{}"),
    ],
)
def test_a_wrong_answer_is_refused(is_right: Judge, body: bytes) -> None:
    """That it came fast says nothing."""
    with pytest.raises(AnswerUnusable):
        judge(is_right, body, NODES, ["a", "b"])


def test_names_are_wanted_in_the_order_sent() -> None:
    """Whatever that order is."""
    sent, fitting = ["c", "b", "a"], ["a", "b"]

    judge(filters_exactly, filter_answer("b", "a", c="full"), sent, fitting)
    with pytest.raises(AnswerUnusable):
        judge(filters_exactly, filter_answer("a", "b", c="full"), sent, fitting)


def test_pods_and_nodes_to_create_have_nothing_that_a_server_gives() -> None:
    """``kubectl create`` takes them as they are, namespaces first."""
    (case,) = cases_in(workload(CASE), full=True)
    pods = to_create(new_pods([case]))["items"]
    cluster = to_create(make_cluster(2, 3))["items"]

    assert [item["kind"] for item in pods] == ["Namespace"] + ["Pod"] * 10
    assert [item["kind"] for item in cluster].count("Node") == 2
    for item in [*pods, *cluster]:
        assert not {"uid", "resourceVersion"} & item["metadata"].keys()
        assert item["kind"] != "Pod" or "status" not in item
