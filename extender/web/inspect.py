"""``/inspect``: the cards, what is charged on them and by whom. It names everything."""

from typing import Final

from aiohttp import web

from extender.core.names import NodeName
from extender.service import Extender
from extender.web.answers import check_synced, view_answer, wanted_nodes
from extender.web.local import check_local

_EXTENDER: Final = web.AppKey("inspects", Extender)


def add_inspect(app: web.Application, extender: Extender) -> None:
    """Serve what the state has, to whoever is on this machine."""
    app[_EXTENDER] = extender
    app.router.add_get("/inspect", _inspect_cluster)
    app.router.add_get("/inspect/nodes/{name}", _inspect_node)
    app.router.add_get("/inspect/pods/{namespace}/{name}", _inspect_pod)


def _asked(request: web.Request) -> Extender:
    check_local(request)
    extender = request.app[_EXTENDER]
    check_synced(extender)
    return extender


async def _inspect_cluster(request: web.Request) -> web.Response:
    inspector = _asked(request).inspector
    return view_answer(await inspector.inspect_cluster(wanted_nodes(request)))


async def _inspect_node(request: web.Request) -> web.Response:
    inspector = _asked(request).inspector
    return view_answer(inspector.inspect_node(NodeName(request.match_info["name"])))


async def _inspect_pod(request: web.Request) -> web.Response:
    inspector = _asked(request).inspector
    namespace, name = request.match_info["namespace"], request.match_info["name"]
    return view_answer(inspector.inspect_pod(namespace, name))
