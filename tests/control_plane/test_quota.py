"""Quotas on a real API server: two replicas under one, and its own sums."""

import asyncio
from http import HTTPStatus
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.builders import Json, PodBuilder, node, pod, resource_quota
from tests.control_plane.caller import Caller, calling
from tests.control_plane.client import Api, ApiError, path_of
from tests.control_plane.cluster import clustered
from tests.control_plane.extender import gpu_extender
from tests.control_plane.plane import ControlPlane
from tests.control_plane.playing import Play
from tests.control_plane.proxy import PODS, proxied
from tests.control_plane.quotas import LIMIT, create_quota, quotas_path, when_quota
from tests.control_plane.scheduler import kube_scheduler
from tests.control_plane.test_replicas import bound, service

LATE: Final = 5.0
NOT_FIT: Final = "no longer fits: ResourceQuotaNotFit"


async def test_one_remaining_share_two_replicas_two_nodes(
    control_plane: ControlPlane, api: Api
) -> None:
    """Of two pods that two replicas bind to two nodes at once, exactly one is bound.

    Again and again, though one of both hears of pods 5 s late; and then the room of one
    that is gone goes to exactly one more.
    """
    async with (
        proxied(control_plane) as proxy,
        gpu_extender(control_plane) as first,
        gpu_extender(control_plane, kubeconfig=proxy.kubeconfig) as second,
        calling(first.url) as prompt,
        calling(second.url) as late,
        clustered(api) as cluster,
    ):
        for name in ("n1", "n2"):
            await cluster.add(node(name).gpu(f"GPU-{name}"))
        await create_quota(api, resource_quota("q", hard={LIMIT: 10_000}))
        for caller in (prompt, late):
            await caller.knows(nodes=2, pods=0)
            await caller.refuses(
                pod("x").app("a", gpu=1, gpumem=10_001),
                dict.fromkeys(("n1", "n2"), "ResourceQuotaNotFit"),
            )
        proxy.delay(PODS, LATE)
        for turn in range(3):
            pods = [
                await api.create_pod(
                    pod(f"{name}{turn}").app("a", gpu=1, gpumem=6_000).build()
                )
                for name in "pq"
            ]
            told = await asyncio.gather(
                prompt.bind(pods[0], "n1"), late.bind(pods[1], "n2")
            )
            assert sorted(told) == ["", NOT_FIT]
            shown = [await api.get(path_of(each)) for each in pods]
            nodes = [each["spec"].get("nodeName") for each in shown]
            assert sorted(map(bool, nodes)) == [False, True]
            winner = nodes.index(next(filter(None, nodes)))
            await cluster.placed(pods[winner])
            loser = (prompt, late)[1 - winner]
            node_name = ("n1", "n2")[1 - winner]
            assert await loser.bind(pods[1 - winner], node_name) == NOT_FIT
            for each in pods:
                await api.delete(path_of(each))
            for caller in (prompt, late):
                await caller.fits(pod("x").app("a", gpu=1, gpumem=10_000), ["n1", "n2"])


async def test_two_replicas_fill_a_quota_and_no_more(
    control_plane: ControlPlane, api: Api
) -> None:
    """kube-scheduler asks either in turn; nodes have room for all, the quota for 5."""
    async with (
        proxied(control_plane) as proxy,
        gpu_extender(control_plane) as first,
        gpu_extender(control_plane, kubeconfig=proxy.kubeconfig) as second,
        service() as (running, url),
        kube_scheduler(control_plane, url),
        clustered(api) as cluster,
    ):
        running.replicas += [first, second]
        proxy.delay(PODS, LATE)
        for name in ("n1", "n2", "n3"):
            await cluster.add(node(name).gpu(f"GPU-{name}"))
        quota = resource_quota("q", hard={LIMIT: 5_999})
        await create_quota(api, quota)
        created = [
            await cluster.submit(pod(f"p{number}").app("a", gpu=1, gpumem=1_000))
            for number in range(10)
        ]
        await bound(api, 5)
        await asyncio.sleep(2 * LATE)
        shown = await bound(api, 5)
        assert len(shown) == 5
        # A raised quota is no event for kube-scheduler: the refused are woken.
        path = f"{quotas_path('default')}/q"
        await api.patch(path, {"spec": {"hard": {LIMIT: "7000"}}})
        await bound(api, 7)
        await asyncio.sleep(LATE)
        assert len(await bound(api, 7)) == 7
        assert len(created) == 10


async def used(caller: Caller, key: str) -> float:
    """Read what the extender counts of a key of quota ours."""
    async with caller.session.get("/metrics") as answer:
        text = await answer.text()
    return next(
        sample.value
        for family in text_string_to_metric_families(text)
        if family.name == "gpu_extender_quota_used"
        for sample in family.samples
        if (sample.labels["resource_quota"], sample.labels["key"]) == ("ours", key)
    )


