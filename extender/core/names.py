"""Names of things on the wire, so that one is not taken for another."""

from typing import Final, NewType

KindWord = str
"""`Kind.type_word`, which names a kind of device."""

NodeName = NewType("NodeName", str)
DeviceUUID = NewType("DeviceUUID", str)
PodUID = NewType("PodUID", str)

MAX_INT32: Final = 2**31 - 1
"""Largest number that HAMi's readers accept in an annotation or a request."""
