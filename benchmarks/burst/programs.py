"""The programs of a burst beside the control plane, each on a leash with its log."""

import http.client
import ssl
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks.burst.plugins import WATCHING
from benchmarks.burst.scheduler_metrics import SchedulerMetrics
from tests.certificates import Authority
from tests.control_plane.component import HOST, Component, free_port
from tests.control_plane.plane import ControlPlane, User
from tests.control_plane.scheduler import configuration

_ROOT: Final = Path(__file__).parents[2]
_READY_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Contender:
    """Who is asked by kube-scheduler.

    Attributes:
        name: As the command line and the report have it.
        module: What runs; None where kube-scheduler asks nobody.
        arguments: Before ``--kubeconfig`` and ``--listen``.
        allocates: Whether its Bindings name cards, so that device plugins serve its
            pods.
        is_ours: Whether the cards that it names are held to what they have, and what
            it refuses is counted.
    """

    name: str
    module: str | None
    arguments: tuple[str, ...] = ()
    allocates: bool = False
    is_ours: bool = False


CONTENDERS: Final = {
    contender.name: contender
    for contender in (
        Contender("ours", "extender", ("serve",), allocates=True, is_ours=True),
        Contender(
            "ours-throughput",
            "extender",
            ("serve", "--burst", "throughput"),
            allocates=True,
            is_ours=True,
        ),
        Contender("echo", "benchmarks.burst.binding_echo"),
        Contender(
            "echo-served",
            "benchmarks.burst.binding_echo",
            ("--name-cards",),
            allocates=True,
        ),
        Contender("none", None),
    )
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A running extender.

    Attributes:
        program: Its process.
        settings: What kube-scheduler's configuration says of how to reach it.
    """

    program: Component
    settings: Mapping[str, object]


@contextmanager
def extender(
    plane: ControlPlane, contender: Contender, *, is_secure: bool
) -> Iterator[Asked | None]:
    """Run an extender until it is ready; gives None where there is none.

    Args:
        plane: Whose pods it binds.
        contender: Which one.
        is_secure: Whether ours serves TLS, and kube-scheduler alone.
    """
    if contender.module is None:
        yield None
        return
    port = free_port()
    arguments: list[str | Path] = [*contender.arguments]
    arguments += ["--kubeconfig", plane.kubeconfig(User.EXTENDER)]
    arguments += ["--listen", f"{HOST}:{port}"]
    settings: dict[str, object] = {"urlPrefix": f"http://{HOST}:{port}"}
    if is_secure:
        flags, settings = _mutual_tls(plane.folder, port)
        arguments += flags
    program = _python("extender", contender.module, arguments, plane.folder)
    with _running(
        program, lambda: _answer(port, "/readyz", is_secure=is_secure) is not None
    ):
        yield Asked(program, settings)


def _mutual_tls(folder: Path, port: int) -> tuple[list[str | Path], dict[str, object]]:
    """Make certificates for both sides; gives the extender's flags, and settings."""
    authority = Authority(folder, "authority")
    own, client = authority.server(), authority.client(User.SCHEDULER)
    flags: list[str | Path] = ["--tls-cert", own.cert_file, "--tls-key", own.key_file]
    flags += ["--client-ca", authority.cert_file, "--client-name", User.SCHEDULER]
    settings = {
        "urlPrefix": f"https://{HOST}:{port}",
        "enableHTTPS": True,
        "tlsConfig": {
            "caFile": str(authority.cert_file),
            "certFile": str(client.cert_file),
            "keyFile": str(client.key_file),
        },
    }
    return flags, settings


@contextmanager
def plugins(plane: ControlPlane, allocate_seconds: float) -> Iterator[Component]:
    """Run what stands in for kubelets and device plugins, until it watches."""
    arguments: list[str | Path] = ["--kubeconfig", plane.kubeconfig()]
    arguments += ["--allocate-seconds", str(allocate_seconds)]
    program = _python("plugins", "benchmarks.burst.plugins", arguments, plane.folder)
    with _running(program, lambda: WATCHING in program.tail()):
        yield program


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A running kube-scheduler.

    Attributes:
        port: Where it shows its metrics.
    """

    program: Component
    port: int

    def metrics(self) -> SchedulerMetrics:
        """Read its metrics."""
        return SchedulerMetrics(_answer(self.port, "/metrics", is_secure=True) or "")


@contextmanager
def scheduler(plane: ControlPlane, asked: Asked | None) -> Iterator[Scheduler]:
    """Run kube-scheduler by the project's configuration, until it has listed all.

    Args:
        plane: Where it schedules.
        asked: Whom it asks; None leaves the extender out.
    """
    written = plane.folder / "kube-scheduler.yaml"
    settings = configuration(plane.kubeconfig(User.SCHEDULER), "")
    if asked is None:
        _leave_extender_out(settings)
    else:
        settings["extenders"][0].update(asked.settings)
    written.write_text(yaml.safe_dump(settings))
    port = free_port()
    command: list[str | Path] = [
        plane.binaries.kube_scheduler,
        f"--config={written}",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        "--authorization-always-allow-paths=/readyz,/metrics",
        "--v=2",
    ]
    program = Component("kube-scheduler", command, plane.folder)
    with _running(
        program, lambda: _answer(port, "/readyz", is_secure=True) is not None
    ):
        yield Scheduler(program, port)


def _leave_extender_out(settings: dict[str, Any]) -> None:
    """Let kube-scheduler ignore by itself what the extender made it ignore."""
    (left_out,) = settings.pop("extenders")
    ignored = [
        resource["name"]
        for resource in left_out["managedResources"]
        if resource["ignoredByScheduler"]
    ]
    (profile,) = settings["profiles"]
    arguments = {"ignoredResources": ignored}
    profile["pluginConfig"] = [{"name": "NodeResourcesFit", "args": arguments}]


def _python(
    name: str, module: str, arguments: list[str | Path], folder: Path
) -> Component:
    """Run a module of this checkout, wherever the program's log is."""
    here: list[str | Path] = ["env", f"PYTHONPATH={_ROOT}", sys.executable]
    return Component(name, [*here, "-m", module, *arguments], folder)


@contextmanager
def _running(program: Component, is_ready: Callable[[], bool]) -> Iterator[None]:
    try:
        program.start()
        program.wait_until(is_ready, seconds=_READY_SECONDS)
        yield
    finally:
        program.stop()


def _answer(port: int, path: str, *, is_secure: bool = False) -> str | None:
    """Give what a program of ours answers; None where it is no 200."""
    connection: http.client.HTTPConnection
    if is_secure:
        # It signs its own certificate and keeps it in memory.
        anyone = ssl.create_default_context()
        anyone.check_hostname = False
        anyone.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(HOST, port, timeout=5, context=anyone)
    else:
        connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return text if answer.status == http.client.OK else None
