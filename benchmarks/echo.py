"""A server that decides nothing: the least that a verb over HTTP can cost.

It uses the same HTTP server and JSON library as the extender, decodes the request and
answers with every name, or whole node, that it was sent. Garbage is collected as
seldom as there.
"""

import argparse
import asyncio
import gc
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import orjson
from aiohttp import web

LARGEST_BODY: Final = 64 * 2**20

_COLLECTED_AFTER: Final = (5_000, 50, 1_000)
"""What `extender.runtime` serves with."""


async def filter_nothing(request: web.Request) -> web.Response:
    """Answer ``POST /filter`` with all names or nodes."""
    sent = orjson.loads(await request.read())
    answer = {
        "Nodes": sent["Nodes"],
        "NodeNames": sent["NodeNames"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }
    return web.Response(body=orjson.dumps(answer), content_type="application/json")


async def score_nothing(request: web.Request) -> web.Response:
    """Answer ``POST /prioritize`` with no preference."""
    sent = orjson.loads(await request.read())
    answer = equal_scores(sent["NodeNames"])
    return web.Response(body=answer, content_type="application/json")


def equal_scores(node_names: Sequence[str]) -> bytes:
    """Write a score of 0 for every name, without an object for each.

    Between two names of a list stands what cannot stand within one, since quotes are
    escaped there.

    Example:
        >>> equal_scores(["n1", "n2"])
        b'[{"Host":"n1","Score":0},{"Host":"n2","Score":0}]'
        >>> equal_scores([])
        b'[]'
    """
    if not node_names:
        return b"[]"
    listed = orjson.dumps(node_names)[2:-2]
    hosts = listed.replace(b'","', b'","Score":0},{"Host":"')
    return b'[{"Host":"' + hosts + b'","Score":0}]'


async def bind_nothing(request: web.Request) -> web.Response:
    """Answer ``POST /bind`` with success."""
    orjson.loads(await request.read())
    answer = {"Error": ""}
    return web.Response(body=orjson.dumps(answer), content_type="application/json")


async def be_ready(_request: web.Request) -> web.Response:
    """Answer ``GET /readyz``; there is nothing to wait for."""
    return web.Response(text="ok")


def spare_collector() -> None:
    """Collect garbage as the extender does once it is synced."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)


async def serve(host: str, port: int) -> None:
    """Serve until cancelled; prints ``host:port`` once it listens."""
    spare_collector()
    app = web.Application(client_max_size=LARGEST_BODY)
    app.add_routes(
        [
            web.post("/filter", filter_nothing),
            web.post("/prioritize", score_nothing),
            web.post("/bind", bind_nothing),
            web.get("/readyz", be_ready),
        ]
    )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        listening_host, listening_port = runner.addresses[0][:2]
        print(f"{listening_host}:{listening_port}", flush=True)
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def main() -> None:
    """Serve on one address until ended."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT")
    host, _, port = parser.parse_args().listen.rpartition(":")
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(host, int(port)))


if __name__ == "__main__":
    main()
