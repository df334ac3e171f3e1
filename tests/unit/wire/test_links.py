"""How cards are linked, as the device plugin writes it."""

import json

import pytest

from extender.core.kinds import NVIDIA
from extender.errors import BadAnnotation
from extender.wire.links import decode_links
from extender.wire.nodes import decode_node
from tests.builders import node
from tests.values import inventory_of

FIELD = "hami.io/node-nvidia-score"

READABLE: dict[str, dict[str, dict[str, int]]] = {
    "[]": {},
    '[{"uuid":"a","score":{"b":120}},{"uuid":"b"}]': {"a": {"b": 120}, "b": {}},
    '[{"uuid":"a","score":null}]': {"a": {}},
}
UNREADABLE = {
    "": FIELD,
    "{": FIELD,
    "null": FIELD,
    "{}": FIELD,
    "[7]": f"{FIELD}[0]",
    "[{}]": f"{FIELD}[0].uuid",
    '[{"uuid":""}]': f"{FIELD}[0].uuid",
    '[{"uuid":"a"},{"uuid":7}]': f"{FIELD}[1].uuid",
    '[{"uuid":"a","score":[]}]': f"{FIELD}[0].score",
    '[{"uuid":"a","score":{"b":-1}}]': f"{FIELD}[0].score[b]",
    '[{"uuid":"a","score":{"b":1.5}}]': f"{FIELD}[0].score[b]",
    '[{"uuid":"a","score":{"b":true}}]': f"{FIELD}[0].score[b]",
    '[{"uuid":"a","score":{"b":99999999999}}]': f"{FIELD}[0].score[b]",
}


@pytest.mark.parametrize(("text", "links"), READABLE.items())
def test_links(text: str, links: dict[str, dict[str, int]]) -> None:
    """By card; what is missing is not there."""
    assert decode_links(text, FIELD) == links


@pytest.mark.parametrize(("text", "named"), UNREADABLE.items())
def test_links_that_cannot_be_read(text: str, named: str) -> None:
    """The error names the element and its key."""
    with pytest.raises(BadAnnotation) as refused:
        decode_links(text, FIELD)
    assert refused.value.field == named


def test_node_with_links_that_cannot_be_read() -> None:
    """A preference is lost, and no card."""
    shown = node("n1").gpu("GPU-a")
    good = json.dumps([{"uuid": "GPU-a", "score": {"GPU-b": 10}}])
    read = decode_node(shown.annotations({FIELD: good}).build(), [NVIDIA])
    assert (inventory_of(read).links, read.warnings) == ({"GPU-a": {"GPU-b": 10}}, ())
    read = decode_node(shown.annotations({FIELD: "?"}).build(), [NVIDIA])
    assert (inventory_of(read).links, read.is_usable) == ({}, True)
    (warning,) = read.warnings
    assert FIELD in warning
