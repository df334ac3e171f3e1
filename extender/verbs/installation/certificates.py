"""Certificates that the extender serves by."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from extender.verbs.diagnosis import Diagnosis
from extender.verbs.durations import in_words
from extender.verbs.installation.catalogue import (
    CERTIFICATE_ENDED,
    CERTIFICATE_ENDS_SOON,
    CERTIFICATE_KEY_DIFFERS,
    CERTIFICATE_OF_OTHER_NAME,
)
from extender.verbs.installation.documents import CertificateSeen

SOON_SECONDS: Final = 7 * 86_400
"""As the alert GpuExtenderCertificateEnds has it."""

_WILDCARD: Final = "*."


def check_certificate(
    seen: CertificateSeen, names: tuple[str, ...], unix_seconds: float
) -> Iterator[Diagnosis]:
    """Tell what is wrong with a certificate that is served.

    Args:
        seen: The certificate.
        names: Hosts that its clients ask for: names or IP addresses.
        unix_seconds: Now.
    """
    about = f"certificate {seen.where}"
    if unix_seconds < seen.begins:
        yield CERTIFICATE_ENDED.found(
            about,
            "it is not valid yet",
            f"it begins in {in_words(seen.begins - unix_seconds)}",
        )
    elif unix_seconds >= seen.ends:
        yield CERTIFICATE_ENDED.found(
            about, "it has expired", f"{in_words(unix_seconds - seen.ends)} ago"
        )
    elif seen.ends - unix_seconds < SOON_SECONDS:
        yield CERTIFICATE_ENDS_SOON.found(
            about, "it ends soon", f"in {in_words(seen.ends - unix_seconds)}"
        )
    missing = [name for name in names if not is_for(seen, name)]
    if missing:
        has = ", ".join((*seen.dns_names, *seen.addresses)) or "no name at all"
        yield CERTIFICATE_OF_OTHER_NAME.found(
            about, f"it is not for {', '.join(missing)}", f"it is for {has}"
        )
    if seen.matches_key is False:
        yield CERTIFICATE_KEY_DIFFERS.found(about, "the key beside it is another's")


def is_for(seen: CertificateSeen, host: str) -> bool:
    """Tell whether a certificate is for a host, as Go's client decides.

    Common names do not count. A wildcard stands for one label, the first.

    Example:
        >>> seen = CertificateSeen("", ("*.a.svc", "b"), ("127.0.0.1", "::1"))
        >>> [is_for(seen, host) for host in ("x.a.svc", "x.y.a.svc", "B", "a.svc")]
        [True, False, True, False]
        >>> is_for(seen, "0:0::1"), is_for(seen, "127.0.0.2")
        (True, False)
    """
    try:
        address = ip_address(host)
    except ValueError:
        return any(_matches(host.lower(), each.lower()) for each in seen.dns_names)
    return any(_same(address, each) for each in seen.addresses)


def _same(address: object, text: str) -> bool:
    try:
        return ip_address(text) == address
    except ValueError:
        return False


def _matches(host: str, name: str) -> bool:
    if name.startswith(_WILDCARD):
        first, _, rest = host.partition(".")
        return bool(first) and rest == name.removeprefix(_WILDCARD)
    return host == name
