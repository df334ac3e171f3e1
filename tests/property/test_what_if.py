"""what-if counts what placing one by one comes to, and changes nothing."""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from extender.core.names import NodeName
from extender.core.usage import NOTHING, Usage
from extender.embedded.scheduler import PlacedPod, schedule_pod
from extender.runtime import EmbeddedExtender, embed
from extender.service import Extender
from extender.settings import Settings
from extender.state.audit import audit
from extender.verbs.inspection import ClusterInspection
from extender.verbs.supposition import AddedNodes, Ended, Supposition, WhatIf
from tests.builders import Json, NodeBuilder, PodBuilder, node, pod, resource_quota

MODELS = {"A": 8_000, "B": 16_000, "C": 10_007}
MEMORY = (2_000, 5_000, 8_000, 12_000)
CORES = (0, 0, 0, 25, 60, 100)
HELD = "uid-held"


@dataclass
class Drawn:
    """A cluster as objects, and the pod whose replicas are placed."""

    shown: list[NodeBuilder | PodBuilder | Json]
    pod: PodBuilder

    def start(self) -> EmbeddedExtender:
        """Read it anew; everything that was placed is gone."""
        items = [
            each if isinstance(each, dict) else each.build() for each in self.shown
        ]
        with TemporaryDirectory() as scratch:
            file = Path(scratch) / "cluster.json"
            file.write_text(json.dumps({"kind": "List", "items": items}))
            return embed([file], Settings())


def replicas_of(drawn: PodBuilder, number: int) -> Json:
    """Give the pod another name."""
    return replace(
        drawn, name=f"{drawn.name}-{number}", pod_uid=f"uid-{number}"
    ).build()


