"""``/snapshot``: the state and a decision, to be decided again. It names everything."""

import logging
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from extender.service import Extender
from extender.verbs.snapshot.saved import SnapshotBegun
from extender.web.answers import check_synced, posted_object
from extender.web.bodies import BODIES
from extender.web.local import check_local

_log = logging.getLogger(__name__)

MOST_AT_ONCE: Final = 2
"""Snapshots that are written at one time: each keeps what changes meanwhile for as long
as its reader takes."""


@dataclass(slots=True)
class UnderWay:
    """How many snapshots are being written."""

    count: int = 0


_EXTENDER: Final = web.AppKey("snapshots", Extender)
UNDER_WAY: Final = web.AppKey("snapshots_under_way", UnderWay)
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
    app[UNDER_WAY] = UnderWay()
    app.router.add_post("/snapshot", _of_manifest)
    app.router.add_get("/snapshot/{namespace}/{name}", _of_pod)


async def _of_pod(request: web.Request) -> web.StreamResponse:
    check_local(request)
    extender = request.app[_EXTENDER]
    check_synced(extender)
    namespace, name = request.match_info["namespace"], request.match_info["name"]
    return await _streamed(
        request, await extender.snapshots.begin_named(namespace, name)
    )


async def _of_manifest(request: web.Request) -> web.StreamResponse:
    check_local(request)
    body = await request.app[BODIES].read(request, request.app[_LIMIT_BYTES])
    extender = request.app[_EXTENDER]
    check_synced(extender)
    pod = extender.reader.read(posted_object(body))
    return await _streamed(request, extender.snapshots.begin_new(pod))


async def _streamed(
    request: web.Request, snapshot: SnapshotBegun
) -> web.StreamResponse:
    under_way = request.app[UNDER_WAY]
    if under_way.count >= MOST_AT_ONCE:
        raise web.HTTPServiceUnavailable(
            reason=f"{MOST_AT_ONCE} snapshots are written already; try again"
        )
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    under_way.count += 1
    try:
        await response.prepare(request)
        if request.method != "HEAD":
            async for piece in request.app[_EXTENDER].snapshots.written(snapshot):
                await response.write(piece)
        await response.write_eof()
    except ConnectionError:
        _log.debug("who asked for a snapshot went away")
    finally:
        under_way.count -= 1
    return response
