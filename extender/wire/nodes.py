"""Kubernetes Node objects, reduced to what decides."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from extender.core.kinds import Kind, RegisterForm
from extender.core.names import MAX_INT32, DeviceUUID, KindWord, NodeName
from extender.core.neighbours import RING_MODE
from extender.core.node import Device, Inventory, Links, Node
from extender.errors import BadObject, BadQuantity, WireError
from extender.wire.capacity_cards import cards_by_capacity
from extender.wire.kind_annotations import IN_SOFTWARE
from extender.wire.label_selector import EVERYTHING, LabelSelector
from extender.wire.links import decode_links
from extender.wire.lock import LOCK_ANNOTATION
from extender.wire.objects import as_object, name_at, object_at, shown
from extender.wire.quantity import parse_whole
from extender.wire.register import decode_inventory
from extender.wire.register_drs import decode_drs_inventory
from extender.wire.register_metax import decode_metax_inventory, decode_metax_links

CORDON_ANNOTATION: Final = "hami.io/device-cordon"

_CUT_BY_DRIVER: Final = "template"
"""Mode of cards that are not shared in software, of a kind that may be; ours."""


def decode_node(
    obj: object, kinds: Iterable[Kind], selector: LabelSelector = EVERYTHING
) -> Node:
    """Read a node's inventories and how many device ids kubelet offers.

    What cannot be read, besides the name, becomes the `problem` of an inventory: it
    refuses this node to pods that ask for this kind, and no other.

    Args:
        obj: The JSON object.
        kinds: Give the names of annotations and count resources.
        selector: Which nodes are scheduled here; of others no inventory is read.

    Raises:
        BadObject: It is no object, or has no name.
    """
    node = as_object(obj, "node")
    metadata = object_at(node, "metadata", "node")
    name = NodeName(name_at(metadata, "name", "metadata"))
    inventories: dict[KindWord, Inventory] = {}
    warnings: list[str] = []
    is_left_out, problem = False, None
    try:
        is_left_out = not _is_selected(metadata, selector)
    except WireError as error:
        problem = str(error)
    for kind in kinds:
        inventory = _LEFT_OUT if is_left_out else _inventory(node, name, kind, warnings)
        if inventory != _NO_INVENTORY:
            inventories[kind.type_word] = _refused(inventory, problem)
    version = metadata.get("resourceVersion")
    asked = () if is_left_out else kinds
    return Node(
        name,
        _without_doubles(inventories) if len(inventories) > 1 else inventories,
        _lock(metadata),
        version if isinstance(version, str) else "",
        tuple(warnings),
        _handshakes(
            metadata, [kind for kind in asked if kind.type_word in inventories]
        ),
        is_left_out,
        _texts(node, kinds, selector),
        own_locks(metadata, kinds),
    )


_NO_INVENTORY: Final = Inventory(None, 0)
_LEFT_OUT: Final = Inventory(None, 0, is_left_out=True)


def _refused(inventory: Inventory, problem: str | None) -> Inventory:
    """Add what is wrong with the node to what is wrong with its devices."""
    if problem is None:
        return inventory
    return replace(
        inventory, problem="; ".join(filter(None, (problem, inventory.problem)))
    )


def has_same_devices(
    node: Node, obj: object, kinds: Iterable[Kind], selector: LabelSelector
) -> bool:
    """Tell, at a fraction of its cost, whether `decode_node` would give equal devices.

    Args:
        node: As `decode_node` gave it, by these kinds and any selector.
        obj: The JSON object of a node, that of another moment perhaps.
        kinds: As for `decode_node`.
        selector: As for `decode_node`.

    Returns:
        False also where that cannot be told.
    """
    return node.texts is not None and node.texts == _texts(obj, kinds, selector)


def _texts(
    obj: object, kinds: Iterable[Kind], selector: LabelSelector
) -> tuple[tuple[str, str], ...] | None:
    """Gather all that `_inventory` reads, by name; None where something is no text."""
    try:
        node = as_object(obj, "node")
        metadata = object_at(node, "metadata", "node")
        annotations = object_at(metadata, "annotations", "metadata")
        status = object_at(node, "status", "node")
        allocatable = object_at(status, "allocatable", "status")
        capacity = object_at(status, "capacity", "status")
        is_selected = _is_selected(metadata, selector)
    except WireError:
        return None
    found: dict[str, object] = {"": "selected" if is_selected else "left out"}
    found[CORDON_ANNOTATION] = annotations.get(CORDON_ANNOTATION)
    for kind in kinds:
        slots = allocatable.get(kind.count_resource)
        found[f"allocatable {kind.count_resource}"] = slots
        for name in (
            kind.register_annotation,
            kind.links_annotation,
            kind.node_software_annotation,
        ):
            if name is not None:
                found[name] = annotations.get(name)
        if kind.ring_label is not None:
            labels = metadata.get("labels")
            label = labels.get(kind.ring_label) if isinstance(labels, dict) else None
            found[f"label {kind.ring_label}"] = label
        if kind.capacity_cards is not None:
            for resource in kind.capacity_cards.resources:
                found[f"capacity {resource}"] = capacity.get(resource)
    texts = [(name, text) for name, text in found.items() if isinstance(text, str)]
    missing = sum(text is None for text in found.values())
    return tuple(texts) if len(texts) + missing == len(found) else None


def _is_selected(metadata: Mapping[str, object], selector: LabelSelector) -> bool:
    """Tell whether a node is scheduled here; only labels that decide are read."""
    if not selector.requirements:
        return True
    labels = object_at(metadata, "labels", "metadata")
    read: dict[str, str] = {}
    for key in selector.keys & labels.keys():
        value = labels[key]
        if not isinstance(value, str):
            expected = "a string (quote it)"
            raise BadObject(f"metadata.labels[{key}]", shown(value), expected)
        read[key] = value
    return selector.matches(read)


def _inventory(
    node: Mapping[str, object],
    name: NodeName,
    kind: Kind,
    warnings: list[str],
) -> Inventory:
    problems: list[str] = []
    devices: tuple[Device, ...] | None = None
    allocatable_slots = 0
    try:
        devices = _devices(node, name, kind)
    except WireError as error:
        problems.append(str(error))
    try:
        allocatable_slots = _allocatable_slots(node, kind)
    except WireError as error:
        problems.append(str(error))
    links, more = _links(object_at(node, "metadata", "node"), kind)
    warnings += more
    return Inventory(devices, allocatable_slots, "; ".join(problems) or None, links)


def _without_doubles(
    inventories: Mapping[KindWord, Inventory],
) -> dict[KindWord, Inventory]:
    """Refuse inventories that have a device id in common.

    A pod that holds it would be charged on both, and neither could be told by it.
    """
    times = Counter(
        device.device_uuid
        for inventory in inventories.values()
        for device in inventory.devices or ()
    )
    checked: dict[KindWord, Inventory] = {}
    for kind, inventory in inventories.items():
        doubles = [
            device.device_uuid
            for device in inventory.devices or ()
            if times[device.device_uuid] > 1
        ]
        problems = [inventory.problem] if inventory.problem else []
        if doubles:
            problems.append(
                f"{kind}: id {doubles[0]!r} is registered by another kind, too"
            )
        checked[kind] = replace(inventory, problem="; ".join(problems) or None)
    return checked


def _handshakes(
    metadata: Mapping[str, object], kinds: Iterable[Kind]
) -> tuple[tuple[str, str], ...]:
    """Read what plugins are asked by; a text that is missing, or none, is empty."""
    annotations = metadata.get("annotations")
    texts = annotations if isinstance(annotations, dict) else {}
    found = []
    for kind in kinds:
        name = kind.handshake_annotation
        if name is not None:
            text = texts.get(name)
            found.append((name, text if isinstance(text, str) else ""))
    return tuple(found)


def _lock(metadata: Mapping[str, object]) -> str | None:
    annotations = metadata.get("annotations")
    value = annotations.get(LOCK_ANNOTATION) if isinstance(annotations, dict) else None
    return value if isinstance(value, str) and value else None


def own_locks(
    metadata: Mapping[str, object], kinds: Iterable[Kind]
) -> tuple[tuple[str, str], ...]:
    """Read which locks of kinds' own are held; the common one is not among them."""
    annotations = metadata.get("annotations")
    texts = annotations if isinstance(annotations, dict) else {}
    names = [kind.own_lock_annotation for kind in kinds if kind.own_lock_annotation]
    values = [(name, texts.get(name)) for name in names]
    return tuple(
        [(name, text) for name, text in values if isinstance(text, str) and text]
    )


