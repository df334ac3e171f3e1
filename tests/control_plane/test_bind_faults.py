"""Every request of a bind fails in every way, and then the pod is bound once.

The extender's requests pass a proxy that breaks one of them, while the test does
kube-scheduler's part: what was refused is tried again. Afterwards the pod is served and
charged once, and nothing of ours stays behind.
"""

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Final

import pytest
import pytest_asyncio

from tests.builders import node, pod
from tests.control_plane.client import node_path, pod_path
from tests.control_plane.cluster import Cluster
from tests.control_plane.plane import ControlPlane
from tests.control_plane.proxy import (
    PODS,
    Fault,
    answer_lost,
    dropped,
    refused,
)
from tests.control_plane.steps import ASKED, BINDING, CARD, NODE, STEPS, Late
from tests.control_plane.trial import Trial, on_trial

pytestmark = pytest.mark.asyncio(loop_scope="module")

REPEATED: Final = ("dropped", "lost")
"""aiohttp repeats a GET whose connection breaks, so these must meet it twice."""

FAULTS: Final[dict[str, Fault]] = {
    **{str(status): refused(status) for status in (500, 503, 429, 409, 403)},
    "dropped": dropped,
    "lost": answer_lost,
}
OPEN: Final = {
    *(("binding", fault) for fault in ("500", "503", "dropped")),
    *(("read-back", fault) for fault in FAULTS),
}
"""Where nobody knows whether the pod is bound until its Binding is settled, which by
default is after 60 s."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def trial(shared_control_plane: ControlPlane) -> AsyncIterator[Trial]:
    """Run an extender behind a proxy for all tests of this file."""
    async with on_trial(shared_control_plane) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def cluster(trial: Trial) -> AsyncIterator[Cluster]:
    """Give an empty cluster to a test."""
    async with trial.cluster() as empty:
        yield empty


async def test_requests_of_a_bind(trial: Trial, cluster: Cluster) -> None:
    """They are those that the tests below break, and two of them are writes."""
    created = await STEPS["list"].prepare(trial, cluster)
    before = len(trial.proxy.asked)
    assert await trial.caller.bind(created, "n1") == ""
    assert trial.proxy.asked[before:] == [
        ("PATCH", NODE),
        ("GET", PODS),
        ("POST", BINDING),
    ]
    known = [(step.method, step.path) for step in STEPS.values()]
    assert {*trial.proxy.asked[before:]} <= {*known}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("step", STEPS)
async def test_fault(trial: Trial, cluster: Cluster, step: str, fault: str) -> None:
    """The next try binds the pod, unless nobody knows yet if the first one did."""
    created = await STEPS[step].prepare(trial, cluster)
    is_repeated = STEPS[step].method == "GET" and fault in REPEATED
    most = 2 if is_repeated else 1
    with STEPS[step].fault(trial, FAULTS[fault], most=most) as planted:
        said = await trial.caller.bind(created, "n1")
        assert len(planted.met) == most
        refusals = await trial.caller.bind_again(created, "n1") if said else 0
    assert refusals == 0 or (step, fault) in OPEN
    assert await trial.is_bound_once(created, cluster) == "n1"
    await trial.caller.has_left("n1", CARD - ASKED)


async def test_answers_that_do_not_come_in_time(trial: Trial, cluster: Cluster) -> None:
    """A read is given up, a lock written anew, and a Binding that comes late counts."""
    paths = {
        "list": ("GET", PODS),
        "lock": ("PATCH", node_path("lock")),
        "binding": ("POST", f"{pod_path('binding')}/binding"),
    }
    created = {}
    for name in paths:
        await cluster.add(node(name).gpu(f"GPU-{name}", memory=CARD))
        asking = pod(name).app("a", gpu=1, gpumem=ASKED)
        created[name] = await trial.api.create_pod(asking.build())
    await trial.caller.knows(nodes=3, pods=3)

    async def bind_late(name: str) -> tuple[str, int]:
        """Give what the bind said, and what became of the request that was late."""
        late = Late()
        with trial.proxy.fault(
            lambda method, path: (method, path) == paths[name], late, most=1
        ):
            binding = asyncio.ensure_future(trial.caller.bind(created[name], name))
            await late.reached.wait()
            if name == "list":
                # The others list, too.
                listed.set()
            said = await binding
            late.release()
            return said, await late.outcome

    listed = asyncio.Event()
    slow_list = asyncio.ensure_future(bind_late("list"))
    await listed.wait()
    lock, binding = await asyncio.gather(bind_late("lock"), bind_late("binding"))
    assert (await slow_list)[0] == f"GET {PODS}: no answer in time"
    assert lock == ("", HTTPStatus.CONFLICT)
    # Either the late one binds the pod, or one that was sent in its stead.
    said, outcome = binding
    assert outcome == (HTTPStatus.CREATED if said else HTTPStatus.CONFLICT)
    await trial.caller.bind_again(created["list"], "list")
    await trial.caller.bind_again(created["binding"], "binding")
    for name, asked in created.items():
        assert await trial.is_bound_once(asked, cluster) == name
        await trial.caller.has_left(name, CARD - ASKED)
