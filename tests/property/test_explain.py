"""explain says what filter says, on any small cluster, and changes nothing."""

import asyncio
from dataclasses import dataclass, replace
from itertools import count

import orjson
from hypothesis import event, given
from hypothesis import strategies as st

from extender.core.allocation import Row, Share
from extender.core.container import Lifetime
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName
from extender.core.pod import Pod
from extender.core.pod_request import ANY_DEVICE, PodRequest
from extender.core.pod_status import PodPhase, PodStatus
from extender.core.quota_room import Quota, QuotaDimension, QuotaLimit
from extender.core.reasons import Reason
from extender.core.usage import NOTHING
from extender.embedded.cluster import EmbeddedCluster
from extender.service import Extender
from extender.state.events import NodeSeen, PodSeen, QuotaSeen
from extender.verbs.explanation import Explanation, Outcome
from extender.verbs.filter import FilterDecision
from extender.verbs.missing import missing_text
from extender.wire.extender_v1 import ExtenderArgs
from extender.wire.pods import PodReader
from extender.wire.views import decode_view, encode_view
from tests.oracles import Loaded
from tests.strategies import loaded_nodes, other_requests, pod_requests
from tests.values import GPU, IDLE_APP, N1, N2, N3, NPU, app, init, node, pod, request

KINDS = Kinds((NVIDIA, replace(NVIDIA, type_word=NPU)))
READER = PodReader(KINDS)


@dataclass
class Clock:
    """The clock for waiting."""

    now: float = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


@dataclass
class Drawn:
    """A cluster, and a pod to place."""

    extender: Extender
    pod: Pod


@st.composite
def worlds(draw: st.DrawFn) -> Drawn:
    """Draw up to three nodes, who holds what there, and a pod that waits."""
    clock = Clock()
    extender = Extender(EmbeddedCluster(READER), READER, clock, monotonic=clock)
    uids = count()
    names = [N1, N2, N3][: draw(st.integers(1, 3))]
    for name in names:
        loaded = draw(loaded_nodes(min_devices=1, max_devices=3))
        cards = [card for card, _ in loaded]
        slots = draw(st.sampled_from([30, 30, 30, 30, 2]))
        is_locked = not draw(st.integers(0, 2))
        shown = node(name, *cards, allocatable=slots)
        if is_locked:
            shown = replace(shown, lock=f"2026-01-01T00:00:00Z,default,stuck-{name}")
            status = PodStatus(PodPhase.PENDING)
            stuck = pod(f"stuck-{name}", request(app(1)), on=name, status=status)
            extender.take_in(PodSeen(replace(stuck, is_unserved=True)))
        extender.take_in(NodeSeen(shown))
        for each in holding_pods(draw, name, loaded, uids):
            extender.take_in(PodSeen(each))
    if draw(st.booleans()):
        nominee = pod(f"h{next(uids)}", draw(pod_requests(max_containers=2)))
        nominee = replace(nominee, nominated_node=N1, priority=5)
        extender.take_in(PodSeen(nominee))
    if not draw(st.integers(0, 3)):
        extender.take_in(QuotaSeen(draw(quotas())))
    clock.now = draw(st.sampled_from([0.0, 1_000.0]))
    extender.mark_synced()
    asking = draw(pod_requests(max_containers=3, max_count=draw(st.integers(1, 2))))
    if draw(st.integers(0, 3)):
        asking = replace(asking, selection=ANY_DEVICE)
    wanted: tuple[PodRequest, ...] = (asking,)
    if not draw(st.integers(0, 5)):
        wanted = (asking, draw(other_requests(asking)))
    coming = pod("coming", *wanted)
    extender.take_in(PodSeen(coming))
    return Drawn(extender, coming)


