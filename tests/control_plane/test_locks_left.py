"""A lock that no bind needs any more is given back, though no other bind comes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from typing import Final

import pytest
import pytest_asyncio
from aiohttp import web

from tests.builders import Json, node, pod
from tests.control_plane.client import Api, path_of
from tests.control_plane.plane import ControlPlane
from tests.control_plane.plugin import LOCK
from tests.control_plane.proxy import Exchange, Held, refused
from tests.control_plane.steps import ASKED, BINDING, CARD, NODE, POD
from tests.control_plane.trial import ProcessTrial, on_trial

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOON: Final = 10.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def only(shared_control_plane: ControlPlane) -> AsyncIterator[ProcessTrial]:
    """Run an extender behind a proxy for all tests of this file."""
    async with on_trial(shared_control_plane) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def trial(only: ProcessTrial) -> AsyncIterator[ProcessTrial]:
    """Give the extender to a test, with two nodes that no kubelet serves."""
    async with only.emptied():
        for name in ("n1", "n2"):
            shown = node(name).gpu(f"GPU-{name}", memory=CARD).build()
            await only.api.create_node(shown)
        yield only


@pytest_asyncio.fixture(loop_scope="module")
async def created(trial: ProcessTrial) -> Json:
    """Create pod p."""
    asking = pod("p").app("a", gpu=1, gpumem=ASKED)
    created = await trial.api.create_pod(asking.build())
    await trial.caller.knows(nodes=2, pods=1)
    return created


class Lost:
    """Breaks connections; what came over them may be sent on later."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.reached = asyncio.Event()
        """Set once something was lost."""

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Lose one."""
        self.exchanges.append(exchange)
        self.reached.set()
        return exchange.drop()


async def is_locked(api: Api) -> bool:
    """Whether n1 has a lock."""
    return LOCK in (await api.get(NODE))["metadata"]["annotations"]


async def is_given_back(trial: ProcessTrial) -> None:
    """Wait until n1 has no lock."""
    await trial.api.when(
        NODE,
        lambda shown: LOCK not in shown["metadata"]["annotations"],
        seconds=SOON,
        wanted="unlocked",
    )
    await trial.caller.is_clean()


async def test_pod_is_deleted_before_it_is_served(
    trial: ProcessTrial, created: Json
) -> None:
    """Nobody asks the plugin for it, so the plugin does not release."""
    assert await trial.caller.bind(created, "n1") == ""
    assert await is_locked(trial.api)
    await trial.api.delete(path_of(created))
    await is_given_back(trial)


async def is_deleted(api: Api, created: Json) -> None:
    """Somebody deletes the pod."""
    await api.delete(path_of(created))


async def is_bound_elsewhere(api: Api, created: Json) -> None:
    """Another replica has more luck, on another node."""
    await api.bind(created, "n2")


@pytest.mark.parametrize("become", [is_deleted, is_bound_elsewhere])
async def test_pod_is_settled_while_its_binding_is_open(
    trial: ProcessTrial, created: Json, become: Callable[[Api, Json], Awaitable[None]]
) -> None:
    """The Binding was lost, and then the pod was read once more, unbound as yet."""
    read_back = Held(is_carried_out=True)
    with (
        trial.proxy.fault(lambda _, path: path == BINDING, Lost()) as planted,
        trial.proxy.fault(lambda _, path: path == POD, read_back, most=1),
    ):
        binding = asyncio.ensure_future(trial.caller.bind(created, "n1"))
        await read_back.reached.wait()
        await become(trial.api, created)
        read_back.release()
        assert await binding
        assert planted.met
    await is_given_back(trial)


@pytest.mark.parametrize("method", ["GET", "PATCH"])
async def test_lock_that_cannot_be_given_back(
    trial: ProcessTrial, created: Json, method: str
) -> None:
    """It is tried again."""
    with (
        trial.proxy.fault(
            lambda _, path: path == BINDING, refused(HTTPStatus.FORBIDDEN)
        ) as binding,
        trial.proxy.fault(
            lambda verb, path: bool(binding.met) and (verb, path) == (method, NODE),
            refused(HTTPStatus.SERVICE_UNAVAILABLE),
            most=1,
        ) as planted,
    ):
        assert await trial.caller.bind(created, "n1")
        assert planted.met
    await is_given_back(trial)


async def test_lock_is_written_after_its_bind_gave_up(
    trial: ProcessTrial, created: Json
) -> None:
    """The write was on its way for longer than anybody waited."""
    lost = Lost()
    with (
        trial.proxy.fault(
            lambda method, path: (method, path) == ("PATCH", NODE), lost
        ) as planted,
        trial.proxy.fault(
            lambda _, path: bool(planted.met) and path == NODE,
            refused(HTTPStatus.FORBIDDEN),
        ),
    ):
        assert await trial.caller.bind(created, "n1")
        assert not await is_locked(trial.api)
        (exchange,) = lost.exchanges
        assert (await exchange.forward()).status == HTTPStatus.OK
        assert await is_locked(trial.api)
    await is_given_back(trial)
