"""Two kinds of device, and objects that name both, as the wire has them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from extender.core.kind_set import Kinds
from extender.core.kinds import Kind, ServedBy
from extender.wire.pods import PodReader
from tests.builders import Json, PodBuilder, node

ALPHA: Final = Kind(
    type_word="Alpha",
    count_resource="alpha.example/card",
    memory_resource="alpha.example/memory",
    core_resource="alpha.example/cores",
    register_annotation="alpha.example/register",
    to_allocate_annotation="hami.io/alpha-devices-to-allocate",
    allocated_annotation="hami.io/alpha-devices-allocated",
    use_uuid_annotation="alpha.example/use",
)
"""Its plugin serves whom the node's lock names."""

BETA: Final = Kind(
    type_word="Beta",
    count_resource="beta.example/card",
    memory_resource="beta.example/memory",
    register_annotation="beta.example/register",
    allocated_annotation="beta.example/allocated",
    served_by=ServedBy.NOTHING,
)
"""Its plugin takes no notice of pods: nothing is ever left to allocate."""

KINDS: Final = Kinds([ALPHA, BETA])
READER: Final = PodReader(KINDS)


@dataclass(frozen=True, slots=True)
class Asks:
    """What one container asks for: cards of both kinds, and MiB on each."""

    alpha: int = 0
    alpha_mib: int = 0
    beta: int = 0
    beta_mib: int = 0

    def limits(self) -> dict[str, str]:
        """Print it; 0 is left out."""
        asked = {
            "alpha.example/card": self.alpha,
            "alpha.example/memory": self.alpha_mib,
            "beta.example/card": self.beta,
            "beta.example/memory": self.beta_mib,
        }
        return {name: str(amount) for name, amount in asked.items() if amount}


def pod_of(shown: PodBuilder, asks: Mapping[str, Asks]) -> Json:
    """Print a pod, of which the named containers ask for this."""
    printed = shown.build()
    spec = printed["spec"]
    for container in [*spec.get("initContainers", ()), *spec["containers"]]:
        if container["name"] in asks:
            container["resources"] = {"limits": asks[container["name"]].limits()}
    return printed


def node_of(
    name: str,
    alpha: Mapping[str, int] | None = None,
    beta: Mapping[str, int] | None = None,
    *,
    slots: int = 10,
) -> Json:
    """Print a node whose cards of each kind have so many MiB; None registers nothing.

    Each card has `slots`, and the kind's allocatable is their sum.
    """
    texts: dict[str, str] = {}
    offered: dict[str, str] = {}
    for kind, cards in ((ALPHA, alpha), (BETA, beta)):
        if cards is not None:
            texts[str(kind.register_annotation)] = json.dumps(
                [
                    {
                        "id": uuid,
                        "index": index,
                        "count": slots,
                        "devmem": memory_mib,
                        "devcore": 100,
                        "type": f"{kind.type_word} 1",
                        "health": True,
                    }
                    for index, (uuid, memory_mib) in enumerate(cards.items())
                ]
            )
            offered[kind.count_resource] = str(slots * len(cards))
    printed = node(name).annotations(texts).build()
    printed["status"]["allocatable"].update(offered)
    return printed
