"""The Dockerfile's own commands, run in bare roots: what comes of them serves."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from tests.control_plane.component import free_port
from tests.image.conftest import ROOT
from tests.image.stages import Image

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900, func_only=True)]

MIB: Final = 1024 * 1024
MOST_MIB: Final = 250
"""What the image adds to its base; NumPy is a third of it."""


@contextmanager
def container(image: Image, port: int) -> Iterator["subprocess.Popen[str]"]:
    """Run the image as a container with the example cluster, which serves on a port."""
    cluster = image.root.inside("/cluster.yaml")
    cluster.write_bytes((ROOT / "config" / "example-cluster.yaml").read_bytes())
    cluster.chmod(0o644)
    words = ["serve", "--cluster", "/cluster.yaml", "--listen", f"127.0.0.1:{port}"]
    with subprocess.Popen(
        image.root.command([*image.entrypoint, *words]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def health(image: Image, port: int) -> "subprocess.CompletedProcess[str]":
    """Ask as the container runtime does."""
    url = {"GPU_EXTENDER_HEALTH_URL": f"http://127.0.0.1:{port}"}
    return image.root.run(image.healthcheck, environment=url)


def test_version(image: Image) -> None:
    """The entry point is the project's command."""
    done = image.root.run([*image.entrypoint, "--version"])

    assert done.returncode == 0, done.stderr
    assert done.stdout == "gpu-extender, version 0.1.0\n"


def test_serves_as_nobody(image: Image) -> None:
    """Without root it serves, is healthy, and ends well by a signal."""
    port = free_port()
    before = health(image, port)
    assert before.returncode == 1, before
    with container(image, port) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "Ctrl-C" in line:
                break
        done = health(image, port)
        process.terminate()
        told = process.stderr.read() if process.stderr else ""
        assert process.wait(30) == 0, told
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_is_not_root(image: Image) -> None:
    """What runs is neither root nor of a group of root's."""
    done = image.root.run(
        [
            "python",
            "-c",
            "import os; print(os.getresuid(), os.getresgid(), os.getgroups())",
        ]
    )

    nobody = "(65532, 65532, 65532)"
    assert done.stdout == f"{nobody} {nobody} []\n", done.stderr


def test_nothing_of_it_can_be_changed(image: Image) -> None:
    """All of the place is root's, and others may not write."""
    place = image.root.inside("/opt/gpu-extender")
    files = [place, *place.rglob("*")]
    open_to_all = [
        file for file in files if not file.is_symlink() and file.stat().st_mode & 0o022
    ]

    assert len(files) > 1000
    assert open_to_all == []


def test_is_small(image: Image) -> None:
    """No pip, no cache, no tool that builds; and not much in all."""
    place = image.root.inside("/opt/gpu-extender")
    packages = {path.name for path in place.glob("lib/python3.*/site-packages/*")}
    size = sum(file.lstat().st_size for file in place.rglob("*") if not file.is_dir())

    assert "extender" in packages
    assert packages.isdisjoint({"pip", "hatchling", "setuptools"})
    assert not list(place.rglob("*.whl"))
    assert size / MIB < MOST_MIB
