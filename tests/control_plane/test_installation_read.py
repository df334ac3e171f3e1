"""The installation as a real API server has it: well, and with one thing wrong."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest_asyncio

from extender.cli.installed import examine_installation
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.kube.certificate import Certificate
from extender.verbs.doctor.examination import Consulted, Examination
from extender.verbs.installation.documents import Demand
from tests.control_plane.client import Api
from tests.control_plane.installed import (
    CONFIGURATIONS,
    DEPLOYMENT,
    OVERLAYS,
    gpu_extender,
    kubeconfig_of,
    kubectl,
)
from tests.control_plane.plane import ControlPlane

DEMAND: Final = Demand(Kinds([NVIDIA]), frozenset([NVIDIA.type_word]), node_count=200)
OVERLAY: Final = OVERLAYS / "generated-certificate"
NAMES: Final = ["gpu-extender.gpu-extender.svc"]

AS_INSTALLED: Final = [
    ("GuardOnlyTells", "guard gpu-extender-guard-schedulers"),
    ("WebhookUnreachable", "webhook pods.gpu-extender.hami.io"),
    ("WebhookUnreachable", "webhook quota.gpu-extender.hami.io"),
]
"""No kubelet runs its pods here, so that nobody answers at the Service: that is so."""


@pytest_asyncio.fixture
async def installed(
    own_plane: ControlPlane, administrator: Api, tmp_path: Path
) -> AsyncIterator[Api]:
    """Install everything with a certificate that the API server trusts."""
    await kubectl(own_plane, "apply", "--server-side", "-k", OVERLAY)
    try:
        kubeconfig = own_plane.kubeconfig()
        await gpu_extender("certificate", "--kubeconfig", kubeconfig)
        yield administrator
    finally:
        await kubectl(own_plane, "delete", "-k", OVERLAY, "--ignore-not-found")


async def examined(
    kubeconfig: Path, demand: Demand = DEMAND
) -> tuple[list[tuple[str, str]], list[Consulted]]:
    """Read all, and check it."""
    nothing = Examination((), (), demand.node_count, 0)
    told = await asyncio.to_thread(
        lambda: examine_installation(nothing, demand, kubeconfig=kubeconfig)
    )
    return sorted((each.code, each.about) for each in told.diagnoses), [*told.consulted]


async def test_installation_is_read_whole(
    own_plane: ControlPlane, installed: Api
) -> None:
    """Every part by the shipped names, and nothing wrong but what is."""
    found, consulted = await examined(own_plane.kubeconfig())
    assert [each for each in consulted if each.problem] == []
    assert [each.what for each in consulted] == [
        "version of the API server",
        "deployment gpu-extender/gpu-extender",
        "arguments of the extender",
        "configuration of kube-scheduler",
        "certificate",
        "webhooks",
        "guards",
        "services of webhooks",
    ]
    assert found == AS_INSTALLED


async def test_bad_bundle_is_found(own_plane: ControlPlane, installed: Api) -> None:
    """Of another authority, of none, and no certificate at all."""
    path = CONFIGURATIONS[0]
    webhooks = (await installed.get(path))["webhooks"]
    about = "webhook pods.gpu-extender.hami.io"
    other = Certificate.made(NAMES, datetime.now(UTC)).authority
    for bundle, code in ((other, "WebhookCaDiffers"), (None, "WebhookWithoutCa")):
        text = None if bundle is None else b64encode(bundle).decode()
        webhooks[0]["clientConfig"]["caBundle"] = text
        await installed.patch(path, {"webhooks": webhooks})
        found, _ = await examined(own_plane.kubeconfig())
        assert (code, about) in found
        assert len(found) == len(AS_INSTALLED) + 1


async def test_slips_of_an_administrator_are_found(
    own_plane: ControlPlane, installed: Api
) -> None:
    """A flag of the extender, the image of kube-scheduler, a guard, an account."""
    deployment = await installed.get(DEPLOYMENT)
    containers: list[dict[str, Any]] = deployment["spec"]["template"]["spec"][
        "containers"
    ]
    scheduler, extender = containers
    scheduler["image"] = "registry.k8s.io/kube-scheduler:v1.31.0"
    extender["args"] = [
        each.replace("--listen=127.0.0.1:8080", "--listen=127.0.0.1:8081")
        for each in extender["args"]
    ]
    change = {"spec": {"template": {"spec": {"containers": containers}}}}
    await installed.patch(DEPLOYMENT, change)
    lists = "/api/v1/namespaces/gpu-extender/configmaps/gpu-extender-guard"
    await installed.patch(lists, {"data": {"accounts": "somebody"}})
    policy = "validatingadmissionpolicies/gpu-extender-guard-nodes"
    await installed.delete(f"/apis/admissionregistration.k8s.io/v1/{policy}")
    found, _ = await examined(own_plane.kubeconfig())
    assert sorted({code for code, _ in found} - {code for code, _ in AS_INSTALLED}) == [
        "GuardMissing",
        "GuardRefusesUs",
        "SchedulerAsksElsewhere",
        "VersionSkew",
    ]


async def test_what_may_not_be_read_is_told(
    own_plane: ControlPlane, installed: Api, tmp_path: Path
) -> None:
    """As an account that may read nothing of it: no trouble is made up."""
    kubeconfig = await kubeconfig_of(own_plane, installed, "gpu-extender", tmp_path)
    found, consulted = await examined(kubeconfig, replace(DEMAND, node_count=0))
    refused = [each.what for each in consulted if "forbidden" in each.problem]
    assert refused == [
        "deployment gpu-extender/gpu-extender",
        "webhooks",
        "guards",
    ]
    assert found == []
