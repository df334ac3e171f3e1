"""Start the servers that are measured, and end them whatever happens."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from socket import create_server
from typing import IO, Final

from benchmarks.books import Memory

LOOPBACK: Final = "127.0.0.1"
READY_WITHIN_SECONDS: Final = 300.0
_ENDED_WITHIN_SECONDS: Final = 15.0
_ASK_EVERY_SECONDS: Final = 0.02
_SHOWN_CHARACTERS: Final = 4_000


class ServerFailed(Exception):
    """A server did not become ready; a note has what it printed."""


@dataclass(frozen=True, slots=True)
class Server:
    """One running server.

    Attributes:
        port: On loopback.
        process: The server itself, not a shell around it.
        ready_seconds: From its start to the first 200 of ``GET /readyz``.
    """

    port: int
    process: subprocess.Popen[bytes]
    ready_seconds: float

    def resident_mib(self) -> float | None:
        """Read its resident memory; None where the system does not show it."""
        try:
            return Memory.of(self.process.pid).resident
        except OSError:
            return None


@contextmanager
def extender(cluster: Path) -> Iterator[Server]:
    """Run ``gpu-extender serve`` on a cluster's dump."""
    with serving("--cluster", str(cluster)) as server:
        yield server


@contextmanager
def serving(*arguments: str) -> Iterator[Server]:
    """Run ``gpu-extender serve`` until it is ready.

    Raises:
        ServerFailed: It ended, or was not ready in time; a note has what it printed.
    """
    command = [str(Path(sys.executable).with_name("gpu-extender")), "serve"]
    port = _free_port()
    command += [*arguments, "--listen", f"{LOOPBACK}:{port}"]
    with _running("gpu-extender", command, port) as server:
        yield server


@contextmanager
def echo() -> Iterator[Server]:
    """Run the server that decides nothing."""
    port = _free_port()
    command = [sys.executable, "-m", "benchmarks.echo"]
    command += ["--listen", f"{LOOPBACK}:{port}"]
    with _running("echo", command, port) as server:
        yield server


@contextmanager
def _running(name: str, command: list[str], port: int) -> Iterator[Server]:
    with tempfile.TemporaryFile() as output:
        started = time.monotonic()
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # A proxy of this machine must not come between it and loopback.
                env=os.environ | {"no_proxy": LOOPBACK},
            )
        except OSError as error:
            message = f"{name} cannot be started: {error.strerror}; run `make setup`"
            raise ServerFailed(message) from error
        try:
            _wait_until_ready(name, process, port, started)
            yield Server(port, process, time.monotonic() - started)
        except Exception as error:
            error.add_note(f"{name} printed: {_last_printed(output)}")
            raise
        finally:
            end(process)


def _wait_until_ready(
    name: str, process: subprocess.Popen[bytes], port: int, started: float
) -> None:
    """Wait for the first 200 of ``GET /readyz``."""
    while time.monotonic() - started < READY_WITHIN_SECONDS:
        if process.poll() is not None:
            code = process.returncode
            raise ServerFailed(
                f"{name} ended with exit code {code} before it was ready"
            )
        if _is_ready(port):
            return
        time.sleep(_ASK_EVERY_SECONDS)
    raise ServerFailed(f"{name} was not ready within {READY_WITHIN_SECONDS:.0f} s")


def _is_ready(port: int) -> bool:
    connection = HTTPConnection(LOOPBACK, port, timeout=5.0)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _last_printed(output: IO[bytes]) -> str:
    output.seek(0)
    printed = output.read().decode(errors="replace").strip()
    return printed[-_SHOWN_CHARACTERS:] or "nothing"


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process, by force where it takes too long."""
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
