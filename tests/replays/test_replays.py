"""Every file of this folder comes out as it is kept."""

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from extender.service.snapshots import replay
from extender.wire.snapshots import decode_snapshot, encode_snapshot, packed
from tests.replays import made
from tests.replays.kept import keep
from tests.replays.made import CASES, HERE, content_of

FILES: Final = sorted(HERE.glob("*.json.gz"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_decision_comes_out_as_kept(file: Path) -> None:
    """Node by node, score by score, card by card."""
    snapshot = decode_snapshot(file.read_bytes())
    assert replay(snapshot).differences == ()
    assert snapshot.head.is_anonymous


def test_every_case_is_kept() -> None:
    """And each file that is there is found."""
    assert {f"{name}.json.gz" for name in CASES} <= {file.name for file in FILES}


@pytest.mark.parametrize("name", CASES)
def test_state_is_that_of_its_case(name: str) -> None:
    """But for the time, and the version that made it."""
    kept = decode_snapshot((HERE / f"{name}.json.gz").read_bytes())
    anew = decode_snapshot(content_of(CASES[name]))
    head = replace(kept.head, taken_at=anew.head.taken_at, made_by=anew.head.made_by)
    assert replace(kept, head=head) == anew


CHOSEN: Final = {
    "sidecar-beside-init": "node-1",
    "inits-follow-each-other": "node-0",
    "unreadable-allocation": None,
    "quota-of-zero": None,
    "mig-places": "node-0",
    "equal-nodes": "node-0",
    "two-cards-of-one": None,
}
"""By hand, from the accounting rule and the cases: not what was once decided."""


@pytest.mark.parametrize("name", CASES)
def test_kept_decision_is_right(name: str) -> None:
    """A fault that is kept would be defended from then on."""
    kept = decode_snapshot((HERE / f"{name}.json.gz").read_bytes())
    assert kept.head.decision.chosen == CHOSEN[name]


def test_report_becomes_a_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong decision is found, told, and kept as it is decided now."""
    right = decode_snapshot((HERE / "equal-nodes.json.gz").read_bytes())
    decision = replace(right.head.decision, chosen=right.nodes[0].name)
    wrong = replace(right, head=replace(right.head, decision=decision))
    file = tmp_path / "reported.json"
    file.write_bytes(encode_snapshot(wrong))
    [differs] = replay(decode_snapshot(file.read_bytes())).differences
    assert (differs.about, differs.replayed) == ("chosen node", "node-0")
    monkeypatch.setattr("tests.replays.kept.HERE", tmp_path)
    kept = keep(file, "mended")
    assert decode_snapshot(kept.read_bytes()) == right
    assert made.HERE == HERE


def test_packing_is_the_same_each_time() -> None:
    """So that a file that did not change shows no change."""
    assert packed(b"x" * 100) == packed(b"x" * 100)
