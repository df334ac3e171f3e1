"""The pods that are asked about: what each asks for, and which nodes can hold it.

What a shape asks for depends on a number. Different numbers ask for different amounts
or cards, so nothing that a server remembers of one answers another.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.cluster import LEAST_HELD_MIB, Manifest
from benchmarks.layout import CARD_MEMORY_MIB, Cards, ClusterPlan, card_uuid

MOST_QUESTIONS: Final = 10_000
"""Questions of one shape whose amounts of memory all differ and suit the shape."""

_LEAST_MIB: Final = 1_024
_WANTED_TYPE: Final = "A100"
_OTHER_TYPE: Final = "H100"
_NAMED_CARDS: Final = 16

Containers = tuple[list[Manifest], list[Manifest]]
"""initContainers and containers."""

Fitting = Callable[[ClusterPlan, int], Iterable[int]]
"""Numbers of the nodes that can hold the pod, ascending, by the question's number."""


def _no_annotations(_plan: ClusterPlan, _number: int) -> dict[str, str]:
    return {}


def _all_nodes(plan: ClusterPlan, _number: int) -> Iterable[int]:
    return range(plan.nodes)


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of pod.

    Attributes:
        name: As workloads and reports have it.
        containers: Builds the containers from the question's number.
        annotations: Builds the pod's annotations, from that number too.
        fitting: Numbers the nodes of a made cluster that can hold it, so that an
            answer is judged by how the cluster was made, not by another answer.
    """

    name: str
    containers: Callable[[int], Containers]
    annotations: Callable[[ClusterPlan, int], Mapping[str, str]] = _no_annotations
    fitting: Fitting = _all_nodes


def _one_app(number: int) -> Containers:
    return [], [_container("app", _LEAST_MIB + number)]


def _sidecar_init_app(number: int) -> Containers:
    sidecar = _container("sidecar", _LEAST_MIB + number) | _SIDECAR
    return [sidecar, _container("init", 20_480)], [_container("app", 10_240)]


def _eight_cards(number: int) -> Containers:
    return [], [_container("app", _LEAST_MIB + number, cards=8)]


def _with_eight_cards(plan: ClusterPlan, _number: int) -> Iterable[int]:
    return _nodes_where(plan, lambda cards: cards.count >= 8)


def _twenty_containers(number: int) -> Containers:
    sidecars = [_container(f"sidecar-{index}", 256) | _SIDECAR for index in range(4)]
    inits = [_container(f"init-{index}", 2_048) for index in range(6)]
    apps = [_container(f"app-{index}", 512) for index in range(9)]
    largest = _container("largest", _LEAST_MIB + number)
    return [*sidecars, *inits], [largest, *apps]


def _refused(number: int) -> Containers:
    """Ask for less than a card has and more than is free on any that has a pod."""
    return [], [_container("app", CARD_MEMORY_MIB - LEAST_HELD_MIB + 1 + number)]


def _with_idle_card(plan: ClusterPlan, _number: int) -> Iterable[int]:
    return _nodes_where(plan, lambda cards: cards.count > plan.pods_per_node)


def _wants_type(_plan: ClusterPlan, _number: int) -> dict[str, str]:
    return {"nvidia.com/use-gputype": _WANTED_TYPE}


def _avoids_type(_plan: ClusterPlan, _number: int) -> dict[str, str]:
    return {"nvidia.com/nouse-gputype": _OTHER_TYPE}


def _of_type(plan: ClusterPlan, _number: int) -> Iterable[int]:
    return _nodes_where(plan, lambda cards: _WANTED_TYPE in cards.type)


def _nodes_where(plan: ClusterPlan, holds: Callable[[Cards], bool]) -> Iterable[int]:
    return (number for number, cards in enumerate(plan.all_cards()) if holds(cards))


def _wants_cards(plan: ClusterPlan, number: int) -> dict[str, str]:
    return {"nvidia.com/use-gpuuuid": _named_cards(plan, number)}


def _avoids_cards(plan: ClusterPlan, number: int) -> dict[str, str]:
    return {"nvidia.com/nouse-gpuuuid": _named_cards(plan, number)}


def _named_cards(plan: ClusterPlan, number: int) -> str:
    return ",".join(card_uuid(node, 0) for node in _with_named_card(plan, number))


def _with_named_card(plan: ClusterPlan, number: int) -> Iterable[int]:
    """Choose nodes all over the cluster."""
    apart = max(1, plan.nodes // _NAMED_CARDS)
    return sorted(
        {(number + turn * apart) % plan.nodes for turn in range(_NAMED_CARDS)}
    )


_SIDECAR: Final[Manifest] = {"restartPolicy": "Always"}


def _container(name: str, memory_mib: int, *, cards: int = 1) -> Manifest:
    asked = {
        "cpu": "4",
        "memory": "16Gi",
        "nvidia.com/gpu": str(cards),
        "nvidia.com/gpumem": str(memory_mib),
    }
    return {
        "name": name,
        "image": "busybox:1.37",
        "resources": {"limits": asked, "requests": asked},
        "volumeMounts": [{"name": "token", "readOnly": True, "mountPath": "/var/run"}],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


SHAPES: Final = (
    Shape("one app", _one_app),
    Shape("sidecar + init + app", _sidecar_init_app),
    Shape("8 cards", _eight_cards, fitting=_with_eight_cards),
    Shape("20 containers", _twenty_containers),
    Shape("use type", _one_app, _wants_type, _of_type),
    Shape("avoid type", _one_app, _avoids_type, _of_type),
    Shape("use 16 uuids", _one_app, _wants_cards, _with_named_card),
    Shape("avoid 16 uuids", _one_app, _avoids_cards),
    Shape("refused", _refused, fitting=_with_idle_card),
)

SMALL: Final = Shape("small", lambda _number: ([], [_container("app", 1)]))
"""A pod that fits beside all others; its bind changes a node, and hardly its room."""

SHAPE_BY_NAME: Final[Mapping[str, Shape]] = {shape.name: shape for shape in SHAPES}
