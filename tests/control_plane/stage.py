"""The admitted pods of a kubelet, whose containers a test runs and ends as it likes."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import aiohttp

from tests.builders import Json
from tests.control_plane.client import STRATEGIC, Api, ApiError, path_of
from tests.control_plane.playing import Containers

_ENTER_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 0.2
_GONE: Final = {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}


class Stage:
    """Plays containers on demand, and reports their status.

    Each method that names a pod waits until it is admitted, and returns once its
    status is written.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._played: dict[str, tuple[Json, Containers]] = {}
        self._entered = asyncio.Condition()

    async def run(self, pod_name: str, container: str) -> None:
        """Start a container of an admitted pod."""
        await self._change(pod_name, lambda shown: shown.run(container))

    async def exit(self, pod_name: str, container: str, code: int) -> None:
        """End a container of an admitted pod."""
        await self._change(pod_name, lambda shown: shown.exit(container, code))

    async def back_off(self, pod_name: str, container: str) -> None:
        """Let a container that ended wait in ``CrashLoopBackOff``."""
        reason = "CrashLoopBackOff"
        await self._change(pod_name, lambda shown: shown.wait(container, reason))

    async def start_apps(self, pod_name: str) -> None:
        """Start every app container of an admitted pod."""
        await self._change(pod_name, Containers.start_apps)

    async def finish(self, pod_name: str, code: int = 0) -> None:
        """End an admitted pod."""
        await self._change(pod_name, lambda shown: shown.finish(code))

    async def sandbox(self, pod_name: str, *, is_ready: bool) -> None:
        """Show condition PodReadyToStartContainers, changed now."""
        await self._change(pod_name, lambda shown: shown.sandbox(is_ready=is_ready))

    async def restarting_all(self, pod_name: str, *, is_true: bool) -> None:
        """Show condition AllContainersRestarting, changed now."""
        await self._change(
            pod_name, lambda shown: shown.restarting_all(is_true=is_true)
        )

    async def report(self, pod: Json, status: Json) -> None:
        """Patch a status, for as long as it takes; a pod that is gone is fine."""
        while True:
            try:
                await self._patch(pod, status)
            except ApiError as error:
                if error.status not in _GONE:
                    raise
            except aiohttp.ClientError:
                # The apiserver is restarted; a kubelet keeps trying.
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            return

    async def enter(self, pod: Json, containers: Containers) -> None:
        """Let a pod be played: it was admitted, and said so."""
        self._played[pod["metadata"]["uid"]] = (pod, containers)
        async with self._entered:
            self._entered.notify_all()

    def restore(self, pod: Json) -> None:
        """Let a pod be played that was admitted before a restart."""
        self._played[pod["metadata"]["uid"]] = (pod, Containers(pod))

    def leave(self, pod_uid: str) -> None:
        """Forget a pod."""
        self._played.pop(pod_uid, None)

    async def _change(
        self, pod_name: str, change: Callable[[Containers], None]
    ) -> None:
        pod, containers = await self._find(pod_name)
        change(containers)
        await self._patch(pod, containers.status())

    async def _find(self, pod_name: str) -> tuple[Json, Containers]:
        async with asyncio.timeout(_ENTER_SECONDS), self._entered:
            while True:
                for pod, containers in self._played.values():
                    if pod["metadata"]["name"] == pod_name:
                        return pod, containers
                await self._entered.wait()

    async def _patch(self, pod: Json, status: Json) -> None:
        change = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        kubelet = self._api.acting_as(f"system:node:{pod['spec']['nodeName']}")
        await kubelet.patch(f"{path_of(pod)}/status", change, STRATEGIC)
