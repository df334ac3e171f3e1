"""Two extenders serve one cluster at once, and share nothing but its API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, aclosing, asynccontextmanager
from http import HTTPStatus
from itertools import count
from typing import Final

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from prometheus_client.parser import text_string_to_metric_families

from tests.builders import Json, PodBuilder, node, pod
from tests.control_plane.caller import NO_MEMORY, Caller, calling
from tests.control_plane.client import Api, path_of
from tests.control_plane.cluster import Cluster, clustered
from tests.control_plane.extender import GpuExtender, gpu_extender
from tests.control_plane.plane import ControlPlane
from tests.control_plane.playing import Play
from tests.control_plane.proxy import PODS, proxied
from tests.control_plane.scheduler import kube_scheduler
from tests.control_plane.steps import ASKED, CARD, POD, STEPS, Late
from tests.control_plane.trial import TimedTrial, on_timed_trial

PIECE: Final = 2_000
"""MiB that each pod asks for, half of it for a sidecar."""

FITTING: Final = 20
"""Pods that the nodes of `two_nodes` can hold."""

LATE: Final = 5.0
SECONDS: Final = 90.0


class Service:
    """What kube-scheduler calls: each request goes to the next replica in turn.

    It goes to another one if nobody listens there. What breaks once it was sent is not
    repeated: kube-scheduler is to hear of it.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.replicas: list[GpuExtender] = []
        self.failures = 0
        self._session = session
        self._turn = count()

    async def answer(self, request: web.Request) -> web.Response:
        """Pass a request on."""
        body = await request.read()
        turn = next(self._turn)
        for place in range(len(self.replicas)):
            replica = self.replicas[(turn + place) % len(self.replicas)]
            try:
                async with self._session.post(
                    replica.url + request.path, data=body
                ) as answer:
                    return web.json_response(
                        body=await answer.read(), status=answer.status
                    )
            except aiohttp.ClientConnectorError:
                continue
            except aiohttp.ClientError:
                break
        self.failures += 1
        return web.Response(status=HTTPStatus.BAD_GATEWAY)


@asynccontextmanager
async def service() -> AsyncIterator[tuple[Service, str]]:
    """Run a service without replicas; gives its address, too."""
    async with aiohttp.ClientSession() as session:
        running = Service(session)
        app = web.Application()
        app.router.add_post("/{verb}", running.answer)
        async with TestServer(app) as server:
            yield running, str(server.make_url("/"))


async def two_nodes(cluster: Cluster, *, play: Play = Play.RUN) -> None:
    """Add nodes with two cards each, a card for five pods and a rest."""
    for name in ("n1", "n2"):
        builder = node(name)
        for letter in "ab":
            memory = FITTING // 4 * PIECE + PIECE // 2 - 1
            builder = builder.gpu(f"GPU-{name}-{letter}", memory=memory, count=20)
        await cluster.add(builder, play=play)


def asking(number: int) -> PodBuilder:
    """Describe one of many pods."""
    half = PIECE // 2
    piece = pod(f"p{number}").sidecar("s", gpu=1, gpumem=half)
    return piece.app("a", gpu=1, gpumem=half)


async def bound(api: Api, number: int) -> list[Json]:
    """Wait until at least so many pods are bound, and give them."""
    async with asyncio.timeout(SECONDS):
        while True:
            listed = await api.get(PODS)
            found = [one for one in listed["items"] if "nodeName" in one["spec"]]
            if len(found) >= number:
                return found
            version = listed["metadata"]["resourceVersion"]
            async with aclosing(api.watch(PODS, resourceVersion=version)) as events:
                await anext(events)


async def lag_seconds(caller: Caller) -> float:
    """Read how late, on average, an extender saw its own Bindings."""
    async with caller.session.get("/metrics") as answer:
        text = await answer.text()
    samples = {
        sample.name.rpartition("_")[2]: sample.value
        for family in text_string_to_metric_families(text)
        if family.name == "gpu_extender_watch_lag_seconds"
        for sample in family.samples
    }
    return samples["sum"] / samples["count"]


