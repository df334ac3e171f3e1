"""``gpu-extender explain``: readable in 80 columns, the same from every source."""

import asyncio
from pathlib import Path

import pytest
import yaml

from extender.settings import HttpSettings, Part
from extender.verbs.explanation import Explanation
from extender.wire.views import decode_view
from tests.builders import node, pod
from tests.cli.command import EXAMPLE, PODS, gpu_extender, listed
from tests.web.doors import opened

TOO_LARGE = PODS / "too-large.yaml"
NODE = node("n1").gpu("GPU-a", memory=24_000)
HELD = (
    pod("held")
    .init("tokenize", gpu=1, gpumem=20_480)
    .app("a", gpu=1, gpumem=10_240)
    .holding("GPU-a,NVIDIA,20480,0:;GPU-a,NVIDIA,10240,0:;")
    .on("n1")
    .phase("Running")
)
WAITS = pod("waits").app("a", gpu=1, gpumem=12_000)


def described(*arguments: str | Path) -> Explanation:
    """Read what is printed for programs."""
    outcome = gpu_extender("explain", *arguments, "-o", "json")
    return decode_view(Explanation, outcome.json)


def test_pod_that_fits_nowhere() -> None:
    """What is missing, and where; the exit code says no."""
    outcome = gpu_extender("explain", "-f", TOO_LARGE, "--cluster", EXAMPLE)
    assert outcome.code == 1
    assert "research/too-large: fits on none of 7 nodes" in outcome.out
    assert "would fit on gpu-a100-01 if card 0 had 16384 MiB more" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_who_holds_what_until_when(tmp_path: Path) -> None:
    """By name, from a file of the cluster."""
    file = tmp_path / "cluster.json"
    file.write_text(listed(NODE, HELD, WAITS))
    outcome = gpu_extender("explain", "waits", "--cluster", file)
    text = " ".join(outcome.out.split())
    assert "would fit on n1 if 8480 MiB more were free on card 0" in text
    assert "default/held holds 1 slot, 20480 MiB (Running, init tokenize)" in text
    assert "10240 of 20480 MiB return when init tokenize exits" in text
    bound = gpu_extender("explain", "default/held", "--cluster", file)
    assert bound.code == 0
    assert "default/held: bound on n1" in bound.out


def test_yaml_and_wide(tmp_path: Path) -> None:
    """The same view; wide names the source, and every card."""
    asked = ("-f", TOO_LARGE, "--cluster", EXAMPLE)
    shown = yaml.safe_load(gpu_extender("explain", *asked, "-o", "yaml").out)
    assert shown["source"]["kind"] == "files"
    assert decode_view(Explanation, shown) == described(*asked)
    wide = gpu_extender("explain", *asked, "-o", "wide").out
    assert f"from files {EXAMPLE}" in wide
    assert "GPU-912a327c-f0e0-aa00-a627-1bf27b35e23f" in wide


def test_many_nodes_are_put_together(tmp_path: Path) -> None:
    """A few lines, however many; all names with wide."""
    file = tmp_path / "cluster.json"
    nodes = [node(f"n{at:03}").gpu("GPU-a", memory=9_000 + at) for at in range(200)]
    file.write_text(listed(*nodes, WAITS))
    outcome = gpu_extender("explain", "waits", "--cluster", file)
    assert len(outcome.out.splitlines()) < 30
    assert "and 197 more" in outcome.out
    assert "would fit on n199 if card 0 had 2801 MiB more" in outcome.out
    wide = gpu_extender("explain", "waits", "--cluster", file, "-o", "wide")
    assert all(f"n{at:03}" in wide.out for at in range(200))


async def test_running_extender_says_the_same(tmp_path: Path) -> None:
    """Over HTTP, by name and by manifest."""
    file = tmp_path / "dump.json"
    file.write_text(listed(NODE, HELD, WAITS))
    async with opened(tmp_path, HttpSettings(port=0), NODE, HELD, WAITS) as door:
        url = door.doors.urls[Part.METRICS]
        for asked in (("waits",), ("held",), ("-f", TOO_LARGE)):
            there = await asyncio.to_thread(described, *asked, "--server", url)
            here = await asyncio.to_thread(described, *asked, "--cluster", file)
            assert there == here
        missing = await asyncio.to_thread(
            gpu_extender, "explain", "other", "--server", url
        )
        assert "pod default/other is not known" in missing.complaint
        assert missing.code == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "give either a pod's name or -f"),
        (("p", "-f", TOO_LARGE), "give either a pod's name or -f"),
        (("-n", "a", "b/p"), "-n a and b/p name two namespaces"),
        (("-n", "a", "-f", TOO_LARGE), "-n goes with a pod's name"),
        (("p", "--server", "http://h:1"), "give exactly one of"),
    ],
)
def test_what_cannot_be_asked(
    arguments: tuple[str | Path, ...], complaint: str
) -> None:
    """A slip is named."""
    outcome = gpu_extender("explain", *arguments, "--cluster", EXAMPLE)
    assert outcome.code == 2
    assert complaint in outcome.complaint


def test_server_has_its_own_settings() -> None:
    """Others would be passed over silently."""
    asked = ("explain", "p", "--server", "http://127.0.0.1:1")
    outcome = gpu_extender(*asked, "--release", "never")
    assert outcome.code == 2
    assert "--release is not taken with --server" in outcome.complaint
