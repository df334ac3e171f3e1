"""What users type to install, against a real API server, and what then runs."""

import asyncio
import ssl
import sys
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
import yaml

from tests.builders import Json, node, pod
from tests.control_plane import binaries, plane
from tests.control_plane.binaries import Binaries
from tests.control_plane.client import Api, node_path, pod_path
from tests.control_plane.component import HOST, Component, free_port
from tests.control_plane.installed import (
    CHART,
    NAMESPACE,
    OVERLAYS,
    CommandError,
    gpu_extender,
    helm,
    kubeconfig_of,
    kubectl,
    objects,
    run,
)
from tests.control_plane.plane import ControlPlane
from tests.control_plane.standins import define

pytestmark = pytest.mark.verify

DEPLOYMENT: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/gpu-extender"
LEASE: Final = (
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/gpu-scheduler"
)
SECRET: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets/gpu-extender-tls"
ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS: Final = tuple(
    f"{ADMISSION}/{kind}webhookconfigurations/gpu-extender"
    for kind in ("mutating", "validating")
)
SERVICE: Final = "gpu-extender.gpu-extender.svc"
GIB: Final = 1024


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


async def bundles(api: Api) -> set[bytes]:
    """Give what the webhooks trust."""
    return {
        b64decode(webhook["clientConfig"].get("caBundle", ""))
        for path in CONFIGURATIONS
        for webhook in (await api.get(path))["webhooks"]
    }


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


