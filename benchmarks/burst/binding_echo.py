"""An extender that decides nothing, and binds with a bare Binding.

It is what any extender that binds pays at least: every node is kept, all scores are
equal, and a bind is one write without annotations, held to the pod's uid.

With ``--name-cards`` the Binding has HAMi's annotations, too, so that device plugins
serve the pod and the cost of their writes is in the figures. Nothing of it is valid:
every share is on a card that is nowhere, no lock is taken, and pods that a plugin has
still to serve pile up on a node. A real device plugin would give their cards to the
wrong ones.
"""

import argparse
import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import aiohttp
import orjson
from aiohttp import web

from benchmarks.burst.api import Api, ApiRefused, Json, pods_path
from benchmarks.echo import (
    LARGEST_BODY,
    be_ready,
    filter_nothing,
    score_nothing,
    spare_collector,
)

_API: Final = web.AppKey("api", Api)
_ROWS: Final = web.AppKey("rows", dict[str, str])
"""Of pods that were asked about and are not bound yet, by UID."""

_SOME_CARD: Final = "GPU-00000000-0000-0000-0000-000000000000"


async def remember_and_filter_nothing(request: web.Request) -> web.Response:
    """Answer ``POST /filter`` with all names; a bind is not told the containers."""
    pod = orjson.loads(await request.read())["Pod"]
    request.app[_ROWS][pod["metadata"]["uid"]] = _rows_of(pod)
    return await filter_nothing(request)


def _rows_of(pod: Json) -> str:
    containers = [
        *(pod["spec"].get("initContainers") or []),
        *pod["spec"]["containers"],
    ]
    return "".join(f"{_row_of(container)};" for container in containers)


def _row_of(container: Json) -> str:
    limits = container["resources"].get("limits") or {}
    if "nvidia.com/gpu" not in limits:
        return ""
    return f"{_SOME_CARD},NVIDIA,{limits['nvidia.com/gpumem']},0:"


async def bind(request: web.Request) -> web.Response:
    """Answer ``POST /bind`` once the pod is bound, or was refused."""
    sent = orjson.loads(await request.read())
    metadata = {
        "name": sent["PodName"],
        "namespace": sent["PodNamespace"],
        "uid": sent["PodUID"],
        **_cards(request.app[_ROWS].pop(sent["PodUID"], ""), sent["Node"]),
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


def _cards(rows: str, node_name: str) -> Json:
    """Write what HAMi writes at a bind; nothing for a pod without rows."""
    if not rows:
        return {}
    now = str(int(time.time()))
    annotations = {
        "hami.io/vgpu-node": node_name,
        "hami.io/vgpu-time": now,
        "hami.io/vgpu-devices-to-allocate": rows,
        "hami.io/vgpu-devices-allocated": rows,
        "hami.io/bind-phase": "allocating",
        "hami.io/bind-time": now,
    }
    return {"annotations": annotations, "labels": {"hami.io/vgpu-node": node_name}}


async def serve(kubeconfig: Path, host: str, port: int, *, name_cards: bool) -> None:
    """Serve until cancelled."""
    answer_filter = remember_and_filter_nothing if name_cards else filter_nothing
    spare_collector()
    async with Api.connected(kubeconfig) as api:
        app = web.Application(client_max_size=LARGEST_BODY)
        app[_API] = api
        app[_ROWS] = {}
        app.add_routes(
            [
                web.get("/readyz", be_ready),
                web.post("/filter", answer_filter),
                web.post("/prioritize", score_nothing),
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
    parser.add_argument("--name-cards", action="store_true")
    arguments = parser.parse_args()
    host, _, port = arguments.listen.rpartition(":")
    with suppress(KeyboardInterrupt):
        asyncio.run(
            serve(
                arguments.kubeconfig, host, int(port), name_cards=arguments.name_cards
            )
        )


if __name__ == "__main__":
    main()
