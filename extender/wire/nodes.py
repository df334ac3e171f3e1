"""Kubernetes Node objects, reduced to what decides."""

from collections.abc import Mapping
from typing import Final

from extender.core.kinds import Kind
from extender.core.model import MAX_INT32, Device, DeviceUUID, Links, Node, NodeName
from extender.errors import BadObject, BadQuantity, WireError
from extender.wire.label_selector import EVERYTHING, LabelSelector
from extender.wire.links import decode_links
from extender.wire.lock import LOCK_ANNOTATION
from extender.wire.objects import as_object, name_at, object_at, shown
from extender.wire.quantity import parse_whole
from extender.wire.register import decode_inventory

CORDON_ANNOTATION: Final = "hami.io/device-cordon"


def decode_node(obj: object, kind: Kind, selector: LabelSelector = EVERYTHING) -> Node:
    """Read a node's inventory and how many device ids kubelet offers.

    What cannot be read, besides the name, becomes the node's `inventory_problem`: it
    refuses this node and no other.

    Args:
        obj: The JSON object.
        kind: Gives the names of the annotation and of the count resource.
        selector: Which nodes are scheduled here; of others no inventory is read.

    Raises:
        BadObject: It is no object, or has no name.
    """
    node = as_object(obj, "node")
    metadata = object_at(node, "metadata", "node")
    name = NodeName(name_at(metadata, "name", "metadata"))
    version = _version(metadata)
    problems: list[str] = []
    try:
        if not _is_selected(metadata, selector):
            lock = _lock(metadata)
            texts = _texts(node, kind, selector)
            return Node(
                name, None, 0, None, lock, version, is_selected=False, texts=texts
            )
    except WireError as error:
        problems.append(str(error))
    devices: tuple[Device, ...] | None = None
    allocatable_slots = 0
    try:
        devices = _devices(metadata, kind)
    except WireError as error:
        problems.append(str(error))
    try:
        allocatable_slots = _allocatable_slots(node, kind)
    except WireError as error:
        problems.append(str(error))
    links, warnings = _links(metadata, kind)
    problem = "; ".join(problems) or None
    return Node(
        name,
        devices,
        allocatable_slots,
        problem,
        _lock(metadata),
        version,
        links,
        warnings,
        texts=_texts(node, kind, selector),
    )


def has_same_cards(
    node: Node, obj: object, kind: Kind, selector: LabelSelector
) -> bool:
    """Tell, at a fraction of the cost, whether `decode_node` would give the same cards.

    Args:
        node: As `decode_node` gave it, by the same kind and selector.
        obj: The JSON object of a node, that of another moment perhaps.
        kind: As for `decode_node`.
        selector: As for `decode_node`.

    Returns:
        False also where that cannot be told.
    """
    return node.texts is not None and node.texts == _texts(obj, kind, selector)


def _texts(
    obj: object, kind: Kind, selector: LabelSelector
) -> tuple[str | None, ...] | None:
    """Gather what cards are read from; None where something is no text."""
    try:
        node = as_object(obj, "node")
        metadata = object_at(node, "metadata", "node")
        annotations = object_at(metadata, "annotations", "metadata")
        status = object_at(node, "status", "node")
        slots = object_at(status, "allocatable", "status").get(kind.count_resource)
        names = (kind.register_annotation, CORDON_ANNOTATION, kind.links_annotation)
        texts = [_annotation(annotations, name) if name else None for name in names]
        is_selected = _is_selected(metadata, selector)
    except WireError:
        return None
    if slots is not None and not isinstance(slots, str):
        return None
    return ("selected" if is_selected else None, slots, *texts)


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


def _version(metadata: Mapping[str, object]) -> str:
    version = metadata.get("resourceVersion")
    return version if isinstance(version, str) else ""


def _lock(metadata: Mapping[str, object]) -> str | None:
    annotations = metadata.get("annotations")
    value = annotations.get(LOCK_ANNOTATION) if isinstance(annotations, dict) else None
    return value if isinstance(value, str) and value else None


def _devices(metadata: Mapping[str, object], kind: Kind) -> tuple[Device, ...] | None:
    annotations = object_at(metadata, "annotations", "metadata")
    name = kind.register_annotation
    register = _annotation(annotations, name) if name else None
    if name is None or register is None:
        return None
    listed = (_annotation(annotations, CORDON_ANNOTATION) or "").split(",")
    cordoned = frozenset(DeviceUUID(uuid.strip()) for uuid in listed)
    return decode_inventory(register, name, cordoned)


def _links(metadata: Mapping[str, object], kind: Kind) -> tuple[Links, tuple[str, ...]]:
    """Read how cards are linked; where that fails, a preference is lost, no card."""
    name = kind.links_annotation
    try:
        annotations = object_at(metadata, "annotations", "metadata")
        text = _annotation(annotations, name) if name else None
        return (decode_links(text, name) if name and text else {}), ()
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
