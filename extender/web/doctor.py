"""``/doctor``: what is wrong, and the release of locks that nobody needs."""

from typing import Final

from aiohttp import web

from extender.service import Extender
from extender.verbs.doctor.examination import Fixed
from extender.web.answers import check_synced, posted_object, view_answer
from extender.web.bodies import BODIES
from extender.web.local import check_local
from extender.wire.doctor import decode_releases

_EXTENDER: Final = web.AppKey("doctors", Extender)
_LIMIT_BYTES: Final = web.AppKey("fix_limit_bytes", int)
_JSON: Final = "application/json"


def add_doctor(app: web.Application, extender: Extender, limit_bytes: int) -> None:
    """Serve the examination, to whoever is on this machine.

    Args:
        app: Of a listener.
        extender: Is examined.
        limit_bytes: Of a list of what is to be done.
    """
    app[_EXTENDER] = extender
    app[_LIMIT_BYTES] = limit_bytes
    app.router.add_get("/doctor", _doctor)
    app.router.add_post("/doctor/fix", _fix)


def _asked(request: web.Request) -> Extender:
    check_local(request)
    extender = request.app[_EXTENDER]
    check_synced(extender)
    return extender


async def _doctor(request: web.Request) -> web.Response:
    return view_answer(await _asked(request).doctor.examine())


async def _fix(request: web.Request) -> web.Response:
    extender = _asked(request)
    if request.content_type != _JSON:
        # A page of another site can make a browser post a form, and nothing else.
        raise web.HTTPUnsupportedMediaType(reason=f"Content-Type must be {_JSON}")
    body = await request.app[BODIES].read(request, request.app[_LIMIT_BYTES])
    releases = decode_releases(posted_object(body))
    return view_answer(Fixed(tuple(await extender.doctor.fix(releases))))
