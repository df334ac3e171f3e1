"""What goes wrong during the soak, spread over its length by chance.

Four lanes run beside each other, each one thing after another: extenders are killed,
the apiserver is restarted, watches are cut and answers lost, nodes flap.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from random import Random
from time import monotonic
from typing import Final

from aiohttp import web

from tests.control_plane.plane import ControlPlane
from tests.control_plane.proxy import NODES as NODE_WATCH
from tests.control_plane.proxy import PODS as POD_WATCH
from tests.control_plane.proxy import Exchange, Held, answer_lost, refused
from tests.control_plane.soak.nodes import Flaps
from tests.control_plane.soak.replicas import Replica

Action = Callable[[], Awaitable[None]]

_AIM_SECONDS: Final = 10.0
"""How long to wait for a Binding of one extender before the other one is aimed at."""

_LATE_SECONDS: Final = (0.0, 4.0)
"""How long after its sender's death a Binding is carried out."""

_DEAD_SECONDS: Final = (0.5, 6.0)
_FLAP_SECONDS: Final = (2.0, 8.0)
_DELAY_SECONDS: Final = (0.5, 4.0)
_LATE_FOR_SECONDS: Final = (4.0, 10.0)


class Lost(Held):
    """Keeps a request until it is released, and then breaks it off."""

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Keep one."""
        self.reached.set()
        await self._released.wait()
        return exchange.drop()


class Kills:
    """Ends extenders, some of them in the middle of a bind."""

    def __init__(self, replicas: Sequence[Replica], random: Random) -> None:
        self.counts = Counter[str]()
        self.aimed = 0
        """How many were between a node's lock and the Binding's answer."""

        self._replicas = replicas
        self._random = random

    def actions(self, number: int) -> list[Action]:
        """List what leads to at least so many kills, half of them aimed."""
        kinds = [
            self._before_binding,
            self._binding_lost,
            self._after_binding,
            self._anywhere,
            self._before_binding,
            self._after_binding,
            self._both,
            self._before_binding,
            self._anywhere,
        ]
        actions: list[Action] = []
        while number > 0:
            kind = kinds[len(actions) % len(kinds)]
            number -= 2 if kind == self._both else 1
            actions.append(kind)
        return actions

    async def _before_binding(self) -> None:
        """With the lock taken; the Binding is carried out after the death."""
        await self._aimed(Held(), "while its Binding was on the way")

    async def _binding_lost(self) -> None:
        """With the lock taken; the Binding is never carried out."""
        await self._aimed(Lost(), "before its Binding was on the way")

    async def _after_binding(self) -> None:
        """With the pod bound, before it was told so."""
        await self._aimed(Held(is_carried_out=True), "before the Binding's answer")

    async def _anywhere(self) -> None:
        self.counts["at any moment"] += 1
        await self._kill(self._random.choice(self._replicas))

    async def _both(self) -> None:
        self.counts["both at once"] += 2
        await asyncio.gather(*map(self._kill, self._replicas))

    async def _aimed(self, held: Held, when: str) -> None:
        replica = self._random.choice(self._replicas)
        while not await self._is_killed_at(replica, held):
            (replica,) = (one for one in self._replicas if one is not replica)
        self.counts[when] += 1
        self.aimed += 1

    async def _is_killed_at(self, replica: Replica, held: Held) -> bool:
        """Wait a while for a Binding, and kill its sender."""
        with replica.proxy.fault(_is_binding, held, most=1):
            with suppress(TimeoutError):
                async with asyncio.timeout(_AIM_SECONDS):
                    await held.reached.wait()
            if not held.reached.is_set():
                return False
            await replica.kill()
            reviving = asyncio.create_task(self._revive(replica))
            await asyncio.sleep(self._random.uniform(*_LATE_SECONDS))
            held.release()
            await reviving
            return True

    async def _kill(self, replica: Replica) -> None:
        await replica.kill()
        await self._revive(replica)

    async def _revive(self, replica: Replica) -> None:
        await asyncio.sleep(self._random.uniform(*_DEAD_SECONDS))
        await replica.start()


class Outages:
    """Restarts the apiserver, every second time with all older versions forgotten."""

    def __init__(self, plane: ControlPlane) -> None:
        self.restarts = 0
        self.compactions = 0
        self.periods: list[tuple[float, float]] = []
        """From when to when it was away, on the monotonic clock."""

        self.is_now = False
        self._plane = plane

    def actions(self, number: int) -> list[Action]:
        """List so many."""
        kinds: list[Action] = [self._restart, self._compact_and_restart]
        return [kinds[one % 2] for one in range(number)]

    async def _restart(self) -> None:
        since, self.is_now = monotonic(), True
        await self._plane.restart_apiserver()
        self.is_now = False
        self.restarts += 1
        self.periods.append((since, monotonic()))

    async def _compact_and_restart(self) -> None:
        await self._plane.compact()
        self.compactions += 1
        await self._restart()


class Trouble:
    """Cuts and delays watches, and loses answers, of extenders that live on."""

    def __init__(self, replicas: Sequence[Replica], random: Random) -> None:
        self.watches_cut = 0
        self.counts = Counter[str]()
        self._replicas = replicas
        self._random = random

    def actions(self, number: int) -> list[Action]:
        """List so many."""
        kinds = [
            self._cut,
            self._delay_pods,
            self._lose_answer,
            self._cut_all,
            self._delay_nodes,
            self._refuse,
        ]
        return [kinds[one % len(kinds)] for one in range(number)]

    async def _cut(self) -> None:
        path = self._random.choice([NODE_WATCH, POD_WATCH])
        self.watches_cut += self._any().proxy.cut_watches(path)

    async def _cut_all(self) -> None:
        for replica in self._replicas:
            self.watches_cut += replica.proxy.cut_watches()

    async def _delay_pods(self) -> None:
        await self._delay(POD_WATCH)

    async def _delay_nodes(self) -> None:
        await self._delay(NODE_WATCH)

    async def _delay(self, path: str) -> None:
        self.counts["watches delayed"] += 1
        proxy = self._any().proxy
        proxy.delay(path, self._random.uniform(*_DELAY_SECONDS))
        await asyncio.sleep(self._random.uniform(*_LATE_FOR_SECONDS))
        proxy.delay(path, 0.0)

    async def _lose_answer(self) -> None:
        with self._any().proxy.fault(_is_binding, answer_lost, most=1) as planted:
            await asyncio.sleep(self._random.uniform(*_LATE_FOR_SECONDS))
            self.counts["answers lost"] += len(planted.met)

    async def _refuse(self) -> None:
        error = refused(web.HTTPInternalServerError.status_code)
        with self._any().proxy.fault(_is_binding, error, most=1) as planted:
            await asyncio.sleep(self._random.uniform(*_LATE_FOR_SECONDS))
            self.counts["Bindings answered with 500"] += len(planted.met)

    def _any(self) -> Replica:
        return self._random.choice(self._replicas)


class NodeFlaps:
    """Lets nodes show less than they have, for some seconds each time."""

    def __init__(self, nodes: Sequence[Flaps], random: Random) -> None:
        self.counts = Counter[str]()
        self.nodes = nodes
        self._random = random

    def actions(self, number: int) -> list[Action]:
        """List so many."""
        kinds = [self._unreadable, self._unhealthy, self._without_plugin]
        return [kinds[one % len(kinds)] for one in range(number)]

    async def _unreadable(self) -> None:
        self.counts["cards unreadable"] += 1
        await self._any().unreadable(self._seconds())

    async def _unhealthy(self) -> None:
        self.counts["a card unhealthy"] += 1
        await self._any().unhealthy(self._seconds(), card=self._random.randrange(2))

    async def _without_plugin(self) -> None:
        self.counts["allocatable 0"] += 1
        await self._any().without_plugin(self._seconds())

    def _any(self) -> Flaps:
        return self._random.choice(self.nodes)

    def _seconds(self) -> float:
        return self._random.uniform(*_FLAP_SECONDS)


async def spread(actions: Sequence[Action], seconds: float, random: Random) -> None:
    """Do one after another, each at a moment of its own part of the time."""
    begun = monotonic()
    for number, action in enumerate(actions):
        at = (number + random.uniform(0.1, 0.9)) * seconds / len(actions)
        await asyncio.sleep(max(0.0, begun + at - monotonic()))
        await action()


def _is_binding(method: str, path: str) -> bool:
    return method == "POST" and path.endswith("/binding")
