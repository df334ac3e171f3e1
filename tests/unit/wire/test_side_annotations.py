"""What vendors' plugins read besides rows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from extender.core.allocation import Allocation, Share
from extender.core.company import NO_TRAITS, Trait, Traits
from extender.core.names import DeviceUUID, NodeName
from extender.core.node import Device
from extender.core.profiles import CardProfile
from extender.wire.side_annotations import Bound, side_annotations
from tests.shipped import SHIPPED
from tests.values import card, row

SECONDS: Final = 1_790_000_000
NANOSECONDS: Final = 1_790_000_000_123_456_789

CARDS: Final[dict[str, Device]] = {
    each.device_uuid: each for each in (card("a", index=3), card("b", index=5))
}


def written(
    word: str,
    *rows: tuple[tuple[str, int, int], ...],
    in_software: bool = False,
    traits: Traits = NO_TRAITS,
) -> dict[str, str]:
    """Write what goes beside an allocation on node ``n1``."""
    allocation: Allocation = tuple(row(*shares) for shares in rows)
    bound = Bound(
        kind=SHIPPED[word],
        node_name=NodeName("n1"),
        allocation=allocation,
        devices={each.device_uuid: each for each in CARDS.values()},
        unix_seconds=SECONDS,
        unix_nanoseconds=NANOSECONDS,
        in_software=in_software,
        traits=traits,
    )
    return side_annotations(bound)


def test_cambricon_names_the_first_card() -> None:
    """Index, percent and units of 256 MiB; whichever container has it.

    HAMi and the plugin spell differently that it still waits.
    """
    assert written("MLU", (), (("a", 2048, 100),)) == {
        "CAMBRICON_DSMLU_ASSIGNED": "false",
        "CAMBRICON_DSMLU_ASSIGHED": "false",
        "CAMBRICON_DSMLU_PROFILE": "3_100_8",
    }


def test_ascend_names_templates() -> None:
    """A whole device has none."""
    shares = (("a", 8192, 0),), (("b", 32_768, 0),)
    assert written("Ascend910B4", *shares) == {
        "huawei.com/Ascend910B4": '[{"UUID":"a","temp":"vir05_1c_8g"},{"UUID":"b"}]',
        "predicate-time": str(SECONDS),
    }


def test_ascend_in_software_names_amounts() -> None:
    """What is 0 is left out."""
    shares = (("a", 8192, 30),), (), (("b", 5000, 0),)
    assert written("Ascend910B4", *shares, in_software=True) == {
        "huawei.com/Ascend910B4": (
            '[{"UUID":"a","memory":8192,"core":30},{"UUID":"b","memory":5000}]'
        ),
        "predicate-time": str(SECONDS),
    }


def test_mthreads_names_the_containers_cards() -> None:
    """By index, with the node, and a time to the nanosecond."""
    assert written("Mthreads", (), (("a", 49_152, 16), ("b", 49_152, 16)), ()) == {
        "mthreads.com/gpu-index": "3,5",
        "mthreads.com/predicate-node": "n1",
        "mthreads.com/predicate-time": str(NANOSECONDS),
    }


def test_kunlun_names_the_containers_cards() -> None:
    """By index."""
    shares = (("b", 98_304, 100), ("a", 98_304, 100))
    assert written("kunlun", shares) == {"BAIDU_COM_DEVICE_IDX": "5,3"}


def test_metax_has_rows_of_its_own() -> None:
    """One list per container, also for those without a card."""
    assert written("Metax-SGPU", (), (("a", 4096, 30), ("b", 4096, 0))) == {
        "metax-tech.com/gpu-devices-allocated": (
            '[[],[{"uuid":"a","compute":30,"vRam":4096},{"uuid":"b","vRam":4096}]]'
        ),
        "metax-tech.com/predicate-time": str(NANOSECONDS),
    }


def test_metax_is_told_the_policy_that_counts() -> None:
    """Also where the pod names none; an online pod has none."""
    offline = frozenset((Trait.OFFLINE, Trait.BEST_EFFORT))
    name = "metax-tech.com/sgpu-qos-policy"
    share = ("a", 4096, 30)
    assert written("Metax-SGPU", (share,), traits=offline)[name] == "best-effort"
    online = written("Metax-SGPU", (share,), traits=frozenset((Trait.ONLINE,)))
    assert name not in online


@pytest.mark.parametrize(
    "word", ["NVIDIA", "DCU", "AMD", "XPU", "GCU", "MR-V100", "Vastai"]
)
def test_rows_are_enough_for_others(word: str) -> None:
    """Nothing is written that nobody reads."""
    assert written(word, (("a", 1, 1),)) == {}


@pytest.mark.parametrize("word", SHIPPED)
def test_nothing_beside_nothing(word: str) -> None:
    """A pod that uses no card of a kind gets none of its annotations."""
    assert written(word, (), ()) == {}


def shares(
    word: str,
    *rows: tuple[Share, ...],
    device_ids: int = 0,
    cards: Mapping[str, Device] = CARDS,
) -> dict[str, str]:
    """Write what goes beside shares that say more than amounts."""
    bound = Bound(
        kind=SHIPPED[word],
        node_name=NodeName("n1"),
        allocation=rows,
        devices={each.device_uuid: each for each in cards.values()},
        unix_seconds=SECONDS,
        unix_nanoseconds=NANOSECONDS,
        container_names=tuple("xyz"[: len(rows)]),
        device_ids=device_ids,
    )
    return side_annotations(bound)


def neuron(uuid: str, cores: int) -> Share:
    """Hold cores of a device."""
    return Share(DeviceUUID(uuid), 0, cores.bit_count(), "AWSNeuron", cores=cores)


def test_neuron_lists_devices() -> None:
    """By index, in the order of the containers."""
    rows = (neuron("b", 3), neuron("a", 3)), ()
    assert shares("AWSNeuron", *rows, device_ids=2) == {
        "AWS_NEURON_IDS": "5,3",
        "NEURON_ALLOC_TIME": str(NANOSECONDS),
        "NEURON_ALLOCATED": "false",
        "aws.amazon.com/predicate-node": "n1",
    }


def test_neuron_lists_cores() -> None:
    """Counted through all devices of the node, each of which has two."""
    rows = (neuron("a", 2),), (neuron("b", 3),)
    assert shares("AWSNeuron", *rows) == {
        "AWS_NEURON_IDS": "7,10,11",
        "NEURON_ALLOC_TIME": str(NANOSECONDS),
        "NEURON_ALLOCATED": "false",
        "NEURON_RESOURCE_TYPE": "aws.amazon.com/neuroncore",
        "aws.amazon.com/predicate-node": "n1",
    }


def test_enflame_drs_names_card_and_profile() -> None:
    """Of the container that has one, by its name."""
    third = CardProfile("3g.20gb", "1", 3, 20_480, 50)
    card_a = replace(CARDS["a"], profiles=(third,), minor="8")
    share = Share(DeviceUUID("a"), 20_480, 50, "Enflame", slots=3)
    assert shares("Enflame", (), (share,), cards={"a": card_a}) == {
        "enflame.com/gcu-assigned": "false",
        "enflame.com/gcu-assigned-time": str(NANOSECONDS),
        "enflame.com/gcu-assigned-index": "3",
        "enflame.com/gcu-assigned-id": "3",
        "enflame.com/gcu-assigned-minor": "8",
        "enflame.com/gcu-request-size": "3",
        "assigned-containers": (
            '{"y":{"allocated":false,"request":3,"profileID":"1",'
            '"profileName":"3g.20gb"}}'
        ),
    }
