"""Nothing stays open once a session is closed."""

import asyncio
import contextlib
import gc
import socket
import ssl
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import aiohttp

from extender.kube.connections import connector
from tests.certificates import HOST, Authority

_STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n\r\n"


@contextlib.contextmanager
def silent_server(pair_of: Authority) -> Iterator[str]:
    """Begin an answer on every connection; then neither write nor read, nor close."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = pair_of.server()
    context.load_cert_chain(pair.cert_file, pair.key_file)
    with contextlib.ExitStack() as opened:
        listening = opened.enter_context(socket.create_server((HOST, 0)))

        def answer() -> None:
            while True:
                try:
                    accepted, _ = listening.accept()
                except OSError:
                    return
                asked = opened.enter_context(
                    context.wrap_socket(accepted, server_side=True)
                )
                asked.recv(65536)
                asked.sendall(_STREAM)

        answering = threading.Thread(target=answer)
        answering.start()
        yield f"https://{HOST}:{listening.getsockname()[1]}/"
        listening.shutdown(socket.SHUT_RDWR)
        answering.join()


def test_stream_given_up(tmp_path: Path) -> None:
    """A watch that is cancelled leaves no connection, though its server is silent."""
    authority = Authority(tmp_path, "server")
    trust = ssl.create_default_context(cafile=authority.cert_file)

    async def give_up(url: str) -> None:
        async with aiohttp.ClientSession(connector=connector(trust)) as session:
            for _ in range(3):
                async with session.get(url) as answer:
                    assert await answer.content.readline() == b"a\n"

    gc.collect()
    with (
        warnings.catch_warnings(record=True) as warned,
        silent_server(authority) as url,
    ):
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(give_up(url))
        gc.collect()
    assert [str(one.message) for one in warned] == []
