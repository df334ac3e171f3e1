"""Capacity and charge of devices: one by one, or summed where there are many.

The number of rows is bounded, whatever the cluster. Rows are of devices as long as
these are no more than the bound; else of the devices of one model on one node; else of
all devices of one model. The names stay: labels that a row does not tell are empty,
which to Prometheus is the same as not there, so that sums mean the same at each level.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import islice
from typing import Final, NamedTuple

from extender.core.holding import Holding
from extender.core.names import DeviceUUID, KindWord, NodeName
from extender.core.node import Device, Node
from extender.observe.exposition import Steps, family_steps, label_text
from extender.observe.spec import Label, MetricSpec, gauge
from extender.state.ledger_view import LedgerView

MIB: Final = 1024 * 1024
NODES_AT_A_TIME: Final = 50
"""About three milliseconds of eight cards each."""

_LABELS: Final = (
    Label("kind", meaning="of device, by its word in the device configuration"),
    Label("model", meaning="as registered"),
    Label("node", meaning="its node; empty in a sum over nodes"),
    Label("device_uuid", meaning="the device; empty in a sum over devices"),
)


class Level(StrEnum):
    """What one row is about."""

    DEVICE = "device"
    NODE = "node"
    MODEL = "model"


DEVICES: Final = gauge("devices", "Devices that nodes register.", *_LABELS)
DEVICES_USABLE: Final = gauge(
    "devices_usable",
    "Of these, those that are healthy, not cordoned, and on a node that counts.",
    *_LABELS,
    look_when="fewer than `devices`: a plugin is silent, or a card broke",
)
SLOTS: Final = gauge("device_slots", "Containers that they take at once.", *_LABELS)
SLOTS_CHARGED: Final = gauge(
    "device_slots_charged", "Slots that pods and reservations are charged.", *_LABELS
)
MEMORY: Final = gauge(
    "device_memory_bytes", "Memory that they register.", *_LABELS, unit="bytes"
)
MEMORY_CHARGED: Final = gauge(
    "device_memory_charged_bytes",
    "Memory that pods and reservations are charged.",
    *_LABELS,
    unit="bytes",
)
COMPUTE_CHARGED: Final = gauge(
    "device_compute_charged",
    "Compute that pods and reservations are charged; 1 is all of one device.",
    *_LABELS,
    unit="devices",
)
ROWS: Final = gauge(
    "device_rows",
    "Rows of devices that are shown, by what one row is about.",
    Label("level", tuple(Level)),
    look_when="`device` is 0: there are more devices than `--metrics-device-rows`",
)

OF_ROWS: Final = (
    DEVICES,
    DEVICES_USABLE,
    SLOTS,
    SLOTS_CHARGED,
    MEMORY,
    MEMORY_CHARGED,
    COMPUTE_CHARGED,
)
DEVICE_METRICS: Final[tuple[MetricSpec, ...]] = (*OF_ROWS, ROWS)

Figures = list[float]
"""One figure for each of `OF_ROWS`, in that order."""

Key = tuple[str, ...]
"""Values of a row's labels."""


class ShownDevice(NamedTuple):
    """A device as it is shown; a tuple, since there are tens of thousands a scrape.

    Attributes:
        node_name: Its node.
        kind: Of device.
        device: What is registered.
        is_node_usable: Whether its node's devices of that kind count.
        slots: Charged.
        memory_mib: Charged.
        cores: Charged, in the unit of the device's capacity.
    """

    node_name: NodeName
    kind: KindWord
    device: Device
    is_node_usable: bool
    slots: int
    memory_mib: int
    cores: int

    @property
    def compute(self) -> float:
        """Compute charged; 1 is all of the device."""
        whole = self.device.capacity.core_percent
        return self.cores / whole if whole else 0.0


Charges = Mapping[DeviceUUID, tuple[int, int, int]]


