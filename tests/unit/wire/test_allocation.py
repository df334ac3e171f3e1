"""Allocation annotations: what we write, and what we make of what we find."""

import pytest

from extender.core.allocation import Allocation, Share, UnreadableAllocation
from extender.core.kinds import NVIDIA
from extender.core.names import MAX_INT32, DeviceUUID, NodeName
from extender.errors import BadAnnotation
from extender.wire.allocation import (
    allocation_annotations,
    allocation_labels,
    decode_rows,
    encode_allocation,
    read_allocation,
    served_rows,
)
from tests.shipped import SHIPPED
from tests.values import row

FIELD = "hami.io/vgpu-devices-allocated"


def on(uuid: str, memory_mib: int, core_percent: int = 0) -> Share:
    """Hold a part of one card."""
    return Share(DeviceUUID(uuid), memory_mib, core_percent, "NVIDIA")


EXAMPLES: dict[str, tuple[str, Allocation]] = {
    "init, then app on one card": (
        "GPU-a,NVIDIA,20000,0:;GPU-a,NVIDIA,10000,0:;",
        ((on("GPU-a", 20_000),), (on("GPU-a", 10_000),)),
    ),
    "sidecar, init and app": (
        "GPU-a,NVIDIA,2000,0:;GPU-a,NVIDIA,20000,0:;GPU-a,NVIDIA,10000,0:;",
        ((on("GPU-a", 2000),), (on("GPU-a", 20_000),), (on("GPU-a", 10_000),)),
    ),
    "five apps, only the second uses a card": (
        ";GPU-a,NVIDIA,3000,0:;;;;",
        ((), (on("GPU-a", 3000),), (), (), ()),
    ),
    "one container, two cards": (
        "GPU-a,NVIDIA,8000,30:GPU-b,NVIDIA,8000,30:;",
        ((on("GPU-a", 8000, 30), on("GPU-b", 8000, 30)),),
    ),
    "two vendors: the other's container has an empty row": (
        "GPU-a,NVIDIA,3000,0:;;",
        ((on("GPU-a", 3000),), ()),
    ),
    "a MIG slice in the second container": (
        ";GPU-m,NVIDIA,4864,15:;",
        ((), (on("GPU-m", 4864, 15),)),
    ),
    "no container": ("", ()),
    "nothing held": (";;", ((), ())),
    "the largest numbers": (
        "GPU-a,NVIDIA,2147483647,2147483647:;",
        ((on("GPU-a", MAX_INT32, MAX_INT32),),),
    ),
}


@pytest.mark.parametrize(("text", "allocation"), EXAMPLES.values(), ids=EXAMPLES)
def test_text_and_allocation_are_the_same(text: str, allocation: Allocation) -> None:
    """What is written is what the device plugin expects, and reads back the same."""
    assert encode_allocation(allocation, NVIDIA) == text
    assert decode_rows(text, FIELD, NVIDIA) == allocation


@pytest.mark.parametrize(("text", "allocation"), EXAMPLES.values(), ids=EXAMPLES)
def test_own_text_is_given_to_its_containers(text: str, allocation: Allocation) -> None:
    """A complete text is matched by position."""
    counts = [len(row) for row in allocation]
    assert read_allocation(text, counts, NVIDIA) == allocation


TOLERATED = {
    "no last semicolon": ("GPU-a,NVIDIA,1,2:;GPU-b,NVIDIA,3,4:", 2),
    "no last colon": ("GPU-a,NVIDIA,1,2;GPU-b,NVIDIA,3,4;", 2),
    "more than four fields": ("GPU-a,NVIDIA,1,2,more,x:;GPU-b,NVIDIA,3,4,:;", 2),
    "any type word, or none": ("GPU-a,NVIDIA A10,1,2:;GPU-b,,3,4:;", 2),
    "leading zeros": ("GPU-a,NVIDIA,0001,2:;GPU-b,NVIDIA,3,0004:;", 2),
}


