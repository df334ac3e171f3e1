"""Settings that do not go together."""

from dataclasses import replace
from typing import Any

import pytest

from extender.errors import SettingsError
from extender.settings import KubeSettings, QuotaSettings, Settings


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"lease_seconds": 0.5, "send_margin_seconds": 0}, "lease_seconds 0.5"),
        ({"send_margin_seconds": 15}, "send_margin_seconds, 15"),
        ({"least_seconds": 31}, "least_seconds 31"),
    ],
)
def test_leases_by_which_nothing_could_be_sent(
    change: dict[str, Any], named: str
) -> None:
    """The error names both."""
    with pytest.raises(SettingsError, match=named):
        replace(QuotaSettings(), **change)


def test_a_binding_that_outlives_its_lease() -> None:
    """No answer is waited for longer than a lease lasts when it is sent."""
    Settings(kube=KubeSettings(request_seconds=10))
    with pytest.raises(SettingsError, match="request_seconds, 11"):
        Settings(kube=KubeSettings(request_seconds=11))
