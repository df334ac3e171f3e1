"""A browser, and an extender for it to look at."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import orjson
import pytest_asyncio

from benchmarks.cluster import make_cluster
from extender.runtime import EmbeddedExtender, embed
from extender.settings import HttpSettings, Part, Settings
from extender.web.listening import served
from tests.browser.chromium import Tab, tab

ServePage = Callable[[Path], Awaitable[tuple[str, EmbeddedExtender]]]


@pytest_asyncio.fixture(loop_scope="function")
async def browser(tmp_path: Path) -> AsyncIterator[Tab]:
    """Give an empty page of a new browser."""
    async with tab(tmp_path / "profile") as page:
        yield page


@pytest_asyncio.fixture(loop_scope="function")
async def serve_page() -> AsyncIterator[ServePage]:
    """Give a function that serves the cluster of a file, and tells where."""
    async with AsyncExitStack() as stack:

        async def start(file: Path) -> tuple[str, EmbeddedExtender]:
            embedded = await asyncio.to_thread(embed, [file], Settings())
            # As serve does, or the collector walks over the cluster in the midst.
            gc.collect()
            gc.freeze()
            stack.callback(gc.unfreeze)
            http = HttpSettings(port=0)
            doors = await stack.enter_async_context(
                served(embedded.extender, http, embedded.cluster)
            )
            return doors.urls[Part.METRICS], embedded

        yield start


def large_cluster(file: Path) -> Path:
    """Write a cluster of 5,000 nodes of 8 cards, with 10,000 pods."""
    file.write_bytes(orjson.dumps(make_cluster(5_000, 2)))
    return file


def cluster_of(file: Path, *shown: object) -> Path:
    """Write a cluster of a few objects."""
    listed = {"apiVersion": "v1", "kind": "List", "items": shown}
    file.write_text(json.dumps(listed))
    return file