@pytest.mark.parametrize(("text", "row_count"), TOLERATED.values(), ids=TOLERATED)
def test_text_is_readable_as_in_hami(text: str, row_count: int) -> None:
    """Where HAMi's reader is lenient without guessing, so is ours."""
    expected = ((on("GPU-a", 1, 2),), (on("GPU-b", 3, 4),))
    assert decode_rows(text, FIELD, NVIDIA) == expected[:row_count]


UNREADABLE = {
    "case 26: memory that is no number": ("GPU-a,NVIDIA,abc,0:;", "[0][0].memory"),
    "cores that are no number": (";GPU-a,NVIDIA,5,:;", "[1][0].cores"),
    "a negative number": ("GPU-a,NVIDIA,-5,0:;", "[0][0].memory"),
    "a plus sign": ("GPU-a,NVIDIA,+5,0:;", "[0][0].memory"),
    "a blank": ("GPU-a,NVIDIA, 5,0:;", "[0][0].memory"),
    "a fraction": ("GPU-a,NVIDIA,5.0,0:;", "[0][0].memory"),
    "digits of another script": ("GPU-a,NVIDIA,\u0661,0:;", "[0][0].memory"),
    "more than 32 bits": ("GPU-a,NVIDIA,2147483648,0:;", "[0][0].memory"),
    "more digits than Python reads": (
        f"GPU-a,NVIDIA,{'9' * 5000},0:;",
        "[0][0].memory",
    ),
    "an empty UUID": (",NVIDIA,5,0:;", "[0][0].uuid"),
    "a UUID with a blank": (" GPU-a,NVIDIA,5,0:;", "[0][0].uuid"),
    "three fields": ("GPU-a,NVIDIA,5:;", "[0][0]"),
    "a piece without a comma": ("GPU-a,NVIDIA,5,0:GPU-b:;", "[0][1]"),
    "an empty share": ("GPU-a,NVIDIA,5,0::GPU-b,NVIDIA,5,0:;", "[0][1]"),
    "a colon alone": (":;", "[0][0]"),
    "prose": ("none", "[0][0]"),
    "a bad share after good ones": (
        "GPU-a,NVIDIA,5,0:;;GPU-a,NVIDIA,5,0:GPU-b,NVIDIA,x,0:;",
        "[2][1].memory",
    ),
}


