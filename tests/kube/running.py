"""An extender that runs on the small API server, and a clock that a test can put on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName, PodUID
from extender.core.pod import Release
from extender.kube.cluster import KubeCluster
from extender.observe.metrics import Metrics
from extender.service import Extender
from extender.settings import (
    BindSettings,
    KubeSettings,
    ObserveSettings,
    QuotaSettings,
    SchedulingSettings,
    Settings,
)
from extender.state.audit import audit
from extender.verbs.filter import FilterDecision
from extender.wire.extender_v1 import BindingArgs, ExtenderArgs
from extender.wire.pods import PodReader
from tests.builders import PodBuilder, node, pod
from tests.kube.server import ApiServer
from tests.values import totals_of

QUICK: Final = KubeSettings(
    request_seconds=1, first_backoff_seconds=0.01, longest_backoff_seconds=0.02
)
QUICK_TURNS: Final = QuotaSettings(
    least_seconds=0.05, look_seconds=0.02, poll_seconds=0.01
)
DEFAULTS: Final = SchedulingSettings()
SHOWN: Final = ObserveSettings()
ONE_CARD: Final = node("n1").gpu("GPU-a", memory=24_000)
WANTED: Final = pod("p").app("a", gpu=1, gpumem=16_000)


@dataclass(slots=True)
class Clock:
    """The loop's clock, and what a test skips of it where something must stand long."""

    skipped: float = 0.0


@dataclass(slots=True)
class Running:
    """An extender on a server, synced."""

    server: ApiServer
    extender: Extender
    cluster: KubeCluster
    clock: Clock

    async def bind(self, wanted: PodBuilder = WANTED, node_name: str = "n1") -> str:
        """Bind a pod as kube-scheduler does."""
        uid = PodUID(wanted.pod_uid)
        args = BindingArgs(wanted.name, wanted.namespace, uid, NodeName(node_name))
        return await self.extender.bind(args)

    def filter(self, wanted: PodBuilder, *node_names: str) -> FilterDecision:
        """Ask about a pod as kube-scheduler does."""
        names = tuple(NodeName(name) for name in node_names or ("n1",))
        read = self.extender.reader.read(wanted.build())
        return self.extender.filter(ExtenderArgs(read, names, None))

    def is_reserved(self, wanted: PodBuilder = WANTED) -> bool:
        """Tell whether a place is kept for a pod."""
        reservation = self.extender.ledger.reservation(PodUID(wanted.pod_uid))
        return reservation is not None

    def used(self, uuid: str = "GPU-a", node_name: str = "n1") -> int:
        """Tell how much of a card's memory counts as held."""
        totals = totals_of(self.extender.ledger.fleet, NodeName(node_name))
        assert totals is not None
        return {str(one): usage for one, usage in totals.used.items()}[uuid].memory_mib


@asynccontextmanager
async def running(
    server: ApiServer,
    *,
    lock_wait_seconds: float = 5.0,
    follows: bool = True,
    release: Release = Release.AFTER_INIT,
    audit_seconds: float = Settings().audit_seconds,
    scheduling: SchedulingSettings = DEFAULTS,
    quota: QuotaSettings = QUICK_TURNS,
    observe: ObserveSettings = SHOWN,
) -> AsyncIterator[Running]:
    """Run an extender on a server; one that does not follow hears nothing later."""
    reader, clock = PodReader(Kinds([NVIDIA]), release=release), Clock()
    settings = Settings(
        scheduling=scheduling,
        bind=BindSettings(lock_wait_seconds=lock_wait_seconds),
        audit_seconds=audit_seconds,
        quota=quota,
        observe=observe,
    )
    async with server.client() as client:
        metrics = Metrics()
        cluster = KubeCluster(client, reader, QUICK, metrics)
        loop = asyncio.get_running_loop()
        extender = Extender(
            cluster,
            reader,
            lambda: 1_700_000_000.5,
            settings,
            metrics=metrics,
            monotonic=lambda: loop.time() + clock.skipped,
        )
        synced = asyncio.Event()
        feeds = asyncio.create_task(cluster.follow(extender, synced.set))
        await synced.wait()
        if not follows:
            feeds.cancel()
        try:
            yield Running(server, extender, cluster, clock)
            await extender.finish()
            assert audit(extender.ledger) == []
        finally:
            feeds.cancel()
            await asyncio.gather(feeds, return_exceptions=True)
