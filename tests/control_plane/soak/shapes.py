"""The pods of the soak: what each asks for, as a manifest and to the oracle."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from extender.core.container import Lifetime
from extender.core.pod_request import ContainerRequest, PodRequest
from tests.builders import Json, PodBuilder, pod
from tests.oracles import kubelet_slots

SHAPE: Final = "soak/shape"
"""The annotation by which a pod tells its shape."""

SIDECAR: Final = Lifetime.SIDECAR
INIT: Final = Lifetime.INIT
APP: Final = Lifetime.APP

GIB: Final = 1_000
"""Not 1,024: sizes then add up to the whole cards in many ways."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What one container asks for."""

    lifetime: Lifetime
    memory: int = 0
    """MiB on each card."""

    gpu: int = 0
    percent: int = 0
    """Of each card's memory, in place of `memory`."""

    cores: int = 0

    def resources(self) -> dict[str, int]:
        """Say it as `tests.builders.resources` takes it; 0 is left out."""
        asked = {
            "gpu": self.gpu,
            "gpumem": self.memory,
            "percentage": self.percent,
            "cores": self.cores,
        }
        return {name: amount for name, amount in asked.items() if amount}

    def request(self) -> ContainerRequest:
        """Say it as the oracle reads it."""
        if not self.gpu:
            return ContainerRequest()
        if self.memory:
            return ContainerRequest(self.gpu, self.memory, 0, self.cores)
        return ContainerRequest(self.gpu, None, self.percent or 100, self.cores)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a pod is made of; `weight` is how many of a hundred or so are like it."""

    name: str
    weight: int
    asks: tuple[Ask, ...]
    """In start order."""

    def builder(self, pod_name: str) -> PodBuilder:
        """Describe a pod of this shape."""
        built = pod(pod_name).annotations({SHAPE: self.name})
        for number, ask in enumerate(self.asks):
            match ask.lifetime:
                case Lifetime.SIDECAR:
                    built = built.sidecar(f"s{number}", **ask.resources())
                case Lifetime.INIT:
                    built = built.init(f"i{number}", **ask.resources())
                case Lifetime.APP:
                    built = built.app(f"a{number}", **ask.resources())
        return built

    def request(self) -> PodRequest:
        """Say the same to the oracle."""
        lifetimes = tuple(ask.lifetime for ask in self.asks)
        containers = tuple(ask.request() for ask in self.asks)
        slots = kubelet_slots(lifetimes, containers)
        return PodRequest("NVIDIA", lifetimes, containers, kubelet_slots=slots)

    def steady_mib(self, card: int) -> int:
        """Work out what it holds, on all cards together, while its apps run."""
        return sum(
            ask.gpu * (ask.memory or card * (ask.percent or 100) // 100)
            for ask in self.asks
            if ask.lifetime is not INIT
        )


def _one(lifetime: Lifetime, gib: int, **more: int) -> Ask:
    return Ask(lifetime, gib * GIB, gpu=1, **more)


def _shapes() -> Iterator[Shape]:
    for gib, weight in ((1, 3), (3, 8), (6, 8), (11, 4), (15, 2)):
        yield Shape(f"app-{gib}", weight, (_one(APP, gib),))
    for gib in (2, 5):
        both = (_one(SIDECAR, gib), _one(APP, 2 * gib))
        yield Shape(f"sidecar-app-{gib}", 7, both)
        init_first = (_one(INIT, 3 * gib), _one(SIDECAR, 1), _one(APP, gib))
        yield Shape(f"init-sidecar-app-{gib}", 7, init_first)
        sidecar_first = (_one(SIDECAR, 1), _one(INIT, 3 * gib), _one(APP, gib))
        yield Shape(f"sidecar-init-app-{gib}", 7, sidecar_first)
    inits = (_one(INIT, 12), _one(INIT, 9), _one(INIT, 4))
    yield Shape("three-inits", 5, (*inits, _one(APP, 5)))
    yield Shape("two-cards", 4, (Ask(APP, 4 * GIB, gpu=2, cores=20),))
    in_turn = (Ask(INIT, 8 * GIB, gpu=2), _one(SIDECAR, 2), _one(APP, 3, cores=30))
    yield Shape("init-on-two-cards", 4, in_turn)
    yield Shape("gpu-only-in-init", 5, (_one(INIT, 13), Ask(APP)))
    yield Shape("a-quarter", 4, (Ask(APP, gpu=1, percent=25),))
    yield Shape("half-a-card", 3, (Ask(SIDECAR), Ask(APP, gpu=1, percent=50)))
    yield Shape("whole-card", 2, (Ask(APP, gpu=1),))
    yield Shape("all-cores", 2, (_one(APP, 4, cores=100),))
    yield Shape("without-gpu", 3, (Ask(INIT), Ask(APP)))


SHAPES: Final = {shape.name: shape for shape in _shapes()}


def shape_of(shown: Json) -> Shape:
    """Tell the shape of a pod of the soak."""
    return SHAPES[shown["metadata"]["annotations"][SHAPE]]
