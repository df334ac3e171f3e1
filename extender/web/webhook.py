"""The routes of the admission webhooks."""

from typing import Final

from aiohttp import web

from extender.service.admitter import Admitter
from extender.service.quota_admitter import QuotaAdmitter
from extender.web.bodies import BODIES

ADMITTER: Final = web.AppKey("admitter", Admitter)
QUOTA_ADMITTER: Final = web.AppKey("quota_admitter", QuotaAdmitter)


_LIMIT_BYTES: Final = web.AppKey("review_limit_bytes", int)


def add_webhook(
    app: web.Application,
    admitter: Admitter,
    quota_admitter: QuotaAdmitter,
    limit_bytes: int,
) -> None:
    """Serve what the API server asks about new pods.

    ``POST /webhook`` changes them, ``POST /validate`` asks their quotas.

    Args:
        app: Gets the routes.
        admitter: Answers the first.
        quota_admitter: Answers the second.
        limit_bytes: Of a review. All of one is read in one step, in which nobody else
            is served.
    """
    app[_LIMIT_BYTES] = limit_bytes
    app[ADMITTER] = admitter
    app[QUOTA_ADMITTER] = quota_admitter
    app.router.add_post("/webhook", _webhook)
    app.router.add_post("/validate", _validate)


async def _webhook(request: web.Request) -> web.Response:
    body = await _read(request)
    return _answered(request.app[ADMITTER].answer(body))


async def _validate(request: web.Request) -> web.Response:
    body = await _read(request)
    return _answered(request.app[QUOTA_ADMITTER].answer(body))


async def _read(request: web.Request) -> bytes:
    return await request.app[BODIES].read(request, request.app[_LIMIT_BYTES])


def _answered(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")
