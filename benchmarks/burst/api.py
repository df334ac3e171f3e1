"""Requests to an API server, at the least that they can cost.

What is measured shares its processors with whoever sends them.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Self

import aiohttp
import orjson
import yaml

from extender.kube.connections import connector

Json = dict[str, Any]

JSON: Final = "application/json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"

_METADATA_ONLY: Final = (
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
)
_CONNECTIONS: Final = 32
"""A new one costs the server more than a request does."""

_AGAIN_SECONDS: Final = 0.02


class ApiRefused(Exception):
    """The API server's answer is no success."""

    def __init__(self, asked: str, status: int, body: bytes) -> None:
        super().__init__(f"{asked}: {status} {body[:500].decode(errors='replace')}")
        self.status = status


@dataclass(frozen=True, slots=True)
class Api:
    """Talks to one API server as one user; `connected` opens and closes it."""

    session: aiohttp.ClientSession

    @classmethod
    @asynccontextmanager
    async def connected(
        cls, kubeconfig: Path, connections: int = _CONNECTIONS
    ) -> AsyncIterator[Self]:
        """Connect as the only user of a kubeconfig, which has a token.

        Args:
            kubeconfig: Where the server is, and whose token to use.
            connections: At most, a watch included; what is more waits for its turn.
        """
        read = yaml.safe_load(await asyncio.to_thread(kubeconfig.read_bytes))
        cluster, user = read["clusters"][0]["cluster"], read["users"][0]["user"]
        trust = ssl.create_default_context(cafile=cluster["certificate-authority"])
        async with aiohttp.ClientSession(
            cluster["server"],
            headers={"Authorization": f"Bearer {user['token']}"},
            connector=connector(trust, connections),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
        ) as session:
            yield cls(session)

    async def write(
        self, method: str, path: str, body: Json, content_type: str = JSON
    ) -> None:
        """Send a write; what it made is not read.

        Raises:
            ApiRefused: It was not carried out.
        """
        headers = {"Content-Type": content_type, "Accept": _METADATA_ONLY}
        await self._send(method, path, orjson.dumps(body), headers)

    async def get(self, path: str) -> Json:
        """Read an object or, for a collection, its whole list."""
        read: Json = orjson.loads(await self._send("GET", path))
        return read

    async def metadata(self, path: str) -> Json:
        """Read the metadata of an object."""
        read = await self._send("GET", path, headers={"Accept": _METADATA_ONLY})
        metadata: Json = orjson.loads(read)["metadata"]
        return metadata

    async def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        async with self.session.request(
            method, path, data=body, headers=headers
        ) as answer:
            read = await answer.read()
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ApiRefused(f"{method} {path}", answer.status, read)
        return read

    async def appearing(
        self, path: str, field_selector: str, is_open: asyncio.Event
    ) -> AsyncGenerator[Json, None]:
        """Give each object once, when it first matches a selector; for ever.

        The server ends a watch that it finds slow, on a busy machine within seconds.
        The next one begins with all that match.

        Args:
            path: Of a collection.
            field_selector: By which the server selects.
            is_open: Set once nothing that happens from then on is missed.
        """
        asked = {"watch": "true", "fieldSelector": field_selector}
        seen: set[str] = set()
        while True:
            async with self.session.get(path, params=asked) as answer:
                if answer.status != HTTPStatus.OK:
                    read = await answer.read()
                    raise ApiRefused(f"watch {path}", answer.status, read)
                is_open.set()
                async with aclosing(_added(answer.content)) as added:
                    async for shown in added:
                        uid = shown["metadata"]["uid"]
                        if uid not in seen:
                            seen.add(uid)
                            yield shown
            await asyncio.sleep(_AGAIN_SECONDS)


async def _added(content: aiohttp.StreamReader) -> AsyncGenerator[Json, None]:
    rest = b""
    async for chunk in content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            # Most lines are changes of what is known; they are not worth decoding.
            if line.startswith(b'{"type":"ADDED"'):
                yield orjson.loads(line)["object"]
            elif line.startswith(b'{"type":"ERROR"'):
                raise ApiRefused("watch", 0, line)


def pods_path(namespace: str) -> str:
    """Name the pods of a namespace."""
    return f"/api/v1/namespaces/{namespace}/pods"


def path_of(pod: Json) -> str:
    """Name a pod that was read."""
    metadata = pod["metadata"]
    return f"{pods_path(metadata['namespace'])}/{metadata['name']}"
