"""To decode and encode, beside orjson alone."""

from collections.abc import Callable
from typing import Final

import numpy as np
import orjson

from benchmarks.api_server.objects import node_as_shown, pod_as_shown
from benchmarks.cluster import make_cluster
from benchmarks.layout import ClusterPlan
from benchmarks.micro.measuring import Against, Measured
from benchmarks.micro.stage import READER
from benchmarks.questions import Question
from benchmarks.shapes import SHAPE_BY_NAME
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName
from extender.wire.extender_v1 import (
    decode_extender_args,
    encode_filter_result,
    encode_host_priorities,
)
from extender.wire.node_lists import NodeLists
from extender.wire.nodes import decode_node

_MOST_SCORE: Final = 11


def bench_arguments(measured: Measured, name_count: int) -> None:
    """Read what filter is asked, by a list of names that is new."""
    body = _arguments(name_count)
    _compared(
        measured, "decode arguments", name_count, lambda: _decode(body, NodeLists())
    )


def bench_arguments_again(measured: Measured, name_count: int) -> None:
    """Read what filter is asked, by the same list of names as before."""
    body, lists = _arguments(name_count), NodeLists()
    _decode(body, lists)
    _compared(
        measured,
        "decode arguments, names again",
        name_count,
        lambda: _decode(body, lists),
    )


def bench_arguments_by_orjson(measured: Measured, name_count: int) -> None:
    """Decode the JSON, and no more."""
    body = _arguments(name_count)
    measured(_case(_ORJSON, name_count), lambda: orjson.loads(body))


def bench_filter_all_fit(measured: Measured, name_count: int) -> None:
    """Write that every node fits."""
    names = _names(name_count)
    _compared(
        measured,
        "encode filter result",
        name_count,
        lambda: encode_filter_result(node_names=names, failed={}, unresolvable={}),
    )


def bench_filter_none_fits(measured: Measured, name_count: int) -> None:
    """Write why no node fits."""
    failed = dict.fromkeys(_names(name_count), "CardInsufficientMemory")
    _compared(
        measured,
        "encode refusals",
        name_count,
        lambda: encode_filter_result(node_names=[], failed=failed, unresolvable={}),
    )


def bench_priorities(measured: Measured, name_count: int) -> None:
    """Write a score for every node."""
    names = _names(name_count)
    scores = np.arange(name_count) % _MOST_SCORE
    _compared(
        measured,
        "encode priorities",
        name_count,
        lambda: encode_host_priorities(names, scores),
    )


def bench_pod(measured: Measured) -> None:
    """Read a running GPU pod as a watch tells it."""
    line = orjson.dumps(pod_as_shown(_objects("Pod")[0]))
    _read(measured, "pod", lambda: READER.read(orjson.loads(line)))


def bench_pod_by_orjson(measured: Measured) -> None:
    """Decode the same pod's JSON, and no more."""
    line = orjson.dumps(pod_as_shown(_objects("Pod")[0]))
    measured({"step": "read", "object": "pod, orjson"}, lambda: orjson.loads(line))


def bench_node(measured: Measured) -> None:
    """Read a node of 8 cards as a watch tells it."""
    line = orjson.dumps(node_as_shown(_objects("Node")[0]))
    _read(measured, "node", lambda: decode_node(orjson.loads(line), [NVIDIA]))


def bench_node_by_orjson(measured: Measured) -> None:
    """Decode the same node's JSON, and no more."""
    line = orjson.dumps(node_as_shown(_objects("Node")[0]))
    measured({"step": "read", "object": "node, orjson"}, lambda: orjson.loads(line))


_ORJSON: Final = "orjson decodes arguments"


def _compared(
    measured: Measured, step: str, name_count: int, do: Callable[[], object]
) -> None:
    against = Against("to_orjson", _case(_ORJSON, name_count))
    measured(_case(step, name_count), do, against)


def _read(measured: Measured, name: str, do: Callable[[], object]) -> None:
    other = {"step": "read", "object": f"{name}, orjson"}
    measured({"step": "read", "object": name}, do, Against("to_orjson", other))


def _case(step: str, name_count: int) -> dict[str, str | int]:
    return {"step": step, "names": name_count}


def _decode(body: bytes, lists: NodeLists) -> object:
    return decode_extender_args(body, READER, lists)


def _arguments(name_count: int) -> bytes:
    plan = ClusterPlan(name_count, 0)
    question = Question(SHAPE_BY_NAME["one app"], plan, 0, 0)
    return question.extender_args(plan.node_names())


def _names(name_count: int) -> list[NodeName]:
    return [NodeName(name) for name in ClusterPlan(name_count, 0).node_names()]


def _objects(kind: str) -> list[dict[str, object]]:
    items = make_cluster(1)["items"]
    return [item for item in items if item["kind"] == kind]
