"""Nodes whose plugin has a lock of its own, on a real API server.

Cambricon's plugin fails where two pods wait for it, and goes down where somebody else
removes the lock while it does so itself. Clocks for waiting are put on where needed.
"""

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Final

import pytest
import pytest_asyncio

from tests.builders import Json, node, pod
from tests.control_plane.client import (
    PLUGIN,
    STRATEGIC,
    Api,
    node_path,
    path_of,
    pod_path,
)
from tests.control_plane.mlu_plugin import ASSIGNED, OWN_LOCK, PROFILE, MluPlugin
from tests.control_plane.plane import ControlPlane
from tests.control_plane.plugin import LOCK, AllocateError
from tests.control_plane.proxy import Held, Matches, refused
from tests.control_plane.steps import Late
from tests.control_plane.trial import TimedTrial, on_timed_trial
from tests.shipped import SHIPPED

pytestmark = pytest.mark.asyncio(loop_scope="module")

BIND_SECONDS: Final = 21.0
"""Longer than a bind waits for a lock."""

LONGEST_SECONDS: Final = 61.0
"""Longer than any bind lasts."""

ADMISSION_SECONDS: Final = 6.0
"""Longer than kubelet may still be at a pod that is gone."""

THEIRS: Final = "2026-01-01T00:00:00Z"
"""As other schedulers write it: a time, and no pod."""

NODE: Final = node_path("n1")
HELD: Final = f"{OWN_LOCK} is held, and no pod there waits for devices"
UNSERVED: Final = {
    "hami.io/cambricon-mlu-devices-allocated": "n1-cambricon-mlu-0,MLU,2048,20:;",
    ASSIGNED: "false",
    PROFILE: "0_20_8",
}


def is_look(method: str, path: str) -> bool:
    """Whether a request reads node n1."""
    return (method, path) == ("GET", NODE)


def mlu_node() -> Json:
    """Describe a node of two cards."""
    shown = node("n1").build()
    amounts = {
        "cambricon.com/vmlu": "200",
        "cambricon.com/mlu.smlu.vcore": "200",
        "cambricon.com/mlu.smlu.vmemory": "192",
    }
    shown["status"] = {"capacity": amounts, "allocatable": amounts}
    return shown


def mlu_pod(name: str) -> Json:
    """Describe a pod that asks for a part of a card."""
    shown = pod(name).app("a").build()
    limits = {
        "cambricon.com/vmlu": "1",
        "cambricon.com/mlu.smlu.vmemory": "8",
        "cambricon.com/mlu.smlu.vcore": "20",
    }
    shown["spec"]["containers"][0]["resources"] = {"limits": limits}
    return shown


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def only(shared_control_plane: ControlPlane) -> AsyncIterator[TimedTrial]:
    """Run an extender behind a proxy for all tests of this file."""
    async with on_timed_trial(shared_control_plane, [SHIPPED["MLU"]]) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def trial(only: TimedTrial) -> AsyncIterator[TimedTrial]:
    """Give the extender to a test, with node n1, and pods p and q that wait."""
    async with only.emptied():
        await only.api.create_node(mlu_node())
        await only.api.create_pod(mlu_pod("p"))
        await only.api.create_pod(mlu_pod("q"))
        await only.caller.knows(nodes=1, pods=2)
        yield only


async def bind(trial: TimedTrial, name: str) -> str:
    """Bind a pod to n1, as kube-scheduler does."""
    return await trial.caller.bind(await trial.api.get(pod_path(name)), "n1")


async def bind_till_the_end(
    trial: TimedTrial, name: str, until: Matches = is_look
) -> str:
    """Bind a pod to n1, with no time left once the lock was read."""
    look = Held()
    with trial.proxy.fault(until, look, most=1):
        binding = asyncio.ensure_future(bind(trial, name))
        await look.reached.wait()
        trial.clock.skipped += BIND_SECONDS
        look.release()
        return await binding


