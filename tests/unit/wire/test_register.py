"""Register annotations, in JSON and in both older forms."""

import json

import pytest

from extender.core.mig import MigPlacement, MigProfile
from extender.core.names import MAX_INT32, DeviceUUID
from extender.core.node import Device
from extender.core.usage import Usage
from extender.errors import BadAnnotation
from extender.wire.register import decode_inventory

FIELD = "hami.io/node-nvidia-register"
A10 = "NVIDIA A10"
CAPACITY = Usage(10, 24_564, 100)


def card(
    uuid: str,
    index: int = 0,
    *,
    capacity: Usage = CAPACITY,
    is_healthy: bool = True,
    is_cordoned: bool = False,
    mode: str = "hami-core",
    numa_node: int = 0,
) -> Device:
    """Make a card as the texts below register it."""
    return Device(
        device_uuid=DeviceUUID(uuid),
        index=index,
        capacity=capacity,
        model=A10,
        is_healthy=is_healthy,
        is_cordoned=is_cordoned,
        mode=mode,
        numa_node=numa_node,
    )


def element(**changes: object) -> dict[str, object]:
    """Write one card as the plugin does; None leaves a key out."""
    written = {
        "id": "GPU-a",
        "count": 10,
        "devmem": 24_564,
        "devcore": 100,
        "type": A10,
        "mode": "hami-core",
        "health": True,
        **changes,
    }
    return {key: value for key, value in written.items() if value is not None}


def listed(*elements: object) -> str:
    """Write the annotation."""
    return json.dumps(elements)


READABLE = {
    "a JSON list": (
        listed(element(), element(id="GPU-b", index=1)),
        (card("GPU-a"), card("GPU-b", 1)),
    ),
    "any order is put in order of index and UUID": (
        listed(
            element(id="GPU-c", index=1),
            element(id="GPU-b", index=1),
            element(id="GPU-z"),
        ),
        (card("GPU-z"), card("GPU-b", 1), card("GPU-c", 1)),
    ),
    "a missing health is false": (
        listed(element(health=None)),
        (card("GPU-a", is_healthy=False),),
    ),
    "zeros may be missing": (
        '[{"id":"GPU-a"}]',
        (Device(DeviceUUID("GPU-a"), 0, Usage(), "", is_healthy=False),),
    ),
    "null is as good as missing": (
        '[{"id":"GPU-a","index":null,"type":null,"mode":null,"health":null}]',
        (Device(DeviceUUID("GPU-a"), 0, Usage(), "", is_healthy=False),),
    ),
    "unknown keys are ignored": (
        listed(element(custominfo={"a": [1]}, devicevendor="x", migProfiles=[{}])),
        (card("GPU-a"),),
    ),
    "-1 is at no NUMA node": (
        listed(element(numa=-1), element(id="GPU-b", numa=3)),
        (card("GPU-a", numa_node=-1), card("GPU-b", numa_node=3)),
    ),
    "an empty list": ("[]", ()),
    "blanks around the list": ("\n [ ] \n", ()),
    "a cordoned card": (
        listed(element(id="GPU-x")),
        (card("GPU-x", is_cordoned=True),),
    ),
    "the largest numbers": (
        listed(element(count=MAX_INT32, devmem=MAX_INT32, devcore=MAX_INT32)),
        (card("GPU-a", capacity=Usage(MAX_INT32, MAX_INT32, MAX_INT32)),),
    ),
    "case 98: nine fields": (
        "GPU-b,10,24564,100,NVIDIA A10,0,true,1,mps:GPU-a,9,8,7,NVIDIA A10,-1,F,0,:",
        (
            card(
                "GPU-a",
                capacity=Usage(9, 8, 7),
                is_healthy=False,
                mode="",
                numa_node=-1,
            ),
            card("GPU-b", 1, mode="mps"),
        ),
    ),
    "case 98: seven fields have index 0 and mode hami-core": (
        "GPU-b,10,24564,100,NVIDIA A10,0,true:GPU-a,10,24564,100,NVIDIA A10,0,true:",
        (card("GPU-a"), card("GPU-b")),
    ),
    "older forms may be mixed, and lack the last colon": (
        "GPU-b,10,24564,100,NVIDIA A10,0,1:GPU-x,10,24564,100,NVIDIA A10,0,t,1,",
        (card("GPU-b"), card("GPU-x", 1, is_cordoned=True, mode="")),
    ),
}


