"""The id of each request: taken or made up, told in the answer and in log lines."""

from typing import Final

from aiohttp import web

from extender.observe.request_ids import REQUEST_ID, request_id_of
from extender.web.errors import Handler

HEADER: Final = "X-Request-Id"


@web.middleware
async def give_ids(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Give a request its id; must stand before all that may log."""
    request_id = request_id_of(request.headers.get(HEADER))
    token = REQUEST_ID.set(request_id)
    try:
        answer = await handler(request)
    finally:
        REQUEST_ID.reset(token)
    answer.headers[HEADER] = request_id
    return answer
