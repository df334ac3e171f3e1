"""``/explain``: why a pod is placed or refused. It names pods, nodes and cards."""

from typing import Final

import orjson
from aiohttp import web

from extender.core.model import NodeName
from extender.errors import BadObject, Described, MalformedBody, NotSynced
from extender.service import Extender
from extender.verbs.explanation import Explanation
from extender.web.bodies import BODIES
from extender.web.local import check_local
from extender.wire.views import encode_view

_EXTENDER: Final = web.AppKey("explains", Extender)
_LIMIT_BYTES: Final = web.AppKey("manifest_limit_bytes", int)

_MOST_WANTED: Final = 64
"""Nodes that a request may name: each takes some milliseconds."""


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
    extender = _synced(request)
    namespace, name = request.match_info["namespace"], request.match_info["name"]
    wanted = _wanted(request)
    return _answer(await extender.explainer.explain_named(namespace, name, wanted))


async def _explain_manifest(request: web.Request) -> web.Response:
    check_local(request)
    body = await request.app[BODIES].read(request, request.app[_LIMIT_BYTES])
    extender = _synced(request)
    try:
        pod = extender.reader.read(orjson.loads(body))
    except orjson.JSONDecodeError as error:
        found = Described(f"what begins with {body[:40]!r}" if body else "empty")
        raise MalformedBody("body", found, f"JSON: {error}") from error
    except BadObject as error:
        raise MalformedBody(error.field, error.value, error.expected) from error
    wanted = _wanted(request)
    return _answer(await extender.explainer.explain_manifest(pod, wanted))


def _synced(request: web.Request) -> Extender:
    extender = request.app[_EXTENDER]
    if not extender.is_synced:
        raise NotSynced("nodes, pods and quotas have not been listed yet; try again")
    return extender


def _wanted(request: web.Request) -> list[NodeName]:
    """Read which nodes are to be explained in full besides.

    Raises:
        MalformedBody: There are too many.
    """
    names = [NodeName(name) for name in request.query.getall("node", ())]
    if len(names) > _MOST_WANTED:
        found = Described(f"{len(names)} nodes")
        raise MalformedBody("node", found, f"at most {_MOST_WANTED}")
    return names


def _answer(told: Explanation) -> web.Response:
    return web.Response(body=encode_view(told), content_type="application/json")
