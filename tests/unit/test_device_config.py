"""The file of the kinds, followed while serving."""

import logging
from pathlib import Path
from typing import Final

import pytest

from extender.core.kinds import Kind
from extender.device_config import DeviceConfigFile, kinds_in
from extender.errors import SettingsError
from extender.observe.metrics import Metrics

PLAIN: Final = "nvidia:\n  resourceCountName: nvidia.com/gpu\n"
WITH_FACTOR: Final = f"{PLAIN}  memoryFactor: 16\n"
BROKEN: Final = f"{PLAIN}  memoryFactor: many\n  colour: red\n"


class Followed:
    """A file, and the kinds that were told of."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.write_text(PLAIN)
        self.told = list[tuple[Kind, ...]]()
        self.metrics = Metrics()
        kinds = kinds_in(file)
        self.following = DeviceConfigFile(file, kinds, self.metrics, self.told.append)

    def look(self, text: str | None) -> list[int]:
        """Change the file, or remove it, and look; give each kind's memory factor."""
        self.told.clear()
        if text is None:
            self.file.unlink(missing_ok=True)
        else:
            self.file.write_text(text)
        self.following.look()
        return [kind.memory_factor for kinds in self.told for kind in kinds]

    def count(self, outcome: str) -> float:
        """Tell how many changes came out so."""
        read = self.metrics.device_config_reads.labels(outcome)
        return float(read._value.get())


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    """Follow a file with one kind."""
    return Followed(tmp_path / "device-config.yaml")


def test_a_valid_change_is_told_once(followed: Followed) -> None:
    """And what changes no kind is not told at all."""
    assert followed.look(PLAIN) == []
    assert followed.look(WITH_FACTOR) == [16]
    assert followed.look(WITH_FACTOR) == []
    assert followed.look(f"# no more than that\n{WITH_FACTOR}") == []
    assert followed.look(PLAIN) == [1]
    assert (followed.count("taken"), followed.count("refused")) == (2, 0)


def test_an_invalid_change_keeps_the_old_kinds(
    followed: Followed, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged once, with every problem and its line."""
    with caplog.at_level(logging.ERROR):
        assert followed.look(BROKEN) == []
        assert followed.look(BROKEN) == []
    (said,) = [record.getMessage() for record in caplog.records]
    assert "memoryFactor" in said
    assert "colour" in said
    assert followed.count("refused") == 1
    assert followed.look(PLAIN) == []
    assert followed.look(WITH_FACTOR) == [16]


def test_a_file_that_is_gone_keeps_the_old_kinds(
    followed: Followed, caplog: pytest.LogCaptureFixture
) -> None:
    """Until it is back."""
    with caplog.at_level(logging.ERROR):
        assert followed.look(None) == []
        assert followed.look(None) == []
    (said,) = [record.getMessage() for record in caplog.records]
    assert str(followed.file) in said
    assert followed.look(WITH_FACTOR) == [16]


def test_a_file_that_cannot_be_used_at_start(tmp_path: Path) -> None:
    """The error names it."""
    with pytest.raises(SettingsError, match=r"nowhere\.yaml"):
        kinds_in(tmp_path / "nowhere.yaml")
