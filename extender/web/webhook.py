"""The route of the admission webhook."""

from typing import Final

from aiohttp import web

from extender.service.admitter import Admitter
from extender.web.bodies import BODIES

ADMITTER: Final = web.AppKey("admitter", Admitter)


def add_webhook(app: web.Application, admitter: Admitter) -> None:
    """Serve ``POST /webhook``, which the API server asks about new pods."""
    app[ADMITTER] = admitter
    app.router.add_post("/webhook", _webhook)


async def _webhook(request: web.Request) -> web.Response:
    body = await request.app[BODIES].read(request)
    answer = request.app[ADMITTER].answer(body)
    return web.Response(body=answer, content_type="application/json")
