"""Hypothesis profiles, and what is built once for the whole session."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import gotools

# Machines of CI and of engineers are shared: a slow example there is no finding.
_UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("dev", parent=_UNHURRIED, max_examples=100)
settings.register_profile(
    "ci", parent=_UNHURRIED, max_examples=100, derandomize=True, print_blob=True
)
settings.register_profile("thorough", parent=_UNHURRIED, max_examples=2000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
)


_LONGEST = "test_soak.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the test that takes longest: all others fit beside it."""
    items.sort(key=lambda item: item.path.name != _LONGEST)


@pytest.fixture(scope="session")
def podrequests_binary() -> Path:
    """Kubernetes' PodRequests as a command: JSON lines in, JSON lines out."""
    return gotools.built("podrequests")


@pytest.fixture(scope="session")
def labelselectors_binary() -> Path:
    """Kubernetes' label selectors as a command: JSON lines in, JSON lines out."""
    return gotools.built("labelselectors")


@pytest.fixture(scope="session")
def golden_binary() -> Path:
    """The command that writes kube-scheduler's wire types into a directory."""
    return gotools.built("golden")
