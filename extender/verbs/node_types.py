"""Types of node: what a further node would be like."""

import re
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Final

from extender.core.names import DeviceUUID, NodeName
from extender.core.node import Device, Inventory, Node
from extender.errors import NotFound
from extender.state.ledger_view import LedgerView
from extender.verbs.supposition import CardShape

_MODEL: Final = re.compile(r"(.+?)\s*x\s*([1-9][0-9]?)")

_MOST_TYPES: Final = 8
"""That are told of unasked."""

_NODES_A_STEP: Final = 64


def node_of_type(ledger: LedgerView, word: str) -> Node:
    """Make a node of a type, with nothing held there; `numbered` makes further ones.

    All its cards are healthy and open, and have UUIDs of their own. A ``~`` stands
    before its name: no node of a cluster has one, and among equals it comes last.

    Args:
        ledger: Knows nodes and cards.
        word: A node's name, to be copied; or a card model and a number, such as
            ``NVIDIA A10x4``: so many cards like the first of that model by node name, 1
            to 99.

    Raises:
        NotFound: There is neither such a node nor such a card.
    """
    name = _name(word, 0)
    known = ledger.nodes.get(NodeName(word))
    if known is not None and any(_counts(each) for each in known.inventories.values()):
        return _copy(known, name)
    found = _MODEL.fullmatch(word)
    if found is not None:
        model, count = found[1], int(found[2])
        for kind, device in _devices(ledger):
            if device.model == model:
                cards = tuple(replace(device, index=at) for at in range(count))
                slots = count * device.capacity.slots
                return Node(name, {kind: _renamed(Inventory(cards, slots), name)})
    models = sorted({device.model for _, device in _devices(ledger)})
    raise NotFound(
        f"no type of node is {word!r}: expected the name of a node whose devices can "
        "be read, or a card model and a number, such as "
        f"{models[0] if models else 'NVIDIA A10'}x4"
        + (f"; models are {', '.join(models)}" if models else "")
    )


def numbered(node: Node, word: str, number: int) -> Node:
    """Make another node of a type, with UUIDs of its own.

    Args:
        node: Of that type.
        word: The type.
        number: Of this one, from 1.
    """
    return _copy(node, _name(word, number))


def _name(word: str, number: int) -> NodeName:
    return NodeName(f"~{word}-{number}")


def _copy(known: Node, name: NodeName) -> Node:
    inventories = {
        kind: _renamed(each, name)
        for kind, each in known.inventories.items()
        if _counts(each)
    }
    return Node(name, inventories)


def type_steps(ledger: LedgerView) -> Generator[None, None, dict[str, Node]]:
    """Make nodes that stand for all there are: one of each set of cards.

    Returns:
        By the name of the first such node; those of which there are most come first,
        up to some.
    """
    nodes = dict(ledger.nodes)
    first: dict[frozenset[tuple[CardShape, int]], NodeName] = {}
    counts: Counter[NodeName] = Counter()
    for number, node in enumerate(nodes.values(), start=1):
        shapes = frozenset(Counter(_shapes(node)).items())
        if shapes:
            name = min(first.get(shapes, node.name), node.name)
            counts[name] = counts.pop(first.get(shapes, name), 0) + 1
            first[shapes] = name
        if number % _NODES_A_STEP == 0:
            yield
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    return {name: _copy(nodes[name], _name(name, 0)) for name in ranked[:_MOST_TYPES]}


def _shapes(node: Node) -> Iterator[CardShape]:
    for kind, inventory in node.inventories.items():
        for device in (inventory.devices or ()) if _counts(inventory) else ():
            size = device.capacity
            yield CardShape(
                kind,
                device.model,
                size.slots,
                size.memory_mib,
                size.core_percent,
                device.mode,
            )


def _counts(inventory: Inventory) -> bool:
    return bool(inventory.devices) and inventory.is_usable and not inventory.is_left_out


def _devices(ledger: LedgerView) -> Iterator[tuple[str, Device]]:
    for name in sorted(ledger.nodes):
        for kind, inventory in ledger.nodes[name].inventories.items():
            for device in inventory.devices or ():
                yield kind, device


def _renamed(inventory: Inventory, name: NodeName) -> Inventory:
    """Give the cards UUIDs of their own, and keep how they are linked."""
    devices = inventory.devices or ()
    uuids = [DeviceUUID(f"{name}/{position}") for position in range(len(devices))]
    new = dict(zip([each.device_uuid for each in devices], uuids, strict=True))
    return replace(
        inventory,
        devices=tuple(
            replace(device, device_uuid=uuid, is_healthy=True, is_cordoned=False)
            for device, uuid in zip(devices, uuids, strict=True)
        ),
        links={
            new[one]: {
                new[other]: score for other, score in scores.items() if other in new
            }
            for one, scores in inventory.links.items()
            if one in new
        },
    )
