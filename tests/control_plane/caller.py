"""Whoever calls an extender: kube-scheduler's part of a bind, played by a test.

It does what kube-scheduler does, as often as the test wants and at the moment that the
test wants: filter, then bind; and both again once a bind was refused.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import aiohttp

from extender.kube.connections import connector
from tests.builders import Json, PodBuilder, pod
from tests.control_plane.client import Claim

_PAUSE_SECONDS: Final = 0.1
"""Between two tries; kube-scheduler makes it 1 to 10 s."""

_LOOK_SECONDS: Final = 0.02
_SECONDS: Final = 60.0
"""A bound, never a pace: machines are shared."""

NO_MEMORY: Final = "CardInsufficientMemory"


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls one extender; `calling` begins and ends it."""

    session: aiohttp.ClientSession

    async def filter(self, asked: Json, node_names: Sequence[str]) -> Json:
        """Ask which nodes fit; the pod may be one that is nowhere."""
        body = {"Pod": asked, "Nodes": None, "NodeNames": list(node_names)}
        return await self._post("/filter", body)

    async def bind(self, created: Json, node_name: str) -> str:
        """Have a pod bound; give what went wrong, empty on success.

        A connection that breaks is an answer, too: kube-scheduler goes on like that.
        """
        metadata = created["metadata"]
        body = {
            "PodName": metadata["name"],
            "PodNamespace": metadata["namespace"],
            "PodUID": metadata["uid"],
            "Node": node_name,
        }
        try:
            answer = await self._post("/bind", body)
        except aiohttp.ClientError as error:
            return f"no answer: {error}"
        return str(answer["Error"])

    async def bind_again(self, created: Json, node_name: str) -> int:
        """Filter and bind until that succeeds; give how often it was refused.

        Raises:
            AssertionError: It did not in time; the message has the last refusal.
        """
        refusals, said = 0, ""
        try:
            async with asyncio.timeout(_SECONDS):
                while said := await self._bind_if_it_fits(created, node_name):
                    refusals += 1
                    await asyncio.sleep(_PAUSE_SECONDS)
        except TimeoutError:
            raise AssertionError(f"not bound after {refusals} tries: {said}") from None
        return refusals

    async def _bind_if_it_fits(self, created: Json, node_name: str) -> str:
        try:
            decision = await self.filter(created, [node_name])
        except aiohttp.ClientError as error:
            return f"no answer: {error}"
        if decision["NodeNames"] != [node_name]:
            return f"filter: {decision}"
        return await self.bind(created, node_name)

    async def audit(self) -> Json:
        """Have the extender compare what it recorded with what its pods add up to.

        It mends what differs, so that only this answer tells of it, and no later one.

        Raises:
            AssertionError: Something differs.
        """
        async with self.session.get("/debug/audit") as answer:
            assert answer.status == HTTPStatus.OK, await answer.text()
            told: Json = await answer.json()
            assert told["differences"] == [], told
            return told

    async def knows(self, *, nodes: int, pods: int) -> None:
        """Wait until the extender's watches have shown so many objects."""
        await self._audited(
            lambda told: (told["nodes"], told["pods"]) == (nodes, pods),
            f"{nodes} nodes and {pods} pods",
        )

    async def is_clean(self) -> None:
        """Hold that nothing differs, is overfull, or stays reserved.

        A reservation ends with the event that shows its pod bound, so there is a wait.
        """
        told = await self._audited(
            lambda told: not told["reservations"], "without reservations"
        )
        assert told["overfull"] == [], told

    async def _audited(self, claim: Claim, wanted: str) -> Json:
        told: Json = {}
        try:
            async with asyncio.timeout(_SECONDS):
                while True:
                    told = await self.audit()
                    if claim(told):
                        return told
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            raise AssertionError(f"not {wanted}: {told}") from None

    async def has_left(self, node_name: str, mib: int) -> None:
        """Hold that this much memory of a node's only card is free, and no MiB more."""
        if mib:
            fits = pod("fits").app("a", gpu=1, gpumem=mib).build()
            decision = await self.filter(fits, [node_name])
            assert decision["NodeNames"] == [node_name], decision
        beyond = pod("beyond").app("a", gpu=1, gpumem=mib + 1).build()
        decision = await self.filter(beyond, [node_name])
        # More than the whole card has never fitted.
        refused = decision["FailedNodes"] | decision["FailedAndUnresolvableNodes"]
        assert refused == {node_name: NO_MEMORY}, decision

    async def fits(self, asked: PodBuilder, node_names: Sequence[str]) -> None:
        """Wait until filter lets a pod onto all of some nodes."""
        await self._filtered(
            asked, node_names, lambda told: told["NodeNames"] == list(node_names)
        )

    async def refuses(self, asked: PodBuilder, reasons: Mapping[str, str]) -> None:
        """Wait until filter refuses a pod on all of some nodes, and why."""
        await self._filtered(
            asked, list(reasons), lambda told: told["FailedNodes"] == reasons
        )

    async def _filtered(
        self, asked: PodBuilder, node_names: Sequence[str], claim: Claim
    ) -> None:
        decision: Json = {}
        try:
            async with asyncio.timeout(_SECONDS):
                while True:
                    decision = await self.filter(asked.build(), node_names)
                    if claim(decision):
                        return
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            raise AssertionError(f"filter says otherwise: {decision}") from None

    async def _post(self, verb: str, body: Json) -> Json:
        async with self.session.post(verb, json=body) as answer:
            assert answer.status == HTTPStatus.OK, await answer.text()
            told: Json = await answer.json()
            return told


@asynccontextmanager
async def calling(
    url: str, trust: ssl.SSLContext | None = None
) -> AsyncIterator[Caller]:
    """Call the extender at an address."""
    limits = aiohttp.ClientTimeout(total=_SECONDS)
    known = None if trust is None else connector(trust)
    async with aiohttp.ClientSession(url, timeout=limits, connector=known) as session:
        yield Caller(session)
