"""kube-scheduler's messages, against bytes that its own Go types wrote."""

import json
from pathlib import Path

import numpy as np
import orjson
import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName, PodUID
from extender.core.pod_request import ContainerRequest, Policy, Selection
from extender.errors import MalformedBody
from extender.wire.extender_v1 import (
    BindingArgs,
    decode_binding_args,
    decode_extender_args,
    encode_binding_result,
    encode_filter_result,
    encode_host_priorities,
)
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from tests.builders import node, pod
from tests.values import inventory_of, request_of

GOLDEN = Path(__file__).parents[2] / "golden"
READER = PodReader(Kinds([NVIDIA]))
POD = pod("p").app("a", gpu=1).build()


def golden(name: str) -> bytes:
    """Read what Go wrote."""
    return (GOLDEN / f"{name}.json").read_bytes()


def ordered(text: bytes) -> object:
    """Decode so that the order of keys is compared too."""
    pairs: object = json.loads(text, object_pairs_hook=list)
    return pairs


def test_node_names_from_go() -> None:
    """Pod and names as kube-scheduler sends them with nodeCacheCapable."""
    args = decode_extender_args(golden("args_node_names"), READER)
    assert args.node_names == ("gpu-node-1", "gpu-node-2")
    assert args.nodes is None
    assert args.pod.full_name == "research/trainer-0"
    request = request_of(args.pod)
    assert request.containers == (
        ContainerRequest(1, 2000, 0, 0),
        ContainerRequest(1, 20_000, 0, 0),
        ContainerRequest(2, 10_000, 0, 30),
    )
    assert request.selection == Selection(use_types=("A10", "A100"))
    assert request.node_policy is Policy.SPREAD
    assert request.kubelet_slots == 3


def test_nodes_from_go() -> None:
    """Whole nodes come as they are, can be read, and can be sent back."""
    sent = golden("args_nodes")
    args = decode_extender_args(sent, READER)
    assert args.node_names is None
    nodes = args.nodes or {}
    assert list(nodes.values()) == json.loads(sent)["Nodes"]["items"]
    read = [decode_node(shown, [NVIDIA]) for shown in nodes.values()]
    assert [inventory_of(one).problem for one in read] == [None] * len(read)
    cards = [(card.device_uuid, card.is_healthy) for card in read[0].devices]
    assert cards == [("GPU-1a", True), ("GPU-1b", False)]


def body(**args: object) -> bytes:
    """Write a body; what is not given is null."""
    return json.dumps({"Pod": POD, "Nodes": None, "NodeNames": None, **args}).encode()


def test_names_win_over_nodes() -> None:
    """As in kube-scheduler's own reading of the answer."""
    both = body(NodeNames=["n2"], Nodes={"items": [node("n1").build()]})
    args = decode_extender_args(both, READER)
    assert (args.node_names, args.nodes) == (("n2",), None)


def test_each_candidate_counts_once() -> None:
    """A name that is sent twice in an answer would be judged twice."""
    names = decode_extender_args(body(NodeNames=["b", "a", "b", "a"]), READER)
    assert names.node_names == ("b", "a")
    items = [{"metadata": {"name": name}} for name in ("b", "a", "b")]
    nodes = decode_extender_args(body(Nodes={"items": items}), READER)
    assert nodes.nodes == {"b": items[0], "a": items[1]}


@pytest.mark.parametrize("nodes", [{}, {"items": None}, {"items": []}])
def test_empty_list_of_nodes_is_not_missing(nodes: object) -> None:
    """Go writes an empty list as null."""
    assert decode_extender_args(body(Nodes=nodes), READER).nodes == {}


MALFORMED = {
    "no bytes": (b"", "body"),
    "no JSON": (b"hello", "body"),
    "no UTF-8": (b'{"Pod": "\xff"}', "body"),
    "JSON cut off": (body()[:-1], "body"),
    "two values": (body() + b"{}", "body"),
    "NaN": (b'{"Pod": NaN}', "body"),
    "nested too deeply": (b"[" * 100_000, "body"),
    "a list": (b"[]", "body"),
    "a list nested as deeply as can be read": (b"[" * 1000 + b"]" * 1000, "body"),
    "no pod": (b'{"NodeNames": []}', "Pod"),
    "a null pod": (body(Pod=None, NodeNames=[]), "Pod"),
    "a pod that is a list": (body(Pod=[], NodeNames=[]), "pod"),
    "a pod without a name": (
        body(Pod={"metadata": {}, "spec": {}}, NodeNames=[]),
        "metadata.name",
    ),
    "neither names nor nodes": (body(), "NodeNames"),
    "names that are no list": (body(NodeNames="n1"), "NodeNames"),
    "a name that is a number": (body(NodeNames=["n1", 7]), "NodeNames[1]"),
    "a name that is a list": (body(NodeNames=["n1", ["n2"]]), "NodeNames[1]"),
    "an empty name": (body(NodeNames=["n1", "n2", ""]), "NodeNames[2]"),
    "nodes that are a list": (body(Nodes=[]), "Nodes"),
    "items that are no list": (body(Nodes={"items": {}}), "Nodes.items"),
    "an item that is a text": (body(Nodes={"items": ["n1"]}), "Nodes.items[0]"),
    "an item without metadata": (
        body(Nodes={"items": [{}]}),
        "Nodes.items[0].metadata",
    ),
    "an item without a name": (
        body(Nodes={"items": [{"metadata": {}}]}),
        "Nodes.items[0].metadata.name",
    ),
}


