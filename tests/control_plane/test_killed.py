"""The extender is killed at every request of a bind, and comes back.

What was on its way arrives, or arrives late, or does not. Either way its pod ends up
bound and charged once, or unbound and charged nothing, and the node takes the next.
"""

import asyncio
from collections.abc import AsyncIterator
from enum import StrEnum
from http import HTTPStatus
from typing import Final

import pytest
import pytest_asyncio

from extender.settings import BindSettings
from tests.builders import Json, pod
from tests.control_plane.caller import NO_MEMORY
from tests.control_plane.client import node_path, path_of
from tests.control_plane.cluster import Cluster
from tests.control_plane.plane import ControlPlane
from tests.control_plane.plugin import LOCK
from tests.control_plane.proxy import Held
from tests.control_plane.steps import ASKED, CARD, STEPS, Late, Step
from tests.control_plane.trial import ProcessTrial, on_trial

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHORT: Final = BindSettings(lock_wait_seconds=1, longest_bind_seconds=5)
"""For a node that waits for a pod of which nothing is heard: 20 and 60 s by default."""


class Fate(StrEnum):
    """What becomes of the request at which the extender is killed."""

    LOST = "lost"
    """It never arrives."""

    DONE = "done"
    """It was carried out before, and only the answer is missing."""

    LATE = "late"
    """It arrives while nobody is there."""

    LAST = "last"
    """It arrives after the extender is back and has done everything anew."""


FATES: Final = [
    (name, fate)
    for name, step in STEPS.items()
    for fate in (Fate if step.method != "GET" else [Fate.LOST])
]


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


async def kill_at(trial: ProcessTrial, step: Step, fate: Fate, created: Json) -> Late:
    """Bind a pod, kill the extender at one request, and start it again.

    Returns:
        What keeps the request; of fate `LAST` it is still to be released.
    """
    kept = Late(is_carried_out=fate is Fate.DONE)
    with step.fault(trial, kept) as planted:
        binding = asyncio.ensure_future(trial.caller.bind(created, "n1"))
        await kept.reached.wait()
        await trial.extender.kill()
        assert (await binding).startswith("no answer")
        assert planted.met
    if fate is Fate.LATE:
        kept.release()
        assert await kept.outcome < HTTPStatus.BAD_REQUEST
    await trial.extender.start()
    return kept


async def next_pod(trial: ProcessTrial, name: str, mib: int) -> Json:
    """Create another pod."""
    asking = pod(name).app("a", gpu=1, gpumem=mib)
    return await trial.api.create_pod(asking.build())


@pytest.mark.parametrize(("name", "fate"), FATES)
async def test_killed_at(
    trial: ProcessTrial, cluster: Cluster, name: str, fate: Fate
) -> None:
    """kube-scheduler tries again, and the pod is bound at once."""
    created = await STEPS[name].prepare(trial, cluster)
    kept = await kill_at(trial, STEPS[name], fate, created)
    assert await trial.caller.bind_again(created, "n1") == 0
    if fate is Fate.LAST:
        kept.release()
        assert await kept.outcome == HTTPStatus.CONFLICT
    assert await trial.is_bound_once(created, cluster) == "n1"
    await trial.caller.has_left("n1", CARD - ASKED)


LEFT_LOCKED: Final = [
    ("lock-write", Fate.DONE),
    ("lock-write", Fate.LATE),
    ("binding", Fate.LOST),
    ("release-write", Fate.LOST),
]


@pytest.mark.parametrize(("name", "fate"), LEFT_LOCKED)
async def test_killed_and_the_pod_is_deleted(
    trial: ProcessTrial, cluster: Cluster, name: str, fate: Fate
) -> None:
    """The lock that was left protects nobody: the next pod gets the whole card."""
    created = await STEPS[name].prepare(trial, cluster)
    await kill_at(trial, STEPS[name], fate, created)
    locked = await trial.api.get(node_path("n1"))
    assert locked["metadata"]["annotations"][LOCK].endswith(",default,p")
    await trial.api.delete(path_of(created))
    following = await next_pod(trial, "q", CARD)
    await trial.caller.knows(nodes=1, pods=1)
    assert await trial.caller.bind_again(following, "n1") == 0
    assert await trial.is_bound_once(following, cluster) == "n1"


async def test_binding_on_its_way_keeps_the_node(
    trial: ProcessTrial, cluster: Cluster
) -> None:
    """The next pod waits, does not take the lock, and does not fit afterwards."""
    created = await STEPS["binding"].prepare(trial, cluster)
    kept = await kill_at(trial, STEPS["binding"], Fate.LAST, created)
    following = await next_pod(trial, "q", CARD - ASKED + 1)
    assert (await trial.caller.filter(following, ["n1"]))["NodeNames"] == ["n1"]
    owner_read = Held()
    with trial.proxy.fault(lambda _, path: path == path_of(created), owner_read):
        waiting = asyncio.ensure_future(trial.caller.bind(following, "n1"))
        await owner_read.reached.wait()
        owner_read.release()
    kept.release()
    assert await kept.outcome == HTTPStatus.CREATED
    assert await waiting == f"no longer fits: {NO_MEMORY}"
    assert await trial.is_bound_once(created, cluster) == "n1"
    await trial.caller.has_left("n1", CARD - ASKED)


async def test_node_of_a_bind_that_is_never_tried_again(
    shared_control_plane: ControlPlane,
) -> None:
    """It takes other pods once the lock has stood for longer than any bind lasts."""
    async with on_trial(shared_control_plane, SHORT) as trial, trial.cluster() as empty:
        created = await STEPS["binding"].prepare(trial, empty)
        await kill_at(trial, STEPS["binding"], Fate.LOST, created)
        following = await next_pod(trial, "q", CARD - ASKED)
        said = await trial.caller.bind(following, "n1")
        assert said == "node n1 is locked: pod default/p is being bound"
        await trial.caller.bind_again(following, "n1")
        assert await trial.is_bound_once(following, empty) == "n1"
        assert await trial.caller.bind_again(created, "n1") == 0
        assert await trial.is_bound_once(created, empty) == "n1"
        await trial.caller.has_left("n1", 0)