@pytest.mark.parametrize(("text", "expected"), READABLE.values(), ids=READABLE)
def test_inventory_reads_as(text: str, expected: tuple[Device, ...]) -> None:
    """Every form that some plugin writes gives the same cards."""
    cordoned = frozenset({DeviceUUID("GPU-x"), DeviceUUID("GPU-other")})
    assert decode_inventory(text, FIELD, cordoned) == expected


def mig(profiles: object, **changes: object) -> str:
    """Write one card in MIG mode."""
    return listed(element(mode="mig", migProfiles=profiles, **changes))


SMALL = {"name": "1g.5gb", "memoryMB": 4_864, "core": 15, "sliceCount": 1}
SMALL_PLACES = [{"start": 6, "size": 1}, {"size": 1}]
LARGE = {"name": "7g.40gb", "memoryMB": 40_192, "placements": [{"size": 8}]}

MIG = {
    "profiles and places in any order; zeros may be missing": (
        mig([LARGE, {**SMALL, "placements": SMALL_PLACES}]),
        (
            MigProfile(
                "1g.5gb", 4_864, 15, 1, (MigPlacement(0, 1), MigPlacement(6, 1))
            ),
            MigProfile("7g.40gb", 40_192, 0, 0, (MigPlacement(0, 8),)),
        ),
    ),
    "a profile without places": (
        mig([SMALL]),
        (MigProfile("1g.5gb", 4_864, 15, 1, ()),),
    ),
    "12 slices, as of a Blackwell": (
        mig([{**SMALL, "placements": [{"start": 9, "size": 3}]}]),
        (MigProfile("1g.5gb", 4_864, 15, 1, (MigPlacement(9, 3),)),),
    ),
    "none": (mig([]), ()),
    "null": (mig(None), ()),
}


@pytest.mark.parametrize(("text", "profiles"), MIG.values(), ids=MIG)
def test_mig_profiles_read_as(text: str, profiles: tuple[MigProfile, ...]) -> None:
    """Equal cards have equal tables, whichever order they are written in."""
    (shown,) = decode_inventory(text, FIELD, frozenset())
    assert (shown.is_mig, shown.mig_profiles) == (True, profiles)


def test_static_mig_instances_are_plain_cards() -> None:
    """Their mode is another word, whatever their ids hold."""
    text = listed(element(id="MIG-1b6f", mode="hami-core", count=1))
    (shown,) = decode_inventory(text, FIELD, frozenset())
    assert not shown.is_mig


def placed(**changes: object) -> str:
    """Write a card of one profile with one odd place."""
    return mig([SMALL, {**LARGE, "placements": [{"start": 0, "size": 8, **changes}]}])


PROFILES = f"{FIELD}[0].migProfiles"

