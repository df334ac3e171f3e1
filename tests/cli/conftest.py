"""Every test sees a terminal of 80 columns without colour."""

import os

import pytest

from tests.cli.command import environment


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not let the terminal of whoever runs the tests decide."""
    for name in set(os.environ) - set(environment()):
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
