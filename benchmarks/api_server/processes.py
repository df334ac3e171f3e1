"""The stand-in and an extender on it, each as a process of its own."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import orjson

from benchmarks.api_server.server import EVENTS_PATH
from benchmarks.servers import LOOPBACK, Server, ServerFailed, end, serving


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
            end(process)


@contextmanager
def extender_on(api: StandIn) -> Iterator[Server]:
    """Run ``gpu-extender serve --kubeconfig`` until it has listed all that there is.

    Raises:
        ServerFailed: It ended, or was not ready in time; a note has what it printed.
    """
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        kubeconfig = _write_kubeconfig(Path(folder), api)
        with serving("--kubeconfig", str(kubeconfig)) as server:
            yield server


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
