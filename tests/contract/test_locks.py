"""What we are built from is locked, and all of it is looked up."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
LOCKS: Final = sorted((ROOT / "requirements").glob("*.txt"))
PINNED: Final = re.compile(r"^([\w.-]+)==([^\s;]+)", re.MULTILINE)


def requirements(lock: Path) -> list[str]:
    """Give each requirement of a lock with its hashes."""
    text = lock.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line and line[0] not in " #"]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_requirement_is_locked_by_hash(lock: Path) -> None:
    """One version of each, by the hashes of its files, and from no named host."""
    wanted = requirements(lock)
    assert wanted
    assert [each for each in wanted if not PINNED.match(each)] == []
    assert [each for each in wanted if "--hash=sha256:" not in each] == []
    assert "://" not in lock.read_text(encoding="utf-8")


def audit(folder: Path, program: str) -> "subprocess.CompletedProcess[str]":
    """Run `make audit` with a program in the place of pip-audit."""
    place = folder / "audit"
    (place / "bin").mkdir(parents=True)
    file = place / "bin" / "pip-audit"
    file.write_text(f"#!{sys.executable}\n{program}")
    file.chmod(0o755)
    ready = place / ".ready"
    ready.touch()
    os.utime(ready, (2**33, 2**33))  # newer than the lock: nothing is installed
    return subprocess.run(
        ["make", "--no-print-directory", "audit", f"AUDIT={place}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_audit_covers_every_locked_version(tmp_path: Path) -> None:
    """Also those for other Pythons and systems, which pip-audit would pass over."""
    program = "import sys; print(open(sys.argv[-1]).read())"
    done = audit(tmp_path, program)
    assert done.returncode == 0
    locked = {pair for lock in LOCKS for pair in PINNED.findall(lock.read_text())}
    assert set(PINNED.findall(done.stdout)) == locked
    assert f"make audit looked up {len(locked)} locked versions" in done.stdout
    for versions in tmp_path.glob("audit/versions-*.txt"):
        names = [name for name, _ in PINNED.findall(versions.read_text())]
        assert len(names) == len(set(names))  # pip-audit takes one version of each


def test_audit_fails_where_it_cannot_look_up(tmp_path: Path) -> None:
    """By its name, and it stops what runs it."""
    done = audit(tmp_path, "raise SystemExit('the index cannot be reached')")
    assert done.returncode != 0
    assert "the index cannot be reached" in done.stderr
    assert "make audit: FAILED" in done.stderr
    assert "looked up" not in done.stdout
