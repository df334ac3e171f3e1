"""Cards, nodes and pods as values of the model, built in one line.

For tests of the rooms behind the wire; tests that go through the wire use
`tests.builders`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypedDict, Unpack

from extender.core.allocation import Allocation, Row, Share, UnreadableAllocation
from extender.core.bucket import NodeTotals
from extender.core.container import Container, Lifetime
from extender.core.device_policy import SPREAD_CARDS, DevicePolicy
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.kinds import NVIDIA
from extender.core.mig import MigInstance, MigPlacement, MigProfile, MigProfiles
from extender.core.names import DeviceUUID, KindWord, NodeName, PodUID
from extender.core.node import Device, Inventory, Links, Node
from extender.core.pod import Pod
from extender.core.pod_request import (
    ANY_DEVICE,
    ContainerRequest,
    PodRequest,
    Policy,
    Selection,
)
from extender.core.pod_status import PodStatus
from extender.core.usage import Usage
from extender.verbs.prioritize import score_nodes
from tests.oracles import kubelet_slots

N1, N2, N3, N4 = (NodeName(f"n{number}") for number in range(1, 5))

GPU: Final = NVIDIA.type_word
"""The kind of all that names no other."""

GPUS: Final = frozenset({GPU})

NPU: Final = "NPU"
"""Another kind, for what both have to do with each other."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One container of a pod in the making."""

    lifetime: Lifetime
    request: ContainerRequest


def asks(
    memory: int | None = 1_000, *, count: int = 1, percent: int = 0, cores: int = 0
) -> ContainerRequest:
    """Ask for MiB on each card, or for `percent` where `memory` is None."""
    return ContainerRequest(count, memory, percent, cores)


def app(
    memory: int | None = 1_000, *, count: int = 1, percent: int = 0, cores: int = 0
) -> Asked:
    """Make an app; arguments as for `asks`."""
    return Asked(Lifetime.APP, asks(memory, count=count, percent=percent, cores=cores))


def init(
    memory: int | None = 1_000, *, count: int = 1, percent: int = 0, cores: int = 0
) -> Asked:
    """Make an init; arguments as for `asks`."""
    return Asked(Lifetime.INIT, asks(memory, count=count, percent=percent, cores=cores))


def sidecar(
    memory: int | None = 1_000, *, count: int = 1, percent: int = 0, cores: int = 0
) -> Asked:
    """Make a sidecar; arguments as for `asks`."""
    return Asked(
        Lifetime.SIDECAR, asks(memory, count=count, percent=percent, cores=cores)
    )


IDLE_APP = Asked(Lifetime.APP, ContainerRequest())
"""Asks for nothing."""


def request(
    *containers: Asked,
    selection: Selection = ANY_DEVICE,
    cards: DevicePolicy = SPREAD_CARDS,
    nodes: Policy = Policy.BINPACK,
    kind: KindWord = GPU,
) -> PodRequest:
    """Put containers together, in start order."""
    lifetimes = tuple(container.lifetime for container in containers)
    asked = tuple(container.request for container in containers)
    slots = kubelet_slots(lifetimes, asked)
    return PodRequest(kind, lifetimes, asked, selection, cards, nodes, slots)


def pod(
    name: str,
    *wanted: PodRequest,
    on: NodeName | None = None,
    allocation: Allocation | UnreadableAllocation | None = None,
    status: PodStatus | None = None,
    problem: str | None = None,
) -> Pod:
    """Show a pod; its containers are called ``c0``, ``c1`` and so on.

    One request a kind, each with the same lifetimes.
    """
    return Pod(
        uid=PodUID(f"uid-{name}"),
        namespace="default",
        name=name,
        node_name=on,
        containers=tuple(
            Container(f"c{index}", lifetime)
            for index, lifetime in enumerate(wanted[0].lifetimes)
        ),
        requests=wanted,
        request_problem=problem,
        allocation=allocation,
        status=status or PodStatus(),
    )


def row(*shares: tuple[str, int, int], kind: KindWord = GPU) -> Row:
    """Hold MiB and percent of cards: ``row(("GPU-a", 8_000, 30))``."""
    return tuple(
        Share(DeviceUUID(uuid), memory_mib, core_percent, kind)
        for uuid, memory_mib, core_percent in shares
    )


def card(
    uuid: str,
    *,
    index: int = 0,
    memory: int = 24_000,
    slots: int = 10,
    cores: int = 100,
    model: str = "NVIDIA A10",
    is_healthy: bool = True,
    is_cordoned: bool = False,
    mode: str = "hami-core",
    numa: int = 0,
    profiles: MigProfiles = (),
) -> Device:
    """Register a card."""
    return Device(
        DeviceUUID(uuid),
        index,
        Usage(slots, memory, cores),
        model,
        is_healthy,
        is_cordoned,
        mode,
        numa,
        profiles,
    )


