"""The proxy forwards what it is sent, and each of its faults does what it says."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from http import HTTPStatus
from typing import Final

import aiohttp
import pytest
import pytest_asyncio
import yaml

from tests.builders import Json, node, pod
from tests.control_plane.client import (
    Api,
    ApiError,
    WatchEvent,
    node_path,
    path_of,
    pod_path,
)
from tests.control_plane.plane import ControlPlane, User
from tests.control_plane.proxy import (
    NODES,
    PODS,
    ApiProxy,
    Fault,
    Held,
    answer_lost,
    dropped,
    proxied,
    refused,
)

SECONDS: Final = 30.0


@pytest_asyncio.fixture
async def proxy(control_plane: ControlPlane) -> AsyncIterator[ApiProxy]:
    """Run a proxy to the control plane."""
    async with proxied(control_plane, User.ADMIN) as running:
        yield running


@pytest_asyncio.fixture
async def through(proxy: ApiProxy) -> AsyncIterator[Api]:
    """Talk to the control plane as an extender does that has the proxy's kubeconfig."""
    written = yaml.safe_load(proxy.kubeconfig.read_text())
    token = written["users"][0]["user"]["token"]
    async with aiohttp.ClientSession(
        written["clusters"][0]["cluster"]["server"],
        headers={"Authorization": f"Bearer {token}"},
    ) as session:
        yield Api(session)


def is_binding(method: str, path: str) -> bool:
    """Match the Binding of any pod."""
    return method == "POST" and path.endswith("/binding")


async def is_bound(api: Api, created: Json) -> bool:
    """Whether a pod has a node."""
    return "nodeName" in (await api.get(path_of(created)))["spec"]


async def next_object(events: AsyncGenerator[WatchEvent, None]) -> Json:
    """Give the next object that a watch shows; bookmarks come at any time."""
    while True:
        event = await anext(events)
        if event.kind != "BOOKMARK":
            return event.object


async def name_of_next(events: AsyncGenerator[WatchEvent, None]) -> str:
    """Name the next object that a watch shows."""
    return str((await next_object(events))["metadata"]["name"])


async def test_reads_and_writes_pass(api: Api, proxy: ApiProxy, through: Api) -> None:
    """Bodies, queries, statuses and errors arrive as the apiserver sent them."""
    await through.create_node(node("n1").gpu("GPU-a").build())
    created = await through.create_pod(pod("p").app("a", gpu=1).build())
    await through.bind(created, "n1", {"rows": ";;"})
    shown = await through.items(PODS, fieldSelector="spec.nodeName=n1")
    assert [one["metadata"]["annotations"] for one in shown] == [{"rows": ";;"}]
    with pytest.raises(ApiError) as conflict:
        await through.bind(created, "n1")
    assert conflict.value.status == HTTPStatus.CONFLICT
    assert ("POST", f"{pod_path('p')}/binding") in proxy.asked


async def test_token_passes(control_plane: ControlPlane) -> None:
    """Who the extender is stays who it is: a user without a role is refused."""
    async with proxied(control_plane, User.NOBODY) as proxy:
        written = yaml.safe_load(proxy.kubeconfig.read_text())
        server = written["clusters"][0]["cluster"]["server"]
        headers = {"Authorization": f"Bearer {control_plane.token(User.NOBODY)}"}
        async with aiohttp.ClientSession(server, headers=headers) as session:
            with pytest.raises(ApiError, match="nobody"):
                await Api(session).items(NODES)


async def test_watch_passes_and_can_be_delayed(
    api: Api, proxy: ApiProxy, through: Api
) -> None:
    """Events are late by as much as was said, and at once once that is taken back."""
    clock = asyncio.get_running_loop().time
    async with aclosing(through.watch(PODS)) as events:
        await api.create_pod(pod("at-once").app("a").build())
        assert await name_of_next(events) == "at-once"
        proxy.delay(PODS, 0.5)
        begun = clock()
        await api.create_pod(pod("late").app("a").build())
        assert await name_of_next(events) == "late"
        assert clock() - begun >= 0.5
        proxy.delay(PODS, 3600)
        await api.create_pod(pod("released").app("a").build())
        waiting = asyncio.ensure_future(name_of_next(events))
        await api.create_node(node("n1").build())
        async with aclosing(through.watch(NODES)) as others:
            # Another collection is not delayed.
            assert await name_of_next(others) == "n1"
        assert not waiting.done()
        proxy.delay(PODS, 0)
        async with asyncio.timeout(SECONDS):
            assert await waiting == "released"


