"""``/what-if``: how many of a pod would fit. It names nodes; nothing changes."""

from typing import Final

from aiohttp import web

from extender.service import Extender
from extender.web.answers import check_synced, posted_object, view_answer
from extender.web.bodies import BODIES
from extender.web.local import check_local
from extender.wire.what_if import decode_what_if

_EXTENDER: Final = web.AppKey("plans", Extender)
_LIMIT_BYTES: Final = web.AppKey("question_limit_bytes", int)


def add_what_if(app: web.Application, extender: Extender, limit_bytes: int) -> None:
    """Serve what would be, to whoever is on this machine.

    Args:
        app: Of a listener.
        extender: Knows what is.
        limit_bytes: Of a question, with its manifest.
    """
    app[_EXTENDER] = extender
    app[_LIMIT_BYTES] = limit_bytes
    app.router.add_post("/what-if", _what_if)


async def _what_if(request: web.Request) -> web.Response:
    check_local(request)
    body = await request.app[BODIES].read(request, request.app[_LIMIT_BYTES])
    extender = request.app[_EXTENDER]
    check_synced(extender)
    pod, supposed = decode_what_if(posted_object(body), extender.reader)
    return view_answer(await extender.planner.what_if(pod, supposed))
