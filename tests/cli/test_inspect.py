"""``inspect`` and ``what-if``: readable in 80 columns, the same from every source."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from extender.cli.bars import bar
from extender.settings import HttpSettings, Part
from extender.verbs.inspection import ClusterInspection, InspectedNode, InspectedPod
from extender.verbs.supposition import WhatIf
from extender.wire.views import decode_view
from tests.builders import node, pod
from tests.cli.command import EXAMPLE, PODS, gpu_extender, listed
from tests.web.doors import opened

WHOLE = PODS / "whole-card.yaml"
NODE = node("n1").gpu("GPU-a", memory=24_000)
HELD = (
    pod("held")
    .init("tokenize", gpu=1, gpumem=20_480)
    .app("a", gpu=1, gpumem=10_240)
    .holding("GPU-a,NVIDIA,20480,0:;GPU-a,NVIDIA,10240,0:;")
    .on("n1")
    .phase("Running")
)
RESNET = "training/resnet-sweep-3-q9d2v"


def told(of: type[object], *arguments: str | Path) -> object:
    """Read what is printed for programs."""
    return decode_view(of, gpu_extender(*arguments, "-o", "json").json)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("inspect",),
            (
                "6 nodes with devices, 1 without",
                "65536 MiB stranded on 1 NVIDIA A100-SXM4-80GB: CardCordoned",
                "gpu-t4-01: NVIDIA: allocatable nvidia.com/gpu is 0: no live plugin",
                "███▋░░░░░░",
            ),
        ),
        (
            ("inspect", "gpu-a10-02"),
            (
                "█████████▊ 22528/23028 MiB",
                "10240 of 22528 MiB return when init augment exits",
                "closed: CardNotHealth, 23028 MiB stranded",
            ),
        ),
        (
            ("inspect", RESNET),
            ("allocated on gpu-a10-02", "init augment + metrics 2 22528 0"),
        ),
        (
            ("what-if", "-f", WHOLE, "--replicas", "40", "--add-nodes", "gpu-a10-01=2"),
            (
                "17 of 40 fit on 9 nodes",
                "~gpu-a10-01-1 4",
                "4/4 needs 23028 MiB, 8692 free",
                "6 gpu-a10-01 4",
            ),
        ),
        (("what-if", "-f", WHOLE), ("9 more fit on 7 nodes",)),
    ],
)
def test_readable_in_80_columns(
    arguments: tuple[str | Path, ...], words: tuple[str, ...]
) -> None:
    """Bars, names and numbers; no colours where nobody sees them."""
    outcome = gpu_extender(*arguments, "--cluster", EXAMPLE)
    text = " ".join(outcome.out.split())
    assert [each for each in words if each not in text] == []
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "\x1b" not in outcome.out


def test_wide_leaves_nothing_out() -> None:
    """The source, each card, and UUIDs."""
    wide = gpu_extender("inspect", "-o", "wide", "--cluster", EXAMPLE).out
    assert f"from files {EXAMPLE}" in " ".join(wide.split())
    assert "GPU-912a327c-f0e0-aa00-a627-1bf27b35e23f" in wide
    shown = yaml.safe_load(
        gpu_extender("inspect", "-o", "yaml", "--cluster", EXAMPLE).out
    )
    assert decode_view(ClusterInspection, shown) == told(
        ClusterInspection, "inspect", "--cluster", EXAMPLE
    )


def test_bars_tell_little_and_nearly_all_apart() -> None:
    """From nothing and from all."""
    assert [bar(part, 1_000, 3).plain for part in (0, 1, 999, 1_000, 2_000)] == [
        "░░░",
        "▏░░",
        "██▉",
        "███",
        "███",
    ]
    assert bar(2_000, 1_000, 3).style == "bold red"
    assert bar(1, 0, 3).plain == "░░░"


async def test_running_extender_says_the_same(tmp_path: Path) -> None:
    """Over HTTP, of all that can be asked."""
    file = tmp_path / "dump.json"
    file.write_text(listed(NODE, HELD))
    asked: tuple[tuple[type[object], tuple[str | Path, ...]], ...] = (
        (ClusterInspection, ("inspect",)),
        (InspectedNode, ("inspect", "n1")),
        (InspectedPod, ("inspect", "-n", "default", "held")),
        (WhatIf, ("what-if", "-f", WHOLE, "--add-nodes", "n1=2", "--replicas", "9")),
        (WhatIf, ("what-if", "-f", WHOLE, "--without", "default/held")),
    )
    async with opened(tmp_path, HttpSettings(port=0), NODE, HELD) as door:
        url = door.doors.urls[Part.METRICS]
        for of, arguments in asked:
            there = await asyncio.to_thread(told, of, *arguments, "--server", url)
            here = await asyncio.to_thread(told, of, *arguments, "--cluster", file)
            assert there == here
        missing = await asyncio.to_thread(
            gpu_extender, "inspect", "n9", "--server", url
        )
        assert "node n9 is not known" in missing.complaint


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("inspect", "-n", "a"), "-n goes with a pod's name"),
        (("inspect", "-n", "a", "b/p"), "-n goes with a pod's name"),
        (("inspect", "n9"), "node n9 is not known"),
        (("inspect", "a/p"), "pod a/p is not known"),
        (("inspect", "--watch=0"), "0.0 is not in the range"),
        (("what-if",), "Missing option '-f'"),
        (("what-if", "-f", WHOLE, "--replicas", "0"), "0 is not in the range"),
        (("what-if", "-f", WHOLE, "--add-nodes", "a=b=2"), "It is TYPE or TYPE=N"),
        (("what-if", "-f", WHOLE, "--add-nodes", "n9=2"), "no type of node is 'n9'"),
        (("what-if", "-f", WHOLE, "--add-nodes", "n9=2000"), "add_nodes.count: 2000"),
        (("what-if", "-f", WHOLE, "--without", "p"), "pod research/p is not known"),
    ],
)
def test_what_cannot_be_asked(
    arguments: tuple[str | Path, ...], complaint: str
) -> None:
    """A slip is named."""
    outcome = gpu_extender(*arguments, "--cluster", EXAMPLE)
    assert outcome.code == 2
    assert complaint in " ".join(outcome.err.split())


@pytest.mark.parametrize(
    ("replicas", "code"), [(("--replicas", "9"), 0), (("--replicas", "10"), 1), ((), 0)]
)
def test_exit_code_says_whether_all_fit(replicas: tuple[str, ...], code: int) -> None:
    """So that a script need not read the table."""
    outcome = gpu_extender("what-if", "-f", WHOLE, *replicas, "--cluster", EXAMPLE)
    assert outcome.code == code


def _heed_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_watch_goes_on_until_ctrl_c(tmp_path: Path) -> None:
    """It looks again, at what the file has by then."""
    file = tmp_path / "dump.json"
    file.write_text(listed(NODE))
    command = [sys.executable, "-m", "extender", "inspect", "--watch=0.5"]
    with subprocess.Popen(
        [*command, "--cluster", str(file)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"},
        # A shell lets what it runs in the background ignore Ctrl-C, and all under it.
        preexec_fn=_heed_ctrl_c,  # noqa: PLW1509 - no thread runs here
    ) as process:
        assert process.stdout is not None
        assert "0 hold some" in process.stdout.readline()
        file.write_text(listed(NODE, HELD))
        for line in process.stdout:
            if "1 hold some" in line:
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
