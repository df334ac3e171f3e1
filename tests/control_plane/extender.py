"""The GPU extender as a process of its own, beside a control plane."""

import asyncio
import http.client
import os
import signal
import socket
import ssl
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from tests.control_plane.component import HOST, Component, ComponentError, free_port
from tests.control_plane.plane import ControlPlane, User

_READY_SECONDS: Final = 60.0
_KILL_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.01


class ExtenderProcess(Component):
    """`extender serve` on a leash."""

    def kill(self) -> None:
        """End it in the middle of whatever it does, as SIGKILL or a lost node would."""
        process, self._process = self._process, None
        if process is None:
            return
        # The leash leads the group, and would end the program gently.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def pause(self) -> None:
        """Let it stand still, as SIGSTOP or a machine that is suspended would."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it run again, as if no time had passed."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, number)


class GpuExtender:
    """An extender that serves on one address, also after it was killed and started."""

    def __init__(
        self,
        folder: Path,
        kubeconfig: Path,
        options: Sequence[str] = (),
        tls: ssl.SSLContext | None = None,
        health_port: int | None = None,
    ) -> None:
        """Prepare one.

        Args:
            folder: For its log.
            kubeconfig: The way to the cluster.
            options: Further ones of ``serve``.
            tls: How to ask whether it is ready, where the options say that it serves
                TLS.
            health_port: Where to ask that, where the options have ``--metrics-listen``.
        """
        self._port = free_port()
        self._health_port = health_port
        self._tls = tls
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://{HOST}:{self._port}"
        command: list[str | Path] = [
            # A proxy of this machine must not come between it and loopback.
            *("env", f"no_proxy={HOST}"),
            *(sys.executable, "-m", "extender", "serve"),
            *("--kubeconfig", kubeconfig),
            *("--listen", f"{HOST}:{self._port}"),
            *("--lease-namespace", "gpu-extender"),
            *options,
        ]
        self.component = ExtenderProcess("extender", command, folder)

    async def start(self) -> None:
        """Start it, and wait until it has listed nodes and pods.

        Raises:
            ComponentError: It ended, or is not ready in time.
        """
        self.component.start()
        await asyncio.to_thread(
            self.component.wait_until, self._is_ready, seconds=_READY_SECONDS
        )

    async def stop(self) -> None:
        """End it as a rollout does: open requests are answered first."""
        await asyncio.to_thread(self.component.stop)

    async def kill(self) -> None:
        """End it with SIGKILL; `start` brings it back on the same address."""
        await asyncio.to_thread(self._kill)

    def listens(self) -> bool:
        """Tell whether its address takes connections."""
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self._port)) == 0

    def _kill(self) -> None:
        self.component.kill()
        # It dies a moment after its leash, for which alone can be waited.
        deadline = time.monotonic() + _KILL_SECONDS
        while self.listens():
            if time.monotonic() > deadline:
                raise ComponentError("the extender outlived SIGKILL")
            time.sleep(_POLL_SECONDS)

    def _is_ready(self) -> bool:
        port = self._health_port or self._port
        connection = (
            http.client.HTTPConnection(HOST, port, timeout=5)
            if self._tls is None
            else http.client.HTTPSConnection(HOST, port, timeout=5, context=self._tls)
        )
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


@asynccontextmanager
async def gpu_extender(
    plane: ControlPlane,
    *,
    user: User = User.EXTENDER,
    kubeconfig: Path | None = None,
    options: Sequence[str] = (),
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[GpuExtender]:
    """Run the extender, ready to serve.

    Args:
        plane: Which cluster it serves; its folder keeps the log.
        user: As whom.
        kubeconfig: Another way to the cluster than the user's own.
        options: Further ones of ``serve``.
        tls: How to ask whether it is ready, where the options say that it serves TLS.
    """
    folder = Path(mkdtemp(dir=plane.folder, prefix="extender-"))
    extender = GpuExtender(folder, kubeconfig or plane.kubeconfig(user), options, tls)
    try:
        await extender.start()
        yield extender
    finally:
        await extender.stop()
