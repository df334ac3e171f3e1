"""gpu-extender check-config: what a device configuration means, or what is wrong."""

import json
from pathlib import Path

import pytest

from tests.cli.command import gpu_extender, subprocess_of, violations
from tests.shipped import SHIPPED, SHIPPED_FILE

WRONG = """\
nvidia:
  resourceCountName: nvidia.com/gpu
  memoryFactor: many
  deviceSplitCuont: 10
"""


def test_shipped_file_is_listed() -> None:
    """One entry per kind, in 80 columns."""
    outcome = subprocess_of("check-config", SHIPPED_FILE)
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == f"{len(SHIPPED)} kinds of device; nothing is wrong"
    for word in SHIPPED:
        assert sum(line.startswith(f"{word} ") for line in lines) == 1
    assert "..." not in outcome.out
    assert "…" not in outcome.out


def test_kind_in_json_to_the_letter() -> None:
    """Scripts read these keys and no others."""
    text = "metax: {resourceVCountName: x.com/v, resourceVMemoryName: x.com/m}"
    outcome = gpu_extender("check-config", "-", "-o", "json", stdin=text)
    assert outcome.code == 0
    assert outcome.json == {
        "kinds": [
            {
                "word": "Metax-SGPU",
                "count_resource": "x.com/v",
                "memory_resource": "x.com/m",
                "memory_unit": "GiB, or bytes with a suffix",
                "memory_percentage_resource": None,
                "core_resource": None,
                "cards_from": "annotation",
                "lock": "node",
                "rules": ["class on one card", "online without cores"],
                "inits_return": False,
            }
        ],
        "problems": [],
    }


def test_json_is_by_its_schema() -> None:
    """For a good file and for a wrong one."""
    good = gpu_extender("check-config", SHIPPED_FILE, "-o", "json")
    assert violations("check-config", good.json) == []
    wrong = gpu_extender("check-config", "-", "-o", "json", stdin=WRONG)
    assert violations("check-config", wrong.json) == []
    assert len(good.json["kinds"]) == len(SHIPPED)


def test_all_problems_are_told() -> None:
    """By line and key, on standard output: they are the answer."""
    outcome = gpu_extender("check-config", "-", stdin=WRONG)
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.splitlines() == [
        (
            "line 3: nvidia.memoryFactor: 'many' is not a whole number from 0 to "
            "2147483647"
        ),
        (
            "line 4: nvidia.deviceSplitCuont is not a key that is known here; do you "
            "mean deviceSplitCount?"
        ),
        "2 problems in -",
    ]


def test_problems_in_json() -> None:
    """For those who mark them in an editor."""
    outcome = gpu_extender("check-config", "-", "-o", "json", stdin=WRONG)
    assert outcome.code == 1
    assert outcome.json["kinds"] == []
    assert outcome.json["problems"][0] == {
        "line": 3,
        "column": 17,
        "key": "nvidia.memoryFactor",
        "value": "'many'",
        "expected": "a whole number from 0 to 2147483647",
    }


BROKEN = {
    "nothing": b"",
    "binary": bytes(range(256)),
    "deep YAML": b"- " * 100_000,
    "JSON": json.dumps({"kind": "Pod"}).encode(),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_file_that_is_none(content: bytes) -> None:
    """One problem, and never a traceback."""
    outcome = gpu_extender("check-config", "-", stdin=content)
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.splitlines()[-1] == "1 problem in -"


def test_control_characters_are_written_out() -> None:
    """A terminal must not obey what a file says."""
    outcome = gpu_extender("check-config", "-", stdin='"\\e[2J": 1\namd: "\\a"')
    assert outcome.code == 1
    assert "\x1b" not in outcome.out
    assert "\x07" not in outcome.out


def test_missing_file(tmp_path: Path) -> None:
    """It cannot be read, which is another thing than wrong."""
    outcome = gpu_extender("check-config", tmp_path / "nowhere.yaml")
    assert outcome.code == 2
    assert "No such file or directory" in outcome.complaint
