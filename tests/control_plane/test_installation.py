"""What an overlay installs on a real API server, and what then runs."""

import asyncio
import ssl
import sys
from base64 import b64decode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from tests.builders import Json, node, pod
from tests.control_plane.client import Api, node_path, pod_path
from tests.control_plane.component import HOST, Component, free_port
from tests.control_plane.installed import (
    CONFIGURATIONS,
    DEPLOYMENT,
    NAMESPACE,
    OVERLAYS,
    bundles,
    gpu_extender,
    kubeconfig_of,
    kubectl,
)
from tests.control_plane.plane import ControlPlane

pytestmark = pytest.mark.verify

LEASE: Final = (
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/gpu-scheduler"
)
SECRET: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets/gpu-extender-tls"
SERVICE: Final = "gpu-extender.gpu-extender.svc"
GIB: Final = 1024


@pytest_asyncio.fixture
async def installed(
    own_plane: ControlPlane, administrator: Api, request: pytest.FixtureRequest
) -> AsyncIterator[str]:
    """Install an overlay, and remove it afterwards."""
    overlay = getattr(request, "param", "generated-certificate")
    await kubectl(own_plane, "apply", "--server-side", "-k", OVERLAYS / overlay)
    try:
        yield overlay
    finally:
        await kubectl(
            own_plane, "delete", "-k", OVERLAYS / overlay, "--ignore-not-found"
        )


@pytest.mark.parametrize(
    "installed", [path.name for path in OVERLAYS.iterdir()], indirect=True
)
async def test_pods_of_an_overlay_are_created(
    own_plane: ControlPlane, administrator: Api, installed: str
) -> None:
    """Nothing stops them: not our webhooks, and not the security of the namespace."""
    shown = await administrator.when(
        DEPLOYMENT,
        lambda each: each.get("status", {}).get("replicas") == each["spec"]["replicas"],
        wanted="created",
    )
    assert shown["spec"]["replicas"] == (2 if installed == "highly-available" else 1)
    # Again, as for an update: nothing is in the way.
    await kubectl(own_plane, "apply", "--server-side", "-k", OVERLAYS / installed)


async def certified(own_plane: ControlPlane, api: Api, folder: Path) -> str:
    """Do what the Job does, with its arguments and its rights."""
    account = "gpu-extender-certificate"
    path = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{account}"
    (container,) = (await api.get(path))["spec"]["template"]["spec"]["containers"]
    kubeconfig = await kubeconfig_of(own_plane, api, account, folder)
    return await gpu_extender(*container["args"], "--kubeconfig", kubeconfig)


def files_of(secret: Json, folder: Path) -> Path:
    """Write what is mounted."""
    for name, value in secret["data"].items():
        (folder / name).write_bytes(b64decode(value))
    return folder


