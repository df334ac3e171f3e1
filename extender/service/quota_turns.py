"""Turns of a namespace: of several extenders, one at a time binds pods under a quota.

A node's lock keeps two extenders from one node; the room of a quota is on all nodes. So
whoever binds a pod of a namespace whose quota limits devices holds the namespace's
lease. It is kept over many binds, and handed over to whoever asks for it::

    free, or not renewed in time --> ours: list the namespace's pods, then bind
    another's                    --> ask for it, and wait
    ours, and another asks       --> end what is under way, hand it over

A lease counts as ours from before our write for as long as it lasts; another's counts
until it has stood unchanged for as long, by our own clock. No Binding is sent that
might be carried out after that; and while nobody knows what became of one that was
sent, its lease is renewed and not handed over.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from extender.errors import Conflict, ExtenderError
from extender.service.cluster import Cluster, Turn
from extender.settings import QuotaSettings

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Held:
    """A lease that is ours.

    Attributes:
        turn: As we wrote it, or as it was seen since.
        since: When it became ours, on the monotonic clock.
        until: Until when nobody else takes it, on the same clock.
        users: Binds under way.
        is_leaving: Whether no further bind may begin.
    """

    turn: Turn
    since: float
    until: float
    users: int = 0
    is_leaving: bool = False


@dataclass(slots=True)
class _Stood:
    """Since when another's lease is seen unchanged."""

    holder: str
    renewed: str
    since: float


@dataclass(slots=True)
class _Namespace:
    """What is known of one namespace's lease."""

    held: _Held | None = None
    stood: _Stood | None = None
    acquiring: asyncio.Lock = field(default_factory=asyncio.Lock)


