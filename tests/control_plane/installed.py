"""kubectl, helm and ``gpu-extender`` as they are typed, against a control plane."""

import asyncio
import json
import os
import subprocess
import sys
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from tests.builders import Json
from tests.control_plane.client import Api
from tests.control_plane.plane import ControlPlane

ROOT: Final = Path(__file__).parents[2]
OVERLAYS: Final = ROOT / "manifests" / "overlays"
CHART: Final = ROOT / "manifests" / "chart" / "gpu-extender"
NAMESPACE: Final = "gpu-extender"
DEPLOYMENT: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/gpu-extender"
_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS: Final = tuple(
    f"{_ADMISSION}/{kind}webhookconfigurations/gpu-extender"
    for kind in ("mutating", "validating")
)
_SECONDS: Final = 120.0
_HASHED: Final = "gpu-extender-scheduler-"


class CommandError(Exception):
    """A command ended with another code than 0; the message has what it said."""


def run(command: Sequence[str | Path], **environment: str | Path) -> str:
    """Run a command and give what it printed.

    Raises:
        CommandError: It failed.
    """
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        env={**os.environ, **{key: str(value) for key, value in environment.items()}},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    if done.returncode:
        raise CommandError(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


async def kubectl(plane: ControlPlane, *arguments: str | Path) -> str:
    """Run kubectl as administrator."""
    command = [plane.binaries.kubectl, "--kubeconfig", plane.kubeconfig(), *arguments]
    return await asyncio.to_thread(run, command)


async def helm(plane: ControlPlane, program: Path, *arguments: str | Path) -> str:
    """Run helm as administrator, with nothing of this machine's own helm."""
    names = ("HELM_CONFIG_HOME", "HELM_CACHE_HOME", "HELM_DATA_HOME")
    homes = dict.fromkeys(names, plane.folder / "helm")
    command = [program, "--kubeconfig", plane.kubeconfig(), *arguments]
    return await asyncio.to_thread(lambda: run(command, **homes))


async def kubeconfig_of(
    plane: ControlPlane, api: Api, account: str, folder: Path
) -> Path:
    """Let a service account in, as a pod of it would be; give its kubeconfig."""
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
    answer = await api.request("POST", path, body={"spec": {}})
    (folder / f"{account}.token").write_text(answer["status"]["token"])
    shown = yaml.safe_load(plane.kubeconfig().read_text())
    shown["users"][0]["user"] = {"tokenFile": str(folder / f"{account}.token")}
    written = folder / f"{account}.kubeconfig"
    written.write_text(yaml.safe_dump(shown))
    return written


async def gpu_extender(*arguments: str | Path) -> str:
    """Run a command of ours."""
    command = [sys.executable, "-m", "extender", *arguments]
    return await asyncio.to_thread(lambda: run(command, no_proxy="127.0.0.1"))


async def bundles(api: Api) -> set[bytes]:
    """Give the authorities that the webhooks trust, in PEM."""
    return {
        b64decode(webhook["clientConfig"].get("caBundle", ""))
        for path in CONFIGURATIONS
        for webhook in (await api.get(path))["webhooks"]
    }


def objects(text: str) -> dict[str, Json]:
    """Read a rendering: objects by kind, namespace and name, as they are compared.

    Left out is what each tool puts on by itself: labels, the hash in a ConfigMap's
    name, the checksum that does the same, and helm's number in the Job's name.
    """
    found: dict[str, Json] = {}
    for each in yaml.safe_load_all(text):
        if not each or each["kind"] == "Namespace":
            continue  # helm's --create-namespace
        metadata = each["metadata"]
        metadata.pop("labels", None)
        if metadata["name"].startswith(_HASHED) and each["kind"] == "ConfigMap":
            metadata["name"] = "gpu-extender-scheduler"
        if each["kind"] == "Job":
            metadata["name"] = "gpu-extender-certificate"
        if each["kind"] == "Deployment":
            template = each["spec"]["template"]
            template["metadata"]["annotations"].pop("checksum/kube-scheduler", None)
            for volume in template["spec"]["volumes"]:
                source = volume.get("configMap", {})
                if source.get("name", "").startswith(_HASHED):
                    source["name"] = "gpu-extender-scheduler"
        key = (each["kind"], metadata.get("namespace", ""), metadata["name"])
        assert "/".join(key) not in found
        found["/".join(key)] = json.loads(json.dumps(each))
    return found
