"""What is written for the wire reads back, whatever it is."""

import json
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final

import numpy as np
import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from extender.core.allocation import Allocation, Share, UnreadableAllocation
from extender.core.claims import ResourceClaim
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import MAX_INT32, DeviceUUID, NodeName, PodUID
from extender.core.node import Device
from extender.core.requests import container_request
from extender.core.usage import Usage
from extender.errors import WireError
from extender.wire.allocation import (
    allocation_annotations,
    decode_rows,
    encode_allocation,
    read_allocation,
    served_rows,
)
from extender.wire.extender_v1 import (
    BindingArgs,
    ExtenderArgs,
    decode_binding_args,
    decode_extender_args,
    encode_filter_result,
    encode_host_priorities,
)
from extender.wire.node_lists import NodeLists
from extender.wire.pods import PodReader
from extender.wire.quantity import parse_whole
from extender.wire.register import decode_inventory
from tests import kinds
from tests.builders import PodBuilder, pod

FIELD: Final = "field"
READER: Final = PodReader(Kinds([NVIDIA]))

POD: Final = pod("p").app("a", gpu=1).build()

numbers = st.integers(0, MAX_INT32)
uuids = (
    st.text(st.characters(exclude_characters=",:;", exclude_categories=["Cs"]))
    .map(str.strip)
    .filter(bool)
    .map(DeviceUUID)
)
shares = st.builds(Share, uuids, st.integers(1, MAX_INT32), numbers, st.just("NVIDIA"))
allocations: st.SearchStrategy[Allocation] = st.lists(
    st.lists(shares, max_size=3).map(tuple), max_size=5
).map(tuple)


@given(allocations)
def test_allocation_reads_back(allocation: Allocation) -> None:
    """decode(encode(x)) == x, also through the tolerant reader."""
    text = encode_allocation(allocation, NVIDIA)
    counts = [len(row) for row in allocation]
    assert decode_rows(text, FIELD, NVIDIA) == allocation
    assert read_allocation(text, counts, NVIDIA) == allocation
    assert decode_rows(served_rows(text), FIELD, NVIDIA) == ((),) * len(allocation)


@st.composite
def held_of_two_kinds(draw: st.DrawFn) -> tuple[PodBuilder, Allocation]:
    """Draw a pod's containers, and rows of two kinds for each of them."""
    made = pod("p").on("n1")
    roles = draw(st.lists(st.sampled_from(["init", "sidecar"]), max_size=3))
    app_count = draw(st.integers(1, 3))
    for number, role in enumerate([*roles, *["app"] * app_count]):
        match role:
            case "init":
                made = made.init(f"c{number}")
            case "sidecar":
                made = made.sidecar(f"c{number}")
            case _:
                made = made.app(f"c{number}")
    rows = tuple(
        tuple(
            replace(share, kind=kind.type_word)
            for kind in kinds.KINDS
            for share in draw(st.lists(shares, max_size=2))
        )
        for _ in range(len(roles) + app_count)
    )
    return made, rows


@given(held_of_two_kinds())
def test_rows_of_two_kinds_read_back(drawn: tuple[PodBuilder, Allocation]) -> None:
    """Each kind's in an annotation of its own, with a row for every container."""
    made, allocation = drawn
    counts = [Counter(share.kind for share in row) for row in allocation]
    asks = {
        f"c{number}": kinds.Asks(alpha=of_kind["Alpha"], beta=of_kind["Beta"])
        for number, of_kind in enumerate(counts)
    }
    held = {kind for of_kind in counts for kind in of_kind}
    written = allocation_annotations(
        [kind for kind in kinds.KINDS if kind.type_word in held],
        NodeName("n1"),
        allocation,
        7,
    )
    read = kinds.READER.read(kinds.pod_of(made.annotations(written), asks))
    assert read.allocation == (allocation if held else None)
    for kind in kinds.KINDS:
        text = encode_allocation(allocation, kind)
        assert decode_rows(text, FIELD, kind) == tuple(
            tuple(share for share in row if share.kind == kind.type_word)
            for row in allocation
        )


@given(allocations)
def test_allocation_without_its_empty_rows_reads_back(allocation: Allocation) -> None:
    """What v2.10 of HAMi drops can be told from the pod."""
    text = encode_allocation(tuple(row for row in allocation if row), NVIDIA)
    counts = [len(row) for row in allocation]
    assert read_allocation(text, counts, NVIDIA) == allocation


@given(allocations, st.integers(0), st.sampled_from(["x", "-1", "2147483648", ""]))
def test_no_usage_is_lost(allocation: Allocation, place: int, bad: str) -> None:
    """One number that cannot be read quarantines every card of the pod."""
    held = [share.device_uuid for row in allocation for share in row]
    if not held:
        return
    pieces = encode_allocation(allocation, NVIDIA).split(",")
    memories = range(2, len(pieces), 3)  # a share's last field is in the next piece
    pieces[memories[place % len(memories)]] = bad
    counts = [len(row) for row in allocation]
    read = read_allocation(",".join(pieces), counts, NVIDIA)
    assert isinstance(read, UnreadableAllocation)
    assert set(read.named) == set(held)