def holding_pods(
    draw: st.DrawFn, name: NodeName, loaded: list[Loaded], uids: "count[int]"
) -> list[Pod]:
    """Let pods hold what was drawn: some of it by an init, which may be over."""
    found = []
    for card, used in loaded:
        if used == NOTHING or card.is_mig:
            continue
        share = Share(card.device_uuid, used.memory_mib, used.core_percent, GPU)
        smaller = replace(share, memory_mib=used.memory_mib // 2)
        rows: tuple[Row, ...] = ((share,), (smaller,))
        lifetimes = request(init(1), init(1)).lifetimes
        assert lifetimes == (Lifetime.INIT, Lifetime.INIT)
        shown = pod(
            f"h{next(uids)}",
            request(init(1), *[draw(st.sampled_from([init(1), IDLE_APP]))]),
            on=name,
            allocation=rows,
            status=PodStatus(PodPhase.RUNNING),
        )
        found.append(shown)
    return found


@st.composite
def quotas(draw: st.DrawFn) -> Quota:
    """Limit memory, or the number of cards."""
    dimension = draw(st.sampled_from([QuotaDimension.MEMORY, QuotaDimension.COUNT]))
    most = {QuotaDimension.MEMORY: 20_000, QuotaDimension.COUNT: 2}[dimension]
    key = f"limits.{dimension}"
    return Quota("default", "q", limits=(QuotaLimit(key, GPU, dimension, "x", most),))


@given(worlds())
def test_explain_is_filter_with_numbers(drawn: Drawn) -> None:
    """Fitting nodes and codes are filter's, numbers add up, and nothing changes."""
    extender = drawn.extender
    names = tuple(sorted(extender.ledger.nodes))
    before = extender.ledger.generation, len(extender._waker._refusals)
    told = asyncio.run(extender.explainer.explain(drawn.pod, names))
    assert (extender.ledger.generation, len(extender._waker._refusals)) == before
    assert told.is_of_one_moment
    assert decode_view(Explanation, orjson.loads(encode_view(told))) == told
    decision = extender.filter(ExtenderArgs(drawn.pod, names, None))
    event(str(told.outcome))
    if not drawn.pod.asks_for_devices:
        assert told.outcome is Outcome.NO_DEVICES
        return
    check_nodes(told, decision)
    check_codes(told)
    check_numbers(told)
    check_place(told, decision, drawn)
    check_missing(told, drawn, names)
    assert (told.cause is None) is (told.outcome is Outcome.FITS)
    event(f"cause: {told.cause and told.cause.kind}")


def check_nodes(told: Explanation, decision: FilterDecision) -> None:
    """Compare which nodes fit, and the texts of the others, word for word."""
    assert list(told.fitting) == decision.fitting
    for is_unresolvable, texts in (
        (False, decision.failed),
        (True, decision.unresolvable),
    ):
        assert texts == {
            name: group.text
            for group in told.groups
            for name in group.nodes
            if group.is_unresolvable is is_unresolvable
        }
    for view in told.nodes:
        assert view.fits == (view.node in decision.fitting)
        assert view.is_unresolvable == (view.node in decision.unresolvable)


def check_codes(told: Explanation) -> None:
    """Compare the codes of the details with those of the answer."""
    for group in told.groups:
        event(group.text)
        assert group.text == ", ".join(sorted(each.value for each in group.reasons))
    for view in told.nodes:
        codes = {each.reason for each in view.findings}
        if Reason.SEARCH_EXHAUSTED not in view.reasons:
            assert codes == set(view.reasons)
            assert view.note == ""


def check_numbers(told: Explanation) -> None:
    """What is free, and what each pod holds, is all that the card has."""
    for card in (card for view in told.nodes for card in view.cards):
        held = sum((holder.held for holder in card.holders), NOTHING)
        assert card.free + held == card.capacity
        for holder in card.holders:
            amounts = [each.amount for each in holder.returns]
            assert sum(amounts, NOTHING) == holder.held
            assert not any(NOTHING.exceeds(each) for each in amounts)


def check_missing(told: Explanation, drawn: Drawn, names: tuple[NodeName, ...]) -> None:
    """What its Event tells is the same, and names no node, card or pod."""
    explainer = drawn.extender.explainer
    before = drawn.extender.ledger.generation
    missing = asyncio.run(explainer.missing(drawn.pod, names))
    assert drawn.extender.ledger.generation == before
    if told.outcome is Outcome.FITS:
        assert missing is None
        return
    assert missing is not None
    assert (missing.quota, missing.nearest) == (told.quota, told.nearest)
    text = missing_text(missing)
    event(text.partition(" if ")[0])
    assert bool(text) is bool(told.quota or told.nearest)
    cards = [card.device_uuid for view in told.nodes for card in view.cards]
    assert not {*names, *cards, "coming"}.intersection(text.split())


def check_place(told: Explanation, decision: FilterDecision, drawn: Drawn) -> None:
    """It is the best by prioritize, with its score; only where some node fits."""
    assert (told.place is not None) == bool(decision.fitting)
    if told.place is None:
        return
    assert told.nearest is None
    args = ExtenderArgs(drawn.pod, tuple(decision.fitting), None)
    scores = drawn.extender.prioritize(args).tolist()
    by_node = dict(zip(decision.fitting, scores, strict=True))
    assert told.place.score == by_node[told.place.node] == max(scores)
    assert {each.node: each.score for each in told.place.ranking} == by_node
    wanted = sum(each.count for one in drawn.pod.asking for each in one.containers)
    assert len(told.place.shares) == wanted
