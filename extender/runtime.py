"""The composition root: which parts make up a running extender."""

import asyncio
import gc
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from extender.core.kind_set import Kinds
from extender.core.kinds import Kind
from extender.device_config import DeviceConfigFile
from extender.embedded.cluster import EmbeddedCluster
from extender.errors import Unreachable
from extender.observe.logs import LEVELS
from extender.observe.metrics import Metrics
from extender.service import Extender
from extender.service.shadow import ShadowExtender
from extender.settings import HttpSettings, Part, Settings
from extender.verbs.diagnosis import LockRelease
from extender.web.app import PodCreator
from extender.web.listening import served

_log = logging.getLogger(__name__)

Announce = Callable[[Mapping[Part, str]], None]
"""Told the URL of each part once connections are accepted."""


def run(serving: Coroutine[None, None, None]) -> None:
    """Run a server to its end."""
    # Until the loop takes them, they would end the process.
    for name in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(name, signal.SIG_IGN)
    gc.set_threshold(*_STARTING)
    asyncio.run(serving)


_STARTING: Final = (50_000, 20, 50)
"""Objects between two collections, and how many of one generation to one of the next.
With Python's own 700, 10 and 10, a start spends 40 % of its time on them."""

_SERVING: Final = (5_000, 50, 1_000)
"""What requests and events leave behind is collected often, in small steps; what they
make that stays hardly ever."""


def _tell_synced(extender: Extender, on_synced: Callable[[Extender], None]) -> None:
    _spare_collector()
    on_synced(extender)


def _spare_collector() -> None:
    """Leave what was built up so far out of garbage collections.

    Tens of thousands of pods are kept for hours. To walk over all of them takes a tenth
    of a second, and finds nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_SERVING)


@dataclass(frozen=True, slots=True)
class EmbeddedExtender:
    """An extender on a cluster in memory, synced."""

    cluster: EmbeddedCluster
    extender: Extender


def embed(files: Sequence[Path], settings: Settings) -> EmbeddedExtender:
    """Read the files and put an extender on them.

    Raises:
        SettingsError: A file cannot be used.
    """
    reader = settings.scheduling.reader()
    cluster = EmbeddedCluster(reader, settings.scheduling.node_selector)
    cluster.load(files)
    extender = Extender(cluster, reader, time.time, settings)
    cluster.listen(extender.take_in)
    extender.mark_synced()
    return EmbeddedExtender(cluster, extender)


def embed_to_look(files: Sequence[Path], settings: Settings) -> Extender:
    """Read the files as they are, and put an extender on them that is only asked.

    Locks stay, and pods that wait for their devices go on to wait.

    Raises:
        SettingsError: A file cannot be used.
    """
    scheduling = settings.scheduling
    cluster = EmbeddedCluster(
        scheduling.reader(), scheduling.node_selector, plays_plugin=False
    )
    cluster.load(files)
    extender = Extender(cluster, scheduling.reader(), time.time, settings)
    cluster.listen(extender.take_in)
    extender.mark_synced()
    return extender


async def serve_embedded(
    embedded: EmbeddedExtender,
    settings: Settings,
    announce: Announce,
) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        embedded: What to serve.
        settings: Where to listen, and limits.
        announce: Told the URLs once connections are accepted.

    Raises:
        SettingsError: The address cannot be listened on, or a TLS file not be used.
    """
    _spare_collector()
    stop = _stop_signal()
    async with _served(
        embedded.extender, settings.http, announce, embedded.cluster
    ) as finish:
        await _until(
            stop,
            finish,
            embedded.extender.tend_forever(),
            *_followed(embedded.extender, settings),
        )


async def serve_kube(
    kubeconfig: Path | None,
    settings: Settings,
    announce: Announce,
    on_synced: Callable[[Extender], None],
) -> None:
    """Serve the cluster behind an API server until SIGINT or SIGTERM.

    Args:
        kubeconfig: How to reach it; None for the one that this pod runs in.
        settings: Where to listen, how to read, and limits.
        announce: Told the URLs once connections are accepted.
        on_synced: Told once nodes and pods were listed and applied.

    Raises:
        SettingsError: The address cannot be listened on, a TLS file not be used, or
            the API server's address and credentials not be read.
    """
    # The library takes half a second to import, which other commands need not wait for.
    from extender.kube.access import (  # noqa: PLC0415
        in_cluster_access,
        kubeconfig_access,
    )
    from extender.kube.client import ApiClient  # noqa: PLC0415
    from extender.kube.cluster import KubeCluster  # noqa: PLC0415

    stop = _stop_signal()
    reader = settings.scheduling.reader()
    access = await (
        in_cluster_access() if kubeconfig is None else kubeconfig_access(kubeconfig)
    )
    async with ApiClient(access) as client:
        metrics = Metrics()
        cluster = KubeCluster(client, reader, settings.kube, metrics, settings.quota)
        kind = ShadowExtender if settings.shadow.is_on else Extender
        extender = kind(cluster, reader, time.time, settings, metrics=metrics)
        async with _served(extender, settings.http, announce) as finish:
            await _until(
                stop,
                finish,
                cluster.follow(extender, lambda: _tell_synced(extender, on_synced)),
                extender.tend_forever(),
                *_followed(extender, settings),
            )


