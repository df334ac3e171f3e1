"""A replica that stands still under a quota, and wakes when its lease is another's."""

import asyncio
from collections.abc import Callable
from typing import Final

import pytest

from extender.settings import KubeSettings, QuotaSettings
from tests.builders import node, pod, resource_quota
from tests.control_plane.caller import calling
from tests.control_plane.client import Api, path_of
from tests.control_plane.cluster import clustered
from tests.control_plane.plane import ControlPlane, User
from tests.control_plane.proxy import Held, proxied
from tests.control_plane.quotas import LIMIT, create_quota
from tests.control_plane.tuned import tuned_extender

pytestmark = pytest.mark.verify

_KUBE: Final = KubeSettings(request_seconds=2.0)
_LEASES: Final = QuotaSettings(
    lease_namespace="gpu-extender", lease_seconds=4.5, send_margin_seconds=2.0
)


def takes_the_lock(method: str, path: str) -> bool:
    """Whether it writes the lock of a node: the lease is held by then."""
    return method == "PATCH" and path.startswith("/api/v1/nodes/")


def lists_the_pods(method: str, path: str) -> bool:
    """Whether it lists the pods of a node, after which the pod is fitted and bound."""
    return method == "GET" and path.startswith("/api/v1/pods") and "watch" not in path


STEPS: Final[dict[str, Callable[[str, str], bool]]] = {
    "before the lock": takes_the_lock,
    "before the list": lists_the_pods,
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
async def test_who_stood_still_binds_nothing_beyond_the_quota(
    control_plane: ControlPlane, api: Api, step: Callable[[str, str], bool]
) -> None:
    """Stopped in the middle of a bind; meanwhile another takes the last room."""
    async with (
        proxied(control_plane) as proxy,
        tuned_extender(
            control_plane, proxy.kubeconfig, quota=_LEASES, kube=_KUBE
        ) as still,
        tuned_extender(
            control_plane,
            control_plane.kubeconfig(User.EXTENDER),
            quota=_LEASES,
            kube=_KUBE,
        ) as other,
        calling(still.url) as stopped,
        calling(other.url) as awake,
        clustered(api) as cluster,
    ):
        for name in ("n1", "n2"):
            await cluster.add(node(name).gpu(f"GPU-{name}"))
        await create_quota(api, resource_quota("q", hard={LIMIT: 10_000}))
        wanted = pod("p").app("a", gpu=1, gpumem=6_000)
        for caller in (stopped, awake):
            await caller.fits(wanted, ["n1", "n2"])
            too_much = pod("x").app("a", gpu=1, gpumem=10_001)
            names = ("n1", "n2")
            await caller.refuses(too_much, dict.fromkeys(names, "ResourceQuotaNotFit"))
        pods = [
            await api.create_pod(pod(name).app("a", gpu=1, gpumem=6_000).build())
            for name in "pq"
        ]
        held = Held(is_carried_out=True)
        with proxy.fault(step, held, most=1):
            bind = asyncio.create_task(stopped.bind(pods[0], "n1"))
            await asyncio.wait_for(held.reached.wait(), 20)
            still.component.pause()
            try:
                held.release()
                assert await awake.bind(pods[1], "n2") == ""
            finally:
                still.component.go_on()
            said = await bind
        shown = [await api.get(path_of(each)) for each in pods]
        assert [each["spec"].get("nodeName") for each in shown] == [None, "n2"]
        assert said != ""
