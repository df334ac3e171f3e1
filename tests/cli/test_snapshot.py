"""``snapshot`` and ``replay`` as they are typed, and through a running server."""

import stat
from gzip import decompress
from pathlib import Path

import orjson
import pytest

from extender.wire.snapshots import LARGEST_BYTES, decode_snapshot, packed
from tests.cli.command import EXAMPLE, PODS, gpu_extender
from tests.cli.test_serve import serving

WHOLE = PODS / "whole-card.yaml"
ON_EXAMPLE = ("--cluster", EXAMPLE)


@pytest.mark.parametrize("name", ["taken.json", "taken.json.gz"])
@pytest.mark.parametrize("options", [(), ("--anonymise",)])
def test_what_is_taken_is_replayed(
    tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    """Packed or not, under old names or new ones."""
    file = tmp_path / name
    told = gpu_extender("snapshot", "-f", WHOLE, "--out", file, *ON_EXAMPLE, *options)
    assert told.code == 0
    assert f"{file}: 7 nodes, 11 pods; " in told.out
    again = gpu_extender("replay", file)
    assert again.code == 0
    assert "as in the snapshot" in again.out
    assert (b"gpu-a100-01" in _content(file)) is not bool(options)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def _content(file: Path) -> bytes:
    content = file.read_bytes()
    return decompress(content) if file.suffix == ".gz" else content


def test_difference_is_told_and_is_a_code(tmp_path: Path) -> None:
    """Each place, as it was and as it is now."""
    file = tmp_path / "taken.json"
    gpu_extender("snapshot", "-f", WHOLE, "--out", file, *ON_EXAMPLE)
    read = orjson.loads(file.read_bytes())
    scores = read["snapshot"]["decision"]["scores"]
    name, score = next(iter(scores.items()))
    scores[name] = score + 1
    file.write_bytes(orjson.dumps(read))
    told = gpu_extender("replay", file, "-o", "json")
    assert told.code == 1
    assert told.json["differences"] == [
        {
            "about": f"node {name}",
            "saved": f"fits, score {score + 1}",
            "replayed": f"fits, score {score}",
        }
    ]
    assert f"node {name}" in gpu_extender("replay", file).out


def test_trace_tells_each_step(tmp_path: Path) -> None:
    """What is asked, the phases, each node and card, and the choice."""
    file = tmp_path / "taken.json"
    pod_file = PODS / "init-then-app.yaml"
    gpu_extender("snapshot", "-f", pod_file, "--out", file, *ON_EXAMPLE)
    told = gpu_extender("replay", file, "--trace").out
    for words in (
        "state: 7 nodes, 11 pods",
        " asks for 1 NVIDIA: ",
        "phase init ",
        "phase steady: sidecars + apps",
        "gpu-t4-01: would never fit: node unregistered",
        "chosen: ",
        "cards: GPU-",
    ):
        assert words in told


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is not JSON"),
        (b"{}", "snapshot: missing or null"),
        (b"[]", "snapshot: a list is not an object"),
        (
            b'{"snapshot": {"format": 2, "made_by": "9.1"}}',
            "snapshot.format: 2 is not 1: a newer gpu-extender 9.1 wrote it; replay",
        ),
        (b'{"snapshot": {"format": 0}}', "another gpu-extender wrote it"),
        (b'{"snapshot": {}}', "snapshot.format: missing or null"),
        (b'{"snapshot": {"format": 1}}', "snapshot.decision"),
        (packed(b"{}")[:-9], "what is damaged is not gzip"),
    ],
)
def test_file_that_is_none_is_named(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    """One line, the file, the field and what is expected; code 2."""
    file = tmp_path / "odd"
    file.write_bytes(content)
    told = gpu_extender("replay", file)
    assert told.code == 2
    assert str(file) in told.complaint
    assert problem in told.complaint


def test_bomb_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What unpacks to more than any snapshot has."""
    monkeypatch.setattr("extender.wire.snapshots.LARGEST_BYTES", 1 << 20)
    file = tmp_path / "bomb.gz"
    file.write_bytes(packed(b" " * (1 << 22)))
    assert file.stat().st_size < 10_000
    told = gpu_extender("replay", file)
    assert told.code == 2
    assert "at most 1048576 bytes" in told.complaint
    assert LARGEST_BYTES > 1 << 28


def test_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    """And nothing is left behind."""
    out = tmp_path / "missing" / "taken.json"
    told = gpu_extender("snapshot", "-f", WHOLE, "--out", out, *ON_EXAMPLE)
    assert told.code == 2
    assert f"--out {out}: No such file or directory" in told.complaint


def test_running_server_is_asked(tmp_path: Path) -> None:
    """With what it has reserved; by name, and by manifest."""
    by_name, by_file = tmp_path / "name.json.gz", tmp_path / "file.json.gz"
    with serving(EXAMPLE) as (_, url, _):
        source = ("--server", url)
        name = "training/resnet-sweep-3-q9d2v"
        first = gpu_extender("snapshot", name, "--out", by_name, *source)
        second = gpu_extender("snapshot", "-f", WHOLE, "--out", by_file, *source)
        missing = gpu_extender("snapshot", "a/b", "--out", by_file, *source)
    assert (first.code, second.code, missing.code) == (0, 0, 2)
    assert "pod a/b is not known" in missing.complaint
    for file in (by_name, by_file):
        assert gpu_extender("replay", file).code == 0
    taken = decode_snapshot(by_name.read_bytes())
    assert taken.head.pod.full_name == name
