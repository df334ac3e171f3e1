"""Every change of a node or a pod, in the order in which it happened, none left out.

Read from etcd itself: one stream in the order of revisions, which goes on while
kube-apiserver is restarted and is not thinned out by a watch that is late. The
apiserver must keep its objects as JSON (`AS_JSON`).
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NoReturn

import aiohttp
import orjson

from tests.builders import Json
from tests.control_plane.component import HOST
from tests.control_plane.plane import ControlPlane

AS_JSON: Final = "--storage-media-type=application/json"
"""A flag of kube-apiserver; by default etcd holds protobuf."""

_NODES: Final = "/registry/minions/"
_PODS: Final = "/registry/pods/"
_LIMIT: Final = 2**26


class Kind(StrEnum):
    """What kind of object changed."""

    NODE = "node"
    POD = "pod"


@dataclass(frozen=True, slots=True)
class Change:
    """One write to etcd."""

    revision: int
    kind: Kind
    name: str
    """Of a pod with its namespace, as ``default/p``."""

    before: Json | None
    after: Json | None
    """None once it is deleted."""


See = Callable[[Change], None]


class Compacted(Exception):
    """What was to come next is forgotten."""


class Stream:
    """Nodes and pods as etcd has them, kept up to date by `follow`."""

    def __init__(self, plane: ControlPlane) -> None:
        self.nodes: dict[str, Json] = {}
        self.pods: dict[str, Json] = {}
        self.changes = 0
        """How many were told, those of the first look apart."""

        self.gaps = 0
        """How often something may have been missed; must stay 0."""

        self._url = f"http://{HOST}:{plane._etcd_port}"
        self._is_first = True

    async def follow(self, see: See) -> NoReturn:
        """Tell of every change, until cancelled.

        Args:
            see: Is told of each after it was applied to `nodes` and `pods`. What is
                there at the start is told, too, as if it came then.
        """
        limits = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(
            self._url, timeout=limits, read_bufsize=_LIMIT
        ) as session:
            while True:
                revision = await self._look(session, see)
                self._is_first = False
                try:
                    await self._watch(session, revision + 1, see)
                except Compacted:
                    self.gaps += 1

    async def _look(self, session: aiohttp.ClientSession, see: See) -> int:
        async with session.post("/v3/kv/range", json=_RANGE) as answer:
            shown = orjson.loads(await answer.read())
        found = {_text(one["key"]): one for one in shown.get("kvs", [])}
        revision = int(shown["header"]["revision"])
        for kind, known in ((Kind.POD, self.pods), (Kind.NODE, self.nodes)):
            prefix = _PREFIX[kind]
            for name in [name for name in known if prefix + name not in found]:
                self._tell(see, revision, kind, name, None)
        for key, one in sorted(found.items(), key=lambda item: _revision(item[1])):
            self._put(see, key, one)
        return revision

    async def _watch(
        self, session: aiohttp.ClientSession, since: int, see: See
    ) -> NoReturn:
        asked = {"create_request": {**_RANGE, "start_revision": since}}
        async with session.post("/v3/watch", json=asked) as answer:
            async for line in answer.content:
                shown = orjson.loads(line)["result"]
                if shown.get("canceled"):
                    raise Compacted
                for event in shown.get("events", []):
                    one = event["kv"]
                    key = _text(one["key"])
                    if event.get("type") == "DELETE":
                        for kind, name in _kind_of(key):
                            self._tell(see, _revision(one), kind, name, None)
                    else:
                        self._put(see, key, one)
        raise ConnectionError("etcd ended the watch")

    def _put(self, see: See, key: str, one: Json) -> None:
        for kind, name in _kind_of(key):
            self._tell(
                see, _revision(one), kind, name, orjson.loads(_text(one["value"]))
            )

    def _tell(
        self, see: See, revision: int, kind: Kind, name: str, after: Json | None
    ) -> None:
        known = self.pods if kind is Kind.POD else self.nodes
        before = known.get(name)
        if before is not None and after is not None and _uid(before) != _uid(after):
            # Of two objects of one name, the first is gone before the second comes.
            del known[name]
            see(Change(revision, kind, name, before, None))
            before = None
        if after is None:
            known.pop(name, None)
        else:
            known[name] = after
        self.changes += not self._is_first
        see(Change(revision, kind, name, before, after))


_PREFIX: Final = {Kind.NODE: _NODES, Kind.POD: _PODS}
_RANGE: Final = {
    "key": b64encode(_NODES.encode()).decode(),
    # The first key after all pods; what lies between is passed over.
    "range_end": b64encode(f"{_PODS[:-1]}0".encode()).decode(),
}


def _kind_of(key: str) -> Iterator[tuple[Kind, str]]:
    for kind, prefix in _PREFIX.items():
        if key.startswith(prefix):
            yield kind, key.removeprefix(prefix)


def _text(encoded: str) -> str:
    return b64decode(encoded).decode()


def _revision(one: Json) -> int:
    return int(one["mod_revision"])


def _uid(shown: Json) -> str:
    uid: str = shown["metadata"]["uid"]
    return uid