@pytest.mark.parametrize(
    ("values", "components"),
    [
        ([], ["generated-certificate"]),
        (["scheduler.certManager.enabled=true"], ["cert-manager"]),
        (["scheduler.replicas=2"], ["generated-certificate", "highly-available"]),
        (["prometheus.enabled=true"], ["generated-certificate", "monitoring"]),
    ],
    ids=["default", "cert-manager", "highly-available", "monitoring"],
)
async def test_chart_and_kustomize_install_the_same(
    own_plane: ControlPlane,
    helm_program: Path,
    tmp_path: Path,
    values: list[str],
    components: list[str],
) -> None:
    """Every object, field by field, up to labels and what each tool adds by itself."""
    sets = [word for value in values for word in ("--set", value)]
    rendered = await helm(
        own_plane,
        helm_program,
        *("template", "gpu", CHART, "--namespace", NAMESPACE),
        *("--kube-version", binaries.VERSION, *sets),
    )
    manifests = OVERLAYS.parent
    # kustomize wants relative paths, and a folder of its own.
    up = Path(*[".."] * (len(tmp_path.parts) - 1))
    overlay = {
        "resources": [str(up / str(manifests / "base").lstrip("/"))],
        "components": [
            str(up / str(manifests / "components" / each).lstrip("/"))
            for each in components
        ],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    built = await asyncio.to_thread(
        run, [own_plane.binaries.kubectl, "kustomize", tmp_path]
    )
    assert objects(rendered) == objects(built)


async def test_helm_installs_upgrades_and_removes(
    own_plane: ControlPlane, administrator: Api, helm_program: Path, tmp_path: Path
) -> None:
    """Also beside HAMi's own names of values, and what was trusted stays trusted."""
    release = ("gpu", CHART, "--namespace", NAMESPACE)
    said = await helm(
        own_plane,
        helm_program,
        *("install", *release, "--create-namespace"),
        *("--set", "devicePlugin.deviceSplitCount=10,scheduler.leaderElect=true"),
    )
    assert "no effect here: devicePlugin (all but runtimeClassName)" in said
    await administrator.when(
        DEPLOYMENT, lambda each: each.get("status", {}).get("replicas") == 1
    )
    account = "gpu-extender-certificate"
    kubeconfig = await kubeconfig_of(own_plane, administrator, account, tmp_path)
    await gpu_extender("certificate", "--kubeconfig", kubeconfig)
    trusted = await bundles(administrator)
    await helm(
        own_plane, helm_program, "upgrade", *release, "--set", "scheduler.replicas=2"
    )
    await administrator.when(
        DEPLOYMENT, lambda each: each.get("status", {}).get("replicas") == 2
    )
    assert await bundles(administrator) == trusted
    await helm(own_plane, helm_program, "uninstall", "gpu", "--namespace", NAMESPACE)
    await administrator.when_gone(DEPLOYMENT)
    await kubectl(own_plane, "delete", "namespace", NAMESPACE, "--wait")


async def test_values_reach_everything(
    own_plane: ControlPlane, helm_program: Path, tmp_path: Path
) -> None:
    """Another namespace, scheduler and resource, in each object that names them."""
    values: Json = {
        "schedulerName": "hami-scheduler",
        "resourceName": "example.com/gpu",
        "scheduler": {
            "service": {"httpTargetPort": 9444},
            "metricsBindAddress": ":9396",
            "nodeLabelSelector": {"gpu": "on"},
            "kubeScheduler": {"extraNewArgs": ["--config=/config/config.yaml"]},
            "extender": {"extraArgs": ["--debug", "-v=4", "--burst=throughput"]},
            "admissionWebhook": {"resources": ["example.com/npu"]},
            "defaultSchedulerPolicy": {"defaultMemory": 5000, "defaultCores": 10},
        },
        "guard": {"accounts": ["system:serviceaccount:x:plugin"]},
    }
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    rendered = await helm(
        own_plane,
        helm_program,
        *("template", "gpu", CHART, "--namespace", "other"),
        *("--values", tmp_path / "values.yaml"),
    )
    assert "namespace: gpu-extender" not in rendered
    assert ".gpu-extender.svc" not in rendered
    assert "serviceaccount:gpu-extender:" not in rendered
    found = objects(rendered)
    asked = found["ConfigMap/other/gpu-extender-scheduler"]["data"]
    scheduler = yaml.safe_load(asked["kube-scheduler.yaml"])
    assert scheduler["profiles"] == [{"schedulerName": "hami-scheduler"}]
    assert scheduler["leaderElection"]["resourceName"] == "hami-scheduler"
    managed = [each["name"] for each in scheduler["extenders"][0]["managedResources"]]
    assert managed[:2] == ["example.com/gpu", "nvidia.com/gpumem"]
    made = found["ConfigMap/other/gpu-extender-devices"]["data"]["device-config.yaml"]
    kind = yaml.safe_load(made)["nvidia"]
    assert kind["resourceCountName"] == "example.com/gpu"
    assert (kind["defaultMemory"], kind["defaultCores"]) == (5000, 10)
    (tmp_path / "devices.yaml").write_text(made)
    await gpu_extender("check-config", tmp_path / "devices.yaml")
    for configuration in ("Mutating", "Validating"):
        path = f"{configuration}WebhookConfiguration//gpu-extender"
        (webhook,) = found[path]["webhooks"]
        (condition,) = webhook["matchConditions"]
        for name in ("example.com/gpu", "example.com/npu", "nvidia.com/gpumem"):
            assert f"'{name}'" in condition["expression"]
        assert "'nvidia.com/gpu'" not in condition["expression"]
    guarded = found["ConfigMap/other/gpu-extender-guard"]["data"]
    assert "example.com/gpu" in guarded["countResources"].split()
    assert "system:serviceaccount:x:plugin" in guarded["accounts"].split()
    assert "system:serviceaccount:other:gpu-extender" in guarded["accounts"].split()
    pods = found["Deployment/other/gpu-extender"]["spec"]["template"]["spec"]
    first, second = pods["containers"]
    assert [each for each in first["args"] if "--config" in each] == [
        "--config=/etc/gpu-extender/scheduler/kube-scheduler.yaml"
    ]
    assert second["args"][-2:] == ["--node-label-selector=gpu=on", "--burst=throughput"]
    assert {each["containerPort"] for each in second["ports"]} == {9444, 9396}
    assert "--scheduler-name=hami-scheduler" in second["args"]
    assert "--metrics-listen=0.0.0.0:9396" in second["args"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("scheduler.replcas=2", "Additional property replcas is not allowed"),
        ("resourceName=gpu", "resourceName: Does not match pattern"),
        ("scheduler.replicas=0", "scheduler.replicas: Must be greater than"),
        ("scheduler.extenderHTTPTimeout=5", "extenderHTTPTimeout: Must be greater"),
    ],
)
async def test_wrong_value_is_named(
    own_plane: ControlPlane, helm_program: Path, value: str, said: str
) -> None:
    """Nothing is installed by a name or a figure that nobody reads."""
    with pytest.raises(CommandError) as error:
        await helm(own_plane, helm_program, "template", "gpu", CHART, "--set", value)
    assert said in str(error.value)
