"""One process in the place of the kubelets and device plugins of all nodes.

It writes what they write, in their order, and reads only what a release reads: it
shares its processors with what is measured. A pod with HAMi's annotations has one row
after another emptied, its phase set and the node's lock released; then, like any other
pod, it runs. Pods of one node are allocated one after another.

Source: HAMi v2.10, ``Allocate`` of the NVIDIA plugin and ``ReleaseNodeLock``.
"""

import argparse
import asyncio
import random
from collections import defaultdict
from contextlib import aclosing, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Final

from benchmarks.burst.api import (
    MERGE,
    NODES,
    PODS,
    STRATEGIC,
    Api,
    ApiRefused,
    Json,
    path_of,
)
from tests.control_plane.playing import Containers, Play

WATCHING: Final = "watching"
"""Printed once pods that are bound from then on are served."""

RELEASED: Final = "released"
LEFT: Final = "left"
"""Printed where the lock was another's, or nobody's."""

CONFLICT: Final = "conflict"
"""Printed where the node was changed meanwhile, and the release is tried again."""

_LOCK: Final = "hami.io/mutex.lock"
_TO_ALLOCATE: Final = "hami.io/vgpu-devices-to-allocate"
_BIND_PHASE: Final = "hami.io/bind-phase"
_MOST_RELEASE_TRIES: Final = 5
_RETRY_SECONDS: Final = 0.1


class NotServed(Exception):
    """A pod cannot be served as HAMi's plugin would serve it."""


class Plugins:
    """The kubelets and device plugins of all nodes."""

    def __init__(self, api: Api, allocate_seconds: float) -> None:
        self._api = api
        self._allocate_seconds = allocate_seconds
        self._turns: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(self) -> None:
        """Serve every pod that is bound, until cancelled.

        Raises:
            ExceptionGroup: A pod could not be served.
        """
        is_open = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._serve_all(tasks, is_open))
            await is_open.wait()
            print(WATCHING, flush=True)

    async def _serve_all(
        self, tasks: asyncio.TaskGroup, is_open: asyncio.Event
    ) -> None:
        bound = "spec.nodeName!=,status.phase=Pending"
        async with aclosing(self._api.appearing(PODS, bound, is_open)) as pods:
            async for pod in pods:
                tasks.create_task(self._serve(pod))

    async def _serve(self, pod: Json) -> None:
        rows_text = pod["metadata"].get("annotations", {}).get(_TO_ALLOCATE)
        if rows_text is not None:
            async with self._turns[pod["spec"]["nodeName"]]:
                await self._allocate(pod, rows_text.split(";")[:-1])
        shown = Containers(pod)
        shown.play(Play.RUN)
        status = {"status": shown.status()}
        await self._api.write("PATCH", f"{path_of(pod)}/status", status, STRATEGIC)

    async def _allocate(self, pod: Json, rows: list[str]) -> None:
        """Serve each container that has a row, as kubelet asks for one by one."""
        for index, row in enumerate(rows):
            if row:
                await asyncio.sleep(self._allocate_seconds)
                rows[index] = ""
                left = "".join(f"{left};" for left in rows)
                await self._annotate(pod, _TO_ALLOCATE, left)
        await self._annotate(pod, _BIND_PHASE, "success")
        await self._release(pod)

    async def _annotate(self, pod: Json, name: str, text: str) -> None:
        change = {"metadata": {"annotations": {name: text}}}
        await self._api.write("PATCH", path_of(pod), change, STRATEGIC)

    async def _release(self, pod: Json) -> None:
        """Remove the node's lock if it is this pod's, and print what came of it.

        As HAMi does, it looks once whose lock it is; what it then removes is whatever
        lock it reads again.
        """
        path = f"{NODES}/{pod['spec']['nodeName']}"
        metadata = pod["metadata"]
        lock = (await self._api.metadata(path)).get("annotations", {}).get(_LOCK, "")
        if not lock.endswith(f",{metadata['namespace']},{metadata['name']}"):
            print(LEFT, flush=True)
            return
        for tries in range(_MOST_RELEASE_TRIES):
            version = (await self._api.metadata(path))["resourceVersion"]
            change = {"resourceVersion": version, "annotations": {_LOCK: None}}
            try:
                await self._api.write("PATCH", path, {"metadata": change}, MERGE)
            except ApiRefused as error:
                if error.status != HTTPStatus.CONFLICT:
                    raise
                print(CONFLICT, flush=True)
                jitter = random.uniform(1.0, 1.5)  # noqa: S311 - spreads retries
                await asyncio.sleep(_RETRY_SECONDS * 2**tries * jitter)
            else:
                print(RELEASED, flush=True)
                return
        raise NotServed(f"{path_of(pod)}: its node's lock cannot be released")


async def serve(kubeconfig: Path, allocate_seconds: float) -> None:
    """Serve all nodes of a cluster until cancelled."""
    async with Api.connected(kubeconfig) as api:
        await Plugins(api, allocate_seconds).run()


def main() -> None:
    """Serve every pod that is bound as kubelets and device plugins do, until ended."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, metavar="FILE")
    parser.add_argument("--allocate-seconds", type=float, default=0.0, metavar="S")
    arguments = parser.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(arguments.kubeconfig, arguments.allocate_seconds))


if __name__ == "__main__":
    main()
