"""Long answers in turns, between which requests are answered."""

import asyncio
from collections.abc import Generator
from typing import TypeVar

_Told = TypeVar("_Told")


async def in_turns(steps: Generator[None, None, _Told]) -> _Told:
    """Let others have the loop between the steps; give what they come to."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            told: _Told = ended.value
            return told
        await asyncio.sleep(0)