async def locks(api: Api) -> tuple[str | None, str | None]:
    """Read the common lock of n1, and its own."""
    texts = (await api.get(NODE))["metadata"].get("annotations", {})
    return texts.get(LOCK), texts.get(OWN_LOCK)


async def lock(api: Api, value: str | None) -> None:
    """Write the own lock of n1, as other schedulers do."""
    change = {"metadata": {"annotations": {OWN_LOCK: value}}}
    await api.acting_as(PLUGIN).patch(NODE, change)


async def are_free(api: Api) -> None:
    """Wait until n1 has neither lock."""
    await api.when(
        NODE,
        lambda shown: {LOCK, OWN_LOCK}.isdisjoint(
            shown["metadata"].get("annotations", {})
        ),
        wanted="unlocked",
    )


async def runs(api: Api, name: str) -> None:
    """Let a pod run, as kubelet reports it."""
    change = {"status": {"phase": "Running"}}
    await api.patch(f"{pod_path(name)}/status", change, STRATEGIC)


async def test_both_locks_are_taken_and_each_is_given_back(trial: TimedTrial) -> None:
    """Its own by the plugin; the common one by us, or by the next bind."""
    before = len(trial.proxy.asked)
    assert await bind(trial, "p") == ""
    asked = trial.proxy.asked[before:]
    assert [each for each in asked if each[0] != "GET"] == [
        ("PATCH", NODE),
        ("POST", f"{pod_path('p')}/binding"),
    ]
    common, own = await locks(trial.api)
    assert common is not None
    assert common.endswith(",default,p")
    assert own == common.removesuffix(",default,p")
    assert (await MluPlugin(trial.api, "n1").serve())["metadata"]["name"] == "p"
    assert (await locks(trial.api))[1] is None
    assert await bind(trial, "q") == ""
    common, own = await locks(trial.api)
    assert str(common).endswith(",default,q")
    assert own is not None
    assert (await MluPlugin(trial.api, "n1").serve())["metadata"]["name"] == "q"
    await trial.caller.is_clean()
    await asyncio.sleep(1.5)  # a look of the extender's, which begins to count
    trial.clock.skipped += ADMISSION_SECONDS
    await are_free(trial.api)


async def test_second_pod_waits_until_the_first_is_served(trial: TimedTrial) -> None:
    """However long that takes; bind names the first, and filter does later."""
    assert await bind(trial, "p") == ""
    waiting = await trial.api.get(pod_path("q"))
    said = "node n1 is locked: pod default/p waits for its devices"
    assert await bind_till_the_end(trial, "q") == said
    trial.clock.skipped += 24 * LONGEST_SECONDS
    assert await bind_till_the_end(trial, "q") == said
    decision = await trial.caller.filter(waiting, ["n1"])
    assert decision["FailedNodes"] == {"n1": "NodeLocked"}
    await MluPlugin(trial.api, "n1").serve()
    assert await bind(trial, "q") == ""
    await MluPlugin(trial.api, "n1").serve()


async def test_bind_that_waits_goes_on_once_the_first_is_served(
    trial: TimedTrial,
) -> None:
    """The plugin's release wakes it."""
    assert await bind(trial, "p") == ""
    look = Held()
    with trial.proxy.fault(is_look, look, most=1):
        binding = asyncio.ensure_future(bind(trial, "q"))
        await look.reached.wait()
        look.release()
    await asyncio.sleep(0.2)
    assert not binding.done()
    await MluPlugin(trial.api, "n1").serve()
    async with asyncio.timeout(10):
        assert await binding == ""


async def test_two_unserved_pods_fail_the_plugin(trial: TimedTrial) -> None:
    """What the extender keeps from coming to be: the stand-in is that strict."""
    for name in ("p", "q"):
        await trial.api.bind(await trial.api.get(pod_path(name)), "n1", UNSERVED)
    with pytest.raises(AllocateError, match="2 pods wait"):
        await MluPlugin(trial.api, "n1").serve()


