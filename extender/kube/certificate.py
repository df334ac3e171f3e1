"""The certificate by which the API server knows the webhook, made where none is.

It stands in a Secret, and its authority in the two webhook configurations. The
authority signs once, and its key is thrown away: to replace the certificate is to
replace both.
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from extender.errors import Conflict, NotFound, SettingsError
from extender.kube.client import ApiClient
from extender.wire.objects import JsonObject

_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_CONFIGURATIONS: Final = (
    f"{_ADMISSION}/mutatingwebhookconfigurations",
    f"{_ADMISSION}/validatingwebhookconfigurations",
)
_REQUEST_SECONDS: Final = 10.0
_LIFE: Final = timedelta(days=3650)
"""Nobody else uses the authority, and nobody can sign with it again."""

_RENEWED_BEFORE: Final = timedelta(days=365)
_SKEW: Final = timedelta(hours=1)
"""How far clocks of a cluster may be behind ours."""

_NAMES: Final = ("tls.crt", "tls.key", "ca.crt")


@dataclass(frozen=True, slots=True)
class Certificate:
    """A server's certificate, its key and its authority, in PEM."""

    cert: bytes
    key: bytes
    authority: bytes

    @classmethod
    def made(cls, dns_names: Sequence[str], now: datetime) -> "Certificate":
        """Make one for some DNS names, on P-256, good for ten years."""
        ca_key = ec.generate_private_key(ec.SECP256R1())
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = _name("gpu-extender webhook")
        authority = (
            _builder(issuer, issuer, ca_key.public_key(), now)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(ca_key, hashes.SHA256())
        )
        names = x509.SubjectAlternativeName([x509.DNSName(each) for each in dns_names])
        server = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        known_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(
            ca_key.public_key()
        )
        cert = (
            # A common name has 64 characters at most; clients read the names anyway.
            _builder(_name("gpu-extender"), issuer, key.public_key(), now)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), True)  # noqa: FBT003 - its own signature
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(names, critical=False)
            .add_extension(server, critical=False)
            .add_extension(known_by, critical=False)
            .sign(ca_key, hashes.SHA256())
        )
        pem = Encoding.PEM
        return cls(
            cert.public_bytes(pem),
            key.private_bytes(pem, PrivateFormat.PKCS8, NoEncryption()),
            authority.public_bytes(pem),
        )

    @classmethod
    def of_secret(cls, secret: JsonObject) -> "Certificate | None":
        """Read a Secret; None where something is missing."""
        data = secret.get("data")
        if not isinstance(data, dict) or not all(data.get(name) for name in _NAMES):
            return None
        cert, key, authority = (b64decode(str(data[name])) for name in _NAMES)
        return cls(cert, key, authority)

    def serves(self, dns_names: Sequence[str], now: datetime) -> bool:
        """Tell whether it is for all of these names, and good for another year."""
        try:
            read = x509.load_pem_x509_certificate(self.cert)
            names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        except (ValueError, x509.ExtensionNotFound):
            return False
        known = names.value.get_values_for_type(x509.DNSName)
        return (
            set(dns_names) <= set(known)
            and now + _RENEWED_BEFORE < read.not_valid_after_utc
        )


async def ensure(
    client: ApiClient,
    namespace: str,
    secret_name: str,
    dns_names: Sequence[str],
    webhook_name: str,
) -> list[str]:
    """Have a good certificate in the Secret, and its authority in the webhooks.

    What is good is kept. A former authority stays trusted beside the new one until
    the next run: a replica serves by the old certificate until its files change.

    Returns:
        What was done, one sentence each.

    Raises:
        ClusterError: By the API server's answer; where another one wrote meanwhile,
            `Conflict`: run it again.
        SettingsError: There is no webhook configuration of that name.
    """
    done: list[str] = []
    path = f"/api/v1/namespaces/{namespace}/secrets"
    now = datetime.now(UTC)
    try:
        secret: dict[str, Any] = await client.get(
            f"{path}/{secret_name}", seconds=_REQUEST_SECONDS
        )
    except NotFound:
        secret = {}
    found = Certificate.of_secret(secret)
    if found is not None and found.serves(dns_names, now):
        wanted, trusted = found, found.authority
    else:
        wanted = Certificate.made(dns_names, now)
        trusted = wanted.authority + (b"" if found is None else found.authority)
    # Trusted first, served then: no handshake fails in between.
    done += await _trust(client, webhook_name, trusted)
    if wanted is not found:
        await _write(client, path, secret_name, secret, wanted)
        done.append(f"secret {namespace}/{secret_name}: a new certificate")
    return done or ["the certificate is good, and trusted; nothing to do"]


async def _trust(client: ApiClient, name: str, authority: bytes) -> list[str]:
    bundle = b64encode(authority).decode()
    done = []
    found = False
    for collection in _CONFIGURATIONS:
        path = f"{collection}/{name}"
        try:
            shown: dict[str, Any] = await client.get(path, seconds=_REQUEST_SECONDS)
        except NotFound:
            continue  # the second one may be left out
        found = True
        webhooks = shown["webhooks"]
        if all(each["clientConfig"].get("caBundle") == bundle for each in webhooks):
            continue
        for each in webhooks:
            each["clientConfig"]["caBundle"] = bundle
        version = shown["metadata"]["resourceVersion"]
        body: JsonObject = {
            "metadata": {"resourceVersion": version},
            "webhooks": webhooks,
        }
        await client.patch(path, body, seconds=_REQUEST_SECONDS)
        done.append(f"{collection.rpartition('/')[2]} {name}: the authority")
    if not found:
        raise SettingsError(
            f"--webhook {name!r}: no webhook configuration has the name"
        )
    return done


async def _write(
    client: ApiClient, path: str, name: str, before: dict[str, Any], wanted: Certificate
) -> None:
    values = (wanted.cert, wanted.key, wanted.authority)
    data = {
        key: b64encode(value).decode()
        for key, value in zip(_NAMES, values, strict=True)
    }
    if before:
        metadata = {"resourceVersion": before["metadata"]["resourceVersion"]}
        changed: JsonObject = {"metadata": metadata, "data": data}
        await client.patch(f"{path}/{name}", changed, seconds=_REQUEST_SECONDS)
        return
    body: JsonObject = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": name},
        "data": data,
    }
    try:
        await client.post(path, body, seconds=_REQUEST_SECONDS)
    except Conflict as error:
        raise Conflict(
            f"secret {name} was made by another run; run it again"
        ) from error


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
