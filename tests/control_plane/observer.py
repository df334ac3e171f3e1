"""Whoever holds a cluster against its capacity, at every event."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Final, NoReturn

from tests.builders import Json, pod
from tests.control_plane.client import Api, path_of
from tests.control_plane.judging import name_of
from tests.control_plane.recomputed import excesses_of

_SECONDS: Final = 60.0


class Observer:
    """Follows every pod, and works out after each event what is held on its node.

    An event shows the cluster as it was at that moment, so nothing is missed that
    lasted for however short a time.
    """

    def __init__(self) -> None:
        self.events = 0
        """How many events were looked at."""

        self.excesses: list[str] = []
        """What was held beyond capacity, and after which event."""

        self._has_seen = asyncio.Condition()
        self._nodes: dict[str, Json] = {}
        self._pods: dict[str, Json] = {}

    def know(self, node: Json) -> None:
        """Take a node into account; a pod on one that is not known is an error."""
        self._nodes[node["metadata"]["name"]] = node

    async def follow(self, api: Api, listed: asyncio.Event) -> NoReturn:
        """Follow, until cancelled.

        Args:
            api: As an administrator.
            listed: Set once every pod that was there is known.

        Raises:
            AssertionError: The watch broke, so that events were missed.
        """
        there = await api.get("/api/v1/pods")
        for shown in there["items"]:
            self._see(shown)
        listed.set()
        version = there["metadata"]["resourceVersion"]
        watched = api.watch("/api/v1/pods", resourceVersion=version)
        async with aclosing(watched) as events:
            async for event in events:
                if event.kind == "DELETED":
                    self._pods.pop(event.object["metadata"]["uid"])
                elif event.kind != "BOOKMARK":
                    self._see(event.object)
                async with self._has_seen:
                    self._has_seen.notify_all()
        raise AssertionError("the watch ended")

    async def catch_up(self, api: Api) -> None:
        """Wait until everything that was written up to now was looked at."""
        mark = await api.create_pod(pod("mark").app("a").build())
        async with asyncio.timeout(_SECONDS), self._has_seen:
            await self._has_seen.wait_for(lambda: mark["metadata"]["uid"] in self._pods)
        await api.delete(path_of(mark))

    def _see(self, shown: Json) -> None:
        self.events += 1
        self._pods[shown["metadata"]["uid"]] = shown
        node_name = shown["spec"].get("nodeName")
        if node_name is None:
            return
        there = [
            one
            for one in self._pods.values()
            if one["spec"].get("nodeName") == node_name
        ]
        for excess in excesses_of(self._nodes[node_name], there):
            self.excesses.append(f"{node_name}, after {name_of(shown)}: {excess}")


@asynccontextmanager
async def observed(api: Api) -> AsyncIterator[Observer]:
    """Hold the cluster against its capacity for as long as the block lasts.

    Raises:
        AssertionError: More was held somewhere than there is, or the observer missed
            something; a test that expects an excess clears the list.
    """
    observer, listed = Observer(), asyncio.Event()
    following = asyncio.create_task(observer.follow(api, listed))
    waiting = asyncio.create_task(listed.wait())
    try:
        await asyncio.wait({following, waiting}, return_when=asyncio.FIRST_COMPLETED)
        yield observer
        if not following.done():
            await observer.catch_up(api)
    finally:
        waiting.cancel()
        if following.done():
            # It only ends by failing.
            following.result()
        following.cancel()
        await asyncio.wait({following, waiting})
    assert not observer.excesses, "; ".join(observer.excesses)
