"""An extender that decides nothing, and binds with a bare Binding.

It is what any extender that binds pays at least: every node is kept, all scores are
equal, and a bind is one write without annotations, held to the pod's uid.
"""

import argparse
import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Final

import aiohttp
import orjson
from aiohttp import web

from benchmarks.burst.api import Api, ApiRefused, pods_path
from benchmarks.echo import be_ready, filter_nothing

_API: Final = web.AppKey("api", Api)
_LARGEST_BODY: Final = 64 * 2**20


async def score_equally(request: web.Request) -> web.Response:
    """Answer ``POST /prioritize`` with 0 for every name."""
    sent = orjson.loads(await request.read())
    scores = [{"Host": name, "Score": 0} for name in sent["NodeNames"]]
    return web.Response(body=orjson.dumps(scores), content_type="application/json")


async def bind(request: web.Request) -> web.Response:
    """Answer ``POST /bind`` once the pod is bound, or was refused."""
    sent = orjson.loads(await request.read())
    metadata = {
        "name": sent["PodName"],
        "namespace": sent["PodNamespace"],
        "uid": sent["PodUID"],
    }
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": sent["Node"]},
    }
    path = f"{pods_path(sent['PodNamespace'])}/{sent['PodName']}/binding"
    problem = ""
    try:
        await request.app[_API].write("POST", path, binding)
    except (ApiRefused, aiohttp.ClientError) as error:
        problem = str(error)
    answer = orjson.dumps({"Error": problem})
    return web.Response(body=answer, content_type="application/json")


async def serve(kubeconfig: Path, host: str, port: int) -> None:
    """Serve until cancelled."""
    async with Api.connected(kubeconfig) as api:
        app = web.Application(client_max_size=_LARGEST_BODY)
        app[_API] = api
        app.add_routes(
            [
                web.get("/readyz", be_ready),
                web.post("/filter", filter_nothing),
                web.post("/prioritize", score_equally),
                web.post("/bind", bind),
            ]
        )
        # Go's client keeps its connections for 90 s.
        runner = web.AppRunner(app, access_log=None, keepalive_timeout=120.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()


def main() -> None:
    """Serve on one address until ended."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, metavar="FILE")
    parser.add_argument("--listen", required=True, metavar="HOST:PORT")
    arguments = parser.parse_args()
    host, _, port = arguments.listen.rpartition(":")
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(arguments.kubeconfig, host, int(port)))


if __name__ == "__main__":
    main()