async def test_twice_the_room_is_asked_for(
    control_plane: ControlPlane, api: Api
) -> None:
    """With one pod watch 5 s late, as many pods are bound as fit, and no card more."""
    async with (
        proxied(control_plane) as proxy,
        gpu_extender(control_plane) as first,
        gpu_extender(control_plane, kubeconfig=proxy.kubeconfig) as second,
        calling(first.url) as prompt,
        calling(second.url) as late,
        service() as (running, url),
        kube_scheduler(control_plane, url),
        clustered(api) as cluster,
    ):
        running.replicas += [first, second]
        proxy.delay(PODS, LATE)
        await two_nodes(cluster)
        # The late one, which lists where the other need not, may win no lock later.
        first_pod = await api.create_pod(asking(2 * FITTING).build())
        assert await late.bind(first_pod, "n1") == ""
        for number in range(2 * FITTING):
            await cluster.submit(asking(number))
        for one in await bound(api, FITTING):
            await cluster.placed(one)
        for caller in (prompt, late):
            await caller.is_clean()
            await caller.refuses(asking(0), {"n1": NO_MEMORY, "n2": NO_MEMORY})
        # An event may be on its way a moment before its Binding is answered.
        assert await lag_seconds(late) > LATE - 0.5
        assert await lag_seconds(prompt) < LATE - 0.5
        assert len(await bound(api, FITTING)) == FITTING
        assert running.failures == 0


async def test_replicas_are_replaced_under_load(
    control_plane: ControlPlane, api: Api
) -> None:
    """One after the other: every pod is bound, runs and ends, and the books agree."""
    async with (
        gpu_extender(control_plane) as first,
        gpu_extender(control_plane) as second,
        service() as (running, url),
        kube_scheduler(control_plane, url),
        clustered(api) as cluster,
    ):
        running.replicas += [first, second]
        await two_nodes(cluster, play=Play.COMPLETE)
        created: list[Json] = []
        is_over = asyncio.Event()

        async def load() -> None:
            while not is_over.is_set():
                created.append(await cluster.submit(asking(len(created))))
                # Not more than a few wait at any time.
                await bound(api, len(created) - 5)

        loading = asyncio.create_task(load())
        await bound(api, 5)
        for replica in (first, second):
            await replica.stop()
            running.replicas.remove(replica)
            await bound(api, len(created))
            await replica.start()
            running.replicas.append(replica)
        is_over.set()
        await loading
        for one in created:
            await cluster.placed(one)
            await api.when(path_of(one), has_ended, wanted="over")
        for replica in (first, second):
            async with calling(replica.url) as caller:
                await caller.is_clean()
                await caller.fits(WHOLE, ["n1", "n2"])


WHOLE: Final = pod("whole").app("a", gpu=2, percentage=100)
"""Fits where nothing is held."""


def has_ended(shown: Json) -> bool:
    """Whether a pod's containers are done."""
    return bool(shown["status"]["phase"] == "Succeeded")


@asynccontextmanager
async def pair(
    plane: ControlPlane,
) -> AsyncIterator[tuple[TimedTrial, TimedTrial, Cluster]]:
    """Run two extenders, each behind a proxy, on n1 and n2, and pod p that waits."""
    async with (
        on_timed_trial(plane) as first,
        on_timed_trial(plane) as second,
        first.cluster() as cluster,
    ):
        for name in ("n1", "n2"):
            await cluster.add(node(name).gpu(f"GPU-{name}", memory=CARD))
        asking = pod("p").app("a", gpu=1, gpumem=ASKED)
        await cluster.api.create_pod(asking.build())
        for each in (first, second):
            await each.caller.knows(nodes=2, pods=1)
        yield first, second, cluster


@pytest.mark.parametrize("node_names", [("n1", "n2"), ("n1", "n1")])
async def test_both_bind_one_pod_at_once(
    control_plane: ControlPlane, node_names: tuple[str, str]
) -> None:
    """One Binding is carried out, and the other replica finds that out and agrees."""
    async with pair(control_plane) as (first, second, cluster):
        created = await cluster.api.get(POD)
        kept = [Late(), Late()]
        binds: list[asyncio.Task[str]] = []
        with ExitStack() as planting:
            for each, late, node_name in zip(
                (first, second), kept, node_names, strict=True
            ):
                planting.enter_context(STEPS["binding"].fault(each, late))
                binding = each.caller.bind(created, node_name)
                binds.append(asyncio.create_task(binding))
                await late.reached.wait()
            for late in kept:
                late.release()
            outcomes = [await late.outcome for late in kept]
        assert sorted(outcomes) == [HTTPStatus.CREATED, HTTPStatus.CONFLICT]
        where = node_names[outcomes.index(HTTPStatus.CREATED)]
        for bind, node_name in zip(binds, node_names, strict=True):
            assert bool(await bind) is (node_name != where)
        for each in (first, second):
            assert await each.is_bound_once(created, cluster) == where
            for name in ("n1", "n2"):
                left = CARD - ASKED if name == where else CARD
                await each.caller.has_left(name, left)
