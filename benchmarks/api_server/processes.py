"""The stand-in and an extender on it, each as a process of its own."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from socket import create_server
from typing import IO, Final

import orjson

from benchmarks.api_server.server import EVENTS_PATH
from benchmarks.servers import LOOPBACK, Server, ServerFailed

_READY_WITHIN_SECONDS: Final = 300.0
_ASK_EVERY_SECONDS: Final = 0.02
_ENDED_WITHIN_SECONDS: Final = 15.0
_SHOWN_CHARACTERS: Final = 4_000
_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class StandIn:
    """A running stand-in for an API server."""

    port: int

    def start_events(self, rates: Mapping[str, float]) -> None:
        """Let events flow, so many a second of each collection."""
        query = "&".join(f"{name}={rate}" for name, rate in rates.items())
        self._ask("POST", f"{EVENTS_PATH}?{query}")

    def stop_events(self) -> Mapping[str, int]:
        """Stop events; tell how many have flowed since the beginning.

        Raises:
            ServerFailed: There were too few for the time that they were to flow.
        """
        answer = orjson.loads(self._ask("DELETE", EVENTS_PATH))
        if answer["used_up"]:
            raise ServerFailed("the stand-in has told all its events")
        flowed: dict[str, int] = answer["flowed"]
        return flowed

    def _ask(self, method: str, path: str) -> bytes:
        connection = HTTPConnection(LOOPBACK, self.port, timeout=30.0)
        try:
            connection.request(method, path)
            return connection.getresponse().read()
        finally:
            connection.close()


@contextmanager
def stand_in(arguments: Mapping[str, object]) -> Iterator[StandIn]:
    """Run the stand-in until everything is encoded.

    Args:
        arguments: Of ``python -m benchmarks.api_server``, without the dashes.

    Raises:
        ServerFailed: It ended instead.
    """
    command = [sys.executable, "-m", "benchmarks.api_server"]
    for name, value in arguments.items():
        command += [f"--{name}", str(value)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            port = process.stdout.readline().strip() if process.stdout else b""
            if not port:
                raise ServerFailed("the stand-in for an API server ended")
            yield StandIn(int(port))
        finally:
            _end(process)


@dataclass(frozen=True, slots=True)
class Memory:
    """What a process has in memory, MiB.

    Attributes:
        resident: Now.
        peak: At most, so far.
    """

    resident: float
    peak: float

    @classmethod
    def of(cls, process_id: int) -> "Memory":
        """Read it from the system's books."""
        fields = {}
        for line in Path(f"/proc/{process_id}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            fields[name] = value
        resident, peak = (
            int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")
        )
        return cls(resident, peak)


def processor_seconds(process_id: int) -> float:
    """Read how long a process has kept a processor busy."""
    text = Path(f"/proc/{process_id}/stat").read_text()
    # The name before it may hold anything, also blanks and brackets.
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


@contextmanager
def extender_on(api: StandIn) -> Iterator[Server]:
    """Run ``gpu-extender serve --kubeconfig`` until it has listed all that there is.

    Raises:
        ServerFailed: It ended, or was not ready in time; a note has what it printed.
    """
    with (
        tempfile.TemporaryDirectory(prefix="benchmark-") as folder,
        tempfile.TemporaryFile() as output,
    ):
        port = _free_port()
        command = [
            str(Path(sys.executable).with_name("gpu-extender")),
            "serve",
            "--kubeconfig",
            str(_write_kubeconfig(Path(folder), api)),
            "--listen",
            f"{LOOPBACK}:{port}",
        ]
        # A proxy of this machine must not come between it and loopback.
        environment = os.environ | {"no_proxy": LOOPBACK}
        started = time.monotonic()
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
        ) as process:
            try:
                _wait_until_ready(process, port, started)
                yield Server(port, process, time.monotonic() - started)
            except Exception as error:
                error.add_note(f"gpu-extender printed: {_last_printed(output)}")
                raise
            finally:
                _end(process)


def _write_kubeconfig(folder: Path, api: StandIn) -> Path:
    """Write a kubeconfig, which may be JSON."""
    named = {"name": "stand-in"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "stand-in",
        "clusters": [
            named | {"cluster": {"server": f"http://{LOOPBACK}:{api.port}"}},
        ],
        "users": [named | {"user": {}}],
        "contexts": [named | {"context": {"cluster": "stand-in", "user": "stand-in"}}],
    }
    path = folder / "kubeconfig"
    path.write_bytes(orjson.dumps(config))
    return path


def _wait_until_ready(
    process: subprocess.Popen[bytes], port: int, started: float
) -> None:
    while time.monotonic() - started < _READY_WITHIN_SECONDS:
        if process.poll() is not None:
            raise ServerFailed(
                f"gpu-extender ended with exit code {process.returncode}"
            )
        if _is_ready(port):
            return
        time.sleep(_ASK_EVERY_SECONDS)
    raise ServerFailed(f"not ready within {_READY_WITHIN_SECONDS:.0f} s")


def _is_ready(port: int) -> bool:
    connection = HTTPConnection(LOOPBACK, port, timeout=_READY_WITHIN_SECONDS)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _last_printed(output: IO[bytes]) -> str:
    output.seek(0)
    printed = output.read().decode(errors="replace").strip()
    return printed[-_SHOWN_CHARACTERS:] or "nothing"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_ENDED_WITHIN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with create_server((LOOPBACK, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