devices = st.builds(
    Device,
    device_uuid=uuids,
    index=numbers,
    capacity=st.builds(Usage, numbers, numbers, numbers),
    model=st.text(st.characters(exclude_categories=["Cs"])),
    is_healthy=st.booleans(),
    is_cordoned=st.booleans(),
    mode=st.text(st.characters(exclude_categories=["Cs"])),
)


@given(st.lists(devices, unique_by=lambda device: device.device_uuid))
def test_inventory_reads_back(cards: list[Device]) -> None:
    """Cards registered as the plugin does, zeros left out, come in their order."""
    cordoned = frozenset(card.device_uuid for card in cards if card.is_cordoned)
    expected = sorted(cards, key=lambda card: (card.index, card.device_uuid))
    text = json.dumps([registered(card) for card in cards])
    assert decode_inventory(text, FIELD, cordoned) == tuple(expected)


def registered(card: Device) -> dict[str, object]:
    """Write a card as HAMi v2.10 does."""
    element: dict[str, object] = {
        "id": card.device_uuid,
        "index": card.index,
        "count": card.capacity.slots,
        "devmem": card.capacity.memory_mib,
        "devcore": card.capacity.core_percent,
        "type": card.model,
        "mode": card.mode,
        "health": card.is_healthy,
    }
    return {key: value for key, value in element.items() if value}


@given(
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 10**15),
    st.sampled_from(["", "k", "M", "G", "Ki", "Mi", "Gi", "e0", "e3", "E2"]),
)
def test_whole_quantity_is_exact(sign: str, number: int, suffix: str) -> None:
    """No float stands between the text and the number."""
    factors = {
        "": 1,
        "k": 10**3,
        "M": 10**6,
        "G": 10**9,
        "Ki": 2**10,
        "Mi": 2**20,
        "Gi": 2**30,
        "e0": 1,
        "e3": 10**3,
        "E2": 10**2,
    }
    whole = number * factors[suffix]
    if suffix.endswith("i"):
        whole = min(whole, 2**63 - 1)
    expected = -whole if sign == "-" else whole
    assert parse_whole(f"{sign}{number}{suffix}", FIELD) == expected
    assert parse_whole(expected, FIELD) == expected


@given(st.none() | st.integers(), st.none() | st.integers(), st.none() | st.integers())
def test_accepted_claim_is_in_range(
    memory: int | None, percentage: int | None, cores: int | None
) -> None:
    """What passes can be written into an annotation that HAMi reads."""
    kind = replace(NVIDIA, memory_factor=1000)
    with suppress(WireError):
        asked = container_request(
            ResourceClaim(1, memory, percentage, cores), kind, "a"
        )
        assert asked.memory_mib is None or 0 < asked.memory_mib <= MAX_INT32
        assert 0 <= asked.memory_percent <= 100
        assert (asked.memory_mib is None) == (asked.memory_percent > 0)
        assert 0 <= asked.core_percent <= 100


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(names, names, names, names)
def test_binding_args_read_back(name: str, space: str, uid: str, target: str) -> None:
    """Any names that JSON can hold."""
    args = {"PodName": name, "PodNamespace": space, "PodUID": uid, "Node": target}
    expected = BindingArgs(name, space, PodUID(uid), NodeName(target))
    assert decode_binding_args(orjson.dumps(args)) == expected


@given(st.lists(names), st.dictionaries(names, st.text(st.characters(codec="utf-8"))))
def test_candidates_and_answer_read_back(
    candidates: list[str], reasons: dict[str, str]
) -> None:
    """Names arrive once each, in order, and leave as they came."""
    body = orjson.dumps({"Pod": POD, "Nodes": None, "NodeNames": candidates})
    args = decode_extender_args(body, READER)
    assert args.node_names == tuple(dict.fromkeys(candidates))
    failed = {NodeName(name): text for name, text in reasons.items()}
    written = json.loads(
        encode_filter_result(node_names=args.node_names, failed=failed)
    )
    assert written == {
        "Nodes": None,
        "NodeNames": list(args.candidates),
        "FailedNodes": reasons,
        "FailedAndUnresolvableNodes": None,
        "Error": "",
    }


