"""A snapshot decides elsewhere what was decided here, also under other names."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, NewType, get_args, get_origin, get_type_hints

import orjson
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from extender.core.container import Lifetime
from extender.core.names import PodUID
from extender.errors import ExtenderError, MalformedBody
from extender.service.snapshots import replay, restored
from extender.state.audit import audit
from extender.state.events import PodSeen, Reserved
from extender.verbs.snapshot.anonymous import RULES, anonymous
from extender.verbs.snapshot.saved import Snapshot
from extender.wire.extender_v1 import ExtenderArgs
from extender.wire.snapshots import decode_snapshot, encode_snapshot, packed
from tests.property.test_explain import Drawn, worlds


def taken(drawn: Drawn) -> Snapshot:
    """Take a snapshot, after some of it was edited, and a place reserved."""
    ledger = drawn.extender.ledger
    for known in list(ledger.pods.values()):
        rows = known.allocation
        if not isinstance(rows, tuple) or not rows or not rows[0]:
            continue
        less = replace(rows[0][0], memory_mib=rows[0][0].memory_mib // 2)
        edited = replace(known, allocation=((less,), *rows[1:]))
        drawn.extender.take_in(PodSeen(edited))
        if known.node_name is not None:
            coming = replace(known, uid=PodUID("late"), name="late", node_name=None)
            event("something is reserved")
            drawn.extender.ledger.apply(Reserved(coming, known.node_name, rows))
        break
    return drawn.extender.snapshots.take(drawn.pod)


@given(worlds())
def test_decision_is_that_of_the_verbs(drawn: Drawn) -> None:
    """Filter's and prioritize's own answers, node by node."""
    snapshot = taken(drawn)
    names = snapshot.head.node_names
    decision = snapshot.head.decision
    answer = drawn.extender.filter(ExtenderArgs(drawn.pod, names, None))
    assert list(decision.scores) == answer.fitting
    assert decision.failed == answer.failed
    assert decision.unresolvable == answer.unresolvable
    if answer.fitting:
        scores = drawn.extender.prioritize(
            ExtenderArgs(drawn.pod, tuple(answer.fitting), None)
        )
        assert list(decision.scores.values()) == scores.tolist()
        assert decision.chosen in answer.fitting


@given(worlds(), st.booleans())
def test_file_decides_the_same(drawn: Drawn, is_packed: bool) -> None:  # noqa: FBT001
    """Value by value what was saved, on totals that add up."""
    snapshot = taken(drawn)
    content = encode_snapshot(snapshot)
    read = decode_snapshot(packed(content) if is_packed else content)
    assert read == snapshot
    assert replay(read).differences == ()
    ledger = restored(read)
    assert audit(ledger) == []
    for uid in ledger.pods:
        assert ledger.holding(uid) == drawn.extender.ledger.holding(uid)
    event("fits" if snapshot.head.decision.chosen else "fits nowhere")


@given(worlds())
def test_anonymous_decides_the_same(drawn: Drawn) -> None:
    """On the node at the same place in the order, and no name of before is there."""
    snapshot = taken(drawn)
    hidden = anonymous(snapshot)
    assert replay(hidden).differences == ()
    assert replay(decode_snapshot(encode_snapshot(hidden))).differences == ()
    before, after = snapshot.head.decision, hidden.head.decision
    assert list(before.scores.values()) == list(after.scores.values())
    ordered = [sorted(each.head.node_names) for each in (snapshot, hidden)]
    new_name = dict(zip(*ordered, strict=True))
    assert after.chosen == (new_name[before.chosen] if before.chosen else None)
    words = {each.value for each in Lifetime}
    names = {str(each) for each in _names_of(snapshot)} - words
    left = names.intersection(_texts(orjson.loads(encode_snapshot(hidden))))
    assert left == set()


def _names_of(snapshot: Snapshot) -> Iterator[object]:
    for node in snapshot.nodes:
        yield node.name
        yield from (device.device_uuid for device in node.devices)
    for saved in snapshot.pods:
        pod = saved.pod
        yield from (pod.uid, pod.name, pod.namespace)
        yield from (container.name for container in pod.containers)


def _texts(value: object) -> Iterator[str]:
    """List every text of a JSON value, keys too."""
    match value:
        case str():
            yield value
        case dict():
            yield from value
            for each in value.values():
                yield from _texts(each)
        case list():
            for each in value:
                yield from _texts(each)
        case _:
            pass


def test_every_text_has_its_rule() -> None:
    """One that is added cannot be written under another's name, or leak."""
    assert _text_fields(Snapshot, ()) <= RULES.keys()


def _text_fields(
    of: Any,  # noqa: ANN401 - types are values
    seen: tuple[Any, ...],
    place: tuple[Any, str] = (None, ""),
) -> set[tuple[Any, str]]:
    if isinstance(of, NewType):
        return set()
    origin = get_origin(of)
    if origin is not None:
        parts = [each for each in get_args(of) if each is not Ellipsis]
        return set().union(*(_text_fields(each, seen, place) for each in parts))
    if of is str:
        return {place}
    if not is_dataclass(of) or of in seen:
        return set()
    hints = get_type_hints(of)
    return set().union(
        *(
            _text_fields(hints[each.name], (*seen, of), (of, each.name))
            for each in fields(of)
        )
    )


ODD: tuple[object, ...] = (
    None,
    -1,
    0,
    7,
    "",
    "x",
    [],
    {},
    [[]],
    1.5,
    True,
    2**31,
    2**62,
    -(2**40),
)


@given(worlds(), st.data())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_damaged_file_is_named_or_decides(drawn: Drawn, data: st.DataObject) -> None:
    """Whatever some values become: an error of ours that names one, and no other."""
    read = orjson.loads(encode_snapshot(taken(drawn)))
    for _ in range(data.draw(st.integers(1, 3))):
        places = list(_places(read))
        # Numbers first of all: most of the rest is refused by its type.
        numbers = [each for each in places if type(each[0][each[1]]) is int]
        parent, key = data.draw(st.sampled_from(numbers) | st.sampled_from(places))
        others = [place[key] for place, key in places]
        put = data.draw(st.sampled_from(ODD) | st.sampled_from(others))
        parent[key] = orjson.loads(orjson.dumps(put))
    try:
        snapshot = decode_snapshot(orjson.dumps(read))
    except MalformedBody as error:
        event("refused")
        problem: str | None = error.field
    else:
        told = replay(snapshot, is_traced=True)
        event("decided the same" if not told.differences else "decided otherwise")
        problem = None
    assert problem != ""


def _places(value: object) -> Iterator[tuple[Any, Any]]:
    items: Iterator[tuple[Any, object]] = iter(())
    if isinstance(value, dict):
        items = iter(value.items())
    elif isinstance(value, list):
        items = iter(enumerate(value))
    for key, each in items:
        yield value, key
        yield from _places(each)


@pytest.mark.parametrize("cut", [1, 10, 100, 1_000])
def test_cut_file_is_refused(cut: int) -> None:
    """Packed or not."""
    content = b'{"snapshot":{"format":1},"nodes":[],"pods":[],"quotas":[]}'
    for whole in (content, packed(content)):
        with pytest.raises(ExtenderError):
            decode_snapshot(whole[:-cut])
