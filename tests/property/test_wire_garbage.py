"""Garbage over the wire: it is read, or refused by an error of ours."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from extender.core.allocation import UnreadableAllocation
from extender.core.container import Lifetime
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.errors import WireError
from extender.wire.allocation import decode_rows, read_allocation, served_rows
from extender.wire.extender_v1 import decode_binding_args, decode_extender_args
from extender.wire.label_selector import parse_selector
from extender.wire.node_lists import NodeLists
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from extender.wire.quantity import parse_whole
from extender.wire.register import decode_inventory
from tests import kinds
from tests.builders import node, pod

FIELD: Final = "field"
READER: Final = PodReader(Kinds([NVIDIA]))

POD: Final = (
    pod("p")
    .init("i", gpu=1, gpumem="2k")
    .sidecar("s", gpu=1)
    .app("a", gpu=2, cores=30)
    .annotations({"nvidia.com/use-gputype": "A10", "hami.io/node-scheduler-policy": ""})
    .annotations({"gpu-extender/release": "never"})
    .holding("GPU-a,NVIDIA,1,0:;GPU-a,NVIDIA,1,0:;GPU-a,NVIDIA,1,0:GPU-b,NVIDIA,1,0:;")
    .on("n1")
    .exited("i")
    .running("a", restarts=1)
    .sandbox()
    .restarting_all(status=False)
    .build()
)
NODE: Final = (
    node("n1").gpu("GPU-a").gpu("GPU-b").cordon("GPU-b").labels(gpu="on").build()
)
SELECTOR: Final = parse_selector("gpu=on")
POD_OF_TWO_KINDS: Final = kinds.pod_of(
    pod("p")
    .init("i")
    .app("a")
    .on("n1")
    .annotations(
        {
            "hami.io/alpha-devices-allocated": "A-0,Alpha,1,0:;A-0,Alpha,2,0:;",
            "hami.io/alpha-devices-to-allocate": ";A-0,Alpha,2,0:;",
            "beta.example/allocated": ";B-0,Beta,1,0:;",
        }
    ),
    {"i": kinds.Asks(alpha=1), "a": kinds.Asks(alpha=1, beta=1, beta_mib=1)},
)
NODE_OF_TWO_KINDS: Final = kinds.node_of("n1", {"A-0": 10}, {"B-0": 10, "A-1": 5})

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
wire_like = st.text('GPUab,:;[]{}"01239-+.eEKimn \n') | st.text()
"""Texts of the characters that mean something, and any other."""


@given(wire_like, st.lists(st.integers(0, 3), max_size=4))
def test_any_text_is_an_allocation_or_unreadable(text: str, counts: list[int]) -> None:
    """What is readable has the shape that the pod asks for."""
    read = read_allocation(text, counts, NVIDIA)
    if not isinstance(read, UnreadableAllocation):
        assert [len(row) for row in read] == counts
    served_rows(text)


TEXT_DECODERS: Final[dict[str, Callable[[str], object]]] = {
    "quantity": lambda text: parse_whole(text, FIELD),
    "inventory": lambda text: decode_inventory(text, FIELD, frozenset()),
    "label selector": parse_selector,
    "rows": lambda text: decode_rows(text, FIELD, NVIDIA),
}


@pytest.mark.parametrize("decode", TEXT_DECODERS.values(), ids=TEXT_DECODERS)
@given(text=wire_like | json_values.map(json.dumps))
@example(text="[" * 10_000)
@example(text="[" * 1_000 + "]" * 1_000)
@example(text="9" * 10_000)
@example(text="\ud800")
def test_any_text_is_read_or_refused(
    decode: Callable[[str], object], text: str
) -> None:
    """Never another exception than ours."""
    with suppress(WireError):
        decode(text)


BODY_DECODERS: Final[dict[str, Callable[[bytes], object]]] = {
    "args": lambda body: decode_extender_args(body, READER),
    "args, by list": lambda body: decode_extender_args(body, READER, NodeLists()),
    "binding": decode_binding_args,
}


@pytest.mark.parametrize("decode", BODY_DECODERS.values(), ids=BODY_DECODERS)
@given(body=st.binary() | json_values.map(orjson.dumps))
@example(body=b"[" * 100_000)
@example(body=b'{"Pod":' + b"[" * 1_000 + b"]" * 1_000 + b"}")
@example(body=b'{"Pod":' + b'{"metadata":' * 1_000 + b"1" + b"}" * 1_001)
@example(body=b'{"Pod":{},"x\\"NodeNames":["n1"]}')
@example(body=b'{"NodeNames":null,"Pod":{},"x\\"NodeNames":["n1"]}')
@example(body=b'"NodeNames":["n1"]}')
@example(body=b'{"PodName":' + b"[" * 1_000 + b"]" * 1_000 + b"}")
def test_any_body_is_read_or_refused(
    decode: Callable[[bytes], object], body: bytes
) -> None:
    """Never another exception than ours, however deeply a body is nested."""
    with suppress(WireError):
        decode(body)


OBJECT_DECODERS: Final[dict[str, Callable[[object], object]]] = {
    "pod": READER.read,
    "node": lambda shown: decode_node(shown, [NVIDIA]),
    "labelled node": lambda shown: decode_node(shown, [NVIDIA], SELECTOR),
    "pod of two kinds": kinds.READER.read,
    "node of two kinds": lambda shown: decode_node(shown, kinds.KINDS),
    "remains": lambda shown: kinds.READER.read_bound_remains(shown, "torn"),
    "quantity": lambda shown: parse_whole(shown, FIELD),
}


@pytest.mark.parametrize("decode", OBJECT_DECODERS.values(), ids=OBJECT_DECODERS)
@given(data=st.data())
def test_any_damage_is_read_or_refused(
    decode: Callable[[object], object], data: st.DataObject
) -> None:
    """A good object with something else at one place gives a value or our error."""
    shown = data.draw(st.sampled_from([POD, NODE, POD_OF_TWO_KINDS, NODE_OF_TWO_KINDS]))
    with suppress(WireError):
        decode(damaged(shown, data))


@given(st.data())
def test_damaged_status_never_fails_a_pod(data: st.DataObject) -> None:
    """What cannot be read of a status is unknown."""
    shown = {**POD, "status": damaged(POD["status"], data)}
    read = READER.read(shown)
    assert [container.lifetime for container in read.containers] == [
        Lifetime.INIT,
        Lifetime.SIDECAR,
        Lifetime.APP,
    ]
    assert len(read.status.containers) in {0, 3}


def damaged(value: object, data: st.DataObject) -> object:
    """Walk to a random place and put something else there."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 9)):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: damaged(value[key], data)}
    if isinstance(value, list) and value and data.draw(st.integers(0, 9)):
        index = data.draw(st.integers(0, len(value) - 1))
        changed = list(value)
        changed[index] = damaged(value[index], data)
        return changed
    return data.draw(json_values | st.sampled_from([value]) | wire_like)
