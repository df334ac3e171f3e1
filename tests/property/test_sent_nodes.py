"""A request that brings nodes is judged as if all of them were new to us."""

from dataclasses import replace
from typing import Final

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from extender.core.container import Lifetime
from extender.core.fleet import Fleet
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import KindWord, NodeName
from extender.core.node import Node
from extender.core.overlaid_fleet import OverlaidFleet
from extender.core.pod_request import ContainerRequest, PodRequest
from extender.core.usage import Usage
from extender.wire.label_selector import parse_selector
from extender.wire.nodes import decode_node, has_same_devices
from tests.builders import Json, node
from tests.kinds import ALPHA
from tests.values import held

KINDS: Final = Kinds([NVIDIA, ALPHA])
WORDS: Final = (NVIDIA.type_word, ALPHA.type_word)
SELECTOR: Final = parse_selector("gpu=on")
NAMES: Final = tuple(NodeName(f"n{number}") for number in range(6))
ALPHA_CARD: Final = '[{"id":"A","count":2,"devmem":8000,"devcore":100,"health":true}]'


@st.composite
def shown_nodes(draw: st.DrawFn) -> Json:
    """Draw a node of few shapes, so that two are often the same."""
    builder = node("n").labels(gpu=draw(st.sampled_from(["on", "on", "off"])))
    for number in range(draw(st.integers(0, 2))):
        memory = draw(st.sampled_from([8_000, 16_000]))
        builder = builder.gpu(f"GPU-{number}", memory=memory)
    if draw(st.booleans()):
        builder = builder.cordon("GPU-0")
    slots: int | str | None = draw(st.sampled_from([None, None, 0, 1, "x"]))
    if slots is not None:
        builder = builder.allocatable(slots)
    register = draw(st.sampled_from([None, ALPHA_CARD, "[{"]))
    if register is not None:
        builder = builder.annotations({str(ALPHA.register_annotation): register})
    shown = builder.build()
    alpha_slots = draw(st.sampled_from([None, "2", 2]))
    if alpha_slots is not None:
        shown["status"]["allocatable"][ALPHA.count_resource] = alpha_slots
    shown["metadata"]["resourceVersion"] = draw(st.sampled_from(["1", "2"]))
    return shown


def read(shown: Json, name: NodeName = NAMES[0]) -> Node:
    """Read a node, and name it."""
    return replace(decode_node(shown, KINDS, SELECTOR), name=name)


@given(shown_nodes(), shown_nodes())
def test_same_devices_are_the_same_node(one: Json, other: Json) -> None:
    """But for its lock and version; and nothing that differs is passed over."""
    known, sent = read(one), read(other)
    if has_same_devices(known, other, KINDS, SELECTOR):
        assert replace(sent, version=known.version) == known


def test_same_devices_are_found() -> None:
    """Whatever else of the node has changed since."""
    shown = node("n").gpu("GPU-0").labels(gpu="on").build()
    later = node("n").gpu("GPU-0").labels(gpu="on", more="labels").build()
    later["metadata"]["annotations"]["hami.io/mutex.lock"] = "x"
    assert has_same_devices(read(shown), later, KINDS, SELECTOR)
    for change in (
        node("n").gpu("GPU-0").labels(gpu="off"),
        node("n").gpu("GPU-0").labels(gpu="on").cordon("GPU-0"),
        node("n").gpu("GPU-1").labels(gpu="on"),
        node("n").gpu("GPU-0").labels(gpu="on").allocatable(9),
    ):
        assert not has_same_devices(read(shown), change.build(), KINDS, SELECTOR)


def asking(kind: KindWord) -> PodRequest:
    """Ask for a card of a kind."""
    containers = (ContainerRequest(1, 5_000),)
    return PodRequest(kind, (Lifetime.APP,), containers, kubelet_slots=1)


@given(
    st.lists(shown_nodes(), min_size=6, max_size=6),
    st.lists(st.none() | shown_nodes(), min_size=6, max_size=6),
    st.lists(st.integers(0, 2), min_size=6, max_size=6),
    st.permutations(NAMES),
)
def test_overlay_is_like_a_fleet_of_all(
    known: list[Json],
    sent: list[Json | None],
    holders: list[int],
    asked: list[NodeName],
) -> None:
    """Fits, reasons, scores and cards, with pods in place and pods to come."""
    under, over, all_in_one = Fleet(), Fleet(), Fleet()
    for name, shown, brought, count in zip(NAMES, known, sent, holders, strict=True):
        holdings = [held(name, {"GPU-0": Usage(1, 3_000)}, kubelet=1)] * count
        under.put(read(shown, name), holdings)
        all_in_one.put(read(brought or shown, name), holdings)
        if brought is not None:
            over.put(read(brought, name), holdings)
    brought_names = frozenset(
        name for name, brought in zip(NAMES, sent, strict=True) if brought is not None
    )
    overlaid = OverlaidFleet(over, brought_names, under)
    names = [*asked, NodeName("unknown")]
    coming = [held(name, {"GPU-0": Usage(1, 4_000)}, kubelet=1) for name in NAMES[:3]]
    for words in (WORDS, WORDS[:1], WORDS[1:]):
        requests = [asking(word) for word in words]
        for without, beside in ((None, []), (coming[0], coming[1:])):
            ours = overlaid.answers(names, requests, without, beside)
            theirs = all_in_one.answers(names, requests, without, beside)
            assert np.array_equal(ours.fits, theirs.fits)
            assert np.array_equal(ours.is_hopeless, theirs.is_hopeless)
            assert np.array_equal(ours.reason_bits, theirs.reason_bits)
            assert np.array_equal(ours.scores, theirs.scores)
    for name in names:
        assert overlaid.totals(name) == all_in_one.totals(name)
        assert overlaid.is_overfull(name) == all_in_one.is_overfull(name)
        assert overlaid.has_cards(name) == all_in_one.has_cards(name)
        fleet = over if name in brought_names else under
        assert overlaid.change_of(name) == fleet.change_of(name)
        for word in WORDS:
            ours_of, theirs_of = overlaid.of(word), all_in_one.of(word)
            assert ours_of.why_unusable(name) == theirs_of.why_unusable(name)
            assert (ours_of.node(name) is None) == (theirs_of.node(name) is None)
            assert ours_of.links(name) is None
