"""Whether a pod fits on a node, by the tests' oracles and nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import orjson

from extender.core.container import Lifetime
from extender.core.names import DeviceUUID
from extender.core.node import Device
from extender.core.pod_request import ContainerRequest, PodRequest, Selection
from extender.core.usage import Usage
from tests.builders import Json, PodBuilder, pod
from tests.control_plane.soak.places import Place
from tests.oracles import Loaded, Placed, exhaustive_fits, place_greedily

_REGISTER: Final = "hami.io/node-nvidia-register"
_COUNT: Final = "nvidia.com/gpu"


def loaded_of(node: Json, place: Place) -> list[Loaded]:
    """Put a node's cards and what is held on them together; none where it flaps."""
    if not _ids_of(node):
        return []
    try:
        cards = orjson.loads(node["metadata"]["annotations"][_REGISTER])
        devices = [_device(card) for card in cards]
    except (KeyError, TypeError, ValueError):
        return []
    return [(device, place.held.on(device.device_uuid)) for device in devices]


def _device(card: Json) -> Device:
    return Device(
        DeviceUUID(card["id"]),
        card.get("index", 0),
        Usage(int(card["count"]), int(card["devmem"]), int(card["devcore"])),
        card["type"],
        is_healthy=card.get("health", False),
    )


def fits(request: PodRequest, node: Json, place: Place) -> bool:
    """Tell whether a pod fits as the extender is to place it: card after card."""
    loaded = loaded_of(node, place)
    ids = _ids_of(node)
    placed = place_greedily(loaded, ids, place.held.ids, request)
    return isinstance(placed, Placed)


def fits_somehow(request: PodRequest, node: Json, place: Place) -> bool:
    """Tell whether there is any way at all to place a pod on a node."""
    loaded = loaded_of(node, place)
    return exhaustive_fits(loaded, _ids_of(node), place.held.ids, request).fits


def _ids_of(node: Json) -> int:
    return int(node["status"]["allocatable"].get(_COUNT, 0))


@dataclass(frozen=True, slots=True)
class Probe:
    """A pod that exists nowhere, to ask filter how much a card has left."""

    name: str
    device_uuid: DeviceUUID
    container: ContainerRequest
    containers: int = 1

    def request(self) -> PodRequest:
        """Say it to the oracle."""
        number = self.containers
        return PodRequest(
            "NVIDIA",
            (Lifetime.APP,) * number,
            (self.container,) * number,
            selection=Selection(use_uuids=frozenset({self.device_uuid})),
            kubelet_slots=number,
        )

    def builder(self) -> PodBuilder:
        """Describe it to the extender."""
        asked = {"gpu": 1, "gpumem": self.container.memory_mib or 0}
        if self.container.core_percent:
            asked["cores"] = self.container.core_percent
        built = pod(self.name).annotations({"nvidia.com/use-gpuuuid": self.device_uuid})
        for number in range(self.containers):
            built = built.app(f"a{number}", **asked)
        return built


def probes_of(node: Json, place: Place) -> Iterable[Probe]:
    """Ask in each dimension of each card for all that is left, and for one more."""
    for device, held in loaded_of(node, place):
        left = device.capacity - held
        uuid = device.device_uuid
        for memory in {max(1, left.memory_mib), left.memory_mib + 1}:
            yield Probe(f"mib-{memory}", uuid, ContainerRequest(1, memory))
        for cores in {max(1, left.core_percent), left.core_percent + 1}:
            if 0 < cores < 100:
                asked = ContainerRequest(1, 1, 0, cores)
                yield Probe(f"cores-{cores}", uuid, asked)
        for slots in {max(1, left.slots), left.slots + 1}:
            yield Probe(f"slots-{slots}", uuid, ContainerRequest(1, 1), slots)
