"""The chart installs what kustomize does, and values reach all that they are about."""

import asyncio
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.builders import Json
from tests.control_plane import binaries
from tests.control_plane.client import Api
from tests.control_plane.installed import (
    CHART,
    DEPLOYMENT,
    NAMESPACE,
    OVERLAYS,
    CommandError,
    bundles,
    gpu_extender,
    helm,
    kubeconfig_of,
    kubectl,
    objects,
    run,
)
from tests.control_plane.plane import ControlPlane

pytestmark = pytest.mark.verify

VALUES: Final[Json] = {
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
    "prometheus": {"enabled": True},
}
"""Some of HAMi's names and some of ours, none by its default."""


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
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(VALUES))
    rendered = await helm(
        own_plane,
        helm_program,
        *("template", "gpu", CHART, "--namespace", "other"),
        *("--kube-version", binaries.VERSION, "--values", tmp_path / "values.yaml"),
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
    (health,) = second["env"]
    assert health["value"] == "https://127.0.0.1:9396"
    assert "PrometheusRule/other/gpu-extender" in found


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
