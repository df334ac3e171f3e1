"""kube-scheduler as the project's configuration sets it up, with a given extender."""

import asyncio
import http.client
import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import yaml

from extender.core.kinds import Kind, RequestRule
from tests.control_plane.component import HOST, Component, free_port
from tests.control_plane.plane import ControlPlane, User

CONFIGURATION: Final = Path(__file__).parents[2] / "config" / "kube-scheduler.yaml"

_READY_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class ClientTls:
    """How kube-scheduler shows who it is, and whom it takes for the extender."""

    ca_file: Path
    cert_file: Path
    key_file: Path


def configuration(
    kubeconfig: Path,
    extender_url: str,
    more_names: Sequence[str] = (),
    kinds: Iterable[Kind] = (),
    tls: ClientTls | None = None,
) -> dict[str, Any]:
    """Give the project's configuration with the two addresses set.

    Args:
        kubeconfig: Of the cluster.
        extender_url: The ``urlPrefix``.
        more_names: Each one more profile, with all else as it is by default.
        kinds: Of device, whose pods are asked about besides those of NVIDIA.
        tls: For an ``https`` URL.
    """
    shipped: dict[str, Any] = yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))
    shipped["clientConnection"]["kubeconfig"] = str(kubeconfig)
    # Electing a leader would only cost time: there is one.
    shipped["leaderElection"] = {"leaderElect": False}
    (extender,) = shipped["extenders"]
    extender["urlPrefix"] = extender_url
    if tls is not None:
        extender["enableHTTPS"] = True
        extender["tlsConfig"] = {
            "caFile": str(tls.ca_file),
            "certFile": str(tls.cert_file),
            "keyFile": str(tls.key_file),
        }
    extender["managedResources"] += [
        {"name": name, "ignoredByScheduler": name not in kubelet_resources(kind)}
        for kind in kinds
        for name in kind.resources
    ]
    shipped["profiles"] += [{"schedulerName": name} for name in more_names]
    return shipped


def kubelet_resources(kind: Kind) -> set[str | None]:
    """Name the resources that nodes report; kube-scheduler counts them."""
    if RequestRule.COUNT_OR_CORES in kind.rules:
        return {kind.count_resource, kind.core_resource}
    return {kind.count_resource}


def scheduler_name() -> str:
    """Name what a pod's ``schedulerName`` must be to get to this scheduler."""
    shipped = yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))
    (profile,) = shipped["profiles"]
    return str(profile["schedulerName"])


@asynccontextmanager
async def kube_scheduler(
    plane: ControlPlane,
    extender_url: str,
    *,
    verbosity: int = 2,
    more_names: Sequence[str] = (),
    kinds: Iterable[Kind] = (),
    tls: ClientTls | None = None,
    folder: Path | None = None,
) -> AsyncIterator[Component]:
    """Run kube-scheduler, and wait until it has listed what it needs.

    Args:
        plane: Where it schedules.
        extender_url: The ``urlPrefix``; nothing need listen there for plain pods.
        verbosity: Of its log, in the plane's folder; 5 shows errors of prioritize.
        more_names: Other scheduler names than the configured one that it serves, too.
        kinds: As for `configuration`.
        tls: As for `configuration`.
        folder: For its configuration and log; without it a new one in the plane's.
    """
    if folder is None:
        folder = Path(mkdtemp(dir=plane.folder, prefix="kube-scheduler-"))
    written = folder / "configuration.yaml"
    kubeconfig = plane.kubeconfig(User.SCHEDULER)
    settings = configuration(kubeconfig, extender_url, more_names, kinds, tls)
    written.write_text(yaml.safe_dump(settings))
    port = free_port()
    command: list[str | Path] = [
        plane.binaries.kube_scheduler,
        f"--config={written}",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--v={verbosity}",
    ]
    scheduler = Component("kube-scheduler", command, folder)

    def is_ready() -> bool:
        return _answers(port, "/readyz")

    try:
        scheduler.start()
        await asyncio.to_thread(scheduler.wait_until, is_ready, seconds=_READY_SECONDS)
        yield scheduler
    finally:
        await asyncio.to_thread(scheduler.stop)


def _answers(port: int, path: str) -> bool:
    # It signs its own certificate and keeps it in memory.
    anyone = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection(HOST, port, timeout=5, context=anyone)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()
