"""JSON lines of any length from a stream of chunks.

aiohttp's own ``readline`` refuses lines over 128 KiB, and Kubernetes objects can be
longer.
"""

from collections.abc import AsyncIterable, AsyncIterator
from typing import Final

from extender.errors import Unreachable

_MIB: Final = 1024 * 1024

LONGEST_LINE_BYTES: Final = 64 * _MIB
"""etcd keeps no object near this size; a line that is longer never ends."""


async def json_lines(
    chunks: AsyncIterable[bytes], longest: int = LONGEST_LINE_BYTES
) -> AsyncIterator[bytes]:
    """Give each line once it is complete; empty ones are passed over.

    What follows the last line's end is dropped: the stream was cut within it.

    Raises:
        Unreachable: A line is longer than `longest` bytes.
    """
    begun: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            line = b"".join((*begun, piece))
            begun, size = [], 0
            if line.strip():
                yield line
        if rest:
            begun.append(rest)
            size += len(rest)
            if size > longest:
                raise Unreachable(f"the server sent a line over {longest} bytes")