UNREADABLE = {
    "MIG profiles that are no list": (mig({}), PROFILES),
    "a MIG profile that is no object": (mig([SMALL, 7]), f"{PROFILES}[1]"),
    "a MIG profile without a name": (mig([{"memoryMB": 1}]), f"{PROFILES}[0].name"),
    "a MIG profile named twice": (mig([SMALL, LARGE, SMALL]), f"{PROFILES}[2].name"),
    "a MIG profile without memory": (
        mig([{"name": "1g.5gb"}]),
        f"{PROFILES}[0].memoryMB",
    ),
    "a MIG profile with text for memory": (
        mig([{**SMALL, "memoryMB": "4864"}]),
        f"{PROFILES}[0].memoryMB",
    ),
    "a MIG profile of negative compute": (
        mig([{**SMALL, "core": -1}]),
        f"{PROFILES}[0].core",
    ),
    "a MIG profile with half a slice": (
        mig([{**SMALL, "sliceCount": 0.5}]),
        f"{PROFILES}[0].sliceCount",
    ),
    "MIG places that are no list": (
        mig([{**SMALL, "placements": "0"}]),
        f"{PROFILES}[0].placements",
    ),
    "a MIG place that is no object": (
        mig([{**SMALL, "placements": [0]}]),
        f"{PROFILES}[0].placements[0]",
    ),
    "a MIG place before the first slice": (
        placed(start=-1),
        f"{PROFILES}[1].placements[0].start",
    ),
    "a MIG place of no size": (placed(size=0), f"{PROFILES}[1].placements[0].size"),
    "a MIG place beyond all slices": (
        placed(start=9),
        f"{PROFILES}[1].placements[0].size",
    ),
    "an empty text": ("", FIELD),
    "broken JSON": ('[{"id":"GPU-a"', FIELD),
    "JSON nested too deeply": ("[" * 5000, FIELD),
    "a lone surrogate": ('["\ud800"]', FIELD),
    "an object": ('{"id":"GPU-a"}', FIELD),
    "null": ("null", FIELD),
    "a number": ("7", FIELD),
    "an element that is no object": ('[{"id":"GPU-a"},7]', f"{FIELD}[1]"),
    "a NUMA node that is no number": (listed(element(numa="?")), f"{FIELD}[0].numa"),
    "a NUMA node below -1": (listed(element(numa=-2)), f"{FIELD}[0].numa"),
    "NUMA node x of nine fields": (
        "GPU-b,10,24564,100,NVIDIA A10,x,true,1,mps:",
        f"{FIELD}[0].numa",
    ),
    "no id": (listed(element(id=None)), f"{FIELD}[0].id"),
    "an empty id": (listed(element(id="")), f"{FIELD}[0].id"),
    "an id that is no text": (listed(element(id=7)), f"{FIELD}[0].id"),
    "an id with a comma": (listed(element(id="a,b")), f"{FIELD}[0].id"),
    "an id with a colon": (listed(element(id="a:b")), f"{FIELD}[0].id"),
    "an id with a semicolon": (listed(element(id="a;b")), f"{FIELD}[0].id"),
    "an id that ends in a blank": (listed(element(id="a ")), f"{FIELD}[0].id"),
    "an id that begins with a line end": (listed(element(id="\na")), f"{FIELD}[0].id"),
    "the same id twice": (listed(element(), element(index=1)), f"{FIELD}[1].id"),
    "a negative count": (listed(element(count=-1)), f"{FIELD}[0].count"),
    "a boolean for a count": (listed(element(count=True)), f"{FIELD}[0].count"),
    "a text for memory": (listed(element(devmem="24564")), f"{FIELD}[0].devmem"),
    "a float for memory": (listed(element(devmem=24564.0)), f"{FIELD}[0].devmem"),
    "memory above 32 bits": (listed(element(devmem=2**31)), f"{FIELD}[0].devmem"),
    "cores above 64 bits": (listed(element(devcore=2**70)), f"{FIELD}[0].devcore"),
    "a negative index": (listed(element(index=-1)), f"{FIELD}[0].index"),
    "a number for the type": (listed(element(type=10)), f"{FIELD}[0].type"),
    "a list for the mode": (listed(element(mode=[])), f"{FIELD}[0].mode"),
    "a text for health": (listed(element(health="true")), f"{FIELD}[0].health"),
    "eight fields": ("GPU-a,10,24564,100,A10,0,true,0:", f"{FIELD}[0]"),
    "an empty card between": (
        "GPU-a,10,24564,100,A10,0,true::GPU-b,10,24564,100,A10,0,true:",
        f"{FIELD}[1]",
    ),
    "no cards at all": (":", f"{FIELD}[0]"),
    "older text, no id": (",10,24564,100,A10,0,true:", f"{FIELD}[0].id"),
    "older text, bad count": ("a,x,24564,100,A10,0,true:", f"{FIELD}[0].count"),
    "older text, negative": ("a,1,-5,100,A10,0,true:", f"{FIELD}[0].devmem"),
    "older text, too many digits": (
        f"a,1,{'9' * 5000},100,A10,0,true:",
        f"{FIELD}[0].devmem",
    ),
    "older text, above 32 bits": (
        "a,1,2147483648,100,A10,0,true:",
        f"{FIELD}[0].devmem",
    ),
    "older text, digits of another script": (
        "a,1,\u0661,100,A10,0,true:",
        f"{FIELD}[0].devmem",
    ),
    "older text, bad health": ("a,1,5,100,A10,0,yes:", f"{FIELD}[0].health"),
    "older text, bad index": ("a,1,5,100,A10,0,true,x,:", f"{FIELD}[0].index"),
}


@pytest.mark.parametrize(("text", "named"), UNREADABLE.values(), ids=UNREADABLE)
def test_inventory_is_refused_as_a_whole(text: str, named: str) -> None:
    """The error names the element and its key; no part of the list is used."""
    with pytest.raises(BadAnnotation) as refused:
        decode_inventory(text, FIELD, frozenset())
    assert refused.value.field == named
