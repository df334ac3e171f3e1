"""A small client of the API, for tests: its errors name what was asked."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final, Self

import aiohttp
import orjson
from multidict import CIMultiDict

from extender.kube.connections import connector
from tests.builders import Json
from tests.control_plane.plane import ControlPlane, User

Claim = Callable[[Json], bool]
"""Whether an object is as a test wants it."""

MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"

PLUGIN: Final = "system:serviceaccount:kube-system:hami-device-plugin"
"""As whom HAMi's device plugin writes, where its chart is installed as it says."""

_IMAGE: Final = "registry.example/work:1"
_RELIST_SECONDS: Final = 0.2


class ApiError(Exception):
    """The API server refused."""

    def __init__(self, status: int, asked: str, body: bytes) -> None:
        super().__init__(f"{asked}: {status} {body.decode(errors='replace')[:500]}")
        self.status = status
        self.body = body


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """What happened to an object: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""

    kind: str
    object: Json


@dataclass(frozen=True, slots=True)
class Api:
    """Talks to one API server as one user; `connected` opens and closes it.

    Attributes:
        session: With the user's credentials.
        acts_as: Further headers, by which an administrator acts as somebody else.
    """

    session: aiohttp.ClientSession
    acts_as: tuple[tuple[str, str], ...] = ()

    @classmethod
    @asynccontextmanager
    async def connected(
        cls, plane: ControlPlane, user: User = User.ADMIN
    ) -> AsyncIterator[Self]:
        """Connect to a control plane."""
        trust = ssl.create_default_context(cafile=str(plane.certificate_authority))
        async with aiohttp.ClientSession(
            plane.server,
            headers={"Authorization": f"Bearer {plane.token(user)}"},
            connector=connector(trust),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
        ) as session:
            yield cls(session)

    def acting_as(self, name: str) -> Self:
        """Write as another user, who may do everything that RBAC can give.

        Admission sees the name, which is what the guards in ``manifests`` go by. A
        name of a node is in the group of nodes, too.
        """
        groups = ["system:authenticated", "system:masters"]
        if name.startswith("system:node:"):
            groups.append("system:nodes")
        headers = [("Impersonate-Group", group) for group in groups]
        return replace(self, acts_as=(("Impersonate-User", name), *headers))

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        content_type: str = "application/json",
        parameters: Mapping[str, str] | None = None,
    ) -> Json:
        """Send one request and read the answer.

        Raises:
            ApiError: The answer is no success.
        """
        async with self.session.request(
            method,
            path,
            data=None if body is None else orjson.dumps(body),
            headers=CIMultiDict([("Content-Type", content_type), *self.acts_as]),
            params=parameters,
        ) as answer:
            read = await answer.read()
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ApiError(answer.status, f"{method} {path}", read)
        shown: Json = orjson.loads(read)
        return shown

    async def get(self, path: str) -> Json:
        """Read an object or, for a collection, its list."""
        return await self.request("GET", path)

    async def items(self, path: str, **selectors: str) -> list[Json]:
        """Read the objects of a collection; `fieldSelector` and such select."""
        shown = await self.request("GET", path, parameters=selectors)
        found: list[Json] = shown["items"]
        return found

    async def patch(self, path: str, change: Json, content_type: str = MERGE) -> Json:
        """Change an object; a resourceVersion or uid within is a precondition."""
        return await self.request("PATCH", path, body=change, content_type=content_type)

    async def delete(self, path: str, *, grace_seconds: int = 0) -> None:
        """Delete an object, at once unless told otherwise; one that is gone is fine."""
        options = {"gracePeriodSeconds": grace_seconds}
        try:
            await self.request("DELETE", path, body=options)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    async def create_node(self, node: Json) -> Json:
        """Create a node as `tests.builders.node` prints it, and let it be Ready.

        It has cards at once, so that is done by who registers them.
        """
        status = {
            "capacity": node["status"]["allocatable"],
            "conditions": [{"type": "Ready", "status": "True", "reason": "Test"}],
            **node["status"],
        }
        return await self.acting_as(PLUGIN).request(
            "POST", "/api/v1/nodes", body={**node, "status": status}
        )

    async def create_namespace(self, name: str) -> Json:
        """Create a namespace."""
        body = {"metadata": {"name": name}}
        return await self.request("POST", "/api/v1/namespaces", body=body)

    async def create_pod(self, pod: Json, *, scheduler_name: str | None = None) -> Json:
        """Create a pod as `tests.builders.pod` prints it.

        Args:
            pod: Its uid, times and status are the server's to write, and are ignored.
            scheduler_name: Who shall place it; without it nobody does.
        """
        spec = {
            # Nobody answers to this name: the pod waits until a test binds it.
            "schedulerName": scheduler_name or "nobody",
            "terminationGracePeriodSeconds": 0,
            **pod["spec"],
        }
        for kind in ("initContainers", "containers"):
            if kind in spec:
                spec[kind] = [{"image": _IMAGE, **shown} for shown in spec[kind]]
        body = {**pod, "spec": spec}
        body.pop("status", None)
        path = pods_path(pod["metadata"].get("namespace", "default"))
        return await self.request("POST", path, body=body)

    async def bind(
        self,
        pod: Json,
        node_name: str,
        annotations: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Bind a pod by the Binding sub-resource, held to its uid, as an extender."""
        metadata = {
            "name": pod["metadata"]["name"],
            "uid": pod["metadata"]["uid"],
            "annotations": dict(annotations or {}),
            "labels": dict(labels or {}),
        }
        body = {
            "metadata": metadata,
            "target": {"kind": "Node", "name": node_name},
        }
        binder = self.acting_as(User.EXTENDER)
        await binder.request("POST", f"{path_of(pod)}/binding", body=body)

    async def events_of(self, pod: Json) -> list[Json]:
        """Read the Events about a pod."""
        metadata = pod["metadata"]
        return await self.items(
            f"/api/v1/namespaces/{metadata['namespace']}/events",
            fieldSelector=f"involvedObject.uid={metadata['uid']}",
        )

    async def watch(
        self, path: str, **parameters: str
    ) -> AsyncGenerator[WatchEvent, None]:
        """Watch a collection until the server ends it.

        Raises:
            ApiError: The watch was refused, or ended by an ERROR event (410 among
                them).
        """
        asked = {"watch": "true", "allowWatchBookmarks": "true", **parameters}
        async with self.session.get(path, params=asked) as answer:
            if answer.status != HTTPStatus.OK:
                raise ApiError(answer.status, f"watch {path}", await answer.read())
            rest = b""
            # aiohttp's readline refuses lines over 128 KiB, and objects are longer.
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    event = orjson.loads(line)
                    if event["type"] == "ERROR":
                        code = event["object"].get("code", 0)
                        raise ApiError(code, f"watch {path}", line)
                    yield WatchEvent(event["type"], event["object"])

    async def when(
        self, path: str, claim: Claim, *, seconds: float = 30.0, wanted: str = ""
    ) -> Json:
        """Wait until the object at `path` is as claimed, and give it.

        Raises:
            AssertionError: It was not so in time; the message shows it as it was.
        """
        shown: Json = {}
        try:
            async with asyncio.timeout(seconds):
                while True:
                    shown = await self.get(path)
                    if claim(shown):
                        return shown
                    async with aclosing(self._changes(path, shown)) as changes:
                        async for shown in changes:
                            if claim(shown):
                                return shown
                    await asyncio.sleep(_RELIST_SECONDS)
        except TimeoutError:
            last = orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode()
            raise AssertionError(
                f"{path}: not {wanted or 'as claimed'} within {seconds} s:\n{last}"
            ) from None

    async def _changes(self, path: str, shown: Json) -> AsyncGenerator[Json, None]:
        collection, _, name = path.rpartition("/")
        watched = self.watch(
            collection,
            fieldSelector=f"metadata.name={name}",
            resourceVersion=shown["metadata"]["resourceVersion"],
        )
        async with aclosing(watched) as events:
            async for event in events:
                if event.kind in {"ADDED", "MODIFIED"}:
                    yield event.object
                elif event.kind == "DELETED":
                    return

    async def when_gone(self, path: str, *, seconds: float = 30.0) -> None:
        """Wait until nothing is at `path`."""
        async with asyncio.timeout(seconds):
            while True:
                try:
                    await self.get(path)
                except ApiError as error:
                    if error.status == HTTPStatus.NOT_FOUND:
                        return
                    raise
                await asyncio.sleep(_RELIST_SECONDS)


def pods_path(namespace: str = "default") -> str:
    """Name the pods of a namespace."""
    return f"/api/v1/namespaces/{namespace}/pods"


def pod_path(name: str, namespace: str = "default") -> str:
    """Name one pod."""
    return f"{pods_path(namespace)}/{name}"


def path_of(pod: Json) -> str:
    """Name a pod that was read."""
    metadata = pod["metadata"]
    return pod_path(metadata["name"], metadata["namespace"])


def node_path(name: str) -> str:
    """Name one node."""
    return f"/api/v1/nodes/{name}"
