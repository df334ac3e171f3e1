"""The extender as a process: it starts, is killed, and starts again where it was."""

from tests.builders import node, pod
from tests.control_plane.client import Api
from tests.control_plane.cluster import clustered
from tests.control_plane.extender import gpu_extender
from tests.control_plane.plane import ControlPlane
from tests.control_plane.scheduler import kube_scheduler


async def test_killed_extender_starts_again(
    control_plane: ControlPlane, api: Api
) -> None:
    """On the same address, and what was placed before counts as before."""
    async with (
        gpu_extender(control_plane) as extender,
        kube_scheduler(control_plane, extender.url),
        clustered(api) as cluster,
    ):
        await cluster.add(node("n1").gpu("GPU-a", memory=24_000))
        both = pod("p").sidecar("s", gpu=1, gpumem=10_000)
        await cluster.place(both.app("a", gpu=1, gpumem=10_000))
        await extender.kill()
        assert not extender.component.runs
        assert not extender.listens()
        await extender.start()
        await cluster.exactly_left(4_000)
    log = extender.component.log.read_text()
    assert log.count("serving on") == 2
