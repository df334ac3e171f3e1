"""When certificates end, read from their own bytes."""

import ssl
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme

from extender.observe.words import Certificate
from extender.settings import TlsSettings
from extender.web.certificate_end import end_of, first_end
from extender.web.tls import listening_context
from tests.certificates import Authority

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
    file.write_bytes(pem(FAR) + b"# \xc3\xa9\n" + broken + pem(NEAR))
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


def test_end_is_told_of_what_is_served(tmp_path: Path) -> None:
    """At the start, and whenever the files are replaced by ones that can be used."""
    ca, clients = Authority(tmp_path, "own"), Authority(tmp_path, "clients")
    pair = ca.server()
    told: list[tuple[Certificate, float]] = []
    settings = TlsSettings(
        cert_file=pair.cert_file,
        key_file=pair.key_file,
        client_ca_file=clients.cert_file,
    )
    context = listening_context(settings, lambda *each: told.append(each))
    own, client_ca = first_end(pair.cert_file), first_end(clients.cert_file)
    assert told == [(Certificate.SERVED, own), (Certificate.CLIENT_CA, client_ca)]
    told.clear()
    pair.cert_file.write_bytes(pem(NEAR))
    shake_hands(context)
    assert told == []  # not that of the key
    pair.write(ca.sign())
    shake_hands(context)
    assert [each for each, _ in told] == [Certificate.SERVED, Certificate.CLIENT_CA]


def shake_hands(context: ssl.SSLContext) -> None:
    """Begin a handshake, at which the files are looked at."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    client = trusting.wrap_bio(to_client, to_server)
    server = context.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
