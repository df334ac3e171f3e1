"""The routes of the admission webhooks."""

from collections.abc import Callable
from typing import Final

from aiohttp import web

from extender.observe.metrics import Metrics
from extender.observe.words import Stage, Verb, VerbOutcome
from extender.service.admitter import Admitter
from extender.service.quota_admitter import QuotaAdmitter
from extender.web.bodies import BODIES

ADMITTER: Final = web.AppKey("admitter", Admitter)
QUOTA_ADMITTER: Final = web.AppKey("quota_admitter", QuotaAdmitter)


_METRICS: Final = web.AppKey("metrics", Metrics)
_LIMIT_BYTES: Final = web.AppKey("review_limit_bytes", int)


def add_webhook(
    app: web.Application,
    admitter: Admitter,
    quota_admitter: QuotaAdmitter,
    limit_bytes: int,
    metrics: Metrics,
) -> None:
    """Serve what the API server asks about new pods.

    ``POST /webhook`` changes them, ``POST /validate`` asks their quotas.

    Args:
        app: Gets the routes.
        admitter: Answers the first.
        quota_admitter: Answers the second.
        limit_bytes: Of a review. All of one is read in one step, in which nobody else
            is served.
        metrics: Times the requests.
    """
    app[_METRICS] = metrics
    app[_LIMIT_BYTES] = limit_bytes
    app[ADMITTER] = admitter
    app[QUOTA_ADMITTER] = quota_admitter
    app.router.add_post("/webhook", _webhook)
    app.router.add_post("/validate", _validate)


async def _webhook(request: web.Request) -> web.Response:
    return await _answered(request, Verb.WEBHOOK, request.app[ADMITTER].answer)


async def _validate(request: web.Request) -> web.Response:
    return await _answered(request, Verb.VALIDATE, request.app[QUOTA_ADMITTER].answer)


async def _answered(
    request: web.Request, verb: Verb, answer: Callable[[bytes], bytes]
) -> web.Response:
    with request.app[_METRICS].time(verb) as timing:
        body = await request.app[BODIES].read(request, request.app[_LIMIT_BYTES])
        timing.mark(Stage.WAIT)
        answered = answer(body)
        timing.mark(Stage.FIT)
        timing.outcome = VerbOutcome.ANSWERED
        return web.Response(body=answered, content_type="application/json")
