"""``GET /shadow``: what shadow mode has found."""

import orjson
from aiohttp import web

from extender.service.shadow import ShadowExtender
from extender.service.shadow_report import shadow_report
from extender.web.local import check_local


def add_shadow(app: web.Application, shadow: ShadowExtender) -> None:
    """Add the route; it names pods, so it is for whoever is on this machine."""

    async def report(request: web.Request) -> web.Response:
        check_local(request)
        body = orjson.dumps(await shadow_report(shadow), option=orjson.OPT_INDENT_2)
        return web.Response(body=body + b"\n", content_type="application/json")

    app.router.add_get("/shadow", report)
