"""How many slots shares take, of kinds where rows do not tell."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import orjson

from extender.core.allocation import Allocation, UnreadableAllocation
from extender.core.kinds import Kind
from extender.core.names import MAX_INT32, DeviceUUID
from extender.core.pod_request import ContainerRequest
from extender.errors import BadAnnotation
from extender.wire.objects import shown


def with_slots(
    read: Allocation | UnreadableAllocation,
    annotations: Mapping[str, str],
    asked: Sequence[ContainerRequest],
    names: Sequence[str],
    kind: Kind,
) -> Allocation | UnreadableAllocation:
    """Add the slots to each share of an allocation.

    A container that asks for slots has as many. Of others, an annotation tells: JSON,
    by the containers' names, with the slots as ``request``.

    Args:
        read: From the rows.
        annotations: The pod's.
        asked: By each container.
        names: Of the containers.
        kind: Gives the annotation's name.

    Returns:
        What is wrong, where it does not tell of a container that has devices: slots
        that are not known must not count as one.
    """
    if isinstance(read, UnreadableAllocation):
        return read
    rows = []
    try:
        for row, request, name in zip(read, asked, names, strict=True):
            if row and request.profile is not None and request.profile.slots:
                slots = request.profile.slots
            elif row:
                slots = _told(annotations, name, str(kind.slots_annotation))
            else:
                slots = 0
            rows.append(tuple(replace(share, slots=slots) for share in row))
    except BadAnnotation as error:
        named = [share.device_uuid for row in read for share in row]
        unique: dict[DeviceUUID, None] = dict.fromkeys(named)
        return UnreadableAllocation(
            str(error), tuple(unique), frozenset((kind.type_word,))
        )
    return tuple(rows)


def _told(annotations: Mapping[str, str], name: str, annotation: str) -> int:
    text = annotations.get(annotation)
    expected = f"JSON that tells the slots of container {name!r} as request"
    try:
        told = orjson.loads(text or "")
    except orjson.JSONDecodeError as error:
        raise BadAnnotation(annotation, text, expected) from error
    container = told.get(name) if isinstance(told, dict) else None
    slots = container.get("request") if isinstance(container, dict) else None
    if isinstance(slots, int) and slots is not True and 0 < slots <= MAX_INT32:
        return slots
    field = f"{annotation}[{name}].request"
    raise BadAnnotation(field, shown(slots), "a number of slots from 1 on")