class QuotaTurns:
    """Takes, keeps, renews and hands over leases."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        identity: str,
        settings: QuotaSettings,
        monotonic: Callable[[], float],
        is_open: Callable[[str], bool] = lambda _namespace: False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Hold no lease yet.

        Args:
            cluster: Keeps the leases, and tells what others bound.
            identity: Ours; no other process has it, nor had it before.
            settings: How long a lease lasts.
            monotonic: The clock for waiting.
            is_open: Tells whether a Binding of a namespace's pods was sent, and may
                still be carried out though nobody waits for its answer any more.
            sleep: Waits.
        """
        self._cluster = cluster
        self._identity = identity
        self._settings = settings
        self._monotonic = monotonic
        self._is_open = is_open
        self._sleep = sleep
        self._namespaces: dict[str, _Namespace] = {}

    @asynccontextmanager
    async def turn(self, namespace: str, deadline: float) -> AsyncIterator[bool]:
        """Hold a namespace's lease for the length of a block.

        Args:
            namespace: Whose quota limits devices.
            deadline: How long to wait, on the monotonic clock.

        Yields:
            Whether it is ours; False once the deadline has passed.

        Raises:
            ClusterError: It cannot be read or written.
        """
        held = await self._hold(namespace, deadline)
        if held is None:
            yield False
            return
        held.users += 1
        try:
            yield True
        finally:
            held.users -= 1

    async def keep(self, namespace: str) -> None:
        """Renew a lease that is held, where much of its time is over.

        Raises:
            ClusterError: It cannot be read or written.
        """
        known = self._known(namespace)
        async with known.acquiring:
            held = known.held
            if held is None or self._lasts(held):
                return
            turn = await self._cluster.read_turn(namespace)
            if turn is None or turn.holder != self._identity:
                known.held = None
                return
            held.turn, held.until = await self._write(namespace, turn)

    def may_send(self, namespace: str) -> bool:
        """Tell whether a Binding that is sent now ends before the lease does."""
        held = self._known(namespace).held
        if held is None:
            return False
        return held.until - self._monotonic() > self._settings.send_margin_seconds

    async def tend_forever(self) -> None:
        """Look, until cancelled, whether others ask for what is ours."""
        while True:
            await self._sleep(self._settings.look_seconds)
            try:
                await self.tend()
            except ExtenderError as error:
                _log.warning("leases of namespaces cannot be looked at: %s", error)

    async def tend(self) -> None:
        """Look once, and hand over what nobody uses any more."""
        if not any(known.held for known in self._namespaces.values()):
            return
        asked_at = self._monotonic()
        turns = await self._cluster.turns()
        for namespace, known in list(self._namespaces.items()):
            held = known.held
            if held is None or held.since >= asked_at:
                continue
            turn = turns.get(namespace)
            if turn is None or turn.holder != self._identity:
                # One that is deleted may be another's before we look again.
                what = "deleted" if turn is None else "taken from us"
                _log.warning("the lease of namespace %s was %s", namespace, what)
                known.held = None
                continue
            held.turn = turn
            if self._is_open(namespace):
                held.is_leaving = False
                await self.keep(namespace)
            elif turn.wanted_by not in ("", self._identity):
                await self._leave(namespace, held)

    async def release_all(self) -> None:
        """Give back every lease: this process ends.

        One with an open Binding is left to lapse.
        """
        for namespace, known in self._namespaces.items():
            held, known.held = known.held, None
            if held is not None and not self._is_open(namespace):
                try:
                    await self._cluster.write_turn(namespace, Turn(), held.turn)
                except ExtenderError as error:
                    # It lapses by itself.
                    _log.warning("lease of namespace %s: %s", namespace, error)

    def _known(self, namespace: str) -> _Namespace:
        return self._namespaces.setdefault(namespace, _Namespace())

    def _lasts(self, held: _Held) -> bool:
        return held.until - self._monotonic() > self._settings.lease_seconds / 2

    async def _leave(self, namespace: str, held: _Held) -> None:
        """Hand a lease over, once it was ours for a moment and no bind uses it."""
        if self._monotonic() - held.since < self._settings.least_seconds:
            return
        held.is_leaving = True
        if held.users:
            return
        known = self._known(namespace)
        async with known.acquiring:
            if known.held is not held or self._is_open(namespace) or held.users:
                return
            known.held = None
            try:
                await self._cluster.write_turn(
                    namespace, Turn(holder=held.turn.wanted_by), held.turn
                )
            except Conflict:
                _log.info("lease of namespace %s changed meanwhile", namespace)

    async def _hold(self, namespace: str, deadline: float) -> _Held | None:
        known = self._known(namespace)
        while True:
            held = known.held
            if held is not None and not held.is_leaving and self._lasts(held):
                return held
            async with known.acquiring:
                held = await self._acquired(namespace, known)
            if held is not None:
                return held
            if self._monotonic() >= deadline:
                return None
            await self._sleep(self._settings.poll_seconds)

    async def _acquired(self, namespace: str, known: _Namespace) -> _Held | None:
        """Take or renew a lease if that may be done now; else ask for it."""
        held = known.held
        if held is not None:
            if held.is_leaving:
                return None
            if self._lasts(held):
                return held
        turn = await self._cluster.read_turn(namespace)
        if turn is not None and turn.holder != self._identity:
            known.held = None  # whoever has it since may have bound pods
        try:
            if turn is not None and not self._is_free(turn, known):
                if not turn.wanted_by:
                    wanted = Turn(turn.holder, self._identity, turn.renewed)
                    await self._cluster.write_turn(namespace, wanted, turn)
                return None
            return await self._taken(namespace, known, turn)
        except Conflict:
            return None  # it has changed: look again

    def _is_free(self, turn: Turn, known: _Namespace) -> bool:
        if turn.holder in ("", self._identity):
            return True
        now = self._monotonic()
        stood = known.stood
        if stood is None or (stood.holder, stood.renewed) != (
            turn.holder,
            turn.renewed,
        ):
            known.stood = _Stood(turn.holder, turn.renewed, now)
            return False
        return now - stood.since > self._settings.lease_seconds

    async def _taken(
        self, namespace: str, known: _Namespace, turn: Turn | None
    ) -> _Held:
        held, known.held = known.held, None
        written, until = await self._write(namespace, turn)
        if held is None:
            # What others bound before may not have come by the watch yet.
            await self._cluster.tell_bound_in(namespace)
            held = _Held(written, self._monotonic(), until)
        held.turn, held.until = written, until
        known.held = held
        return held

    async def _write(self, namespace: str, turn: Turn | None) -> tuple[Turn, float]:
        """Write that a lease is ours; who asked for it meanwhile still does."""
        before = self._monotonic()
        wanted_by = turn.wanted_by if turn is not None else ""
        if wanted_by == self._identity:
            wanted_by = ""
        written = await self._cluster.write_turn(
            namespace, Turn(self._identity, wanted_by), turn
        )
        return written, before + self._settings.lease_seconds
