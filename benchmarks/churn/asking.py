"""Ask filter again and again, as kube-scheduler does: one pod at a time."""

import gc
import time
from dataclasses import dataclass, field
from itertools import count

import orjson

from benchmarks.connection import AnswerUnusable, Connection, post
from benchmarks.layout import ClusterPlan
from benchmarks.questions import Question, shuffled
from benchmarks.shapes import MOST_QUESTIONS, Shape


@dataclass(slots=True)
class Asker:
    """Asks about one shape of pod on all nodes.

    Attributes:
        connection: To the extender.
        shape: Of the pods.
        cluster: Whose nodes are the candidates.
        is_seen: Asks for the same each time; otherwise no request comes twice.
    """

    connection: Connection
    shape: Shape
    cluster: ClusterPlan
    is_seen: bool = False
    _numbers: "count[int]" = field(default_factory=count)

    def ask_for(self, seconds: float) -> list[int]:
        """Ask for as long, one question after another.

        Returns:
            Nanoseconds of each answer.

        Raises:
            AnswerUnusable: An answer leaves out nodes that can hold the pod.
        """
        took = []
        node_names = self.cluster.node_names()
        ends = time.monotonic() + seconds
        gc.disable()
        try:
            while time.monotonic() < ends:
                number = next(self._numbers)
                asked = 0 if self.is_seen else number % MOST_QUESTIONS
                question = Question(self.shape, self.cluster, number, asked)
                body = question.extender_args(shuffled(node_names, number))
                elapsed, answer = self.connection.ask(post("/filter", body))
                took.append(elapsed)
                check(answer, question.fitting())
        finally:
            gc.enable()
        return took


def check(body: bytes, fitting: list[str]) -> None:
    """Refuse a wrong answer: that it came fast says nothing.

    Between two pods that follow each other there is more room than there was at the
    beginning, and never less, so more nodes may fit, and never fewer.

    Raises:
        AnswerUnusable: It leaves out nodes that fit.
    """
    answer = orjson.loads(body)
    if answer["Error"] or not set(fitting) <= set(answer["NodeNames"] or ()):
        raise AnswerUnusable(
            f"wrong answer where {len(fitting)} nodes fit: {body[:500]!r}"
        )
