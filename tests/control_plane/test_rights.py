"""The extender serves with the rights that it needs, and no others."""

from tests.builders import node, pod, resource_quota
from tests.control_plane.client import Api
from tests.control_plane.cluster import clustered
from tests.control_plane.extender import gpu_extender
from tests.control_plane.plane import ControlPlane, User
from tests.control_plane.quotas import LIMIT, create_quota
from tests.control_plane.rights import RIGHTS, extender_may
from tests.control_plane.scheduler import kube_scheduler


async def test_pod_is_placed_with_few_rights(
    control_plane: ControlPlane, api: Api
) -> None:
    """Nodes and pods are read and patched, Bindings created; nothing is forbidden."""
    async with (
        extender_may(RIGHTS, api),
        gpu_extender(control_plane, user=User.EXTENDER) as extender,
        kube_scheduler(control_plane, extender.url),
        clustered(api) as cluster,
    ):
        await cluster.add(node("n1").gpu("GPU-a"))
        await create_quota(api, resource_quota("q", hard={LIMIT: 2_000}))
        asking = pod("p").sidecar("s", gpu=1, gpumem=1000).app("a", gpu=1, gpumem=1000)
        await cluster.place(asking)
    assert "forbidden" not in extender.component.log.read_text()