@pytest.mark.parametrize(("text", "named"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_text_is_refused_as_a_whole(text: str, named: str) -> None:
    """The error names the container's index and the field; nothing is left out."""
    with pytest.raises(BadAnnotation) as refused:
        decode_rows(text, FIELD, NVIDIA)
    assert refused.value.field == f"{FIELD}{named}"


GIVEN = {
    "v2.10 dropped the empty rows": (
        "GPU-b,NVIDIA,3000,0:;GPU-a,NVIDIA,2000,0:;",
        [0, 1, 0, 1],
        ((), (on("GPU-b", 3000),), (), (on("GPU-a", 2000),)),
    ),
    "v2.10 kept them on a node of type NVIDIA": (
        ";GPU-b,NVIDIA,3000,0:;;GPU-a,NVIDIA,2000,0:;",
        [0, 1, 0, 1],
        ((), (on("GPU-b", 3000),), (), (on("GPU-a", 2000),)),
    ),
    "v2.10 dropped the row of another vendor's container": (
        "GPU-a,NVIDIA,3000,0:;",
        [1, 0],
        ((on("GPU-a", 3000),), ()),
    ),
    "it dropped some of them": (
        ";GPU-a,NVIDIA,3000,0:;",
        [0, 0, 1],
        ((), (), (on("GPU-a", 3000),)),
    ),
    "empty rows too many": (
        ";;GPU-a,NVIDIA,3000,0:;;",
        [1],
        ((on("GPU-a", 3000),),),
    ),
    "rows as many as containers, but shifted": (
        "GPU-a,NVIDIA,3000,0:;;",
        [0, 1],
        ((), (on("GPU-a", 3000),)),
    ),
    "different lengths in order": (
        "GPU-a,NVIDIA,1,0:GPU-b,NVIDIA,1,0:;GPU-a,NVIDIA,2,0:;",
        [2, 0, 1],
        ((on("GPU-a", 1), on("GPU-b", 1)), (), (on("GPU-a", 2),)),
    ),
    "all rows empty, and nobody asks": (";;", [0, 0], ((), ())),
    "all rows empty, as many as they are": (";;;;", [0, 0], ((), ())),
    "an empty text, and nobody asks": ("", [0, 0], ((), ())),
}


@pytest.mark.parametrize(("text", "counts", "expected"), GIVEN.values(), ids=GIVEN)
def test_rows_are_given_to_those_who_ask(
    text: str, counts: list[int], expected: Allocation
) -> None:
    """Rows without a container of their own go to the requesting ones, in order."""
    assert read_allocation(text, counts, NVIDIA) == expected


QUARANTINED: dict[str, tuple[str, list[int], tuple[str, ...]]] = {
    "case 26: a number that cannot be read": (
        "GPU-a,NVIDIA,abc,0:;",
        [1],
        ("GPU-a",),
    ),
    "a row too few": ("GPU-a,NVIDIA,1,0:;", [1, 1], ("GPU-a",)),
    "a row too many": (
        "GPU-a,NVIDIA,1,0:;GPU-b,NVIDIA,1,0:;",
        [1, 0],
        ("GPU-a", "GPU-b"),
    ),
    "a row too short": ("GPU-a,NVIDIA,1,0:;", [2], ("GPU-a",)),
    "lengths in the wrong order": (
        "GPU-a,NVIDIA,1,0:;GPU-b,NVIDIA,1,0:GPU-c,NVIDIA,1,0:;",
        [2, 1],
        ("GPU-a", "GPU-b", "GPU-c"),
    ),
    "a row nobody asked for": ("GPU-a,NVIDIA,1,0:;", [0], ("GPU-a",)),
    "all rows empty though one asks": (";;", [1, 0], ()),
    "an empty text though one asks": ("", [1], ()),
    "each card is named once": (
        "GPU-a,NVIDIA,1,0:GPU-a,NVIDIA,x,0:; GPU-b ,:;",
        [1],
        ("GPU-a", "GPU-b"),
    ),
    "garbage names nothing": ("see the ticket", [1], ()),
    "garbage beside a card": ("???;GPU-a,NVIDIA:;", [1], ("GPU-a",)),
    "an empty UUID is no name": (",NVIDIA,5,0:;", [1], ()),
}


@pytest.mark.parametrize(
    ("text", "counts", "named"), QUARANTINED.values(), ids=QUARANTINED
)
def test_allocation_that_cannot_be_trusted_names_cards(
    text: str, counts: list[int], named: tuple[str, ...]
) -> None:
    """It is neither nothing nor a guess, and says what the text does name."""
    read = read_allocation(text, counts, NVIDIA)
    assert isinstance(read, UnreadableAllocation)
    assert read.named == tuple(map(DeviceUUID, named))
    assert read.problem.startswith(FIELD)


def test_mismatch_is_told_in_lengths() -> None:
    """Who mends it sees both sides."""
    read = read_allocation("GPU-a,NVIDIA,1,0:;", [1, 1], NVIDIA)
    assert read == UnreadableAllocation(
        f"{FIELD}: rows of 1 devices do not fit requests of 1, 1",
        (DeviceUUID("GPU-a"),),
        frozenset({"NVIDIA"}),
    )


def test_case_26_mended_annotation_is_read() -> None:
    """Once the text is corrected, the pod holds what it says."""
    mended = read_allocation("GPU-a,NVIDIA,8000,0:;", [1], NVIDIA)
    assert mended == ((on("GPU-a", 8000),),)


def test_annotations_at_bind() -> None:
    """Six keys: what the device plugin looks for, and what later readers count."""
    rows = "GPU-a,NVIDIA,3000,30:;;"
    allocation = ((on("GPU-a", 3000, 30),), ())
    written = allocation_annotations(
        [NVIDIA], NodeName("n1"), allocation, 1_767_225_600
    )
    assert written == {
        "hami.io/vgpu-node": "n1",
        "hami.io/vgpu-time": "1767225600",
        "hami.io/vgpu-devices-to-allocate": rows,
        "hami.io/vgpu-devices-allocated": rows,
        "hami.io/bind-phase": "allocating",
        "hami.io/bind-time": "1767225600",
    }


def test_label_is_left_out_where_it_is_too_long() -> None:
    """A label of 64 characters would leave a pod that refuses every update."""
    longest = NodeName("n" * 63)
    assert allocation_labels(longest) == {"hami.io/vgpu-node": longest}
    assert allocation_labels(NodeName("n" * 64)) == {}


SERVED = {
    "two rows": ("GPU-a,NVIDIA,1,0:;GPU-b,NVIDIA,1,0:;", ";;"),
    "empty rows stay": (";GPU-a,NVIDIA,1,0:;;", ";;;"),
    "no last semicolon": ("GPU-a,NVIDIA,1,0:;GPU-b,NVIDIA,1,0:", ";;"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize(("text", "expected"), SERVED.values(), ids=SERVED)
def test_served_rows_are_empty(text: str, expected: str) -> None:
    """The plugin empties rows and keeps their number."""
    assert served_rows(text) == expected


def test_memory_of_0_is_no_amount() -> None:
    """To the device plugin it means "no limit", so the card counts as full."""
    read = read_allocation("GPU-a,NVIDIA,0,30:;", [1], NVIDIA)
    assert isinstance(read, UnreadableAllocation)
    assert read.named == (DeviceUUID("GPU-a"),)


def test_kinds_that_count_no_memory_hold_none() -> None:
    """For NVIDIA, 0 would mean no limit; Vastai's rows have nothing else."""
    text = "va-0,Vastai,0,0:;"
    assert isinstance(read_allocation(text, [1], NVIDIA), UnreadableAllocation)
    for word, kind in SHIPPED.items():
        assert kind.counts_memory == (word not in {"Vastai", "Biren", "AWSNeuron"})
    assert read_allocation(text, [1], SHIPPED["Vastai"]) == (
        (Share(DeviceUUID("va-0"), 0, 0, "Vastai", is_kept=True),),
    )


MODELS = {
    "its model": ("AMD Instinct MI300X", "AMD Instinct MI300X"),
    "no model": ("", "AMD"),
    "blanks": ("  ", "AMD"),
    "one that no row could hold": ("MI300X, 192 GB", "AMD"),
}


@pytest.mark.parametrize(("model", "word"), MODELS.values(), ids=MODELS)
def test_amd_rows_name_the_cards_model(model: str, word: str) -> None:
    """Its readers take an empty word for no row."""
    amd, uuid = SHIPPED["AMD"], DeviceUUID("gpu-0")
    allocation = (row(("gpu-0", 4096, 76), kind="AMD"), ())
    text = encode_allocation(allocation, amd, {uuid: model})
    assert text == f"gpu-0,{word},4096,76:;;"


def test_cores_of_neuron_devices_are_bits() -> None:
    """They are counted, and written back as they were."""
    kind = SHIPPED["AWSNeuron"]
    text = "a,AWSNeuron,0,2:b,AWSNeuron,0,3:;"
    read = read_allocation(text, [2], kind)
    assert not isinstance(read, UnreadableAllocation)
    assert [(each.cores, each.core_percent) for each in read[0]] == [(2, 1), (3, 2)]
    assert encode_allocation(read, kind) == text


@pytest.mark.parametrize("bits", [0, 4, 100])
def test_cores_that_a_device_does_not_have_are_no_cores(bits: int) -> None:
    """It is not known then which it holds."""
    kind = SHIPPED["AWSNeuron"]
    read = read_allocation(f"a,AWSNeuron,0,{bits}:;", [1], kind)
    assert isinstance(read, UnreadableAllocation)
    assert read.problem == (
        f"hami.io/aws-neuron-devices-allocated[0][0].cores: {bits} is not a bit mask "
        "of cores, from 1 to 3"
    )
