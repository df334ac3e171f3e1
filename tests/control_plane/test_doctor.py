"""The doctor on a real API server: what it finds there, and what it may mend."""

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Final

from tests.builders import Json, node, pod
from tests.control_plane.client import PLUGIN, Api, node_path
from tests.control_plane.plane import ControlPlane, User
from tests.control_plane.plugin import (
    ALLOCATED,
    BIND_PHASE,
    LOCK,
    TO_ALLOCATE,
    VGPU_NODE,
)

OF_NOBODY: Final = "2026-01-01T00:00:00Z,default,gone"
OF_OWNER: Final = "2026-01-01T00:00:00Z,default,owner"
ROWS: Final = "GPU-a,NVIDIA,1000,0:;"
UNSERVED: Final = {
    VGPU_NODE: "n1",
    ALLOCATED: ROWS,
    TO_ALLOCATE: ROWS,
    BIND_PHASE: "allocating",
}


@dataclass(frozen=True, slots=True)
class Told:
    """What the command did."""

    code: int
    found: Json
    said: str

    def of(self, code: str) -> list[Json]:
        """Take the diagnoses of one code."""
        return [each for each in self.found["diagnoses"] if each["code"] == code]


async def doctor(plane: ControlPlane, user: User, *options: str) -> Told:
    """Run the command as a user."""
    command = [sys.executable, "-m", "extender", "doctor", "-o", "json"]
    done = await asyncio.to_thread(
        subprocess.run,
        [*command, "--kubeconfig", str(plane.kubeconfig(user)), *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Told(done.returncode, json.loads(done.stdout), done.stderr)


async def locked(api: Api, name: str, value: str) -> None:
    """Create a node whose lock is held."""
    await api.create_node(node(name).gpu("GPU-a").build())
    change = {"metadata": {"annotations": {LOCK: value}}}
    await api.acting_as(PLUGIN).patch(node_path(name), change)


async def lock_of(api: Api, name: str) -> str | None:
    """Read a node's lock."""
    annotations = (await api.get(node_path(name)))["metadata"]["annotations"]
    found: str | None = annotations.get(LOCK)
    return found


async def test_leaked_lock_is_found_and_released(
    control_plane: ControlPlane, api: Api
) -> None:
    """By who may write locks; whom the guard refuses is told so."""
    await locked(api, "n1", OF_NOBODY)
    told = await doctor(control_plane, User.ADMIN)
    [leaked] = told.of("LeakedLock")
    assert told.code == 1
    assert leaked["fix"] == {"node": "n1", "value": OF_NOBODY}
    assert await lock_of(api, "n1") == OF_NOBODY

    refused = await doctor(control_plane, User.ADMIN, "--fix", "--yes")
    assert "node n1: its lock is not released: " in refused.said
    assert "written by the GPU extender and device plugins alone" in refused.said
    assert await lock_of(api, "n1") == OF_NOBODY

    fixed = await doctor(control_plane, User.EXTENDER, "--fix", "--yes")
    assert f"to do: release the lock of node n1, if it still is {OF_NOBODY}" in (
        fixed.said
    )
    assert "node n1: its lock is released: the pod that it was set for is gone" in (
        fixed.said
    )
    assert await lock_of(api, "n1") is None
    assert (await doctor(control_plane, User.EXTENDER)).of("LeakedLock") == []


async def test_lock_that_is_needed_stays(control_plane: ControlPlane, api: Api) -> None:
    """Its pod is bound, and waits for its devices: the plugin may still serve it."""
    await locked(api, "n1", OF_OWNER)
    created = await api.create_pod(pod("owner").app("a", gpu=1, gpumem=1_000).build())
    await api.bind(created, "n1", UNSERVED)
    told = await doctor(control_plane, User.EXTENDER, "--fix", "--yes")
    assert "nothing that --fix could do" in told.said
    assert told.of("LeakedLock") == []
    assert await lock_of(api, "n1") == OF_OWNER


async def test_edited_allocation_is_found(
    control_plane: ControlPlane, api: Api
) -> None:
    """By what the same container would be given of the same card."""
    await api.create_node(node("n1").gpu("GPU-a").build())
    created = await api.create_pod(pod("owner").app("a", gpu=1, gpumem=2_000).build())
    await api.bind(created, "n1", {**UNSERVED, TO_ALLOCATE: ";", BIND_PHASE: "success"})
    told = await doctor(control_plane, User.EXTENDER)
    [differs] = told.of("AllocationDiffersFromSpec")
    assert differs["about"] == "pod default/owner"
    assert differs["evidence"] == [
        "a asks for 2000 MiB, 0 % of cores and has 1000 MiB, 0 % of cores on GPU-a"
    ]
