"""Extenders that are killed and started again, each behind a proxy of its own."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

import aiohttp
import orjson
from prometheus_client.parser import text_string_to_metric_families

from tests.builders import Json
from tests.control_plane.extender import GpuExtender
from tests.control_plane.plane import ControlPlane, User
from tests.control_plane.proxy import ApiProxy, proxied

_ANSWER_SECONDS: Final = 30.0
_LAST_LOOK_SECONDS: Final = 1.0


class Replica:
    """One extender.

    Attributes:
        name: What it is called in the report.
        kills: How often it was killed.
        differences: What its audits found; must stay empty.
    """

    def __init__(
        self,
        name: str,
        extender: GpuExtender,
        proxy: ApiProxy,
        session: aiohttp.ClientSession,
    ) -> None:
        self.name = name
        self.extender = extender
        self.proxy = proxy
        self.kills = 0
        self.differences: list[Json] = []
        self._session = session
        self._earlier = Counter[str]()
        self._present = Counter[str]()

    @property
    def log(self) -> Path:
        """Where all its lives wrote."""
        return self.extender.component.log

    @property
    def url(self) -> str:
        """Where it serves."""
        return self.extender.url

    async def kill(self) -> None:
        """End it with SIGKILL; what it has counted is kept."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_LOOK_SECONDS):
                await self.look()
        self.kills += 1
        self._earlier += self._present
        self._present = Counter()
        await self.extender.kill()

    async def start(self) -> None:
        """Start it again, and wait until it is ready."""
        await self.extender.start()

    async def look(self) -> None:
        """Read its metrics; it may be gone."""
        kills = self.kills
        with suppress(aiohttp.ClientError, TimeoutError):
            async with self._session.get(f"{self.url}/metrics") as answer:
                read = await answer.text()
            if kills == self.kills:
                self._present = Counter(dict(_counters(read)))

    async def audit(self) -> Json:
        """Let it audit itself.

        Raises:
            ClientError: It is gone.
        """
        async with self._session.get(f"{self.url}/debug/audit") as answer:
            shown: Json = orjson.loads(await answer.read())
        self.differences += shown["differences"]
        return shown

    async def ask(self, verb: str, body: Json) -> Json:
        """Ask it as kube-scheduler does."""
        data = orjson.dumps(body)
        async with self._session.post(f"{self.url}/{verb}", data=data) as answer:
            said: Json = orjson.loads(await answer.read())
        return said

    def counted(self) -> Counter[str]:
        """Add the counters of all its lives up.

        They are named with their label, as ``gpu_extender_lists_total pods``.
        """
        return self._earlier + self._present

    async def watch_forever(self, seconds: float) -> None:
        """Read metrics every so often, and audit, until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            await self.look()
            with suppress(aiohttp.ClientError, TimeoutError):
                await self.audit()


def _counters(text: str) -> Iterator[tuple[str, int]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.endswith("_total"):
                name = " ".join([sample.name, *sample.labels.values()])
                yield name, int(sample.value)


@asynccontextmanager
async def replica(plane: ControlPlane, name: str, user: User) -> AsyncIterator[Replica]:
    """Run one behind its proxy, ready to serve; its log is in the plane's folder."""
    folder = Path(mkdtemp(dir=plane.folder, prefix=f"{name}-"))
    limits = aiohttp.ClientTimeout(total=_ANSWER_SECONDS)
    connector = aiohttp.TCPConnector(force_close=True)
    async with (
        proxied(plane, user) as proxy,
        aiohttp.ClientSession(connector=connector, timeout=limits) as session,
    ):
        extender = GpuExtender(folder, proxy.kubeconfig)
        running = Replica(name, extender, proxy, session)
        try:
            await running.start()
            yield running
        finally:
            await extender.stop()
