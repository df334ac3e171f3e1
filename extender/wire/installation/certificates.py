"""Certificates in PEM: whom they are for, until when, and who signed them."""

from collections.abc import Sequence
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from extender.errors import BadObject, Described
from extender.verbs.installation.documents import CaBundle, CertificateSeen

_FAULTS: Final = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
)
"""What the library raises for texts of others."""

_LONGEST: Final = 1024 * 1024
"""Bytes of PEM that are read; a Secret has at most so many."""

_MOST_AUTHORITIES: Final = 64


def read_certificate(
    pem: bytes, where: str, key_pem: bytes | None = None
) -> CertificateSeen:
    """Read the first certificate of a PEM text: the one that is served.

    Args:
        pem: It, and those between it and its authority.
        where: Where it stands, for people.
        key_pem: The private key beside it; None where it is not known.

    Raises:
        BadObject: There is none, or it cannot be read.
    """
    first = _load(pem, where)[0]
    return _seen(first, where, key_pem)


def read_bundle(pem: bytes, served: bytes | None) -> CaBundle:
    """Read a webhook's ``caBundle``; nothing in it is an error.

    Args:
        pem: Decoded from base64.
        served: The PEM text that is served; None where it is not known.
    """
    try:
        found = _load(pem, "caBundle")
        authorities = tuple(_seen(each, "caBundle") for each in found)
    except BadObject as error:
        return CaBundle(problem=str(error))
    return CaBundle(authorities, signs_served=_signs(found, served))


def _load(pem: bytes, where: str) -> list[x509.Certificate]:
    if len(pem) > _LONGEST:
        raise BadObject(where, Described(f"{len(pem)} bytes"), f"at most {_LONGEST}")
    try:
        found = x509.load_pem_x509_certificates(pem)
    except _FAULTS as error:
        told = Described("a text")
        raise BadObject(where, told, f"certificates in PEM: {error}") from error
    if len(found) > _MOST_AUTHORITIES:
        told = Described(f"{len(found)} certificates")
        raise BadObject(where, told, f"at most {_MOST_AUTHORITIES}")
    return found


def _seen(
    certificate: x509.Certificate, where: str, key_pem: bytes | None = None
) -> CertificateSeen:
    try:
        dns_names, addresses = _names(certificate)
        return CertificateSeen(
            where,
            dns_names,
            addresses,
            certificate.not_valid_before_utc.timestamp(),
            certificate.not_valid_after_utc.timestamp(),
            _is_authority(certificate),
            _matches(certificate, key_pem),
        )
    except _FAULTS as error:
        told = Described("a certificate")
        raise BadObject(where, told, f"one that can be read: {error}") from error


def _names(certificate: x509.Certificate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        names = certificate.extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        ).value
    except x509.ExtensionNotFound:
        return (), ()
    return (
        tuple(names.get_values_for_type(x509.DNSName)),
        tuple(str(each) for each in names.get_values_for_type(x509.IPAddress)),
    )


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(
            x509.BasicConstraints
        ).value.ca
    except x509.ExtensionNotFound:
        return False


def _matches(certificate: x509.Certificate, key_pem: bytes | None) -> bool | None:
    if key_pem is None:
        return None
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    try:
        key = load_pem_private_key(key_pem, None).public_key()
        return certificate.public_key().public_bytes(*form) == key.public_bytes(*form)
    except _FAULTS:
        return False


def _signs(
    authorities: Sequence[x509.Certificate], served: bytes | None
) -> bool | None:
    """Tell whether an authority signed what is served, or what is between them.

    A certificate that is trusted itself counts, too: it needs no signature.
    """
    if served is None:
        return None
    try:
        chain = _load(served, "served")
    except BadObject:
        return None
    return any(
        each in authorities or any(_signed(each, by) for by in authorities)
        for each in chain
    )


def _signed(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (*_FAULTS, InvalidSignature):
        return False
    return True
