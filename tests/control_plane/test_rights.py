"""The extender serves with the rights of ``manifests/base/rbac.yaml``, and uses each.

All other tests of this package run it under the same rights.
"""

import asyncio
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

import pytest

from benchmarks.burst.api_calls import CallLog
from extender.observe.pod_events import EventSettings
from tests.builders import node, pod, resource_quota
from tests.control_plane import plane
from tests.control_plane.binaries import Binaries
from tests.control_plane.client import Api, ApiError, node_path, pods_path
from tests.control_plane.cluster import clustered
from tests.control_plane.events import events_of
from tests.control_plane.installing import documents, install
from tests.control_plane.plane import ControlPlane, User
from tests.control_plane.plugin import LOCK
from tests.control_plane.proxy import PODS, proxied
from tests.control_plane.quotas import LIMIT, create_quota
from tests.control_plane.scheduler import kube_scheduler
from tests.control_plane.tuned import tuned_extender

GIB: Final = 1024
LATE: Final = 3.0
LEFT_LOCK: Final = {LOCK: "2026-01-01T00:00:00Z,default,nobody"}
"""Names a pod that is not there, which is found out by reading it."""

WATCHED: Final = ("nodes", "pods", "resourcequotas")

ROLES: Final = {"ClusterRole", "Role"}


def given_rights() -> set[str]:
    """Spell the rights out, as ``patch nodes``."""
    return {
        f"{verb} {resource}"
        for document in documents("base/rbac.yaml")
        if document["kind"] in ROLES
        for rule in document["rules"]
        for verb in rule["verbs"]
        for resource in rule["resources"]
    }


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> CallLog:
    """Give what the API server writes down of the extender's requests."""
    return CallLog(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="module")
def audited(
    control_plane_binaries: Binaries,
    tmp_path_factory: pytest.TempPathFactory,
    log: CallLog,
) -> Iterator[ControlPlane]:
    """Run a control plane whose requests are written down."""
    folder = tmp_path_factory.mktemp("audited")
    with plane.running(control_plane_binaries, folder, log.flags()) as running:
        yield running


async def test_each_right_is_used_and_none_is_missing(
    audited: ControlPlane, log: CallLog
) -> None:
    """A pod is placed past a lock that was left over, and one that waits is woken.

    Both are of a namespace that has a quota.
    """
    await install(audited)
    async with (
        Api.connected(audited) as api,
        proxied(audited) as proxy,
        tuned_extender(
            audited,
            proxy.kubeconfig,
            events=EventSettings(least_seconds=0.5),
        ) as extender,
        kube_scheduler(audited, extender.url),
        clustered(api) as cluster,
    ):
        card = node("n1").gpu("GPU-a", memory=24 * GIB)
        kubelet = await cluster.add(card.annotations(LEFT_LOCK))
        await create_quota(api, resource_quota("q", hard={LIMIT: 24 * GIB}))
        await cluster.place(pod("first").app("a", gpu=1, gpumem=20 * GIB))
        proxy.delay(PODS, LATE)
        asking = pod("waiting").app("a", gpu=1, gpumem=20 * GIB)
        waiting = await cluster.submit(asking)
        await cluster.refused(waiting, times=2)
        await events_of(api, waiting, times=2)
        await kubelet.stage.finish("first")
        await cluster.placed(waiting)
    # A watch is written down once it has ended.
    async with asyncio.timeout(30):
        while True:
            calls = log.calls()
            used = {name.partition(" (")[0] for name in calls}
            if {f"watch {each}" for each in WATCHED} <= used:
                break
            await asyncio.sleep(0.2)
    forbidden = f"({HTTPStatus.FORBIDDEN})"
    assert [name for name in calls if name.endswith(forbidden)] == []
    assert used == given_rights()


async def test_service_account_may_no_more(control_plane: ControlPlane) -> None:
    """Its token names the user that the guards name, who may touch nothing else."""
    account = "/api/v1/namespaces/gpu-extender/serviceaccounts/gpu-extender"
    async with Api.connected(control_plane) as api:
        asked = await api.request("POST", f"{account}/token", body={"spec": {}})
        trust = {"Authorization": f"Bearer {asked['status']['token']}"}
        whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        async with api.session.post(whoami, json={}, headers=trust) as answer:
            shown = await answer.json()
            assert shown["status"]["userInfo"]["username"] == User.EXTENDER
        async with api.session.get("/api/v1/nodes", headers=trust) as answer:
            assert answer.status == HTTPStatus.OK
    async with Api.connected(control_plane, User.EXTENDER) as extender:
        refused = {
            ("GET", "/api/v1/secrets"),
            ("GET", "/api/v1/configmaps"),
            ("POST", pods_path()),
            ("DELETE", f"{pods_path()}/p"),
            ("PATCH", f"{pods_path()}/p/status"),
            ("PATCH", f"{node_path('n1')}/status"),
            ("DELETE", node_path("n1")),
        }
        for method, path in refused:
            with pytest.raises(ApiError) as said:
                await extender.request(method, path, body={})
            assert said.value.status == HTTPStatus.FORBIDDEN, (method, path)
