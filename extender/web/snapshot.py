"""``/snapshot``: the state and a decision, to be decided again. It names everything."""

from typing import Final

from aiohttp import web

from extender.service import Extender
from extender.verbs.snapshot.saved import Snapshot
from extender.web.answers import check_synced, posted_object
from extender.web.bodies import BODIES
from extender.web.local import check_local

_EXTENDER: Final = web.AppKey("snapshots", Extender)
_LIMIT_BYTES: Final = web.AppKey("snapshot_pod_limit_bytes", int)


def add_snapshot(app: web.Application, extender: Extender, limit_bytes: int) -> None:
    """Serve snapshots, to whoever is on this machine.

    Args:
        app: Of a listener.
        extender: Whose state it is.
        limit_bytes: Of a manifest.
    """
    app[_EXTENDER] = extender
    app[_LIMIT_BYTES] = limit_bytes
    app.router.add_post("/snapshot", _of_manifest)
    app.router.add_get("/snapshot/{namespace}/{name}", _of_pod)


async def _of_pod(request: web.Request) -> web.StreamResponse:
    check_local(request)
    extender = request.app[_EXTENDER]
    check_synced(extender)
    names = request.match_info["namespace"], request.match_info["name"]
    return await _streamed(request, extender.snapshots.take_named(*names))


async def _of_manifest(request: web.Request) -> web.StreamResponse:
    check_local(request)
    body = await request.app[BODIES].read(request, request.app[_LIMIT_BYTES])
    extender = request.app[_EXTENDER]
    check_synced(extender)
    pod = extender.reader.read(posted_object(body))
    return await _streamed(request, extender.snapshots.take_new(pod))


async def _streamed(request: web.Request, snapshot: Snapshot) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    async for piece in request.app[_EXTENDER].snapshots.written(snapshot):
        await response.write(piece)
    await response.write_eof()
    return response
