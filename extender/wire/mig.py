"""MIG on the wire: what a card can be cut into, and which instances a pod has.

Source: HAMi v2.10, ``migProfiles`` of a registered card and the pod's annotation
``hami.io/vgpu-mig-allocations``. The device plugin makes exactly the instances that the
annotation names, and adds to each element which ones they became; that decides nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import orjson

from extender.core.allocation import Allocation, UnreadableAllocation
from extender.core.kinds import Kind
from extender.core.mig import (
    MIG_SLICES,
    MigInstance,
    MigPlacement,
    MigProfile,
    MigProfiles,
)
from extender.core.names import MAX_INT32, DeviceUUID
from extender.errors import BadAnnotation
from extender.wire.objects import shown


def read_mig_profiles(value: object, field: str) -> MigProfiles:
    """Read what a card in MIG mode can be cut into.

    Args:
        value: The JSON value of ``migProfiles``; missing or null is nothing.
        field: Its path, for the error.

    Returns:
        By memory, slices and name, so that cards of one kind have equal ones in
        whatever order they are written.

    Raises:
        BadAnnotation: Something in it cannot be read, two profiles have the same name,
            or a place is beyond `MIG_SLICES`; the error names the element and its key.
    """
    profiles: dict[str, MigProfile] = {}
    for number, element in enumerate(_list(value, field)):
        profile = _profile(element, f"{field}[{number}]")
        if profile.name in profiles:
            name_field = f"{field}[{number}].name"
            raise BadAnnotation(name_field, profile.name, "different from the others")
        profiles[profile.name] = profile
    ordered = sorted(
        profiles.values(),
        key=lambda each: (each.memory_mib, each.slice_count, each.name),
    )
    return tuple(ordered)


def _profile(element: object, field: str) -> MigProfile:
    fields = _object(element, field)
    places = [
        _placement(each, f"{field}.placements[{number}]")
        for number, each in enumerate(
            _list(fields.get("placements"), f"{field}.placements")
        )
    ]
    return MigProfile(
        name=_text(fields.get("name"), f"{field}.name"),
        memory_mib=_whole(fields.get("memoryMB"), f"{field}.memoryMB", least=1),
        core_percent=_whole(fields.get("core"), f"{field}.core"),
        slice_count=_whole(fields.get("sliceCount"), f"{field}.sliceCount"),
        placements=tuple(sorted(places, key=lambda place: (place.start, place.size))),
    )


def _placement(value: object, field: str) -> MigPlacement:
    fields = _object(value, field)
    start = _whole(fields.get("start"), f"{field}.start")
    size = _whole(fields.get("size"), f"{field}.size", least=1)
    if start + size > MIG_SLICES:
        expected = f"within {MIG_SLICES} slices, from {start} on"
        raise BadAnnotation(f"{field}.size", size, expected)
    return MigPlacement(start, size)


def encode_instances(allocation: Allocation, kind: Kind) -> str:
    """Write the instances of one kind of an allocation; empty where it has none.

    Example:
        >>> from extender.core.kinds import NVIDIA
        >>> from extender.core.allocation import Share
        >>> instance = MigInstance("1g.5gb", MigPlacement(start=6, size=1))
        >>> share = Share(DeviceUUID("GPU-m"), 4864, 15, "NVIDIA", instance=instance)
        >>> element = orjson.loads(encode_instances(((), (share,)), NVIDIA))[0]
        >>> element["containerIndex"], element["profile"], element["placement"]
        (1, '1g.5gb', {'start': 6, 'size': 1})
    """
    elements = [
        {
            "containerIndex": container_index,
            "deviceIndex": device_index,
            "gpuUUID": share.device_uuid,
            "profile": share.instance.profile,
            "placement": {
                "start": share.instance.placement.start,
                "size": share.instance.placement.size,
            },
        }
        for container_index, row in enumerate(allocation)
        for device_index, share in enumerate(
            [each for each in row if each.kind == kind.type_word]
        )
        if share.instance is not None
    ]
    return orjson.dumps(elements).decode() if elements else ""


@dataclass(frozen=True, slots=True, order=True)
class _Element:
    """One instance as the annotation names it."""

    container_index: int
    device_index: int
    device_uuid: DeviceUUID
    profile: str
    start: int
    size: int

    @property
    def instance(self) -> MigInstance:
        return MigInstance(self.profile, MigPlacement(self.start, self.size))


def devices_of_instances(text: str) -> tuple[DeviceUUID, ...]:
    """List the devices that an annotation names instances of, once each.

    Elements that cannot be read name nothing.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ()
    elements = value if isinstance(value, list) else []
    named = [each.get("gpuUUID") for each in elements if isinstance(each, dict)]
    uuids = [DeviceUUID(uuid) for uuid in named if uuid and isinstance(uuid, str)]
    return tuple(dict.fromkeys(uuids))