@pytest.mark.parametrize(("sent", "named"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_body_names_the_field(sent: bytes, named: str) -> None:
    """Whoever sent it learns what to mend."""
    with pytest.raises(MalformedBody) as refused:
        decode_extender_args(sent, READER)
    assert refused.value.field == named


REASONS = {
    NodeName("gpu-node-3"): "CardInsufficientCore",
    NodeName("gpu-node-4"): "CardInsufficientMemory, CardTimeSlicingExhausted",
}
NEVER = {
    NodeName("gpu-node-5"): "NodeUnregistered",
    NodeName("gpu-node-6"): "CardTypeMismatch",
}

FILTER_RESULTS = {
    "filter_node_names": encode_filter_result(
        node_names=[NodeName("gpu-node-1"), NodeName("gpu-node-2")],
        failed=REASONS,
        unresolvable=NEVER,
    ),
    "filter_none_fits": encode_filter_result(
        node_names=[],
        failed={},
        unresolvable={NodeName("gpu-node-5"): "NodeUnregistered"},
    ),
    "filter_nothing": encode_filter_result(),
    "filter_error": encode_filter_result(error="nodes and pods are not synced yet"),
    "priorities": encode_host_priorities(
        [NodeName("gpu-node-2"), NodeName("gpu-node-1")], np.array([10, 0])
    ),
    "priorities_empty": encode_host_priorities([], np.array([], np.int64)),
    "binding_done": encode_binding_result(""),
    "binding_error": encode_binding_result("the lock of gpu-node-1 is held"),
}


@pytest.mark.parametrize(
    ("name", "written"), FILTER_RESULTS.items(), ids=FILTER_RESULTS
)
def test_answer_is_what_go_writes(name: str, written: bytes) -> None:
    """Keys, their order, and null against empty."""
    assert ordered(written) == ordered(golden(name))


def test_nodes_are_echoed_as_they_came() -> None:
    """kube-scheduler goes on with the objects that it gets back."""
    expected = json.loads(golden("filter_nodes"))
    nodes = decode_extender_args(golden("args_nodes"), READER).nodes or {}
    kept = [one["metadata"]["name"] for one in expected["Nodes"]["items"]]
    written = encode_filter_result(
        nodes=[nodes[NodeName(name)] for name in kept],
        failed=expected["FailedNodes"],
        unresolvable=expected["FailedAndUnresolvableNodes"],
    )
    assert json.loads(written) == expected


def test_node_that_cannot_be_written_again_is_refused() -> None:
    """The parser takes deeper nesting than the writer."""
    shown = orjson.loads('{"a":' * 300 + "1" + "}" * 300)
    with pytest.raises(MalformedBody, match=r"^Nodes\.items"):
        encode_filter_result(nodes=[shown])


def test_binding_args_from_go() -> None:
    """What kube-scheduler asks of bind."""
    assert decode_binding_args(golden("binding_args")) == BindingArgs(
        name="trainer-0",
        namespace="research",
        uid=PodUID("3a1f4a86-6c0a-4bb7-9f10-6a3f0f2d8f11"),
        node_name=NodeName("gpu-node-1"),
    )


@pytest.mark.parametrize("key", ["PodName", "PodNamespace", "PodUID", "Node"])
@pytest.mark.parametrize("value", ["", None, 7, []])
def test_binding_needs_all_names(key: str, value: object) -> None:
    """An empty UID would bind whatever pod has the name now."""
    args = {**json.loads(golden("binding_args")), key: value}
    with pytest.raises(MalformedBody) as refused:
        decode_binding_args(json.dumps(args).encode())
    assert refused.value.field == key


@pytest.mark.parametrize("sent", [b"", b"{", b"[]", b"null", b"[" * 100_000])
def test_binding_body_that_is_no_object(sent: bytes) -> None:
    """Refused as a whole."""
    with pytest.raises(MalformedBody, match=r"^body: "):
        decode_binding_args(sent)