def _devices(
    node: Mapping[str, object], name: NodeName, kind: Kind
) -> tuple[Device, ...] | None:
    metadata = object_at(node, "metadata", "node")
    annotations = object_at(metadata, "annotations", "metadata")
    listed = (_annotation(annotations, CORDON_ANNOTATION) or "").split(",")
    cordoned = frozenset(DeviceUUID(uuid.strip()) for uuid in listed)
    if kind.capacity_cards is not None:
        cards, mode = kind.capacity_cards, _ring_mode(metadata, kind)
        return cards_by_capacity(node, name, kind, cards, cordoned, mode=mode)
    where = kind.register_annotation
    register = _annotation(annotations, where) if where else None
    if where is None or register is None:
        return None
    if kind.register_form is RegisterForm.METAX:
        return decode_metax_inventory(register, where, cordoned)
    if kind.register_form is RegisterForm.ENFLAME_DRS:
        return decode_drs_inventory(register, where, name, cordoned)
    devices = decode_inventory(register, where, cordoned)
    return _by_mode(devices, annotations, kind)


def _ring_mode(metadata: Mapping[str, object], kind: Kind) -> str:
    """Tell by a label whether the node's cards form a ring; empty where they do not."""
    if kind.ring_label is None:
        return ""
    word = object_at(metadata, "labels", "metadata").get(kind.ring_label)
    is_ring = isinstance(word, str) and kind.ring_word in word.casefold()
    return RING_MODE if is_ring else ""


