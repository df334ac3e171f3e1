"""What cannot be used: one clear line, exit code 2, and never a traceback."""

import json
from pathlib import Path

import pytest

from tests.builders import node, pod
from tests.cli.command import EXAMPLE, PODS, gpu_extender, listed, subprocess_of

POD = PODS / "whole-card.yaml"
BROKEN: dict[str, tuple[bytes, str]] = {
    "JSON": (b'{"kind": ', "JSON"),
    "YAML": (b"kind: [", "YAML"),
    "binary": (bytes(range(256)), "YAML"),
    "a text": (b"hello", "document 1"),
    "deep JSON": (b"[" * 100_000, "JSON"),
    "deep YAML": (b"- " * 100_000, "YAML"),
    "an alias": (b"a: &x {b: 1}\nc: *x", "alias"),
}


@pytest.mark.parametrize(("content", "problem"), BROKEN.values(), ids=BROKEN)
def test_broken_file(tmp_path: Path, content: bytes, problem: str) -> None:
    """Named with what is wrong in it, by every command that reads it."""
    file = tmp_path / "broken.yaml"
    file.write_bytes(content)
    for arguments in (
        ("schedule", "-f", POD, "--cluster", file),
        ("schedule", "-f", file, "--cluster", EXAMPLE),
        ("charge", "-f", file),
        ("serve", "--cluster", file),
    ):
        outcome = gpu_extender(*arguments)
        assert outcome.code == 2
        assert "broken.yaml" in outcome.complaint
        assert problem in outcome.complaint


@pytest.mark.parametrize("name", ["nowhere.yaml", "."])
def test_missing_file_and_directory(tmp_path: Path, name: str) -> None:
    """By name, in the system's own words: exit code 2, whichever flag it is."""
    file = tmp_path / name
    words = "Is a directory" if name == "." else "No such file or directory"
    for arguments in (
        ("schedule", "-f", POD, "--cluster", file),
        ("schedule", "-f", file, "--cluster", EXAMPLE),
        ("charge", "-f", file),
        ("serve", "--cluster", file),
    ):
        outcome = gpu_extender(*arguments)
        assert str(file) in outcome.complaint
        assert words in outcome.complaint
        assert (arguments[0], outcome.code) == (arguments[0], 2)


NO_POD: dict[str, str] = {
    "a node": listed(node("n1")),
    "a deployment": '{"kind": "Deployment", "metadata": {"name": "d"}}',
    "no kind": '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}]}}',
    "no container": '{"kind": "Pod", "metadata": {"name": "p"}}',
    "no name": '{"kind": "Pod", "spec": {"containers": [{"name": "a"}]}}',
    "the same twice": listed(pod("p").app("a"), pod("p").app("a")),
}


@pytest.mark.parametrize("text", NO_POD.values(), ids=NO_POD)
def test_schedule_takes_pods_only(text: str) -> None:
    """Anything else is refused before it is guessed at."""
    for output in ("table", "json"):
        outcome = gpu_extender(
            *("schedule", "-f", "-", "--cluster", EXAMPLE, "-o", output), stdin=text
        )
        assert outcome.code == 2
        assert outcome.complaint.startswith("gpu-extender: ")


def test_pod_of_the_cluster_is_not_scheduled_again() -> None:
    """A pod of this name is there already."""
    outcome = gpu_extender("schedule", "-f", EXAMPLE, "--cluster", EXAMPLE)
    assert outcome.code == 2
    taken = pod("prometheus-0", "monitoring").app("a")
    outcome = gpu_extender(
        "schedule", "-f", "-", "--cluster", EXAMPLE, stdin=listed(taken)
    )
    assert outcome.code == 2
    assert "monitoring/prometheus-0 exists already" in outcome.complaint


def test_cluster_file_given_twice(tmp_path: Path) -> None:
    """Which of two nodes counts is not ours to choose."""
    outcome = gpu_extender(
        "schedule", "-f", POD, "--cluster", EXAMPLE, "--cluster", EXAMPLE
    )
    assert outcome.code == 2
    assert "twice" in outcome.complaint


USAGE = {
    "no command": ((), 2),
    "an unknown command": (("frobnicate",), 2),
    "an unknown flag": (("charge", "--frob"), 2),
    "no file": (("charge",), 2),
    "no cluster": (("schedule", "-f", POD), 2),
    "an unknown output": (("charge", "-f", POD, "-o", "xml"), 2),
    "an unknown policy": (
        ("schedule", "-f", POD, "--cluster", POD, "--gpu-scheduler-policy", "pack"),
        2,
    ),
    "a policy that is not built": (
        (
            *("schedule", "-f", POD, "--cluster", POD),
            *("--gpu-scheduler-policy", "topology-aware"),
        ),
        2,
    ),
    "weights of nothing": (
        (
            *("schedule", "-f", POD, "--cluster", POD),
            *("--device-scoring-weights", "slot=0,core=0,memory=0"),
        ),
        2,
    ),
    "a selector that is none": (
        (
            *("schedule", "-f", POD, "--cluster", POD),
            *("--node-label-selector", "gpu=on,zone in a"),
        ),
        2,
    ),
    "an unknown mode": (("serve", "--cluster", POD, "--mode", "hami"), 2),
    "an unknown release": (("charge", "-f", POD, "--release", "no"), 2),
    "help": (("--help",), 0),
    "help of a command": (("schedule", "-h"), 0),
    "version": (("--version",), 0),
}


@pytest.mark.parametrize(("arguments", "code"), USAGE.values(), ids=USAGE)
def test_usage(arguments: tuple[str | Path, ...], code: int) -> None:
    """Click's own words; help fits a terminal."""
    outcome = gpu_extender(*arguments)
    assert outcome.code == code
    assert max(map(len, (outcome.out + outcome.err).splitlines())) <= 80


def test_bad_selector_is_quoted() -> None:
    """With the place, what stands there, and what should."""
    for command in (("serve",), ("schedule", "-f", POD)):
        arguments = (*command, "--cluster", EXAMPLE, "--node-label-selector")
        outcome = gpu_extender(*arguments, "gpu=on,zone in a")
        assert (outcome.code, outcome.out) == (2, "")
        assert "'gpu=on,zone in a'" in outcome.err
        assert "At character 16 stands 'a'" in outcome.err
        assert "There should be `(`" in outcome.err
    source = ("--cluster", EXAMPLE, "--node-label-selector", "gpu=on,")
    assert "At character 8 stands the end" in gpu_extender("serve", *source).err


def test_real_command_complains_in_one_line(tmp_path: Path) -> None:
    """On standard error, with nothing on standard output."""
    missing = tmp_path / "nowhere.yaml"
    outcome = subprocess_of("schedule", "-f", POD, "--cluster", missing)
    assert (outcome.code, outcome.out) == (2, "")
    expected = f"gpu-extender: {missing}: No such file or directory\n"
    assert outcome.err == expected


def test_control_characters_are_written_out(tmp_path: Path) -> None:
    """Kubernetes checks no annotation's text; a terminal must not obey it."""
    evil = "GPU-\x1b[2J\x07"
    obj = pod("p").app("a", gpu=1).on("n1").holding(f"{evil},NVIDIA,1,0:;").build()
    file = tmp_path / "pods.json"
    file.write_text(json.dumps(obj))
    outcome = gpu_extender("charge", "-f", file)
    assert outcome.code == 0
    assert "GPU-\\x1b[2J\\x07" in outcome.out
    assert "\x1b" not in outcome.out
