"""When the webhook's certificate is kept, and when it is made anew."""

from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from extender.kube.certificate import Certificate

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
NAME: Final = "gpu-extender.gpu-extender.svc"
OTHER: Final = "gpu-extender.other.svc"
MADE: Final = Certificate.made([NAME, OTHER], NOW)


@pytest.mark.parametrize(
    ("names", "years", "is_kept"),
    [
        ([NAME], 0, True),
        ([NAME, OTHER], 8.9, True),
        ([NAME, OTHER], 9.1, False),
        ([NAME, "gpu-extender.third.svc"], 0, False),
    ],
)
def test_certificate_is_kept_for_its_names_and_nine_years(
    names: list[str], years: float, *, is_kept: bool
) -> None:
    """The last year is for replacing it."""
    assert MADE.serves(names, NOW + timedelta(days=365 * years)) is is_kept


def test_text_that_is_no_certificate_is_not_kept() -> None:
    """Whoever broke the Secret gets a new one."""
    assert not replace(MADE, cert=b"-----BEGIN").serves([NAME], NOW)


@pytest.mark.parametrize("missing", ["tls.crt", "tls.key", "ca.crt"])
def test_secret_without_one_of_the_files_has_none(missing: str) -> None:
    """And one that has them all is read as it was written."""
    values = {"tls.crt": MADE.cert, "tls.key": MADE.key, "ca.crt": MADE.authority}
    data = {name: b64encode(value).decode() for name, value in values.items()}
    assert Certificate.of_secret({"data": data}) == MADE
    del data[missing]
    assert Certificate.of_secret({"data": data}) is None
