"""``kubectl gpu`` by the real kubectl: its cluster, context, namespace, completion."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.builders import node, pod
from tests.control_plane.client import Api
from tests.control_plane.plane import ControlPlane, User

PROGRAMS: Final = Path(sys.executable).parent
"""Where the package's commands are installed, ``kubectl-gpu`` among them."""

TOO_LARGE: Final = pod("too-large", "team").app("a", gpu=1, gpumem=90_000)


async def kubectl(
    plane: ControlPlane, *arguments: str, kubeconfig: Path | str | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run kubectl as a user who has set nothing but KUBECONFIG and PATH."""
    return await asyncio.to_thread(
        subprocess.run,
        [str(plane.binaries.kubectl), *arguments],
        env={
            "PATH": f"{PROGRAMS}:/usr/bin:/bin",
            "HOME": str(plane.folder),
            "KUBECONFIG": str(kubeconfig or plane.kubeconfig(User.ADMIN)),
            "no_proxy": "127.0.0.1",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def contexts(control_plane: ControlPlane, tmp_path: Path) -> Path:
    """Give a kubeconfig whose current context is of namespace team, and another."""
    shown = yaml.safe_load(control_plane.kubeconfig(User.ADMIN).read_text())
    [context] = shown["contexts"]
    of_team = {**context["context"], "namespace": "team"}
    shown["contexts"] = [
        {"name": "team", "context": of_team},
        {"name": "plain", "context": context["context"]},
    ]
    shown["current-context"] = "team"
    written = tmp_path / "kubeconfig"
    written.write_text(yaml.safe_dump(shown))
    return written


async def test_plugin_is_found_and_completed(control_plane: ControlPlane) -> None:
    """Commands, options and values, and files where a file is meant."""
    listed = await kubectl(control_plane, "plugin", "list")
    assert str(PROGRAMS / "kubectl-gpu") in listed.stdout
    for words, completed in (
        (["gpu", "expl"], ["explain\tExplain where a pod fits,", ":4"]),
        (["gpu", "explain", "-o", "y"], ["yaml", ":4"]),
        (["gpu", "explain", "-f", ""], [":0"]),
    ):
        found = await kubectl(control_plane, "__complete", *words)
        lines = found.stdout.splitlines()
        assert len(lines) == len(completed)
        for line, begin in zip(lines, completed, strict=True):
            assert line.startswith(begin)


async def test_cluster_and_namespace_are_those_of_kubectl(
    control_plane: ControlPlane, api: Api, contexts: Path
) -> None:
    """The current context's, unless a command is told otherwise."""
    await api.create_node(node("n1").gpu("GPU-a").build())
    await api.create_namespace("team")
    await api.create_pod(TOO_LARGE.build())
    told = await kubectl(
        control_plane, "gpu", "explain", "too-large", kubeconfig=contexts
    )
    assert told.returncode == 1
    assert told.stdout.startswith("team/too-large: fits on none of 1 nodes")
    named = await kubectl(
        control_plane,
        *("gpu", "explain", "too-large", "-n", "team", "--context", "plain"),
        kubeconfig=contexts,
    )
    assert named.stdout == told.stdout
    other = await kubectl(
        control_plane,
        *("gpu", "explain", "too-large", "--context", "plain"),
        kubeconfig=contexts,
    )
    assert other.returncode == 2
    assert other.stderr.startswith("kubectl gpu: pod default/too-large is not known")
    merged = await kubectl(
        control_plane, "gpu", "inspect", kubeconfig=f"/nowhere/config:{contexts}"
    )
    assert merged.returncode == 0
    assert "1 nodes with devices" in merged.stdout


async def test_what_is_missing_is_named(
    control_plane: ControlPlane, contexts: Path
) -> None:
    """A context, a kubeconfig, a command: one line, and what to do next."""
    for arguments, kubeconfig, said in (
        (("inspect", "--context", "none"), contexts, "none"),
        (("inspect",), Path("/nowhere/config"), "/nowhere/config: No such file"),
        (("inspekt",), contexts, "Did you mean 'inspect'?"),
    ):
        told = await kubectl(control_plane, "gpu", *arguments, kubeconfig=kubeconfig)
        assert told.returncode == 2
        assert said in told.stderr
        assert "Traceback" not in told.stderr
