"""``/explain``: why a pod is placed or refused. It names pods, nodes and cards."""

from typing import Final

from aiohttp import web

from extender.errors import BadObject, MalformedBody
from extender.service import Extender
from extender.web.answers import (
    check_synced,
    posted_object,
    view_answer,
    wanted_nodes,
)
from extender.web.bodies import BODIES
from extender.web.local import check_local

_EXTENDER: Final = web.AppKey("explains", Extender)
_LIMIT_BYTES: Final = web.AppKey("manifest_limit_bytes", int)


def add_explain(app: web.Application, extender: Extender, limit_bytes: int) -> None:
    """Serve explanations, to whoever is on this machine.

    Args:
        app: Of a listener.
        extender: Explains.
        limit_bytes: Of a manifest.
    """
    app[_EXTENDER] = extender
    app[_LIMIT_BYTES] = limit_bytes
    app.router.add_get("/explain/{namespace}/{name}", _explain_named)
    app.router.add_post("/explain", _explain_manifest)


async def _explain_named(request: web.Request) -> web.Response:
    check_local(request)
    extender = request.app[_EXTENDER]
    check_synced(extender)
    namespace, name = request.match_info["namespace"], request.match_info["name"]
    wanted = wanted_nodes(request)
    return view_answer(await extender.explainer.explain_named(namespace, name, wanted))


async def _explain_manifest(request: web.Request) -> web.Response:
    check_local(request)
    body = await request.app[BODIES].read(request, request.app[_LIMIT_BYTES])
    extender = request.app[_EXTENDER]
    check_synced(extender)
    try:
        pod = extender.reader.read(posted_object(body))
    except BadObject as error:
        raise MalformedBody(error.field, error.value, error.expected) from error
    wanted = wanted_nodes(request)
    return view_answer(await extender.explainer.explain_manifest(pod, wanted))
