"""kube-scheduler and the extender know each other by certificates."""

import asyncio
import ssl
from pathlib import Path
from typing import Final

import pytest

from tests.builders import node, pod
from tests.certificates import Authority
from tests.control_plane.client import Api, path_of
from tests.control_plane.cluster import clustered
from tests.control_plane.extender import gpu_extender
from tests.control_plane.plane import ControlPlane
from tests.control_plane.scheduler import ClientTls, kube_scheduler

NAME: Final = "system:kube-scheduler"
PATIENCE_SECONDS: Final = 60.0


class Sides:
    """The certificates of both sides, and of somebody who is neither."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder, "authority")
        self.own = self.authority.server()
        self.known = self._client(NAME)
        self.other = self._client("prometheus")
        self.probe = ssl.create_default_context(cafile=self.authority.cert_file)

    def options(self) -> list[str]:
        """Give the flags of ``serve``."""
        return [
            *("--tls-cert", str(self.own.cert_file)),
            *("--tls-key", str(self.own.key_file)),
            *("--client-ca", str(self.authority.cert_file)),
            *("--client-name", NAME),
        ]

    def _client(self, name: str) -> ClientTls:
        pair = self.authority.client(name)
        return ClientTls(self.authority.cert_file, pair.cert_file, pair.key_file)


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    """Sign for both sides."""
    return Sides(tmp_path)


async def test_kube_scheduler_is_known_by_its_certificate(
    control_plane: ControlPlane, api: Api, sides: Sides
) -> None:
    """A pod is filtered, scored and bound over mutual TLS, also after a rotation."""
    async with (
        gpu_extender(
            control_plane, options=sides.options(), tls=sides.probe
        ) as extender,
        kube_scheduler(control_plane, extender.url, tls=sides.known),
        clustered(api) as cluster,
    ):
        for name in ("n1", "n2"):
            await cluster.add(node(name).gpu(f"GPU-{name}", memory=24_000))
        await cluster.place(pod("before").app("a", gpu=1, gpumem=10_000))
        sides.own.write(sides.authority.sign())
        await cluster.place(pod("after").app("a", gpu=1, gpumem=10_000))
    assert "Traceback" not in extender.component.log.read_text()


async def test_kube_scheduler_of_another_name_is_refused(
    control_plane: ControlPlane, api: Api, sides: Sides
) -> None:
    """Nothing is placed, and the log says which name came."""
    async with (
        gpu_extender(
            control_plane, options=sides.options(), tls=sides.probe
        ) as extender,
        kube_scheduler(control_plane, extender.url, tls=sides.other) as scheduler,
        clustered(api) as cluster,
    ):
        await cluster.add(node("n1").gpu("GPU-n1", memory=24_000))
        waiting = await cluster.submit(pod("p").app("a", gpu=1, gpumem=10_000))

        def is_refused() -> bool:
            return "code 403" in scheduler.log.read_text()

        await asyncio.to_thread(
            scheduler.wait_until, is_refused, seconds=PATIENCE_SECONDS
        )
        shown = await api.get(path_of(waiting))
        assert "nodeName" not in shown["spec"]
    assert "is for 'prometheus'" in extender.component.log.read_text()
