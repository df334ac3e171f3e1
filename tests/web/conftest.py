"""Extenders that are served on loopback for the length of one test."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import pytest_asyncio
from aiohttp.test_utils import TestClient, TestServer

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.embedded.cluster import EmbeddedCluster
from extender.runtime import embed
from extender.service import Extender
from extender.settings import (
    HttpSettings,
    ObserveSettings,
    SchedulingSettings,
    Settings,
)
from extender.web.app import build_app
from extender.wire.pods import PodReader
from tests.builders import Json, NodeBuilder, PodBuilder
from tests.web.scheduler import Scheduler

Serve = Callable[..., Awaitable[Scheduler]]

DEFAULTS: Final = SchedulingSettings()
SHOWN: Final = ObserveSettings()


@pytest_asyncio.fixture(loop_scope="function")
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Give a function that serves a cluster of these objects.

    Its keyword `limit` is the limit on bodies; `synced` False leaves the last step of
    starting out; `scheduling` says what is preferred; `observe` what metrics show.
    """
    async with AsyncExitStack() as stack:

        async def start(
            *shown: NodeBuilder | PodBuilder | Json,
            limit: int | None = None,
            synced: bool = True,
            scheduling: SchedulingSettings = DEFAULTS,
            observe: ObserveSettings = SHOWN,
        ) -> Scheduler:
            file = tmp_path / "cluster.json"
            file.write_text(json.dumps(listed(*shown)))
            cluster, extender = _started(file, scheduling, observe, synced=synced)
            http = (
                HttpSettings()
                if limit is None
                else HttpSettings(body_limit_bytes=limit)
            )
            server = TestServer(build_app(extender, http, cluster))
            client = await stack.enter_async_context(TestClient(server))
            return Scheduler(client, server, cluster, extender)

        yield start


def _started(
    file: Path,
    scheduling: SchedulingSettings,
    observe: ObserveSettings,
    *,
    synced: bool,
) -> tuple[EmbeddedCluster, Extender]:
    if synced:
        embedded = embed([file], Settings(scheduling=scheduling, observe=observe))
        return embedded.cluster, embedded.extender
    cluster = EmbeddedCluster(PodReader(Kinds([NVIDIA])))
    cluster.load([file])
    return cluster, Extender(cluster, PodReader(Kinds([NVIDIA])), lambda: 0.0)


def listed(*shown: NodeBuilder | PodBuilder | Json) -> Json:
    """Print objects as kubectl prints several."""
    items = [each if isinstance(each, dict) else each.build() for each in shown]
    return {"apiVersion": "v1", "kind": "List", "items": items}
