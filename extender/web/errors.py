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

_LONGEST_PATH: Final = 200

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn errors into answers: ``{"error": text}`` with the fitting status.

    Anything else is a fault of ours: the log has it, the client only that there is one.
    """
    try:
        return await handler(request)
    except ExtenderError as error:
        status = next(code for kind, code in _STATUS_OF if isinstance(error, kind))
        return _answer(request, status, str(error), logged=_without_body(error))
    except web.RequestPayloadError:
        # Its own text quotes what came, and the log is not for that.
        text = "body: is cut short, or not encoded as its headers say"
        answer = _answer(request, 400, text)
        answer.force_close()
        return answer
    except web.HTTPException as error:
        answer = _answer(
            request, error.status, _http_text(request, error), error.headers
        )
        if isinstance(error, web.HTTPRequestTimeout):
            answer.force_close()
        return answer
    except Exception as error:  # noqa: BLE001 - whatever it is, no client sees it
        if isinstance(error, ConnectionError) and request.transport is None:
            return _answer(request, 400, "body: its sender closed the connection")
        _log.exception("a fault while answering %s %s", request.method, _path(request))
        return _answer(request, 500, "a fault of the extender; its log says more")


_STATUS_OF: Final = (
    (BodyTooLarge, 413),
    (WireError, 400),
    (NotFound, 404),
    (Conflict, 409),
    (NotSynced, 503),
    (ExtenderError, 500),
)


def _without_body(error: ExtenderError) -> str:
    """Give an error's text for the log: a body as such may hold anything."""
    match error:
        case BodyTooLarge():
            return str(error)
        case WireError(field="body"):
            return f"body: it is not {error.expected}"
        case _:
            return str(error)


def _path(request: web.Request) -> str:
    """Give the path for a person; without its query, which may hold a secret."""
    path = request.raw_path.partition("?")[0]
    shown = path if path.isascii() else ascii(path)[1:-1]
    return shown if len(shown) <= _LONGEST_PATH else f"{shown[:_LONGEST_PATH]}..."


def _http_text(request: web.Request, error: web.HTTPException) -> str:
    match error:
        case web.HTTPRequestEntityTooLarge():
            return f"body: larger than {request.client_max_size} bytes"
        case web.HTTPNotFound():
            return f"no such path: {_path(request)}"
        case web.HTTPMethodNotAllowed():
            allowed = ", ".join(sorted(error.allowed_methods))
            return f"{_path(request)} takes {allowed}, not {request.method}"
        case _:
            return error.reason


def _answer(
    request: web.Request,
    status: int,
    text: str,
    error_headers: Mapping[str, str] | None = None,
    logged: str = "",
) -> web.Response:
    said = logged or text
    # Only one line a request, whatever it brings.
    shown = said if said.isprintable() else ascii(said)[1:-1]
    _log.warning("%s %s: %d %s", request.method, _path(request), status, shown)
    allow = (error_headers or {}).get("Allow")
    return web.Response(
        body=orjson.dumps({"error": text}, option=orjson.OPT_APPEND_NEWLINE),
        status=status,
        content_type="application/json",
        headers={"Allow": allow} if allow else None,
    )
