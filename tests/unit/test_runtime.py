"""The composition root: in which order things end."""

import asyncio

from extender.runtime import _until


async def test_watches_end_last() -> None:
    """A bind that is under way when the server stops is woken by what they tell."""
    stop, ended = asyncio.Event(), list[str]()

    async def watch() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("watch")

    async def finish() -> None:
        await asyncio.sleep(0)
        ended.append("binds")

    stopping = asyncio.create_task(_until(stop, finish, watch()))
    await asyncio.sleep(0)
    assert ended == []
    stop.set()
    await stopping
    assert ended == ["binds", "watch"]
