"""Nodes of the soak: kubelets that live through restarts of the apiserver, and flaps.

What a real node lives through, this one does, too: a kubelet tries each write again
until it is carried out. A device plugin does not, and neither does this one: what it
cannot read fails the pod, and what it cannot write at the end stays as it is.
"""

import asyncio
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic
from typing import Final

import aiohttp
import orjson

from tests.builders import Json, NodeBuilder, node
from tests.control_plane.client import (
    PLUGIN,
    STRATEGIC,
    Api,
    ApiError,
    node_path,
    path_of,
)
from tests.control_plane.kubelet import Kubelet
from tests.control_plane.playing import Play
from tests.control_plane.plugin import DevicePlugin, Release
from tests.control_plane.soak.excuses import Wrong
from tests.control_plane.soak.stories import Stories

_REGISTER: Final = "hami.io/node-nvidia-register"
_COUNT: Final = "nvidia.com/gpu"
_RETRY_SECONDS: Final = 0.2
_PATIENCE_SECONDS: Final = 180.0
_FOR_NOW: Final = {
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}
"""What an apiserver answers while it comes or goes."""


class PatientApi(Api):
    """Asks again while the apiserver is away: only for what may be done twice."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        content_type: str = "application/json",
        parameters: Mapping[str, str] | None = None,
    ) -> Json:
        """Send a request until it is answered, for a few minutes."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while True:
                try:
                    return await super().request(
                        method,
                        path,
                        body=body,
                        content_type=content_type,
                        parameters=parameters,
                    )
                except aiohttp.ClientError:
                    pass
                except ApiError as error:
                    if error.status not in _FOR_NOW:
                        raise
                await asyncio.sleep(_RETRY_SECONDS)


