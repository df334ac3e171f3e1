"""One keep-alive HTTP/1.1 connection that costs next to nothing itself.

A blocking socket: the servers run in processes of their own, so nothing here has to
overlap, and an event loop would only add its own time to every figure.
"""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from benchmarks.servers import LOOPBACK

_ANSWER_WITHIN_SECONDS: Final = 30.0
_END_OF_HEAD: Final = b"\r\n\r\n"
_OK: Final = (b"HTTP/1.1 200 ", b"HTTP/1.1 201 ")
_END_OF_CHUNKS: Final = b"0\r\n\r\n"


class AnswerUnusable(Exception):
    """An answer that is no 200 or 201, or not what the question asks for."""


class Connection:
    """A connection to one server; not shared between threads."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._received = bytearray(2**20)

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a whole request and read the whole answer.

        Returns:
            Nanoseconds from before the first byte is written until the last byte is
            read, and the answer's body.

        Raises:
            AnswerUnusable: It is no 200, or the connection ended.
        """
        try:
            return self._ask(request)
        except OSError as error:
            raise AnswerUnusable(f"the connection broke: {error}") from error

    def _ask(self, request: bytes) -> tuple[int, bytes]:
        started = time.perf_counter_ns()
        self._socket.sendall(request)
        size = self._receive(0)
        while (head_size := self._received.find(_END_OF_HEAD, 0, size)) < 0:
            size += self._receive(size)
        head = bytes(self._received[:head_size])
        body_at = head_size + len(_END_OF_HEAD)
        length = _content_length(head)
        if length is None:
            size = self._receive_chunks(body_at, size)
        else:
            size = self._receive_until(body_at + length, size)
        elapsed = time.perf_counter_ns() - started
        body = bytes(self._received[body_at:size])
        if length is None:
            body = _joined(body)
        if not head.startswith(_OK):
            raise AnswerUnusable(f"{head.decode('latin-1')}\n\n{body[:500]!r}")
        return elapsed, body

    def _receive_until(self, whole: int, size: int) -> int:
        if whole > len(self._received):
            self._received.extend(bytes(whole - len(self._received)))
        while size < whole:
            size += self._receive(size)
        return size

    def _receive_chunks(self, body_at: int, size: int) -> int:
        """Read on to the last chunk, as servers in Go send an answer of any size.

        JSON holds no line break of two bytes, so the end cannot be part of a chunk.
        """
        while not self._received.endswith(_END_OF_CHUNKS, body_at, size):
            if size == len(self._received):
                self._received.extend(bytes(size))
            size += self._receive(size)
        return size

    def _receive(self, at: int) -> int:
        with memoryview(self._received) as received:
            count = self._socket.recv_into(received[at:])
        if count == 0:
            raise AnswerUnusable("the server closed the connection")
        return count


@contextmanager
def connect(
    port: int, host: str = LOOPBACK, tls: ssl.SSLContext | None = None
) -> Iterator[Connection]:
    """Open a connection to a server.

    Args:
        port: Its port.
        host: Its address; loopback by default.
        tls: Speaks HTTPS by this.
    """
    with socket.create_connection((host, port), _ANSWER_WITHIN_SECONDS) as opened:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is None:
            yield Connection(opened)
        else:
            with tls.wrap_socket(opened, server_hostname=host) as secured:
                yield Connection(secured)


def get(path: str) -> bytes:
    """Build a whole request without a body."""
    return f"GET {path} HTTP/1.1\r\nHost: {LOOPBACK}\r\n\r\n".encode()


def post(path: str, body: bytes) -> bytes:
    """Build a whole request."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {LOOPBACK}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _content_length(head: bytes) -> int | None:
    """Read how long the body is; None where it comes in chunks."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
        if name.lower() == b"transfer-encoding" and value.strip().lower() == b"chunked":
            return None
    raise AnswerUnusable("the answer has neither Content-Length nor chunks")


def _joined(chunks: bytes) -> bytes:
    """Take the chunks of a body together."""
    joined = bytearray()
    at = 0
    while size := int(chunks[at : (start := chunks.index(b"\r\n", at))], 16):
        start += 2
        joined += chunks[start : start + size]
        at = start + size + 2
    return bytes(joined)
