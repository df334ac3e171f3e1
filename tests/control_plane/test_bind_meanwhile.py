"""What a bind is about goes away while the bind is on its way."""

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Final

import pytest
import pytest_asyncio

from tests.builders import node, pod
from tests.control_plane.client import path_of
from tests.control_plane.cluster import Cluster
from tests.control_plane.plane import ControlPlane
from tests.control_plane.plugin import LOCK
from tests.control_plane.proxy import Held
from tests.control_plane.steps import ASKED, CARD, NODE, POD, STEPS, Late
from tests.control_plane.trial import ProcessTrial, on_trial

pytestmark = pytest.mark.asyncio(loop_scope="module")

ANOTHER: Final = pod("p").app("a", gpu=1, gpumem=1_000)
"""Of the same name as the pod that is bound."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def trial(shared_control_plane: ControlPlane) -> AsyncIterator[ProcessTrial]:
    """Run an extender behind a proxy for all tests of this file."""
    async with on_trial(shared_control_plane) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def cluster(trial: ProcessTrial) -> AsyncIterator[Cluster]:
    """Give an empty cluster to a test."""
    async with trial.cluster() as empty:
        yield empty


async def nothing_stays(trial: ProcessTrial, cluster: Cluster) -> None:
    """Hold that n1 has no lock and all its room, by placing a pod there."""
    shown = await trial.api.get(NODE)
    assert LOCK not in shown["metadata"]["annotations"]
    await trial.caller.is_clean()
    await trial.caller.has_left("n1", CARD)
    asking = pod("next").app("a", gpu=1, gpumem=CARD)
    created = await trial.api.create_pod(asking.build())
    assert await trial.caller.bind_again(created, "n1") == 0
    assert await trial.is_bound_once(created, cluster) == "n1"


@pytest.mark.parametrize("is_made_again", [False, True])
@pytest.mark.parametrize("name", ["list", "lock-write", "binding"])
async def test_pod_is_deleted(
    trial: ProcessTrial, cluster: Cluster, name: str, *, is_made_again: bool
) -> None:
    """Its lock and place are given back, and one of the same name gets neither."""
    created = await STEPS[name].prepare(trial, cluster)
    held = Held()
    with STEPS[name].fault(trial, held):
        binding = asyncio.ensure_future(trial.caller.bind(created, "n1"))
        await held.reached.wait()
        await trial.api.delete(path_of(created))
        if is_made_again:
            await trial.api.create_pod(ANOTHER.build())
        held.release()
        assert await binding
    if is_made_again:
        shown = await trial.api.get(POD)
        assert "nodeName" not in shown["spec"]
        assert shown["metadata"].get("annotations", {}) == {}
    await nothing_stays(trial, cluster)


async def test_pod_is_being_deleted(trial: ProcessTrial, cluster: Cluster) -> None:
    """A finalizer keeps it, the API server refuses the Binding, and nothing stays."""
    created = await STEPS["binding"].prepare(trial, cluster)
    finalizers = {"metadata": {"finalizers": ["example.com/keep"]}}
    await trial.api.patch(POD, finalizers)
    held = Held()
    with STEPS["binding"].fault(trial, held):
        binding = asyncio.ensure_future(trial.caller.bind(created, "n1"))
        await held.reached.wait()
        await trial.api.delete(path_of(created))
        held.release()
        assert "409" in await binding
    assert "nodeName" not in (await trial.api.get(POD))["spec"]
    await nothing_stays(trial, cluster)
    await trial.api.patch(POD, {"metadata": {"finalizers": None}})


@pytest.mark.parametrize("name", ["lock-read", "lock-write", "list"])
async def test_node_is_deleted(
    trial: ProcessTrial, cluster: Cluster, name: str
) -> None:
    """The bind is refused, and another node takes the pod."""
    created = await STEPS[name].prepare(trial, cluster)
    await cluster.add(node("n2").gpu("GPU-b", memory=CARD))
    await trial.caller.knows(nodes=2, pods=1)
    held = Held()
    with STEPS[name].fault(trial, held):
        binding = asyncio.ensure_future(trial.caller.bind(created, "n1"))
        await held.reached.wait()
        cluster.kubelets.pop("n1")
        await trial.api.delete(NODE)
        await trial.caller.knows(nodes=1, pods=1)
        held.release()
        assert await binding
    assert await trial.caller.bind_again(created, "n2") == 0
    assert await trial.is_bound_once(created, cluster) == "n2"
    await trial.caller.has_left("n2", CARD - ASKED)


async def test_node_is_made_again(trial: ProcessTrial, cluster: Cluster) -> None:
    """Between look and write: the lock is written to the new one."""
    created = await STEPS["lock-write"].prepare(trial, cluster)
    late = Late()
    with STEPS["lock-write"].fault(trial, late):
        binding = asyncio.ensure_future(trial.caller.bind(created, "n1"))
        await late.reached.wait()
        await trial.api.delete(NODE)
        await trial.api.create_node(node("n1").gpu("GPU-a", memory=CARD).build())
        late.release()
        assert await late.outcome == HTTPStatus.CONFLICT
        assert await binding == ""
    assert await trial.is_bound_once(created, cluster) == "n1"
    await trial.caller.has_left("n1", CARD - ASKED)


async def test_node_is_made_again_under_a_binding(trial: ProcessTrial) -> None:
    """The API server binds to any name; the charge is there when the node comes back.

    The lock went with the node, so nobody is bound there before the pod is served.
    """
    async with trial.emptied():
        await trial.api.create_node(node("n1").gpu("GPU-a", memory=CARD).build())
        asking = pod("p").app("a", gpu=1, gpumem=ASKED)
        created = await trial.api.create_pod(asking.build())
        await trial.caller.knows(nodes=1, pods=1)
        late = Late()
        with STEPS["binding"].fault(trial, late):
            binding = asyncio.ensure_future(trial.caller.bind(created, "n1"))
            await late.reached.wait()
            await trial.api.delete(NODE)
            await trial.caller.knows(nodes=0, pods=1)
            late.release()
            assert await late.outcome == HTTPStatus.CREATED
            assert await binding == ""
        await trial.caller.is_clean()
        await trial.api.create_node(node("n1").gpu("GPU-a", memory=CARD).build())
        await trial.caller.knows(nodes=1, pods=1)
        await trial.caller.is_clean()
        await trial.caller.has_left("n1", CARD - ASKED)
