"""Certificates made for one test or one benchmark, as files in PEM."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

HOST: Final = "127.0.0.1"
"""Whose certificate a server has."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The files of a certificate and its key."""

    cert_file: Path
    key_file: Path

    def write(self, signed: "Signed") -> None:
        """Write both, the certificate first."""
        self.cert_file.write_bytes(signed.cert)
        self.key_file.write_bytes(signed.key)


@dataclass(frozen=True, slots=True)
class Signed:
    """A certificate with those between it and its authority, and its key."""

    cert: bytes
    key: bytes


class Authority:
    """A certificate authority, and a folder for what it signs."""

    def __init__(self, folder: Path, name: str) -> None:
        self._ca = trustme.CA(organization_name=name)
        self._folder = folder
        self.cert_file = folder / f"{name}.crt"
        self._ca.cert_pem.write_to_path(self.cert_file)

    def sign(self) -> Signed:
        """Sign for a server at `HOST`."""
        return _signed(self._ca.issue_cert(HOST))

    def server(self) -> Pair:
        """Sign for a server at `HOST`, and write it."""
        return self._written("server", self.sign())

    def client(self, common_name: str, *dns_names: str, is_over: bool = False) -> Pair:
        """Sign for a client, and write it.

        Args:
            common_name: Its first name; may be empty.
            dns_names: Its other names.
            is_over: Whether the certificate has expired.
        """
        an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
        made = self._ca.issue_cert(
            *dns_names,
            common_name=common_name or None,
            not_after=an_hour_ago if is_over else None,
        )
        name = f"client-{self.cert_file.stem}-{common_name.replace(':', '-')}"
        return self._written(name, _signed(made))

    def _written(self, name: str, signed: Signed) -> Pair:
        pair = Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        pair.write(signed)
        return pair


def encrypted(key: bytes) -> bytes:
    """Encrypt a private key by a password."""
    read = load_pem_private_key(key, None)
    lock = BestAvailableEncryption(b"secret")
    return read.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock)


def _signed(made: trustme.LeafCert) -> Signed:
    chain = b"".join(pem.bytes() for pem in made.cert_chain_pems)
    return Signed(chain, made.private_key_pem.bytes())
