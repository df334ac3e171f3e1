"""Answers are read whole, however a server sends them."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks.connection import AnswerUnusable, connect, get, post

BODY = b'{"NodeNames":["a"]}'


@contextmanager
def server_that_sends(*pieces: bytes) -> Iterator[int]:
    """Serve one answer, in pieces; give the port."""

    def serve() -> None:
        accepted, _ = listener.accept()
        with accepted:
            accepted.recv(65_536)
            for piece in pieces:
                accepted.sendall(piece)
            accepted.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            thread.join(10)


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "pieces",
    [
        [OK + b"Content-Length: 19\r\n\r\n" + BODY],
        [OK, b"content-length: 19\r\n", b"\r\n", BODY[:5], BODY[5:]],
        [b"HTTP/1.1 201 Created\r\nContent-Length: 19\r\n\r\n" + BODY],
        [CHUNKED + b"13\r\n" + BODY + b"\r\n0\r\n\r\n"],
        [
            CHUNKED,
            b"5\r\n" + BODY[:5] + b"\r\n",
            b"e\r\n" + BODY[5:] + b"\r\n0\r\n\r\n",
        ],
    ],
)
def test_the_body_is_read_whole(pieces: list[bytes]) -> None:
    """By its length or in chunks, in one piece or several."""
    with server_that_sends(*pieces) as port, connect(port) as connection:
        elapsed, body = connection.ask(post("/filter", b"{}"))

    assert body == BODY
    assert elapsed > 0


def test_a_body_larger_than_the_buffer_is_read() -> None:
    """The buffer grows, for chunks as well."""
    large = b"x" * (3 * 2**20)
    chunk = b"300000\r\n" + large + b"\r\n0\r\n\r\n"
    with server_that_sends(CHUNKED + chunk) as port, connect(port) as connection:
        assert connection.ask(get("/pods"))[1] == large


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno",
        b"HTTP/1.1 200 OK\r\n\r\n",
    ],
)
def test_another_answer_is_refused(answer: bytes) -> None:
    """What is no 200 or 201, or has no end, is unusable."""
    with (
        server_that_sends(answer) as port,
        connect(port) as connection,
        pytest.raises(AnswerUnusable),
    ):
        connection.ask(get("/readyz"))
