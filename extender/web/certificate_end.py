"""When certificates end. Python's own reader gives that of CAs only."""

import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

_BLOCK: Final = re.compile(
    "-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL
)
_VERSION: Final = 0xA0
_UTC_TIME: Final = 0x17
_LONG: Final = 0x80
_PIVOT_YEAR: Final = 50
"""RFC 5280, 4.1.2.5.1: of two digits, those from 50 on are of the 20th century."""


def first_end(file: Path) -> float | None:
    """Give when the first of a file's certificates ends; None where none tells.

    Returns:
        Unix seconds.
    """
    try:
        text = file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    ends: list[float] = []
    for block in _BLOCK.findall(text):
        try:
            ends.append(end_of(ssl.PEM_cert_to_DER_cert(block)))
        except (ValueError, IndexError):
            continue
    return min(ends, default=None)


def end_of(der: bytes) -> float:
    """Give when a certificate ends, in Unix seconds.

    Source: RFC 5280, 4.1: the fields of a TBSCertificate are version (optional), serial
    number, signature, issuer, validity.

    Raises:
        ValueError: It is no certificate.
        IndexError: It is cut short.
    """
    (_, certificate), *_ = _values(der)
    (_, signed), *_ = _values(certificate)
    fields = list(_values(signed))
    _, validity = fields[4 if fields[0][0] == _VERSION else 3]
    _, (tag, text) = _values(validity)
    return _time(tag, text.decode("ascii"))


def _values(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Split a sequence in DER into tags and contents."""
    at = 0
    while at < len(der):
        tag, size = der[at], der[at + 1]
        at += 2
        if size & _LONG:
            more = size & ~_LONG
            size = int.from_bytes(der[at : at + more])
            at += more
        if at + size > len(der):
            raise ValueError("a length goes beyond the end")
        yield tag, der[at : at + size]
        at += size


def _time(tag: int, text: str) -> float:
    if tag == _UTC_TIME:
        text = f"{'19' if int(text[:2]) >= _PIVOT_YEAR else '20'}{text}"
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp()