def instance(profile: str, start: int, size: int) -> MigInstance:
    """Cut a part out of a card in MIG mode."""
    return MigInstance(profile, MigPlacement(start, size))


def _profile(
    name: str, memory: int, cores: int, starts: Sequence[int], size: int
) -> MigProfile:
    places = tuple(MigPlacement(start, size) for start in starts)
    return MigProfile(name, memory, cores, int(name[0]), places)


A100_PROFILES = (
    _profile("1g.5gb", 4_864, 15, range(7), 1),
    _profile("2g.10gb", 9_984, 29, (0, 2, 4), 2),
    _profile("3g.20gb", 20_096, 43, (0, 4), 4),
    _profile("7g.40gb", 40_192, 100, (0,), 8),
)
"""As an A100 of 40 GB registers them."""


def a100(uuid: str, *, index: int = 0, slots: int = 7, numa: int = 0) -> Device:
    """Register an A100 of 40 GB in MIG mode."""
    return card(
        uuid,
        index=index,
        memory=40_960,
        slots=slots,
        model="NVIDIA A100-SXM4-40GB",
        mode="mig",
        numa=numa,
        profiles=A100_PROFILES,
    )


def node(
    name: NodeName,
    *cards: Device,
    allocatable: int | None = None,
    kind: KindWord = GPU,
) -> Node:
    """Show a node; allocatable is the sum of its cards' slots unless given."""
    return with_cards(Node(name), *cards, allocatable=allocatable, kind=kind)


def with_cards(
    shown: Node,
    *cards: Device,
    allocatable: int | None = None,
    kind: KindWord = NPU,
) -> Node:
    """Show cards of another kind besides; allocatable as for `node`."""
    if allocatable is None:
        allocatable = sum(each.capacity.slots for each in cards)
    added = {kind: Inventory(cards, allocatable)}
    return replace(shown, inventories={**shown.inventories, **added})


class InventoryChanges(TypedDict, total=False):
    """Fields of an `Inventory`."""

    devices: tuple[Device, ...] | None
    allocatable_slots: int
    problem: str | None
    is_left_out: bool
    links: Links


def with_inventory(
    shown: Node, kind: KindWord = GPU, **changes: Unpack[InventoryChanges]
) -> Node:
    """Change what a node shows of one kind."""
    changed = replace(shown.inventories[kind], **changes)
    return replace(shown, inventories={**shown.inventories, kind: changed})


def inventory_of(shown: Node) -> Inventory:
    """Give what a node shows of its only kind."""
    (inventory,) = shown.inventories.values()
    return inventory


def held(
    node_name: NodeName,
    charge: Mapping[str, Usage],
    *,
    kubelet: int = 0,
    kind: KindWord = GPU,
    slices: Mapping[str, tuple[int, ...]] | None = None,
) -> Holding:
    """Hold amounts on cards of a node, and slices of those in MIG mode."""
    by_uuid = {DeviceUUID(uuid): usage for uuid, usage in charge.items()}
    counts = {DeviceUUID(uuid): each for uuid, each in (slices or {}).items()}
    slots = {kind: kubelet} if kubelet else {}
    return Holding(node_name, by_uuid, slots, slices=counts)


def fleet_of(nodes: Sequence[Node], holdings: Iterable[Holding] = ()) -> Fleet:
    """Put nodes into a fleet, and then what is held there."""
    fleet = Fleet()
    for each in nodes:
        fleet.put(each, ())
    for holding in holdings:
        fleet.add(holding)
    return fleet


def request_of(asking: Pod) -> PodRequest:
    """Give what a pod asks of its only kind."""
    (wanted,) = asking.requests
    return wanted


def totals_of(fleet: Fleet, name: NodeName, kind: KindWord = GPU) -> NodeTotals | None:
    """Read what is held on one node of one kind; None where no card of it counts."""
    return fleet.totals(name).get(kind)


def uuids(allocation: Allocation | None) -> list[list[str]] | None:
    """Name the cards of each row; None where there is no allocation."""
    if allocation is None:
        return None
    return [[str(share.device_uuid) for share in each] for each in allocation]


def scored(
    fleet: Fleet,
    pod: Pod,
    node_names: Sequence[NodeName],
    own: Holding | None,
) -> list[tuple[NodeName, int]]:
    """Score nodes, each beside its name."""
    scores = score_nodes(fleet, pod, node_names, own)
    return list(zip(node_names, scores.tolist(), strict=True))
