"""Nodes and a pod on which choosing card by card fails, and a search takes long."""

from functools import cache
from typing import Final

import numpy as np

from extender.core.cards import Cards
from extender.core.container import Lifetime
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.kinds import NVIDIA
from extender.core.names import DeviceUUID, NodeName
from extender.core.node import Device, Inventory, Node
from extender.core.pod_request import ContainerRequest, PodRequest
from extender.core.usage import Usage

_SEED: Final = 753
_CARDS: Final = 8
_CARD_MIB: Final = 24_000
_APPS_MIB: Final = (11_500, 11_700, 11_900, 12_100)

HARD_POD: Final = PodRequest(
    NVIDIA.type_word,
    (Lifetime.APP,) * len(_APPS_MIB),
    tuple(ContainerRequest(1, each) for each in _APPS_MIB),
    kubelet_slots=len(_APPS_MIB),
)
"""By the policy, a small app takes the largest gap, which only the last one needs."""


@cache
def hard_cards(node_count: int) -> Cards:
    """Make nodes that all differ: half of their cards have one fitting gap each."""
    random = np.random.default_rng(_SEED)
    uuids = [DeviceUUID(f"GPU-{index}") for index in range(_CARDS)]
    size = Usage(10, _CARD_MIB, 100)
    devices = [Device(uuid, at, size, "A10") for at, uuid in enumerate(uuids)]
    fleet = Fleet()
    names = [NodeName(f"node-{number:05}") for number in range(node_count)]
    for name in names:
        fitting = np.array(_APPS_MIB) + random.integers(0, 100, len(_APPS_MIB))
        others = random.integers(8_000, 11_500, _CARDS - len(_APPS_MIB))
        gaps = random.permutation([*fitting, *others]).tolist()
        charge = {
            uuid: Usage(1, _CARD_MIB - gap)
            for uuid, gap in zip(uuids, gaps, strict=True)
        }
        inventory = Inventory(tuple(devices), 1_000)
        shown = Node(name, {NVIDIA.type_word: inventory})
        fleet.put(shown, [Holding(name, charge)])
    (cards,) = fleet.of(NVIDIA.type_word).cards()
    return cards