class SoakPlugin(DevicePlugin):
    """A device plugin that gives up, as the real one does, what it cannot write.

    Args:
        api: As an administrator.
        node_name: Its node.
        allocate_seconds: How long it takes for one container.
        release: Is told of a pod just before its lock is released.
        found: Is told which pod it found.
    """

    def __init__(
        self,
        api: Api,
        node_name: str,
        *,
        allocate_seconds: float,
        release: Release,
        found: Callable[[Json], None],
    ) -> None:
        super().__init__(
            api, node_name, allocate_seconds=allocate_seconds, release=release
        )
        self._tell_of_found = found

    async def find_pod(self) -> tuple[Json, bool]:
        """Find the pod to serve, and tell of it."""
        pod, by_lock = await super().find_pod()
        self._tell_of_found(pod)
        return pod, by_lock

    async def end(self, pod: Json, bind_phase: str) -> None:
        """Write how it went, and release the lock, if that can be done now."""
        with suppress(aiohttp.ClientError, ApiError):
            await super().end(pod, bind_phase)


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node: the memory of its cards, and how slow its plugin is."""

    name: str
    cards: tuple[int, ...]
    allocate_seconds: float

    def builder(self) -> NodeBuilder:
        """Describe it."""
        built = node(self.name)
        for number, memory in enumerate(self.cards):
            built = built.gpu(f"GPU-{self.name}-{number}", memory=memory)
        return built


NODES: Final = (
    NodePlan("n1", (24_000, 24_000), 0.05),
    NodePlan("n2", (24_000, 24_000, 24_000), 0.1),
    NodePlan("n3", (16_000, 16_000, 16_000, 16_000), 0.05),
    NodePlan("n4", (24_000, 24_000), 0.2),
    NodePlan("n5", (32_000, 24_000, 16_000), 0.1),
)


class SoakKubelet(Kubelet):
    """The kubelet of one node of the soak.

    Args:
        patient: For what a kubelet tries again and again.
        plain: For the device plugin.
        plan: Its node.
        stories: Plays its pods.
    """

    def __init__(
        self, patient: PatientApi, plain: Api, plan: NodePlan, stories: Stories
    ) -> None:
        def plugin(
            api: Api, node_name: str, *, allocate_seconds: float, release: Release
        ) -> DevicePlugin:
            return SoakPlugin(
                plain,
                node_name,
                allocate_seconds=allocate_seconds,
                release=release,
                found=self._note_found,
            )

        super().__init__(
            patient,
            plan.name,
            play=Play.WAIT,
            allocate_seconds=plan.allocate_seconds,
            plugin=plugin,
        )
        self.stage = stories
        self.stories = stories
        self.befell: list[Wrong] = []
        """All of `wrongs`, with whom they befell."""

        self.misled: dict[str, str] = {}
        """For a pod that was found in place of another: the one that was admitted."""

        self._admitting: str | None = None

    async def admit(self, pod: Json) -> None:
        """Admit a pod; as long as that lasts, it is not confirmed as deleted."""
        self._admitting = pod["metadata"]["uid"]
        try:
            await super().admit(pod)
        finally:
            self._admitting = None

    async def allocate(self, pod: Json, container: Json) -> None:
        """Give a container its ids and devices."""
        known = len(self.wrongs)
        try:
            await super().allocate(pod, container)
        finally:
            self._note(known, {pod["metadata"]["uid"]})

    def _enqueue(self, pod: Json) -> None:
        known, others = len(self.wrongs), set(self._unserved)
        super()._enqueue(pod)
        self._note(known, {pod["metadata"]["uid"], *others})

    def _note(self, known: int, uids: AbstractSet[str]) -> None:
        for text in self.wrongs[known:]:
            wrong = Wrong(f"{self.node_name}: {text}", frozenset(uids))
            self.befell.append(wrong)

    def _note_found(self, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        if self._admitting not in {None, uid}:
            self.misled.setdefault(uid, str(self._admitting))

    async def _confirm_deletions(self) -> None:
        """Remove pods that were deleted with grace, each by its UID."""
        while True:
            await self._has_deleted.wait()
            await asyncio.sleep(_RETRY_SECONDS)
            deleted = [
                pod
                for pod in self._pods.values()
                if "deletionTimestamp" in pod["metadata"]
            ]
            if not deleted:
                self._has_deleted.clear()
            for pod in deleted:
                if pod["metadata"]["uid"] != self._admitting:
                    await delete_exactly(self._api, pod)


async def delete_exactly(api: Api, pod: Json, *, grace_seconds: int = 0) -> bool:
    """Delete this pod and no later one of its name; gives whether it was there."""
    options = {
        "gracePeriodSeconds": grace_seconds,
        "preconditions": {"uid": pod["metadata"]["uid"]},
    }
    try:
        await api.request("DELETE", path_of(pod), body=options)
    except ApiError as error:
        if error.status not in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
            raise
        return False
    return True


class Flaps:
    """What a node may show for a while, and then no more."""

    def __init__(self, api: Api, plan: NodePlan) -> None:
        self.without_ids: list[tuple[float, float]] = []
        """From when to when it offered none, on the monotonic clock."""

        self._api = api
        self._plan = plan

    @property
    def name(self) -> str:
        """Of the node."""
        return self._plan.name

    async def unreadable(self, seconds: float) -> None:
        """Register what is no number of MiB."""
        await self._register("devmem", "unreadable")
        await asyncio.sleep(seconds)
        await self._register()

    async def unhealthy(self, seconds: float, *, card: int) -> None:
        """Call one card unusable."""
        await self._register("health", value=False, card=card)
        await asyncio.sleep(seconds)
        await self._register()

    async def without_plugin(self, seconds: float) -> None:
        """Offer no device ids."""
        since = monotonic()
        await self._offer(0)
        await asyncio.sleep(seconds)
        built = self._plan.builder().build()
        await self._offer(int(built["status"]["allocatable"][_COUNT]))
        self.without_ids.append((since, monotonic()))

    async def _register(
        self, key: str | None = None, value: object = None, *, card: int = 0
    ) -> None:
        cards: list[Json] = [dict(one) for one in self._plan.builder().cards]
        if key is not None:
            cards[card][key] = value
        texts = {_REGISTER: orjson.dumps(cards).decode()}
        change = {"metadata": {"annotations": texts}}
        plugin = self._api.acting_as(PLUGIN)
        await plugin.patch(node_path(self._plan.name), change)

    async def _offer(self, ids: int) -> None:
        offered = {_COUNT: str(ids)}
        change = {"status": {"allocatable": offered, "capacity": offered}}
        path = f"{node_path(self._plan.name)}/status"
        await self._api.patch(path, change, STRATEGIC)