def shakes_hands(files: Path, trusted: str) -> None:
    """Have a client that trusts some authorities greet a server, in memory.

    Raises:
        ssl.SSLError: It does not trust the server.
    """
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(files / "tls.crt", files / "tls.key")
    client = ssl.create_default_context(cadata=trusted)
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(back, there, server_hostname=SERVICE),
        server.wrap_bio(there, back, server_side=True),
    ]
    for _ in range(3):
        for end in list(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            ends.remove(end)
    assert not ends


async def test_certificate_is_made_kept_and_replaced(
    own_plane: ControlPlane, administrator: Api, installed: str, tmp_path: Path
) -> None:
    """The API server trusts it; what is good stays; both are trusted over a change."""
    said = await certified(own_plane, administrator, tmp_path)
    assert "secret gpu-extender/gpu-extender-tls: a new certificate" in said
    secret = await administrator.get(SECRET)
    assert secret["type"] == "kubernetes.io/tls"
    files = files_of(secret, tmp_path)
    (trusted,) = await bundles(administrator)
    shakes_hands(files, trusted.decode())

    assert "nothing to do" in await certified(own_plane, administrator, tmp_path)
    # Applied again, the webhooks keep what they trust.
    await kubectl(own_plane, "apply", "--server-side", "-k", OVERLAYS / installed)
    assert await bundles(administrator) == {trusted}
    assert (await administrator.get(SECRET))["data"] == secret["data"]

    await administrator.patch(SECRET, {"data": {"tls.crt": secret["data"]["ca.crt"]}})
    await certified(own_plane, administrator, tmp_path)
    (both,) = await bundles(administrator)
    shakes_hands(files, both.decode())
    files_of(await administrator.get(SECRET), files)
    shakes_hands(files, both.decode())
    with pytest.raises(ssl.SSLError):
        shakes_hands(files, trusted.decode())


async def test_installed_scheduler_places_a_pod(
    own_plane: ControlPlane, administrator: Api, installed: str, tmp_path: Path
) -> None:
    """By the arguments, files and rights that are installed, on other ports."""
    api = administrator
    await certified(own_plane, api, tmp_path)
    folder = files_of(await api.get(SECRET), tmp_path)
    template = (await api.get(DEPLOYMENT))["spec"]["template"]["spec"]
    scheduler, extender = template["containers"]
    files = {volume["name"]: volume for volume in template["volumes"]}
    for name in ("scheduler", "devices"):
        path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
        shown = await api.get(f"{path}/{files[name]['configMap']['name']}")
        for key, text in shown["data"].items():
            (folder / key).write_text(text)
    kubeconfig = await kubeconfig_of(own_plane, api, "gpu-extender", folder)
    ports = {str(port): str(free_port()) for port in (8080, 9443, 9395, 10259)}
    moved = {
        "/etc/gpu-extender/scheduler": str(folder),
        "/etc/gpu-extender/devices": str(folder),
        "/etc/gpu-extender/tls": str(folder),
        "/etc/kubernetes/scheduler.conf": str(kubeconfig),
        "--in-cluster": f"--kubeconfig={kubeconfig}",
        "0.0.0.0:": f"{HOST}:",
        **{f":{port}": f":{moved_to}" for port, moved_to in ports.items()},
    }

    def here(text: str) -> str:
        for before, now in moved.items():
            text = text.replace(before, now)
        return text

    configured = folder / "kube-scheduler.yaml"
    configured.write_text(here(configured.read_text()))
    of_scheduler = [*map(here, scheduler["args"]), f"--secure-port={ports['10259']}"]
    command = own_plane.binaries.kube_scheduler
    components = [
        Component(
            "installed-extender",
            [
                *("env", f"no_proxy={HOST}", sys.executable, "-m", "extender"),
                *map(here, extender["args"]),
                f"--lease-namespace={NAMESPACE}",
            ],
            folder,
        ),
        Component(
            "installed-scheduler",
            [command, *of_scheduler, f"--bind-address={HOST}"],
            folder,
        ),
    ]
    for path in CONFIGURATIONS:
        # The API server asks the Service, and no network of pods leads there.
        await api.delete(path)
    try:
        for each in components:
            each.start()
        await api.create_node(node("n1").gpu("GPU-a", memory=16 * GIB).build())
        asking = pod("train").app("a", gpu=1, gpumem=4 * GIB).build()
        await api.create_pod(asking, scheduler_name="gpu-scheduler")
        bound = await api.when(
            pod_path("train"),
            lambda each: bool(each["spec"].get("nodeName")),
            seconds=60,
            wanted="bound",
        )
        annotations = bound["metadata"]["annotations"]
        assert "GPU-a" in annotations["hami.io/vgpu-devices-to-allocate"]
        assert (await api.get(LEASE))["spec"]["holderIdentity"]
    finally:
        for each in components:
            await asyncio.to_thread(each.stop)
        await api.delete(pod_path("train"))
        await api.delete(node_path("n1"))
    for each in components:
        assert "forbidden" not in each.log.read_text(), each.name
