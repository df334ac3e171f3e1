"""Nodes of vendors whose cards are told otherwise than NVIDIA's."""

import json
from typing import Any

import pytest

from extender.core.names import DeviceUUID
from extender.core.node import Device, Inventory
from extender.core.profiles import CardProfile
from extender.core.usage import Usage
from extender.wire.label_selector import EVERYTHING
from extender.wire.nodes import decode_node, has_same_devices
from tests.shipped import SHIPPED


def shown(
    *, capacity: object = None, annotations: dict[str, str] | None = None
) -> dict[str, Any]:
    """Show node ``n1``; what it can be asked for is its capacity."""
    return {
        "metadata": {"name": "n1", "annotations": annotations or {}},
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def read(word: str, node: dict[str, Any]) -> Inventory:
    """Read what it has of one kind; nothing where it shows nothing."""
    shown = decode_node(node, [SHIPPED[word]])
    return shown.inventories.get(word, Inventory(None, 0))


def cards(node: Inventory) -> list[tuple[str, int, Usage, int]]:
    """List id, index, capacity and NUMA node of each card."""
    assert node.problem is None
    return [
        (each.device_uuid, each.index, each.capacity, each.numa_node)
        for each in node.devices or ()
    ]


CAPACITIES: dict[str, tuple[str, dict[str, object], list[tuple[str, int, Usage, int]]]]
CAPACITIES = {
    "cambricon: 100 cores a card, 256 MiB a unit": (
        "MLU",
        {"cambricon.com/mlu.smlu.vcore": "200", "cambricon.com/mlu.smlu.vmemory": 192},
        [
            ("n1-cambricon-mlu-0", 0, Usage(100, 24_576, 100), 0),
            ("n1-cambricon-mlu-1", 1, Usage(100, 24_576, 100), 0),
        ],
    ),
    "enflame: whole cards": (
        "GCU",
        {"enflame.com/gcu": "2"},
        [
            ("n1-GCU-0", 0, Usage(1, 100, 100), 0),
            ("n1-GCU-1", 1, Usage(1, 100, 100), 0),
        ],
    ),
    "mthreads: 16 cores a card, 512 MiB a unit": (
        "Mthreads",
        {"mthreads.com/sgpu-core": "32", "mthreads.com/sgpu-memory": "192"},
        [
            ("n1-mthreads-0", 0, Usage(100, 49_152, 16), 0),
            ("n1-mthreads-1", 1, Usage(100, 49_152, 16), 0),
        ],
    ),
    "metax: whole cards": (
        "Metax-GPU",
        {"metax-tech.com/gpu": "1"},
        [("n1-metax-0", 0, Usage(1, 65_536, 100), 0)],
    ),
    "aws neuron: two cores a device": (
        "AWSNeuron",
        {"aws.amazon.com/neuron": "2", "aws.amazon.com/neuroncore": "4"},
        [
            ("n1-AWSNeuron-0", 0, Usage(2, 0, 2), 0),
            ("n1-AWSNeuron-1", 1, Usage(2, 0, 2), 0),
        ],
    ),
    "kunlun: whole cards in two wings": (
        "kunlun",
        {"kunlunxin.com/xpu": "4"},
        [
            (f"n1-kunlun-{index}", index, Usage(1, 98_304, 100), index // 2)
            for index in range(4)
        ],
    ),
}


@pytest.mark.parametrize(
    ("word", "capacity", "expected"), CAPACITIES.values(), ids=CAPACITIES
)
def test_capacity_tells_cards(
    word: str, capacity: dict[str, object], expected: list[tuple[str, int, Usage, int]]
) -> None:
    """Their ids are the ones that HAMi makes, so that allocations of it fit."""
    assert cards(read(word, shown(capacity=capacity))) == expected


NONE = {
    "no capacity": None,
    "another capacity": {"cpu": "8"},
    "none left": {"enflame.com/gcu": "0"},
}


@pytest.mark.parametrize("capacity", NONE.values(), ids=NONE)
def test_no_capacity_is_no_inventory(capacity: object) -> None:
    """As a missing annotation is."""
    node = read("GCU", shown(capacity=capacity))
    assert (node.devices, node.problem) == (None, None)


BAD: dict[str, tuple[str, dict[str, object], str]] = {
    "half a card": (
        "MLU",
        {"cambricon.com/mlu.smlu.vcore": "150"},
        "status.capacity[cambricon.com/mlu.smlu.vcore]: 150 is not a multiple of 100",
    ),
    "a fraction": (
        "GCU",
        {"enflame.com/gcu": "1500m"},
        "status.capacity[enflame.com/gcu]: '1500m' is not a whole number",
    ),
    "fewer than none": (
        "GCU",
        {"enflame.com/gcu": "-1"},
        "status.capacity[enflame.com/gcu]: -1 is not in the range 0 to 2147483647",
    ),
    "more than any machine has": (
        "GCU",
        {"enflame.com/gcu": "2147483647"},
        "status.capacity[enflame.com/gcu]: 2147483647 is not at most 1024, 1024 cards",
    ),
    "devices of more cores than two": (
        "AWSNeuron",
        {"aws.amazon.com/neuron": "4", "aws.amazon.com/neuroncore": "16"},
        (
            "status.capacity[aws.amazon.com/neuroncore]: 16 is not 8, 2 for each "
            "aws.amazon.com/neuron"
        ),
    ),
    "devices without cores": (
        "AWSNeuron",
        {"aws.amazon.com/neuron": "4"},
        (
            "status.capacity[aws.amazon.com/neuroncore]: 0 is not 8, 2 for each "
            "aws.amazon.com/neuron"
        ),
    ),
    "memory that cannot be read": (
        "Mthreads",
        {"mthreads.com/sgpu-core": "16", "mthreads.com/sgpu-memory": "?"},
        "status.capacity[mthreads.com/sgpu-memory]: '?' is not a quantity",
    ),
}


@pytest.mark.parametrize(("word", "capacity", "problem"), BAD.values(), ids=BAD)
def test_capacity_that_cannot_be_read_refuses_the_node(
    word: str, capacity: dict[str, object], problem: str
) -> None:
    """It is not read as no card, nor as a part of the cards."""
    node = read(word, shown(capacity=capacity))
    assert node.devices is None
    assert str(node.problem).startswith(problem)


def test_card_of_a_capacity_can_be_cordoned() -> None:
    """By the id that it is given."""
    annotations = {"hami.io/device-cordon": "n1-GCU-1"}
    node = read("GCU", shown(capacity={"enflame.com/gcu": 2}, annotations=annotations))
    assert [each.is_cordoned for each in node.devices or ()] == [False, True]


def test_text_of_hygon_and_iluvatar() -> None:
    """The older form, with a colon after each card."""
    text = "DCU-0,4,65520,100,Z100L,0,true:DCU-1,4,65520,100,Z100L,1,true:"
    node = read("DCU", shown(annotations={"hami.io/node-dcu-register": text}))
    assert cards(node) == [
        ("DCU-0", 0, Usage(4, 65_520, 100), 0),
        ("DCU-1", 0, Usage(4, 65_520, 100), 1),
    ]
    node = read("MR-V100", shown(annotations={"hami.io/node-MR-V100-register": text}))
    assert len(cards(node)) == 2


def test_json_of_vastai_and_biren() -> None:
    """Cards without memory and cores."""
    text = '[{"id":"7-0","count":1,"type":"Vastai","health":true,"devicepairscore":{}}]'
    expected = [("7-0", 0, Usage(1, 0, 0), 0)]
    for word, name in (("Vastai", "va"), ("Biren", "biren")):
        node = read(word, shown(annotations={f"hami.io/node-{name}-register": text}))
        assert cards(node) == expected


def test_json_of_metax() -> None:
    """In its own words, and in the order of the list."""
    listed = [
        {
            "uuid": f"GPU-{name}",
            "model": "MXC500",
            "totalDevCount": 16,
            "totalCompute": 100,
            "totalVRam": 65_536,
            "numa": 1,
            "healthy": name == "b",
            "qosPolicy": "best-effort",
        }
        for name in "ba"
    ]
    name = "metax-tech.com/node-gpu-devices"
    node = read("Metax-SGPU", shown(annotations={name: json.dumps(listed)}))
    capacity = Usage(16, 65_536, 100)
    assert node.devices == (
        Device(DeviceUUID("GPU-b"), 0, capacity, "MXC500", numa_node=1),
        Device(
            DeviceUUID("GPU-a"), 1, capacity, "MXC500", is_healthy=False, numa_node=1
        ),
    )


def test_json_of_amd() -> None:
    """Cores are the card's compute units, and its model is kept."""
    text = (
        '[{"id":"gpu-0","index":0,"count":10,"devmem":196592,"devcore":304,'
        '"type":"AMD Instinct MI300X","health":true,"custominfo":{}}]'
    )
    capacity = {"amd.com/gpu": "10"}
    annotations = {"hami.io/node-amd-register": text}
    node = read("AMD", shown(capacity=capacity, annotations=annotations))
    assert cards(node) == [("gpu-0", 0, Usage(10, 196_592, 304), 0)]
    assert node.is_usable
    assert [each.model for each in node.devices or ()] == ["AMD Instinct MI300X"]


@pytest.mark.parametrize("capacity", [{"amd.com/gpu": "0"}, {}])
def test_amd_without_capacity_has_no_card_that_counts(
    capacity: dict[str, object],
) -> None:
    """Its plugin is gone, whatever it registered when it lived."""
    text = '[{"id":"gpu-0","count":10,"devmem":1,"devcore":304,"health":true}]'
    annotations = {"hami.io/node-amd-register": text}
    node = read("AMD", shown(capacity=capacity, annotations=annotations))
    assert not node.is_usable


CUSTOM = {
    "nothing": ("{}", 1),
    "pairs": ('{"cuPerWGP":2}', 2),
    "none": ('{"cuPerWGP":0}', 1),
    "something else": ('{"pciBDF":"0000:03:00.0"}', 1),
    "no object": ('"x"', 1),
}


@pytest.mark.parametrize(("custom", "step"), CUSTOM.values(), ids=CUSTOM)
def test_amd_tells_which_units_go_together(custom: str, step: int) -> None:
    """In what its plugin adds to HAMi's keys."""
    text = f'[{{"id":"g","count":1,"devmem":1,"devcore":32,"custominfo":{custom}}}]'
    node = read("AMD", shown(annotations={"hami.io/node-amd-register": text}))
    assert [each.core_step for each in node.devices or ()] == [step]


def test_amd_units_that_cannot_be_read_refuse_the_node() -> None:
    """To guess would hand out more than there is."""
    text = '[{"id":"g","custominfo":{"cuPerWGP":"two"}}]'
    node = read("AMD", shown(annotations={"hami.io/node-amd-register": text}))
    assert node.problem == (
        "hami.io/node-amd-register[0].custominfo.cuPerWGP: 'two' is not a whole number "
        "from 0 to 2147483647"
    )


METAX_PROBLEMS = {
    "no JSON": ("[", ": '['"),
    "no list": ("{}", ": an object is not a list"),
    "no object": ("[7]", "[0]: 7 is not an object"),
    "no id": ("[{}]", "[0].uuid: missing"),
    "bad memory": ('[{"uuid":"a","totalVRam":-1}]', "[0].totalVRam: -1 is not"),
}


@pytest.mark.parametrize(
    ("text", "problem"), METAX_PROBLEMS.values(), ids=METAX_PROBLEMS
)
def test_json_of_metax_that_cannot_be_read(text: str, problem: str) -> None:
    """The problem is told in its words."""
    name = "metax-tech.com/node-gpu-devices"
    node = read("Metax-SGPU", shown(annotations={name: text}))
    assert str(node.problem).startswith(f"{name}{problem}")


def test_metax_cards_of_one_link_zone_are_linked() -> None:
    """Zone 0 is none; a zone that cannot be read loses the links, and no card."""
    name = "metax-tech.com/node-gpu-devices"
    listed: list[dict[str, object]] = [
        {"uuid": uuid, "linkZone": zone}
        for uuid, zone in zip("abcd", (1, 2, 1, 0), strict=True)
    ]
    inventory = read("Metax-SGPU", shown(annotations={name: json.dumps(listed)}))
    assert inventory.links == {"a": {"c": 10}, "b": {}, "c": {"a": 10}}
    listed[1]["linkZone"] = "two"
    node = decode_node(
        shown(annotations={name: json.dumps(listed)}), [SHIPPED["Metax-SGPU"]]
    )
    assert node.warnings == (f"{name}[1].linkZone: 'two' is not a number",)
    assert len(node.inventories["Metax-SGPU"].devices or ()) == len(listed)


NPU = '[{"id":"npu-0","count":4,"devmem":32768,"devcore":20,"type":"N","health":true}]'


@pytest.mark.parametrize(
    ("says", "mode", "cores"),
    [(None, "template", 20), ("false", "template", 20), ("true", "hami-core", 100)],
)
def test_npu_is_cut_by_its_driver_or_shared_in_software(
    says: str | None, mode: str, cores: int
) -> None:
    """In software its cores are percent."""
    annotations = {"hami.io/node-register-Ascend910B4": NPU}
    if says is not None:
        annotations["hami-vnpu-core"] = says
    (device,) = read("Ascend910B4", shown(annotations=annotations)).devices or ()
    assert (device.mode, device.capacity) == (mode, Usage(4, 32_768, cores))


def test_npu_node_must_say_which() -> None:
    """A word that is not known is not taken for no."""
    annotations = {
        "hami.io/node-register-Ascend910B4": NPU,
        "hami-vnpu-core": "yes",
    }
    node = read("Ascend910B4", shown(annotations=annotations))
    assert node.problem == (
        "metadata.annotations[hami-vnpu-core]: 'yes' is not true or false"
    )


RINGS = {
    "inf2.48xlarge": "ring",
    "Inf1.6xlarge": "ring",
    "trn1.32xlarge": "",
    None: "",
}


@pytest.mark.parametrize(("instance", "mode"), RINGS.items())
def test_instance_type_tells_how_neuron_devices_stand(
    instance: str | None, mode: str
) -> None:
    """Those of Inferentia form a ring."""
    capacity = {"aws.amazon.com/neuron": 1, "aws.amazon.com/neuroncore": 2}
    node = shown(capacity=capacity)
    if instance is not None:
        node["metadata"]["labels"] = {"node.kubernetes.io/instance-type": instance}
    assert [each.mode for each in read("AWSNeuron", node).devices or ()] == [mode]


def test_another_instance_type_is_another_node() -> None:
    """What is read of a node is compared before it is read again."""
    kind = SHIPPED["AWSNeuron"]
    node = shown(capacity={"aws.amazon.com/neuron": "1"})
    known = decode_node(node, [kind])
    assert has_same_devices(known, node, [kind], EVERYTHING)
    node["metadata"]["labels"] = {"node.kubernetes.io/instance-type": "inf2.xlarge"}
    assert not has_same_devices(known, node, [kind], EVERYTHING)


def drs(text: object) -> Inventory:
    """Read what a node of Enflame's says of its cards."""
    capacity = text if isinstance(text, str) else json.dumps(text)
    annotations = {"enflame.com/gcu-drs-capacity": capacity}
    return read("Enflame", shown(annotations=annotations))


PROFILES = {"3g.20gb": "1", "1g.6gb": "0", "6g.40gb": 2}


def test_enflame_tells_cards_and_profiles() -> None:
    """Numbers may be texts; a missing minor is the index."""
    cards = [{"index": "1", "minor": "8", "capacity": 6}, {"index": 0, "capacity": "6"}]
    node = drs({"devices": cards, "profiles": PROFILES})
    profiles = (
        CardProfile("1g.6gb", "0", 1, 6_144, 17),
        CardProfile("3g.20gb", "1", 3, 20_480, 50),
        CardProfile("6g.40gb", "2", 6, 40_960, 100),
    )
    assert node.problem is None
    assert node.devices == tuple(
        Device(
            DeviceUUID(f"n1-enflame-drs-{index}"),
            index,
            Usage(6, 40_960, 102),
            "Enflame",
            profiles=profiles,
            minor=minor,
        )
        for index, minor in enumerate(["0", "8"])
    )


CARD = {"index": "0", "minor": "0", "capacity": 6}
BAD_DRS: dict[str, tuple[object, str]] = {
    "no JSON": ("{", ": '{' is not JSON"),
    "a list": ([], ": a list is not an object"),
    "no profiles": ({"devices": [CARD]}, ".profiles: missing or null"),
    "no profile": (
        {"devices": [CARD], "profiles": {}},
        ".profiles: an object is not",
    ),
    "a profile of another form": (
        {"devices": [CARD], "profiles": {"3g": "1"}},
        ".profiles: '3g' is not a profile such as 3g.20gb",
    ),
    "a profile of no slots": (
        {"devices": [CARD], "profiles": {"0g.2gb": "1"}},
        ".profiles: '0g.2gb' is not a profile",
    ),
    "a profile without a number": (
        {"devices": [CARD], "profiles": {"1g.2gb": None}},
        ".profiles[1g.2gb]: missing or null",
    ),
    "no cards": ({"profiles": PROFILES}, ".devices: missing or null"),
    "a card that is none": (
        {"devices": [3], "profiles": PROFILES},
        ".devices[0]: 3 is not an object",
    ),
    "no index": (
        {"devices": [{"capacity": 6}], "profiles": PROFILES},
        ".devices[0].index: missing or null",
    ),
    "no slots": (
        {"devices": [{**CARD, "capacity": 0}], "profiles": PROFILES},
        ".devices[0].capacity: 0 is not a number from 1",
    ),
    "the same card twice": (
        {"devices": [CARD, CARD], "profiles": PROFILES},
        ".devices[1].index: 0 is not different from the others",
    ),
}


@pytest.mark.parametrize(("told", "problem"), BAD_DRS.values(), ids=BAD_DRS)
def test_drs_capacity_that_cannot_be_read_refuses_the_node(
    told: object, problem: str
) -> None:
    """It is not read as a part of the cards, nor of the profiles."""
    node = drs(told)
    assert node.devices is None
    assert str(node.problem).startswith(f"enflame.com/gcu-drs-capacity{problem}")