async def test_lock_of_another_scheduler_is_kept_for_a_minute(
    trial: TimedTrial,
) -> None:
    """It names no pod, so that only its age tells; bind names the annotation."""
    await lock(trial.api, THEIRS)
    assert await bind_till_the_end(trial, "p") == f"node n1 is locked: {HELD}"
    assert await locks(trial.api) == (None, THEIRS)
    trial.clock.skipped += LONGEST_SECONDS
    assert await bind(trial, "p") == ""
    common, own = await locks(trial.api)
    assert own not in (None, THEIRS)
    assert str(common).startswith(f"{own},")


async def test_lock_of_another_schedulers_pod_that_waits(trial: TimedTrial) -> None:
    """It is kept however old it is: to take it would fail both pods."""
    await trial.api.bind(await trial.api.get(pod_path("q")), "n1", UNSERVED)
    await lock(trial.api, THEIRS)
    await trial.caller.is_clean()
    said = "node n1 is locked: pod default/q waits for its devices"
    assert await bind_till_the_end(trial, "p") == said
    trial.clock.skipped += LONGEST_SECONDS
    assert await bind_till_the_end(trial, "p") == said
    assert await locks(trial.api) == (None, THEIRS)
    await MluPlugin(trial.api, "n1").serve()
    assert await bind(trial, "p") == ""


async def test_pod_of_another_scheduler_that_waits_without_a_lock(
    trial: TimedTrial,
) -> None:
    """As after a restart of the plugin, which releases the lock: it comes first."""
    await trial.api.bind(await trial.api.get(pod_path("q")), "n1", UNSERVED)
    said = "node n1 is busy: pod default/q waits for its devices"
    look = Held()
    reads_q = ("GET", pod_path("q"))
    with trial.proxy.fault(lambda *at: at == reads_q, look, most=1):
        binding = asyncio.ensure_future(bind(trial, "p"))
        await trial.caller.is_clean()
        trial.clock.skipped += BIND_SECONDS
        look.release()
        assert await binding in (said, said.replace("busy", "locked"))
    assert await locks(trial.api) == (None, None)


async def test_refused_binding_gives_both_back(trial: TimedTrial) -> None:
    """In one write, and only what was taken for it."""
    binding = f"{pod_path('p')}/binding"
    with trial.proxy.fault(
        lambda _, path: path == binding, refused(HTTPStatus.FORBIDDEN), most=1
    ):
        assert await bind(trial, "p") != ""
    assert await locks(trial.api) == (None, None)
    assert await bind(trial, "p") == ""


async def test_lock_that_comes_between_look_and_write(trial: TimedTrial) -> None:
    """Who came first has it; the write is guarded by the node's version."""
    write = Late()
    with trial.proxy.fault(lambda method, _: method == "PATCH", write, most=1):
        binding = asyncio.ensure_future(bind(trial, "p"))
        await write.reached.wait()
        await lock(trial.api, THEIRS)
        look = Held()
        with trial.proxy.fault(is_look, look, most=1):
            write.release()
            assert await write.outcome == HTTPStatus.CONFLICT
            await look.reached.wait()
            trial.clock.skipped += BIND_SECONDS
            look.release()
            assert await binding == f"node n1 is locked: {HELD}"
    assert await locks(trial.api) == (None, THEIRS)


async def test_plugin_that_releases_nothing(trial: TimedTrial) -> None:
    """Its pod runs all the same: after a moment both locks are given back."""
    assert await bind(trial, "p") == ""
    created = await trial.api.get(pod_path("p"))
    await runs(trial.api, "p")
    await trial.api.when(
        path_of(created), lambda shown: shown["status"]["phase"] == "Running"
    )
    await asyncio.sleep(1.5)  # a look of the extender's, which begins to count
    trial.clock.skipped += ADMISSION_SECONDS
    await are_free(trial.api)
    assert await bind(trial, "q") == ""
