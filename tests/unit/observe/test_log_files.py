"""A log file through faults: nothing waits, what is lost is counted and told once."""

import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from extender.errors import SettingsError
from extender.observe.log_files import AppendedFile

FULL: Final = Path("/dev/full")
"""Takes nothing: no space is left on it."""

FLAG: Final = "--decision-log-file"


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """Read it."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Give a clock that stands still."""
    return Clock()


def written(to: AppendedFile, *messages: str) -> None:
    """Write a line each."""
    for message in messages:
        to.handle(logging.makeLogRecord({"msg": message}))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Name a file in a folder of its own."""
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder / "decisions.log"


@pytest.fixture
def appended(file: Path, clock: Clock) -> Iterator[AppendedFile]:
    """Open it."""
    opened = AppendedFile(file, FLAG, clock)
    yield opened
    opened.close()


def test_full_disk_is_told_once_a_minute(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """By flag, file, reason and how many lines; each is counted."""
    full = AppendedFile(FULL, FLAG, clock)
    written(full, *["a"] * 5)
    clock.now = 59.9
    written(full, *["a"] * 5)
    assert full.lost == 10
    assert len(caplog.messages) == 1
    clock.now = 60.0
    written(full, "a")
    full.close()
    told = "--decision-log-file /dev/full: lines are lost, {} so far: No space left on"
    assert [
        each.startswith(told.format(n))
        for each, n in zip(caplog.messages, (1, 11), strict=True)
    ] == [True, True]


def test_folder_that_comes_back_is_written_again(
    appended: AppendedFile, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And it is told how many lines are missing."""
    written(appended, "before")
    shutil.rmtree(file.parent)
    written(appended, "lost", "lost")
    file.parent.mkdir()
    written(appended, "after", "after that")
    assert file.read_text() == "after\nafter that\n"
    assert appended.lost == 2
    assert len(caplog.messages) == 2
    assert caplog.messages[1].endswith("is written again; 2 lines were lost")


@pytest.mark.parametrize("how", ["renamed", "removed", "truncated"])
def test_rotated_file_is_left(appended: AppendedFile, file: Path, how: str) -> None:
    """For its successor, however it was done; no line is lost."""
    written(appended, "before")
    if how == "renamed":
        file.rename(file.with_suffix(".1"))
    elif how == "removed":
        file.unlink()
    else:
        os.truncate(file, 0)
    written(appended, "after")
    assert file.read_text() == "after\n"
    assert appended.lost == 0


def test_pipe_that_nobody_reads_holds_up_nobody(file: Path, clock: Clock) -> None:
    """Once it is read again, lines are whole but for the one that was cut."""
    os.mkfifo(file)
    with pytest.raises(SettingsError, match=f"{FLAG} {file}: No such device"):
        AppendedFile(file, FLAG, clock)
    reader = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    pipe = AppendedFile(file, FLAG, clock)
    line = "x" * 9_999
    while not pipe.lost:
        written(pipe, line)
    taken = b""
    while part := _available(reader):
        taken += part
    written(pipe, "after")
    taken += _available(reader)
    pipe.close()
    os.close(reader)
    *whole, cut, after, end = taken.decode().split("\n")
    assert set(whole) == {line}
    assert 0 < len(cut) < len(line)
    assert (after, end) == ("after", "")


def _available(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 20)
    except BlockingIOError:
        return b""


@pytest.mark.parametrize("name", ["", "missing/decisions.log"])
def test_file_that_cannot_be_opened_is_named(file: Path, name: str) -> None:
    """With flag and reason: a folder, or one that is not there."""
    wrong = file.parent / name
    with pytest.raises(SettingsError, match=rf"^{FLAG} {wrong}: \w+"):
        AppendedFile(wrong, FLAG)
