"""One control plane for all tests of this package; each leaves it empty."""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from tests.control_plane import binaries, plane
from tests.control_plane.binaries import Binaries, Say
from tests.control_plane.client import Api, node_path, path_of
from tests.control_plane.cluster import Cluster, clustered
from tests.control_plane.component import tail
from tests.control_plane.extender import GpuExtender
from tests.control_plane.installing import install
from tests.control_plane.plane import ControlPlane
from tests.control_plane.secured import secured
from tests.control_plane.standins import define

_TEST_SECONDS: Final = 240
_LOGS: Final = pytest.StashKey[dict[Path, int]]()
_PLANE: Final = pytest.StashKey[ControlPlane]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Limit the time of each test here, but not of what is built before the first.

    A test that sets its own limit must say ``func_only=True``, too.
    """
    for item in items:
        is_here = Path(__file__).parent in item.path.parents
        if is_here and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_TEST_SECONDS, func_only=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the control plane said during a test that failed."""
    report = yield
    control_plane = item.session.stash.get(_PLANE, None)
    if report.failed and control_plane is not None:
        before = item.stash.get(_LOGS, {})
        for log in sorted(control_plane.folder.rglob("*.log")):
            if lines := tail(log, since=before.get(log, 0)):
                report.sections.append((f"{log}, last lines", lines))
    return report


@pytest.fixture(scope="session")
def say(request: pytest.FixtureRequest) -> Say:
    """Write a line to the terminal though output is captured; builds take minutes."""
    manager = request.config.pluginmanager
    capture = manager.getplugin("capturemanager")
    terminal = manager.getplugin("terminalreporter")

    def write(text: str) -> None:
        if terminal is None:
            return  # a worker of pytest-xdist has none
        with capture.global_and_fixture_disabled():
            terminal.ensure_newline()
            terminal.write_line(text)
            terminal.flush()

    return write


@pytest.fixture(scope="session")
def control_plane_binaries(say: Say) -> Binaries:
    """Give the programs of a control plane, built once a machine."""
    return binaries.built(say)


@pytest.fixture(scope="session")
def helm_program(say: Say) -> Path:
    """Give helm, built once a machine; only ``make verify`` needs it."""
    return binaries.built_helm(say)


@pytest.fixture(scope="session")
def shared_control_plane(
    control_plane_binaries: Binaries,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[ControlPlane]:
    """Run the control plane of the session, with all of ``manifests`` installed."""
    folder = tmp_path_factory.mktemp("control-plane")
    with plane.running(control_plane_binaries, folder) as running:
        # Threads have event loops of their own.
        with ThreadPoolExecutor() as threads:
            threads.submit(asyncio.run, install(running)).result()
        request.session.stash[_PLANE] = running
        yield running


@pytest.fixture(scope="module")
def own_plane(
    control_plane_binaries: Binaries, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """Run a control plane on which nothing is installed."""
    folder = tmp_path_factory.mktemp("installing")
    with plane.running(control_plane_binaries, folder) as running:
        yield running


@pytest_asyncio.fixture
async def administrator(own_plane: ControlPlane) -> AsyncIterator[Api]:
    """Talk to it; the kinds of cert-manager and the Prometheus operator are there."""
    async with Api.connected(own_plane) as api:
        await define(api)
        yield api


@pytest.fixture
def control_plane(
    shared_control_plane: ControlPlane, request: pytest.FixtureRequest
) -> ControlPlane:
    """Give the control plane to a test, which finds it empty."""
    logs = shared_control_plane.folder.rglob("*.log")
    request.node.stash[_LOGS] = {log: log.stat().st_size for log in logs}
    return shared_control_plane


@pytest_asyncio.fixture
async def api(control_plane: ControlPlane) -> AsyncIterator[Api]:
    """Talk to the control plane as administrator; remove pods and nodes afterwards."""
    async with Api.connected(control_plane) as connected:
        yield connected
        await _empty(connected)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def extender(
    shared_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[GpuExtender]:
    """Run an extender, and the kube-scheduler that asks it, for the tests of a file.

    As installed: both sides known by certificates, and pods come through the webhook.
    """
    folder = tmp_path_factory.mktemp("certificates")
    async with secured(shared_control_plane, folder) as running:
        yield running


@pytest_asyncio.fixture
async def cluster(api: Api, extender: GpuExtender) -> AsyncIterator[Cluster]:
    """Give nodes and pods of its own to a test, beside the `extender` of its file."""
    async with clustered(api) as empty:
        yield empty


async def _empty(api: Api) -> None:
    default = "/api/v1/namespaces/default"
    await api.delete(f"{default}/resourcequotas")
    pods = await api.items("/api/v1/pods")
    nodes = await api.items("/api/v1/nodes")
    paths = [
        *map(path_of, pods),
        *(node_path(node["metadata"]["name"]) for node in nodes),
    ]
    some = asyncio.Semaphore(32)

    async def delete(path: str) -> None:
        async with some:
            await api.delete(path)

    async with asyncio.TaskGroup() as tasks:
        for path in paths:
            tasks.create_task(delete(path))
