"""Amounts of memory, as a kind of device has them written."""

from typing import Final

from extender.core.kinds import Kind, MemoryNotation
from extender.errors import BadQuantity
from extender.wire.quantity import parse_whole

_MIB_PER_GIB: Final = 1024
_BYTES_PER_MIB: Final = 1024 * 1024


def parse_memory(value: object, kind: Kind, field: str) -> int:
    """Read an amount of memory, in units of the kind's memory factor.

    Args:
        value: As JSON has it.
        kind: Tells the notation.
        field: For the error.

    Returns:
        The amount, of any sign. Where a suffix makes it bytes, a part of a MiB counts
        as one: HAMi drops it, and the container would get less than it names.

    Raises:
        BadQuantity: It is no quantity, has a fraction, or is less than 1 MiB of bytes.
            Kubernetes writes 2000 as ``2k``: that is 2000 bytes, and refused.

    Source: metax' GenerateResourceRequests.

    Example:
        >>> from dataclasses import replace
        >>> from extender.core.kinds import NVIDIA
        >>> sgpu = replace(NVIDIA, memory_notation=MemoryNotation.GIB_OR_BYTES)
        >>> [parse_memory(text, sgpu, "vmemory") for text in ("4", "4Gi", "512Mi", 4)]
        [4096, 4096, 512, 4096]
        >>> parse_memory("3000", NVIDIA, "gpumem")
        3000
    """
    amount = parse_whole(value, field)
    if kind.memory_notation is not MemoryNotation.GIB_OR_BYTES:
        return amount
    if not (isinstance(value, str) and any(map(str.isalpha, value))):
        return amount * _MIB_PER_GIB
    if 0 < amount < _BYTES_PER_MIB:
        expected = "at least 1 MiB; with a suffix it is bytes, without one GiB"
        raise BadQuantity(field, value, expected)
    return -(-amount // _BYTES_PER_MIB)
