"""The programs of a burst beside the control plane, each on a leash with its log."""

import http.client
import re
import ssl
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks.burst.plugins import WATCHING
from tests.control_plane.component import HOST, Component, free_port
from tests.control_plane.plane import ControlPlane, User
from tests.control_plane.scheduler import configuration

_ROOT: Final = Path(__file__).parents[2]
_READY_SECONDS: Final = 120.0
_SAMPLE: Final = re.compile(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Contender:
    """Who is asked by kube-scheduler.

    Attributes:
        name: As the command line and the report have it.
        module: What runs; None where kube-scheduler asks nobody.
        arguments: Before ``--kubeconfig`` and ``--listen``.
        allocates: Whether its Bindings say which cards a pod gets.
    """

    name: str
    module: str | None
    arguments: tuple[str, ...] = ()
    allocates: bool = False


CONTENDERS: Final = {
    contender.name: contender
    for contender in (
        Contender("ours", "extender", ("serve",), allocates=True),
        Contender("echo", "benchmarks.burst.binding_echo"),
        Contender("none", None),
    )
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A running extender."""

    program: Component
    url: str


@contextmanager
def extender(plane: ControlPlane, contender: Contender) -> Iterator[Asked | None]:
    """Run an extender until it is ready; gives None where there is none."""
    if contender.module is None:
        yield None
        return
    port = free_port()
    arguments: list[str | Path] = [*contender.arguments]
    arguments += ["--kubeconfig", plane.kubeconfig(User.EXTENDER)]
    arguments += ["--listen", f"{HOST}:{port}"]
    program = _python("extender", contender.module, arguments, plane.folder)
    with _running(program, lambda: _answer(port, "/readyz") is not None):
        yield Asked(program, f"http://{HOST}:{port}")


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

    def metrics(self) -> "SchedulerMetrics":
        """Read its metrics."""
        return SchedulerMetrics(_answer(self.port, "/metrics", is_secure=True) or "")


@contextmanager
def scheduler(plane: ControlPlane, extender_url: str | None) -> Iterator[Scheduler]:
    """Run kube-scheduler by the project's configuration, until it has listed all.

    Args:
        plane: Where it schedules.
        extender_url: Whom it asks; None leaves the extender out.
    """
    written = plane.folder / "kube-scheduler.yaml"
    settings = configuration(plane.kubeconfig(User.SCHEDULER), extender_url or "")
    if extender_url is None:
        _leave_extender_out(settings)
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


class SchedulerMetrics:
    """What kube-scheduler counted since it was started."""

    def __init__(self, text: str) -> None:
        self._samples = [
            (name, dict(_LABEL.findall(labels)), float(value))
            for name, labels, value in _SAMPLE.findall(text)
        ]

    def attempts(self) -> dict[str, int]:
        """Count attempts to place a pod: scheduled, unschedulable, error."""
        counted: dict[str, int] = {}
        for labels, value in self._of("scheduler_schedule_attempts_total"):
            result = labels["result"]
            counted[result] = counted.get(result, 0) + round(value)
        return counted

    def choose_ms(self) -> float:
        """Give the mean time in which a node was chosen; pods wait for each other."""
        return self._mean_ms("scheduler_scheduling_algorithm_duration_seconds")

    def attempt_ms(self) -> float:
        """Give the mean time of successful attempts, from the choice until bound."""
        name = "scheduler_scheduling_attempt_duration_seconds"
        return self._mean_ms(name, result="scheduled")

    def _mean_ms(self, name: str, **wanted: str) -> float:
        total = sum(value for _, value in self._of(f"{name}_sum", **wanted))
        count = sum(value for _, value in self._of(f"{name}_count", **wanted))
        return 1e3 * total / count if count else 0.0

    def _of(
        self, name: str, **wanted: str
    ) -> Iterator[tuple[Mapping[str, str], float]]:
        for sample, labels, value in self._samples:
            if sample == name and wanted.items() <= labels.items():
                yield labels, value


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
