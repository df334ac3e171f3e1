"""The requests of a bind, one by one, and how a test comes to stand at each."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from tests.builders import Json, node, pod
from tests.control_plane.client import node_path, pod_path
from tests.control_plane.cluster import Cluster
from tests.control_plane.plugin import LOCK
from tests.control_plane.proxy import PODS, Exchange, Fault, Held, Planted, refused
from tests.control_plane.trial import Trial

CARD: Final = 24_000
ASKED: Final = 16_000
"""MiB that the pod of `Step.prepare` asks for, of the only card of its node."""

NODE: Final = node_path("n1")
POD: Final = pod_path("p")
BINDING: Final = f"{POD}/binding"

_NEVER: Final = 3_600.0
_LOCKED_BY_NOBODY: Final = "2026-01-01T00:00:00Z,default,nobody"
_REFUSED: Final = 403
"""Tells that a Binding was not carried out, so that the bind is undone."""


@dataclass(frozen=True, slots=True)
class Step:
    """One request of a bind, and what must be so for it to be made.

    Attributes:
        method: Of the request.
        path: Of the request.
        undoes: Whether it is made only after the Binding was refused.
        lock: What the node's lock is before.
        is_unseen: Whether the extender's watch has not shown the pod yet.
    """

    method: str
    path: str
    undoes: bool = False
    lock: str | None = None
    is_unseen: bool = False

    async def prepare(self, trial: Trial, cluster: Cluster) -> Json:
        """Create a node and a pod that asks for a place there."""
        lock = {} if self.lock is None else {LOCK: self.lock}
        await cluster.add(node("n1").gpu("GPU-a", memory=CARD).annotations(lock))
        if self.is_unseen:
            await trial.caller.knows(nodes=1, pods=0)
            trial.proxy.delay(PODS, _NEVER)
        asking = pod("p").sidecar("s", gpu=1, gpumem=ASKED - 10_000)
        asking = asking.app("a", gpu=1, gpumem=10_000)
        created = await trial.api.create_pod(asking.build())
        if not self.is_unseen:
            await trial.caller.knows(nodes=1, pods=1)
        return created

    @contextmanager
    def fault(
        self, trial: Trial, fault: Fault, *, most: int | None = 1
    ) -> Iterator[Planted]:
        """Put a fault in the way of the request, and what leads to it."""
        proxy = trial.proxy
        with proxy.fault(
            lambda _, path: path == BINDING,
            refused(_REFUSED),
            most=1 if self.undoes else 0,
        ) as refusal:

            def is_meant(method: str, path: str) -> bool:
                is_asked = (method, path) == (self.method, self.path)
                return is_asked and bool(refusal.met) >= self.undoes

            try:
                with proxy.fault(is_meant, fault, most=most) as planted:
                    yield planted
            finally:
                proxy.delay(PODS, 0)


STEPS: Final = {
    "pod-read": Step("GET", POD, is_unseen=True),
    "lock-read": Step("GET", NODE, lock=_LOCKED_BY_NOBODY),
    "owner-read": Step("GET", pod_path("nobody"), lock=_LOCKED_BY_NOBODY),
    "lock-write": Step("PATCH", NODE),
    "list": Step("GET", PODS),
    "binding": Step("POST", BINDING),
    "read-back": Step("GET", POD, undoes=True),
    "release-read": Step("GET", NODE, undoes=True),
    "release-write": Step("PATCH", NODE, undoes=True),
}
"""In the order in which they are made; the last three only undo."""


class Late(Held):
    """Keeps requests until they are released, and tells what became of the last.

    One that is never released never arrives.
    """

    def __init__(self, *, is_carried_out: bool = False) -> None:
        super().__init__(is_carried_out=is_carried_out)
        self.outcome: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """The apiserver's status."""

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Keep one."""
        answer = await super().__call__(exchange)
        self.outcome.set_result(answer.status)
        return answer
