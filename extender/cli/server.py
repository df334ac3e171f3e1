"""A running extender, asked for what it sees."""

import asyncio
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import orjson

from extender.errors import (
    ClusterError,
    Described,
    Forbidden,
    MalformedBody,
    NotFound,
    Rejected,
    SettingsError,
    Unreachable,
)
from extender.wire.objects import JsonObject, as_object

_SECONDS: Final = 60.0
"""Longest answer. 5,000 nodes are explained in less than a second."""

LARGEST_BYTES: Final = 64 * 1024 * 1024
"""Largest answer that is read, but of a route that may have more."""

_LONGEST_SHOWN: Final = 80
_JSON: Final = "application/json"
_OK: Final = 200
_ERROR_OF: Final[dict[int, type[ClusterError]]] = {
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    503: Unreachable,
}


@dataclass(frozen=True, slots=True)
class Server:
    """Where an extender serves, and how it is known.

    Attributes:
        url: Such as ``https://127.0.0.1:8443``; without a path.
        ca_file: Who may have signed its certificate; None for those that this machine
            trusts.
        cert_file: Our own certificate, where it asks for one.
        key_file: Its key; None where `cert_file` has both.
        name: That its certificate must have; None for the host of the URL.
    """

    url: str
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is no URL of a server.

        Raises:
            SettingsError: It is not ``http`` or ``https`` with a host and no more, or
                TLS options are given for plain HTTP.
        """
        try:
            parts = urlsplit(self.url)
            _ = parts.port
        except ValueError as error:
            raise SettingsError(f"--server {self.url!r}: {error}") from error
        has_more = parts.path.strip("/") or parts.query or parts.fragment
        if parts.scheme not in ("http", "https") or not parts.hostname or has_more:
            raise SettingsError(
                f"--server {self.url!r}: expected http:// or https:// and HOST:PORT, "
                "such as http://127.0.0.1:8080"
            )
        if parts.username is not None:
            raise SettingsError("--server: an extender takes no user name or password")
        for flag, given in (
            ("--server-ca", self.ca_file),
            ("--server-cert", self.cert_file),
            ("--server-name", self.name),
        ):
            if given is not None and parts.scheme == "http":
                raise SettingsError(f"{flag} needs an https:// URL in --server")
        if self.key_file is not None and self.cert_file is None:
            raise SettingsError("--server-key needs --server-cert")

    def ask(
        self, path: str, body: bytes | None = None, most_bytes: int = LARGEST_BYTES
    ) -> JsonObject:
        """Read a route, or post a question to it; nothing is changed there.

        Args:
            path: From ``/``, with its query.
            body: To be posted; None to read.
            most_bytes: The largest answer that is read.

        Raises:
            ClusterError: There was no answer, or the answer is no.
            MalformedBody: The answer is no JSON object.
            SettingsError: A file for TLS cannot be used.
        """
        return asyncio.run(self._ask(path, body, self._tls(), most_bytes))

    async def _ask(
        self,
        path: str,
        body: bytes | None,
        tls: ssl.SSLContext | None,
        most_bytes: int,
    ) -> JsonObject:
        method = "GET" if body is None else "POST"
        timeout = aiohttp.ClientTimeout(total=_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.request(
                    method,
                    self.url.rstrip("/") + path,
                    data=body,
                    headers={} if body is None else {"Content-Type": _JSON},
                    ssl=True if tls is None else tls,
                    server_hostname=self.name,
                    allow_redirects=False,
                ) as response,
            ):
                content = await _content(response, most_bytes)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            why = str(error) or f"no answer in {_SECONDS:.0f} s"
            raise Unreachable(f"--server {self.url}: {why}") from error
        if response.status != _OK:
            kind = _ERROR_OF.get(response.status, Rejected)
            raise kind(f"--server {self.url}: {_error_in(content, response.status)}")
        return as_object(_decoded(content), "answer")

    def _tls(self) -> ssl.SSLContext | None:
        if urlsplit(self.url).scheme == "http":
            return None
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise SettingsError(f"--server-ca {self.ca_file}: {error}") from error
        if self.cert_file is not None:
            try:
                context.load_cert_chain(self.cert_file, self.key_file)
            except OSError as error:
                files = f"{self.cert_file}, {self.key_file or self.cert_file}"
                raise SettingsError(f"--server-cert {files}: {error}") from error
        return context


async def _content(response: aiohttp.ClientResponse, most_bytes: int) -> bytes:
    found = bytearray()
    async for part in response.content.iter_any():
        found += part
        if len(found) > most_bytes:
            beyond = Described(f"more than {most_bytes} bytes")
            raise MalformedBody("answer", beyond, f"at most {most_bytes} bytes")
    return bytes(found)


def _decoded(content: bytes) -> object:
    try:
        decoded: object = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        start = content[:_LONGEST_SHOWN].decode("utf-8", "replace")
        raise MalformedBody("answer", start, "JSON") from error
    return decoded


def _error_in(content: bytes, status: int) -> str:
    """Give what the extender says is wrong; others than it may say anything."""
    try:
        answer = orjson.loads(content)
    except orjson.JSONDecodeError:
        answer = None
    text = answer.get("error") if isinstance(answer, dict) else None
    return text if isinstance(text, str) else f"status {status}"