def _by_mode(
    devices: tuple[Device, ...], annotations: Mapping[str, object], kind: Kind
) -> tuple[Device, ...]:
    """Tell how the cards of a kind are shared that can be in two ways.

    In software their cores are percent, whatever number they register.
    """
    name = kind.node_software_annotation
    if name is None:
        return devices
    text = _annotation(annotations, name)
    if text not in (None, "true", "false"):
        raise BadObject(f"metadata.annotations[{name}]", text, "true or false")
    in_software = kind.is_software_everywhere if text is None else text == "true"
    if not in_software:
        return tuple(replace(each, mode=_CUT_BY_DRIVER) for each in devices)
    return tuple(
        replace(
            each,
            mode=IN_SOFTWARE,
            capacity=replace(each.capacity, core_percent=kind.whole_card_cores),
        )
        for each in devices
    )


def _links(metadata: Mapping[str, object], kind: Kind) -> tuple[Links, tuple[str, ...]]:
    """Read how cards are linked; where that fails, a preference is lost, no card."""
    is_metax = kind.register_form is RegisterForm.METAX
    name = kind.register_annotation if is_metax else kind.links_annotation
    decode = decode_metax_links if is_metax else decode_links
    try:
        annotations = object_at(metadata, "annotations", "metadata")
        text = _annotation(annotations, name) if name else None
        return (decode(text, name) if name and text else {}), ()
    except WireError as error:
        return {}, (str(error),)


def _annotation(annotations: Mapping[str, object], name: str) -> str | None:
    value = annotations.get(name)
    if value is not None and not isinstance(value, str):
        raise BadObject(f"metadata.annotations[{name}]", shown(value), "a string")
    return value


def _allocatable_slots(node: Mapping[str, object], kind: Kind) -> int:
    status = object_at(node, "status", "node")
    allocatable = object_at(status, "allocatable", "status")
    if kind.count_resource not in allocatable:
        return 0
    field = f"status.allocatable[{kind.count_resource}]"
    slots = parse_whole(allocatable[kind.count_resource], field)
    if not 0 <= slots <= MAX_INT32:
        raise BadQuantity(field, slots, f"in the range 0 to {MAX_INT32}")
    return slots
