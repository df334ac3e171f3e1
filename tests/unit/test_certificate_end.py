"""When certificates end, read from their own bytes."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme

from extender.web.certificate_end import end_of, first_end

NEAR = datetime(2030, 5, 6, 7, 8, 9, tzinfo=UTC)
FAR = datetime(2071, 2, 3, tzinfo=UTC)
"""Written with four digits of its year."""


def pem(ends: datetime) -> bytes:
    """Issue a certificate."""
    issued = trustme.CA().issue_cert("a.example", not_after=ends)
    return issued.cert_chain_pems[0].bytes()


@pytest.mark.parametrize("ends", [NEAR, FAR], ids=["two digits", "four digits"])
def test_end_of_a_certificate(tmp_path: Path, ends: datetime) -> None:
    """Of ours, which is no CA's: Python's own reader does not tell it."""
    file = tmp_path / "cert.pem"
    file.write_bytes(pem(ends))
    assert first_end(file) == ends.timestamp()


def test_first_of_several(tmp_path: Path) -> None:
    """Whatever stands between them, and whatever cannot be read."""
    file = tmp_path / "ca.pem"
    broken = b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
    file.write_bytes(pem(FAR) + b"# caf\xc3\xa9\n" + broken + pem(NEAR))
    assert first_end(file) == NEAR.timestamp()


def test_nothing_to_read(tmp_path: Path) -> None:
    """Neither a file nor a certificate."""
    assert first_end(tmp_path / "missing") is None
    (tmp_path / "key.pem").write_text("-----BEGIN PRIVATE KEY-----\n")
    assert first_end(tmp_path / "key.pem") is None


@pytest.mark.parametrize("der", [b"", b"\x30", b"\x30\x05\x00", b"\x30\x84\xff"])
def test_what_is_no_certificate(der: bytes) -> None:
    """Is an error of one of two kinds, and no other."""
    with pytest.raises((ValueError, IndexError)):
        end_of(der)
