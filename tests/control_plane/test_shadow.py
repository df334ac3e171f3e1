"""A shadow beside a stand-in for HAMi, with the rights of ``manifests/shadow-rbac``."""

import asyncio
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import aiohttp

from tests.builders import Json, node, pod
from tests.control_plane import hami
from tests.control_plane.client import Api
from tests.control_plane.extender import GpuExtender, gpu_extender
from tests.control_plane.installing import documents
from tests.control_plane.plane import ControlPlane, User
from tests.control_plane.proxy import proxied

EARLY: Final = pod("early").sidecar("s", gpu=1, gpumem=13_000)
SIDE: Final = pod("side").sidecar("s", gpu=1, gpumem=13_000)
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/gpu-extender/leases"
SECONDS: Final = 30.0
NO_ROOM: Final = "0/3 nodes are available: 3 CardInsufficientMemory."


def rows(uuid: str, *memory: int) -> str:
    """Write rows of one card each."""
    return "".join(f"{uuid},NVIDIA,{mib},0:;" for mib in memory)


async def report_of(extender: GpuExtender) -> dict[str, Any]:
    """Read what it has found."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{extender.url}/shadow") as answer,
    ):
        assert answer.status == HTTPStatus.OK, await answer.text()
        shown: dict[str, Any] = await answer.json()
        return shown


async def found(extender: GpuExtender, wanted: Mapping[str, int]) -> dict[str, Any]:
    """Wait until it has counted these decisions, and no others."""
    report: dict[str, Any] = {}
    try:
        async with asyncio.timeout(SECONDS):
            while True:
                report = await report_of(extender)
                if {each: n for each, n in report["decisions"].items() if n} == wanted:
                    return report
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"not {wanted}: {report}") from None


async def versions(api: Api) -> dict[str, str]:
    """Read the version of each node, pod and lease of ours; a write changes one."""
    shown: list[Json] = []
    for path in ("/api/v1/nodes", "/api/v1/pods"):
        shown += await api.items(path)
    # Not those of other namespaces: the apiserver renews one of its own.
    shown += await api.items(LEASES)
    return {
        each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in shown
    }


async def printed_by(*arguments: str) -> str:
    """Run the command line as a person does."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "extender", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out
    return out.decode()


async def test_shadow_judges_hami_and_writes_nothing(
    control_plane: ControlPlane, api: Api
) -> None:
    """It agrees, finds a card that a sidecar overcommits, and a place for a pod."""
    for number in (1, 2, 3):
        shown = node(f"n{number}").gpu(f"GPU-{number}", memory=24_000)
        await api.create_node(shown.build())
    early = await api.create_pod(EARLY.app("a", gpu=1, gpumem=13_000).build())
    await hami.place(api, early, "n1", rows("GPU-1", 13_000, 13_000))
    options = ["--shadow", "--shadow-patience", "1"]
    async with (
        proxied(control_plane, User.SHADOW) as proxy,
        gpu_extender(
            control_plane, kubeconfig=proxy.kubeconfig, options=options
        ) as shadow,
    ):
        plain = await api.create_pod(pod("plain").app("a", gpu=1, gpumem=8_000).build())
        await hami.place(api, plain, "n2", rows("GPU-2", 8_000))
        await found(shadow, {"agrees": 1})
        side = await api.create_pod(SIDE.app("a", gpu=1, gpumem=13_000).build())
        await hami.assign(api, side, "n3", rows("GPU-3", 13_000, 13_000))
        await found(shadow, {"agrees": 1, "overcommits": 1})
        await hami.bind(api, side, "n3")
        asking = pod("waits").app("a", gpu=1, gpumem=16_000)
        waits = await api.create_pod(asking.build())
        await hami.leave_pending(api, waits, NO_ROOM)
        before = await versions(api)
        report = await found(shadow, {"agrees": 1, "overcommits": 1, "would-place": 1})
        assert await versions(api) == before
        placed, over = report["differences"]
        assert (placed["name"], placed["node"]) == ("waits", "n2")
        assert placed["scheduler_says"] == NO_ROOM
        assert placed["cards"][0]["ours"]["memory_mib"] == 16_000
        assert (over["name"], over["node"]) == ("side", "n3")
        assert over["reasons"] == ["CardInsufficientMemory"]
        assert over["cards"][0]["ours"]["memory_mib"] == 26_000
        assert over["cards"][0]["hami"]["memory_mib"] == 13_000
        assert report["cards"]["memory_mib"] == {
            "capacity": 72_000,
            "ours": 60_000,
            "hami": 34_000,
            "needless": 0,
            "uncounted": 26_000,
        }
        cards = [each["device"] for each in report["overcommitted_cards"]]
        assert sorted(cards) == ["GPU-1", "GPU-3"]
        await refuses_to_bind(shadow, waits)
        text = await printed_by("shadow-report", "--server", shadow.url)
        assert "default/side on n3: card GPU-3 holds 26000 of 24000 MiB" in text
        await shadow.stop()
        assert text.splitlines()[-1] in shadow.component.log.read_text()
        assert await versions(api) == before
        assert {method for method, _ in proxy.asked} == {"GET"}


async def refuses_to_bind(shadow: GpuExtender, waiting: Json) -> None:
    """Ask it to bind, and to change a new pod."""
    metadata = waiting["metadata"]
    args = {
        "PodName": metadata["name"],
        "PodNamespace": metadata["namespace"],
        "PodUID": metadata["uid"],
        "Node": "n2",
    }
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{shadow.url}/bind", json=args) as answer:
            assert "shadow mode" in (await answer.json())["Error"]
        for webhook in ("webhook", "validate"):
            async with session.post(f"{shadow.url}/{webhook}", json={}) as answer:
                assert answer.status == HTTPStatus.NOT_FOUND


def test_its_role_can_only_read() -> None:
    """No verb of the manifest changes anything."""
    verbs = {
        verb
        for document in documents("shadow-rbac.yaml")
        if document["kind"] in {"ClusterRole", "Role"}
        for rule in document["rules"]
        for verb in rule["verbs"]
    }
    assert verbs <= {"get", "list", "watch"}
