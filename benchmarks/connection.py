"""One keep-alive HTTP/1.1 connection that costs next to nothing itself.

A blocking socket: the servers run in processes of their own, so nothing here has to
overlap, and an event loop would only add its own time to every figure.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from benchmarks.servers import LOOPBACK

_ANSWER_WITHIN_SECONDS: Final = 30.0
_END_OF_HEAD: Final = b"\r\n\r\n"
_OK: Final = b"HTTP/1.1 200 "


class AnswerUnusable(Exception):
    """An answer that is no 200, or not what the question asks for."""


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
        whole = body_at + _content_length(head)
        if whole > len(self._received):
            self._received.extend(bytes(whole - len(self._received)))
        while size < whole:
            size += self._receive(size)
        elapsed = time.perf_counter_ns() - started
        body = bytes(self._received[body_at:whole])
        if not head.startswith(_OK):
            raise AnswerUnusable(f"{head.decode('latin-1')}\n\n{body[:500]!r}")
        return elapsed, body

    def _receive(self, at: int) -> int:
        with memoryview(self._received) as received:
            count = self._socket.recv_into(received[at:])
        if count == 0:
            raise AnswerUnusable("the server closed the connection")
        return count


@contextmanager
def connect(port: int) -> Iterator[Connection]:
    """Open a connection to a server on loopback."""
    with socket.create_connection((LOOPBACK, port), _ANSWER_WITHIN_SECONDS) as opened:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield Connection(opened)


def post(path: str, body: bytes) -> bytes:
    """Build a whole request."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {LOOPBACK}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise AnswerUnusable("the answer has no Content-Length")