def charges_of(holdings: Iterable[Holding]) -> Charges:
    """Sum what is held on one node, by device: slots, MiB, cores."""
    charges: dict[DeviceUUID, tuple[int, int, int]] = {}
    for holding in holdings:
        for device_uuid, usage in holding.charge.items():
            slots, memory_mib, cores = charges.get(device_uuid, (0, 0, 0))
            charges[device_uuid] = (
                slots + usage.slots,
                memory_mib + usage.memory_mib,
                cores + usage.core_percent,
            )
    return charges


def shown_devices(node: Node, charges: Charges) -> Iterator[ShownDevice]:
    """Give each device that a node registers, with what is charged on it."""
    for kind, inventory in node.inventories.items():
        is_usable = inventory.is_usable
        for device in inventory.devices or ():
            charged = charges.get(device.device_uuid, (0, 0, 0))
            yield ShownDevice(node.name, kind, device, is_usable, *charged)


def devices_in_steps(ledger: LedgerView) -> Iterator[list[ShownDevice]]:
    """Give all devices, those of some nodes at a time; events may come in between."""
    names = list(ledger.nodes)
    for start in range(0, len(names), NODES_AT_A_TIME):
        found: list[ShownDevice] = []
        for name in names[start : start + NODES_AT_A_TIME]:
            node = ledger.nodes.get(name)
            if node is not None:
                found += shown_devices(node, charges_of(ledger.holdings_on(name)))
        yield found


def device_steps(ledger: LedgerView, most_rows: int) -> Callable[[], Steps]:
    """Give what writes the figures of devices.

    Args:
        ledger: Tells nodes and what is held.
        most_rows: Rows at most; each has a sample in each of `OF_ROWS`.
    """

    def steps() -> Steps:
        count = sum(
            len(inventory.devices or ())
            for node in ledger.nodes.values()
            for inventory in node.inventories.values()
        )
        yield b""
        by_device: dict[Key, Figures] | None = None if count > most_rows else {}
        by_node: dict[Key, Figures] = {}
        by_model: dict[Key, Figures] = {}
        for shown in devices_in_steps(ledger):
            here: dict[Key, Figures] = {}
            for each in shown:
                figures, model = _figures(each), each.device.model
                if by_device is None:
                    _add(here, (each.kind, model, each.node_name, ""), figures)
                else:
                    uuid = each.device.device_uuid
                    by_device[each.kind, model, each.node_name, uuid] = figures
            for key, figures in here.items():
                if len(by_node) <= most_rows:
                    by_node[key] = figures
                _add(by_model, (*key[:2], "", ""), figures)
            yield b""
        if by_device is not None:
            yield from _written(Level.DEVICE, by_device, most_rows)
        elif len(by_node) <= most_rows:
            yield from _written(Level.NODE, by_node, most_rows)
        else:
            # Whoever may write nodes may name any number of models.
            yield from _written(Level.MODEL, by_model, most_rows)

    return steps


def _figures(shown: ShownDevice) -> Figures:
    device, capacity = shown.device, shown.device.capacity
    is_usable = shown.is_node_usable and device.is_healthy and not device.is_cordoned
    return [
        1,
        int(is_usable),
        capacity.slots,
        shown.slots,
        capacity.memory_mib * MIB,
        shown.memory_mib * MIB,
        shown.compute,
    ]


def _add(rows: dict[Key, Figures], key: Key, figures: Figures) -> None:
    known = rows.get(key)
    if known is None:
        rows[key] = figures.copy()
    else:
        for index, figure in enumerate(figures):
            known[index] += figure


def _written(level: Level, found: dict[Key, Figures], most_rows: int) -> Steps:
    rows = dict(islice(found.items(), most_rows))
    names = [label.name for label in _LABELS]
    labelled: list[tuple[str, Figures]] = []
    for number, (key, figures) in enumerate(rows.items()):
        labelled.append((label_text(names, key), figures))
        if not number % NODES_AT_A_TIME:
            yield b""
    for index, spec in enumerate(OF_ROWS):
        samples = ((labels, figures[index]) for labels, figures in labelled)
        yield from family_steps(spec, samples)
    counts = ((f'{{level="{each}"}}', len(rows) * (each is level)) for each in Level)
    yield from family_steps(ROWS, counts)