async def read_once(
    kubeconfig: Path, settings: Settings, *, context: str | None = None
) -> Extender:
    """List nodes, pods and quotas of the cluster behind an API server; write nothing.

    Args:
        kubeconfig: How to reach it.
        settings: How to read.
        context: Of the kubeconfig; None for its current one.

    Raises:
        SettingsError: The API server's address and credentials cannot be read.
        Unreachable: It did not list everything in time.
    """
    from extender.kube.access import kubeconfig_access  # noqa: PLC0415 - as above
    from extender.kube.client import ApiClient  # noqa: PLC0415
    from extender.kube.cluster import KubeCluster  # noqa: PLC0415

    reader = settings.scheduling.reader()
    access = await kubeconfig_access(kubeconfig, context)
    async with ApiClient(access) as client:
        metrics = Metrics()
        cluster = KubeCluster(client, reader, settings.kube, metrics)
        extender = Extender(cluster, reader, time.time, settings, metrics=metrics)
        synced = asyncio.Event()
        following = asyncio.create_task(cluster.follow(extender, synced.set))
        try:
            async with asyncio.timeout(_READ_ONCE_SECONDS):
                await synced.wait()
        except TimeoutError:
            raise Unreachable(
                f"nodes, pods and quotas were not listed in {_READ_ONCE_SECONDS:.0f} s"
            ) from None
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        return extender


def namespace_of(kubeconfig: Path, context: str | None = None) -> str:
    """Give the namespace of a kubeconfig's context: where who names none is.

    Raises:
        SettingsError: The file cannot be used, or has no such context.
    """
    from extender.kube.access import context_namespace  # noqa: PLC0415 - as above

    return context_namespace(kubeconfig, context)


async def release_leaked(
    kubeconfig: Path,
    settings: Settings,
    releases: Sequence[LockRelease],
    *,
    context: str | None = None,
) -> list[str]:
    """Release node locks that nobody needs, each judged anew; tell what was done.

    Args:
        kubeconfig: How to reach the API server.
        settings: How long a bind may last.
        releases: Which locks.
        context: Of the kubeconfig; None for its current one.

    Raises:
        SettingsError: The API server's address and credentials cannot be read.
    """
    from extender.kube.access import kubeconfig_access  # noqa: PLC0415 - as above
    from extender.kube.client import ApiClient  # noqa: PLC0415
    from extender.kube.cluster import KubeCluster  # noqa: PLC0415

    reader = settings.scheduling.reader()
    async with ApiClient(await kubeconfig_access(kubeconfig, context)) as client:
        metrics = Metrics()
        cluster = KubeCluster(client, reader, settings.kube, metrics)
        extender = Extender(cluster, reader, time.time, settings, metrics=metrics)
        return await extender.doctor.fix(releases)


async def ensure_certificate(
    kubeconfig: Path | None,
    namespace: str,
    secret_name: str,
    dns_names: Sequence[str],
    webhook_name: str,
) -> list[str]:
    """Have the webhook's certificate made and trusted; tell what was done.

    Raises:
        SettingsError: The API server's address and credentials cannot be read, or
            there is no such webhook.
        ClusterError: By the API server's answer.
    """
    from extender.kube import certificate  # noqa: PLC0415 - as above
    from extender.kube.access import (  # noqa: PLC0415
        in_cluster_access,
        kubeconfig_access,
    )
    from extender.kube.client import ApiClient  # noqa: PLC0415

    access = await (
        in_cluster_access() if kubeconfig is None else kubeconfig_access(kubeconfig)
    )
    async with ApiClient(access) as client:
        return await certificate.ensure(
            client, namespace, secret_name, dns_names, webhook_name
        )


_READ_ONCE_SECONDS: Final = 60.0


def _followed(
    extender: Extender, settings: Settings
) -> list[Coroutine[None, None, None]]:
    """Give what follows the file of the kinds, where there is one."""
    if settings.device_config is None:
        return []

    def count(kinds: tuple[Kind, ...]) -> None:
        extender.read_with(replace(extender.reader, kinds=Kinds(kinds)))

    file = DeviceConfigFile(
        settings.device_config, settings.scheduling.kinds, extender.metrics, count
    )
    return [file.follow_forever()]


async def _until(
    stop: asyncio.Event,
    finish: Callable[[], Coroutine[None, None, None]],
    *works: Coroutine[None, None, None],
) -> None:
    """Do all that never ends, until told to stop; a failure of any ends all.

    What is under way is finished first: a bind waits for what the watches tell.
    """
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
        await stop.wait()
        _log.info("stopping: open requests and binds are finished first")
        await finish()
        for task in tasks:
            task.cancel()


def _stop_signal() -> asyncio.Event:
    """Give what SIGINT and SIGTERM set from now on, and a terminal that closes."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup asks for
        hang_up = stop.set if os.isatty(0) else _tell_hang_up
        loop.add_signal_handler(signal.SIGHUP, hang_up)
    # Only who may end the process can send it a signal, and no port is needed.
    loop.add_signal_handler(signal.SIGUSR1, LEVELS.turn_level)
    loop.add_signal_handler(signal.SIGUSR2, LEVELS.turn_decisions)
    return stop


def _tell_hang_up() -> None:
    """Go on: who rotates logs or certificates often sends it, for files to be read."""
    _log.info(
        "SIGHUP: nothing needs it; a rotated log file, certificates, tokens and the "
        "device config are taken up by themselves, other settings by a new start"
    )


@asynccontextmanager
async def _served(
    extender: Extender,
    settings: HttpSettings,
    announce: Announce,
    intake: PodCreator | None = None,
) -> AsyncIterator[Callable[[], Coroutine[None, None, None]]]:
    """Serve, and give what ends it once open requests and binds are finished."""
    async with served(extender, settings, intake) as doors:

        async def finish() -> None:
            await doors.close()
            await extender.finish()

        try:
            announce(doors.urls)
            yield finish
        finally:
            await finish()
