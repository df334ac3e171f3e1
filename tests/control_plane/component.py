"""One program of the control plane: started, asked whether it is ready, ended."""

import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
_LEASH: Final = Path(__file__).with_name("leash.py")
_STOP_SECONDS: Final = 10.0
"""On top of its grace: the leash needs a moment on a busy machine."""

_POLL_SECONDS: Final = 0.05
_PORTS: Final = range(20_000, 32_000)
"""Below what Linux gives to outgoing connections, which would take a port back."""


_given: Final = set[int]()
"""A port is given once, since a program may bind it only a while later."""


class ComponentError(Exception):
    """A program ended, or was not ready in time; the message has its last lines."""


class Component:
    """A program on a leash, with its output in a file.

    `start` and `stop` may be called again and again; the output is appended.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        folder: Path,
        *,
        grace_seconds: float = 5.0,
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = [str(word) for word in command]
        self._grace_seconds = grace_seconds
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        """Whether the program was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def died(self) -> bool:
        """Whether the program was started and has ended, and nobody asked it to."""
        process = self._process
        return process is not None and process.poll() is not None

    def start(self) -> None:
        """Start the program; it may need a while until it is ready."""
        leash = [sys.executable, "-I", "-S", str(_LEASH), str(self._grace_seconds)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*leash, *self._command],
                cwd=self.log.parent,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def stop(self) -> None:
        """End the program, by force once its grace is over; ended already is fine."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        process.wait(timeout=self._grace_seconds + _STOP_SECONDS)

    def wait_until(self, is_ready: Callable[[], bool], *, seconds: float) -> None:
        """Wait for the program to be ready.

        Raises:
            ComponentError: It ended, or the time is up.
        """
        deadline = time.monotonic() + seconds
        while not is_ready():
            if not self.runs:
                raise ComponentError(f"{self.name} ended:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise ComponentError(
                    f"{self.name} is not ready after {seconds:.0f} s:\n{self.tail()}"
                )
            time.sleep(_POLL_SECONDS)

    def tail(self) -> str:
        """Give the last lines of its output."""
        return tail(self.log)


def tail(log: Path, *, lines: int = 20, since: int = 0) -> str:
    """Give the last lines of a log, of those after byte `since`."""
    if not log.exists():
        return ""
    with log.open("rb") as output:
        # A log may have grown to many MiB; its end is what is wanted.
        output.seek(max(since, log.stat().st_size - 64 * 1024))
        text = output.read().decode(errors="replace")
    return "\n".join(text.splitlines()[-lines:])


def free_port() -> int:
    """Find a port of loopback that nobody listens on."""
    candidates = [port for port in _PORTS if port not in _given]
    for port in random.sample(candidates, k=100):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            _given.add(port)
            return port
    raise ComponentError(f"no free port among 100 of {_PORTS}")
