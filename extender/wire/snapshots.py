"""The file of a snapshot: JSON, packed by gzip where its name ends so.

::

    {"snapshot": HEAD, "nodes": [...], "pods": [...], "quotas": [...]}
"""

import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

import orjson

from extender.core.node import Node
from extender.core.quota_room import Quota
from extender.errors import Described, MalformedBody
from extender.verbs.snapshot.saved import (
    FORMAT,
    Head,
    SavedPod,
    Snapshot,
    SnapshotBegun,
)
from extender.wire.objects import JsonObject, shown
from extender.wire.snapshot_checks import check_snapshot
from extender.wire.values import decode_value, encode_value

LARGEST_BYTES: Final = 512 * 1024 * 1024
"""Of the JSON; 5,000 nodes with 40,000 pods are 30 MB. What unpacks to more is refused
before it fills the memory."""

_MAGIC: Final = b"\x1f\x8b"
_A_PIECE: Final = 1 << 20
_LISTS: Final = ("nodes", "pods", "quotas")


def encode_pieces(
    snapshot: Snapshot | SnapshotBegun, items_a_piece: int
) -> Iterator[bytes]:
    """Write a snapshot, so many nodes, pods or quotas at a time."""
    yield b'{"snapshot":' + orjson.dumps(encode_value(snapshot.head))
    for name in _LISTS:
        yield f',\n"{name}":['.encode()
        items: Iterator[object] = iter(getattr(snapshot, name))
        separator = b""
        while chunk := list(islice(items, items_a_piece)):
            lines = [b"\n" + orjson.dumps(encode_value(each)) for each in chunk]
            yield separator + b",".join(lines)
            separator = b","
        yield b"]"
    yield b"}\n"


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Write a snapshot as JSON."""
    return b"".join(encode_pieces(snapshot, 1_000))


def packed(content: bytes) -> bytes:
    """Pack a file by gzip; equal content is equal when packed."""
    return gzip.compress(content, compresslevel=6, mtime=0)


def unpacked(content: bytes) -> bytes:
    """Unpack a file that is packed; another is given as it is.

    Raises:
        MalformedBody: It is damaged, or too large.
    """
    if not content.startswith(_MAGIC):
        if len(content) > LARGEST_BYTES:
            raise _too_large()
        return content
    found = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            while piece := file.read(_A_PIECE):
                found += piece
                if len(found) > LARGEST_BYTES:
                    raise _too_large()
    except (OSError, EOFError, zlib.error) as error:
        damaged = Described("what is damaged")
        raise MalformedBody("snapshot", damaged, f"gzip: {error}") from error
    return bytes(found)


def _too_large() -> MalformedBody:
    found = Described(f"more than {LARGEST_BYTES} bytes")
    return MalformedBody("snapshot", found, f"at most {LARGEST_BYTES} bytes")


def decode_snapshot(content: bytes) -> Snapshot:
    """Read a snapshot's file, packed or not.

    Raises:
        MalformedBody: It is none, of another format, or damaged; names the field.
    """
    try:
        read = orjson.loads(unpacked(content))
    except orjson.JSONDecodeError as error:
        found = Described(f"what begins with {content[:40]!r}")
        raise MalformedBody("snapshot", found, f"JSON: {error}") from error
    if not isinstance(read, dict):
        raise MalformedBody("snapshot", shown(read), "an object")
    return read_snapshot(read)


def read_snapshot(read: JsonObject) -> Snapshot:
    """Read a snapshot from its decoded JSON.

    Raises:
        MalformedBody: As for `decode_snapshot`.
    """
    head = read.get("snapshot")
    if not isinstance(head, dict):
        raise MalformedBody("snapshot", shown(head), "an object: of a snapshot's file")
    _check_format(head)
    unknown = read.keys() - {"snapshot", *_LISTS}
    if unknown:
        raise MalformedBody(min(unknown), shown(read[min(unknown)]), "no such field")
    snapshot = Snapshot(
        decode_value(Head, head, "snapshot"),
        decode_value(tuple[Node, ...], read.get("nodes"), "nodes"),
        decode_value(tuple[SavedPod, ...], read.get("pods"), "pods"),
        decode_value(tuple[Quota, ...], read.get("quotas"), "quotas"),
    )
    check_snapshot(snapshot)
    return snapshot


def _check_format(head: Mapping[str, object]) -> None:
    """Refuse another version's file, and name that version where it can be told."""
    found, made_by = head.get("format"), head.get("made_by")
    if type(found) is int and found == FORMAT:
        return
    maker = f" {made_by}" if isinstance(made_by, str) else ""
    is_newer = type(found) is int and found > FORMAT
    age = "a newer" if is_newer else "another"
    raise MalformedBody(
        "snapshot.format",
        shown(found),
        f"{FORMAT}: {age} gpu-extender{maker} wrote it; replay it with that one",
    )
