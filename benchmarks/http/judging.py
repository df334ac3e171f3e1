"""Whether an answer is right: that it came fast says nothing otherwise.

What is right follows from how the cluster was made. Our own extender is held to the
letter; one of somebody else must name nodes that fit, but may name fewer of them.
"""

from collections.abc import Callable, Sequence
from typing import Final

import orjson

from benchmarks.connection import AnswerUnusable

WARM_UPS: Final = 3
"""Questions before the timed ones, to each server; they are judged as well."""

_MOST_SCORE: Final = 10

Judge = Callable[[bytes, Sequence[str], Sequence[str]], bool]
"""Whether an answer's body is right, for the nodes sent and those of them that fit."""


def judge(
    is_right: Judge, body: bytes, sent: Sequence[str], fitting: Sequence[str]
) -> None:
    """Refuse a wrong answer.

    Raises:
        AnswerUnusable: It is wrong, or cannot be read.
    """
    try:
        if is_right(body, sent, fitting):
            return
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise AnswerUnusable(f"no such answer is known: {body[:500]!r}") from error
    raise AnswerUnusable(
        f"wrong answer where {len(fitting)} of {len(sent)} nodes fit: {body[:500]!r}"
    )


def filters_exactly(body: bytes, sent: Sequence[str], fitting: Sequence[str]) -> bool:
    """Want every node that fits, in the order sent, and a reason for each other one."""
    answer = orjson.loads(body)
    fit = set(fitting)
    reasons = answer["FailedNodes"], answer["FailedAndUnresolvableNodes"]
    refused = [*(reasons[0] or {}), *(reasons[1] or {})]
    return (
        answer["Error"] == ""
        and (answer["NodeNames"] or []) == [name for name in sent if name in fit]
        and len(refused) == len(sent) - len(fit)
        and set(refused) == set(sent) - fit
    )


def filters_nodes_exactly(
    body: bytes, sent: Sequence[str], fitting: Sequence[str]
) -> bool:
    """Want the same where whole nodes were sent."""
    answer = orjson.loads(body)
    names = [node["metadata"]["name"] for node in answer["Nodes"]["items"]]
    by_name = {**answer, "NodeNames": names}
    return answer["NodeNames"] is None and filters_exactly(
        orjson.dumps(by_name), sent, fitting
    )


def scores_exactly(body: bytes, sent: Sequence[str], fitting: Sequence[str]) -> bool:
    """Want a score for each node sent, 0 where the pod does not fit, 1 to 10 else."""
    scores = {entry["Host"]: entry["Score"] for entry in orjson.loads(body)}
    fit = set(fitting)
    return scores.keys() == set(sent) and all(
        1 <= score <= _MOST_SCORE if name in fit else score == 0
        for name, score in scores.items()
    )


def binds(body: bytes, _sent: Sequence[str], _fitting: Sequence[str]) -> bool:
    """Want success."""
    return bool(orjson.loads(body) == {"Error": ""})


def filters_somehow(body: bytes, _sent: Sequence[str], fitting: Sequence[str]) -> bool:
    """Want at least one node where one fits, and none that does not."""
    answer = orjson.loads(body)
    named = answer["NodeNames"] or []
    return (
        not answer.get("Error")
        and set(named) <= set(fitting)
        and bool(named) == bool(fitting)
    )


def scores_somehow(body: bytes, sent: Sequence[str], _fitting: Sequence[str]) -> bool:
    """Want scores of nodes that were sent, within kube-scheduler's range."""
    scores = {entry["Host"]: entry["Score"] for entry in orjson.loads(body)}
    return scores.keys() <= set(sent) and all(
        0 <= score <= _MOST_SCORE for score in scores.values()
    )
