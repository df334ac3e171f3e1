"""Nodes whose cards do not count as they should, or hold too much."""

from collections.abc import Iterator
from typing import Final

from extender.core.names import NodeName
from extender.core.node import Device, Node
from extender.state.overfull import Cause
from extender.verbs.diagnosis import Diagnosis, Trouble
from extender.verbs.doctor.catalogue import (
    CARDS_CORDONED,
    CARDS_UNHEALTHY,
    NODE_NOT_AS_WRITTEN,
    NODE_UNKNOWN,
    OVERFULL_INHERITED,
    OVERFULL_PLACED,
    OVERFULL_RE_INFLATED,
    OVERFULL_SHRUNK,
    PLUGIN_SILENT,
    REGISTER_UNREADABLE,
)
from extender.verbs.doctor.signs import Signs
from extender.verbs.holders import holders_on

_OF_CAUSE: Final = {
    Cause.PLACED: OVERFULL_PLACED,
    Cause.RE_INFLATED: OVERFULL_RE_INFLATED,
    Cause.INHERITED: OVERFULL_INHERITED,
    Cause.SHRUNK: OVERFULL_SHRUNK,
}

_MOST_HOLDERS: Final = 5


def check_node(signs: Signs, name: NodeName) -> Iterator[Diagnosis]:
    """Tell what is wrong with a node, and with its cards.

    Args:
        signs: What is examined.
        name: Of a node that is known, or on which something is held.
    """
    about = f"node {name}"
    node = signs.ledger.nodes.get(name)
    if node is None:
        pods = ", ".join(sorted(pod.full_name for pod in signs.ledger.pods_on(name)))
        yield NODE_UNKNOWN.found(about, "the API does not show it", f"pods: {pods}")
        return
    for kind in signs.kinds:
        inventory = node.inventories.get(kind.type_word)
        if inventory is None or inventory.is_left_out:
            continue
        if inventory.problem is not None:
            yield REGISTER_UNREADABLE.found(
                about, f"{kind.type_word}: {inventory.problem}"
            )
        elif inventory.devices and not inventory.allocatable_slots:
            yield PLUGIN_SILENT.found(
                about,
                f"{kind.type_word}: allocatable {kind.count_resource} is 0",
                f"it registers {_count(len(inventory.devices))}",
            )
    for warning in node.warnings:
        yield NODE_NOT_AS_WRITTEN.found(about, warning)
    yield from _check_cards(node, about)
    yield from _check_overfull(signs, name)


def _check_cards(node: Node, about: str) -> Iterator[Diagnosis]:
    unhealthy = [each for each in node.devices if not each.is_healthy]
    cordoned = [each for each in node.devices if each.is_cordoned]
    for trouble, devices, how in (
        (CARDS_UNHEALTHY, unhealthy, "unhealthy"),
        (CARDS_CORDONED, cordoned, "closed to new work"),
    ):
        if devices:
            yield _of_cards(trouble, about, devices, how)


def _of_cards(
    trouble: Trouble, about: str, devices: list[Device], how: str
) -> Diagnosis:
    named = ", ".join(f"{each.index} {each.device_uuid}" for each in devices)
    return trouble.found(about, f"{_count(len(devices))} {how}", f"cards: {named}")


def _count(cards: int) -> str:
    return f"{cards} card{'s'[: cards != 1]}"


def _check_overfull(signs: Signs, name: NodeName) -> Iterator[Diagnosis]:
    causes = signs.ledger.overfull.causes.get(name)
    if not causes:
        return
    figures, holders = signs.ledger.overfull_on(name), holders_on(signs.ledger, name)
    for device_uuid, cause in causes.items():
        if device_uuid not in figures:
            continue
        held, capacity = figures[device_uuid]
        there = holders.get(device_uuid, ())
        told = [f"{each.pod} holds {each.held}" for each in there[:_MOST_HOLDERS]]
        if len(there) > _MOST_HOLDERS:
            told.append(f"and {len(there) - _MOST_HOLDERS} more")
        yield _OF_CAUSE[cause].found(
            f"node {name}",
            f"card {device_uuid} holds too much",
            f"held: {held}",
            f"there is: {capacity}",
            *told,
        )
