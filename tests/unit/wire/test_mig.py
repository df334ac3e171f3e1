"""The annotation of a pod's instances: what we write, and what we make of others'."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from extender.core.allocation import Allocation, Share, UnreadableAllocation
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import DeviceUUID, NodeName
from extender.wire.allocation import allocation_annotations
from extender.wire.mig import encode_instances, with_instances
from extender.wire.pods import PodReader
from tests.builders import PodBuilder, pod
from tests.values import GPU, GPUS, NPU, instance

FIELD = "hami.io/vgpu-mig-allocations"


def element(
    container: int, device: int, uuid: str, start: int, **changes: object
) -> dict[str, object]:
    """Write one instance of 5 GB; None leaves a key out."""
    written = {
        "containerIndex": container,
        "deviceIndex": device,
        "gpuUUID": uuid,
        "profile": "1g.5gb",
        "placement": {"start": start, "size": 1},
        **changes,
    }
    return {key: value for key, value in written.items() if value is not None}


def share(uuid: str, start: int | None = None) -> Share:
    """Hold an instance of a card, or a part of it as a whole."""
    own = None if start is None else instance("1g.5gb", start, 1)
    return Share(DeviceUUID(uuid), 4_864, 15, GPU, instance=own)


def bare(allocation: Allocation) -> Allocation:
    """Give what the rows alone tell."""
    return tuple(tuple(share(each.device_uuid) for each in row) for row in allocation)


def test_example_of_the_protocol() -> None:
    """One slice in the second container."""
    allocation = (
        (),
        (share("GPU-m", 6),),
    )
    written = allocation_annotations([NVIDIA], NodeName("n1"), allocation, 0)
    assert written[FIELD] == (
        '[{"containerIndex":1,"deviceIndex":0,"gpuUUID":"GPU-m","profile":"1g.5gb",'
        '"placement":{"start":6,"size":1}}]'
    )
    assert written["hami.io/vgpu-devices-allocated"] == ";GPU-m,NVIDIA,4864,15:;"


def test_no_instance_no_annotation() -> None:
    """Pods on other cards have none."""
    written = allocation_annotations([NVIDIA], NodeName("n1"), ((share("GPU-a"),),), 0)
    assert FIELD not in written


def test_indices_count_cards_of_their_own_kind() -> None:
    """What the container gets of another kind is not seen by the device plugin."""
    other = Share(DeviceUUID("NPU-a"), 1_000, 0, NPU)
    allocation = ((other, share("GPU-m", 6)),)
    written = allocation_annotations([NVIDIA], NodeName("n1"), allocation, 0)
    (element,) = json.loads(written[FIELD])
    assert (element["containerIndex"], element["deviceIndex"]) == (0, 0)


ROUND_TRIPS: dict[str, Allocation] = {
    "one": ((share("GPU-m", 6),),),
    "two of one card": ((share("GPU-m", 6), share("GPU-m", 5)),),
    "of several containers": ((share("GPU-m", 6),), (), (share("GPU-n", 0),)),
    "beside a card that is not in MIG mode": (
        (share("GPU-m", 6), share("GPU-p")),
        (share("GPU-p"),),
    ),
}


@pytest.mark.parametrize("allocation", ROUND_TRIPS.values(), ids=ROUND_TRIPS)
def test_what_is_written_reads_back(allocation: Allocation) -> None:
    """Instance by instance."""
    text = encode_instances(allocation, NVIDIA)
    assert with_instances(bare(allocation), text, NVIDIA) == allocation


REALIZED = {"migUUID": "MIG-1", "gpuInstanceID": 9, "computeInstanceID": 0}
TWO = ((share("GPU-m", 6),), (share("GPU-n", 5), share("GPU-m", 4)))


@dataclass(frozen=True)
class Read:
    """An annotation, and the allocation that it belongs to."""

    elements: object
    expected: Allocation


READABLE = {
    "the plugin added which instances they became": Read(
        [element(0, 0, "GPU-m", 6, **REALIZED)], ((share("GPU-m", 6),),)
    ),
    "zeros are left out": Read(
        [{"gpuUUID": "GPU-m", "profile": "1g.5gb", "placement": {"size": 1}}],
        ((share("GPU-m", 0),),),
    ),
    "in any order": Read(
        [
            element(1, 1, "GPU-m", 4),
            element(0, 0, "GPU-m", 6),
            element(1, 0, "GPU-n", 5),
        ],
        TWO,
    ),
    "v2.10 dropped empty rows: indices of containers are too low": Read(
        [element(0, 0, "GPU-m", 6), element(1, 0, "GPU-n", 5)],
        ((), (share("GPU-m", 6),), (), (share("GPU-n", 5),)),
    ),
    "an empty list": Read([], ((share("GPU-m"),),)),
    "null": Read(None, ((share("GPU-m"),),)),
}


@pytest.mark.parametrize("case", READABLE.values(), ids=READABLE)
def test_annotation_reads_as(case: Read) -> None:
    """Elements go to the shares of their devices, in order."""
    text = json.dumps(case.elements)
    assert with_instances(bare(case.expected), text, NVIDIA) == case.expected


def test_an_empty_text_names_no_instance() -> None:
    """As in HAMi."""
    assert with_instances(((share("GPU-m"),),), "", NVIDIA) == ((share("GPU-m"),),)


def of(*elements: object) -> str:
    """Write the annotation."""
    return json.dumps(elements)


GOOD = element(0, 0, "GPU-m", 6)
ONE_ROW = ((share("GPU-m"),),)
TWO_ROWS = ((share("GPU-m"),), (share("GPU-n"), share("GPU-m")))

UNREADABLE: dict[str, tuple[Allocation, str, str, Sequence[str]]] = {
    "no JSON": (ONE_ROW, "[{", FIELD, ["GPU-m"]),
    "an object": (ONE_ROW, "{}", FIELD, ["GPU-m"]),
    "an element that is no object": (ONE_ROW, of(7), f"{FIELD}[0]", ["GPU-m"]),
    "no card": (ONE_ROW, of(GOOD | {"gpuUUID": ""}), f"{FIELD}[0].gpuUUID", ["GPU-m"]),
    "no profile": (
        ONE_ROW,
        of(element(0, 0, "GPU-m", 6, profile=None)),
        f"{FIELD}[0].profile",
        ["GPU-m"],
    ),
    "no place": (
        ONE_ROW,
        of(element(0, 0, "GPU-m", 6, placement=None)),
        f"{FIELD}[0].placement",
        ["GPU-m"],
    ),
    "a place of no size": (
        ONE_ROW,
        of(GOOD | {"placement": {"start": 1}}),
        f"{FIELD}[0].placement.size",
        ["GPU-m"],
    ),
    "a place beyond all slices": (
        ONE_ROW,
        of(element(0, 0, "GPU-m", 16)),
        f"{FIELD}[0].placement.size",
        ["GPU-m"],
    ),
    "a container before the first": (
        ONE_ROW,
        of(element(-1, 0, "GPU-m", 6)),
        f"{FIELD}[0].containerIndex",
        ["GPU-m"],
    ),
    "one place twice": (
        TWO_ROWS,
        of(GOOD, element(1, 0, "GPU-n", 1), GOOD),
        f"{FIELD}[2].deviceIndex",
        ["GPU-m", "GPU-n"],
    ),
    "another card": (ONE_ROW, of(element(0, 0, "GPU-x", 6)), FIELD, ["GPU-m", "GPU-x"]),
    "one of two instances of a card is missing": (
        TWO_ROWS,
        of(GOOD, element(1, 0, "GPU-n", 1)),
        FIELD,
        ["GPU-m", "GPU-n"],
    ),
    "an instance too many": (
        ONE_ROW,
        of(GOOD, element(0, 1, "GPU-m", 5)),
        FIELD,
        ["GPU-m"],
    ),
    "in another order than the rows": (
        TWO_ROWS,
        of(
            element(0, 0, "GPU-n", 6),
            element(1, 0, "GPU-m", 5),
            element(1, 1, "GPU-m", 4),
        ),
        FIELD,
        ["GPU-m", "GPU-n"],
    ),
}


@pytest.mark.parametrize(
    ("rows", "text", "field", "named"), UNREADABLE.values(), ids=UNREADABLE
)
def test_annotation_that_cannot_be_trusted_names_cards(
    rows: Allocation, text: str, field: str, named: Sequence[str]
) -> None:
    """It is never taken for nothing, nor for a part; the problem names the place."""
    read = with_instances(rows, text, NVIDIA)
    assert isinstance(read, UnreadableAllocation)
    assert list(read.named) == list(named)
    assert read.problem.startswith(f"{field}:")


def test_rows_that_cannot_be_read_stay_so() -> None:
    """Cards that only the instances name are named too."""
    torn = UnreadableAllocation("torn", (DeviceUUID("GPU-a"),), GPUS)
    read = with_instances(torn, of(GOOD), NVIDIA)
    assert isinstance(read, UnreadableAllocation)
    assert (read.problem, read.named) == ("torn", ("GPU-a", "GPU-m"))


def test_instances_without_rows_name_their_cards() -> None:
    """Somebody took the rows away; the instances are there for all that."""
    read = with_instances(None, of(GOOD), NVIDIA)
    assert isinstance(read, UnreadableAllocation)
    assert read.named == ("GPU-m",)


def test_a_card_that_only_a_damaged_annotation_names_counts_as_held() -> None:
    """One element cannot be read; the other tells which card it is."""
    text = of(element(0, 0, "GPU-x", 6), element(-1, 0, "GPU-m", 6))
    read = with_instances(ONE_ROW, text, NVIDIA)
    assert isinstance(read, UnreadableAllocation)
    assert read.named == ("GPU-m", "GPU-x")


def test_remains_of_a_pod_name_the_cards_of_its_instances() -> None:
    """Nothing else of it can be read."""
    printed = pod("p").app("a").on("n1").annotations({FIELD: of(GOOD)}).build()
    remains = PodReader(Kinds([NVIDIA])).read_bound_remains(printed, "torn")
    assert remains is not None
    assert isinstance(remains.allocation, UnreadableAllocation)
    assert remains.allocation.named == ("GPU-m",)


def shown() -> PodBuilder:
    """Show a pod that holds a slice."""
    rows = pod("p").app("a", gpu=1, gpumem=4_000).holding("GPU-m,NVIDIA,4864,15:;")
    return rows.annotations({FIELD: of(GOOD)})


def test_reader_puts_both_annotations_together() -> None:
    """Rows and instances make one allocation."""
    read = PodReader(Kinds([NVIDIA])).read(shown().build())
    assert read.allocation == ((share("GPU-m", 6),),)
