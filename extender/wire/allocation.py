"""Allocations as annotations: ``uuid,word,MiB,percent:`` per share, ``;`` per row.

There is no escaping, so a UUID must not hold a separator; `extender.wire.register`
lets none in.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from extender.core.allocation import Allocation, Row, Share, UnreadableAllocation
from extender.core.kinds import Kind
from extender.core.names import MAX_INT32, DeviceUUID, NodeName
from extender.errors import BadAnnotation
from extender.wire.mig import encode_instances

NODE_ANNOTATION: Final = "hami.io/vgpu-node"
TIME_ANNOTATION: Final = "hami.io/vgpu-time"
PHASE_ANNOTATION: Final = "hami.io/bind-phase"
BIND_TIME_ANNOTATION: Final = "hami.io/bind-time"
NODE_LABEL: Final = "hami.io/vgpu-node"

PHASE_ALLOCATING: Final = "allocating"
PHASE_SERVED: Final = "success"
"""Written by the device plugin once it has emptied every row."""

LONGEST_LABEL_VALUE: Final = 63

_HAMI_PREFIX: Final = "hami.io/"
_TO_ALLOCATE_SUFFIX: Final = "-devices-to-allocate"
"""Every kind of device that has rows to allocate names the annotation so."""

_ALLOCATED_SUFFIX: Final = "-devices-allocated"
"""And most kinds the one that keeps its rows."""

_SEPARATORS: Final = ";: "
_UNWRITABLE: Final = frozenset(",:;")

NO_MODELS: Final[Mapping[DeviceUUID, str]] = MappingProxyType({})

_FEWEST_FIELDS: Final = 4
_LONGEST_NUMBER: Final = len(str(MAX_INT32))
_ROW_END: Final = ";"
_SHARE_END: Final = ":"
_ANY_END: Final = re.compile(f"[{_SHARE_END}{_ROW_END}]")


def allocation_annotations(
    kinds: Iterable[Kind],
    node_name: NodeName,
    allocation: Allocation,
    unix_seconds: int,
    *,
    models: Mapping[DeviceUUID, str] = NO_MODELS,
) -> dict[str, str]:
    """Write all that the device plugins and later readers need, at bind.

    Args:
        kinds: Those that the pod asks for.
        node_name: The node.
        allocation: Rows of all kinds.
        unix_seconds: Now.
        models: As for `encode_allocation`.
    """
    written = {
        NODE_ANNOTATION: node_name,
        TIME_ANNOTATION: str(unix_seconds),
        PHASE_ANNOTATION: PHASE_ALLOCATING,
        BIND_TIME_ANNOTATION: str(unix_seconds),
    }
    for kind in kinds:
        rows = encode_allocation(allocation, kind, models)
        written[kind.allocated_annotation] = rows
        if kind.to_allocate_annotation is not None:
            written[kind.to_allocate_annotation] = rows
        if kind.mig_annotation is not None:
            instances = encode_instances(allocation, kind)
            if instances:
                written[kind.mig_annotation] = instances
    return written


def allocation_labels(node_name: NodeName) -> dict[str, str]:
    """Write the label by which HAMi's monitor finds a node's pods.

    None for a name that is too long for a label: the API server does not look at the
    labels of a Binding, and would refuse every later update of the pod.
    """
    return {NODE_LABEL: node_name} if len(node_name) <= LONGEST_LABEL_VALUE else {}


def encode_allocation(
    allocation: Allocation, kind: Kind, models: Mapping[DeviceUUID, str] = NO_MODELS
) -> str:
    """Write one row per container, also for those that hold nothing of this kind.

    Args:
        allocation: Rows of all kinds.
        kind: Of the rows that are written.
        models: Of the cards, for kinds whose rows name them. One that is empty, or
            could not be written, is given as the kind's word: its readers ask for some.
    """
    return "".join(f"{_encode_row(row, kind, models)}{_ROW_END}" for row in allocation)


def _encode_row(row: Row, kind: Kind, models: Mapping[DeviceUUID, str]) -> str:
    return "".join(
        f"{share.device_uuid},{_word(share, kind, models)},{share.memory_mib},"
        f"{share.cores or share.core_percent}{_SHARE_END}"
        for share in row
        if share.kind == kind.type_word
    )


def _word(share: Share, kind: Kind, models: Mapping[DeviceUUID, str]) -> str:
    model = models.get(share.device_uuid, "") if kind.rows_name_models else ""
    is_writable = bool(model.strip()) and _UNWRITABLE.isdisjoint(model)
    return model if is_writable else kind.type_word


def is_served(annotations: Mapping[str, str]) -> bool:
    """Tell whether device plugins of all kinds have handed out all that is theirs."""
    if annotations.get(PHASE_ANNOTATION) == PHASE_ALLOCATING:
        return False
    return not any(
        name.startswith(_HAMI_PREFIX)
        and name.endswith(_TO_ALLOCATE_SUFFIX)
        and text.strip(_SEPARATORS)
        for name, text in annotations.items()
    )


def has_rows(name: str) -> bool:
    """Tell whether an annotation has rows, of whatever kind, by its name's form.

    Example:
        >>> has_rows("hami.io/vgpu-devices-to-allocate")
        True
    """
    return name.startswith(_HAMI_PREFIX) and name.endswith(
        (_TO_ALLOCATE_SUFFIX, _ALLOCATED_SUFFIX)
    )


def served_rows(text: str) -> str:
    """Give the to-allocate value once the device plugin has emptied every row."""
    return _ROW_END * len(_pieces(text, _ROW_END))


def read_allocation(
    text: str, counts: Sequence[int], kind: Kind
) -> Allocation | UnreadableAllocation:
    """Read an allocation and give its rows to the pod's containers.

    HAMi v2.10 drops rows that hold nothing, so rows are matched by position only when
    their number and lengths fit; else the rows that hold something go, in order, to
    the containers that ask for something.

    Args:
        text: The annotation's value.
        counts: Devices that each container asks for, in start order.
        kind: Of the devices; its annotation is named in the problem.

    Returns:
        One row per container; or what is wrong, and the devices that the text names.
        A text whose rows are all empty is readable only for a pod that asks for
        nothing.
    """
    field, kinds = kind.allocated_annotation, frozenset((kind.type_word,))
    try:
        rows = decode_rows(text, field, kind)
    except BadAnnotation as error:
        return UnreadableAllocation(str(error), named_devices(text), kinds)
    is_zero = any(share.memory_mib == 0 for row in rows for share in row)
    if kind.counts_memory and is_zero:
        problem = f"{field}: memory 0 would mean no limit, so what is held is not known"
        return UnreadableAllocation(problem, named_devices(text), kinds)
    if [len(row) for row in rows] == list(counts):
        return rows
    filled = [row for row in rows if row]
    if [len(row) for row in filled] == [count for count in counts if count]:
        remaining = iter(filled)
        return tuple(next(remaining) if count else () for count in counts)
    lengths = ", ".join(str(len(row)) for row in rows) or "none"
    expected = ", ".join(map(str, counts))
    problem = f"{field}: rows of {lengths} devices do not fit requests of {expected}"
    return UnreadableAllocation(problem, named_devices(text), kinds)


def named_devices(text: str) -> tuple[DeviceUUID, ...]:
    """List what stands where a UUID should, once each.

    A piece without a comma is garbage and names nothing.
    """
    pieces = [piece for piece in _ANY_END.split(text) if "," in piece]
    named = [piece.partition(",")[0].strip() for piece in pieces]
    return tuple(dict.fromkeys(DeviceUUID(uuid) for uuid in named if uuid))


def decode_rows(text: str, field: str, kind: Kind) -> Allocation:
    """Read the rows as they stand.

    As HAMi's reader does, this accepts a text without the last ``;`` or ``:`` and
    shares with more than four fields. It does not accept what that reader takes
    besides: numbers below 0, an empty UUID, pieces that are no shares.

    Args:
        text: The annotation's value.
        field: The annotation's name, for the error.
        kind: Of the devices. The word that stands in each share is not looked at: some
            vendors write the model there.

    Returns:
        One row per ``;``, in order; ``()`` for rows that hold nothing.

    Raises:
        BadAnnotation: Some share cannot be read; the error names the container's
            index and the field. Never returns a part: usage that cannot be read must
            not count as 0.
    """
    return tuple(
        tuple(
            _decode_share(piece, f"{field}[{number}][{place}]", kind)
            for place, piece in enumerate(_pieces(row, _SHARE_END))
        )
        for number, row in enumerate(_pieces(text, _ROW_END))
    )


def _pieces(text: str, end: str) -> list[str]:
    """Split, and drop exactly one empty piece after the last separator."""
    pieces = text.split(end)
    if not pieces[-1]:
        pieces.pop()
    return pieces


def _decode_share(text: str, field: str, kind: Kind) -> Share:
    values = text.split(",")
    if len(values) < _FEWEST_FIELDS:
        raise BadAnnotation(field, text, "uuid,word,MiB,percent")
    device_uuid, _, memory, cores, *_ = values
    if not device_uuid or device_uuid != device_uuid.strip():
        raise BadAnnotation(f"{field}.uuid", device_uuid, "a UUID")
    share = Share(
        DeviceUUID(device_uuid),
        _decode_number(memory, f"{field}.memory"),
        _decode_number(cores, f"{field}.cores"),
        kind.type_word,
        is_kept=not kind.inits_return,
    )
    return (
        _with_cores(share, f"{field}.cores", kind) if kind.tells_cores_apart else share
    )


def _with_cores(share: Share, field: str, kind: Kind) -> Share:
    """Read the cores as bits."""
    bits, all_bits = share.core_percent, (1 << kind.whole_card_cores) - 1
    if not 0 < bits <= all_bits:
        raise BadAnnotation(field, bits, f"a bit mask of cores, from 1 to {all_bits}")
    return replace(share, core_percent=bits.bit_count(), cores=bits)


def _decode_number(text: str, field: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER:
        number = int(text)
        if number <= MAX_INT32:
            return number
    raise BadAnnotation(field, text, f"a number from 0 to {MAX_INT32}")
