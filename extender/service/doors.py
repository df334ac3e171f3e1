"""Where binds to one node wait, for their turn and for something to happen there."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from extender.core.names import NodeName


@dataclass(slots=True)
class _Door:
    """Where the binds to one node wait."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    callers: int = 0


class Doors:
    """The doors of all nodes that binds of this process are at."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._doors: dict[NodeName, _Door] = {}

    def __contains__(self, node_name: NodeName) -> bool:
        return node_name in self._doors

    def callers(self) -> Iterator[tuple[NodeName, int]]:
        """Count the binds at each node."""
        for node_name, door in self._doors.items():
            yield node_name, door.callers

    def changed(self, node_name: NodeName) -> asyncio.Event:
        """Give what is set when something happens at a node; call it in `turn`."""
        return self._doors[node_name].changed

    def wake(self, node_name: NodeName) -> None:
        """Let who waits at a node look again."""
        door = self._doors.get(node_name)
        if door is not None:
            door.changed.set()

    @asynccontextmanager
    async def turn(self, node_name: NodeName, deadline: float) -> AsyncIterator[bool]:
        """Come in turn; gives False where the deadline came first."""
        door = self._doors.setdefault(node_name, _Door())
        door.callers += 1
        has_turn = False
        try:
            try:
                async with asyncio.timeout(deadline - self._monotonic()):
                    await door.turn.acquire()
                has_turn = True
            except TimeoutError:
                pass
            yield has_turn
        finally:
            if has_turn:
                door.turn.release()
            door.callers -= 1
            if not door.callers:
                del self._doors[node_name]
