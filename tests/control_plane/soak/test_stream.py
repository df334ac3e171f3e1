"""The soak's stream tells every change of etcd, in order, and what it missed."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import orjson
import pytest
import pytest_asyncio

from tests.builders import Json, node, pod
from tests.control_plane.binaries import Binaries
from tests.control_plane.component import HOST
from tests.control_plane.plane import ControlPlane
from tests.control_plane.soak.stream import Change, Compacted, Stream

Told = list[tuple[str, bool, bool]]
"""Names, and whether there was one before and is one afterwards."""


class Etcd:
    """An etcd, and nothing else."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane

    async def put(self, key: str, value: Json) -> None:
        """Write what an apiserver would have written."""
        written = {
            "key": _encoded(key),
            "value": _encoded(orjson.dumps(value).decode()),
        }
        await asyncio.to_thread(self.plane._ask_etcd, "/v3/kv/put", written)

    async def remove(self, key: str) -> None:
        """Delete a key."""
        gone = {"key": _encoded(key)}
        await asyncio.to_thread(self.plane._ask_etcd, "/v3/kv/deleterange", gone)


@pytest_asyncio.fixture
async def etcd(control_plane_binaries: Binaries, tmp_path: Path) -> AsyncIterator[Etcd]:
    """Run an etcd."""
    plane = ControlPlane(control_plane_binaries, tmp_path)
    plane.etcd.start()
    try:
        await asyncio.to_thread(
            plane.etcd.wait_until, lambda: _answers(plane), seconds=60
        )
        yield Etcd(plane)
    finally:
        await asyncio.to_thread(plane.stop)


def _answers(plane: ControlPlane) -> bool:
    try:
        plane._ask_etcd("/v3/kv/range", {"key": _encoded("\0")})
    except OSError:
        return False
    return True


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


@asynccontextmanager
async def followed(stream: Stream) -> AsyncIterator[Told]:
    """Follow, and list what is told."""
    told: Told = []

    def see(change: Change) -> None:
        before, after = change.before is not None, change.after is not None
        told.append((f"{change.kind} {change.name}", before, after))

    following = asyncio.create_task(stream.follow(see))
    try:
        yield told
    finally:
        following.cancel()
        await asyncio.wait({following})


async def until(claim: Callable[[], bool]) -> None:
    """Wait until a claim holds."""
    async with asyncio.timeout(30):
        while not claim():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.01)


async def test_changes_are_told_in_order(etcd: Etcd) -> None:
    """What is there first, and then each write; other kinds are passed over."""
    await etcd.put("/registry/minions/n1", node("n1").build())
    await etcd.put("/registry/namespaces/default", {})
    stream = Stream(etcd.plane)
    async with followed(stream) as told:
        await until(lambda: len(told) == 1)
        await etcd.put("/registry/pods/default/p", pod("p").build())
        await etcd.put("/registry/podtemplates/default/t", {})
        await etcd.put("/registry/pods/default/p", pod("p").on("n1").build())
        await etcd.remove("/registry/pods/default/p")
        await until(lambda: len(told) == 4)
    assert told == [
        ("node n1", False, True),
        ("pod default/p", False, True),
        ("pod default/p", True, True),
        ("pod default/p", True, False),
    ]
    assert (stream.changes, stream.gaps, stream.pods) == (3, 0, {})


async def test_another_object_of_the_name_comes_after_the_first_is_gone(
    etcd: Etcd,
) -> None:
    """Also where neither its end nor the beginning of the other one was seen."""
    await etcd.put("/registry/pods/default/p", pod("p").build())
    stream = Stream(etcd.plane)
    async with followed(stream) as told:
        await until(lambda: len(told) == 1)
    await etcd.put("/registry/pods/default/p", pod("p").uid("other").build())
    async with followed(stream) as told:
        await until(lambda: len(told) == 2)
    assert told == [("pod default/p", True, False), ("pod default/p", False, True)]


async def test_what_is_forgotten_is_not_passed_over(etcd: Etcd) -> None:
    """A watch from before a compaction ends with an error of its own."""
    await etcd.put("/registry/pods/default/p", pod("p").build())
    await etcd.put("/registry/pods/default/q", pod("q").build())
    await etcd.plane.compact()
    stream = Stream(etcd.plane)
    url = f"http://{HOST}:{etcd.plane._etcd_port}"
    async with aiohttp.ClientSession(url) as session:
        with pytest.raises(Compacted):
            await stream._watch(session, 1, lambda _: None)
