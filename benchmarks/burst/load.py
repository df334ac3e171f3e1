"""The burst itself: create pods, and see when each is bound and when it runs."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from benchmarks.burst.api import NODES, PODS, Api, Json, pods_path
from benchmarks.burst.objects import (
    NAMESPACE,
    PENDING_NAMESPACE,
    namespace,
    role,
    role_binding,
)

IN_FLIGHT: Final = 64
_LOOK_SECONDS: Final = 0.5
_NAMESPACES: Final = "/api/v1/namespaces"
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"

Say = Callable[[str], None]
"""Tells the engineer, who waits, how far it is."""


class BurstFailed(Exception):
    """A run did not come to an end, or to an honest one; notes have the logs."""


@dataclass(slots=True)
class Times:
    """When what happened, in seconds of this process's monotonic clock.

    Attributes:
        created: When each pod's request was sent.
        bound: When the watch showed it with a node.
        on_node: Which node that was.
    """

    created: dict[str, float] = field(default_factory=dict)
    bound: dict[str, float] = field(default_factory=dict)
    on_node: dict[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """From the first create until the last pod was bound."""
        return max(self.bound.values()) - min(self.created.values())

    def seconds_to_bound(self) -> list[float]:
        """Give the time of each pod from its create, in no order."""
        return [bound - self.created[name] for name, bound in self.bound.items()]


async def prepare(api: Api, nodes: Sequence[Json], say: Say) -> None:
    """Create the nodes, and let the extender's user do its work."""
    await api.write("POST", f"{_RBAC}/clusterroles", role())
    await api.write("POST", f"{_RBAC}/clusterrolebindings", role_binding())
    await _create_all(api, NODES, nodes)
    say(f"{len(nodes):,} nodes are there")


async def refuse_first(
    api: Api,
    pods: Sequence[Json],
    refused: Callable[[], int],
    seconds: float,
    say: Say,
) -> None:
    """Create pods that fit nowhere, and wait until each has been refused.

    Args:
        api: As an administrator.
        pods: In a namespace of their own.
        refused: Tells how many pods wait for the cluster to change. Blocks.
        seconds: Until that must be all of them.
        say: Told how far it is.

    Raises:
        BurstFailed: It is not.
    """
    await api.write("POST", _NAMESPACES, namespace(PENDING_NAMESPACE))
    await _create_all(api, pods_path(PENDING_NAMESPACE), pods)
    count = 0
    try:
        async with asyncio.timeout(seconds):
            while (count := await asyncio.to_thread(refused)) < len(pods):
                say(f"{count} of {len(pods)} pending pods were refused")
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError as error:
        done = f"{count} of {len(pods)} pending pods were refused"
        raise BurstFailed(f"{done} within {seconds:.0f} s") from error


async def check_pending(api: Api) -> None:
    """Hold against the API server that what fits nowhere is nowhere.

    Raises:
        BurstFailed: A pod was bound.
    """
    bound = await api.get(
        f"{pods_path(PENDING_NAMESPACE)}?fieldSelector=spec.nodeName!="
    )
    for pod in bound["items"]:
        name, node_name = pod["metadata"]["name"], pod["spec"]["nodeName"]
        raise BurstFailed(f"{name} fits nowhere, but was bound to {node_name}")


async def load(api: Api, pods: Sequence[Json], seconds: float, say: Say) -> Times:
    """Create pods all at once, and watch until each is bound.

    Raises:
        BurstFailed: Some are not within `seconds`.
    """
    times = Times()
    try:
        async with (
            asyncio.timeout(seconds),
            asyncio.TaskGroup() as tasks,
        ):
            is_open = asyncio.Event()
            stream = api.appearing(PODS, "spec.nodeName!=", is_open)
            tasks.create_task(_note_bound(stream, times, len(pods), say))
            await is_open.wait()
            await _create_all(api, pods_path(NAMESPACE), pods, times.created)
    except TimeoutError as error:
        done = f"{len(times.bound)} of {len(pods)} pods were bound"
        raise BurstFailed(f"{done} within {seconds:.0f} s") from error
    return times


async def when_running(api: Api, count: int, seconds: float) -> list[Json]:
    """Wait until all pods run; gives them.

    Raises:
        BurstFailed: It is not so within `seconds`.
    """
    pods: list[Json] = []
    try:
        async with asyncio.timeout(seconds):
            while True:
                pods = (await api.get(pods_path(NAMESPACE)))["items"]
                if sum(pod["status"]["phase"] == "Running" for pod in pods) == count:
                    return pods
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError as error:
        phases = sorted({pod["status"]["phase"] for pod in pods})
        message = f"not all pods run within {seconds:.0f} s: {', '.join(phases)}"
        raise BurstFailed(message) from error


async def _note_bound(
    stream: AsyncGenerator[Json, None], times: Times, count: int, say: Say
) -> None:
    said_at = time.monotonic()
    async with aclosing(stream) as bound:
        async for pod in bound:
            now = time.monotonic()
            name = pod["metadata"]["name"]
            times.bound[name] = now
            times.on_node[name] = pod["spec"]["nodeName"]
            if len(times.bound) == count:
                return
            if now - said_at >= 2.0:
                said_at = now
                say(f"{len(times.bound)} of {count} pods are bound")


async def _create_all(
    api: Api,
    path: str,
    objects: Sequence[Json],
    created: dict[str, float] | None = None,
) -> None:
    free = asyncio.Semaphore(IN_FLIGHT)

    async def create(one: Json) -> None:
        async with free:
            if created is not None:
                created[one["metadata"]["name"]] = time.monotonic()
            await api.write("POST", path, one)

    async with asyncio.TaskGroup() as tasks:
        for one in objects:
            tasks.create_task(create(one))
