"""The API server accepts every overlay; what would be written is not written.

`test_installation` writes it.
"""

import pytest

from tests.control_plane.client import Api
from tests.control_plane.installed import OVERLAYS, kubectl
from tests.control_plane.plane import ControlPlane
from tests.control_plane.standins import define

NAMES = sorted(path.name for path in OVERLAYS.iterdir())


@pytest.mark.parametrize("overlay", NAMES)
async def test_overlay_is_accepted(
    control_plane: ControlPlane, api: Api, overlay: str
) -> None:
    """By the schema of each kind, field by field, and without a warning."""
    await define(api)
    said = await kubectl(
        control_plane,
        *("apply", "-k", OVERLAYS / overlay, "--server-side", "--dry-run=server"),
        *("--force-conflicts", "--warnings-as-errors"),
    )
    assert "deployment.apps/gpu-extender serverside-applied" in said
    assert "configmap/gpu-extender-scheduler-" in said
