"""Requests to the API server; the only place where a status becomes an error."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

import aiohttp
import orjson

from extender.errors import (
    ClusterError,
    Conflict,
    Forbidden,
    Gone,
    NotFound,
    Rejected,
    Unanswered,
    Unreachable,
)
from extender.kube.access import Access
from extender.kube.connections import connector
from extender.kube.lines import json_lines
from extender.observe.metrics import Metrics
from extender.observe.words import ApiOutcome
from extender.wire.objects import JsonObject

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
METADATA_ONLY: Final = (
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
)
"""Nodes list their images; nothing but their metadata is needed for a lock."""

METADATA_ONLY_LIST: Final = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

_LONGEST_REASON: Final = 300
_CHUNK_BYTES: Final = 256 * 1024

_ERROR_OF: Final[Mapping[int, type[ClusterError]]] = {
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    429: Unreachable,
}
_OUTCOME_OF: Final[Mapping[type[ClusterError], ApiOutcome]] = {
    Conflict: ApiOutcome.CONFLICT,
    Forbidden: ApiOutcome.FORBIDDEN,
    Gone: ApiOutcome.GONE,
    NotFound: ApiOutcome.NOT_FOUND,
    Rejected: ApiOutcome.REJECTED,
    Unanswered: ApiOutcome.UNANSWERED,
    Unreachable: ApiOutcome.UNREACHABLE,
}
_UNAUTHORIZED: Final = 401
_FIRST_ERROR: Final = 400
_FIRST_SERVER_ERROR: Final = 500


class ApiClient:
    """Speaks JSON with one API server; used as an async context manager."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._open_session: aiohttp.ClientSession | None = None
        self._metrics: Metrics | None = None

    def count_in(self, metrics: Metrics) -> None:
        """Count requests from now on."""
        self._metrics = metrics

    def _count(self, method: str, outcome: ApiOutcome) -> None:
        if self._metrics is not None:
            self._metrics.api_requests.labels(method, outcome).inc()

    async def __aenter__(self) -> Self:
        self._open_session = aiohttp.ClientSession(
            # Two watches and as many binds at once as there are.
            connector=connector(),
            json_serialize=lambda value: orjson.dumps(value).decode(),
        )
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._open_session is not None:
            await self._open_session.close()

    async def get(
        self,
        path: str,
        *,
        seconds: float,
        query: Mapping[str, str] | None = None,
        accept: str = JSON,
    ) -> JsonObject:
        """Read an object or a list.

        Args:
            path: From ``/``; see `path_of`.
            seconds: Longest time for the whole answer.
            query: Parameters.
            accept: Which representation to ask for.

        Raises:
            ClusterError: By the server's status, or since there was no answer.
        """
        return await self._request("GET", path, seconds, query=query, accept=accept)

    async def post(
        self,
        path: str,
        body: JsonObject,
        *,
        seconds: float,
        may_send: Callable[[], bool] = lambda: True,
    ) -> JsonObject:
        """Create an object; as `get`.

        Args:
            path: As for `get`.
            body: The object.
            seconds: As for `get`.
            may_send: Asked last of all, as this process may have stood still; where it
                says no, nothing is sent.

        Raises:
            ClusterError: As `get`; `Unreachable` where it was not sent.
        """
        return await self._request("POST", path, seconds, body=body, may_send=may_send)

    async def patch(self, path: str, body: JsonObject, *, seconds: float) -> JsonObject:
        """Merge into an object; as `get`."""
        return await self._request(
            "PATCH",
            path,
            seconds,
            body=body,
            content_type=MERGE_PATCH,
            accept=METADATA_ONLY,
        )

    async def lines(
        self, path: str, query: Mapping[str, str], *, idle_seconds: float
    ) -> AsyncGenerator[bytes, None]:
        """Stream an answer line by line.

        Returns once the server ends the stream, or nothing came for `idle_seconds`.

        Raises:
            ClusterError: By the server's status, or since the connection broke.
        """
        limits = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECT_SECONDS, sock_read=idle_seconds
        )
        async with self._answer("GET", path, limits, query=query) as answer:
            chunks = answer.content.iter_chunked(_CHUNK_BYTES)
            with contextlib.suppress(aiohttp.SocketTimeoutError):
                async for line in json_lines(chunks):
                    yield line

    async def _request(
        self,
        method: str,
        path: str,
        seconds: float,
        *,
        query: Mapping[str, str] | None = None,
        body: JsonObject | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        may_send: Callable[[], bool] = lambda: True,
    ) -> JsonObject:
        try:
            answer = await self._answered(
                method,
                path,
                seconds,
                query=query,
                body=body,
                content_type=content_type,
                accept=accept,
                may_send=may_send,
            )
        except ClusterError as error:
            self._count(method, _OUTCOME_OF.get(type(error), ApiOutcome.REJECTED))
            raise
        self._count(method, ApiOutcome.OK)
        return answer

    async def _answered(
        self,
        method: str,
        path: str,
        seconds: float,
        *,
        query: Mapping[str, str] | None,
        body: JsonObject | None,
        content_type: str,
        accept: str,
        may_send: Callable[[], bool],
    ) -> JsonObject:
        limits = aiohttp.ClientTimeout(total=seconds)
        async with self._answer(
            method,
            path,
            limits,
            query=query,
            body=body,
            content_type=content_type,
            accept=accept,
            may_send=may_send,
        ) as answer:
            value = orjson.loads(await answer.read())
            if not isinstance(value, dict):
                raise Unanswered(f"{method} {path}: the answer is not an object")
            return value

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        limits: aiohttp.ClientTimeout,
        *,
        query: Mapping[str, str] | None = None,
        body: JsonObject | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        may_send: Callable[[], bool] = lambda: True,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request; what goes wrong until its answer is used up is translated."""
        headers = {**await self._access.headers(), "Accept": accept}
        if body is not None:
            headers["Content-Type"] = content_type
        what = f"{method} {path}"
        if not may_send():
            raise Unreachable(f"{what}: not sent, it would come too late")
        try:
            async with self._session().request(
                method,
                self._access.base_url + path,
                params=query,
                data=None if body is None else orjson.dumps(body),
                headers=headers,
                timeout=limits,
                allow_redirects=False,
                ssl=self._access.ssl_context or True,
                server_hostname=self._access.server_name,
                proxy=self._access.proxy,
            ) as answer:
                await self._check(answer, what)
                yield answer
        except aiohttp.ClientConnectorError as error:
            where = f"{error.host}:{error.port}"
            raise Unreachable(f"no connection to {where}: {error.os_error}") from error
        except TimeoutError as error:
            raise Unanswered(f"{what}: no answer in time") from error
        except (aiohttp.ClientError, orjson.JSONDecodeError, OSError) as error:
            raise Unanswered(f"{what}: {type(error).__name__}: {error}") from error

    async def _check(self, answer: aiohttp.ClientResponse, what: str) -> None:
        if answer.status < _FIRST_ERROR:
            return
        if answer.status == _UNAUTHORIZED:
            self._access.expire()
        reason = _reason(await answer.read()) or answer.reason or "no reason given"
        kind = _ERROR_OF.get(answer.status)
        if kind is None:
            is_ours = answer.status < _FIRST_SERVER_ERROR
            kind = Rejected if is_ours else Unanswered
        raise kind(f"{what}: {answer.status} {reason}")

    def _session(self) -> aiohttp.ClientSession:
        if self._open_session is None:
            raise RuntimeError("the client is used outside of its context")
        return self._open_session


_CONNECT_SECONDS: Final = 10.0


def path_of(*segments: str) -> str:
    """Put a path together from names that may hold anything.

    Example:
        >>> path_of("api", "v1", "namespaces", "a/b", "pods")
        '/api/v1/namespaces/a%2Fb/pods'
    """
    return "".join(f"/{quote(segment, safe='')}" for segment in segments)


def error_of(status: JsonObject) -> ClusterError:
    """Turn the Status object of a watch's ERROR event into an error."""
    code = status.get("code")
    kind = _ERROR_OF.get(code, Unreachable) if isinstance(code, int) else Unreachable
    if status.get("reason") in ("Expired", "Gone"):
        kind = Gone
    message = status.get("message")
    text = message if isinstance(message, str) else "no message"
    return kind(f"the watch ended: {text[:_LONGEST_REASON]}")


def _reason(body: bytes) -> str | None:
    """Give the server's own words, if the body is a Status of Kubernetes."""
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        return None
    message = status.get("message")
    return message[:_LONGEST_REASON] if isinstance(message, str) else None
