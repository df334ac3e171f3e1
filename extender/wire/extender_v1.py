"""kube-scheduler's extender v1: what it sends and what it reads.

The types in k8s.io/kube-scheduler/extender/v1 have no JSON tags, so keys are Go field
names; none is left out, and what is absent is null.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import orjson

from extender.core.arrays import Int64s
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.errors import LONGEST_SHOWN, BadObject, Described, MalformedBody
from extender.wire.node_lists import NodeLists, cut_names, decoded_or_none
from extender.wire.objects import JsonObject, as_object, list_at, name_at, shown
from extender.wire.pods import PodReader

"""Bytes of a body that is not JSON, in the error."""


@dataclass(frozen=True, slots=True)
class ExtenderArgs:
    """What filter and prioritize are asked; one of the two lists is not None.

    Attributes:
        pod: The pod to place.
        node_names: Candidates by name, each once, in the order sent; the same list
            gives the same tuple, as long as it is remembered.
        nodes: Candidates as JSON objects by name; None where names were sent.
    """

    pod: Pod
    node_names: tuple[NodeName, ...] | None
    nodes: dict[NodeName, Mapping[str, object]] | None

    @property
    def candidates(self) -> tuple[NodeName, ...]:
        """The names of all nodes in question, each once, in the order sent."""
        return tuple(self.nodes or ()) if self.node_names is None else self.node_names


@dataclass(frozen=True, slots=True)
class BindingArgs:
    """What bind is asked."""

    name: str
    namespace: str
    uid: PodUID
    node_name: NodeName


def decode_extender_args(
    body: bytes, reader: PodReader, lists: NodeLists | None = None
) -> ExtenderArgs:
    """Read the body of filter and prioritize.

    Args:
        body: As it was sent.
        reader: Reads the pod.
        lists: Remembers lists of names between calls.

    Raises:
        MalformedBody: It cannot be used; the error names the field.
    """
    if lists is not None:
        args = _read_in_two(body, reader, lists)
        if args is not None:
            return args
    return _read(_decoded_object(body), reader)


def _read_in_two(
    body: bytes, reader: PodReader, lists: NodeLists
) -> ExtenderArgs | None:
    """Read a body whose list of names stands last; None for any other."""
    parts = cut_names(body)
    if parts is None:
        return None
    head, text = parts
    args, known = decoded_or_none(head), lists.known(text)
    names = decoded_or_none(text) if known is None else known
    if not isinstance(args, dict) or names is None:
        return None
    read = _read({**args, "NodeNames": names}, reader)
    if known is None and read.node_names is not None:
        lists.keep(text, read.node_names)
    return read


def _read(args: JsonObject, reader: PodReader) -> ExtenderArgs:
    if args.get("Pod") is None:
        raise MalformedBody("Pod", None, "a pod")
    try:
        pod = reader.read(args["Pod"])
        if args.get("NodeNames") is not None:
            return ExtenderArgs(pod, _node_names(args["NodeNames"]), None)
        if args.get("Nodes") is not None:
            return ExtenderArgs(pod, None, _nodes(args["Nodes"]))
    except BadObject as error:
        raise MalformedBody(error.field, error.value, error.expected) from error
    raise MalformedBody("NodeNames", None, "a list of names here, or Nodes")


def _node_names(names: object) -> tuple[NodeName, ...]:
    if isinstance(names, tuple):
        return names  # remembered
    if not isinstance(names, list):
        raise MalformedBody("NodeNames", shown(names), "a list")
    if all(issubclass(each, str) for each in set(map(type, names))):
        unique = dict.fromkeys(names)
        if "" not in unique:
            return tuple(unique)
    index, name = next(
        (index, name)
        for index, name in enumerate(names)
        if not isinstance(name, str) or not name
    )
    raise MalformedBody(f"NodeNames[{index}]", shown(name), "a node's name")


def _nodes(node_list: object) -> dict[NodeName, Mapping[str, object]]:
    """Give the items as they came, so that they can be sent back."""
    items = list_at(as_object(node_list, "Nodes"), "items", "Nodes")
    by_name: dict[NodeName, Mapping[str, object]] = {}
    for index, item in enumerate(items):
        field = f"Nodes.items[{index}]"
        node = as_object(item, field)
        metadata = as_object(node.get("metadata"), f"{field}.metadata")
        name = NodeName(name_at(metadata, "name", f"{field}.metadata"))
        by_name.setdefault(name, node)
    return by_name


def encode_filter_result(
    *,
    node_names: Sequence[NodeName] | None = None,
    nodes: list[Mapping[str, object]] | None = None,
    failed: dict[NodeName, str] | None = None,
    unresolvable: dict[NodeName, str] | None = None,
    error: str = "",
) -> bytes:
    """Write filter's answer.

    Args:
        node_names: Those that fit, where names were sent.
        nodes: Those that fit, as they came, where objects were sent.
        failed: Reasons of nodes that may fit after an eviction.
        unresolvable: Reasons of nodes that no eviction helps.
        error: Fails the whole scheduling cycle of the pod when not empty.

    Raises:
        MalformedBody: A node in `nodes` is nested too deeply to be written again.
    """
    result = {
        "Nodes": None if nodes is None else {"metadata": {}, "items": nodes},
        "NodeNames": node_names,
        "FailedNodes": failed,
        "FailedAndUnresolvableNodes": unresolvable,
        "Error": error,
    }
    try:
        return orjson.dumps(result)
    except orjson.JSONEncodeError as failure:
        # The parser takes deeper nesting than the writer.
        wanted = f"such that it can be sent back: {failure}"
        raise MalformedBody("Nodes.items", Described("an object"), wanted) from failure


def encode_host_priorities(node_names: Sequence[NodeName], scores: Int64s) -> bytes:
    """Write prioritize's answer, the best first, and else in the order given.

    Args:
        node_names: Of N nodes.
        scores: int64 (N,).

    Example:
        >>> names = [NodeName("n1"), NodeName("n2"), NodeName("n3")]
        >>> encode_host_priorities(names, np.array([2, 7, 2]))[:47]
        b'[{"Host":"n2","Score":7},{"Host":"n1","Score":2'

    Cost: one encoding of the names for each of the few different scores.
    """
    groups = []
    for score in np.unique(scores)[::-1].tolist():
        has_score = scores == score
        names = node_names
        if not has_score.all():
            names = [node_names[each] for each in np.flatnonzero(has_score).tolist()]
        groups.append(_with_score(names, score))
    return b"[" + b",".join(groups) + b"]"


def _with_score(names: Sequence[NodeName], score: int) -> bytes:
    """Write nodes that have the same score, without the brackets around them.

    A list of names is put in order by replacing what stands between two of them. Where
    no backslash is written, no name holds a quote, and the quotes of a list stand
    around its names alone; else each node is written as an object of its own.
    """
    listed = orjson.dumps(names)
    if b"\\" in listed:
        return orjson.dumps([{"Host": name, "Score": score} for name in names])[1:-1]
    end = b'","Score":%d}' % score
    between = end + b',{"Host":"'
    return b'{"Host":"' + listed[2:-2].replace(b'","', between) + end


def decode_binding_args(body: bytes) -> BindingArgs:
    """Read the body of bind.

    Raises:
        MalformedBody: A name or the UID is missing or empty.
    """
    args = _decoded_object(body)
    return BindingArgs(
        name=_text(args, "PodName"),
        namespace=_text(args, "PodNamespace"),
        uid=PodUID(_text(args, "PodUID")),
        node_name=NodeName(_text(args, "Node")),
    )


def encode_binding_result(error: str) -> bytes:
    """Write bind's answer; an empty error is success."""
    return orjson.dumps({"Error": error})


def _decoded_object(body: bytes) -> JsonObject:
    try:
        args = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedBody(
            "body", bytes(body[:LONGEST_SHOWN]), f"JSON: {error}"
        ) from error
    if not isinstance(args, dict):
        raise MalformedBody("body", shown(args), "an object")
    return args


def _text(args: JsonObject, key: str) -> str:
    value = args.get(key)
    if not isinstance(value, str) or not value:
        raise MalformedBody(key, shown(value), "a non-empty string")
    return value
