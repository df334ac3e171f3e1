"""Cards that a node's capacity tells of, where no annotation registers them."""

from collections.abc import Mapping
from typing import Final

from extender.core.kind_parts import CapacityCards
from extender.core.kinds import Kind
from extender.core.names import MAX_INT32, DeviceUUID, NodeName
from extender.core.node import Device
from extender.core.usage import Usage
from extender.errors import BadQuantity
from extender.wire.objects import object_at
from extender.wire.quantity import parse_whole

MOST_CARDS: Final = 1024
"""Of one node. No machine has so many, and each becomes a row of arrays."""


def cards_by_capacity(
    node: Mapping[str, object],
    node_name: NodeName,
    kind: Kind,
    cards: CapacityCards,
    cordoned: frozenset[DeviceUUID],
    *,
    mode: str = "",
) -> tuple[Device, ...] | None:
    """Make the cards that ``status.capacity`` tells of.

    Args:
        node: The JSON object.
        node_name: Its name, of which the cards' ids are made.
        kind: Gives word and memory factor.
        cards: What is counted, and what each card has.
        cordoned: Cards that get no new work.
        mode: Of each.

    Returns:
        The cards in order of their index; None where the node names no such capacity,
        or has 0 of it.

    Raises:
        BadObject: ``status`` or ``capacity`` is no object.
        BadQuantity: A capacity cannot be read, or is no whole number of cards, or the
            cards have another number of cores.

    Source: GetNodeDevices of cambricon, enflame (gcu), mthreads, metax (gpu), kunlun
    (xpu) and awsneuron in HAMi v2.10; their ids are what it wrote into allocations.
    """
    status = object_at(node, "status", "node")
    capacity = object_at(status, "capacity", "status")
    units = _amount(capacity, cards.resource)
    if units == 0:
        return None
    count, rest = divmod(units, cards.units_per_card)
    field = f"status.capacity[{cards.resource}]"
    if rest:
        raise BadQuantity(field, units, f"a multiple of {cards.units_per_card}")
    if count > MOST_CARDS:
        most = MOST_CARDS * cards.units_per_card
        raise BadQuantity(field, units, f"at most {most}, {MOST_CARDS} cards")
    _check_cores(capacity, cards, count)
    memory_mib = cards.memory_mib
    if cards.memory_resource is not None:
        total = _amount(capacity, cards.memory_resource) * kind.unit_mib
        memory_mib = min(total // count, MAX_INT32)
    uuids = [
        DeviceUUID(cards.id_pattern.format(node=node_name, index=index))
        for index in range(count)
    ]
    return tuple(
        Device(
            device_uuid=device_uuid,
            index=index,
            capacity=Usage(cards.slots, memory_mib, cards.core_percent),
            model=kind.type_word,
            mode=mode,
            is_cordoned=device_uuid in cordoned,
            numa_node=index * cards.numa_nodes // count,
        )
        for index, device_uuid in enumerate(uuids)
    )


def _check_cores(
    capacity: Mapping[str, object], cards: CapacityCards, count: int
) -> None:
    """See that the cards have as many cores as the kind says."""
    if cards.core_resource is None:
        return
    cores, expected = _amount(capacity, cards.core_resource), count * cards.core_percent
    if cores != expected:
        field = f"status.capacity[{cards.core_resource}]"
        each = f"{cards.core_percent} for each {cards.resource}"
        raise BadQuantity(field, cores, f"{expected}, {each}")


def _amount(capacity: Mapping[str, object], resource: str) -> int:
    if resource not in capacity:
        return 0
    field = f"status.capacity[{resource}]"
    amount = parse_whole(capacity[resource], field)
    if not 0 <= amount <= MAX_INT32:
        raise BadQuantity(field, amount, f"in the range 0 to {MAX_INT32}")
    return amount