@st.composite
def nodes(draw: st.DrawFn, name: str) -> tuple[NodeBuilder, list[PodBuilder]]:
    """Draw cards of one model, and who holds some of them."""
    model = draw(st.sampled_from(sorted(MODELS)))
    found, pods = node(name), []
    count = draw(st.integers(1, 3))
    for at in range(count):
        uuid, memory = f"GPU-{name}-{at}", MODELS[model]
        found = found.gpu(
            uuid,
            memory=memory,
            count=draw(st.integers(1, 4)),
            model=model,
            health=draw(st.integers(0, 7)) > 0,
        )
        if draw(st.booleans()):
            held = draw(st.sampled_from([1_000, memory // 2, memory]))
            cores = draw(st.sampled_from(CORES))
            pods.append(
                pod(f"held-{name}-{at}")
                .app("a", gpu=1, gpumem=held, cores=cores)
                .holding(f"{uuid},NVIDIA,{held},{cores}:;")
                .on(name)
                .phase("Running")
            )
    if not draw(st.integers(0, 3)):
        found = found.allocatable(draw(st.integers(1, 3)))
    if not draw(st.integers(0, 5)):
        found = found.cordon(f"GPU-{name}-0")
    return found, pods


@st.composite
def wanted(draw: st.DrawFn, *, percent: bool) -> PodBuilder:
    """Draw a pod of one to three containers."""
    found = pod("new")
    for number in range(draw(st.integers(0, 2))):
        add = found.init if draw(st.booleans()) else found.sidecar
        found = add(f"i{number}", gpu=1, gpumem=draw(st.sampled_from(MEMORY)))
    count = draw(st.sampled_from([1, 1, 1, 2]))
    cores = draw(st.sampled_from(CORES))
    if percent and draw(st.booleans()):
        share = draw(st.sampled_from([30, 50, 100]))
        found = found.app("a", gpu=count, percentage=share, cores=cores)
    else:
        memory = draw(st.sampled_from(MEMORY))
        found = found.app("a", gpu=count, gpumem=memory, cores=cores)
    policy = draw(st.sampled_from([None, "binpack", "spread"]))
    if policy is not None:
        found = found.annotations(
            {
                "hami.io/node-scheduler-policy": policy,
                "hami.io/gpu-scheduler-policy": policy,
            }
        )
    return found


@st.composite
def worlds(draw: st.DrawFn, *, may_limit: bool = True) -> Drawn:
    """Draw up to three nodes, and maybe a quota."""
    shown: list[NodeBuilder | PodBuilder | Json] = []
    for number in range(draw(st.integers(1, 3))):
        there, pods = draw(nodes(f"n{number}"))
        shown += [there, *pods]
    is_limited = may_limit and not draw(st.integers(0, 2))
    if is_limited:
        hard = draw(
            st.sampled_from(
                [
                    {"limits.nvidia.com/gpumem": 30_000},
                    {"limits.nvidia.com/gpu": 4},
                    {"limits.nvidia.com/gpucores": 130},
                ]
            )
        )
        shown.append(resource_quota("q", hard=hard))
    return Drawn(shown, draw(wanted(percent=not is_limited)))


def asked(
    extender: Extender, wanted_pod: PodBuilder, supposed: Supposition | None = None
) -> WhatIf:
    """Ask, and see that nothing has changed."""
    ledger = extender.ledger
    before = state_of(extender)
    told = asyncio.run(
        extender.planner.what_if(
            extender.reader.read(wanted_pod.build()), supposed or Supposition()
        )
    )
    assert state_of(extender) == before
    assert audit(ledger) == []
    return told


def state_of(extender: Extender) -> object:
    """Give all by which anything is decided."""
    ledger = extender.ledger
    return (
        ledger.generation,
        {name: ledger.fleet.totals(name) for name in ledger.nodes},
        {name: list(ledger.holdings_on(name)) for name in ledger.nodes},
        json.dumps([repr(each) for each in ledger.quotas.sums.items()]),
        dict(ledger.pods),
        ledger.fleet.searches.steps,
    )


async def placed_one_by_one(
    world: EmbeddedExtender, drawn: PodBuilder
) -> list[NodeName]:
    """Schedule replicas as the command schedule does, until one is refused."""
    found: list[NodeName] = []
    while True:
        obj = replicas_of(drawn, len(found))
        outcome = await schedule_pod(world.extender, world.cluster, obj)
        if not isinstance(outcome, PlacedPod):
            return found
        found.append(outcome.node_name)


@given(worlds(), st.integers(1, 4))
@settings(max_examples=25)
def test_count_is_that_of_placing_one_by_one(drawn: Drawn, few: int) -> None:
    """As many, on the same nodes; also the first few of them."""
    world = drawn.start()
    told = asked(world.extender, drawn.pod)
    first = asked(world.extender, drawn.pod, Supposition(few))
    event(told.ended)
    placed = asyncio.run(placed_one_by_one(world, drawn.pod))
    for answer, nodes_of in ((told, placed), (first, placed[:few])):
        assert {each.node: each.pods for each in answer.nodes} == Counter(nodes_of)
        assert answer.fits == len(nodes_of)
    assert told.ended in (Ended.LIMIT, Ended.QUOTA)
    assert told.limits or told.quota


@given(worlds(), st.integers(1, 6))
@settings(max_examples=25)
def test_so_many_nodes_are_needed(drawn: Drawn, more: int) -> None:
    """With them all fit, with one less not; where none would do, ten do not."""
    extender = drawn.start().extender
    fits = asked(extender, drawn.pod).fits
    told = asked(extender, drawn.pod, Supposition(fits + more))
    assert told.fits == fits
    for each in told.needed:
        event("none" if each.nodes is None else "some")
        if each.nodes is None:
            added = Supposition(fits + more, (AddedNodes(each.type, 10),))
            assert asked(extender, drawn.pod, added).fits < fits + more
            continue
        for nodes_added, is_enough in ((each.nodes, True), (each.nodes - 1, False)):
            added = Supposition(fits + more, (AddedNodes(each.type, nodes_added),))
            outcome = asked(extender, drawn.pod, added)
            assert (outcome.fits == fits + more) is is_enough


@given(worlds(), st.data())
@settings(max_examples=20)
def test_without_pods_is_as_if_they_had_ended(
    drawn: Drawn, data: st.DataObject
) -> None:
    """Cards and quotas are free of them."""
    held = [each for each in drawn.shown if isinstance(each, PodBuilder)]
    gone = data.draw(st.lists(st.sampled_from(held), unique_by=id)) if held else []
    names = tuple(f"{each.namespace}/{each.name}" for each in gone)
    told = asked(drawn.start().extender, drawn.pod, Supposition(without=names))
    ended = [each for each in drawn.shown if not any(each is one for one in gone)]
    rest = asked(Drawn(ended, drawn.pod).start().extender, drawn.pod)
    assert (told.fits, told.nodes) == (rest.fits, rest.nodes)


@given(worlds(may_limit=False))
@settings(max_examples=20)
def test_inspect_adds_up(drawn: Drawn) -> None:
    """Holders make the charge, cards the model, and shapes are what would fit."""
    extender = drawn.start().extender
    told = asyncio.run(extender.inspector.inspect_cluster())
    check_sums(told, extender)
    for percent in (100, 50, 25, 10):
        count = sum(
            shape.count
            for model in told.models
            for shape in model.shapes
            if shape.percent == percent
        )
        sharing = pod("new").app("a", gpu=1, percentage=percent)
        assert count == asked(extender, sharing).fits


def check_sums(told: ClusterInspection, extender: Extender) -> None:
    """Compare each level with the one below, and cards with the arrays."""
    cards = [card for each in told.in_full for card in each.cards]
    for each in told.in_full:
        totals = extender.ledger.fleet.totals(each.summary.node)
        used = totals["NVIDIA"].used
        assert {card.device_uuid: card.charged for card in each.cards} == used
    for card in cards:
        held = [holder.held for holder in card.holders]
        assert sum(held, NOTHING) == card.charged
    for model in told.models:
        of_model = [card for card in cards if card.model == model.model]
        charged = [card.charged for card in of_model]
        assert sum(charged, Usage()) == model.charged
        free = sum(card.free_mib for card in of_model)
        assert free == model.free_mib + model.stranded_mib


def test_pods_that_are_gone_must_be_known() -> None:
    """A slip of the pen would give another answer than was asked for."""
    drawn = Drawn([node("n1").gpu("GPU-a")], pod("p").app("a", gpu=1))
    extender = drawn.start().extender
    with pytest.raises(Exception, match="pod default/other is not known"):
        asked(extender, drawn.pod, Supposition(without=("default/other",)))


def test_time_ends_a_question() -> None:
    """What was placed until then is told."""
    drawn = Drawn(
        [node("n1").gpu("GPU-a", count=9)], pod("p").app("a", gpu=1, gpumem=1)
    )
    extender = drawn.start().extender
    clock = iter(range(100))
    extender.planner._monotonic = lambda: float(next(clock))
    extender.planner._most_seconds = 4.5
    told = asked(extender, drawn.pod)
    assert (told.fits, told.ended) == (4, Ended.TIME)
