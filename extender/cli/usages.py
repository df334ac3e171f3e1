"""Usages and phases, as JSON and as tables with units."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from rich.padding import Padding
from rich.table import Table

from extender.cli.terminal import printable
from extender.core.container import Container, ContainerUsage
from extender.core.names import DeviceUUID
from extender.core.phases import phases
from extender.core.usage import NOTHING, Charge, Usage
from extender.verbs.pod_phases import phase_name


def usage_json(usage: Usage) -> dict[str, int]:
    """Give the three dimensions by name."""
    return asdict(usage)


def devices_of(containers: Iterable[ContainerUsage]) -> list[DeviceUUID]:
    """List the devices that any container names, each once, in order of naming."""
    return list(
        dict.fromkeys(uuid for each in containers for uuid in (*each.held, *each.kept))
    )


def phases_json(
    containers: Sequence[Container],
    usages: Sequence[ContainerUsage],
    device_uuid: DeviceUUID,
) -> list[dict[str, object]]:
    """List what one device holds in each phase."""
    return [
        {
            "init": None
            if phase.init_index is None
            else containers[phase.init_index].name,
            **usage_json(phase.held.get(device_uuid, NOTHING)),
        }
        for phase in phases(usages)
    ]


def phase_table(
    containers: Sequence[Container],
    usages: Sequence[ContainerUsage],
    device_uuid: DeviceUUID,
    totals: Sequence[tuple[str, Charge]],
    *,
    released_inits: int = 0,
) -> Table:
    """Draw one device's phases, and totals below them.

    Args:
        containers: In start order.
        usages: What each holds.
        device_uuid: The device.
        totals: Name and charge of each line below the phases.
        released_inits: How many phases, from the first, are over.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("phase", min_width=30)
    table.add_column("slots", justify="right")
    table.add_column("memory MiB", justify="right")
    table.add_column("cores %", justify="right")
    for number, phase in enumerate(phases(usages)):
        held = phase.held.get(device_uuid, NOTHING)
        name = printable(phase_name(phase.init_index, containers))
        if phase.init_index is not None and number < released_inits:
            name = f"{name} (over)"
        table.add_row(name, *_numbers(held))
    for name, charge in totals:
        held = charge.get(device_uuid, NOTHING)
        table.add_row(name, *_numbers(held), style="bold")
    return table


def indented(table: Table) -> Padding:
    """Set a table below the line that it belongs to."""
    return Padding(table, (0, 0, 0, 4), expand=False)


def _numbers(usage: Usage) -> tuple[str, str, str]:
    return str(usage.slots), str(usage.memory_mib), str(usage.core_percent)
