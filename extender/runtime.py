"""The composition root: which parts make up a running extender."""

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from extender.embedded.cluster import EmbeddedCluster
from extender.errors import SettingsError
from extender.service import Extender
from extender.settings import SchedulingSettings, Settings
from extender.web.app import build_app
from extender.wire.pods import PodReader

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EmbeddedExtender:
    """An extender on a cluster in memory, synced."""

    cluster: EmbeddedCluster
    extender: Extender


def embed(files: Sequence[Path], settings: SchedulingSettings) -> EmbeddedExtender:
    """Read the files and put an extender on them.

    Raises:
        SettingsError: A file cannot be used.
    """
    reader = PodReader(settings.kind, settings.device_policy, settings.node_policy)
    cluster = EmbeddedCluster(reader)
    cluster.load(files)
    extender = Extender(cluster, reader, time.time)
    cluster.listen(extender.take_in)
    extender.mark_synced()
    return EmbeddedExtender(cluster, extender)


async def serve_embedded(
    embedded: EmbeddedExtender,
    settings: Settings,
    announce: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        embedded: What to serve.
        settings: Where to listen, and limits.
        announce: Told the URL once connections are accepted.

    Raises:
        SettingsError: The address cannot be listened on.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    app = build_app(embedded.extender, settings.http, embedded.cluster)
    runner = web.AppRunner(
        app,
        access_log=None,
        keepalive_timeout=settings.http.keepalive_seconds,
        shutdown_timeout=settings.http.shutdown_seconds,
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, settings.http.host, settings.http.port)
        try:
            await site.start()
        except (OSError, UnicodeError) as error:
            where = f"{settings.http.host}:{settings.http.port}"
            reason = _why_unusable(error)
            raise SettingsError(f"cannot listen on {where}: {reason}") from error
        announce(_url_of(runner))
        await stop.wait()
        _log.info("stopping: open requests are finished first")
    finally:
        await runner.cleanup()
        await embedded.extender.finish()


def _why_unusable(error: OSError | UnicodeError) -> str:
    """Tell what is wrong with an address; asyncio's own text names it twice."""
    if isinstance(error, UnicodeError):
        return "no such host name"
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)


def _url_of(runner: web.AppRunner) -> str:
    host, port, *_ = runner.addresses[0]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
