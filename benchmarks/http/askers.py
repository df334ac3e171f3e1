"""What is asked of a server in one case, and how its answers are judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from benchmarks.cluster import Manifest, sent_nodes
from benchmarks.connection import AnswerUnusable, Connection, get, post
from benchmarks.http.asking import Asker
from benchmarks.http.cases import Case
from benchmarks.http.judging import (
    Judge,
    binds,
    filters_exactly,
    filters_nodes_exactly,
    judge,
    scores_exactly,
)
from benchmarks.layout import node_name
from benchmarks.questions import NAMESPACE, Question, shuffled
from benchmarks.shapes import SMALL

_JUDGES: Final[dict[str, Judge]] = {
    "filter": filters_exactly,
    "prioritize": scores_exactly,
    "bind": binds,
}


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of one case, by number.

    Attributes:
        case: Says what is asked.
        node_names: The candidates, all nodes, in any order.
        pods: By name: those that an API server has already, as it has them.
        nodes: By name, where whole nodes are sent.
    """

    case: Case
    node_names: list[str]
    pods: Mapping[str, Manifest] = field(default_factory=dict)
    nodes: Mapping[str, Manifest] = field(default_factory=dict)

    def __getitem__(self, number: int) -> Question:
        case = self.case
        request_number = case.first_number if case.asked == "seen" else number
        return Question(case.shape, case.plan, number, request_number)

    def body(self, number: int) -> bytes:
        """Encode what the verb is asked."""
        if self.case.verb == "bind":
            return self[number].binding_args(self.node_of(number))
        question = self[number]
        if self.nodes:
            return question.extender_args_of(
                [self.nodes[name] for name in self.names(number)]
            )
        pod = self.pods.get(question.pod_name)
        return question.extender_args(self.names(number), pod)

    def names(self, number: int) -> list[str]:
        """Put the candidates in the order in which this question has them."""
        return shuffled(self.node_names, number)

    def change(self, number: int) -> Question:
        """Make the pod whose bind changes one node before this question."""
        return Question(SMALL, self.case.plan, number, number)

    def node_of(self, number: int) -> str:
        """Choose where a pod is bound: nodes in turn, all over the cluster."""
        fitting = list(self.case.shape.fitting(self.case.plan, number))
        return node_name(fitting[number * _STRIDE % len(fitting)])


_STRIDE: Final = 7_919
"""A prime larger than most clusters, so that turns reach every node."""


def asker(
    connection: Connection,
    case: Case,
    *,
    path: str | None = None,
    is_right: Judge | None = None,
    pods: Mapping[str, Manifest] | None = None,
    is_changed: bool = False,
) -> Asker:
    """Ask a server the questions of a case.

    Args:
        connection: To it.
        case: Says what.
        path: Where the verb is served; by default at its own name.
        is_right: How answers are judged; by default to the letter.
        pods: By name, those that an API server has already.
        is_changed: Binds another pod before each question whose answer could be
            remembered, so that one node is another than it was.
    """
    nodes = sent_nodes(case.plan) if case.sent == "nodes" else {}
    questions = Questions(case, case.plan.node_names(), pods or {}, nodes)
    wanted = is_right or _JUDGES[case.verb]
    if nodes and wanted is filters_exactly:
        wanted = filters_nodes_exactly

    def judged(number: int, body: bytes) -> None:
        fitting = [] if case.verb == "bind" else questions[number].fitting()
        sent = [] if case.verb == "bind" else questions.names(number)
        judge(wanted, body, sent, fitting)

    def prepare(number: int) -> None:
        if case.asked == "filtered":
            connection.ask(post("/filter", questions.body(number)))
        if is_changed and case.asked != "never":
            _change_a_node(connection, questions, number)

    return Asker(
        connection,
        lambda number: post(path or f"/{case.verb}", questions.body(number)),
        judged,
        prepare,
    )


def _change_a_node(connection: Connection, questions: Questions, number: int) -> None:
    """Bind a pod so small that the same nodes fit as before.

    Raises:
        AnswerUnusable: It was not bound.
    """
    small = questions.change(number)
    connection.ask(post("/pods", small.new_pod()))
    node = questions.node_of(number)
    _, body = connection.ask(post("/bind", small.binding_args(node)))
    judge(binds, body, [node], [node])


def create_pods(connection: Connection, case: Case) -> None:
    """Create the pods that are going to be bound."""
    questions = Questions(case, [])
    for number in case.numbers:
        connection.ask(post("/pods", questions[number].new_pod()))


def check_bound(connection: Connection, case: Case) -> None:
    """See that every pod is where it was bound, and that all totals are right.

    Raises:
        AnswerUnusable: One is not, or a total differs from the sum over the pods.
    """
    questions = Questions(case, [])
    _, body = connection.ask(get("/pods"))
    places = {
        pod["metadata"]["name"]: pod["spec"].get("nodeName")
        for pod in orjson.loads(body)["items"]
        if pod["metadata"]["namespace"] == NAMESPACE
    }
    wanted = {
        questions[number].pod_name: questions.node_of(number) for number in case.numbers
    }
    if places != wanted:
        raise AnswerUnusable("bind said yes, and a pod is not on its node")
    _, body = connection.ask(get("/debug/audit"))
    audit = orjson.loads(body)
    if audit["differences"] or audit["overfull"]:
        raise AnswerUnusable(f"binds left totals or cards wrong: {body[:500]!r}")
