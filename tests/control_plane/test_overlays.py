"""The API server accepts every overlay; what would be written is not written.

`test_installation` writes it.
"""

import re
import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.control_plane.client import Api
from tests.control_plane.installed import OVERLAYS, ROOT, kubectl, objects
from tests.control_plane.plane import ControlPlane
from tests.control_plane.standins import define

NAMES: Final = sorted(path.name for path in OVERLAYS.iterdir())


async def accepted(plane: ControlPlane, api: Api, folder: Path) -> str:
    """Apply without writing: by each kind's schema, and without a warning."""
    await define(api)
    return await kubectl(
        plane,
        *("apply", "-k", folder, "--server-side", "--dry-run=server"),
        *("--force-conflicts", "--warnings-as-errors"),
    )


@pytest.mark.parametrize("overlay", NAMES)
async def test_overlay_is_accepted(
    control_plane: ControlPlane, api: Api, overlay: str
) -> None:
    """Field by field."""
    said = await accepted(control_plane, api, OVERLAYS / overlay)
    assert "deployment.apps/gpu-extender serverside-applied" in said
    assert "configmap/gpu-extender-scheduler-" in said


async def test_folder_of_the_page_is_accepted(
    control_plane: ControlPlane, api: Api, tmp_path: Path
) -> None:
    """With the components and images that it names."""
    for name in ("manifests", "config"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True)
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(# kust.*?)^```$", page, re.MULTILINE | re.DOTALL)
    own = tmp_path / "own"
    own.mkdir()
    (own / "kustomization.yaml").write_text(block)
    said = await accepted(control_plane, api, own)
    for each in ("poddisruptionbudget.policy", "podmonitor", "prometheusrule"):
        assert re.search(rf"^{each}[\w.-]*/gpu-extender ", said, re.MULTILINE), said
    found = objects(await kubectl(control_plane, "kustomize", own))
    deployment = found["Deployment/gpu-extender/gpu-extender"]["spec"]
    images = [each["image"] for each in deployment["template"]["spec"]["containers"]]
    assert images == [
        "registry.k8s.io/kube-scheduler:v1.34.2",
        "registry.example/gpu-extender:0.1.0",
    ]
    assert deployment["replicas"] == 2
