"""A small API server on loopback: objects, versions, pages, watches; and faults.

It does what kube-apiserver does, as far as the extender relies on it, and it can be
told to answer the next request of some kind in another way.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes_asyncio.client import Configuration

from extender.kube.access import Access
from extender.kube.client import ApiClient
from tests.builders import NodeBuilder, PodBuilder

Json = dict[str, Any]
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

LOCK = "hami.io/mutex.lock"

_KIND_OF = {
    "Node": "nodes",
    "Pod": "pods",
    "ResourceQuota": "resourcequotas",
    "Lease": "leases",
}
_LEASES = ["apis", "coordination.k8s.io", "v1", "namespaces"]


@dataclass(slots=True)
class Fault:
    """What happens instead of, or after, what was asked.

    Attributes:
        method: Of the request.
        part: In its path and query.
        answer: Given instead.
        is_carried_out: Whether the request is carried out first.
        times: How many requests it still meets.
    """

    method: str
    part: str
    answer: Answer
    is_carried_out: bool = False
    times: int = 1


@dataclass(slots=True)
class Collection:
    """All objects of a kind, and every event since the start.

    Attributes:
        objects: By name.
        events: Version and line of each.
        changed: Set whenever a watch may have something to send.
        is_held: Whether watches send nothing for now; see `ApiServer.hold`.
    """

    objects: dict[str, Json] = field(default_factory=dict)
    events: list[tuple[int, str]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    is_held: bool = False


class ApiServer:
    """Keeps nodes, pods and quotas; `kind` is the plural of their path throughout."""

    def __init__(self) -> None:
        self.version = 100
        self.kinds = {kind: Collection() for kind in _KIND_OF.values()}
        self.requests: list[str] = []
        self.faults: deque[Fault] = deque()
        self.keeps_labels = True
        self.open_watches = 0

    def put(self, thing: PodBuilder | NodeBuilder | Json) -> Json:
        """Create or replace an object."""
        obj = thing if isinstance(thing, dict) else thing.build()
        kind = _KIND_OF[obj["kind"]]
        self._store(kind, obj)
        return obj

    def delete(
        self, thing: PodBuilder | NodeBuilder | Json, *, silently: bool = False
    ) -> None:
        """Delete an object; `silently` leaves no event: it happened while away."""
        obj = thing if isinstance(thing, dict) else thing.build()
        kind = _KIND_OF[obj["kind"]]
        gone = self.kinds[kind].objects.pop(_key(obj))
        self.version += 1
        if not silently:
            gone["metadata"]["resourceVersion"] = str(self.version)
            self.tell(kind, "DELETED", gone)

    def pod(self, name: str, namespace: str = "default") -> Json:
        """Give a pod as it is."""
        return self.kinds["pods"].objects[f"{namespace}/{name}"]

    def node(self, name: str) -> Json:
        """Give a node as it is."""
        return self.kinds["nodes"].objects[name]

    def lock_of(self, name: str) -> str | None:
        """Give a node's lock."""
        lock: str | None = self.node(name)["metadata"].get("annotations", {}).get(LOCK)
        return lock

    def set_lock(self, name: str, value: str | None) -> None:
        """Write a node's lock, as others would."""
        node = json.loads(json.dumps(self.node(name)))
        annotations = node["metadata"].setdefault("annotations", {})
        annotations.pop(LOCK, None)
        if value is not None:
            annotations[LOCK] = value
        self.put(node)

    def tell(self, kind: str, event: str, obj: Json) -> None:
        """Send an event to watches."""
        line = json.dumps({"type": event, "object": obj})
        self.kinds[kind].events.append((self.version, line))
        self.kinds[kind].changed.set()

    def hold(self, kind: str, *, is_held: bool = True) -> None:
        """Have watches of a kind send nothing until they are let go again."""
        self.kinds[kind].is_held = is_held
        self.kinds[kind].changed.set()

    def fail(
        self,
        method: str,
        part: str,
        answer: Answer,
        *,
        is_carried_out: bool = False,
        times: int = 1,
    ) -> None:
        """Answer the next matching request in another way."""
        self.faults.append(Fault(method, part, answer, is_carried_out, times))

    def asked(self, *parts: str) -> list[str]:
        """List the requests that hold all of some texts."""
        return [one for one in self.requests if all(part in one for part in parts)]

    @asynccontextmanager
    async def client(self) -> AsyncIterator[ApiClient]:
        """Serve, and give a client of it."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        async with TestServer(app) as server:
            configuration = Configuration(host=str(server.make_url("")))

            async def reload(_: Configuration) -> None:
                """Have nothing that grows old."""

            async with ApiClient(Access(configuration, reload)) as client:
                yield client

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        asked = f"{request.method} {request.path_qs}"
        self.requests.append(asked)
        for fault in list(self.faults):
            if request.method == fault.method and fault.part in request.path_qs:
                fault.times -= 1
                if not fault.times:
                    self.faults.remove(fault)
                if fault.is_carried_out:
                    await self.carry_out(request)
                return await fault.answer(request)
        return await self.carry_out(request)

    async def carry_out(self, request: web.Request) -> web.StreamResponse:
        """Do what is asked, as kube-apiserver does."""
        answer: web.StreamResponse
        parts = request.path.strip("/").split("/")
        if parts[:4] == _LEASES and parts[5] == "leases":
            return await self._lease(request, parts[4], *parts[6:])
        match request.method, parts:
            case "GET", ["api", "v1", kind] if kind in self.kinds:
                if "watch" in request.query:
                    answer = await self._watch(request, kind)
                else:
                    answer = self._list(request, kind)
            case "GET", ["api", "v1", "namespaces", namespace, "pods"]:
                answer = self._list(request, "pods", namespace)
            case "GET", ["api", "v1", "nodes", name]:
                answer = _found(self.kinds["nodes"].objects.get(name))
            case "GET", ["api", "v1", "namespaces", namespace, "pods", name]:
                key = f"{namespace}/{name}"
                answer = _found(self.kinds["pods"].objects.get(key))
            case "PATCH", ["api", "v1", "nodes", name]:
                answer = await self._patch(request, "nodes", name)
            case "PATCH", ["api", "v1", "namespaces", namespace, "pods", name]:
                answer = await self._patch(request, "pods", f"{namespace}/{name}")
            case "POST", ["api", "v1", "namespaces", ns, "pods", name, "binding"]:
                answer = await self._bind(request, f"{ns}/{name}")
            case _:
                answer = status(404, "no such path")
        return answer

    async def _lease(
        self, request: web.Request, namespace: str, name: str = ""
    ) -> web.StreamResponse:
        key = f"{namespace}/{name}"
        match request.method:
            case "GET" if name:
                return _found(self.kinds["leases"].objects.get(key))
            case "GET":
                assert request.query["labelSelector"]
                return self._list(request, "leases", namespace)
            case "PATCH":
                return await self._patch(request, "leases", key)
            case _:
                obj = await request.json()
                obj["metadata"]["namespace"] = namespace
                if _key(obj) in self.kinds["leases"].objects:
                    return status(409, "exists already")
                self._store("leases", obj)
                return web.json_response(obj, status=201)

    def _list(
        self, request: web.Request, kind: str, namespace: str | None = None
    ) -> web.StreamResponse:
        assert "resourceVersion" not in request.query
        objects = [
            one
            for one in self.kinds[kind].objects.values()
            if namespace in (None, one["metadata"].get("namespace"))
        ]
        selector = request.query.get("fieldSelector", "")
        if selector:
            name = selector.removeprefix("spec.nodeName=")
            objects = [one for one in objects if one["spec"].get("nodeName") == name]
        start = int(request.query.get("continue", "0"))
        limit = int(request.query.get("limit", "0")) or len(objects) + 1
        metadata: Json = {"resourceVersion": str(self.version)}
        if start + limit < len(objects):
            metadata["continue"] = str(start + limit)
        items = objects[start : start + limit]
        listed = f"{next(name for name in _KIND_OF if _KIND_OF[name] == kind)}List"
        return web.json_response({"kind": listed, "metadata": metadata, "items": items})

    async def _watch(self, request: web.Request, kind: str) -> web.StreamResponse:
        assert request.query["allowWatchBookmarks"] == "true"
        since = int(request.query["resourceVersion"])
        stream = web.StreamResponse()
        await stream.prepare(request)
        collection, sent = self.kinds[kind], 0
        self.open_watches += 1
        try:
            while True:
                collection.changed.clear()
                due = [] if collection.is_held else collection.events[sent:]
                for version, line in due:
                    if version > since:
                        await stream.write(line.encode() + b"\n")
                sent += len(due)
                await collection.changed.wait()
        finally:
            self.open_watches -= 1

    async def _patch(
        self, request: web.Request, kind: str, key: str
    ) -> web.StreamResponse:
        assert request.content_type == "application/merge-patch+json"
        obj = self.kinds[kind].objects.get(key)
        if obj is None:
            return _found(None)
        body = await request.json()
        patch, metadata = body["metadata"], obj["metadata"]
        for guard in ("resourceVersion", "uid"):
            if guard in patch and patch[guard] != metadata[guard]:
                return status(409, f"{guard} is {metadata[guard]}")
        changed = json.loads(json.dumps(obj))
        for field_name in ("annotations", "labels"):
            texts = changed["metadata"].setdefault(field_name, {})
            for name, text in patch.get(field_name, {}).items():
                texts.pop(name, None)
                if text is not None:
                    texts[name] = text
        for name, value in body.get("spec", {}).items():
            changed["spec"].pop(name, None)
            if value is not None:
                changed["spec"][name] = value
        self._store(kind, changed)
        return web.json_response(changed)

    async def _bind(self, request: web.Request, key: str) -> web.StreamResponse:
        pod = self.kinds["pods"].objects.get(key)
        if pod is None:
            return _found(None)
        binding = await request.json()
        if binding["metadata"]["uid"] != pod["metadata"]["uid"]:
            return status(409, "the UID in the precondition does not match")
        if pod["spec"].get("nodeName"):
            return status(409, f"pod is assigned to {pod['spec']['nodeName']}")
        bound = json.loads(json.dumps(pod))
        bound["spec"]["nodeName"] = binding["target"]["name"]
        for name in ("annotations", "labels"):
            if name == "annotations" or self.keeps_labels:
                texts = bound["metadata"].setdefault(name, {})
                texts.update(binding["metadata"].get(name, {}))
        self._store("pods", bound)
        return web.json_response({"kind": "Status", "status": "Success"}, status=201)

    def _store(self, kind: str, obj: Json) -> None:
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        is_new = _key(obj) not in self.kinds[kind].objects
        self.kinds[kind].objects[_key(obj)] = obj
        self.tell(kind, "ADDED" if is_new else "MODIFIED", obj)

    def with_all(self, *things: PodBuilder | NodeBuilder) -> Self:
        """Create several objects."""
        for thing in things:
            self.put(thing)
        return self


async def until(claim: Callable[[], bool]) -> None:
    """Let the loop run until something is true."""
    async with asyncio.timeout(10):
        while not claim():  # noqa: ASYNC110 - the state sends no event
            await asyncio.sleep(0.002)


def status(code: int, message: str, reason: str = "") -> web.Response:
    """Answer as kube-apiserver tells an error."""
    body = {"kind": "Status", "code": code, "message": message, "reason": reason}
    return web.json_response(body, status=code)


def answers(code: int, message: str = "as told") -> Answer:
    """Give a fault that answers with a Status."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        return status(code, message)

    return answer


def says(body: Json) -> Answer:
    """Give a fault that answers 200 with some object."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.json_response(body)

    return answer


def cut() -> Answer:
    """Give a fault that drops the connection without an answer."""

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return answer


def streams(*lines: bytes, then_wait: bool = False) -> Answer:
    """Give a fault that sends these bytes, and ends or keeps the stream."""

    async def answer(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse()
        await stream.prepare(request)
        for line in lines:
            await stream.write(line)
        if then_wait:
            await asyncio.Event().wait()
        return stream

    return answer


def _found(obj: Json | None) -> web.Response:
    return status(404, "not found") if obj is None else web.json_response(obj)


def _key(obj: Json) -> str:
    metadata = obj["metadata"]
    name: str = metadata["name"]
    return name if obj["kind"] == "Node" else f"{metadata['namespace']}/{name}"
