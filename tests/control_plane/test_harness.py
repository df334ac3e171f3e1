"""The control plane comes up, does what a test asks of it, and goes down again."""

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.builders import Json, node, pod
from tests.control_plane.binaries import Binaries
from tests.control_plane.client import Api, ApiError, node_path, path_of, pods_path
from tests.control_plane.component import Component, ComponentError
from tests.control_plane.kubelet import Kubelet, attached
from tests.control_plane.plane import ControlPlane, User, running
from tests.control_plane.scheduler import kube_scheduler, scheduler_name

NOBODY: Final = "http://127.0.0.1:9"
"""Where no extender listens."""


def test_comes_up_and_goes_down(
    control_plane_binaries: Binaries, tmp_path: Path
) -> None:
    """A second control plane has its own ports, and leaves only its logs."""
    with running(control_plane_binaries, tmp_path) as plane:
        assert all(component.runs for component in plane.components)
        address = plane.server.removeprefix("https://")
        shown = subprocess.run(
            [plane.binaries.kubectl, "get", "--raw", "/version"],
            env={**os.environ, "KUBECONFIG": str(plane.kubeconfig())},
            capture_output=True,
            text=True,
            check=True,
        )
        assert '"gitVersion": "v1.36.3"' in shown.stdout
    assert not any(component.runs for component in plane.components)
    assert not (tmp_path / "etcd").exists()
    assert (tmp_path / "kube-apiserver.log").stat().st_size
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection(address).connect()


