"""A request that brings nodes is judged as if all of them were new to us."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.kinds import NVIDIA
from extender.core.model import (
    ContainerRequest,
    DeviceUUID,
    Lifetime,
    NodeName,
    PodRequest,
    Usage,
)
from extender.core.overlaid_fleet import OverlaidFleet
from extender.wire.label_selector import parse_selector
from extender.wire.nodes import decode_node, has_same_cards
from tests.builders import Json, node

SELECTOR = parse_selector("gpu=on")

CARD = DeviceUUID("GPU-0")
NAMES = tuple(NodeName(f"n{number}") for number in range(6))


@st.composite
def shown_nodes(draw: st.DrawFn, name: str = "n") -> Json:
    """Draw a node of few shapes, so that two are often the same."""
    builder = node(name).labels(gpu=draw(st.sampled_from(["on", "off"])))
    for number in range(draw(st.integers(0, 2))):
        memory = draw(st.sampled_from([8_000, 16_000]))
        builder = builder.gpu(f"GPU-{number}", memory=memory)
    if draw(st.booleans()):
        builder = builder.cordon("GPU-0")
    slots: int | str | None = draw(st.sampled_from([None, 0, 1, "x"]))
    if slots is not None:
        builder = builder.allocatable(slots)
    shown = builder.build()
    shown["metadata"]["resourceVersion"] = draw(st.sampled_from(["1", "2"]))
    return shown


@given(shown_nodes(), shown_nodes())
def test_same_cards_are_the_same_node(one: Json, other: Json) -> None:
    """But for its name, lock and version; and nothing that differs is passed over."""
    known, sent = (decode_node(each, NVIDIA, SELECTOR) for each in (one, other))
    if has_same_cards(known, other, NVIDIA, SELECTOR):
        assert replace(sent, version=known.version) == known


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
    request = PodRequest(
        (Lifetime.APP,), (ContainerRequest(1, 5_000),), kubelet_slots=1
    )
    under, over, all_in_one = Fleet(), Fleet(), Fleet()
    coming = [Holding(name, {CARD: Usage(1, 4_000)}, 1) for name in NAMES[:3]]
    for name, shown, brought, count in zip(NAMES, known, sent, holders, strict=True):
        held = [Holding(name, {CARD: Usage(1, 3_000)}, 1)] * count
        as_known = replace(decode_node(shown, NVIDIA, SELECTOR), name=name)
        under.put(as_known, held)
        if brought is None:
            all_in_one.put(as_known, held)
        else:
            as_sent = replace(decode_node(brought, NVIDIA, SELECTOR), name=name)
            over.put(as_sent, held)
            all_in_one.put(as_sent, held)
    overlaid = OverlaidFleet(over, under)
    names = [*asked, NodeName("unknown")]
    for without, beside in ((None, []), (coming[0], coming[1:])):
        ours = overlaid.answers(names, request, without, beside)
        theirs = all_in_one.answers(names, request, without, beside)
        assert np.array_equal(ours.fits, theirs.fits)
        assert np.array_equal(ours.is_hopeless, theirs.is_hopeless)
        assert np.array_equal(ours.reason_bits, theirs.reason_bits)
        assert np.array_equal(ours.scores, theirs.scores)
    for name in names:
        assert overlaid.totals(name) == all_in_one.totals(name)
        assert overlaid.why_unusable(name) == all_in_one.why_unusable(name)
        assert overlaid.is_overfull(name) == all_in_one.is_overfull(name)
        assert (overlaid.node(name) is None) == (all_in_one.node(name) is None)
        assert (name in overlaid) == (name in all_in_one)
        assert (overlaid.links(name) is None) == (all_in_one.links(name) is None)
        assert (overlaid.change_of(name) is None) == (
            all_in_one.change_of(name) is None
        )