def one_card(mib: int, cores: int) -> dict[str, int]:
    """Ask for one card: then a container's amount is that of its card."""
    return {"gpu": 1, "gpumem": mib, "cores": cores}


SHAPES: Final[dict[str, tuple[PodBuilder, tuple[int, int, int]]]] = {
    "one app": (
        pod("p").app("a", **one_card(4_000, 40)),
        (1, 4_000, 40),
    ),
    "sidecar, then init": (
        pod("p")
        .sidecar("s", **one_card(2_000, 10))
        .init("i", **one_card(20_000, 60))
        .app("a", **one_card(10_000, 30)),
        (2, 22_000, 70),
    ),
    "init, then sidecar": (
        pod("p")
        .init("i", **one_card(20_000, 60))
        .sidecar("s", **one_card(2_000, 10))
        .app("a", **one_card(10_000, 30)),
        (2, 20_000, 60),
    ),
    "the apps dominate": (
        pod("p")
        .init("i", **one_card(3_000, 10))
        .app("a", **one_card(4_000, 20))
        .app("b", **one_card(5_000, 30)),
        (2, 9_000, 50),
    ),
    "inits between sidecars": (
        pod("p")
        .sidecar("s", **one_card(1_000, 5))
        .init("i", **one_card(7_000, 20))
        .sidecar("t", **one_card(3_000, 5))
        .init("j", **one_card(6_000, 30))
        .app("a", **one_card(2_000, 10)),
        (3, 10_000, 40),
    ),
}
KEYS: Final = ("nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores")


@pytest.mark.parametrize("shape", SHAPES)
async def test_our_charge_is_the_api_servers(
    control_plane: ControlPlane, api: Api, shape: str
) -> None:
    """Of count, memory and cores: the sums and the verdicts are equal.

    Exactly at the limit, both let the pod in; one above, both refuse it.
    """
    wanted, charge = SHAPES[shape]
    amounts = dict(zip(KEYS, charge, strict=True))
    ours = resource_quota("ours", hard=_hard("limits", amounts))
    theirs = resource_quota("theirs", hard=_hard("requests", amounts))
    async with (
        gpu_extender(control_plane) as extender,
        calling(extender.url) as caller,
        clustered(api) as cluster,
    ):
        cards = node("n1")
        for letter in "abc":
            cards = cards.gpu(f"GPU-{letter}", memory=24_000)
        # Its inits do not end: ours falls then, theirs does not.
        await cluster.add(cards, play=Play.WAIT)
        for quota in (ours, theirs):
            await create_quota(api, quota)
        path = quotas_path("default")
        for short in KEYS:
            less = {**amounts, short: amounts[short] - 1}
            # Theirs refuses the pod itself, ours its place; each alone.
            await api.patch(f"{path}/theirs", _change("requests", less))
            await when_quota(api, theirs, is_worked_out, wanted="worked out")
            with pytest.raises(ApiError) as refused:
                await api.create_pod(wanted.build())
            assert refused.value.status == HTTPStatus.FORBIDDEN
            assert f"requests.{short}" in str(refused.value)
            await api.patch(f"{path}/theirs", _change("requests", amounts))
            await when_quota(api, theirs, is_worked_out, wanted="worked out")
            await api.patch(f"{path}/ours", _change("limits", less))
            await caller.refuses(wanted, {"n1": "ResourceQuotaNotFit"})
        await api.patch(f"{path}/ours", _change("limits", amounts))
        await caller.fits(wanted, ["n1"])
        created = await api.create_pod(wanted.build())
        assert await caller.bind(created, "n1") == ""
        shown = await when_quota(
            api, theirs, lambda quota: has_used(quota, amounts), wanted="charged"
        )
        assert has_used(shown, amounts)
        for key, amount in amounts.items():
            assert await used(caller, f"limits.{key}") == amount


def _hard(prefix: str, amounts: dict[str, int]) -> dict[str, int | str]:
    return {f"{prefix}.{key}": amount for key, amount in amounts.items()}


def _change(prefix: str, amounts: dict[str, int]) -> Json:
    texts = {key: str(amount) for key, amount in _hard(prefix, amounts).items()}
    return {"spec": {"hard": texts}}


def is_worked_out(quota: Json) -> bool:
    """Whether the API server charges pods to it as it is now."""
    status = quota.get("status", {})
    return "used" in status and status.get("hard") == quota["spec"]["hard"]


def has_used(quota: Json, amounts: dict[str, int]) -> bool:
    """Whether so much is charged; Kubernetes writes 4000 as 4k."""
    shown = quota.get("status", {}).get("used", {})
    read = {key: _whole(text) for key, text in shown.items()}
    return read == {f"requests.{key}": amount for key, amount in amounts.items()}


def _whole(text: str) -> int:
    return int(text[:-1]) * 1_000 if text.endswith("k") else int(text)