TAILS = (
    b'"NodeNames":["n1","n2","n1"]}',
    b'"NodeNames":["n1","n2"] }',
    b'"NodeNames":["n1"],"NodeNames":["n2"]}',
    b'"NodeNames":["n1",2]}',
    b'"NodeNames":["n1",""]}',
    b'"NodeNames":["n1"}',
    b'"NodeNames":[["n1"]]}',
    b'"NodeNames":[]}',
    b'"NodeNames":null}',
    b'"Nodes":{"items":[],"NodeNames":["n1"]}}',
    b'"X":"\\"NodeNames\\":[","Y":["n1"]}',
    b'"X":{"NodeNames":["n1"]}',
    b'"NodeNames":["\\"NodeNames\\":[n1]"]}',
    b'"NodeNames":["a\\\\","b"]}',
    b'"x\\"NodeNames":["n1"]}',
    b'"NodeNames":null,"x\\"NodeNames":["n1"]}',
    b'"x\\\\"NodeNames":["n1"]}',
    b'"X":",\\"NodeNames":["n1"]}',
    b'"X":"{\\"NodeNames\\":[","{\\"NodeNames":["n1"]}',
    b'"NodeNames":["n1"],",\\"NodeNames":["n2"]}',
    b'"NodeNames":["n1"],"\\u004eodeNames":["n2"]}',
    b'"\\u004eodeNames":["n1"],"NodeNames":["n2"]}',
    b'"X":1 , "NodeNames":["n1"]}',
)
"""How a body may end."""


HEADS = tuple(
    b'{"Pod":' + orjson.dumps(POD) + b',"Nodes":' + nodes + b","
    for nodes in (b"null", b'{"items":[{"metadata":{"name":"n0"}}]}')
)
"""How a body may begin."""


@given(st.sampled_from(HEADS), st.sampled_from(TAILS), st.sampled_from(TAILS))
def test_body_is_read_the_same_when_its_list_is_cut_out(
    head: bytes, one: bytes, two: bytes
) -> None:
    """The same arguments or the same error; the second time from memory."""
    assert_read_the_same(head, (one, two, one, two))


pieces = st.sampled_from(
    [*'",:{}[]\\ n', '"NodeNames"', "NodeNames", '"NodeNames":["n1"]}', '["n1"]']
)
"""What has a meaning in JSON, and what a list of names is found by."""

texts = st.lists(pieces, max_size=4).map("".join)
keys = texts | st.tuples(texts, st.just("NodeNames")).map("".join)


def written(members: Iterable[tuple[str, object]]) -> str:
    """Write the rest of an object, in which a key may come more than once."""
    pairs = (f"{json.dumps(key)}:{_compact(value)}" for key, value in members)
    return ",".join(pairs) + "}"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


members = st.tuples(keys, st.none() | texts | st.lists(texts, max_size=2))
last_members = st.tuples(keys, st.lists(texts, min_size=1, max_size=2))
tails = st.builds(
    lambda before, last: written([*before, last]),
    st.lists(members, max_size=2),
    last_members,
) | texts.map(lambda text: f'"X":"{text}NodeNames":["n1"]}}')
"""Ends of bodies, of which the second kind may be no JSON."""


@given(st.sampled_from(HEADS), st.lists(tails, min_size=1, max_size=3))
def test_any_keys_and_texts_are_read_the_same_when_a_list_is_cut_out(
    head: bytes, ends: list[str]
) -> None:
    """Also where quotes and backslashes make a part of a text look like the key."""
    assert_read_the_same(head, [each.encode() for each in (*ends, *ends)])


def assert_read_the_same(head: bytes, ends: Iterable[bytes]) -> None:
    """Read bodies with and without memory, and compare."""
    lists = NodeLists()
    for end in ends:
        assert read_or_told(head + end, lists) == read_or_told(head + end, None)


def read_or_told(body: bytes, lists: NodeLists | None) -> ExtenderArgs | str:
    """Read a body, or tell why it cannot be."""
    try:
        return decode_extender_args(body, READER, lists)
    except WireError as error:
        return str(error)


def test_same_list_is_the_same_tuple() -> None:
    """So that its names are looked up once."""
    lists = NodeLists()
    body = orjson.dumps({"Pod": POD, "Nodes": None, "NodeNames": ["n1", "n2"]})
    first, again = (decode_extender_args(body, READER, lists) for _ in range(2))
    assert first.node_names is again.node_names


hostile = st.text('",\\\\{}[]:b\x00\n\x7f\u2028') | names
"""Names of what would end a string, and any other."""


@given(st.lists(st.tuples(hostile, st.integers(0, 3))))
@example([('",', 1), ("b", 1)])
@example([("\\", 1), (",", 1), ("", 1)])
@example([("", 1), (",", 1), ("", 1), ("b", 0)])
def test_priorities_read_back(scored: list[tuple[str, int]]) -> None:
    """Each name with its score, the best first, whatever is in the name."""
    written = encode_host_priorities(
        [NodeName(name) for name, _ in scored],
        np.array([score for _, score in scored], np.int64),
    )
    assert [(one["Host"], one["Score"]) for one in json.loads(written)] == sorted(
        scored, key=lambda pair: -pair[1]
    )
