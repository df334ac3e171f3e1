"""The pods of one node: listed, watched, and listed again when the watch breaks."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Final, NoReturn

import aiohttp

from tests.builders import Json
from tests.control_plane.client import Api, ApiError

_RETRY_SECONDS: Final = 0.2

Hear = Callable[[Json], None]
"""Is told of one pod."""


async def follow_pods(
    api: Api,
    node_name: str,
    *,
    listed: Callable[[list[Json]], None],
    seen: Hear,
    gone: Hear,
) -> NoReturn:
    """Follow the pods that are bound to a node, for ever.

    Args:
        api: Where they are.
        node_name: The node.
        listed: Is told of all of them, oldest first, at the start and whenever a watch
            broke.
        seen: Is told of one that came or changed.
        gone: Is told of one that was removed.
    """
    while True:
        try:
            version = await _list(api, node_name, listed)
            await _watch(api, node_name, version, seen, gone)
        except (ApiError, aiohttp.ClientError):
            # The apiserver is restarted, or forgot the version.
            await asyncio.sleep(_RETRY_SECONDS)


async def _list(api: Api, node_name: str, listed: Callable[[list[Json]], None]) -> str:
    selector = {"fieldSelector": f"spec.nodeName={node_name}"}
    shown = await api.request("GET", "/api/v1/pods", parameters=selector)
    listed(sorted(shown["items"], key=_age))
    version: str = shown["metadata"]["resourceVersion"]
    return version


async def _watch(
    api: Api, node_name: str, version: str, seen: Hear, gone: Hear
) -> None:
    watched = api.watch(
        "/api/v1/pods",
        fieldSelector=f"spec.nodeName={node_name}",
        resourceVersion=version,
    )
    async with aclosing(watched) as events:
        async for event in events:
            if event.kind == "DELETED":
                gone(event.object)
            elif event.kind != "BOOKMARK":
                seen(event.object)


def _age(pod: Json) -> tuple[str, str]:
    metadata = pod["metadata"]
    return metadata["creationTimestamp"], metadata["name"]