async def test_long_lines_pass(api: Api, through: Api) -> None:
    """An event may be longer than what a reader takes at once."""
    long = "x" * 200_000
    async with aclosing(through.watch(PODS)) as events:
        asking = pod("long").app("a").annotations({"long": long})
        await api.create_pod(asking.build())
        shown = await next_object(events)
        assert shown["metadata"]["annotations"]["long"] == long


async def test_watches_are_cut(api: Api, proxy: ApiProxy, through: Api) -> None:
    """Those of one collection break, the others go on, and new ones may be opened."""
    await api.create_node(node("n1").build())
    await api.create_pod(pod("p").app("a").build())
    async with (
        aclosing(through.watch(PODS)) as pods,
        aclosing(through.watch(NODES)) as nodes,
    ):
        await next_object(pods)
        await next_object(nodes)
        assert proxy.cut_watches(PODS) == 1
        with pytest.raises(aiohttp.ClientError):
            await next_object(pods)
        await api.patch(node_path("n1"), {"metadata": {"labels": {"is": "seen"}}})
        assert (await next_object(nodes))["metadata"]["labels"] == {"is": "seen"}
        async with aclosing(through.watch(PODS)) as again:
            await next_object(again)
        assert proxy.cut_watches() >= 1


@pytest.mark.parametrize(
    ("fault", "error", "is_carried_out"),
    [
        pytest.param(refused(500), ApiError, False, id="refused"),
        pytest.param(dropped, aiohttp.ServerDisconnectedError, False, id="dropped"),
        pytest.param(answer_lost, aiohttp.ServerDisconnectedError, True, id="lost"),
    ],
)
async def test_planted_fault(
    api: Api,
    proxy: ApiProxy,
    through: Api,
    *,
    fault: Fault,
    error: type[Exception],
    is_carried_out: bool,
) -> None:
    """It meets the requests that it is for, as often as it is to, and no others."""
    await api.create_node(node("n1").build())
    created = await api.create_pod(pod("p").app("a").build())
    other = await api.create_pod(pod("other").app("a").build())
    with proxy.fault(is_binding, fault, most=1) as planted:
        with pytest.raises(error):
            await through.bind(created, "n1")
        assert await is_bound(api, created) is is_carried_out
        await through.bind(other, "n1")
    assert planted.met == [("POST", f"{pod_path('p')}/binding")]
    assert await is_bound(api, other)


@pytest.mark.parametrize("is_carried_out", [False, True])
async def test_held_request(
    api: Api, proxy: ApiProxy, through: Api, *, is_carried_out: bool
) -> None:
    """It waits before it is carried out, or after, until it is released."""
    await api.create_node(node("n1").build())
    created = await api.create_pod(pod("p").app("a").build())
    held = Held(is_carried_out=is_carried_out)
    with proxy.fault(is_binding, held):
        binding = asyncio.ensure_future(through.bind(created, "n1"))
        await held.reached.wait()
        assert await is_bound(api, created) is is_carried_out
        assert not binding.done()
        held.release()
        await binding
    assert await is_bound(api, created)


async def test_held_request_outlives_who_sent_it(
    api: Api, proxy: ApiProxy, through: Api
) -> None:
    """A write arrives though its sender gave up, as one that was slow on the way."""
    await api.create_node(node("n1").build())
    created = await api.create_pod(pod("p").app("a").build())
    held = Held()
    with proxy.fault(is_binding, held):
        binding = asyncio.ensure_future(through.bind(created, "n1"))
        await held.reached.wait()
        binding.cancel()
        await asyncio.wait({binding})
        assert not await is_bound(api, created)
        held.release()
        await api.when(path_of(created), lambda shown: "nodeName" in shown["spec"])


async def test_apiserver_that_is_gone(
    control_plane: ControlPlane, through: Api
) -> None:
    """Then the proxy breaks connections, too, and forwards again once it is back."""
    await control_plane.stop_apiserver()
    try:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await through.items(NODES)
    finally:
        await control_plane.start_apiserver()
    assert await through.items(NODES) == []
