"""The extender as a process, with waits that ``extender serve`` has no flags for.

Everything else is as `extender serve --kubeconfig` has it. A test that would have to
wait for a minute runs this one instead.
"""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from extender.runtime import serve_kube
from extender.service import Extender
from extender.settings import (
    BindSettings,
    HttpSettings,
    KubeSettings,
    QuotaSettings,
    Settings,
)
from tests.control_plane.component import HOST, free_port
from tests.control_plane.extender import ExtenderProcess, GpuExtender
from tests.control_plane.plane import ControlPlane

_BIND: Final = BindSettings()
_QUOTA: Final = QuotaSettings()
_KUBE: Final = KubeSettings()


class TunedExtender(GpuExtender):
    """An extender with settings of its own, on one address also when it comes back."""

    def __init__(
        self,
        folder: Path,
        kubeconfig: Path,
        bind: BindSettings,
        quota: QuotaSettings,
        kube: KubeSettings,
    ) -> None:
        super().__init__(folder, kubeconfig)
        self._port = free_port()
        self.url = f"http://{HOST}:{self._port}"
        command: list[str | Path] = [
            *("env", f"no_proxy={HOST}", f"PYTHONPATH={Path(__file__).parents[2]}"),
            *(sys.executable, "-m", __name__, kubeconfig, str(self._port)),
            *(json.dumps(asdict(each)) for each in (bind, quota, kube)),
        ]
        self.component = ExtenderProcess("extender", command, folder)


@asynccontextmanager
async def tuned_extender(
    plane: ControlPlane,
    kubeconfig: Path,
    settings: BindSettings = _BIND,
    *,
    quota: QuotaSettings = _QUOTA,
    kube: KubeSettings = _KUBE,
) -> AsyncIterator[TunedExtender]:
    """Run an extender with settings of its own, ready to serve.

    Args:
        plane: Its folder keeps the log.
        kubeconfig: The way to it, such as through a proxy.
        settings: How long a bind waits.
        quota: How long leases last.
        kube: How long answers are waited for.
    """
    folder = Path(mkdtemp(dir=plane.folder, prefix="extender-"))
    extender = TunedExtender(folder, kubeconfig, settings, quota, kube)
    try:
        await extender.start()
        yield extender
    finally:
        await extender.stop()


def main() -> None:
    """Serve until SIGTERM."""
    kubeconfig, port, bind, quota, kube = sys.argv[1:]
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    tuned = Settings(
        http=HttpSettings(host=HOST, port=int(port)),
        bind=BindSettings(**json.loads(bind)),
        quota=QuotaSettings(**json.loads(quota)),
        kube=KubeSettings(**json.loads(kube)),
    )
    asyncio.run(serve_kube(Path(kubeconfig), tuned, print, _ignore))


def _ignore(_: Extender) -> None:
    """Have nothing to tell."""


if __name__ == "__main__":
    main()