def with_instances(
    allocation: Allocation | UnreadableAllocation | None, text: str, kind: Kind
) -> Allocation | UnreadableAllocation | None:
    """Give the instances that an annotation names to an allocation's shares.

    HAMi v2.10 drops rows that hold nothing, and counts containers without them; so
    elements are matched by device and order, and their indices only tell the order.
    Whether a device is in MIG mode at all is not known here.

    Args:
        allocation: As the rows tell it.
        text: The annotation's value.
        kind: Of the devices; its annotation is named in the problem.

    Returns:
        The allocation, with an instance for every share of each device that is named;
        or what is wrong, and all devices that are named.
    """
    field, kinds = kind.mig_annotation or "", frozenset((kind.type_word,))
    rows = _named_by(allocation)
    try:
        elements = _elements(text, field)
    except BadAnnotation as error:
        named = tuple(dict.fromkeys((*rows, *devices_of_instances(text))))
        return UnreadableAllocation(str(error), named, kinds)
    if not elements:
        return allocation
    named = tuple(dict.fromkeys((*rows, *(each.device_uuid for each in elements))))
    if isinstance(allocation, UnreadableAllocation):
        return UnreadableAllocation(allocation.problem, named, kinds)
    placed = _placed(allocation or (), elements)
    if placed is None:
        problem = f"{field}: its instances are not those of the allocation's devices"
        return UnreadableAllocation(problem, named, kinds)
    return placed


def _placed(allocation: Allocation, elements: list[_Element]) -> Allocation | None:
    on_cut = {each.device_uuid for each in elements}
    shares = [
        share for row in allocation for share in row if share.device_uuid in on_cut
    ]
    if [share.device_uuid for share in shares] != [
        each.device_uuid for each in elements
    ]:
        return None
    remaining = iter(elements)
    return tuple(
        tuple(
            replace(share, instance=next(remaining).instance)
            if share.device_uuid in on_cut
            else share
            for share in row
        )
        for row in allocation
    )


def _named_by(
    allocation: Allocation | UnreadableAllocation | None,
) -> tuple[DeviceUUID, ...]:
    if isinstance(allocation, UnreadableAllocation):
        return allocation.named
    shares = [share for row in allocation or () for share in row]
    return tuple(dict.fromkeys(share.device_uuid for share in shares))


def _elements(text: str, field: str) -> list[_Element]:
    """Read the elements, in order of container and device."""
    if not text:
        return []
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadAnnotation(field, text, f"JSON: {error}") from error
    elements: dict[tuple[int, int], _Element] = {}
    for number, each in enumerate(_list(value, field)):
        at = f"{field}[{number}]"
        element = _element(_object(each, at), at)
        index = (element.container_index, element.device_index)
        if index in elements:
            raise BadAnnotation(f"{at}.deviceIndex", index[1], "there only once")
        elements[index] = element
    return sorted(elements.values())


def _element(fields: Mapping[str, object], field: str) -> _Element:
    place = _placement(fields.get("placement"), f"{field}.placement")
    return _Element(
        _whole(fields.get("containerIndex"), f"{field}.containerIndex"),
        _whole(fields.get("deviceIndex"), f"{field}.deviceIndex"),
        DeviceUUID(_text(fields.get("gpuUUID"), f"{field}.gpuUUID")),
        _text(fields.get("profile"), f"{field}.profile"),
        place.start,
        place.size,
    )


def _list(value: object, field: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadAnnotation(field, shown(value), "a list")
    return value


def _object(value: object, field: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise BadAnnotation(field, shown(value), "an object")
    return value


def _text(value: object, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise BadAnnotation(field, shown(value), "a non-empty string")
    return value


def _whole(value: object, field: str, *, least: int = 0) -> int:
    """Read a number; Go leaves out zeros."""
    number = 0 if value is None else value
    if type(number) is not int or not least <= number <= MAX_INT32:
        expected = f"a whole number from {least} to {MAX_INT32}"
        raise BadAnnotation(field, shown(value), expected)
    return number