def test_program_ends_with_the_test_process(tmp_path: Path) -> None:
    """A test process that is killed leaves nothing running."""
    starts_and_hangs = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tests.control_plane.component import Component\n"
        "folder = Path(sys.argv[1])\n"
        "script = 'echo $$ > pid; exec sleep 600'\n"
        "Component('sleeper', ['sh', '-c', script], folder).start()\n"
        "time.sleep(600)\n"
    )
    pid = tmp_path / "pid"
    command = [sys.executable, "-c", starts_and_hangs, str(tmp_path)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as process:
        try:
            wait_for(lambda: pid.exists() and bool(pid.read_text()))
            sleeper = int(pid.read_text())
            assert is_alive(sleeper)
        finally:
            process.send_signal(signal.SIGKILL)
    wait_for(lambda: not is_alive(sleeper))


def test_program_that_ends_early_shows_its_last_lines(tmp_path: Path) -> None:
    """Whoever waits for it is told what it said."""
    component = Component("loser", ["sh", "-c", "echo no such flag; exit 3"], tmp_path)
    component.start()
    with pytest.raises(ComponentError, match=r"loser ended:\nno such flag"):
        component.wait_until(lambda: False, seconds=60)
    component.stop()


async def test_node_and_pod(api: Api) -> None:
    """A node is Ready and without taints; a pod waits for whoever binds it."""
    await api.create_node(node("n1").gpu("GPU-a").build())
    created = await api.create_pod(pod("p").sidecar("s").app("a", gpu=1).build())
    shown = await api.get(node_path("n1"))
    assert shown["status"]["allocatable"]["nvidia.com/gpu"] == "10"
    assert shown["status"]["conditions"][0]["status"] == "True"
    assert "taints" not in shown["spec"]
    assert created["status"]["phase"] == "Pending"
    assert [one["metadata"]["name"] for one in await api.items(pods_path())] == ["p"]


async def test_user_without_a_role_may_do_nothing(control_plane: ControlPlane) -> None:
    """RBAC holds: a right that the manifests do not give is refused."""
    async with Api.connected(control_plane, User.NOBODY) as nobody:
        with pytest.raises(ApiError) as refused:
            await nobody.items("/api/v1/nodes")
    assert refused.value.status == HTTPStatus.FORBIDDEN


async def test_controller_manager_keeps_quotas(api: Api) -> None:
    """A quota's status is worked out, and the apiserver charges pods to it."""
    quotas = "/api/v1/namespaces/default/resourcequotas"
    hard = {"requests.nvidia.com/gpu": "1"}
    body = {"metadata": {"name": "q"}, "spec": {"hard": hard}}
    await api.request("POST", quotas, body=body)
    await api.when(f"{quotas}/q", lambda quota: "used" in quota["status"])
    await api.create_pod(pod("first").app("a", gpu=1).build())
    with pytest.raises(ApiError, match="exceeded quota"):
        await api.create_pod(pod("second").app("a", gpu=1).build())


async def test_apiserver_restarts(control_plane: ControlPlane, api: Api) -> None:
    """What was written is still there, and a kubelet goes on by itself."""
    await api.create_node(node("n1").build())
    async with attached(Kubelet(api, "n1")):
        await control_plane.restart_apiserver()
        created = await api.create_pod(pod("p").app("a").build())
        await api.bind(created, "n1")
        shown = await api.when(path_of(created), is_running)
        assert shown["spec"]["nodeName"] == "n1"


async def test_compaction_makes_old_versions_gone(
    control_plane: ControlPlane, api: Api
) -> None:
    """A watch from before a compaction and a restart ends with 410."""
    first = await api.create_pod(pod("first").app("a").build())
    await api.create_pod(pod("second").app("a").build())
    await control_plane.compact()
    await control_plane.restart_apiserver()
    old = first["metadata"]["resourceVersion"]
    with pytest.raises(ApiError) as gone:
        await anext(api.watch(pods_path(), resourceVersion=old))
    assert gone.value.status == HTTPStatus.GONE


async def test_scheduler_places_a_pod_without_gpu(
    control_plane: ControlPlane, api: Api
) -> None:
    """kube-scheduler binds a pod that is of no interest to the extender."""
    await api.create_node(node("n1").build())
    async with kube_scheduler(control_plane, NOBODY), attached(Kubelet(api, "n1")):
        asking = pod("p").app("a").build()
        created = await api.create_pod(asking, scheduler_name=scheduler_name())
        shown = await api.when(path_of(created), is_running)
        assert shown["spec"]["nodeName"] == "n1"
        reasons = [event["reason"] for event in await api.events_of(created)]
        assert reasons == ["Scheduled"]


async def test_scheduler_asks_the_extender(
    control_plane: ControlPlane, api: Api
) -> None:
    """A GPU pod is sent with the names of the nodes that have slots, and no others."""
    for name, slots in (("n1", 2), ("n2", 2), ("full", 0)):
        await api.create_node(node(name).gpu("GPU-a").allocatable(slots).build())
    async with (
        echo_extender(api) as (echo, url),
        kube_scheduler(control_plane, url),
    ):
        asking = pod("p").app("a", gpu=1, gpumem=3000).build()
        created = await api.create_pod(asking, scheduler_name=scheduler_name())
        shown = await api.when(path_of(created), is_bound)
        assert shown["spec"]["nodeName"] in {"n1", "n2"}
        assert [sorted(names) for names in echo.filtered] == [["n1", "n2"]]
        assert [sorted(names) for names in echo.scored] == [["n1", "n2"]]
        assert [args["PodName"] for args in echo.bound] == ["p"]


@dataclass
class Echo:
    """An extender that lets every node pass, and binds without annotations."""

    api: Api
    filtered: list[list[str]] = field(default_factory=list)
    scored: list[list[str]] = field(default_factory=list)
    bound: list[Json] = field(default_factory=list)

    async def filter(self, request: web.Request) -> web.Response:
        """Let every node pass."""
        names = (await request.json())["NodeNames"]
        self.filtered.append(names)
        return web.json_response({"NodeNames": names})

    async def prioritize(self, request: web.Request) -> web.Response:
        """Score every node alike."""
        names = (await request.json())["NodeNames"]
        self.scored.append(names)
        return web.json_response([{"Host": name, "Score": 1} for name in names])

    async def bind(self, request: web.Request) -> web.Response:
        """Bind."""
        args = await request.json()
        self.bound.append(args)
        metadata = {
            "name": args["PodName"],
            "namespace": args["PodNamespace"],
            "uid": args["PodUID"],
        }
        await self.api.bind({"metadata": metadata}, args["Node"])
        return web.json_response({"Error": ""})


@asynccontextmanager
async def echo_extender(api: Api) -> AsyncIterator[tuple[Echo, str]]:
    """Serve an `Echo`; give its URL, too."""
    echo = Echo(api)
    app = web.Application()
    app.router.add_post("/filter", echo.filter)
    app.router.add_post("/prioritize", echo.prioritize)
    app.router.add_post("/bind", echo.bind)
    async with TestServer(app) as server:
        yield echo, str(server.make_url("")).rstrip("/")


def is_running(shown: Json) -> bool:
    """Whether a pod runs."""
    phase: str = shown["status"]["phase"]
    return phase == "Running"


def is_bound(shown: Json) -> bool:
    """Whether a pod has a node."""
    return "nodeName" in shown["spec"]


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody waited for does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_for(claim: Callable[[], bool], *, seconds: float = 30) -> None:
    """Wait until a claim holds."""
    deadline = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < deadline, "not so in time"
        time.sleep(0.02)
