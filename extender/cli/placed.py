"""A placed pod, as JSON and as tables."""

from collections.abc import Mapping
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from extender.cli.terminal import printable
from extender.cli.usages import (
    devices_of,
    indented,
    phase_table,
    phases_json,
    usage_json,
)
from extender.core.allocation import Allocation, Row, Share, UnreadableAllocation
from extender.core.container import ContainerUsage
from extender.core.names import DeviceUUID
from extender.core.node import Node
from extender.core.phases import container_usages, effective_usage, steady_usage
from extender.core.pod import Pod
from extender.core.usage import NOTHING
from extender.embedded.scheduler import PlacedPod


def placed_json(placed: PlacedPod) -> dict[str, object]:
    """Describe where a pod went; docs/schedule.schema.json has the schema."""
    pod, allocation = placed.pod, _allocation(placed.pod)
    usages = _usages(pod)
    effective, steady = effective_usage(usages), steady_usage(usages)
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "placed": True,
        "node": placed.node_name,
        "score": placed.score,
        "candidates": placed.candidate_count,
        "containers": [
            {
                "name": container.name,
                "lifetime": container.lifetime.value,
                "devices": _row_json(row),
            }
            for container, row in zip(pod.containers, allocation, strict=True)
        ],
        "devices": {
            uuid: {
                "phases": phases_json(pod.containers, usages, uuid),
                "effective": usage_json(effective.get(uuid, NOTHING)),
                "steady": usage_json(steady.get(uuid, NOTHING)),
            }
            for uuid in devices_of(usages)
        },
        "warnings": list(pod.warnings),
    }


def _row_json(row: Row) -> list[dict[str, object]]:
    return [
        {
            "uuid": share.device_uuid,
            "memory_mib": share.memory_mib,
            "core_percent": share.core_percent,
            **({"mig": asdict(share.instance)} if share.instance else {}),
        }
        for share in row
    ]


def print_placed(
    console: Console, placed: PlacedPod, nodes: Mapping[str, Node]
) -> None:
    """Print the node, the devices of each container, and the charge per device."""
    pod = placed.pod
    count = placed.candidate_count
    fitted = "1 node fits" if count == 1 else f"{count} nodes fit"
    console.print(
        Text.assemble(
            (printable(pod.full_name), "bold"),
            " -> ",
            (printable(placed.node_name), "bold green"),
            f"  score {placed.score} of 10; {fitted}",
        )
    )
    usages = _usages(pod)
    if not devices_of(usages):
        console.print("  asks for no GPU; every node fits")
        return
    devices = {each.device_uuid: each for each in nodes[placed.node_name].devices}
    table = _containers_table(pod, {u: d.index for u, d in devices.items()})
    console.print(indented(table))
    effective = effective_usage(usages)
    for uuid in devices_of(usages):
        device = devices[uuid]
        card = f"  card {device.index}: {uuid} {device.model}"
        console.print(printable(card), soft_wrap=True)
        charged = [("charged (largest phase)", effective)]
        console.print(indented(phase_table(pod.containers, usages, uuid, charged)))


def _containers_table(pod: Pod, index_of: Mapping[DeviceUUID, int]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    kinds = {share.kind for row in _allocation(pod) for share in row}
    table.add_column("container")
    table.add_column("lifetime")
    if len(kinds) > 1:
        table.add_column("kind")
    table.add_column("cards")
    table.add_column("memory MiB each", justify="right")
    table.add_column("cores % each", justify="right")
    for container, row in zip(pod.containers, _allocation(pod), strict=True):
        named = (printable(container.name), container.lifetime.value)
        for kind, shares in _by_kind(row).items():
            first = shares[0] if shares else None
            table.add_row(
                *named,
                *([kind] if len(kinds) > 1 else []),
                ", ".join(_card(share, index_of) for share in shares) or "-",
                str(first.memory_mib) if first else "-",
                str(first.core_percent) if first else "-",
            )
            named = ("", "")
    return table


def _by_kind(row: Row) -> dict[str, list[Share]]:
    """Tell the kinds of a row apart; one without cards is of none."""
    found: dict[str, list[Share]] = {}
    for share in row:
        found.setdefault(share.kind, []).append(share)
    return found or {"-": []}


def _card(share: Share, index_of: Mapping[DeviceUUID, int]) -> str:
    """Name a card by its index, and the instance of it that the container gets."""
    index = str(index_of[share.device_uuid])
    if share.instance is None:
        return index
    return printable(f"{index} {share.instance.profile}")


def _allocation(pod: Pod) -> Allocation:
    """Give what the cluster shows: one row per container, also without devices."""
    if pod.allocation is None or isinstance(pod.allocation, UnreadableAllocation):
        return ((),) * len(pod.containers)
    return pod.allocation


def _usages(pod: Pod) -> tuple[ContainerUsage, ...]:
    return container_usages(pod.lifetimes, _allocation(pod))
