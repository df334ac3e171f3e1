"""What an error looks like to a client: the only place where one becomes an answer."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import orjson
from aiohttp import web

from extender.errors import (
    BodyTooLarge,
    Conflict,
    ExtenderError,
    NotFound,
    NotSynced,
    WireError,
)

_log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn errors into answers: ``{"error": text}`` with the fitting status.

    Anything else is a fault of ours: aiohttp logs it and answers a bare 500.
    """
    try:
        return await handler(request)
    except ExtenderError as error:
        status = next(code for kind, code in _STATUS_OF if isinstance(error, kind))
        return _answer(request, status, str(error))
    except web.RequestPayloadError as error:
        answer = _answer(request, 400, f"body: {' '.join(str(error).split())}")
        answer.force_close()
        return answer
    except web.HTTPException as error:
        return _answer(request, error.status, _http_text(request, error), error.headers)


_STATUS_OF: Final = (
    (BodyTooLarge, 413),
    (WireError, 400),
    (NotFound, 404),
    (Conflict, 409),
    (NotSynced, 503),
    (ExtenderError, 500),
)


def _http_text(request: web.Request, error: web.HTTPException) -> str:
    match error:
        case web.HTTPRequestEntityTooLarge():
            return f"body: larger than {request.client_max_size} bytes"
        case web.HTTPNotFound():
            return f"no such path: {request.raw_path}"
        case web.HTTPMethodNotAllowed():
            allowed = ", ".join(sorted(error.allowed_methods))
            return f"{request.raw_path} takes {allowed}, not {request.method}"
        case _:
            return error.reason


def _answer(
    request: web.Request,
    status: int,
    text: str,
    error_headers: Mapping[str, str] | None = None,
) -> web.Response:
    _log.warning("%s %s: %d %s", request.method, request.raw_path, status, text)
    allow = (error_headers or {}).get("Allow")
    return web.Response(
        body=orjson.dumps({"error": text}, option=orjson.OPT_APPEND_NEWLINE),
        status=status,
        content_type="application/json",
        headers={"Allow": allow} if allow else None,
    )
